"""Operators that change the shape of a tensor, in NumPy."""

from math import prod

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor import reshape
from xrelay.dialects.tensor.reshape import apply_reshape


@register_impls
class ReshapeFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.tensor.reshape`."""

    @impl(reshape.ReshapeOp)
    def run_reshape(
        self, interpreter: Interpreter, op: reshape.ReshapeOp, args: PythonValues
    ) -> PythonValues:
        codes, allowzero = op.newshape.get_values(), bool(op.allowzero.value.data)
        return (args[0].reshape(apply_reshape(args[0].shape, codes, allowzero)),)

    @impl(reshape.ReverseReshapeOp)
    def run_reverse_reshape(
        self, interpreter: Interpreter, op: reshape.ReverseReshapeOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].reshape(op.new_shape(args[0].shape)),)

    @impl(reshape.BatchFlattenOp)
    def run_batch_flatten(
        self, interpreter: Interpreter, op: reshape.BatchFlattenOp, args: PythonValues
    ) -> PythonValues:
        first, *rest = args[0].shape
        return (args[0].reshape(first, prod(rest)),)

    @impl(reshape.SqueezeOp)
    def run_squeeze(
        self, interpreter: Interpreter, op: reshape.SqueezeOp, args: PythonValues
    ) -> PythonValues:
        return (np.squeeze(args[0], None if op.axis is None else op.axis.get_values()),)

    @impl(reshape.ExpandDimsOp)
    def run_expand_dims(
        self, interpreter: Interpreter, op: reshape.ExpandDimsOp, args: PythonValues
    ) -> PythonValues:
        shape = args[0].shape
        axis = normalize_axis(op.axis.value.data, len(shape) + 1)
        ones = (1,) * op.num_newaxis.value.data
        return (args[0].reshape(shape[:axis] + ones + shape[axis:]),)
