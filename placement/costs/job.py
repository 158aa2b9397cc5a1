"""
What a worker measures: the function of a candidate, as text, on an engine that it finds by name.

Large constants travel by type only, and get seeded numbers, as do inputs: how long a run takes depends on these
hardly ever, and weights are large.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.analysis.facts.walking import walk
from xrelay.backends.base import Array, Backend, RegionOptions
from xrelay.backends.discovery import find_backend
from xrelay.backends.onnx_original import fill_weights
from xrelay.backends.regions import (
    RegionTensor,
    compile_region,
    region_bytes,
    region_inputs,
    region_operators,
    region_outputs,
)
from xrelay.dialects.core.blob import BlobAttr, stored_content
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.relay import Relay
from xrelay.interpreters.arrays import dtype_of, type_bytes
from xrelay.interpreters.constants import constant_op, dense_attribute
from xrelay.placement.costs.behind import reading
from xrelay.placement.costs.database import Failure, Measurement, Record
from xrelay.placement.costs.inputs import inputs_in_turn, numbers
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.timing import (
    SAMPLE_SECONDS,
    clock_for,
    machine_load,
    measure,
    one_turn,
    settle,
)
from xrelay.placement.costs.turns import give_up_kept, kept
from xrelay.placement.errors import PlacementError

EngineMaker = Callable[[], Backend]
"""Makes the engine in the worker: something that pickles."""


@dataclass(frozen=True)
class ByName:
    """Makes an engine by its name."""

    text: str

    def __call__(self) -> Backend:
        return find_backend(self.text)


@dataclass(frozen=True)
class Job:
    """One measurement."""

    function: str
    """The text of the function."""
    engine: EngineMaker
    machine: Machine
    """Where it is to be measured; another machine refuses."""
    seconds: float
    """How long it may take."""
    onnx: bytes | None = None
    """The nodes that the function was in the model, without weights, for engines that take these."""
    rotating: tuple[int, ...] = ()
    """The inputs that are others in each run."""
    windows: int = 1
    """Of sampling, as `measure` has them."""
    behind: int = 0
    """How many bytes of other data are read before each run, but for its inputs, as `bytes_beside` says."""
    weights: tuple[int, ...] = ()
    """The inputs that are constants: what was read last has them in no cache."""

    @property
    def sample(self) -> float:
        """How long a sample is, at least; one run where each is behind other data."""
        return 0.0 if self.behind else SAMPLE_SECONDS


class WrongMachine(PlacementError):
    """A worker runs on another machine than the one asked for."""


@dataclass(frozen=True)
class Prepared:
    """A part that is compiled, and its inputs."""

    run: Callable[[list[Array]], object]
    given: Callable[[], list[Array]]
    """Gives the inputs of a run, behind other data if wanted."""
    work: tuple[float, float]
    """Its arithmetic, and the bytes that go in and out."""

    @staticmethod
    def of(job: Job, function: func.FuncOp) -> "Prepared":
        """Raises what the engine raises."""
        options = RegionOptions(job.machine.threads, filled(job.onnx))
        region = compile_region(job.engine(), function, options)
        outputs = [np.empty(each.shape, each.dtype) for each in region_outputs(function)]
        given = inputs_in_turn(region_inputs(function), job.rotating)
        if job.behind:
            given = inputs_behind(given, outputs, job.behind, {*job.rotating, *job.weights})
        return Prepared(lambda inputs: region(inputs, outputs), given, work_of(function))


def run_job(job: Job) -> Record:
    """
    Measures. What the engine raises is a failure of the candidate.

    Raises WrongMachine on a machine that the job is not for.
    """
    require_here(job.machine)
    function = _function_of(job)
    return noted(lambda: _measured(job, function))


def _function_of(job: Job) -> func.FuncOp:
    # What takes the nodes instead has no use for the constants of the function, which may be many.
    return parsed(job.function, with_constants=job.onnx is None)


def run_turn(name: str, job: Job, seconds: float) -> Record:
    """
    Measures for one turn of so many seconds. What was compiled for it is kept for the next turn of that name, until something is
    measured that has none.

    Raises WrongMachine on a machine that the job is not for.
    """
    require_here(job.machine)

    def measured() -> Measurement:
        found = kept(name, lambda: Prepared.of(job, _function_of(job)))
        settle()
        clock = clock_for(job.machine.threads)
        taken = one_turn(found.run, found.given, clock, seconds, job.sample)
        # Its threads are at rest when others have their turn, whose process does not see them.
        settle()
        return Measurement(taken, taken, taken, 1, machine_load(), *found.work)

    return noted(measured)


def _measured(job: Job, function: func.FuncOp) -> Measurement:
    give_up_kept()
    made = Prepared.of(job, function)
    clock = clock_for(job.machine.threads)
    timing = measure(made.run, made.given, job.seconds, clock, job.windows, job.sample)
    load = machine_load()
    return Measurement(timing.median, timing.low, timing.high, timing.samples, load, *made.work)


def noted(measured: Callable[[], Measurement]) -> Record:
    """A measurement, or what an engine raises instead as the failure that it is."""
    try:
        return measured()
    except (Exception, SystemExit) as error:  # noqa: BLE001 whatever an engine raises is why it fails
        text = str(error).strip().partition("\n")[0]
        return Failure(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def require_here(machine: Machine) -> None:
    """Raises WrongMachine unless this process runs on a machine."""
    if not machine.is_here():
        here = Machine.here(machine.threads)
        raise WrongMachine(f"a worker runs on {here}, expected {machine}")


def inputs_behind(
    given: Callable[[], list[Array]],
    outputs: Sequence[Array],
    behind: int,
    cold: Collection[int],
) -> Callable[[], list[Array]]:
    """
    What gives inputs when so many bytes of other data were read. Those that are not `cold` are in caches again, as what was just
    computed is, and so is memory for outputs, which was for something else before.
    """
    read = reading(behind, [*outputs, *(e for i, e in enumerate(given()) if i not in cold)])

    def inputs() -> list[Array]:
        found = given()
        read()
        return found

    return inputs


def filled(onnx: bytes | None) -> bytes | None:
    """A model that came without weights, with numbers in their place."""
    if onnx is None:
        return None
    model = ModelProto.FromString(onnx)
    fill_weights(model, weights)
    return model.SerializeToString()


def work_of(function: func.FuncOp) -> tuple[float, float]:
    """The arithmetic of a region, and the bytes that go in and out, its constants among them."""
    flops = sum(operation_count(op) for op in region_operators(function))
    constants = (op.result.type for op in walk(function) if isinstance(op, ConstantOp))
    return float(flops), float(sum(map(type_bytes, constants)) + region_bytes(function))


def parsed(text: str, *, with_constants: bool = True) -> func.FuncOp:
    """The function in a text, with numbers in the place of constants that came without theirs, unless it is only looked at."""
    context = Context()
    context.load_dialect(Relay)
    from xdsl.dialects import get_all_dialects

    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    for seed, op in enumerate(walk(module) if with_constants else ()):
        if (
            isinstance(op, ConstantOp)
            and isinstance(op.value, BlobAttr)
            and op.value.data.data is None
        ):
            tensor = RegionTensor(op.result.type.get_shape(), dtype_of(op.result.type.element_type))
            op.properties["value"] = constant_op(weights(tensor, seed)).value
    return next(op for op in module.ops if isinstance(op, func.FuncOp))


VECTOR_BYTES = 1 << 16
"""Vectors of up to so many bytes are in a text: scales and zero points decide what an engine can do."""


def text_of(function: func.FuncOp) -> str:
    """A function as text, in a module of its own, with the elements of vectors and of small constants."""
    copy = function.clone()
    for op in walk(copy):
        if not isinstance(op, ConstantOp) or not isinstance(op.value, BlobAttr):
            continue
        content, type_ = stored_content(op.value), op.result.type
        if content is not None and type_.get_num_dims() == 1 and len(content) <= VECTOR_BYTES:
            op.properties["value"] = dense_attribute(content, type_)
    return str(ModuleOp([copy]))


def weights(tensor: RegionTensor, seed: int) -> Array:
    """Numbers as weights have them: results are as large as what they are of. Engines keep equal weights once."""
    fan = max(1, prod(tensor.shape[1:]))
    return numbers(tensor, seed, sqrt(2 / fan) if len(tensor.shape) > 1 else sqrt(2))
