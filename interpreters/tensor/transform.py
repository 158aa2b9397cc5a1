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
from xrelay.interpreters.arrays import Array
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

    @impl(transform.WhereOp)
    def run_where(
        self, interpreter: Interpreter, op: transform.WhereOp, args: PythonValues
    ) -> PythonValues:
        condition, x, y = args
        return (_select(convert(condition, np.dtype(np.bool_)), x, y),)
