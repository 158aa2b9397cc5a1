"""Elementwise operators with one tensor operand in NumPy."""

from collections.abc import Callable
from math import erf

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import unary
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import elementwise, meaning, predicate
from xrelay.interpreters.numerics import convert, is_float, narrow, rounded, widen


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)"""
    return 1 / np.sqrt(x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)); exp(-x) may overflow where the result is a subnormal number."""
    raised = np.exp(-np.abs(x))
    return np.where(np.signbit(x), raised, x.dtype.type(1)) / (1 + raised)


def error_function(x: Array) -> Array:
    """erf of each element, in float64."""
    values = map(erf, x.reshape(-1).tolist())
    return np.fromiter(values, np.float64, x.size).reshape(x.shape)


def _rounded_by(function: np.ufunc) -> Callable[[Array], Array]:
    """Rounding, which leaves integers as they are."""
    return lambda x: np.asarray(function(x)) if is_float(x.dtype) else x


def _relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


@register_impls
class UnaryFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.tensor.unary`."""

    run_abs = elementwise(unary.AbsOp, np.abs)
    run_ceil = elementwise(unary.CeilOp, _rounded_by(np.ceil))
    run_copy = elementwise(unary.CopyOp, np.copy)
    run_cos = elementwise(unary.CosOp, np.cos)
    run_erf = elementwise(unary.ErfOp, error_function)
    run_exp = elementwise(unary.ExpOp, np.exp)
    run_floor = elementwise(unary.FloorOp, _rounded_by(np.floor))
    run_log = elementwise(unary.LogOp, np.log)
    run_logical_not = predicate(unary.LogicalNotOp, np.logical_not)
    run_negative = elementwise(unary.NegativeOp, np.negative)
    run_relu = elementwise(unary.ReluOp, _relu)
    run_round = elementwise(unary.RoundOp, _rounded_by(np.rint))
    run_rsqrt = elementwise(unary.RsqrtOp, rsqrt)
    run_sigmoid = elementwise(unary.SigmoidOp, sigmoid)
    run_sign = elementwise(unary.SignOp, np.sign)
    run_sin = elementwise(unary.SinOp, np.sin)
    run_sqrt = elementwise(unary.SqrtOp, np.sqrt)
    run_tanh = elementwise(unary.TanhOp, np.tanh)
    run_trunc = elementwise(unary.TruncOp, _rounded_by(np.trunc))

    @meaning
    def run_leaky_relu(self, op: unary.LeakyReluOp, data: Array) -> Array:
        x = widen(data)
        alpha = convert(np.asarray(op.alpha.value.data), x.dtype)
        scaled = x * alpha
        return narrow(np.where(x > 0, x, scaled), data.dtype)

    @meaning
    def run_clip(self, op: unary.ClipOp, data: Array) -> Array:
        dtype = data.dtype
        low = widen(rounded(op.a_min.value.data, dtype))
        high = widen(rounded(op.a_max.value.data, dtype))
        return narrow(np.minimum(np.maximum(widen(data), low), high), dtype)

    @meaning
    def run_cast(self, op: unary.CastOp, data: Array) -> Array:
        return convert(data, dtype_of(op.dtype))
