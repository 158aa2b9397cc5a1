"""Operators that move, repeat or select elements in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.slicing import Slice, resolve_slices
from xrelay.dialects.tensor import transform
from xrelay.interpreters.arrays import Array, counting
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert


def _as_slice(taken: Slice) -> slice:
    if taken.length == 0:
        return slice(0)
    stop = taken.start + taken.step * taken.length
    return slice(taken.start, stop if stop >= 0 else None, taken.step)


def positions_on_axis(indices: Array, length: int, mode: str) -> Array:
    """`indices` as positions on an axis of `length` elements."""
    if indices.dtype == np.uint64:
        indices = indices % np.uint64(length) if mode == "wrap" else np.minimum(indices, length)
    indices = indices.astype(np.int64)
    return indices % length if mode == "wrap" else np.clip(indices, 0, length - 1)


def _take(data: Array, indices: Array, axis: int, batch: int, mode: str) -> Array:
    """`relay.take` with an axis."""
    shape = data.shape[:axis] + indices.shape[batch:] + data.shape[axis + 1 :]
    if 0 in shape:
        return np.empty(shape, data.dtype)
    positions = positions_on_axis(indices, data.shape[axis], mode)
    # The taken axes come to stand after the batch, before the axes of `data` that precede `axis`.
    grid = _batch_grid(indices.shape, batch)
    taken = np.asarray(np.moveaxis(data, axis, batch)[(*grid, positions)])
    rank = indices.ndim
    return np.moveaxis(taken, range(batch, rank), range(axis, axis + rank - batch))


def _gather_nd(data: Array, indices: Array, batch: int) -> Array:
    count, *positions = indices.shape
    shape = (*positions, *data.shape[count + batch :])
    if 0 in shape:
        return np.empty(shape, data.dtype)
    index = [positions_on_axis(indices[i], data.shape[batch + i], "clip") for i in range(count)]
    return np.broadcast_to(data[(*_batch_grid(positions, batch), *index)], shape)


def _select(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


def _batch_grid(shape: tuple[int, ...] | list[int], batch: int) -> tuple[Array, ...]:
    """For each of the first `batch` axes of `shape`, its positions, broadcastable to `shape`."""
    return tuple(
        np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        for axis in range(batch)
    )


@register_impls
class TransformFunctions(InterpreterFunctions):
    """
    One method for each operator of `xrelay.dialects.tensor.transform`. Shapes are those of the arrays:
    types may not know them. Results may share memory with operands.
    """

    @meaning
    def run_transpose(self, op: transform.TransposeOp, data: Array) -> Array:
        return data.transpose(op.permutation)

    @meaning
    def run_broadcast_to(self, op: transform.BroadcastToOp, data: Array) -> Array:
        shape = op.shape.get_values()
        own = (1,) * (len(shape) - data.ndim) + data.shape
        target = [old if new == -1 else new for old, new in zip(own, shape, strict=True)]
        return np.broadcast_to(data, target)

    @meaning
    def run_tile(self, op: transform.TileOp, data: Array) -> Array:
        return np.tile(data, op.reps.get_values())

    @meaning
    def run_repeat(self, op: transform.RepeatOp, data: Array) -> Array:
        return np.repeat(data, op.repeats.value.data, op.axis.value.data)

    @meaning
    def run_strided_slice(self, op: transform.StridedSliceOp, data: Array) -> Array:
        slices = resolve_slices(
            data.shape,
            op.begin.get_values(),
            op.end.get_values(),
            None if op.strides is None else op.strides.get_values(),
            None if op.axes is None else op.axes.get_values(),
            op.slice_mode.data,
        )
        return data[(*map(_as_slice, slices), ...)]

    @meaning
    def run_pad(self, op: transform.PadOp, data: Array, value: Array) -> Array:
        result = data
        for axis, (before, after) in enumerate(op.widths):
            length: int = data.shape[axis]
            added, last = (max(before, 0), max(after, 0)), length + before + after
            kept = slice(max(-before, 0), max(-before, 0) + last)
            if op.pad_mode.data == "constant":
                widths = [added if d == axis else (0, 0) for d in range(data.ndim)]
                fill = convert(value, data.dtype)
                padded = np.pad(result, widths, constant_values=fill)
                result = padded[(*[slice(None)] * axis, kept)]
            elif any((before, after)):
                mode = "edge" if op.pad_mode.data == "edge" else "reflect"
                places = np.pad(counting(length), added, mode) if any(added) else counting(length)
                result = result.take(places[kept], axis)
        return np.ascontiguousarray(result).reshape(result.shape)

    @meaning
    def run_concatenate(self, op: transform.ConcatenateOp, data: Sequence[Array]) -> Array:
        return np.concatenate(data, op.normalized_axis)

    @meaning
    def run_stack(self, op: transform.StackOp, data: Sequence[Array]) -> Array:
        return np.stack(data, op.normalized_axis)

    @meaning
    def run_split(self, op: transform.SplitOp, data: Array) -> tuple[Array, ...]:
        sections = op.indices_or_sections
        where = (
            sections.get_values() if isinstance(sections, DenseArrayBase) else sections.value.data
        )
        return tuple(np.split(data, where, op.normalized_axis))

    @meaning
    def run_take(self, op: transform.TakeOp, data: Array, indices: Array) -> Array:
        axis = op.normalized_axis
        if axis is None:
            data, axis = data.reshape(-1), 0
        return _take(data, indices, axis, op.batch_dims.value.data, op.mode.data)

    @meaning
    def run_gather_nd(self, op: transform.GatherNDOp, data: Array, indices: Array) -> Array:
        return _gather_nd(data, indices, op.batch_dims.value.data)

    @meaning
    def run_where(self, op: transform.WhereOp, condition: Array, x: Array, y: Array) -> Array:
        return _select(convert(condition, np.dtype(np.bool_)), x, y)
