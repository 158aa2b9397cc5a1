"""`xrelay view --placement`: what a plan, and the reasons in it, look like. All costs are of a table."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from commands.runs import Command
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.partition.compilers import No, Support, Yes
from xrelay.compiler import context
from xrelay.placement.costs.cost import Cost, Estimator
from xrelay.placement.costs.key import Machine
from xrelay.placement.explain import explanation, explanation_data, explanations_in
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.placing import place
from xrelay.placement.plan_file import EngineFacts, plan_data
from xrelay.placement.rules.base import OpPredicate
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.combinators import Combine, OnlyValid, Primitive
from xrelay.placement.rules.defaults import ANYTHING, OWN_KERNELS

T = "tensor<4x4xf32>"
PROGRAM = f"""
func.func @main(%x: {T}) -> {T} {{
  %a = relay.nn.dense %x, %x : ({T}, {T}) -> {T}
  %b = relay.nn.relu %a : ({T}) -> {T}
  %c = relay.exp %b : ({T}) -> {T}
  %d = relay.tanh %c : ({T}) -> {T}
  func.return %d : {T}
}}
"""


def dense_and_relu(op: Operation, types: Sequence[Attribute]) -> Support:
    return Yes() if op.name in ("relay.nn.dense", "relay.nn.relu") else No("it does not")


CUT = f"""
func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}) {{
  %a = relay.subtract %x, %y : ({T}, {T}) -> {T}
  %b = relay.nn.relu %a : ({T}) -> {T}
  %c = relay.exp %a : ({T}) -> {T}
  %d = relay.add %b, %c : ({T}, {T}) -> {T}
  %e = relay.negative %d : ({T}) -> {T}
  %f = relay.tanh %e : ({T}) -> {T}
  func.return %f, %e : {T}, {T}
}}
"""
"""A region takes the relu in the middle of what own code would fuse."""


def only_relu(op: Operation, types: Sequence[Attribute]) -> Support:
    return Yes() if op.name == "relay.nn.relu" else No("it does not")


class Costs(Estimator):
    def estimate(self, candidate: Candidate) -> Cost:
        return Cost(2e-6 if candidate.engine == OWN else 1.5e-6, "table")


@pytest.fixture
def plan() -> dict[str, Any]:
    """The dense layer and the relu on one engine, the rest on own code."""
    return plan_of(PROGRAM, dense_and_relu)


def plan_of(
    program: str, predicate: Callable[[Operation, Sequence[Attribute]], Support]
) -> dict[str, Any]:
    """What a predicate takes on one engine, the rest on own code."""
    module: ModuleOp = Parser(context(), program).parse_module()
    rule = Primitive(OnlyValid(Combine(OpPredicate("fast", predicate), (ANYTHING,), 8)))
    graph = Graph.of(entry_function(module))
    placement = place(graph, {"fast": rule, OWN: OWN_KERNELS}, Costs())
    facts = {"fast": EngineFacts("1"), OWN: EngineFacts("1")}
    data = plan_data(placement, Machine("cpu", "features", 1, "1"), facts)
    data["explanation"] = explanation_data(explanation(placement))
    return json.loads(json.dumps(data))


@pytest.fixture
def view(cmd: Command, tmp_path: Path) -> Command:
    """Writes a plan and shows it."""

    def run(
        plan: object, suffix: str = ".html", *arguments: str, program: str = PROGRAM
    ) -> tuple[Any, str]:
        model, file, output = (tmp_path / name for name in ("m.mlir", "plan.json", f"m{suffix}"))
        model.write_text(program)
        file.write_text(json.dumps(plan))
        done = cmd("view", model, "-o", output, "--placement", file, *arguments)
        return done, output.read_text() if output.exists() else ""

    return run


def nodes_of(page: str) -> dict[str, Any]:
    """What the script of a page knows of operators, by name."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    nodes = json.loads(found.group(1))["graphs"][0]["nodes"]
    return {node["name"]: node["placed"] for node in nodes if node["role"] == "operator"}


