"""Placements as files: what is read and refused, and the pass that carries them out."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from placed import FACTS, MACHINE, NET, RULES, Sums, X, graph_of, placed, program
from xdsl.dialects import func
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.partition.compilers import No, Support, Yes
from xrelay.interpreters.relay import interpret
from xrelay.placement.apply_placement import ApplyPlacementPass
from xrelay.placement.costs.key import Machine
from xrelay.placement.errors import PlacementError
from xrelay.placement.placing import Placement, place
from xrelay.placement.plan_file import EngineFacts, plan_data, plan_of_data, read_plan
from xrelay.placement.rules.base import OpPredicate
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.placement.rules.combinators import Composite, Primitive


def written(placement: Placement | None = None) -> dict[str, Any]:
    data = plan_data(placement or placed(), MACHINE, FACTS)
    return json.loads(json.dumps(data))


def test_plans_come_back() -> None:
    found = placed()
    data = written(found)
    plan = plan_of_data(data, graph_of(program(NET)))
    assert [part.inside for part in plan.parts] == [
        r.inside for r in found.regions() if r.engine != HOST
    ]
    assert plan.machine == MACHINE and plan.engines == FACTS and plan.binds("fast")
    assert data["seconds"] == 7.5 and data["gap"] == 0


def test_the_pass_carries_a_plan_out(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(written()))
    module = program(NET)
    ApplyPlacementPass(str(path)).rewrite(module)
    module.verify()
    made = [op for op in module.ops if isinstance(op, func.FuncOp) and op.attributes]
    assert [str(op.attributes["Compiler"]) for op in made] == ['"fast"', '"fast"']
    for name in ("Primitive", "Inline", "global_symbol"):
        assert all(name in op.attributes for op in made)
    np.testing.assert_array_equal(interpret(module, [X])[0], interpret(program(NET), [X])[0])


def test_composites_in_plans(tmp_path: Path) -> None:
    rules = {**RULES, "fast": Primitive(Composite("fast.dense", OpPredicate("d", _dense)))}
    found = place(graph_of(program(NET)), rules, Sums())
    module = program(NET)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(written(found)))
    ApplyPlacementPass(str(path)).rewrite(module)
    assert str(module).count('relay.composite "fast.dense"') == 1
    assert str(module).count("func.call") == 2, "equal functions share a name"
    np.testing.assert_array_equal(interpret(module, [X])[0], interpret(program(NET), [X])[0])


def _dense(op: Operation, types: Sequence[Attribute]) -> Support:
    return Yes() if op.name == "relay.nn.dense" else No("no")


def changed(data: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    """Data with something else in one place."""
    place_: Any = data
    for step in path[:-1]:
        place_ = place_[step]
    place_[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "other", "'format' is 'other', expected 'xrelay placement 1'"),
        (("model",), "other", "the plan is for another model"),
        (("machine",), {}, "'machine' is {}, expected cpu"),
        (("engines",), [], "'engines' is \\[\\], expected an object"),
        (("engines", "fast"), {"version": 1}, "engines.fast is .*, expected a 'version'"),
        (("regions",), None, "'regions' is None, expected a list"),
        (("regions", 1), 7, "regions\\[1\\] is 7, expected an object"),
        (("regions", 1, "engine"), "slow", "'engine' of regions\\[1\\] is 'slow', expected one of"),
        (("regions", 1, "nodes", 0, "index"), 99, "has node 99, expected a number from 0 to"),
        (("regions", 1, "nodes", 0, "index"), True, "has node True, expected a number"),
        (("regions", 1, "nodes", 0, "op"), "sort", "has 'sort' at node"),
        (("regions", 1, "nested"), [{"nodes": [0]}], "has nested nodes that are not its own"),
        (
            ("regions", 0, "nested", 0, "attributes", "Composite"),
            True,
            "'Composite' of regions\\[0\\] is True, expected a text$",
        ),
        (
            ("regions", 0, "nested", 0, "attributes", "Compiler"),
            7,
            "'Compiler' of regions\\[0\\] is 7, expected a text$",
        ),
        (
            ("regions", 0, "nested", 0, "attributes", "Primitive"),
            1 << 63,
            "'Primitive' of regions\\[0\\] is 9.*, expected a text or a number of 64 bits",
        ),
        (
            ("regions", 0, "nested", 0, "attributes", "Compiler"),
            "slow",
            "with the 'Compiler' \\['slow'\\], expected one with 'fast' and all nodes",
        ),
        (("regions", 0, "nested", 0, "nodes"), [1], "expected one with 'fast' and all nodes"),
        (("regions", 0, "nested", 0, "nodes"), [], "has a part without nodes"),
        (("regions", 0, "nested"), [], "'Compiler' \\[\\], expected one with 'fast'"),
        (("regions", 0, "engine"), OWN, "has a 'Compiler', which own code needs none"),
        (
            ("regions", 0, "nested", 0, "nested"),
            [{"attributes": {"Compiler": "fast"}, "nodes": [1]}],
            "has a 'Compiler' within another part",
        ),
        (("regions", 1, "engine"), "host", "has node 3, 'exp', which is more than 'host' does"),
        (("regions", 0, "nodes", 1), {"index": 1}, "regions\\[0\\] has node 1 twice"),
        (("machine", "threads"), True, "expected cpu, features, threads and project"),
    ],
)
def test_wrong_plans(path: tuple[Any, ...], value: Any, message: str, tmp_path: Path) -> None:
    data = changed(written(), *path, value=value)
    with pytest.raises(PlacementError, match=message):
        plan_of_data(data, graph_of(program(NET)))
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(data))
    with pytest.raises(PassFailedException, match=message):
        ApplyPlacementPass(str(file)).rewrite(program(NET))


def test_plans_for_other_models(tmp_path: Path) -> None:
    with pytest.raises(PlacementError, match="another model"):
        plan_of_data(written(), graph_of(program(NET.replace("tanh", "exp"))))
    file = tmp_path / "plan.json"
    file.write_text("{")
    for name, message in (
        ("plan.json", "is no plan: not JSON"),
        ("other", "cannot read .*: No such file"),
    ):
        with pytest.raises(PlacementError, match=message):
            read_plan(tmp_path / name, graph_of(program(NET)))
    with pytest.raises(PassFailedException, match="'file' is empty"):
        ApplyPlacementPass("").rewrite(program(NET))


def test_regions_of_plans_overlap_or_need_each_other() -> None:
    data = written()
    data["regions"].append(data["regions"][1])
    with pytest.raises(PlacementError, match="which another region has"):
        plan_of_data(data, graph_of(program(NET)))
    data = written()
    numbers = {node["op"]: node["index"] for region in data["regions"] for node in region["nodes"]}
    region = next(r for r in data["regions"] if r["nodes"][0]["op"] == "exp")
    region["nodes"].append({"index": numbers["nn.dense"]})
    data["regions"] = [region]
    with pytest.raises(
        PlacementError, match="needs its results and is needed by it|several blocks"
    ):
        plan_of_data(data, graph_of(program(NET)))


def test_plans_have_all_nodes() -> None:
    """What a plan forgets would be own code's without a word."""
    data = written()
    del data["regions"][2]
    with pytest.raises(PlacementError, match="no region has node 4, 'tanh'"):
        plan_of_data(data, graph_of(program(NET)))


def test_plans_of_other_machines() -> None:
    plan = plan_of_data(written(), graph_of(program(NET)))
    here = Machine.here(1)
    ours = replace(plan, machine=here)
    ours.check_here(1, FACTS)
    for other, threads, facts, message in (
        (ours, 2, FACTS, "the plan is for threads 1, expected 2"),
        (plan, 1, FACTS, "the plan was made on some cpu"),
        (
            replace(plan, machine=replace(here, project="9.9")),
            1,
            FACTS,
            "made on .*, xrelay 9.9, this is",
        ),
        (ours, 1, {OWN: FACTS[OWN]}, "the plan needs the engine 'fast', given are default"),
        (
            ours,
            1,
            {**FACTS, "fast": EngineFacts("2.0")},
            "made with version 1.0 of 'fast', found 2.0",
        ),
    ):
        with pytest.raises(PlacementError, match=message):
            other.check_here(threads, facts)
