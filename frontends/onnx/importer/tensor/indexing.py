"""Operators that select or replace elements by indices."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import AddOp, FloorModOp, LessOp
from xrelay.dialects.tensor.creation import FullOp
from xrelay.dialects.tensor.indexing import (
    GatherNDOp,
    GatherOp,
    ScatterAddOp,
    ScatterNDOp,
    ScatterOp,
    TakeOp,
)
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import BroadcastToOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import along, cast, joined, require_range, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.shape_arithmetic import ends_of_range, has_lengths, number_array
from xrelay.frontends.onnx.importer.sizes import MAX_TABLE_BYTES, require_table


def from_start(node: Node, indices: SSAValue, length: int | Sequence[int]) -> SSAValue:
    """
    Indices, of which negative ones count from the end of their axis, counted from its start;
    `length` is that of the axis, or those of the axes whose coordinates the last axis holds.
    """
    known = node.known_value(indices)
    stated = number_array(length) if isinstance(length, Sequence) else number_array([length], ())
    is_stated_open = has_lengths(stated)
    if known is not None and (is_stated_open or has_lengths(known)):
        dims = np.broadcast_to(stated, known.shape).reshape(-1)
        pairs = zip(known.reshape(-1), dims, strict=True)
        moved = [each + dim if each < 0 else each for each, dim in pairs]
        return node.constant(number_array(moved, known.shape))
    if is_stated_open and node.element_type(indices) != i64:
        indices = node.emit(CastOp(indices, i64))
    lengths = stated if is_stated_open else stated.astype(node.element_dtype(indices))
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
    require_range(node, 1, "indices", -length, length - 1)
    return node.emit(GatherOp(data, from_start(node, indices, length), axis))


def _require_places(node: Node, lengths: Sequence[int]) -> None:
    """Refuses constant coordinates that are outside of axes of some lengths."""
    ends = [-length for length in lengths], [length - 1 for length in lengths]
    require_range(node, 1, "indices", *ends)


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
        lengths = shape[batch : batch + count]
        _require_places(node, lengths)
        indices = from_start(node, indices, lengths)
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
    op = ScatterNDOp(node.input(0), indices, node.input(2), mode)
    _require_places(node, node.shape_of(node.input(0))[: node.shape_of(node.input(1))[-1]])
    return node.emit(op)


def scatter_elements(node: Node) -> SSAValue:
    """ScatterElements, and Scatter, its older name: one index for each update."""
    mode, axis = _reduction(node), node.integer("axis", 0)
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    length = node.shape_of(data)[normalize_axis(axis, len(node.shape_of(data)))]
    require_range(node, 1, "indices", -length, length - 1)
    if mode in ("update", "add"):
        scatter = ScatterOp if mode == "update" else ScatterAddOp
        return node.emit(scatter(data, indices, updates, axis=axis))
    # The coordinates of each update: those of its own place, except on `axis`.
    shape = node.shape_of(indices)
    require_table((len(shape), *shape), "the array of coordinates of the updates")
    axis = normalize_axis(axis, len(shape))
    parts: list[SSAValue] = []
    for position, length in enumerate(shape):
        if position == axis:
            parts.append(node.emit(ExpandDimsOp(indices, 0)))
            continue
        own = cast(node, node.counting(length), node.element_type(indices))
        parts.append(node.computed(_spread(node, own, 1 + position, (1, *shape))))
    return node.emit(ScatterNDOp(data, joined(node, parts, 0), updates, mode))


def compress(node: Node) -> SSAValue:
    """
    Compress by a constant condition: the elements, or the slices, where it is true; it may be shorter than the axis,
    and longer, too.
    """
    axis = node.integer("axis", 0) if node.has_attribute("axis") else None
    data, places = node.input(0), np.flatnonzero(node.known(1, "condition", decides_sizes=True))
    if axis is None:
        data, axis = reshaped(node, data, (prod(node.shape_of(data)),)), 0
    shape = node.shape_of(data)
    places = places[places < shape[normalize_axis(axis, len(shape))]].astype(np.int64)
    return node.emit(TakeOp(data, node.constant(places), axis=axis))


def non_zero(node: Node) -> SSAValue:
    """NonZero of a constant, or of a tensor of one number, as torch writes all places on an axis."""
    filled = node.input(0).owner
    number = node.known_value(filled.fill_value) if isinstance(filled, FullOp) else None
    if number is not None:
        shape = node.shape_of(node.input(0))
        if not number:
            return node.constant(np.zeros((len(shape), 0), np.int64))
        # The numbers of the axes, in all combinations.
        rows = [
            reshaped(node, _spread(node, node.counting(length), axis, shape), (1, prod(shape)))
            for axis, length in enumerate(shape)
        ]
        return joined(node, rows, 0)
    data = node.known(0, "X", decides_sizes=True)
    places = np.stack(np.atleast_1d(data).nonzero()).astype(np.int64)
    return node.constant(places[: data.ndim])


def unique(node: Node) -> list[SSAValue]:
    """
    Unique of a constant: the different elements, or slices along an axis; where each stands first; which of them each of the
    input's is; how often each occurs. All NaN are one.
    """
    in_order = node.flag("sorted", default=True)
    axis = node.integer("axis", 0) if node.has_attribute("axis") else None
    data = node.known(0, "X", decides_sizes=True)
    if axis is not None:
        axis = normalize_axis(axis, data.ndim)
    values, first, inverse, counts = np.unique(
        data, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    order = np.arange(len(first)) if in_order else np.argsort(first, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    found = values[order] if axis is None else values.take(order, axis=axis)
    numbers = (first[order], ranks[inverse.reshape(-1)], counts[order])
    return [node.constant(found), *(node.constant(each.astype(np.int64)) for each in numbers)]


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
    if mode not in ("linear", "circular") or axis == 0:
        raise OnnxImportError(f"'mode' is \"{mode}\" and 'axis' {axis} of the shape {list(shape)}")
    lengths = (*shape[:axis], node.shape_of(update)[axis])
    if mode == "linear" and node.has_input(2):
        require_range(node, 2, "write_indices", -shape[axis], shape[axis] - lengths[-1])
    # Coordinates are those of all axes up to that of the slices, or, were that too many, of the first one and of this alone.
    order = list(range(len(shape)))
    if not any(map(is_open, lengths)) and (axis + 1) * prod(lengths) * 8 > MAX_TABLE_BYTES:
        order.insert(1, order.pop(axis))
        cache, update = (node.emit(TransposeOp(each, order)) for each in (cache, update))
    result = _with_slices(node, cache, update, order.index(axis), mode)
    if order == sorted(order):
        return result
    return node.emit(TransposeOp(result, [order.index(each) for each in range(len(shape))]))


def _with_slices(node: Node, cache: SSAValue, update: SSAValue, axis: int, mode: str) -> SSAValue:
    """The cache with slices along an axis, from the places in the third input on."""
    shape, whole = node.shape_of(cache), node.shape_of(update)[: axis + 1]
    require_table((axis + 1, *whole), "the array of coordinates of the slices")
    places = [_spread(node, node.counting(length), dim, whole) for dim, length in enumerate(whole)]
    if node.has_input(2):
        start = node.shaped(2, "write_indices", (shape[0],))
        start = start if node.element_type(start) == i64 else node.emit(CastOp(start, i64))
        places[axis] = node.emit(AddOp(places[axis], _spread(node, start, 0, whole)))
    if mode == "circular":
        places[axis] = node.emit(FloorModOp(places[axis], node.scalar(shape[axis], places[axis])))
    parts = [node.emit(ExpandDimsOp(each, 0)) for each in places]
    return node.emit(ScatterNDOp(cache, joined(node, parts, 0), update, "update"))


def _spread(node: Node, vector: SSAValue, axis: int, shape: Sequence[int]) -> SSAValue:
    """A vector along an axis of a shape, repeated in the others."""
    return node.emit(BroadcastToOp(along(node, vector, axis, len(shape)), shape))


def gather(node: Node) -> SSAValue:
    """Gather: a negative index counts from the end, which is the index modulo the length."""
    data, axis = node.input(0), node.integer("axis", 0)
    shape = node.shape_of(data)
    length = shape[normalize_axis(axis, len(shape))]
    require_range(node, 1, "indices", -length, length - 1)
    ends = ends_of_range(node.input(1))
    if ends is not None and (ends[0] < -length or ends[1] > length):
        raise OnnxImportError(
            f"input 1 ('indices') has the numbers from {ends[0]} to {ends[1] - 1}, accepted range is [{-length}, {length - 1}]"
        )
    return node.emit(TakeOp(data, node.input(1), axis=axis, mode="wrap"))


CONVERTERS: ConverterTable = {
    "Compress": {9: compress},
    "GatherElements": {11: gather_elements},
    "GatherND": {11: gather_nd},
    "NonZero": {9: non_zero},
    "Scatter": {9: scatter_elements},
    "ScatterElements": {11: scatter_elements},
    "ScatterND": {11: scatter_nd},
    "TensorScatter": {24: tensor_scatter},
    "Gather": {1: gather},
    "Unique": {11: unique},
}
