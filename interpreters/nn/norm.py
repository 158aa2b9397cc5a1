"""Normalisation, softmax, dropout and bias in NumPy."""

from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, PythonValues, register_impls

from xrelay.dialects.nn import norm
from xrelay.interpreters.arrays import Array, along
from xrelay.interpreters.base import by, meaning
from xrelay.interpreters.numerics import narrow, widen


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
    gamma, beta = (along(widen(values), op.channel_axis, result.ndim) for values in args[1:])
    if op.scale.value.data:
        result = result * gamma
    if op.center.value.data:
        result = result + beta
    return narrow(result, args[0].dtype)


def _softmax(op: norm.SoftmaxFamilyOp, data: Array) -> Array:
    axis = op.normalized_axis
    powers = np.exp(_below_largest(widen(data), axis))
    return narrow(powers / powers.sum(axis, keepdims=True), data.dtype)


@register_impls
class NormFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.norm`, computed in the wide type."""

    @meaning
    def run_bias_add(self, op: norm.BiasAddOp, *args: Array) -> Array:
        data, bias = map(widen, args)
        return narrow(data + along(bias, op.channel_axis, data.ndim), args[0].dtype)

    @meaning
    def run_prelu(self, op: norm.PReluOp, *args: Array) -> Array:
        data, alpha = map(widen, args)
        scaled = data * along(alpha, op.channel_axis, data.ndim)
        return narrow(np.where(data > 0, data, scaled), args[0].dtype)

    @meaning
    def run_batch_norm(self, op: norm.BatchNormOp, *args: Array) -> tuple[Array, ...]:
        data = widen(args[0])
        gamma, beta, mean, variance = (
            along(widen(values), op.channel_axis, data.ndim) for values in args[1:]
        )
        epsilon = data.dtype.type(op.epsilon.value.data)
        # One factor: a quotient can overflow where its product with gamma does not.
        factor = 1 / np.sqrt(variance + epsilon)
        if op.scale.value.data:
            factor = factor * gamma
        result = (data - mean) * factor
        if op.center.value.data:
            result = result + beta
        return (narrow(result, args[0].dtype), args[3], args[4])

    @meaning
    def run_layer_norm(self, op: norm.LayerNormOp, *args: Array) -> Array:
        return _standardized(op, args, widen(args[0]), (op.channel_axis,))

    @meaning
    def run_instance_norm(self, op: norm.InstanceNormOp, *args: Array) -> Array:
        return _standardized(op, args, widen(args[0]), op.reduced_axes)

    @meaning
    def run_group_norm(self, op: norm.GroupNormOp, *args: Array) -> Array:
        axis, groups = op.channel_axis, op.num_groups.value.data
        shape = args[0].shape
        split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
        data = widen(args[0]).reshape(split)
        return _standardized(op, args, data, tuple(range(axis + 1, data.ndim)))

    @meaning
    def run_rms_norm(self, op: norm.RmsNormOp, *args: Array) -> Array:
        data, axis = widen(args[0]), op.channel_axis
        # The mean of no elements is not needed.
        squares = (data * data).sum(axis, keepdims=True) / data.dtype.type(max(data.shape[axis], 1))
        result = data / np.sqrt(squares + data.dtype.type(op.epsilon.value.data))
        if op.scale.value.data:
            result = result * along(widen(args[1]), axis, data.ndim)
        return narrow(result, args[0].dtype)

    run_softmax = by(norm.SoftmaxOp, _softmax)
    run_fast_softmax = by(norm.FastSoftmaxOp, _softmax)

    @meaning
    def run_log_softmax(self, op: norm.LogSoftmaxOp, data: Array) -> Array:
        axis = op.normalized_axis
        below = _below_largest(widen(data), axis)
        logarithm = np.log(np.exp(below).sum(axis, keepdims=True))
        return narrow(below - logarithm, data.dtype)

    @meaning
    def run_lrn(self, op: norm.LrnOp, data: Array) -> Array:
        x = widen(data)
        size, axis = op.size.value.data, op.normalized_axis
        border = [(0, 0)] * x.ndim
        # No window reaches further than all channels.
        before, after = (min(reach, x.shape[axis]) for reach in ((size - 1) // 2, size // 2))
        border[axis] = before, after
        squares = np.moveaxis(np.pad(x * x, border), axis, 0)
        total = np.zeros_like(np.moveaxis(x, axis, 0))
        for offset in range(before + after + 1):
            total += squares[offset : offset + len(total)]
        scaled = total * x.dtype.type(op.alpha.value.data / size)
        divisor = (scaled + x.dtype.type(op.bias.value.data)) ** x.dtype.type(op.beta.value.data)
        return narrow(x / np.moveaxis(divisor, 0, axis), data.dtype)

    @meaning
    def run_l2_normalize(self, op: norm.L2NormalizeOp, data: Array) -> Array:
        x = widen(data)
        squares = np.sum(x * x, axis=op.normalized_axes, keepdims=True)
        least = np.maximum(squares, x.dtype.type(op.eps.value.data))
        return narrow(x / np.sqrt(least), data.dtype)

    @meaning
    def run_dropout(self, op: norm.DropoutOp, data: Array) -> tuple[Array, ...]:
        return (data, np.ones(data.shape, data.dtype))