def test_page(view: Command, plan: dict[str, Any]) -> None:
    done, page = view(plan)
    assert done.code == 0, done.err
    nodes = nodes_of(page)
    assert {name: each["engine"] for name, each in nodes.items()} == {
        "nn.dense": "fast",
        "nn.relu": "fast",
        "exp": "default",
        "tanh": "default",
    }
    assert nodes["nn.dense"]["seconds"] == pytest.approx(1.5e-6)
    assert nodes["nn.dense"]["colour"] != nodes["exp"]["colour"]
    assert "on default: the whole plan would cost 7.5 µs" in nodes["nn.dense"]["reasons"]
    assert any(
        r.startswith("not nn.dense on fast: in its place") for r in nodes["nn.dense"]["reasons"]
    )
    assert nodes["exp"]["reasons"] == ["elsewhere: no other engine runs it"]


def test_picture(view: Command, plan: dict[str, Any]) -> None:
    done, picture = view(plan, ".svg")
    assert done.code == 0
    assert picture.count('class="tint hull-1"') == 2 and picture.count('class="tint hull-0"') == 2
    assert "fast, 1.5 µs" in picture
    assert "; on fast</title>" in picture


def units_of(page: str) -> tuple[dict[str, Any], list[tuple[str, list[str]]]]:
    """The graph of a page, and the engine and the operators of each unit."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    graph = json.loads(found.group(1))["graphs"][0]
    names = [node["name"] for node in graph["nodes"]]
    return graph, [(u["compiler"], [names[i] for i in u["members"]]) for u in graph["units"]]


def test_groups_that_a_region_cuts(view: Command) -> None:
    """What waits for the region is no unit with what the region waits for."""
    plan = plan_of(CUT, only_relu)
    done, page = view(plan, program=CUT)
    assert done.code == 0, done.err
    _, units = units_of(page)
    operators = [unit for unit in units if unit[1][0] not in ("x", "y", "values")]
    assert ("fast", ["nn.relu"]) in operators
    assert ("", ["subtract", "exp"]) in operators
    assert ("", ["add", "negative", "tanh"]) in operators
    for suffix in (".svg", ".dot"):
        assert view(plan, suffix, program=CUT)[0].code == 0


def test_units_of_a_plan(view: Command, plan: dict[str, Any]) -> None:
    """Regions are units; the fusion of own code goes on without what is theirs."""
    _, page = view(plan)
    graph, units = units_of(page)
    assert ("fast", ["nn.dense", "nn.relu"]) in units and ("", ["exp", "tanh"]) in units
    assert all(
        graph["nodes"][i]["unit"] == n for n, u in enumerate(graph["units"]) for i in u["members"]
    )


def test_a_plan_without_reasons_and_one_of_other_engines(
    view: Command, plan: dict[str, Any]
) -> None:
    rows = plan.pop("explanation")
    assert nodes_of(view(plan)[1])["exp"]["reasons"] == []
    rows[0]["engine"] = "other"
    reasons = nodes_of(view({**plan, "explanation": rows})[1])["nn.dense"]["reasons"]
    assert reasons == ["the cheapest plan by its parts has it on other"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"explanation": 3}, "'explanation' is 3, expected a list"),
        ({"explanation": [3]}, "'explanation[0]' is 3, expected an object with node, operator"),
        ({"model": "x"}, "the plan is for another model"),
    ],
)
def test_wrong_plans(view: Command, plan: dict[str, Any], change: Any, message: str) -> None:
    done, page = view({**plan, **change})
    assert done.code == 2 and message in done.err and not page


def test_wrong_fields(view: Command, plan: dict[str, Any]) -> None:
    rows = plan["explanation"]
    assert [row.operator for row in explanations_in(plan).values()] == [r["operator"] for r in rows]
    rows[1]["region_seconds"] = "long"
    done, _ = view(plan)
    assert done.code == 2
    assert "'region_seconds' of 'explanation[1]' is 'long', which it cannot be" in done.err
    del plan["explanation"]
    next(r for r in plan["regions"] if r["engine"] == "fast")["seconds"] = "long"
    done, _ = view(plan)
    assert "for a region of fast: the cost is 'long', expected a number of seconds" in done.err


def test_what_does_not_go_together(view: Command, plan: dict[str, Any]) -> None:
    done, _ = view(plan, ".html", "--strategies")
    assert done.code == 2 and "--placement shows costs of a plan" in done.err
