"""Operators that move, repeat or select elements in NumPy."""

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.slicing import Slice, resolve_slices
from xrelay.dialects.tensor import transform
from xrelay.interpreters.arrays import Array, counting
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

    @impl(transform.TransposeOp)
    def run_transpose(
        self, interpreter: Interpreter, op: transform.TransposeOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].transpose(op.permutation),)

    @impl(transform.BroadcastToOp)
    def run_broadcast_to(
        self, interpreter: Interpreter, op: transform.BroadcastToOp, args: PythonValues
    ) -> PythonValues:
        shape = op.shape.get_values()
        own = (1,) * (len(shape) - args[0].ndim) + args[0].shape
        target = [old if new == -1 else new for old, new in zip(own, shape, strict=True)]
        return (np.broadcast_to(args[0], target),)

    @impl(transform.TileOp)
    def run_tile(
        self, interpreter: Interpreter, op: transform.TileOp, args: PythonValues
    ) -> PythonValues:
        return (np.tile(args[0], op.reps.get_values()),)

    @impl(transform.RepeatOp)
    def run_repeat(
        self, interpreter: Interpreter, op: transform.RepeatOp, args: PythonValues
    ) -> PythonValues:
        return (np.repeat(args[0], op.repeats.value.data, op.axis.value.data),)

    @impl(transform.StridedSliceOp)
    def run_strided_slice(
        self, interpreter: Interpreter, op: transform.StridedSliceOp, args: PythonValues
    ) -> PythonValues:
        slices = resolve_slices(
            args[0].shape,
            op.begin.get_values(),
            op.end.get_values(),
            None if op.strides is None else op.strides.get_values(),
            None if op.axes is None else op.axes.get_values(),
            op.slice_mode.data,
        )
        return (args[0][(*map(_as_slice, slices), ...)],)

    @impl(transform.PadOp)
    def run_pad(
        self, interpreter: Interpreter, op: transform.PadOp, args: PythonValues
    ) -> PythonValues:
        data, value = args
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
        return (np.ascontiguousarray(result).reshape(result.shape),)

    @impl(transform.ConcatenateOp)
    def run_concatenate(
        self, interpreter: Interpreter, op: transform.ConcatenateOp, args: PythonValues
    ) -> PythonValues:
        return (np.concatenate(args[0], op.normalized_axis),)

    @impl(transform.StackOp)
    def run_stack(
        self, interpreter: Interpreter, op: transform.StackOp, args: PythonValues
    ) -> PythonValues:
        return (np.stack(args[0], op.normalized_axis),)

    @impl(transform.SplitOp)
    def run_split(
        self, interpreter: Interpreter, op: transform.SplitOp, args: PythonValues
    ) -> PythonValues:
        sections = op.indices_or_sections
        where = (
            sections.get_values() if isinstance(sections, DenseArrayBase) else sections.value.data
        )
        return (tuple(np.split(args[0], where, op.normalized_axis)),)

    @impl(transform.TakeOp)
    def run_take(
        self, interpreter: Interpreter, op: transform.TakeOp, args: PythonValues
    ) -> PythonValues:
        data, indices = args
        axis = op.normalized_axis
        if axis is None:
            data, axis = data.reshape(-1), 0
        return (_take(data, indices, axis, op.batch_dims.value.data, op.mode.data),)

    @impl(transform.GatherNDOp)
    def run_gather_nd(
        self, interpreter: Interpreter, op: transform.GatherNDOp, args: PythonValues
    ) -> PythonValues:
        return (_gather_nd(args[0], args[1], op.batch_dims.value.data),)

    @impl(transform.WhereOp)
    def run_where(
        self, interpreter: Interpreter, op: transform.WhereOp, args: PythonValues
    ) -> PythonValues:
        condition, x, y = args
        return (_select(convert(condition, np.dtype(np.bool_)), x, y),)
