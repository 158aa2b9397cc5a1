"""Operators that select, order, or replace elements by indices."""

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import is_float, normalize_axis
from xrelay.dialects.tensor.binary import AddOp, FloorModOp, LessOp
from xrelay.dialects.tensor.creation import OneHotOp
from xrelay.dialects.tensor.indexing import GatherOp, ScatterAddOp, ScatterNDOp, ScatterOp
from xrelay.dialects.tensor.reduce import ArgmaxOp
from xrelay.dialects.tensor.reorder import ReverseOp, ReverseSequenceOp, TriluOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.sort import CumprodOp, CumsumOp, TopkOp
from xrelay.dialects.tensor.transform import (
    ConcatenateOp,
    GatherNDOp,
    SplitOp,
    TakeOp,
    TransposeOp,
    WhereOp,
)
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import as_matrix, reshaped
from xrelay.frontends.onnx.importer.node import (
    MAX_ELEMENTS,
    Converter,
    ConverterTable,
    Node,
    require_table,
)
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.interpreters.arrays import dtype_of


def triangle(node: Node) -> SSAValue:
    """Trilu: the upper or the lower triangle of matrices; `k` may be computed."""
    upper = node.flag("upper", default=True)
    k = node.input_as_scalar(1) if node.has_input(1) else node.constant(np.array(0, np.int64))
    return node.emit(TriluOp(node.input(0), k, upper=upper))


def top_by_attribute(node: Node) -> list[SSAValue]:
    """TopK before operator set 10, where `k` is an attribute."""
    return _top(node, node.integer("k"))


def top(node: Node) -> list[SSAValue]:
    """TopK: a constant number of the largest elements, or the smallest, in order."""
    numbers = node.known_lengths(1, "K")
    if len(numbers) != 1:
        raise OnnxImportError(f"input 1 ('K') is {numbers}, expected one number")
    return _top(node, numbers[0])


def _top(node: Node, k: int) -> list[SSAValue]:
    axis, largest = node.integer("axis", -1), node.flag("largest", default=True)
    node.ignore("sorted")  # without it the order is left open
    data = node.input(0)
    if k == 0:  # which is all elements in Relay
        shape = list(node.shape_of(data))
        shape[normalize_axis(axis, len(shape))] = 0
        return [
            node.constant(np.empty(shape, node.element_dtype(data))),
            node.constant(np.empty(shape, np.int64)),
        ]
    both = node.emit(TopkOp(data, k, axis=axis, is_ascend=not largest, dtype=i64))
    return [node.emit(TupleGetItemOp(both, part)) for part in range(2)]


def from_start(node: Node, indices: SSAValue, length: int | Sequence[int]) -> SSAValue:
    """
    Indices, of which negative ones count from the end of their axis, counted from its start;
    `length` is that of the axis, or those of the axes whose coordinates the last axis holds.
    """
    lengths = np.array(length, node.element_dtype(indices))
    known = node.known_value(indices)
    if known is not None:
        return node.constant(np.where(known < 0, known + lengths, known).astype(known.dtype))
    negative = node.emit(LessOp(indices, node.scalar(0, indices)))
    moved = node.emit(AddOp(indices, node.constant(lengths)))
    return node.emit(WhereOp(negative, moved, indices))


def gather_elements(node: Node) -> SSAValue:
    """GatherElements: one index for each element of the result."""
    axis = node.integer("axis", 0)
    data, indices = node.input(0), node.input(1)
    shape = node.shape_of(data)
    length = shape[normalize_axis(axis, len(shape))]
    return node.emit(GatherOp(data, from_start(node, indices, length), axis))


def _coordinates_first(node: Node, indices: SSAValue) -> SSAValue:
    """Coordinates along the last axis moved to the first one, where Relay has them."""
    rank = len(node.shape_of(indices))
    if not rank:
        raise OnnxImportError("input 1 ('indices') is a scalar, expected at least rank 1")
    if rank == 1:
        return indices
    return node.emit(TransposeOp(indices, (rank - 1, *range(rank - 1))))


def gather_nd(node: Node) -> SSAValue:
    """GatherND: elements or slices at coordinates, in batches."""
    batch = node.integer("batch_dims", 0)
    data, indices = node.input(0), node.input(1)
    shape = node.shape_of(data)
    count = (node.shape_of(indices) or (0,))[-1]
    if batch < 0 or batch + count > len(shape):
        raise OnnxImportError(
            f"'batch_dims' is {batch} and each index has {count} numbers, the data have the shape "
            f"{list(shape)}"
        )
    if count:
        indices = from_start(node, indices, shape[batch : batch + count])
    return node.emit(GatherNDOp(data, _coordinates_first(node, indices), batch_dims=batch))


