"""Operators that move, repeat or select elements in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.slicing import Slice, resolve_slices
from xrelay.dialects.tensor import transform
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert


def _as_slice(taken: Slice) -> slice:
    if taken.length == 0:
        return slice(0)
    stop = taken.start + taken.step * taken.length
    return slice(taken.start, stop if stop >= 0 else None, taken.step)


def _select(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


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
    def run_where(self, op: transform.WhereOp, condition: Array, x: Array, y: Array) -> Array:
        return _select(convert(condition, np.dtype(np.bool_)), x, y)
