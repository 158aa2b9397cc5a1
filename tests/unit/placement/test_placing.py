"""Whole placements with costs from tables: what is placed where, what ships, and why."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from placed import MACHINE, NET, RULES, Sums, T, X, graph_of, nodes, placed, program
from xdsl.dialects import func
from xdsl.dialects.builtin import NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.partition.compilers import Support, Yes
from xrelay.interpreters.relay import interpret
from xrelay.placement.confirmation import confirm, upper_limit
from xrelay.placement.costs.borders import AT_HOST, BorderTable, Line, Place
from xrelay.placement.costs.cost import UNKNOWN, Cost, Estimator, FunctionCosts
from xrelay.placement.errors import PlacementError
from xrelay.placement.explain import explanation, explanation_data, explanation_text
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.rewriting import rewrite
from xrelay.placement.pins import parse_pins
from xrelay.placement.placing import METHODS, Placement, Request, place, restricted
from xrelay.placement.plan_file import EngineFacts, plan_data, plan_of_data
from xrelay.placement.rules.base import OpCallByKind, OpPredicate
from xrelay.placement.rules.candidate import HOST, OWN, Candidate
from xrelay.placement.rules.combinators import Combine, OnlyValid, Primitive
from xrelay.placement.rules.defaults import ANYTHING, OWN_KERNELS
from xrelay.placement.rules.rule import Rule
from xrelay.placement.search.exact import pareto


def engines(placement: Placement) -> list[tuple[str, str]]:
    """The engine and the operators of each region that computes something."""
    return [(r.engine, r.part.label) for r in placement.regions() if r.engine != HOST]


def test_the_cheapest_placement() -> None:
    found = placed()
    assert engines(found) == [
        ("fast", "nn.dense+nn.relu"),
        *((OWN, name) for name in ("exp", "tanh", "add")),
        ("fast", "nn.dense"),
    ]
    assert found.outcome.plans[0].cost == 2.5 + 3 + 2 == found.outcome.bound
    costs = [plan.cost for plan in found.outcome.plans]
    assert len(set(found.outcome.plans)) == 4 and costs == sorted(costs)


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_without_borders(method: str) -> None:
    assert placed(Request(method=method)).outcome.plans[0].cost == pytest.approx(7.5)


def test_borders_count() -> None:
    dear = BorderTable({(Place("fast"), Place(OWN)): Line(9.0)})
    assert {engine for engine, _ in engines(placed(borders=dear))} == {OWN, "fast"}
    assert engines(placed(borders=dear))[0] == (OWN, "nn.dense")


def test_tuples_and_their_fields_are_where_their_parts_are() -> None:
    """A field of a region's results is no border: nothing is copied for it."""
    text = (
        f"%s = relay.split %x {{indices_or_sections = 2 : i64, axis = 0 : i64}} : ({T}) -> "
        "tuple<tensor<2x4xf32>, tensor<2x4xf32>>\n"
        "%a = relay.tuple_get_item %s[0] : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> tensor<2x4xf32>\n"
        "%b = relay.tuple_get_item %s[1] : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> tensor<2x4xf32>\n"
        "%c = relay.add %a, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>\n"
        "%t = relay.tuple %c, %a : (tensor<2x4xf32>, tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<2x4xf32>>\n"
        "%d = relay.concatenate %t {axis = 0 : i64} : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> "
        f"{T}\nfunc.return %d : {T}"
    )
    own, start = Place(OWN), Line(100.0)
    borders = BorderTable({(own, own): Line(), (AT_HOST, own): start}, Line(10_000.0))
    ones = FunctionCosts(lambda *_: 1.0)
    whole = place(graph_of(program(text)), {OWN: OWN_KERNELS}, ones, borders=borders)
    kernels = engines(whole)
    best = whole.outcome.best
    assert best is not None and best.cost == 100.0 + len(kernels)


def test_pins() -> None:
    kept = placed(Request(pins={"nn.relu": OWN}))
    assert (OWN, "nn.relu") in engines(kept)
    named = placed(Request(pins={"nn.dense": OWN, "f": "fast"}))
    assert [e for e, label in engines(named) if "nn.dense" in label] == [OWN, "fast"]


