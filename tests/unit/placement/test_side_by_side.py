"""Regions that need nothing of each other run at once, on threads of their own."""

import multiprocessing
import time
from collections.abc import Sequence
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest
from placed import program
from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.backends.base import Array, Backend, CompiledRegion, No, RegionOptions, Support, Yes
from xrelay.backends.numpy import NumpyBackend
from xrelay.engines import Engines
from xrelay.finalists import distinct_plans, planned_model, plans_at_once, side_by_side
from xrelay.options import CompileOptions
from xrelay.placement.costs.cost import Cost, Estimator
from xrelay.placement.costs.key import Machine
from xrelay.placement.errors import PlacementError
from xrelay.placement.placing import Placement, place
from xrelay.placement.plan_file import plan_data, plan_of_data
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.defaults import OWN_KERNELS
from xrelay.runtime.errors import ModelError
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.sources import Source
from xrelay.whole_runs import WholeRuns

TOWERS = "a = exp x\nb = tanh x\nc = nn.dense x x\nd = add a b\ne = add d c\nreturn e"
CHAIN = "a = exp x\nb = tanh a\nreturn b"
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
WAIT = 60.0
"""Seconds after which regions that wait for each other have failed."""


class Engine(Backend):
    """An engine of a few operators that tells what it got. `meet` are those whose regions wait for each other."""

    name = "some"

    def __init__(self, *operators: str, meet: Sequence[str] = ()):
        self.operators = operators
        self.meet = meet
        self.barrier = Barrier(max(len(meet), 1))
        self.threads: dict[str, int] = {}
        self.fails = ""

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if op.name.removeprefix("relay.") in self.operators else No("it does not")

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        made: Any = NumpyBackend().compile(function, options)
        name = "+".join(op.name.removeprefix("relay.") for op in function.body.block.ops)
        name = name.removesuffix("+func.return")
        self.threads[name] = options.threads

        def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array] | None:
            if self.fails == name:
                raise ValueError("out of order")
            if name in self.meet:
                self.barrier.wait(WAIT)
            return made(inputs, outputs)

        return run


class Cheap(Estimator):
    """Own code costs more."""

    def estimate(self, candidate: Candidate) -> Cost:
        return Cost(9.0 if candidate.engine == OWN else 1.0, "table")


def placed(text: str, engine: Engine, threads: int) -> tuple[Source, Engines, Placement]:
    source, engines = Source(program(text)), Engines.of([engine])
    graph = source.prepared(CompileOptions(threads))
    return source, engines, place(graph, engines.rules(OWN_KERNELS), Cheap())


def plan_of(placement: Placement, engines: Engines, threads: int) -> dict[str, Any]:
    return plan_data(placement, Machine.here(threads), engines.facts())


def at_once(text: str, engine: Engine, threads: int) -> PartitionedModel:
    source, engines, placement = placed(text, engine, threads)
    plan = side_by_side(placement, plan_of(placement, engines, threads))
    assert plan is not None
    return planned_model(source.module, plan, engines, CompileOptions(threads), cache=False)


def right(x: Array) -> Array:
    return np.exp(x) + np.tanh(x) + x @ x.T


@pytest.mark.parametrize(
    ("threads", "shares", "stages"),
    [
        (2, {"exp": 1, "tanh": 1, "nn.dense": 2}, [2, 1, 1, 1]),
        (3, {"exp": 1, "tanh": 1, "nn.dense": 1}, [3, 1, 1]),
        (4, {"exp": 1, "tanh": 1, "nn.dense": 2}, [3, 1, 1]),
        (5, {"exp": 2, "tanh": 1, "nn.dense": 2}, [3, 1, 1]),
    ],
)
def test_regions_share_the_threads(threads: int, shares: dict[str, int], stages: list[int]) -> None:
    """No more of them at once than there are threads; those with the most arithmetic get what does not divide."""
    engine = Engine("exp", "tanh", "nn.dense")
    model = at_once(TOWERS, engine, threads)
    assert engine.threads == shares
    assert [len(stage) for stage in model.stages] == stages
    for _ in range(3):
        (found,) = model.run({"x": X}).values()
        np.testing.assert_allclose(found, right(X), rtol=1e-5)