def _reduction(node: Node) -> str:
    """The attribute `reduction` as the mode of `relay.scatter_nd`."""
    reduction = node.string("reduction", "none")
    if reduction not in ("none", "add", "mul", "min", "max"):
        raise OnnxImportError(f"'reduction' is \"{reduction}\"")
    if reduction == "add" and node.element_type(node.input(0)) == i1:
        # As in NumPy, by which the text of ONNX says what the operators do.
        return "max"
    return "update" if reduction == "none" else reduction


def scatter_nd(node: Node) -> SSAValue:
    """ScatterND: elements or slices replaced, or combined with updates, at coordinates."""
    mode = _reduction(node)
    indices = _coordinates_first(node, node.input(1))
    return node.emit(ScatterNDOp(node.input(0), indices, node.input(2), mode))


def scatter_elements(node: Node) -> SSAValue:
    """ScatterElements, and Scatter, its older name: one index for each update."""
    mode, axis = _reduction(node), node.integer("axis", 0)
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    if mode in ("update", "add"):
        scatter = ScatterOp if mode == "update" else ScatterAddOp
        return node.emit(scatter(data, indices, updates, axis=axis))
    # The coordinates of each update, all of which but one are its own.
    shape = node.shape_of(indices)
    require_table((len(shape), *shape), "the array of coordinates of the updates")
    grid = np.indices(shape, node.element_dtype(indices), sparse=True)
    axis = normalize_axis(axis, len(shape))
    parts = [
        node.emit(ExpandDimsOp(indices, 0))
        if position == axis
        else node.constant(np.ascontiguousarray(np.broadcast_to(places, shape))[None])
        for position, places in enumerate(grid)
    ]
    coordinates = parts[0]
    if len(parts) > 1:
        coordinates = node.emit(ConcatenateOp(node.emit(TupleOp(parts)), axis=0))
    return node.emit(ScatterNDOp(data, coordinates, updates, mode))


def one_hot(node: Node) -> SSAValue:
    """OneHot of a constant depth; indices below 0 count from the end."""
    axis = node.integer("axis", -1)
    depth = node.known(1, "depth")
    if depth.size != 1 or not 0 < depth.item() <= MAX_ELEMENTS:
        raise OnnxImportError(
            f"input 1 ('depth') is {depth.tolist()}, expected one number in [1, {MAX_ELEMENTS}]"
        )
    length = int(depth.item())
    indices, values = node.input(0), node.input(2)
    if is_float(node.element_type(indices)):
        indices = node.emit(CastOp(indices, i64))
    if node.element_dtype(indices).kind == "i":
        if np.iinfo(node.element_dtype(indices)).max < length:
            indices = node.emit(CastOp(indices, i64))
        indices = from_start(node, indices, length)
    if node.shape_of(values) != (2,):
        raise OnnxImportError(
            f"input 2 ('values') has the shape {list(node.shape_of(values))}, expected [2]"
        )
    known = node.known_value(values)
    if known is None:
        halves = node.emit(SplitOp(values, 2, axis=0))
        off, on = (reshaped(node, node.emit(TupleGetItemOp(halves, part)), ()) for part in range(2))
    else:
        off, on = (node.constant(known[part]) for part in range(2))
    return node.emit(OneHotOp(indices, on, off, length, axis=axis))


def hardmax(node: Node) -> SSAValue:
    """Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere."""
    return _hardmax(node, node.input(0), node.integer("axis", -1))


def flat_hardmax(node: Node) -> SSAValue:
    """Hardmax before operator set 13, over all axes from `axis` on."""
    data = node.input(0)
    axis = normalize_axis(node.integer("axis", 1), len(node.shape_of(data)))
    matrix = as_matrix(node, data, axis)
    return reshaped(node, _hardmax(node, matrix, -1), node.shape_of(data))


def _hardmax(node: Node, data: SSAValue, axis: int) -> SSAValue:
    shape = node.shape_of(data)
    axis = normalize_axis(axis, len(shape))
    if 0 in shape:
        return data
    place = node.emit(ArgmaxOp(data, [axis]))
    on, off = node.scalar(1, data), node.scalar(0, data)
    return node.emit(OneHotOp(place, on, off, shape[axis], axis=axis))


def accumulation(op: type[CumsumOp] | type[CumprodOp]) -> Converter:
    """Converts CumSum or CumProd along a constant axis, from its start or its end."""

    def convert(node: Node) -> SSAValue:
        exclusive, reverse = node.flag("exclusive"), node.flag("reverse")
        axes = node.known_integers(1, "axis")
        if len(axes) != 1:
            raise OnnxImportError(f"input 1 ('axis') is {axes}, expected one number")
        data = node.input(0)
        axis = normalize_axis(axes[0], len(node.shape_of(data)))
        if reverse:
            data = node.emit(ReverseOp(data, axis))
        result = node.emit(op(data, axis=axis, exclusive=exclusive))
        return node.emit(ReverseOp(result, axis)) if reverse else result

    return convert


