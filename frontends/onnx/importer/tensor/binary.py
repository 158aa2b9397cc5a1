"""Arithmetic, comparison and logic of two operands or more, with the broadcasting rules of each operator set."""

from functools import reduce

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.shapes import is_float, normalize_axis
from xrelay.dialects.tensor.binary import (
    AddOp,
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    DivideOp,
    EqualOp,
    FloorModOp,
    GreaterEqualOp,
    GreaterOp,
    LeftShiftOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    LogicalOrOp,
    LogicalXorOp,
    MaximumOp,
    MinimumOp,
    ModOp,
    MultiplyOp,
    NotEqualOp,
    PowerOp,
    RightShiftOp,
    SubtractOp,
)
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import Binary
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.tensor.unary import converted
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.numerics import convert


def binary(op: Binary) -> Converter:
    """Converts a node with two inputs that broadcast as in NumPy to one operation."""

    def convert(node: Node) -> SSAValue:
        return node.emit(op(node.input(0), node.input(1)))

    return convert


def aligned_binary(op: Binary) -> Converter:
    """Converts a node of operator sets before 7, where `axis` aligns the second input."""

    def convert(node: Node) -> SSAValue:
        return node.emit(op(*aligned_operands(node)))

    return convert


def broadcasting(op: Binary) -> dict[int, Converter]:
    """The converters of a binary operator by operator set."""
    return {1: aligned_binary(op), 7: binary(op)}


def aligned_operands(node: Node) -> tuple[SSAValue, SSAValue]:
    """
    The two inputs, the second with axes of length 1 appended so that its first axis meets `axis`
    of the first one. Without the attribute `broadcast` the shapes must be equal.
    """
    broadcast = node.flag("broadcast")
    axis = node.integer("axis") if node.has_attribute("axis") else None
    lhs, rhs = node.input(0), node.input(1)
    shapes = node.shape_of(lhs), node.shape_of(rhs)
    if not broadcast:
        if shapes[0] != shapes[1]:
            raise OnnxImportError(
                f"the inputs have the shapes {list(shapes[0])} and {list(shapes[1])}, "
                "which are different, and 'broadcast' is not set"
            )
        return lhs, rhs
    if axis is None:
        return lhs, rhs
    rank = len(shapes[0])
    missing = rank - normalize_axis(axis, rank) - len(shapes[1])
    if missing < 0:
        raise OnnxImportError(f"input 1 of rank {len(shapes[1])} does not fit at axis {axis}")
    if missing:
        rhs = node.emit(ExpandDimsOp(rhs, len(shapes[1]), num_newaxis=missing))
    return lhs, rhs


def variadic(op: Binary) -> Converter:
    """Combines any number of inputs from left to right."""

    def convert(node: Node) -> SSAValue:
        return reduce(lambda lhs, rhs: node.emit(op(lhs, rhs)), node.inputs())

    return convert


def mean(node: Node) -> SSAValue:
    """Mean: the sum of all inputs divided by their number."""
    total = variadic(AddOp)(node)
    assert isinstance(total, SSAValue)
    if node.input_count == 1:
        return total
    return node.emit(DivideOp(total, node.scalar(node.input_count, total)))


def power(node: Node) -> SSAValue:
    """Pow: the result has the type of the base, the exponent may have another."""
    return _power(node, node.input(0), node.input(1))


def aligned_power(node: Node) -> SSAValue:
    """Pow before operator set 7."""
    return _power(node, *aligned_operands(node))


def _power(node: Node, base: SSAValue, exponent: SSAValue) -> SSAValue:
    dtype = node.element_type(base)
    # Whole numbers up to 2**53 are exact in f64. A rounded exponent is even, and gives another sign.
    if not is_float(dtype) or not _converts_exactly(node, exponent, dtype):
        result = node.emit(PowerOp(converted(node, base, f64), converted(node, exponent, f64)))
        return converted(node, result, dtype)
    return node.emit(PowerOp(base, converted(node, exponent, dtype)))


def _converts_exactly(node: Node, exponent: SSAValue, dtype: ElementType) -> bool:
    """Whether the exponents are numbers of a floating-point type: by their type, or as they are known."""
    source, target = dtype_of(node.element_type(exponent)), dtype_of(dtype)
    if np.can_cast(source, target):
        return True
    known = node.known_value(exponent)
    return known is not None and np.array_equal(convert(known, target), known)


def modulo(node: Node) -> SSAValue:
    """Mod: the sign of the divisor, with `fmod` that of the dividend."""
    fmod = node.flag("fmod")
    lhs, rhs = node.input(0), node.input(1)
    if fmod:
        return node.emit(ModOp(lhs, rhs))
    if is_float(node.element_type(lhs)):
        return _float_modulo(node, lhs, rhs)
    return node.emit(FloorModOp(lhs, rhs))


def _float_modulo(node: Node, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """
    The exact remainder, moved to the sign of the divisor: x - floor(x / y) y would be rounded, and NaN for
    infinite y. As NumPy's `mod`, which ONNX refers to.
    """
    rest = node.emit(ModOp(lhs, rhs))
    zero = node.scalar(0, rest)
    below, divisor_below = (node.emit(LessOp(each, zero)) for each in (rest, rhs))
    other = node.emit(NotEqualOp(below, divisor_below))
    moved = node.emit(WhereOp(other, node.emit(AddOp(rest, rhs)), rest))
    signed_zero = node.emit(WhereOp(divisor_below, node.scalar(-0.0, rest), zero))
    return node.emit(WhereOp(node.emit(EqualOp(rest, zero)), signed_zero, moved))


def bit_shift(node: Node) -> SSAValue:
    """BitShift: to the left or to the right."""
    direction = node.string("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise OnnxImportError(f'\'direction\' is "{direction}", accepted are "LEFT" and "RIGHT"')
    shift = LeftShiftOp if direction == "LEFT" else RightShiftOp
    return node.emit(shift(node.input(0), node.input(1)))


CONVERTERS: ConverterTable = {
    "Add": broadcasting(AddOp),
    "And": broadcasting(LogicalAndOp),
    "BitShift": {11: bit_shift},
    "BitwiseAnd": {18: binary(BitwiseAndOp)},
    "BitwiseOr": {18: binary(BitwiseOrOp)},
    "BitwiseXor": {18: binary(BitwiseXorOp)},
    "Div": broadcasting(DivideOp),
    "Equal": broadcasting(EqualOp),
    "Greater": broadcasting(GreaterOp),
    "GreaterOrEqual": {12: binary(GreaterEqualOp)},
    "Less": broadcasting(LessOp),
    "LessOrEqual": {12: binary(LessEqualOp)},
    "Max": {1: variadic(MaximumOp)},
    "Mean": {1: mean},
    "Min": {1: variadic(MinimumOp)},
    "Mod": {10: modulo},
    "Mul": broadcasting(MultiplyOp),
    "Or": broadcasting(LogicalOrOp),
    "Pow": {1: aligned_power, 7: power},
    "Sub": broadcasting(SubtractOp),
    "Sum": {1: variadic(AddOp)},
    "Xor": broadcasting(LogicalXorOp),
}