def test_regions_run_at_the_same_time() -> None:
    """Each waits for the other one."""
    engine = Engine("exp", "tanh", meet=("exp", "tanh"))
    model = at_once(TOWERS, engine, 3)
    told: list[str] = []
    (found,) = model.run({"x": X}, after_step=lambda step: told.append(step.name)).values()
    np.testing.assert_allclose(found, right(X), rtol=1e-5)
    assert told == [step.name for step in model.steps]


@pytest.mark.parametrize("broken", ["exp", "tanh"])
def test_a_region_that_fails_beside_others(broken: str) -> None:
    engine = Engine("exp", "tanh", "nn.dense")
    model = at_once(TOWERS, engine, 3)
    engine.fails = broken
    with pytest.raises(ModelError, match="fails on backend 'some': out of order"):
        model.run({"x": X})
    engine.fails = ""
    (found,) = model.run({"x": X}).values()
    np.testing.assert_allclose(found, right(X), rtol=1e-5)


def _run_in_child(model: PartitionedModel, queue: Any) -> None:
    (found,) = model.run({"x": X}).values()
    queue.put(np.allclose(found, right(X)))


def test_a_child_of_fork_has_threads_of_its_own() -> None:
    model = at_once(TOWERS, Engine("exp", "tanh", "nn.dense"), 3)
    model.run({"x": X})
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    child = fork.Process(target=_run_in_child, args=(model, queue))
    child.start()
    child.join(WAIT)
    assert child.exitcode == 0 and queue.get()


def test_the_workspace_is_free_when_all_have_ended() -> None:
    """Also for who is interrupted: the first region gives up at once, another one goes on."""
    engine = Engine("exp", "tanh", "nn.dense")
    model = at_once(TOWERS, engine, 3)
    first, slow, _ = model.stages[0]
    entered, ended, run = Event(), Event(), slow.run

    def interrupted(*_: object) -> None:
        entered.wait(WAIT)
        raise KeyboardInterrupt

    def lasting(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array] | None:
        entered.set()
        time.sleep(0.05)
        found = run(inputs, outputs)
        ended.set()
        return found

    kept = first.run
    first.run, slow.run = interrupted, lasting
    with pytest.raises(KeyboardInterrupt):
        model.run({"x": X})
    assert ended.is_set()
    first.run, slow.run = kept, run
    (found,) = model.run({"x": X}).values()
    np.testing.assert_allclose(found, right(X), rtol=1e-5)


def test_regions_that_need_each_other() -> None:
    """Are no plan that differs; nor are parts of own code alone."""
    for text, operators in ((CHAIN, ("exp", "tanh")), (CHAIN, ("tanh",)), (TOWERS, ())):
        _, engines, placement = placed(text, Engine(*operators), 2)
        assert side_by_side(placement, plan_of(placement, engines, 2)) is None


def test_side_by_side_is_another_plan() -> None:
    _, engines, placement = placed(TOWERS, Engine("exp", "tanh"), 2)
    plan = plan_of(placement, engines, 2)
    other = side_by_side(placement, plan)
    assert other is not None
    assert distinct_plans({"a": plan, "b": other, "c": other}) == {"a": "a", "b": "b", "c": "b"}
    assert plan_of_data(other, placement.graph).data["side_by_side"] is True
    with pytest.raises(PlacementError, match="'side_by_side' is 'yes', expected true or false"):
        plan_of_data({**plan, "side_by_side": "yes"}, placement.graph)


def test_plans_whose_regions_wait_for_each_other_are_none_side_by_side() -> None:
    source, engines, placement = placed(CHAIN, Engine("exp"), 2)
    plan = {**plan_of(placement, engines, 2), "side_by_side": True}
    whole = WholeRuns(placement.graph, source.module, engines, CompileOptions(2))
    with pytest.raises(PlacementError, match="none of its regions run at once: each waits"):
        whole.run(plan)


def test_they_are_tried_with_several_threads() -> None:
    _, engines, placement = placed(TOWERS, Engine("exp", "tanh"), 2)
    plan = plan_of(placement, engines, 2)
    plans = {"some": plan, "plan 1": plan, "plan 2": plan}
    assert plans_at_once(placement, plans, 1) == {}
    expected = side_by_side(placement, plan)
    assert plans_at_once(placement, plans, 2) == {"plan 1, side by side": expected}
