"""Determinants."""

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import DivideOp, EqualOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import ArgmaxOp
from xrelay.dialects.tensor.transform import StridedSliceOp, WhereOp
from xrelay.dialects.tensor.unary import AbsOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node

MOST_ROWS = 128
"""Elimination is written out, a step for each row."""


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
    if rows > MOST_ROWS:
        raise UnsupportedNode(f"its matrices have {rows} rows, supported are {MOST_ROWS}")
    one = node.scalar(1, data)
    rest = reshaped(node, data, (count, rows, rows))
    result = node.filled(np.ones((), node.element_dtype(data)), (count,))
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


CONVERTERS: ConverterTable = {
    "Det": {11: determinant},
}
