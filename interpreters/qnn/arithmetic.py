"""Elementwise arithmetic on quantised tensors in NumPy."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from xdsl.interpreter import InterpreterFunctions, PythonValues, register_impls

from xrelay.dialects.qnn import arithmetic as qnn
from xrelay.dialects.qnn.parameters import fixed_point
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import Implementation, by, meaning, require_defined
from xrelay.interpreters.qnn.parameters import (
    along,
    clamped,
    dequantized,
    fixed_point_product,
    quantized,
    requantized,
)
from xrelay.interpreters.tensor.unary import error_function, rsqrt, sigmoid

INT32 = np.dtype(np.int32)

_OpT = TypeVar("_OpT", bound=qnn.QnnUnaryOp)


def _unary(op_type: type[_OpT], function: Callable[[Array], Array]) -> Implementation[_OpT]:
    def run(
        op: qnn.QnnUnaryOp,
        data: Array,
        scale: Array,
        zero_point: Array,
        new_scale: Array,
        new_zero_point: Array,
    ) -> Array:
        x = dequantized(data, scale, zero_point).astype(np.float64)
        result = np.asarray(function(x)).astype(np.float32)
        return quantized(result, new_scale, new_zero_point, data.dtype)

    return by(op_type, run)


def _hardswish(x: Array) -> Array:
    return x * np.minimum(np.maximum(x + 3, 0), 6) / 6


def _operands(op: qnn.QnnBinaryOp, args: PythonValues) -> list[list[Array]]:
    """For each operand its elements, scale and zero point, to broadcast with the result."""
    require_defined(op)
    rank = max(args[0].ndim, args[1].ndim)
    return [
        [args[i], *(along(each, axis, rank) for each in args[2 * i + 2 : 2 * i + 4])]
        for i, axis in enumerate(op.channel_axes)
    ]


def _sum(op: qnn.QnnBinaryOp, args: PythonValues, *, sign: int) -> Array:
    """lhs + sign * rhs"""
    new = args[6:]
    lhs, rhs = (requantized(*each, *new, dtype=INT32) for each in _operands(op, args))
    total = lhs - new[1] + rhs if sign > 0 else lhs - rhs + new[1]
    return clamped(np.asarray(total), args[0].dtype)


@register_impls
class QnnArithmeticFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.qnn.arithmetic`."""

    run_abs = _unary(qnn.QnnAbsOp, np.abs)
    run_erf = _unary(qnn.QnnErfOp, error_function)
    run_exp = _unary(qnn.QnnExpOp, np.exp)
    run_hardswish = _unary(qnn.QnnHardswishOp, _hardswish)
    run_log = _unary(qnn.QnnLogOp, np.log)
    run_rsqrt = _unary(qnn.QnnRsqrtOp, rsqrt)
    run_sigmoid = _unary(qnn.QnnSigmoidOp, sigmoid)
    run_sqrt = _unary(qnn.QnnSqrtOp, np.sqrt)
    run_tanh = _unary(qnn.QnnTanhOp, np.tanh)

    @meaning
    def run_add(self, op: qnn.QnnAddOp, *args: Array) -> Array:
        return _sum(op, args, sign=1)

    @meaning
    def run_subtract(self, op: qnn.QnnSubtractOp, *args: Array) -> Array:
        return _sum(op, args, sign=-1)

    @meaning
    def run_mul(self, op: qnn.QnnMulOp, *args: Array) -> Array:
        (lhs, lhs_scale, lhs_zero), (rhs, rhs_scale, rhs_zero) = _operands(op, args)
        product = (lhs.astype(INT32) - lhs_zero) * (rhs.astype(INT32) - rhs_zero)
        scale = np.asarray(lhs_scale * rhs_scale)
        zero = np.zeros((), INT32)
        return requantized(np.asarray(product), scale, zero, *args[6:], dtype=args[0].dtype)

    @meaning
    def run_leaky_relu(self, op: qnn.QnnLeakyReluOp, *args: Array) -> Array:
        data, _, zero_point, _, new_zero_point = args
        moved = requantized(*args, dtype=INT32)
        alpha = op.alpha.value.data
        scaled = fixed_point_product(moved, *map(np.asarray, fixed_point(alpha)))
        rest = fixed_point_product(new_zero_point, *map(np.asarray, fixed_point(1 - alpha)))
        below = data.astype(INT32) < zero_point
        return clamped(np.where(below, scaled + rest, moved), data.dtype)

    @meaning
    def run_lookup(self, op: qnn.QnnLookupOp, data: Array, table: Array) -> Array:
        del op
        return np.asarray(table[data.astype(np.int64) - np.iinfo(data.dtype).min])
