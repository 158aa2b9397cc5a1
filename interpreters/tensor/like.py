"""Operators that take the dtype or the shape of another tensor in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.tensor import like
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert, narrow, quiet, widen


@quiet
def _collapse_sum(op: like.CollapseSumOp, data: Array, shape: Sequence[int]) -> Array:
    if len(shape) > data.ndim or not _broadcasts(shape, data.shape):
        raise InterpretationError(
            f"{op.name}: shape {list(shape)} does not broadcast to that of 'data' "
            f"{list(data.shape)}"
        )
    axes = op.summed_axes(data.shape, shape)
    wide = widen(data)
    total = np.add.reduce(wide, axis=axes, dtype=wide.dtype)
    return narrow(np.asarray(total).reshape(shape), data.dtype)


def _broadcasts(small: Sequence[int], large: Sequence[int]) -> bool:
    aligned = large[len(large) - len(small) :]
    return all(own in (1, other) for own, other in zip(small, aligned, strict=True))


@register_impls
class LikeFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.like`."""

    @meaning
    def run_cast_like(self, op: like.CastLikeOp, data: Array, dtype_like: Array) -> Array:
        return convert(data, dtype_like.dtype)

    @meaning
    def run_full_like(self, op: like.FullLikeOp, data: Array, value: Array) -> Array:
        return np.full(data.shape, convert(value, data.dtype), data.dtype)

    @meaning
    def run_broadcast_to_like(
        self, op: like.BroadcastToLikeOp, data: Array, broadcast_type: Array
    ) -> Array:
        return np.broadcast_to(data, broadcast_type.shape)

    @meaning
    def run_collapse_sum_like(
        self, op: like.CollapseSumLikeOp, data: Array, collapse_type: Array
    ) -> Array:
        return _collapse_sum(op, data, collapse_type.shape)

    @meaning
    def run_collapse_sum_to(self, op: like.CollapseSumToOp, data: Array, shape: Array) -> Array:
        return _collapse_sum(op, data, [int(dim) for dim in shape])

    @meaning
    def run_reshape_like(self, op: like.ReshapeLikeOp, data: Array, shape_like: Array) -> Array:
        return data.reshape(op.replaced_shape(data.shape, shape_like.shape))

    @meaning
    def run_slice_like(self, op: like.SliceLikeOp, data: Array, other: Array) -> Array:
        named = () if op.axes is None else op.axes.get_values()
        taken = [slice(None)] * data.ndim
        for axis in named or range(other.ndim):
            taken[axis] = slice(other.shape[axis % data.ndim])
        return data[(*taken, ...)]

    @meaning
    def run_shape_of(self, op: like.ShapeOfOp, data: Array) -> Array:
        dtype = np.dtype(np.int32) if op.dtype is None else dtype_of(op.dtype)
        return convert(np.array(data.shape, np.int64), dtype)

    @meaning
    def run_ndarray_size(self, op: like.NdarraySizeOp, data: Array) -> Array:
        dtype = np.dtype(np.int32) if op.dtype is None else dtype_of(op.dtype)
        return convert(np.array(data.size, np.int64), dtype)
