"""
What a worker measures of borders: regions of `nn.relu`, with a model around them and without, behind other data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, TensorType, f32
from xdsl.ir import Block, Region, SSAValue

from xrelay.backends.base import Array, Backend, CompiledRegion, RegionOptions
from xrelay.backends.regions import compile_region
from xrelay.dialects.base import RelayOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.placement.costs.behind import reading
from xrelay.placement.costs.database import Measurement, Record
from xrelay.placement.costs.job import EngineMaker, noted, require_here
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.timing import clock_for, machine_load, one_turn, settle
from xrelay.placement.costs.turns import give_up_kept, kept
from xrelay.runtime.executor import allocated
from xrelay.runtime.partitioned import PartitionedModel, RegionStep, Slot
from xrelay.runtime.signature import Signature, TensorSpec


@dataclass(frozen=True)
class CrossingJob:
    """One measurement of a border."""

    producer: EngineMaker | None
    """None for the host."""
    user: EngineMaker
    machine: Machine
    elements: int
    seconds: float
    """How long it may take."""
    behind: int
    """How many bytes of other data are read before each run."""

    def prepared(self) -> Callable[[float], float]:
        """What measures it for so many seconds, with regions that are compiled once. Raises what an engine raises."""
        threads = self.machine.threads
        user = region_of(self.user(), self.elements, threads)
        before: list[CompiledRegion] = []
        if self.producer is not None:
            before.append(region_of(self.producer(), self.elements, threads))
        both = run_of_steps([*before, user], self.elements)
        first = run_of_steps(before, self.elements) if before else None
        # What allocates the outputs of the model is no border: with a first step it is on both sides.
        by_itself = alone(user, self.elements, allocates=first is None)
        runs, clock = Runs(both, first, by_itself), clock_for(threads)
        return lambda seconds: crossing_seconds(runs, seconds, clock, self.behind)


@dataclass(frozen=True)
class StartJob:
    """One measurement of what a region begins with: the run of one that does next to nothing."""

    engine: EngineMaker
    machine: Machine
    seconds: float
    behind: int
    elements = 0
    """Of a tensor that crosses: none."""

    def prepared(self) -> Callable[[float], float]:
        """As that of `CrossingJob`."""
        threads = self.machine.threads
        run, clock = alone(region_of(self.engine(), 1, threads), 1), clock_for(threads)
        return lambda seconds: after_much(run, seconds, clock, self.behind)


BorderJob: TypeAlias = CrossingJob | StartJob


def run_border(job: BorderJob, turn: str = "") -> Record:
    """
    Measures. What an engine raises is a failure. What was compiled is kept for the next `turn` of a name, until something is
    measured that has none.

    Raises WrongMachine on a machine that the job is not for.
    """
    require_here(job.machine)

    def measured() -> Measurement:
        if not turn:
            give_up_kept()
        prepared = kept(turn, job.prepared) if turn else job.prepared()
        seconds = prepared(job.seconds)
        if turn:
            # Its threads are at rest when others have their turn, whose process does not see them.
            settle()
        return Measurement(seconds, seconds, seconds, 1, machine_load(), 0.0, 4.0 * job.elements)

    return noted(measured)


@dataclass(frozen=True)
class Runs:
    """What is run to find out what a border costs."""

    whole: Callable[[], object]
    """A model of all steps."""
    first: Callable[[], object] | None
    """The same model without the last step; None when that is the only one."""
    user: Callable[[], object]
    """The region of the last step."""


def crossing_seconds(runs: Runs, seconds: float, clock: Callable[[], float], behind: int) -> float:
    """What a border costs; never less than nothing, as roundings of clocks may have it."""
    whole, first, user = (
        0.0 if run is None else after_much(run, seconds, clock, behind)
        for run in (runs.whole, runs.first, runs.user)
    )
    return max(whole - user - first, 0.0)


def after_much(
    run: Callable[[], object], seconds: float, clock: Callable[[], float], behind: int
) -> float:
    """
    How long a run takes when caches have so many bytes of other things: what engines do at borders is in none of them when
    the network has gone through its weights.
    """
    read = reading(behind)
    settle()
    return one_turn(lambda _: run(), read, clock, seconds)


def region_of(backend: Backend, elements: int, threads: int) -> CompiledRegion:
    """The region of an engine that a border leads to."""
    type_ = TensorType(f32, [elements])
    return compile_region(backend, function_of(type_, ReluOp), RegionOptions(threads))


def function_of(type_: TensorType[Any], operator: Callable[[SSAValue], RelayOp]) -> func.FuncOp:
    """A function of one operator."""
    block = Block(arg_types=[type_])
    made = operator(block.args[0])
    block.add_ops([made, func.ReturnOp(*made.results)])
    return func.FuncOp(
        "region", FunctionType.from_lists([type_], made.result_types), Region(block), "private"
    )


def alone(
    region: CompiledRegion, elements: int, *, allocates: bool = False
) -> Callable[[], object]:
    """The run of a region without a model around it, with new memory for its output each time if wanted."""
    inputs, output = [np.ones(elements, np.float32)], [np.empty(elements, np.float32)]
    if not allocates:
        return lambda: region(inputs, output)
    return lambda: region(inputs, [allocated((elements,), np.dtype(np.float32), "an output")])


def run_of_steps(regions: Sequence[CompiledRegion], elements: int) -> Callable[[], object]:
    """The run of a model whose steps are regions one after the other."""
    spec = TensorSpec("", (elements,), np.dtype(np.float32))
    count = len(regions)
    # What lies between two steps is in the workspace.
    slots = [Slot(spec, 0 if 0 < i < count else None) for i in range(count + 1)]
    steps = [
        RegionStep(f"step{i}", "", "", region, (i,), (i + 1,), i)
        for i, region in enumerate(regions)
    ]
    inputs = (TensorSpec("x", spec.shape, spec.dtype),)
    outputs = (TensorSpec("y", spec.shape, spec.dtype),)
    signature = Signature("steps", inputs, outputs, 0, spec.size, "", (), 1)
    model = PartitionedModel(signature, [0], [count], slots, {}, steps)
    given: dict[str, Array] = {"x": np.ones(elements, np.float32)}
    return lambda: model.run(given)
