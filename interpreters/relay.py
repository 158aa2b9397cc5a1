"""
Running modules of the relay dialect in NumPy.

Tensors are NumPy arrays (of rank 0 too, never NumPy scalars), tuples Python tuples, references
`Cell`s. Results have the dtype and the shape that their types state.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core.values import RefType
from xrelay.dialects.shapes import (
    MOST_ELEMENTS,
    compatible,
    is_addressable,
    is_tensor_type,
)
from xrelay.interpreters.adaptive_pool import AdaptivePoolFunctions
from xrelay.interpreters.adt import AdtFunctions
from xrelay.interpreters.annotation import AnnotationFunctions
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.binary import BinaryFunctions
from xrelay.interpreters.bits import BitFunctions
from xrelay.interpreters.bitserial import BitSerialFunctions
from xrelay.interpreters.conv import ConvFunctions
from xrelay.interpreters.conv_gradient import ConvGradientFunctions
from xrelay.interpreters.conv_packed import ConvPackedFunctions
from xrelay.interpreters.conv_transpose import ConvTransposeFunctions
from xrelay.interpreters.core import Cell, CoreFunctions
from xrelay.interpreters.correlation import CorrelationFunctions
from xrelay.interpreters.creation import CreationFunctions
from xrelay.interpreters.dense import DenseFunctions
from xrelay.interpreters.device import DeviceFunctions
from xrelay.interpreters.dilate import DilateFunctions
from xrelay.interpreters.dyn import DynFunctions
from xrelay.interpreters.einsum import EinsumFunctions
from xrelay.interpreters.functional import FunctionalFunctions
from xrelay.interpreters.image import ImageFunctions
from xrelay.interpreters.indexing import IndexingFunctions
from xrelay.interpreters.layout import LayoutFunctions
from xrelay.interpreters.like import LikeFunctions
from xrelay.interpreters.loss import LossFunctions
from xrelay.interpreters.memory import MemoryFunctions
from xrelay.interpreters.norm import NormFunctions
from xrelay.interpreters.pool import PoolFunctions
from xrelay.interpreters.pool_gradient import PoolGradientFunctions
from xrelay.interpreters.qnn import QnnFunctions
from xrelay.interpreters.qnn_arithmetic import QnnArithmeticFunctions
from xrelay.interpreters.qnn_products import QnnProductFunctions
from xrelay.interpreters.quantize import QuantizeFunctions
from xrelay.interpreters.random import RandomFunctions
from xrelay.interpreters.rearrange import RearrangeFunctions
from xrelay.interpreters.reduction import ReductionFunctions
from xrelay.interpreters.regions import RegionFunctions
from xrelay.interpreters.reorder import ReorderFunctions
from xrelay.interpreters.reshape import ReshapeFunctions
from xrelay.interpreters.sampling import SamplingFunctions
from xrelay.interpreters.sort import SortFunctions
from xrelay.interpreters.sparse import SparseFunctions
from xrelay.interpreters.sparse_coordinates import SparseCoordinateFunctions
from xrelay.interpreters.stft import StftFunctions
from xrelay.interpreters.transcendental import TranscendentalFunctions
from xrelay.interpreters.transform import TransformFunctions
from xrelay.interpreters.unary import UnaryFunctions
from xrelay.interpreters.upsampling import UpsamplingFunctions
from xrelay.interpreters.vision import VisionFunctions
from xrelay.interpreters.vm import VmFunctions
from xrelay.interpreters.winograd import WinogradFunctions

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
    QnnProductFunctions,
    RandomFunctions,
    RearrangeFunctions,
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


def interpreted_operators() -> frozenset[type[Operation]]:
    """The operators that can be interpreted."""
    return frozenset(
        op
        for functions in RELAY_FUNCTIONS
        for op, _ in functions._impls()  # pyright: ignore[reportPrivateUsage] no public way
    )


def register_relay(interpreter: Interpreter) -> None:
    """Teaches an interpreter the operators of the relay dialect."""
    for functions in RELAY_FUNCTIONS:
        interpreter.register_implementations(functions())


@register_impls
class ArrayElementFunctions(InterpreterFunctions):
    """`tensor.extract` from an array: how a computed condition reaches `scf.if`."""

    @impl(tensor.ExtractOp)
    def run_extract(
        self, interpreter: Interpreter, op: tensor.ExtractOp, args: PythonValues
    ) -> PythonValues:
        array, *indices = args
        return (array[tuple(indices)].item(),)


class ResultChecker(Interpreter.Listener):
    """Compares the results of each operation with their types."""

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Raises InterpretationError for a result that no array can hold."""
        for type_ in op.result_types:
            for field in type_.types.data if isinstance(type_, TupleType) else (type_,):
                if is_tensor_type(field) and not is_addressable(field):
                    raise InterpretationError(
                        f"{op.name}: the result is {field}, which is too large: no processor "
                        f"addresses more than {MOST_ELEMENTS} elements"
                    )

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Raises InterpretationError for a result that its type does not describe."""
        for i, (result, value) in enumerate(zip(op.results, results, strict=True)):
            _check(value, result.type, f"result {i} of {op.name}")


def interpret(
    module: ModuleOp,
    inputs: Sequence[Any],
    function: str = "main",
    listeners: Sequence[Interpreter.Listener] = (),
) -> tuple[Any, ...]:
    """
    The results of `function` for `inputs`: one array for each parameter that is a tensor, a tuple
    for each that is a tuple. `listeners` hear of each operation.

    Raises InterpretationError when the module has no such function, and when the inputs differ
    from its parameters in number, shape or dtype.
    """
    # Loads what interprets all of xDSL's dialects, a quarter of a second that compiling, which
    # folds constants with `register_relay` alone, can do without.
    from xdsl.interpreters.arith import ArithFunctions
    from xdsl.interpreters.func import FuncFunctions
    from xdsl.interpreters.scf import ScfFunctions

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
    interpreter = Interpreter(module, listeners=(ResultChecker(), *listeners))
    register_relay(interpreter)
    for functions in (ArithFunctions, ArrayElementFunctions, FuncFunctions, ScfFunctions):
        interpreter.register_implementations(functions())
    return interpreter.call_op(callee, tuple(inputs))


def _check(value: Any, type_: Attribute, what: str) -> None:
    """Raises InterpretationError unless `type_`, if one of tensors, describes `value`."""
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
        for i, (field, field_type) in enumerate(zip(fields, types, strict=True)):
            _check(field, field_type, f"field {i} of {what}")
    elif isinstance(type_, RefType):
        if not isinstance(value, Cell):
            raise _mismatch(what, f"a Python {type(value).__name__}", type_)
        _check(value.value, type_.value, f"the value in {what}")


def _mismatch(what: str, found: str, expected: Attribute) -> InterpretationError:
    return InterpretationError(f"{what} is {found}, expected {expected}")