def reverse_sequence(node: Node) -> SSAValue:
    """ReverseSequence: the first elements of each sequence in reverse order."""
    batch_axis, time_axis = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    data, lengths = node.input(0), node.input(1)
    return node.emit(ReverseSequenceOp(data, lengths, seq_axis=time_axis, batch_axis=batch_axis))


def eye_like(node: Node) -> SSAValue:
    """EyeLike: ones on a diagonal of a matrix of the shape of the input."""
    data = node.input(0)
    shape = node.shape_of(data)
    dtype = node.element_dtype(data)
    if node.has_attribute("dtype"):
        code = node.integer("dtype", TensorProto.FLOAT)
        dtype = dtype_of(element_type_of(code, "attribute 'dtype'"))
    if len(shape) != 2:
        raise OnnxImportError(f"its input has the shape {list(shape)}, expected a matrix")
    require_table(shape, "the result", dtype.itemsize)
    return node.constant(np.eye(*shape, k=node.integer("k", 0), dtype=dtype))


def compress(node: Node) -> SSAValue:
    """Compress by a constant condition: the elements, or the slices, where it is true."""
    axis = node.integer("axis", 0) if node.has_attribute("axis") else None
    data, places = node.input(0), np.flatnonzero(node.known(1, "condition"))
    if axis is None:
        data, axis = reshaped(node, data, (prod(node.shape_of(data)),)), 0
    return node.emit(TakeOp(data, node.constant(places.astype(np.int64)), axis=axis))


def non_zero(node: Node) -> SSAValue:
    """NonZero of a constant."""
    data = node.known(0, "X")
    places = np.stack(np.atleast_1d(data).nonzero()).astype(np.int64)
    return node.constant(places[: data.ndim])


def tensor_scatter(node: Node) -> SSAValue:
    """
    TensorScatter: slices of a cache along an axis replaced, for each index of the first axis from
    one place on, which may go around at the end of the axis.
    """
    mode, axis = node.string("mode", "linear"), node.integer("axis", -2)
    cache, update = node.input(0), node.input(1)
    shape = node.shape_of(cache)
    axis = normalize_axis(axis, len(shape))
    node.shaped(1, "update", [None if each == axis else dim for each, dim in enumerate(shape)])
    new = node.shape_of(update)
    if mode not in ("linear", "circular") or axis == 0:
        raise OnnxImportError(f"'mode' is \"{mode}\" and 'axis' {axis} of the shape {list(shape)}")
    require_table((2, shape[0], new[axis]), "the array of coordinates of the slices")
    batch, places = np.indices((shape[0], new[axis]))
    rows = node.constant(places)
    if node.has_input(2):
        start = node.shaped(2, "write_indices", (shape[0],))
        start = start if node.element_type(start) == i64 else node.emit(CastOp(start, i64))
        rows = node.emit(AddOp(rows, node.emit(ExpandDimsOp(start, 1))))
    if mode == "circular":
        rows = node.emit(FloorModOp(rows, node.scalar(shape[axis], rows)))
    parts = [node.constant(batch[None]), node.emit(ExpandDimsOp(rows, 0))]
    coordinates = node.emit(ConcatenateOp(node.emit(TupleOp(parts)), axis=0))
    order = [0, axis, *(each for each in range(1, len(shape)) if each != axis)]
    cache, update = (node.emit(TransposeOp(value, order)) for value in (cache, update))
    result = node.emit(ScatterNDOp(cache, coordinates, update, "update"))
    return node.emit(TransposeOp(result, [order.index(each) for each in range(len(shape))]))


INDEX_CONVERTERS: ConverterTable = {
    "Compress": {9: compress},
    "CumProd": {26: accumulation(CumprodOp)},
    "CumSum": {11: accumulation(CumsumOp)},
    "EyeLike": {9: eye_like},
    "GatherElements": {11: gather_elements},
    "GatherND": {11: gather_nd},
    "Hardmax": {1: flat_hardmax, 13: hardmax},
    "NonZero": {9: non_zero},
    "OneHot": {9: one_hot},
    "ReverseSequence": {10: reverse_sequence},
    "Scatter": {9: scatter_elements},
    "ScatterElements": {11: scatter_elements},
    "ScatterND": {11: scatter_nd},
    "TensorScatter": {24: tensor_scatter},
    "TopK": {1: top_by_attribute, 10: top},
    "Trilu": {14: triangle},
}