@pytest.mark.parametrize(
    ("pins", "message"),
    [
        (
            {"nn.dens": OWN},
            "'nn.dens' is pinned, but the model has no such operator or node.*nn.dense",
        ),
        ({"exp": "slow"}, "'exp' is pinned to 'slow', expected one of fast, default"),
        ({"exp": "fast"}, "'exp' or 'c' is pinned to 'fast', which does not run it"),
    ],
)
def test_wrong_pins(pins: dict[str, str], message: str) -> None:
    with pytest.raises(PlacementError, match=message):
        placed(Request(pins=pins))


def test_pins_as_text() -> None:
    assert parse_pins(["relay.nn.conv2d=a", "/x=y/Conv=b"]) == {"nn.conv2d": "a", "/x=y/Conv": "b"}
    for wrong in ("nn.conv2d", "=a", "a="):
        with pytest.raises(PlacementError, match="expected OPERATOR=ENGINE"):
            parse_pins([wrong])
    with pytest.raises(PlacementError, match="'a' is pinned to 'b' and to 'c'"):
        parse_pins(["a=b", "a=c"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seconds": 0.0}, "seconds is 0.0, expected a number of seconds, more than 0"),
        ({"memory_limit": -1}, "memory_limit is -1, expected at least 0"),
        ({"method": "magic"}, "the method is 'magic', expected one of exact"),
        ({"plans": 0}, "plans is 0, expected at least 1"),
    ],
)
def test_wrong_requests(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(PlacementError, match=message):
        Request(**wrong)


def test_memory_limits_that_no_plan_keeps() -> None:
    with pytest.raises(PlacementError, match="no plan keeps to the memory limit of 10 bytes"):
        placed(Request(memory_limit=10))


def test_what_no_rule_covers() -> None:
    with pytest.raises(
        PlacementError, match="no engine runs 'exp' \\(node 3\\): the rules leave it"
    ):
        place(graph_of(program(NET)), {"fast": RULES["fast"]}, Sums())


def test_unknown_shapes() -> None:
    text = (
        "%a = relay.nn.relu %x : (tensor<?xf32>) -> tensor<?xf32>\nfunc.return %a : tensor<?xf32>"
    )
    module = program(text, "%x: tensor<?xf32>", "tensor<?xf32>")
    with pytest.raises(
        PlacementError, match="expected known dimensions: give the shapes of the inputs"
    ):
        place(graph_of(module), {OWN: OpCallByKind()}, FunctionCosts(lambda f, e: 1.0))


def test_only_what_good_plans_take_is_measured() -> None:
    class Guess(Sums):
        def estimate(self, candidate: Candidate) -> Cost:
            return replace(super().estimate(candidate), source="model")

    measured = Sums()
    found = placed(usual=Guess())
    found = place(graph_of(program(NET)), RULES, measured, usual=Guess())
    assert found.outcome.plans[0].cost == 7.5
    assert 0 < measured.asked < len(found.candidates)


def test_who_knows_all_that_was_measured_asks_for_nothing() -> None:
    """Guesses follow what is measured, and joined regions come late: in the end both see the same candidates."""
    known: dict[Candidate, Cost] = {}

    class Measured(Sums):
        def estimate(self, candidate: Candidate) -> Cost:
            known[candidate] = replace(super().estimate(candidate), source="measured")
            return known[candidate]

    class Guess(Sums):
        """Too good, and the less so the more is known."""

        def estimate(self, candidate: Candidate) -> Cost:
            guess = super().estimate(candidate)
            assert guess.seconds is not None
            share = len(known) / (1 + len(known))
            return known.get(candidate, Cost(guess.seconds * share, "model"))

    graph, first, second = graph_of(program(NET)), Measured(), Measured()
    found = place(graph, RULES, first, usual=Guess())
    assert first.asked == len(known) > 0
    again = place(graph, RULES, second, usual=Guess())
    assert second.asked == 0
    assert engines(again) == engines(found)


def test_what_nobody_knows_is_asked_once() -> None:
    """And stays what the model says: there was no time to measure it."""

    class Guess(Sums):
        def estimate(self, candidate: Candidate) -> Cost:
            return replace(super().estimate(candidate), source="model")

    class Late(Sums):
        def estimate(self, candidate: Candidate) -> Cost:
            super().estimate(candidate)
            return UNKNOWN

    late = Late()
    found = place(graph_of(program(NET)), RULES, late, usual=Guess())
    assert found.outcome.plans[0].cost == 7.5
    assert 0 < late.asked < len(found.candidates)


def test_each_engine_alone_is_measured() -> None:
    """Even when the model takes it for slow: it is tried in the end."""
    single = Primitive(OnlyValid(Combine(OpPredicate("fast", _anything), (ANYTHING,), 8)))
    asked: list[str] = []

    class Guess(Estimator):
        def estimate(self, candidate: Candidate) -> Cost:
            return Cost(1.0 if candidate.engine == OWN else 1000.0, "model")

    class Measured(Estimator):
        def estimate(self, candidate: Candidate) -> Cost:
            asked.append(candidate.part.label)
            return Cost(0.5 if candidate.engine == "fast" else 1.0, "measured")

    text = "a = nn.relu x\nb = exp a\nreturn b"
    rules: dict[str, Rule] = {"fast": single, OWN: OWN_KERNELS}
    found = place(graph_of(program(text)), rules, Measured(), usual=Guess())
    assert asked[0] == "nn.relu+exp"
    assert engines(found) == [("fast", "nn.relu+exp")]


def test_regions_that_touch_are_tried_as_one() -> None:
    """The rule finds single operators only; joined, they save a border."""
    single = Primitive(OnlyValid(OpPredicate("fast", _anything)))
    text = "a = nn.relu x\nb = exp a\nc = tanh b\nreturn c"

    class Costs(Sums):
        def estimate(self, candidate: Candidate) -> Cost:
            return Cost(1.0 if candidate.engine == "fast" else 9.0, "table")

    found = place(graph_of(program(text)), {"fast": single, OWN: OWN_KERNELS}, Costs())
    assert engines(found) == [("fast", "nn.relu+exp+tanh")]
    assert found.outcome.plans[0].cost == 1.0


def test_joined_regions_never_need_each_other() -> None:
    """With a→c, a→d, b→c, b→d, joins of a with d and of b with c exist, but no plan has both."""
    text = "a = nn.relu x\nb = exp x\nc = add a b\nd = multiply b a\ne = subtract c d\nreturn e"
    graph = graph_of(program(text))
    numbers = {name: nodes(graph, name) for name in "abcde"}
    home = {"a": "one", "d": "one", "b": "two", "c": "two", "e": OWN}

    class Costs(Estimator):
        def estimate(self, candidate: Candidate) -> Cost:
            engines = {home[n] for n, mask in numbers.items() if mask & candidate.inside}
            return Cost(1.0 if engines == {candidate.engine} else 50.0, "table")

    single = Primitive(OnlyValid(OpPredicate("any", _anything)))
    rules: dict[str, Rule] = {"one": single, "two": single, OWN: OWN_KERNELS}
    found = place(graph, rules, Costs())
    joined = [each for each in found.candidates if each.inside.bit_count() == 2]
    wanted = {numbers["a"] | numbers["d"], numbers["b"] | numbers["c"]}
    assert wanted <= {each.inside for each in joined}
    assert found.outcome.plans[0].cost == 4.0, "one of the two joins, and three regions"
    module = program(text)
    copy = graph_of(module)
    plan = plan_of_data(plan_data(found, MACHINE, {n: EngineFacts("1") for n in rules}), copy)
    rewrite(module, copy, plan.parts, plan.binds)
    np.testing.assert_array_equal(interpret(module, [X])[0], interpret(program(text), [X])[0])


def _anything(op: Operation, types: Sequence[Attribute]) -> Support:
    return Yes()


def test_pruning_is_an_option_and_may_cost() -> None:
    """A on the first engine, B and C on the second: the largest candidates of each do not allow it."""
    text = "a = nn.relu x\nb = exp a\nc = tanh b\nreturn c"
    rules: dict[str, Rule] = {
        "one": Primitive(OnlyValid(Combine(OpPredicate("one", _anything), (ANYTHING,)))),
        "two": Primitive(OnlyValid(Combine(OpPredicate("two", _anything), (ANYTHING,)))),
    }

    class Costs(Estimator):
        def estimate(self, candidate: Candidate) -> Cost:
            table = {("one", "nn.relu"): 1.0, ("two", "exp+tanh"): 1.0}
            return Cost(table.get((candidate.engine, candidate.part.label), 5.0), "table")

    def least(request: Request) -> float:
        return place(graph_of(program(text)), rules, Costs(), request).outcome.plans[0].cost

    assert least(Request()) == 2.0
    assert least(Request(is_pruned=True)) == 5.0


def test_the_front_of_time_and_memory() -> None:
    found = placed()
    front = pareto(found.problem).plans
    assert front[0].cost == found.outcome.plans[0].cost
    assert [p.memory for p in front] == sorted({p.memory for p in front}, reverse=True)


def test_single_engines() -> None:
    found = placed()
    alone = restricted(found, OWN)
    assert alone is not None and {e for e, _ in engines(alone)} == {OWN}
    fast = restricted(found, "fast")
    assert fast is not None
    assert [e for e, label in engines(fast) if "dense" in label or "relu" in label] == ["fast"] * 2


# -- why --------------------------------------------------------------------------------------------


def test_explanation() -> None:
    found = placed()
    rows = {row.name: row for row in explanation(found)}
    assert list(rows) == ["a", "b", "c", "d", "e", "f"]
    assert (rows["a"].engine, rows["a"].elsewhere) == ("fast", OWN)
    assert rows["a"].elsewhere_seconds == 5 + 1 + 3 + 2
    assert rows["c"].elsewhere_seconds is None and rows["c"].elsewhere == "no other engine runs it"
    reasons = {(each.engine, each.operators): each.reason for each in rows["b"].alternatives}
    assert reasons["fast", "nn.relu"].endswith("with other operators as well")
    text = explanation_text(found, list(rows.values()))
    assert (
        "nn.dense a: fast, region" in text
        and "on default: the plan would cost 3500000.0 µs more" in text
    )
    assert (
        json.loads(json.dumps(explanation_data(list(rows.values()))))[0]["operator"] == "nn.dense"
    )
    assert all(row.elsewhere == "there was no time to look" for row in explanation(found, 0.0))


def test_explanation_of_pins() -> None:
    """There is no plan with a pinned operator elsewhere to look for."""
    found = place(graph_of(program(NET)), RULES, Sums(), Request({"a": "fast"}))
    rows = {row.name: row for row in explanation(found)}
    assert (rows["a"].elsewhere, rows["a"].elsewhere_seconds) == ("it is pinned", None)
    assert rows["b"].elsewhere == OWN


def test_explanation_has_names_of_the_model() -> None:
    """Where the program came with them; else those of values."""
    module = program(NET)
    main = next(op for op in module.ops if isinstance(op, func.FuncOp))
    for op in main.body.block.ops:
        if op.name == "relay.exp":
            op.location = NameLoc(StringAttr("/layer/Exp"), UnknownLoc())
    found = place(Graph.of(main), RULES, Sums())
    names = [row.name for row in explanation(found, 0.0)]
    assert names == ["a", "b", "/layer/Exp", "d", "e", "f"]


# -- confirmation -----------------------------------------------------------------------------------


def test_a_mixed_plan_ships_only_if_it_is_faster() -> None:
    rng = np.random.default_rng(0)

    def run(seconds: float, noise: float = 0.01) -> Any:
        return lambda: seconds * (1 + noise * rng.standard_normal())

    singles = {"one": run(1.0), "two": run(1.2)}
    faster = confirm({"mixed": run(0.9), "worse": run(1.1)}, singles)
    assert (faster.shipped, faster.best_single) == ("mixed", "one")
    assert faster.limits["mixed"] < 1 < faster.limits["worse"]
    assert confirm({"mixed": run(1.05)}, singles).shipped == "one"
    assert confirm({"mixed": run(1.0, 0.2)}, {"one": run(1.0, 0.2)}).shipped == "one"
    assert confirm({}, singles).shipped == "one"


def test_upper_limits_hold() -> None:
    """Of plans that are as fast as the engine, hardly any is taken for faster."""
    rng = np.random.default_rng(1)
    wrong = sum(
        upper_limit(1 + 0.1 * rng.standard_normal(12), 1 + 0.1 * rng.standard_normal(12), 0.05) < 1
        for _ in range(200)
    )
    assert wrong <= 30


def test_graphs_are_not_changed_by_looking() -> None:
    module = program(NET)
    before = str(module)
    found = place(
        Graph.of(next(op for op in module.ops if isinstance(op, func.FuncOp))), RULES, Sums()
    )
    explanation(found)
    assert str(module) == before and T in before


def test_errors_are_diagnostics() -> None:
    assert issubclass(PlacementError, DiagnosticException)
