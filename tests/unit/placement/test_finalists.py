"""What runs whole in the end: the best plans, each engine alone, and priority order as the passes have it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from placed import program
from xdsl.dialects import func
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import is_op, wildcard
from xrelay.backends.base import Backend, CompiledRegion, No, RegionOptions, Support, Yes
from xrelay.backends.numpy import NumpyBackend
from xrelay.engines import Engines
from xrelay.finalists import apply_data, as_before, distinct_plans, handed_over, plans_to_try
from xrelay.options import CompileOptions, silent
from xrelay.partitioned import compiler_of, partition
from xrelay.placement.confirmation import LEVEL, Run, Verdict, level_of
from xrelay.placement.costs.cost import FREE, MODEL, UNKNOWN, Cost, Estimator, invalid
from xrelay.placement.costs.key import Machine
from xrelay.placement.errors import PlacementError
from xrelay.placement.placing import Placement, Request, of_what_ran, place, was_run, with_next_best
from xrelay.placement.plan_file import SIDE_BY_SIDE
from xrelay.placement.refining import Groups
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.defaults import OWN_KERNELS
from xrelay.priority import priority_placement, priority_regions
from xrelay.sources import Source
from xrelay.whole_runs import WholeRuns, confirmed, refined, rounds

NET = "a = nn.dense x x\nb = nn.relu a\nc = exp b\nd = tanh b\ne = add c d\nf = nn.dense e e\nreturn f"
OPTIONS = CompileOptions()
HERE = Machine.here(1)


class Some(Backend):
    """An engine of a few operators."""

    operators: Sequence[str] = ()

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if op.name.removeprefix("relay.") in self.operators else No("it does not")

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        made = NumpyBackend().compile(function, options)
        assert callable(made)
        return made


class First(Some):
    name = "first"
    operators = ("exp", "tanh", "nn.dense")

    def patterns(self) -> Sequence[CompositePattern]:
        dense = is_op("nn.dense")(wildcard(), wildcard())
        return (CompositePattern("first.dense_relu", is_op("nn.relu")(dense)),)


class Second(Some):
    name = "second"
    operators = ("nn.relu", "add", "exp")


class Wrong(Some):
    """An engine that computes something else."""

    name = "wrong"
    operators = ("nn.dense",)

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        return lambda inputs, outputs: [np.full_like(each, 7) for each in outputs]


class Broken(Some):
    """An engine that cannot do what it says."""

    name = "broken"
    operators = ("nn.dense",)

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        raise ValueError("out of order")


class Cheap(Estimator):
    """Everything costs as much; own code more."""

    def estimate(self, candidate: Candidate) -> Cost:
        return Cost(2.0 if candidate.engine == OWN else 1.0, "table")


def placed(backends: Sequence[Backend]) -> tuple[Source, Engines, Placement]:
    source, engines = Source(program(NET)), Engines.of(backends)
    graph = source.prepared(OPTIONS)
    return source, engines, place(graph, engines.rules(OWN_KERNELS), Cheap())


def functions(ops: Sequence[Operation]) -> list[tuple[str, list[str]]]:
    """The engine and the operations of each region, those in composites too. Results may be in any order."""
    found = (op for op in ops if isinstance(op, func.FuncOp) and compiler_of(op) != OWN)
    return sorted((compiler_of(op), sorted(inner.name for inner in walk(op))) for op in found)


def test_priority_order_is_that_of_the_passes() -> None:
    for backends in ([First(), Second()], [Second(), First()], [Second()]):
        source, engines, placement = placed(backends)
        graph = placement.graph
        regions = priority_regions(source.module, graph, engines.backends, OPTIONS)
        priority = priority_placement(placement, regions, Cheap().estimates(regions))
        assert priority is not None
        for wrong in (UNKNOWN, invalid("it crashes")):
            assert priority_placement(placement, regions, [wrong, *[FREE] * 9]) is None
        plan = plans_to_try(placement, engines, HERE, priority)[0]["priority"]
        apply_data(source.module, plan, engines.backends, OPTIONS)
        expected = program(NET)
        partition(expected, engines.backends)
        assert functions(list(source.module.ops)) == functions(list(expected.ops))


def test_what_is_tried_keeps_pins_and_the_memory_limit() -> None:
    """Priority order and single engines know neither."""
    source, engines, placement = placed([First(), Second()])
    graph = placement.graph
    regions = priority_regions(source.module, graph, engines.backends, OPTIONS)
    assert priority_placement(placement, regions, Cheap().estimates(regions)) is not None
    rules = engines.rules(OWN_KERNELS)
    pinned = place(graph, rules, Cheap(), Request({"tanh": OWN}))
    assert priority_placement(pinned, regions, Cheap().estimates(regions)) is None
    for plan in plans_to_try(pinned, engines, HERE)[0].values():
        engine_of = {n["op"]: r["engine"] for r in plan["regions"] for n in r["nodes"]}
        assert engine_of["tanh"] == OWN
    plans, _ = plans_to_try(placement, engines, HERE)
    limit = min(plan["memory"] for plan in plans.values())
    limited = place(graph, rules, Cheap(), Request(memory_limit=limit))
    kept, left_out = plans_to_try(limited, engines, HERE)
    assert left_out.keys() & engines.facts().keys()
    assert set(left_out.values()) == {"it does not keep to the pins and the memory limit"}
    assert 0 < len(kept) < len(plans)
    assert all(plan["memory"] <= limit for plan in kept.values())


class Guess(Cheap):
    """Another engine is cheap, by a model."""

    def estimate(self, candidate: Candidate) -> Cost:
        found = super().estimate(candidate)
        return found if candidate.engine == OWN else replace(found, source=MODEL)


class Crash(Cheap):
    """Measurements of another engine fail, and some are never made."""

    def __init__(self, made: int):
        self.made = made

    def estimate(self, candidate: Candidate) -> Cost:
        if candidate.engine == OWN:
            return super().estimate(candidate)
        self.made -= 1
        return invalid("it crashes", "measured") if self.made >= 0 else UNKNOWN


@pytest.mark.parametrize("made", [0, 3, 1000])
def test_what_no_worker_ran_is_not_run_whole(made: int) -> None:
    """It may crash the program, or hang."""
    source, engines = Source(program(NET)), Engines.of([First()])
    graph = source.prepared(OPTIONS)
    found = place(graph, engines.rules(OWN_KERNELS), Crash(made), usual=Guess())
    plans, left_out = plans_to_try(of_what_ran(found), engines, HERE)
    assert OWN in plans and "plan 1" in plans and "first" in left_out
    for plan in plans.values():
        assert "first" not in {region["engine"] for region in plan["regions"]}


def test_pins_to_what_was_never_run() -> None:
    """There was no time to measure it, so that nothing is left, and the message says why."""
    source, engines = Source(program(NET)), Engines.of([First()])
    graph = source.prepared(OPTIONS)
    rules, request = engines.rules(OWN_KERNELS), Request({"tanh": "first"})
    found = of_what_ran(place(graph, rules, Crash(0), request, usual=Guess()))
    plans, left_out = plans_to_try(found, engines, HERE)
    assert not plans and left_out["plan 1"].startswith("no worker has run all of its regions")
    whole = WholeRuns(graph, source.module, engines, OPTIONS)
    with pytest.raises(PlacementError, match="no plan can be run whole; .*plan 1: no worker has"):
        confirmed(whole, plans, engines, 1, silent, left_out)


def test_an_engine_without_regions_is_no_finalist() -> None:
    """Its plan would be own code under another name, and take the place of that."""

    class Nothing(Some):
        name = "nothing"

    source, engines, placement = placed([Wrong(), Nothing()])
    plans, left_out = plans_to_try(placement, engines, HERE)
    assert left_out == {"nothing": "it runs nothing of the model"}
    assert next(iter(plans)) == OWN
    whole = WholeRuns(placement.graph, source.module, engines, OPTIONS)
    finalists = {name: plans[name] for name in ("wrong", OWN)}
    assert confirmed(whole, finalists, engines, 1, silent)[0] == OWN


def test_results_are_compared_with_own_code_whatever_is_tried() -> None:
    """Pins may leave no plan of own code alone."""
    source, engines = Source(program(NET)), Engines.of([Wrong()])
    graph = source.prepared(OPTIONS)
    rules = engines.rules(OWN_KERNELS)
    placement = place(graph, rules, Cheap(), Request({"nn.dense": "wrong"}))
    plans, _ = plans_to_try(placement, engines, HERE)
    assert OWN not in plans
    whole = WholeRuns(graph, source.module, engines, OPTIONS)
    with pytest.raises(PlacementError, match="no plan can be run whole; .*of the largest element"):
        confirmed(whole, plans, engines, 1, silent)


def test_results_of_what_has_no_code_are_compared_with_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*args: object, **options: object) -> None:
        raise DiagnosticException("no code")

    source, engines, placement = placed([First()])
    whole = WholeRuns(placement.graph, source.module, engines, OPTIONS)
    monkeypatch.setattr("xrelay.whole_runs.compile_partition", refused)
    whole.run(plans_to_try(placement, engines, HERE)[0]["first"])
    source, engines, placement = placed([Wrong()])
    whole = WholeRuns(placement.graph, source.module, engines, OPTIONS)
    with pytest.raises(PlacementError, match="of the largest element away"):
        whole.run(plans_to_try(placement, engines, HERE)[0]["wrong"])


def test_what_time_did_not_allow_to_search() -> None:
    """Measurements that were asked for count, and what was not measured is left out of whole runs."""
    source, engines = Source(program(NET)), Engines.of([First()])
    graph = source.prepared(OPTIONS)
    request = Request(seconds=1e-9)
    found = place(graph, engines.rules(OWN_KERNELS), Cheap(), request, usual=Guess())
    assert {each.source for each in found.costs if each.source != "host"} <= {"table", "model"}
    plans, _ = plans_to_try(of_what_ran(found), engines, HERE)
    assert {"plan 1", OWN, "first"} <= plans.keys()


def test_single_engines_are_measured() -> None:
    """All that they would run alone, whatever the best plan has of them."""
    source, engines = Source(program(NET)), Engines.of([First()])
    graph = source.prepared(OPTIONS)
    found = place(graph, engines.rules(OWN_KERNELS), Slow(), usual=Guess())
    single = plans_to_try(found, engines, HERE)[0]["first"]
    ours = [region for region in single["regions"] if region["engine"] == "first"]
    assert ours and {region["source"] for region in ours} == {"measured"}
    assert {region.engine for region in found.regions()} <= {OWN, "host"}


def test_next_best_plans_are_of_what_has_run() -> None:
    """Guesses about others, which may be cheap, would have to be measured first."""
    source, engines = Source(program(NET)), Engines.of([First(), Second()])
    graph = source.prepared(OPTIONS)
    found = place(graph, engines.rules(OWN_KERNELS), Slow(), usual=NearlyAsGood())
    costs = [plan.cost for plan in found.outcome.plans]
    assert len(costs) > 1 and costs == sorted(costs)
    assert any(cost.is_guess for cost in found.costs)
    assert all(was_run(found, number) for number in range(len(costs)))
    # What is found in the end may be better than what there was time for before.
    worst = replace(found, outcome=replace(found.outcome, plans=found.outcome.plans[-1:]))
    again = with_next_best(worst).outcome.plans
    assert [plan.cost for plan in again] == costs


class NearlyAsGood(Guess):
    """Other engines take a little longer for each operator than own code, by a model."""

    def estimate(self, candidate: Candidate) -> Cost:
        found, count = super().estimate(candidate), candidate.inside.bit_count()
        return replace(found, seconds=(2.0 if candidate.engine == OWN else 2.1) * count)


class Slow(Cheap):
    """What a model finds cheap takes long."""

    def estimate(self, candidate: Candidate) -> Cost:
        if candidate.engine == OWN:
            return super().estimate(candidate)
        return Cost(100.0, "measured")


def test_pins_may_leave_no_single_engine() -> None:
    """The best plan is what ships then."""
    source, engines = Source(program(NET)), Engines.of([First(), Second()])
    graph = source.prepared(OPTIONS)
    request = Request({"tanh": "first", "add": "second"})
    placement = place(graph, engines.rules(OWN_KERNELS), Cheap(), request)
    plans, _ = plans_to_try(placement, engines, HERE)
    assert not engines.facts().keys() & plans.keys()
    whole = WholeRuns(graph, source.module, engines, OPTIONS)
    shipped, verdict, excluded = confirmed(whole, plans, engines, 1, silent)
    assert shipped in plans and verdict.best_single == "plan 1" and not excluded
    with pytest.raises(PlacementError, match="^no plan can be run whole; first: .*out of order"):
        source, engines, placement = placed([Broken()])
        whole = WholeRuns(placement.graph, source.module, engines, OPTIONS)
        plan = plans_to_try(placement, engines, HERE)[0]["broken"]
        confirmed(whole, {"first": plan}, engines, 1, silent)


def test_equal_plans_run_once() -> None:
    _, engines, placement = placed([First(), Second()])
    plans, _ = plans_to_try(placement, engines, HERE)
    assert list(plans)[:3] == [OWN, "first", "second"]
    assert distinct_plans({"a": plans["first"], "b": plans[OWN], "c": plans["first"]}) == {
        "a": "a",
        "b": "b",
        "c": "a",
    }


def test_plans_that_fail_or_differ_are_left_out() -> None:
    source, engines, placement = placed([Wrong(), Broken()])
    graph = placement.graph
    plans, _ = plans_to_try(placement, engines, HERE)
    finalists = {name: plans[name] for name in (OWN, "wrong", "broken")}
    whole = WholeRuns(graph, source.module, engines, OPTIONS)
    shipped, verdict, excluded = confirmed(whole, finalists, engines, 1, silent)
    assert shipped == OWN and list(verdict.seconds) == [OWN]
    assert "of the largest element away, expected 0.001" in excluded["wrong"]
    assert "out of order" in excluded["broken"]


class Told(WholeRuns):
    """Plans take a second for each region of an engine that another one could have; `bad` fails."""

    def __init__(self, bad: str, slow: str):
        self.bad, self.slow = bad, slow
        self.plans: list[list[str]] = []

    def run(self, plan: Mapping[str, Any]) -> Run:
        used = [region["engine"] for region in plan["regions"]]
        self.plans.append(used)
        if self.bad in used:
            raise PlacementError("it cannot")
        return lambda: float(used.count(self.slow))


def test_groups_of_the_best_plan_change_engines() -> None:
    _, engines, placement = placed([First(), Second()])
    groups = Groups.of(placement)
    best = groups.at(groups.start)
    assert best is not None and best.outcome.best is not None
    assert groups.counts == [2] * 3 and 0 not in groups.start
    assert [each.engine for each in best.regions()] == [each.engine for each in placement.regions()]
    own = groups.at((0,) * 3)
    assert own is not None and {each.engine for each in own.regions()} == {OWN, "host"}
    told = Told("nobody", "first")
    found = refined(placement, told, engines, HERE, 60.0, silent)
    assert found is not None and "first" not in {each["engine"] for each in found["regions"]}
    assert set(told.plans[0]) == {OWN, "host"}, "own code says what is right"
    assert len(told.plans) <= 1 + 2**3, "nothing is run twice"


def test_the_best_plan_stays_where_no_other_is_faster() -> None:
    _, engines, placement = placed([First(), Second()])
    assert refined(placement, Told("nobody", "nobody"), engines, HERE, 60.0, silent) is None
    found = refined(placement, Told("second", OWN), engines, HERE, 60.0, silent)
    assert found is not None
    assert {engine for engine, *_ in map(tuple, handed_over(found))} == {"first"}


def test_refined_plans_keep_to_the_memory_limit() -> None:
    source, engines = Source(program(NET)), Engines.of([First()])
    graph = source.prepared(OPTIONS)
    request = Request(memory_limit=placed([First()])[2].outcome.plans[0].memory)
    groups = Groups.of(place(graph, engines.rules(OWN_KERNELS), Cheap(), request))
    assert groups.at(groups.start) is not None
    tight = replace(groups.placement, request=replace(request, memory_limit=1))
    assert replace(groups, placement=tight).at(groups.start) is None


def test_networks_that_round() -> None:
    """A number that is rounded the other way is a step in all layers behind it."""
    assert not rounds(placed([First()])[2].graph)
    text = (
        "%q = relay.cast %x {dtype = i8} : (tensor<4x4xf32>) -> tensor<4x4xi8>\n"
        "%r = relay.cast %q {dtype = f32} : (tensor<4x4xi8>) -> tensor<4x4xf32>\n"
        "func.return %r : tensor<4x4xf32>"
    )
    assert rounds(Source(program(text)).prepared(OPTIONS))


def test_verdicts_by_later_runs() -> None:
    """Which single engine is the fastest may have changed; a mixed plan that was proven to be faster than it stays so."""
    seconds = {OWN: 2.0, "first": 3.0, "plan 1": 1.0, "plan 2": 1.0}

    def runs(**taken: float) -> dict[str, list[float]]:
        return {name.replace("_", " "): [each, each, each] for name, each in taken.items()}

    slower = runs(default=2.0, first=1.5, plan_1=1.6, plan_2=1.7)
    single = Verdict(OWN, OWN, seconds, {"plan 1": 1.1, "plan 2": 1.2})
    found = single.after(slower, 4)
    assert (found.shipped, found.best_single, found.seconds["plan 2"]) == ("first", "first", 1.7)
    assert found.limits == {"plan 1": pytest.approx(1.6 / 1.5), "plan 2": pytest.approx(1.7 / 1.5)}
    mixed = Verdict("plan 1", OWN, seconds, {"plan 1": 0.6, "plan 2": 0.9})
    found = mixed.after(slower, 4)
    assert (found.shipped, found.best_single) == ("first", "first"), "it was proven of another"
    assert found.limits == {"plan 1": pytest.approx(1.6 / 1.5), "plan 2": pytest.approx(1.7 / 1.5)}
    found = mixed.after(runs(default=2.0, first=3.0, plan_1=1.9, plan_2=9.0), 4)
    assert found.shipped == "plan 1" and found.limits["plan 1"] == 0.6
    assert mixed.after(runs(default=2.0, first=3.0, plan_1=2.1, plan_2=9.0), 4).shipped == OWN
    faster = runs(default=2.0, first=1.5, plan_1=1.6, plan_2=1.4)
    for verdict in (single, mixed):
        assert verdict.after(faster, 4).shipped == "plan 2"
    undecided = {
        OWN: [2.0] * 12,
        "first": [1.5, 1.6] * 6,
        "plan 1": [1.4, 1.7] * 6,
        "plan 2": [9.0] * 12,
    }
    assert single.after(undecided, 4).shipped == "first"
    assert level_of(0) == LEVEL / 3 and level_of(2) == LEVEL / 11


def test_plans_that_ran_before() -> None:
    """With what is known of them now; only what is no more than nearly as good need not run."""

    def plan(number: int, seconds: float = 1.0) -> dict[str, Any]:
        return {
            "regions": [{"engine": "first", "nodes": [number], "nested": []}],
            "seconds": seconds,
        }

    before = {OWN: plan(0), "plan 1": plan(1), "plan 2": plan(2)}
    now = {OWN: plan(0, 2.0), "plan 1": plan(2, 3.0), "plan 2": plan(4)}
    assert as_before(now, before) == {OWN: plan(0, 2.0), "plan 1": plan(1), "plan 2": plan(2, 3.0)}
    assert as_before({**now, "plan 1": plan(5)}, before) is None
    assert as_before({**now, "priority": plan(5)}, before) is None
    assert as_before({**now, "priority": {**plan(1), SIDE_BY_SIDE: True}}, before) is None
