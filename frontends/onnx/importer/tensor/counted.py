"""
Operators whose results have sizes that depend on data, in models that are cut behind them: results of the sizes that there can be at
most, and how much of them is used.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, NotEqualOp
from xrelay.dialects.tensor.indexing import GatherOp, TakeOp
from xrelay.dialects.tensor.sort import ArgsortOp, BoundedArgwhereOp, CumsumOp, UniqueOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def _fields(node: Node, value: SSAValue, count: int) -> list[SSAValue]:
    """The tensors of a tuple."""
    return [node.emit(TupleGetItemOp(value, field)) for field in range(count)]


def non_zero(node: Node) -> Sequence[SSAValue]:
    """NonZero: a row for each element, and how many there are."""
    return _fields(node, node.emit(BoundedArgwhereOp(node.input(0))), 2)


def compress(node: Node) -> Sequence[SSAValue]:
    """The places that Compress takes slices of, and how many there are: those of a condition that may be longer than the axis."""
    axis = node.integer("axis", 0) if node.has_attribute("axis") else None
    shape = node.shape_of(node.input(0))
    length = prod(shape) if axis is None else shape[normalize_axis(axis, len(shape))]
    condition = node.input(1)
    if node.shape_of(condition)[0] > length:
        condition = node.emit(StridedSliceOp(condition, [0], [length], axes=[0]))
    rows, count = _fields(node, node.emit(BoundedArgwhereOp(condition)), 2)
    return reshaped(node, rows, (node.shape_of(condition)[0],)), count


def unique(node: Node) -> Sequence[SSAValue]:
    """Unique: its four results, and how many different elements, or slices along an axis, there are."""
    in_order = node.flag("sorted", default=True)
    data = node.input(0)
    shape = node.shape_of(data)
    axis = None
    if node.has_attribute("axis"):
        axis = normalize_axis(node.integer("axis"), len(shape))
        keys = _row_ranks(node, data, axis)
    else:
        keys = reshaped(node, data, (prod(shape),))
    found = node.emit(UniqueOp(keys, sorted=in_order, return_counts=True))
    values, first, inverse, count, counts = _fields(node, found, 5)
    if axis is not None:
        values = node.emit(TakeOp(data, first, axis=axis))
    numbers = [node.emit(CastOp(each, i64)) for each in (first, inverse, counts)]
    return values, *numbers, count


def _row_ranks(node: Node, data: SSAValue, axis: int) -> SSAValue:
    """
    Numbers with the order of the slices along an axis, which is that of their first elements, of the second ones where these are
    equal, and so on: the ranks of two neighbours are one number, until one is left.
    """
    shape = node.shape_of(data)
    count, length = shape[axis], prod(shape[:axis]) * prod(shape[axis + 1 :])
    if length == 0:
        return node.constant(np.zeros(count, np.int64))
    order = [axis, *(each for each in range(len(shape)) if each != axis)]
    rows = reshaped(node, node.emit(TransposeOp(data, order)), (count, length))
    ranks = _ranks(node, rows, count, length)
    while length > 1:
        if length % 2:
            zeros = node.zeros((count, 1), ranks)
            ranks = node.emit(ConcatenateOp(node.emit(TupleOp([ranks, zeros])), axis=1))
        length = -(-length // 2)
        left, right = (
            node.emit(StridedSliceOp(ranks, [first], [2 * length], [2], axes=[1]))
            for first in (0, 1)
        )
        high = node.emit(MultiplyOp(left, node.constant(np.array(count, np.int64))))
        ranks = _ranks(node, node.emit(AddOp(high, right)), count, length)
    return reshaped(node, ranks, (count,))


def _ranks(node: Node, rows: SSAValue, count: int, length: int) -> SSAValue:
    """How many different elements of its column are before each element (i64)."""
    order = node.emit(ArgsortOp(rows, axis=0, dtype=i32))
    ordered = node.emit(GatherOp(rows, order, 0))
    after, before = (
        node.emit(StridedSliceOp(ordered, [first], [first + count - 1], axes=[0]))
        for first in (1, 0)
    )
    new = node.emit(CastOp(node.emit(NotEqualOp(after, before)), i64))
    start = node.constant(np.zeros((1, length), np.int64))
    steps = node.emit(ConcatenateOp(node.emit(TupleOp([start, new])), axis=0))
    ranks = node.emit(CumsumOp(steps, 0))
    back = node.emit(ArgsortOp(order, axis=0, dtype=i32))
    return node.emit(GatherOp(ranks, back, 0))


STAGES: ConverterTable = {
    "Compress": {1: compress},
    "NonZero": {1: non_zero},
    "Unique": {1: unique},
}
