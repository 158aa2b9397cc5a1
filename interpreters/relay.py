"""
Running modules of the relay dialect in NumPy.

Tensors are NumPy arrays (of rank 0 too, never NumPy scalars), tuples Python tuples, references
`Cell`s. Results have the dtype and the shape that their types state.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TupleType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImplResult,
    PythonValues,
    register_impls,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core.functional import ApplyOp, LetOp
from xrelay.dialects.core.references import RefType
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.limits import Limits
from xrelay.dialects.shapes import array_refusal, compatible, is_tensor_type, tensor_type
from xrelay.interpreters.arrays import Array, dtype_of, type_bytes, type_of
from xrelay.interpreters.base import identity, meaning
from xrelay.interpreters.conv.conv import ConvFunctions
from xrelay.interpreters.conv.gradient import ConvGradientFunctions
from xrelay.interpreters.conv.packed import ConvPackedFunctions
from xrelay.interpreters.conv.transpose import ConvTransposeFunctions
from xrelay.interpreters.conv.winograd import WinogradFunctions
from xrelay.interpreters.core.adt import AdtFunctions
from xrelay.interpreters.core.annotation import AnnotationFunctions
from xrelay.interpreters.core.device import DeviceFunctions
from xrelay.interpreters.core.failure import FailureFunctions
from xrelay.interpreters.core.functional import FunctionalFunctions
from xrelay.interpreters.core.memory import MemoryFunctions
from xrelay.interpreters.core.references import Cell, ReferenceFunctions
from xrelay.interpreters.core.values import CoreFunctions
from xrelay.interpreters.core.vm import VmFunctions
from xrelay.interpreters.dyn.tensor import DynFunctions
from xrelay.interpreters.image.resize import ImageFunctions
from xrelay.interpreters.image.sampling import SamplingFunctions
from xrelay.interpreters.nn.bitserial import BitSerialFunctions
from xrelay.interpreters.nn.correlation import CorrelationFunctions
from xrelay.interpreters.nn.dense import DenseFunctions
from xrelay.interpreters.nn.dilate import DilateFunctions
from xrelay.interpreters.nn.loss import LossFunctions
from xrelay.interpreters.nn.norm import NormFunctions
from xrelay.interpreters.nn.space import SpaceFunctions
from xrelay.interpreters.nn.upsampling import UpsamplingFunctions
from xrelay.interpreters.pool.adaptive import AdaptivePoolFunctions
from xrelay.interpreters.pool.gradient import PoolGradientFunctions
from xrelay.interpreters.pool.pool import PoolFunctions
from xrelay.interpreters.qnn.arithmetic import QnnArithmeticFunctions
from xrelay.interpreters.qnn.blocks import QnnBlocksFunctions
from xrelay.interpreters.qnn.conversion import QnnFunctions
from xrelay.interpreters.qnn.products import QnnProductFunctions
from xrelay.interpreters.qnn.simulate import QuantizeFunctions
from xrelay.interpreters.sparse.coordinates import SparseCoordinateFunctions
from xrelay.interpreters.sparse.products import SparseFunctions
from xrelay.interpreters.tensor.binary import BinaryFunctions
from xrelay.interpreters.tensor.bits import BitFunctions
from xrelay.interpreters.tensor.creation import CreationFunctions
from xrelay.interpreters.tensor.einsum import EinsumFunctions
from xrelay.interpreters.tensor.indexing import IndexingFunctions
from xrelay.interpreters.tensor.layout import LayoutFunctions
from xrelay.interpreters.tensor.like import LikeFunctions
from xrelay.interpreters.tensor.random import RandomFunctions
from xrelay.interpreters.tensor.reduce import ReductionFunctions
from xrelay.interpreters.tensor.reorder import ReorderFunctions
from xrelay.interpreters.tensor.reshape import ReshapeFunctions
from xrelay.interpreters.tensor.sort import SortFunctions
from xrelay.interpreters.tensor.stft import StftFunctions
from xrelay.interpreters.tensor.transcendental import TranscendentalFunctions
from xrelay.interpreters.tensor.transform import TransformFunctions
from xrelay.interpreters.tensor.unary import UnaryFunctions
from xrelay.interpreters.vision.nms import VisionFunctions
from xrelay.interpreters.vision.regions import RegionFunctions

RELAY_FUNCTIONS: tuple[type[InterpreterFunctions], ...] = (
    AdtFunctions,
    AnnotationFunctions,
    BinaryFunctions,
    BitFunctions,
    ConvFunctions,
    ConvTransposeFunctions,
    CoreFunctions,
    CreationFunctions,
    DenseFunctions,
    DeviceFunctions,
    DilateFunctions,
    FunctionalFunctions,
    ImageFunctions,
    IndexingFunctions,
    LayoutFunctions,
    LikeFunctions,
    MemoryFunctions,
    NormFunctions,
    PoolFunctions,
    QnnFunctions,
    QnnArithmeticFunctions,
    QnnBlocksFunctions,
    QnnProductFunctions,
    RandomFunctions,
    SpaceFunctions,
    SparseFunctions,
    WinogradFunctions,
    LossFunctions,
    ConvPackedFunctions,
    BitSerialFunctions,
    UpsamplingFunctions,
    PoolGradientFunctions,
    CorrelationFunctions,
    ConvGradientFunctions,
    AdaptivePoolFunctions,
    ReductionFunctions,
    FailureFunctions,
    ReferenceFunctions,
    RegionFunctions,
    ReshapeFunctions,
    SamplingFunctions,
    ReorderFunctions,
    SortFunctions,
    DynFunctions,
    EinsumFunctions,
    QuantizeFunctions,
    SparseCoordinateFunctions,
    StftFunctions,
    TranscendentalFunctions,
    TransformFunctions,
    UnaryFunctions,
    VmFunctions,
    VisionFunctions,
)

_ALL = register_impls(cast(type[InterpreterFunctions], type("RelayFunctions", RELAY_FUNCTIONS, {})))
"""All of them as one class, which an interpreter takes in a fifth of the time."""


def interpreted_operators() -> frozenset[type[Operation]]:
    """The operators that can be interpreted."""
    implementations = _ALL._impls()  # pyright: ignore[reportPrivateUsage] no public way
    return frozenset(op for op, _ in implementations)


MOST_CALLS = 5000
"""How many calls of functions may be within each other."""


class CallsTooDeep(BaseException):
    """Functions call themselves too deep. No Exception: xDSL prints the program for these, once for each call around."""


class RelayInterpreter(Interpreter):
    """An interpreter that says which operation takes more memory than there is, and counts calls within each other."""

    calls = 0

    def _run_op(self, op: Operation, inputs: PythonValues) -> OpImplResult:
        """Raises InterpretationError where NumPy has no memory for an operation, and CallsTooDeep."""
        if not isinstance(op, func.CallOp | ApplyOp):
            return self._run(op, inputs)
        if self.calls == MOST_CALLS:
            raise CallsTooDeep
        self.calls += 1
        results = self._run(op, inputs)
        self.calls -= 1
        return results

    def _run(self, op: Operation, inputs: PythonValues) -> OpImplResult:
        if isinstance(op, scf.ForOp) and inputs[2] < 1:
            raise InterpretationError(f"scf.for: its step is {inputs[2]}, expected 1 or more")
        try:
            return super()._run_op(op, inputs)
        except MemoryError as error:
            types = ", ".join(map(str, op.result_types))
            raise InterpretationError(
                f"{op.name}: not enough memory to compute {types}"
                + (f": {error}" if str(error) else "")
            ) from error


def register_relay(interpreter: Interpreter) -> None:
    """Teaches an interpreter the operators of the relay dialect."""
    interpreter.register_implementations(_ALL())


def _like(
    prototype: Interpreter, module: ModuleOp, listeners: Sequence[Interpreter.Listener]
) -> Interpreter:
    """
    An interpreter that knows the operations that another one does; it is taught no others. To learn them takes as long
    as to run a program of a few operators.
    """
    functions = prototype._impls  # pyright: ignore[reportPrivateUsage] no public way
    return RelayInterpreter(module, _impls=functions, listeners=tuple(listeners))


@cache
def _relay_prototype() -> Interpreter:
    interpreter = RelayInterpreter(ModuleOp([]))
    register_relay(interpreter)
    return interpreter


def relay_interpreter() -> Interpreter:
    """An interpreter for single operators of the relay dialect."""
    return _like(_relay_prototype(), ModuleOp([]), ())


@register_impls
class ArrayElementFunctions(InterpreterFunctions):
    """Between arrays and single numbers: how a computed condition reaches `scf.if`, and a loop writes rows."""

    @meaning
    def run_extract(self, op: tensor.ExtractOp, array: Array, *indices: int) -> Any:
        return array[indices].item()

    run_cast = identity(tensor.CastOp)

    @meaning
    def run_empty(self, op: tensor.EmptyOp, *lengths: int) -> Array:
        type_, given = tensor_type(op.tensor, "the result"), iter(lengths)
        shape = [next(given) if dim == DYNAMIC_INDEX else dim for dim in type_.get_shape()]
        return np.zeros(shape, dtype_of(type_.element_type))

    @meaning
    def run_from_elements(self, op: tensor.FromElementsOp, *elements: Any) -> Array:
        type_ = tensor_type(op.result, "the result")
        dtype = dtype_of(type_.element_type)
        return np.array(elements).astype(dtype).reshape(type_.get_shape())

    @meaning
    def run_insert_slice(
        self, op: tensor.InsertSliceOp, source: Array, target: Array, *given: int
    ) -> Array:
        numbers = iter(given)
        offsets, sizes, strides = (
            [next(numbers) if number == DYNAMIC_INDEX else number for number in static.get_values()]
            for static in (op.static_offsets, op.static_sizes, op.static_strides)
        )
        parts = zip(offsets, sizes, strides, strict=True)
        places = tuple(slice(start, start + size * step, step) for start, size, step in parts)
        result = target.copy()
        result[places] = source.reshape(sizes)
        return result


class ResultChecker(Interpreter.Listener):
    """
    Compares the results of each operation with their types. What is in a tuple was compared where it was made:
    operators that pass it on look at no more than one level, as of tuples in tuples each would look at all within.
    """

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Raises InterpretationError for a result that no array can hold."""
        for type_ in op.result_types:
            for field in type_.types.data if isinstance(type_, TupleType) else (type_,):
                refusal = array_refusal(field) if is_tensor_type(field) else None
                if refusal is not None:
                    raise InterpretationError(f"{op.name}: the result is no array: {refusal}")

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Raises InterpretationError for a result that its type does not describe."""
        is_deep = not isinstance(op, (LetOp, TupleGetItemOp, TupleOp))
        for i, (result, value) in enumerate(zip(op.results, results, strict=True)):
            _check(value, result.type, f"result {i} of {op.name}", is_deep=is_deep)


class SizeLimit(Interpreter.Listener):
    """Keeps results within the limits of a program."""

    def __init__(self, limits: Limits):
        self._limits = limits

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Raises InterpretationError for an operation whose results would be too large, as far as their types say."""
        excess = self._limits.bytes_excess(sum(map(type_bytes, op.result_types)))
        if excess is not None:
            raise InterpretationError(f"{op.name}: its results have {excess}")


