"""Determinants."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.tensor.binary import DivideOp, EqualOp, GreaterEqualOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import ArgmaxOp
from xrelay.dialects.tensor.transform import StridedSliceOp, WhereOp
from xrelay.dialects.tensor.unary import AbsOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.core.looping import index, number_of_round, repeated
from xrelay.frontends.onnx.importer.emitting import cast, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node

MOST_WRITTEN = 16
"""Elimination of matrices with more rows is a loop with a step for each."""
MOST_ROWS = 128
"""Elimination is written out for as many rows at most where there are no loops."""


def determinant(node: Node) -> SSAValue:
    """
    Det: elimination by Gauss, with the largest element of a column as the pivot. Each step takes the pivot's row
    out of the matrices, and the first row takes its place, which changes the sign.
    """
    data = node.input(0)
    shape = node.shape_of(data)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise OnnxImportError(f"its input has the shape {list(shape)}, expected square matrices")
    count, rows = prod(shape[:-2]), shape[-1]
    one = node.scalar(1, data)
    rest = reshaped(node, data, (count, rows, rows))
    result = node.filled(np.ones((), node.element_dtype(data)), (count,))
    if not node.unrolls and (is_open(rows) or rows > MOST_WRITTEN):

        def make(number: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rest, factor = _step(node, carried[0], number_of_round(node, number), one)
            return rest, node.emit(MultiplyOp(carried[1], factor))

        _, result = repeated(node, index(node, rows), [rest, result], 0, [], make)
        return reshaped(node, result, shape[:-2])
    if rows > MOST_ROWS:
        raise UnsupportedNode(f"its matrices have {rows} rows, supported are {MOST_ROWS}")
    for _ in range(rows):
        rest, factor = _eliminated(node, rest, one)
        result = node.emit(MultiplyOp(result, factor))
    return reshaped(node, result, shape[:-2])


def _eliminated(node: Node, rest: SSAValue, one: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Matrices of a row and a column fewer, and the factors of their determinants."""
    count, rows = node.shape_of(rest)[:2]
    column = node.emit(StridedSliceOp(rest, [0], [1], axes=[2]))
    place = node.emit(ArgmaxOp(node.emit(AbsOp(column)), [1], keepdims=True))  # [count, 1, 1]
    place = reshaped(node, place, (count, 1))
    chosen = node.emit(TakeOp(rest, place, axis=1, batch_dims=1))  # [count, 1, rows]
    first = node.emit(StridedSliceOp(rest, [0], [1], axes=[1]))
    numbers = node.constant(np.arange(rows, dtype=node.element_dtype(place))[None])
    is_chosen = reshaped(node, node.emit(EqualOp(place, numbers)), (count, rows, 1))
    swapped = node.emit(WhereOp(is_chosen, first, rest))
    below = node.emit(StridedSliceOp(swapped, [1], [rows], axes=[1]))
    pivot = node.emit(StridedSliceOp(chosen, [0], [1], axes=[2]))
    zero = node.scalar(0, rest)
    divisor = node.emit(WhereOp(node.emit(EqualOp(pivot, zero)), one, pivot))
    heads, tails = (
        node.emit(StridedSliceOp(below, [a], [b], axes=[2])) for a, b in ((0, 1), (1, rows))
    )
    tail = node.emit(StridedSliceOp(chosen, [1], [rows], axes=[2]))
    shares = node.emit(MultiplyOp(node.emit(DivideOp(heads, divisor)), tail))
    sign = node.emit(
        WhereOp(node.emit(EqualOp(place, node.scalar(0, place))), one, node.scalar(-1, rest))
    )
    factor = node.emit(MultiplyOp(reshaped(node, pivot, (count,)), reshaped(node, sign, (count,))))
    return node.emit(SubtractOp(tails, shares)), factor


def _step(node: Node, rest: SSAValue, number: SSAValue, one: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The same for the row and the column of a number, which stay where they are and mean nothing from then on."""
    count, rows = node.shape_of(rest)[:2]
    column = node.emit(TakeOp(rest, number, axis=2))
    numbers = reshaped(node, node.counting(rows), (1, rows))
    is_left = node.emit(GreaterEqualOp(numbers, number))
    sizes = node.emit(WhereOp(is_left, node.emit(AbsOp(column)), node.scalar(-1, rest)))
    place = cast(node, node.emit(ArgmaxOp(sizes, [1], keepdims=True)), i64)  # [count, 1]
    chosen = node.emit(TakeOp(rest, place, axis=1, batch_dims=1))  # [count, 1, rows]
    first = reshaped(node, node.emit(TakeOp(rest, number, axis=1)), (count, 1, rows))
    is_chosen = reshaped(node, node.emit(EqualOp(place, numbers)), (count, rows, 1))
    swapped = node.emit(WhereOp(is_chosen, first, rest))
    pivot = reshaped(node, node.emit(TakeOp(chosen, number, axis=2)), (count, 1, 1))
    is_zero = node.emit(EqualOp(pivot, node.scalar(0, rest)))
    divisor = node.emit(WhereOp(is_zero, one, pivot))
    heads = reshaped(node, node.emit(TakeOp(swapped, number, axis=2)), (count, rows, 1))
    shares = node.emit(MultiplyOp(node.emit(DivideOp(heads, divisor)), chosen))
    sign = node.emit(WhereOp(node.emit(EqualOp(place, number)), one, node.scalar(-1, rest)))
    factor = node.emit(MultiplyOp(reshaped(node, pivot, (count,)), reshaped(node, sign, (count,))))
    return node.emit(SubtractOp(swapped, shares)), factor


CONVERTERS: ConverterTable = {
    "Det": {11: determinant},
}
