"""Filled tensors in NumPy."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor import creation
from xrelay.interpreters.arrays import Array, DType, counting, dtype_of
from xrelay.interpreters.numerics import convert, narrow, quiet, widen


def one_hot(
    indices: Array, on: Array, off: Array, depth: int, axis: int, dtype: DType | None
) -> Array:
    """The meaning of `relay.one_hot`."""
    dtype = on.dtype if dtype is None else dtype
    axis = normalize_axis(axis, indices.ndim + 1)
    places = counting(depth).reshape([-1 if d == axis else 1 for d in range(indices.ndim + 1)])
    hot = np.expand_dims(indices, axis) == places
    return np.where(hot, convert(on, dtype), convert(off, dtype))


@register_impls
class CreationFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.creation`."""

    @impl(creation.ZerosOp)
    def run_zeros(
        self, interpreter: Interpreter, op: creation.ZerosOp, args: PythonValues
    ) -> PythonValues:
        return (np.zeros(op.shape.get_values(), dtype_of(op.dtype)),)

    @impl(creation.OnesOp)
    def run_ones(
        self, interpreter: Interpreter, op: creation.OnesOp, args: PythonValues
    ) -> PythonValues:
        return (np.ones(op.shape.get_values(), dtype_of(op.dtype)),)

    @impl(creation.FullOp)
    def run_full(
        self, interpreter: Interpreter, op: creation.FullOp, args: PythonValues
    ) -> PythonValues:
        dtype = args[0].dtype if op.dtype is None else dtype_of(op.dtype)
        return (np.full(op.shape.get_values(), convert(args[0], dtype), dtype),)

    @impl(creation.ArangeOp)
    @quiet
    def run_arange(
        self, interpreter: Interpreter, op: creation.ArangeOp, args: PythonValues
    ) -> PythonValues:
        start, end, step = args
        count = creation.arange_length(start.item(), end.item(), step.item())
        first, wide_step = widen(start), widen(step)
        numbers = first + counting(count).astype(first.dtype) * wide_step
        return (convert(narrow(numbers, start.dtype), dtype_of(op.dtype)),)

    @impl(creation.OneHotOp)
    def run_one_hot(
        self, interpreter: Interpreter, op: creation.OneHotOp, args: PythonValues
    ) -> PythonValues:
        dtype = None if op.dtype is None else dtype_of(op.dtype)
        indices, on, off = args
        return (one_hot(indices, on, off, op.depth.value.data, op.axis.value.data, dtype),)

    @impl(creation.ZerosLikeOp)
    def run_zeros_like(
        self, interpreter: Interpreter, op: creation.ZerosLikeOp, args: PythonValues
    ) -> PythonValues:
        return (np.zeros(args[0].shape, args[0].dtype),)

    @impl(creation.OnesLikeOp)
    def run_ones_like(
        self, interpreter: Interpreter, op: creation.OnesLikeOp, args: PythonValues
    ) -> PythonValues:
        return (np.ones(args[0].shape, args[0].dtype),)