def interpret(
    module: ModuleOp,
    inputs: Sequence[Any],
    function: str = "main",
    listeners: Sequence[Interpreter.Listener] = (),
) -> tuple[Any, ...]:
    """
    The results of `function` for `inputs`: one array for each parameter that is a tensor, a tuple
    for each that is a tuple. `listeners` hear of each operation.

    Raises InterpretationError when the module has no such function, when the inputs differ
    from its parameters in number, shape or dtype, and when more than MOST_CALLS calls are within each other.
    """
    callee = SymbolTable.lookup_symbol(module, function)
    if not isinstance(callee, func.FuncOp):
        raise InterpretationError(f"the module has no function @{function}")
    parameters = callee.function_type.inputs.data
    if len(inputs) != len(parameters):
        raise InterpretationError(
            f"@{function} takes {len(parameters)} inputs, {len(inputs)} are given"
        )
    for i, (value, type_) in enumerate(zip(inputs, parameters, strict=True)):
        _check(value, type_, f"input {i} of @{function}")
    interpreter = program_interpreter(module, (ResultChecker(), *listeners))
    try:
        return interpreter.call_op(callee, tuple(inputs))
    except CallsTooDeep as error:
        raise InterpretationError(
            f"@{function}: functions call themselves more than {MOST_CALLS} calls deep"
        ) from error


