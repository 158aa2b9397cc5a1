"""Operators that take the dtype or the shape of another tensor in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.tensor import like
from xrelay.interpreters.arrays import Array, dtype_of
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

    @impl(like.CastLikeOp)
    def run_cast_like(
        self, interpreter: Interpreter, op: like.CastLikeOp, args: PythonValues
    ) -> PythonValues:
        return (convert(args[0], args[1].dtype),)

    @impl(like.FullLikeOp)
    def run_full_like(
        self, interpreter: Interpreter, op: like.FullLikeOp, args: PythonValues
    ) -> PythonValues:
        data, value = args
        return (np.full(data.shape, convert(value, data.dtype), data.dtype),)

    @impl(like.BroadcastToLikeOp)
    def run_broadcast_to_like(
        self, interpreter: Interpreter, op: like.BroadcastToLikeOp, args: PythonValues
    ) -> PythonValues:
        return (np.broadcast_to(args[0], args[1].shape),)

    @impl(like.CollapseSumLikeOp)
    def run_collapse_sum_like(
        self, interpreter: Interpreter, op: like.CollapseSumLikeOp, args: PythonValues
    ) -> PythonValues:
        return (_collapse_sum(op, args[0], args[1].shape),)

    @impl(like.CollapseSumToOp)
    def run_collapse_sum_to(
        self, interpreter: Interpreter, op: like.CollapseSumToOp, args: PythonValues
    ) -> PythonValues:
        return (_collapse_sum(op, args[0], [int(dim) for dim in args[1]]),)

    @impl(like.ReshapeLikeOp)
    def run_reshape_like(
        self, interpreter: Interpreter, op: like.ReshapeLikeOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].reshape(op.replaced_shape(args[0].shape, args[1].shape)),)

    @impl(like.SliceLikeOp)
    def run_slice_like(
        self, interpreter: Interpreter, op: like.SliceLikeOp, args: PythonValues
    ) -> PythonValues:
        data, other = args
        named = () if op.axes is None else op.axes.get_values()
        taken = [slice(None)] * data.ndim
        for axis in named or range(other.ndim):
            taken[axis] = slice(other.shape[axis % data.ndim])
        return (data[(*taken, ...)],)

    @impl(like.ShapeOfOp)
    def run_shape_of(
        self, interpreter: Interpreter, op: like.ShapeOfOp, args: PythonValues
    ) -> PythonValues:
        dtype = np.dtype(np.int32) if op.dtype is None else dtype_of(op.dtype)
        return (convert(np.array(args[0].shape, np.int64), dtype),)

    @impl(like.NdarraySizeOp)
    def run_ndarray_size(
        self, interpreter: Interpreter, op: like.NdarraySizeOp, args: PythonValues
    ) -> PythonValues:
        dtype = np.dtype(np.int32) if op.dtype is None else dtype_of(op.dtype)
        return (convert(np.array(args[0].size, np.int64), dtype),)
