"""Operators that converters of several families emit."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.nn.dense import BatchMatmulOp, MatmulOp
from xrelay.dialects.shapes import broadcast_shapes, is_empty, normalize_axis, same_shape
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import BroadcastToOp, ConcatenateOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.importer.shape_arithmetic import has_lengths
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.numerics import convert

Binary = Callable[[SSAValue, SSAValue], RelayOp]


def matrix_product(
    node: Node, lhs: SSAValue, rhs: SSAValue, batches: Binary | None = None
) -> SSAValue:
    """
    The product as in NumPy: the last two axes are matrices and the others broadcast; an operand of
    rank 1 is a row on the left and a column on the right, and its axis disappears. `batches` makes
    the product of two batches of matrices; without it, those of numbers are chosen by their ranks.
    """
    shapes = node.shape_of(lhs), node.shape_of(rhs)
    if not shapes[0] or not shapes[1]:
        raise OnnxImportError("an input is a scalar, expected at least rank 1")
    left = shapes[0] if len(shapes[0]) > 1 else (1, *shapes[0])
    right = shapes[1] if len(shapes[1]) > 1 else (*shapes[1], 1)
    rows, columns = left[-2], right[-1]
    if left[-1] != right[-2]:
        raise OnnxImportError(
            f"the inputs have the shapes {list(shapes[0])} and {list(shapes[1])}: the first has "
            f"rows of {left[-1]} elements, the second columns of {right[-2]}"
        )
    batch = tuple(broadcast_shapes(left[:-2], right[:-2], ("the first", "the second")))
    if len(right) == 2 and batches is None:  # one matrix on the right multiplies all rows
        flat = reshaped(node, lhs, (prod(left[:-1]), left[-1]))
        result = node.emit(MatmulOp(flat, reshaped(node, rhs, right)))
    else:
        operands = _as_batch(node, lhs, left, batch), _as_batch(node, rhs, right, batch)
        result = node.emit((batches or BatchMatmulOp)(*operands))
    shape = [*batch, rows, columns]
    if len(shapes[0]) == 1:
        del shape[-2]
    if len(shapes[1]) == 1:
        del shape[-1]
    return reshaped(node, result, tuple(shape))


def _as_batch(
    node: Node, value: SSAValue, shape: tuple[int, ...], batch: tuple[int, ...]
) -> SSAValue:
    """`value` as one batch of matrices: all of `batch`, or a single one that is used for each."""
    matrix = shape[-2:]
    if certainly(prod(shape[:-2]), 1):
        return reshaped(node, value, (1, *matrix))
    value = reshaped(node, value, shape)
    if shape[:-2] != batch:
        value = node.emit(BroadcastToOp(value, (*batch, *matrix)))
    return reshaped(node, value, (prod(batch), *matrix))


def reshaped(node: Node, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """`value` with another shape, itself when it has that shape already."""
    if same_shape(node.shape_of(value), shape):
        return value
    return node.emit(ReshapeOp(value, shape, allowzero=is_empty(shape)))


def along(node: Node, vector: SSAValue, axis: int, rank: int) -> SSAValue:
    """A vector as the axis of a tensor of so many axes, the others of which have length 1."""
    shape = [1] * rank
    shape[axis] = node.shape_of(vector)[0]
    return reshaped(node, vector, tuple(shape))


def as_matrix(node: Node, value: SSAValue, axis: int) -> SSAValue:
    """`value` as a matrix whose rows hold the axes from `axis` on."""
    shape = node.shape_of(value)
    axis = axis if axis == len(shape) else normalize_axis(axis, len(shape))
    return reshaped(node, value, (prod(shape[:axis]), prod(shape[axis:])))


def cast(node: Node, value: SSAValue, dtype: ElementType) -> SSAValue:
    """`value` with another element type; constants stay constants."""
    if node.element_type(value) == dtype:
        return value
    known = node.known_value(value)
    if known is None or has_lengths(known):
        return node.emit(CastOp(value, dtype))
    return node.constant(convert(known, dtype_of(dtype)))


def quotient(node: Node, number: int, by: int, like: SSAValue) -> SSAValue:
    """
    A quotient of lengths, which may be known when the program runs only, as a scalar with the dtype of another value; 0
    for a divisor of 0, which is the length of what is empty.
    """
    if not is_open(number) and not is_open(by):
        return node.scalar(number / by if by else 0, like)
    return node.emit(DivideOp(node.scalar(number, like), node.scalar(by, like)))


def require_range(
    node: Node, index: int, what: str, least: float | Sequence[float], most: float | Sequence[float]
) -> None:
    """
    Raises OnnxImportError for a constant input with a number outside of a range; with sequences each column has its own.
    What numbers outside do that are computed is in docs/onnx.md: nothing is read or written out of bounds.
    """
    known = node.known_value(node.input(index))
    if known is None:
        return
    outside = np.argwhere((known < np.array(least)) | (known > np.array(most)))
    if len(outside):
        place = tuple(outside[0])
        ends = [np.broadcast_to(each, known.shape)[place] for each in (least, most)]
        where = f" at {list(map(int, place))}" if place else ""
        raise OnnxImportError(
            f"input {index} ('{what}') has the number {known[place]}{where}, accepted range is [{ends[0]}, {ends[1]}]"
        )


def fields(node: Node, value: SSAValue, count: int) -> list[SSAValue]:
    """The tensors of a tuple of so many."""
    return [node.emit(TupleGetItemOp(value, field)) for field in range(count)]


def joined(node: Node, parts: Sequence[SSAValue], axis: int) -> SSAValue:
    """Values one after the other along an axis. Raises VerifyException for an axis that they do not have."""
    normalize_axis(axis, len(node.shape_of(parts[0])))
    if len(parts) == 1:
        return parts[0]
    return node.emit(ConcatenateOp(node.emit(TupleOp(parts)), axis=axis))


class Arithmetic:
    """Formulas of tensors, and of numbers on the right, which get the dtype of what is on the left."""

    def __init__(self, node: Node):
        self.node = node

    def add(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.emit(AddOp(lhs, self._value(rhs, lhs)))

    def subtract(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.emit(SubtractOp(lhs, self._value(rhs, lhs)))

    def multiply(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.emit(MultiplyOp(lhs, self._value(rhs, lhs)))

    def divide(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.emit(DivideOp(lhs, self._value(rhs, lhs)))

    def smaller(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.emit(MinimumOp(lhs, self._value(rhs, lhs)))

    def larger(self, lhs: SSAValue, rhs: SSAValue | float) -> SSAValue:
        return self.node.emit(MaximumOp(lhs, self._value(rhs, lhs)))

    def _value(self, value: SSAValue | float, like: SSAValue) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.node.scalar(value, like)
