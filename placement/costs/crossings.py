"""
Measured borders: what a step of a partitioned model costs beside the run of its region, for each pair of engines.

    producer ──► user     both steps in one model − the producer's step alone − the user's region alone
    host     ──► user     the user's step alone − its region alone

A region is `nn.relu`, of three sizes, through which a line is laid. The engine whose costs are sums over operators, own
code, pays here for what each of its regions begins with, too: the run of a region with one element, which is measured once.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, TensorType, f32
from xdsl.ir import Block, Region, SSAValue

from xrelay.backends.base import Array, Backend, CompiledRegion, RegionOptions
from xrelay.backends.regions import compile_region
from xrelay.dialects.base import RelayOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.arrays import type_bytes
from xrelay.placement.costs.borders import AT_HOST, IMAGES, BorderTable, Line, Place, fitted_line
from xrelay.placement.costs.database import BORDER, Failure, Measurement, Record
from xrelay.placement.costs.job import EngineMaker, Job, noted, require_here, run_job, text_of
from xrelay.placement.costs.key import Key, Machine, digest
from xrelay.placement.costs.measured import Measurer
from xrelay.placement.costs.timing import clock_for, machine_load, one_turn, settle
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.rules.candidate import OWN
from xrelay.runtime.executor import allocated
from xrelay.runtime.partitioned import PartitionedModel, RegionStep, Slot
from xrelay.runtime.signature import Signature, TensorSpec

SIZES = (1 << 8, 1 << 15, 1 << 19)
"""The elements of the tensors that cross, of four bytes each."""
LEAST_BYTES, MOST_BYTES = 4 << 20, 32 << 20
"""
What a core reads before a border is measured: more than its own caches have, and as much as a network goes through, up to
where runs are so long that borders do not matter.
"""
CHANNELS = 16
"""The channels of a block."""
USUAL = Line(1e-5, 1e10)
"""What borders cost that could not be measured."""


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


@dataclass(frozen=True)
class StartJob:
    """One measurement of what a region begins with: the run of one that does next to nothing."""

    engine: EngineMaker
    machine: Machine
    seconds: float
    behind: int


def run_start(job: StartJob) -> Record:
    """As `run_crossing`."""
    require_here(job.machine)

    def measured() -> Measurement:
        threads = job.machine.threads
        run = alone(region_of(job.engine(), 1, threads), 1)
        seconds = after_much(run, job.seconds, clock_for(threads), job.behind)
        return Measurement(seconds, seconds, seconds, 1, machine_load(), 0.0, 0.0)

    return noted(measured)


def run_crossing(job: CrossingJob) -> Record:
    """
    Measures a border. What an engine raises is a failure.

    Raises WrongMachine on a machine that the job is not for.
    """
    require_here(job.machine)
    return noted(lambda: _measured(job))


def _measured(job: CrossingJob) -> Measurement:
    threads = job.machine.threads
    user = region_of(job.user(), job.elements, threads)
    before: list[CompiledRegion] = []
    if job.producer is not None:
        before.append(region_of(job.producer(), job.elements, threads))
    both = run_of_steps([*before, user], job.elements)
    first = run_of_steps(before, job.elements) if before else None
    # What allocates the outputs of the model is no border: with a first step it is on both sides.
    by_itself = alone(user, job.elements, allocates=first is None)
    runs = Runs(both, first, by_itself)
    seconds = crossing_seconds(runs, job.seconds, clock_for(threads), job.behind)
    return Measurement(seconds, seconds, seconds, 1, machine_load(), 0.0, 4.0 * job.elements)


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


def bytes_of_run(graph: Graph, threads: int) -> int:
    """
    How many bytes a run of a network goes through until it comes to a border again: those of its tensors, rounded up to a number
    of three bits, so that networks of about as many share what is measured, between `LEAST_BYTES` and `MOST_BYTES`. With several
    threads as few as that: while more is read the threads of engines go to sleep, which they do not within a run.
    """
    if threads > 1:
        return LEAST_BYTES
    tensors = sum(
        type_bytes(value.type)
        for node in graph.nodes
        for value in node.values
        if is_tensor_type(value.type)
    )
    unit = 1 << max(tensors.bit_length() - 3, 0)
    return min(max(LEAST_BYTES, -(-tensors // unit) * unit), MOST_BYTES)


def after_much(
    run: Callable[[], object], seconds: float, clock: Callable[[], float], behind: int
) -> float:
    """
    How long a run takes when caches have so many bytes of other things: what engines do at borders is in none of them when
    the network has gone through its weights.
    """
    rest = np.ones(behind, np.uint8)
    settle()
    return one_turn(lambda _: run(), lambda: rest.view(np.uint64).sum(), clock, seconds)


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
    inputs, kept = [np.ones(elements, np.float32)], [np.empty(elements, np.float32)]
    if not allocates:
        return lambda: region(inputs, kept)
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


@dataclass
class Crossings(Measurer):
    """The borders between engines, from a database or measured now and noted there; those that are left are usual ones."""

    behind: int = LEAST_BYTES
    """How many bytes of other data are read before each run, as `bytes_of_run` says."""
    seconds: float = 0.02
    """How long each run may be timed, when engines are quick."""

    def table(self) -> BorderTable:
        """
        The lines of all pairs, and those of own code's images, which change their layout as well. An engine that does not
        run the first region that it gets is asked for no other.
        """
        first = {engine: self.key(None, engine, SIZES[0]) for engine in self.engines}
        begun = self.records({first[b]: self.job(None, b, SIZES[0]) for b in self.engines})
        failed = {b for b in self.engines if isinstance(begun.get(first[b]), Failure)}
        producers = [None, *self.engines]
        pairs = [(a, b) for b in self.engines for a in producers]
        running = [(a, b) for a, b in pairs if a not in failed and b not in failed]
        jobs = {self.key(a, b, size): self.job(a, b, size) for a, b in running for size in SIZES}
        sizes = () if OWN in failed else SIZES
        layouts = {self.layout_key(size): self.layout_job(size) for size in sizes}
        starts = {} if OWN in failed else {self.start_key(): self.start_job()}
        found = self.records(jobs | layouts | starts)
        started = next((found.get(key) for key in starts), None)
        begun = started.seconds if isinstance(started, Measurement) else 0.0
        lines: dict[tuple[Place, Place], Line] = {}
        for a, b in pairs:
            at = AT_HOST if a is None else Place(a)
            line = line_of([found.get(self.key(a, b, size)) for size in SIZES])
            if b == OWN and line is not USUAL:
                line = replace(line, start=line.start + begun)
            lines[at, Place(b)] = line
        images = line_of([found.get(self.layout_key(size)) for size in SIZES])
        return replace(with_images(lines, images), begun=begun)

    def key(self, producer: str | None, user: str, size: int) -> Key:
        """What the measurement of a border is known by."""
        before = "host" if producer is None else producer
        version = "" if producer is None else self.engines[producer].version
        what = digest(f"border without starts behind {self.behind} bytes {before} {version} {size}")
        return Key(what, user, self.engines[user].version, self.machine)

    def job(self, producer: str | None, user: str, size: int) -> CrossingJob:
        """The measurement of a border."""
        before = None if producer is None else self.engines[producer].maker
        after = self.engines[user].maker
        return CrossingJob(before, after, self.machine, size, self.seconds, self.behind)

    def start_key(self) -> Key:
        """What the measurement of what regions of own code begin with is known by."""
        what = digest(f"start of a region behind {self.behind} bytes")
        return Key(what, OWN, self.engines[OWN].version, self.machine)

    def start_job(self) -> StartJob:
        """That measurement."""
        return StartJob(self.engines[OWN].maker, self.machine, self.seconds, self.behind)

    def layout_key(self, size: int) -> Key:
        """What the measurement of a change of layout is known by."""
        engine = self.engines[OWN]
        return Key(digest(f"blocks of channels {size}"), OWN, engine.version, self.machine)

    def layout_job(self, size: int) -> Job:
        """The measurement of a change of layout."""
        shape = [1, CHANNELS, size // CHANNELS, 1]
        function = function_of(
            TensorType(f32, shape), lambda x: LayoutTransformOp(x, "NCHW", f"NCHW{CHANNELS}c")
        )
        return Job(text_of(function), self.engines[OWN].maker, self.machine, self.seconds)

    def records(self, jobs: Mapping[Key, CrossingJob | StartJob | Job]) -> dict[Key, Record]:
        """The records of measurements, those that the database lacks made now, as far as there is time."""
        known = self.database.find(jobs)
        found = {key: known[key.text] for key in jobs if key.text in known}
        pending: dict[Key, tuple[str, Future[Record]]] = {}
        for key, job in jobs.items():
            if key in found:
                continue
            match job:
                case Job():
                    future = self.executor.submit(run_job, job)
                case StartJob():
                    future = self.executor.submit(run_start, job)
                case CrossingJob():
                    future = self.executor.submit(run_crossing, job)
            pending[key] = BORDER, future
        stage = "measure borders: {number} of {count}"
        return found | self.gathered(pending, stage, time.monotonic())


def line_of(records: Sequence[Record | None]) -> Line:
    """The line through measurements; the usual one when an engine could not run them, or there was no time."""
    samples = [(int(r.bytes), r.seconds) for r in records if isinstance(r, Measurement)]
    return fitted_line(samples) if len(samples) == len(records) else USUAL


def with_images(lines: Mapping[tuple[Place, Place], Line], change: Line) -> BorderTable:
    """
    A table with lines for own code's images: they change their layout on the way to and from other engines. Within a
    network of own code, and at its ends, changes of layout are steps, which have their costs.
    """
    own, images = Place(OWN), Place(OWN, IMAGES)
    made = dict(lines)
    for (a, b), line in lines.items():
        if a == own and b != own:
            made[images, b] = with_change(line, change)
        elif b == own and a != own:
            made[a, images] = line if a == AT_HOST else with_change(line, change)
    for pair in ((own, own), (own, images), (images, own), (images, images)):
        made[pair] = Line()
    return BorderTable(made, USUAL)


def with_change(line: Line, change: Line) -> Line:
    """A line with the bytes of another one added. The region at the border has started already."""
    per_byte = 1 / line.bandwidth + 1 / change.bandwidth
    return Line(line.start, 1 / per_byte if per_byte else float("inf"))
