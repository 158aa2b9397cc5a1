"""Emitters of arithmetic, comparison and logic of two operands.

Division and shifts of integers mean more than ONNX states: relay divides by 0 to 0, and shifts by any number of bits.
"""

from functools import partial

import numpy as np
from xdsl.ir import Operation

from xrelay.dialects.tensor import binary
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import BOOL, Emitter, EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.tensor.unary import truncated


def _is_safe(graph: OutputGraph, divisor: Tensor) -> bool:
    """Whether a divisor of integers is a constant without 0 and -1."""
    known = graph.known(divisor)
    return known is not None and bool(np.all((known != 0) & (known != _minus_one(divisor))))


def _minus_one(like: Tensor) -> int:
    """-1, or 0 where there is no such number."""
    return -1 if like.dtype.kind == "i" else 0


def _usual(graph: OutputGraph, divisor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where a divisor is 0, where it is -1 (or 0), and 1 in these places, itself elsewhere."""
    zero = graph.node("Equal", divisor, graph.scalar(0, divisor.dtype))
    minus = graph.node("Equal", divisor, graph.scalar(_minus_one(divisor), divisor.dtype))
    one = graph.scalar(1, divisor.dtype)
    return zero, minus, graph.node("Where", graph.node("Or", zero, minus), one, divisor)


def quotient(graph: OutputGraph, lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs / rhs; of integers rounded towards zero, and 0 for a divisor of 0."""
    if lhs.dtype.kind not in "iu" or _is_safe(graph, rhs):
        return graph.node("Div", lhs, rhs)
    # The least integer divided by -1 is a trap of processors; relay wraps around.
    zero, minus, usual = _usual(graph, rhs)
    result = graph.node("Div", lhs, usual)
    if lhs.dtype.kind == "i":
        result = graph.node("Where", minus, graph.node("Neg", lhs), result)
    return graph.node("Where", zero, graph.scalar(0, lhs.dtype), result)


def remainder(graph: OutputGraph, lhs: Tensor, rhs: Tensor, *, truncating: bool) -> Tensor:
    """What division rounded towards zero, or down, leaves; of integers 0 for a divisor of 0."""
    if lhs.dtype.kind not in "iu":
        if truncating:
            return graph.node("Mod", lhs, rhs, fmod=1)
        floor = graph.node("Floor", graph.node("Div", lhs, rhs))
        return graph.node("Sub", lhs, graph.node("Mul", floor, rhs))
    if not _is_safe(graph, rhs):
        # By 1, 0 is left, as relay has it by 0 and by -1.
        _, _, rhs = _usual(graph, rhs)
    if truncating and lhs.dtype.kind == "i":
        # Engines may compute fmod in floating point, which is not exact for large integers.
        return graph.node("Sub", lhs, graph.node("Mul", graph.node("Div", lhs, rhs), rhs))
    return graph.node("Mod", lhs, rhs)


def _operands(graph: OutputGraph, op: Operation) -> tuple[Tensor, Tensor]:
    lhs, rhs = map(graph.tensor, op.operands)
    if lhs.dtype == BOOL:
        raise NotExpressible("its elements are bools, which ONNX does not divide")
    return lhs, rhs


def divide(graph: OutputGraph, op: binary.DivideOp) -> Tensor:
    """Div."""
    return quotient(graph, *_operands(graph, op))


def truncated_divide(graph: OutputGraph, op: binary.TruncDivideOp) -> Tensor:
    """Div, rounded towards zero."""
    lhs, rhs = _operands(graph, op)
    result = quotient(graph, lhs, rhs)
    return result if lhs.dtype.kind in "iu" else truncated(graph, result)


def floor_divide(graph: OutputGraph, op: binary.FloorDivideOp) -> Tensor:
    """Div, rounded down."""
    lhs, rhs = _operands(graph, op)
    result = quotient(graph, lhs, rhs)
    if lhs.dtype.kind == "u":
        return result
    if lhs.dtype.kind != "i":
        return graph.node("Floor", result)
    # One less where a rest of the other sign than the divisor's is left.
    zero = graph.scalar(0, lhs.dtype)
    rest = remainder(graph, lhs, rhs, truncating=True)
    signs = (graph.node("Less", side, zero) for side in (rest, rhs))
    inexact = graph.node("Not", graph.node("Equal", rest, zero))
    less = graph.node("And", inexact, graph.node("Xor", *signs))
    return graph.node("Sub", result, graph.cast(less, lhs.dtype))


def modulo(graph: OutputGraph, op: Operation, *, truncating: bool) -> Tensor:
    """Mod."""
    return remainder(graph, *_operands(graph, op), truncating=truncating)


def shift(direction: str, graph: OutputGraph, op: Operation) -> Tensor:
    """BitShift, which takes unsigned integers only."""
    data, count = map(graph.tensor, op.operands)
    if data.dtype == BOOL:
        raise NotExpressible("its elements are bools, which ONNX does not shift")
    width = 8 * data.dtype.itemsize
    unsigned = np.dtype(f"u{data.dtype.itemsize}")
    fills = direction == "RIGHT" and data.dtype.kind == "i"
    in_range = graph.node("Less", count, graph.scalar(width, count.dtype))
    if count.dtype.kind == "i":
        at_least = graph.node("GreaterOrEqual", count, graph.scalar(0, count.dtype))
        in_range = graph.node("And", in_range, at_least)
    # A shift by the width minus 1 leaves copies of the sign.
    other = graph.scalar(width - 1 if fills else 0, count.dtype)
    places = graph.cast(graph.node("Where", in_range, count, other), unsigned)
    moved = graph.cast(data, unsigned)
    if fills:
        # The complement of a negative number has zeros in front.
        negative = graph.node("Less", data, graph.scalar(0, data.dtype))
        moved = graph.node("Where", negative, graph.node("BitwiseNot", moved), moved)
        moved = graph.node("BitShift", moved, places, direction=direction)
        moved = graph.node("Where", negative, graph.node("BitwiseNot", moved), moved)
        return graph.cast(moved, data.dtype)
    moved = graph.node("BitShift", moved, places, direction=direction)
    moved = graph.node("Where", in_range, moved, graph.scalar(0, unsigned))
    return graph.cast(moved, data.dtype)


def divided_by(graph: OutputGraph, data: Tensor, divisor: Tensor) -> Tensor:
    """Integers divided by positive ones, rounded down."""
    return graph.node("Div", graph.node("Sub", data, graph.node("Mod", data, divisor)), divisor)


def binary_node(op_type: str, for_bools: str | None = None) -> Emitter:
    """
    An operator with the meaning of an ONNX operator of two inputs; of bools, which are integers of
    one bit, of another one.
    """

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        lhs, rhs = map(graph.tensor, op.operands)
        chosen = for_bools if for_bools is not None and lhs.dtype == BOOL else op_type
        return graph.node(chosen, lhs, rhs)

    return emit


def comparison(op_type: str) -> Emitter:
    """A comparison; bools are compared as numbers."""

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        lhs, rhs = map(graph.tensor, op.operands)
        if lhs.dtype == BOOL:
            lhs, rhs = (graph.cast(side, np.dtype(np.uint8)) for side in (lhs, rhs))
        return graph.node(op_type, lhs, rhs)

    return emit


def not_equal(graph: OutputGraph, op: binary.NotEqualOp) -> Tensor:
    """The opposite of Equal."""
    return graph.node("Not", graph.node("Equal", graph.tensor(op.lhs), graph.tensor(op.rhs)))


EMITTERS: EmitterTable = {
    binary.DivideOp: divide,
    binary.FloorDivideOp: floor_divide,
    binary.FloorModOp: partial(modulo, truncating=False),
    binary.LeftShiftOp: partial(shift, "LEFT"),
    binary.ModOp: partial(modulo, truncating=True),
    binary.RightShiftOp: partial(shift, "RIGHT"),
    binary.TruncDivideOp: truncated_divide,
    binary.TruncModOp: partial(modulo, truncating=True),
    binary.AddOp: binary_node("Add", "Xor"),
    binary.BitwiseAndOp: binary_node("BitwiseAnd", "And"),
    binary.BitwiseOrOp: binary_node("BitwiseOr", "Or"),
    binary.BitwiseXorOp: binary_node("BitwiseXor", "Xor"),
    binary.EqualOp: binary_node("Equal"),
    binary.GreaterEqualOp: comparison("GreaterOrEqual"),
    binary.GreaterOp: comparison("Greater"),
    binary.LessEqualOp: comparison("LessOrEqual"),
    binary.LessOp: comparison("Less"),
    binary.LogicalAndOp: binary_node("And"),
    binary.LogicalOrOp: binary_node("Or"),
    binary.LogicalXorOp: binary_node("Xor"),
    binary.MaximumOp: binary_node("Max", "Or"),
    binary.MinimumOp: binary_node("Min", "And"),
    binary.MultiplyOp: binary_node("Mul", "And"),
    binary.NotEqualOp: not_equal,
    binary.PowerOp: binary_node("Pow"),
    binary.SubtractOp: binary_node("Sub", "Xor"),
}