def program_interpreter(
    module: ModuleOp, listeners: Sequence[Interpreter.Listener] = ()
) -> Interpreter:
    """An interpreter for operators, calls, branches and loops."""
    return _like(_program_prototype(), module, listeners)


@cache
def _program_prototype() -> Interpreter:
    # Loads what interprets all of xDSL's dialects, a quarter of a second that compiling, which
    # folds constants with `register_relay` alone, can do without.
    from xdsl.interpreters.arith import ArithFunctions
    from xdsl.interpreters.cf import CfFunctions
    from xdsl.interpreters.func import FuncFunctions
    from xdsl.interpreters.scf import ScfFunctions

    interpreter = RelayInterpreter(ModuleOp([]))
    register_relay(interpreter)
    dialects = ArithFunctions, ArrayElementFunctions, CfFunctions, FuncFunctions, ScfFunctions
    for functions in dialects:
        interpreter.register_implementations(functions())
    return interpreter


def _check(value: Any, type_: Attribute, what: str, *, is_deep: bool = True) -> None:
    """Raises InterpretationError unless `type_`, if one of tensors, describes `value`; in tuples only if `is_deep`."""
    if is_tensor_type(type_):
        if not isinstance(value, np.ndarray):
            raise _mismatch(what, f"a Python {type(value).__name__}", type_)
        found = type_of(cast(Array, value))
        if not compatible(found, type_):
            raise _mismatch(what, str(found), type_)
    elif isinstance(type_, TupleType):
        types = type_.types.data
        if not isinstance(value, tuple):
            raise _mismatch(what, f"a Python {type(value).__name__}", type_)
        fields = cast(tuple[Any, ...], value)
        if len(fields) != len(types):
            raise _mismatch(what, f"a tuple of {len(fields)}", type_)
        if not is_deep:
            return
        for i, (field, field_type) in enumerate(zip(fields, types, strict=True)):
            _check(field, field_type, f"field {i} of {what}")
    elif isinstance(type_, RefType):
        if not isinstance(value, Cell):
            raise _mismatch(what, f"a Python {type(value).__name__}", type_)
        _check(value.value, type_.value, f"the value in {what}")


def _mismatch(what: str, found: str, expected: Attribute) -> InterpretationError:
    return InterpretationError(f"{what} is {found}, expected {expected}")
