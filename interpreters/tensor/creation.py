"""Filled tensors in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor import creation
from xrelay.interpreters.arrays import Array, along, counting, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert, narrow, widen


@register_impls
class CreationFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.creation`."""

    @meaning
    def run_zeros(self, op: creation.ZerosOp) -> Array:
        return np.zeros(op.shape.get_values(), dtype_of(op.dtype))

    @meaning
    def run_ones(self, op: creation.OnesOp) -> Array:
        return np.ones(op.shape.get_values(), dtype_of(op.dtype))

    @meaning
    def run_full(self, op: creation.FullOp, fill_value: Array) -> Array:
        dtype = fill_value.dtype if op.dtype is None else dtype_of(op.dtype)
        return np.full(op.shape.get_values(), convert(fill_value, dtype), dtype)

    @meaning
    def run_arange(self, op: creation.ArangeOp, start: Array, end: Array, step: Array) -> Array:
        count = creation.arange_length(start.item(), end.item(), step.item())
        first, wide_step = widen(start), widen(step)
        numbers = first + counting(count).astype(first.dtype) * wide_step
        return convert(narrow(numbers, start.dtype), dtype_of(op.dtype))

    @meaning
    def run_one_hot(self, op: creation.OneHotOp, indices: Array, on: Array, off: Array) -> Array:
        dtype = on.dtype if op.dtype is None else dtype_of(op.dtype)
        rank = indices.ndim + 1
        axis = normalize_axis(op.axis.value.data, rank)
        hot = np.expand_dims(indices, axis) == along(counting(op.depth.value.data), axis, rank)
        return np.where(hot, convert(on, dtype), convert(off, dtype))

    @meaning
    def run_zeros_like(self, op: creation.ZerosLikeOp, data: Array) -> Array:
        return np.zeros(data.shape, data.dtype)

    @meaning
    def run_ones_like(self, op: creation.OnesLikeOp, data: Array) -> Array:
        return np.ones(data.shape, data.dtype)
