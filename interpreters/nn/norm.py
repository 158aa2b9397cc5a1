"""Normalisation, softmax, dropout and bias in NumPy."""

from math import prod

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.nn import norm
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.numerics import narrow, quiet, widen


def _along(axis: int, values: Array, rank: int) -> Array:
    """`values` [C] shaped to broadcast along `axis` of a tensor of `rank` dimensions."""
    return values.reshape([-1 if d == axis else 1 for d in range(rank)])


def _below_largest(x: Array, axis: int) -> Array:
    """x minus the largest element along `axis`."""
    return x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)


def _standardized(
    op: norm.StandardizingOp, args: PythonValues, data: Array, axes: tuple[int, ...]
) -> Array:
    """
    `data`, the wide first operand in any shape, normalised by its statistics over `axes`, then
    scaled and shifted in the shape of the operand.
    """
    count = data.dtype.type(prod(data.shape[axis] for axis in axes))
    centered = data - data.sum(axes, keepdims=True) / count
    variance = np.square(centered).sum(axes, keepdims=True) / count
    result = centered / np.sqrt(variance + data.dtype.type(op.epsilon.value.data))
    result = result.reshape(args[0].shape)
    gamma, beta = (_along(op.channel_axis, widen(values), result.ndim) for values in args[1:])
    if op.scale.value.data:
        result = result * gamma
    if op.center.value.data:
        result = result + beta
    return narrow(result, args[0].dtype)


def _softmax(data: Array, axis: int) -> Array:
    powers = np.exp(_below_largest(widen(data), axis))
    return narrow(powers / powers.sum(axis, keepdims=True), data.dtype)


@register_impls
class NormFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.norm`, computed in the wide type."""

    @impl(norm.BiasAddOp)
    @quiet
    def run_bias_add(
        self, interpreter: Interpreter, op: norm.BiasAddOp, args: PythonValues
    ) -> PythonValues:
        data, bias = map(widen, args)
        return (narrow(data + _along(op.channel_axis, bias, data.ndim), args[0].dtype),)

    @impl(norm.PReluOp)
    @quiet
    def run_prelu(
        self, interpreter: Interpreter, op: norm.PReluOp, args: PythonValues
    ) -> PythonValues:
        data, alpha = map(widen, args)
        scaled = data * _along(op.channel_axis, alpha, data.ndim)
        return (narrow(np.where(data > 0, data, scaled), args[0].dtype),)

    @impl(norm.BatchNormOp)
    @quiet
    def run_batch_norm(
        self, interpreter: Interpreter, op: norm.BatchNormOp, args: PythonValues
    ) -> PythonValues:
        data = widen(args[0])
        gamma, beta, mean, variance = (
            _along(op.channel_axis, widen(values), data.ndim) for values in args[1:]
        )
        epsilon = data.dtype.type(op.epsilon.value.data)
        # One factor: a quotient can overflow where its product with gamma does not.
        factor = 1 / np.sqrt(variance + epsilon)
        if op.scale.value.data:
            factor = factor * gamma
        result = (data - mean) * factor
        if op.center.value.data:
            result = result + beta
        return ((narrow(result, args[0].dtype), args[3], args[4]),)

    @impl(norm.LayerNormOp)
    @quiet
    def run_layer_norm(
        self, interpreter: Interpreter, op: norm.LayerNormOp, args: PythonValues
    ) -> PythonValues:
        return (_standardized(op, args, widen(args[0]), (op.channel_axis,)),)

    @impl(norm.InstanceNormOp)
    @quiet
    def run_instance_norm(
        self, interpreter: Interpreter, op: norm.InstanceNormOp, args: PythonValues
    ) -> PythonValues:
        return (_standardized(op, args, widen(args[0]), op.reduced_axes),)

    @impl(norm.GroupNormOp)
    @quiet
    def run_group_norm(
        self, interpreter: Interpreter, op: norm.GroupNormOp, args: PythonValues
    ) -> PythonValues:
        axis, groups = op.channel_axis, op.num_groups.value.data
        shape = args[0].shape
        split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
        data = widen(args[0]).reshape(split)
        return (_standardized(op, args, data, tuple(range(axis + 1, data.ndim))),)

    @impl(norm.RmsNormOp)
    @quiet
    def run_rms_norm(
        self, interpreter: Interpreter, op: norm.RmsNormOp, args: PythonValues
    ) -> PythonValues:
        data, axis = widen(args[0]), op.channel_axis
        # The mean of no elements is not needed.
        squares = (data * data).sum(axis, keepdims=True) / data.dtype.type(max(data.shape[axis], 1))
        result = data / np.sqrt(squares + data.dtype.type(op.epsilon.value.data))
        if op.scale.value.data:
            result = result * _along(axis, widen(args[1]), data.ndim)
        return (narrow(result, args[0].dtype),)

    @impl(norm.SoftmaxOp)
    @quiet
    def run_softmax(
        self, interpreter: Interpreter, op: norm.SoftmaxOp, args: PythonValues
    ) -> PythonValues:
        return (_softmax(args[0], op.normalized_axis),)

    @impl(norm.FastSoftmaxOp)
    @quiet
    def run_fast_softmax(
        self, interpreter: Interpreter, op: norm.FastSoftmaxOp, args: PythonValues
    ) -> PythonValues:
        return (_softmax(args[0], op.normalized_axis),)

    @impl(norm.LogSoftmaxOp)
    @quiet
    def run_log_softmax(
        self, interpreter: Interpreter, op: norm.LogSoftmaxOp, args: PythonValues
    ) -> PythonValues:
        axis = op.normalized_axis
        below = _below_largest(widen(args[0]), axis)
        logarithm = np.log(np.exp(below).sum(axis, keepdims=True))
        return (narrow(below - logarithm, args[0].dtype),)

    @impl(norm.LrnOp)
    @quiet
    def run_lrn(self, interpreter: Interpreter, op: norm.LrnOp, args: PythonValues) -> PythonValues:
        x = widen(args[0])
        size, axis = op.size.value.data, op.normalized_axis
        border = [(0, 0)] * x.ndim
        border[axis] = ((size - 1) // 2, size // 2)
        squares = np.moveaxis(np.pad(x * x, border), axis, 0)
        total = np.zeros_like(np.moveaxis(x, axis, 0))
        for offset in range(size):
            total += squares[offset : offset + len(total)]
        scaled = total * x.dtype.type(op.alpha.value.data / size)
        divisor = (scaled + x.dtype.type(op.bias.value.data)) ** x.dtype.type(op.beta.value.data)
        return (narrow(x / np.moveaxis(divisor, 0, axis), args[0].dtype),)

    @impl(norm.L2NormalizeOp)
    @quiet
    def run_l2_normalize(
        self, interpreter: Interpreter, op: norm.L2NormalizeOp, args: PythonValues
    ) -> PythonValues:
        x = widen(args[0])
        squares = np.sum(x * x, axis=op.normalized_axes, keepdims=True)
        least = np.maximum(squares, x.dtype.type(op.eps.value.data))
        return (narrow(x / np.sqrt(least), args[0].dtype),)

    @impl(norm.DropoutOp)
    def run_dropout(
        self, interpreter: Interpreter, op: norm.DropoutOp, args: PythonValues
    ) -> PythonValues:
        return ((args[0], np.ones(args[0].shape, args[0].dtype)),)
