"""
Operators whose results have sizes that depend on data, in models that are cut behind them: results of the sizes that there can be at
most, and how much of them is used.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import (
    AddOp,
    GreaterOp,
    LogicalAndOp,
    MaximumOp,
    MultiplyOp,
    NotEqualOp,
    SubtractOp,
)
from xrelay.dialects.tensor.indexing import GatherOp, TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.sort import ArgsortOp, BoundedArgwhereOp, CumsumOp, UniqueOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.importer.core.looping import index, number_of_round, repeated
from xrelay.frontends.onnx.importer.emitting import fields, joined, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def non_zero(node: Node) -> Sequence[SSAValue]:
    """NonZero: a row for each element, and how many there are."""
    return fields(node, node.emit(BoundedArgwhereOp(node.input(0))), 2)


def compress(node: Node) -> Sequence[SSAValue]:
    """The places that Compress takes slices of, and how many there are: those of a condition that may be longer than the axis."""
    axis = node.integer("axis", 0) if node.has_attribute("axis") else None
    shape = node.shape_of(node.input(0))
    length = prod(shape) if axis is None else shape[normalize_axis(axis, len(shape))]
    condition = node.input(1)
    if node.shape_of(condition)[0] > length:
        condition = node.emit(StridedSliceOp(condition, [0], [length], axes=[0]))
    rows, count = fields(node, node.emit(BoundedArgwhereOp(condition)), 2)
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
    values, first, inverse, count, counts = fields(node, found, 5)
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
    if certainly(length, 0):
        return node.filled(np.zeros((), np.int64), (count,))
    order = [axis, *(each for each in range(len(shape)) if each != axis)]
    rows = reshaped(node, node.emit(TransposeOp(data, order)), (count, length))
    if is_open(length):
        return reshaped(node, _ranks_by_columns(node, rows, count, length), (count,))
    ranks = _ranks(node, rows, count)
    while length > 1:
        if length % 2:
            ranks = joined(node, [ranks, node.zeros((count, 1), ranks)], 1)
        length = -(-length // 2)
        left, right = (
            node.emit(StridedSliceOp(ranks, [first], [2 * length], [2], axes=[1]))
            for first in (0, 1)
        )
        ranks = _ranks(node, _pairs(node, left, right, count), count)
    return reshaped(node, ranks, (count,))


def _ranks_by_columns(node: Node, rows: SSAValue, count: int, length: int) -> SSAValue:
    """The same for slices of a length that is known when the program runs only: a column after the other."""

    def make(number: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        place = node.emit(ExpandDimsOp(number_of_round(node, number), 0))
        own = _ranks(node, node.emit(TakeOp(rows, place, axis=1)), count)
        return [_ranks(node, _pairs(node, carried[0], own, count), count)]

    begin = node.filled(np.zeros((), np.int64), (count, 1))
    return repeated(node, index(node, length), [begin], length, [], make)[0]


def _pairs(node: Node, first: SSAValue, second: SSAValue, count: int) -> SSAValue:
    """Numbers with the order of pairs of ranks of so many elements."""
    high = node.emit(MultiplyOp(first, node.scalar(count, first)))
    return node.emit(AddOp(high, second))


def _ranks(node: Node, rows: SSAValue, count: int) -> SSAValue:
    """How many different elements of its column are before each element (i64)."""
    order = node.emit(ArgsortOp(rows, axis=0, dtype=i32))
    ordered = node.emit(GatherOp(rows, order, 0))
    places = node.counting(count)
    zero = node.scalar(0, places)
    previous = node.emit(MaximumOp(node.emit(SubtractOp(places, node.scalar(1, places))), zero))
    differs = node.emit(NotEqualOp(ordered, node.emit(TakeOp(ordered, previous, axis=0))))
    has_previous = reshaped(node, node.emit(GreaterOp(places, zero)), (count, 1))
    steps = node.emit(CastOp(node.emit(LogicalAndOp(differs, has_previous)), i64))
    ranks = node.emit(CumsumOp(steps, 0))
    back = node.emit(ArgsortOp(order, axis=0, dtype=i32))
    return node.emit(GatherOp(ranks, back, 0))


STAGES: ConverterTable = {
    "Compress": {1: compress},
    "NonZero": {1: non_zero},
    "Unique": {1: unique},
}
