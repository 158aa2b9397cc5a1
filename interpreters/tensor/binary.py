"""Operators on two tensors that broadcast in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import binary
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import elementwise, predicate
from xrelay.interpreters.numerics import is_float, power


def truncated_quotient(lhs: Array, rhs: Array) -> Array:
    """The meaning of `relay.divide`."""
    if is_float(lhs.dtype):
        return lhs / rhs
    divisor = _nonzero(rhs)
    return np.where(rhs == 0, 0, (lhs - np.fmod(lhs, divisor)) // divisor)


def _floor_divide(lhs: Array, rhs: Array) -> Array:
    if is_float(lhs.dtype):
        return np.floor(lhs / rhs)
    return np.where(rhs == 0, 0, lhs // _nonzero(rhs))


def _floor_mod(lhs: Array, rhs: Array) -> Array:
    if is_float(lhs.dtype):
        return lhs - np.floor(lhs / rhs) * rhs
    return np.where(rhs == 0, 0, np.remainder(lhs, _nonzero(rhs)))


def truncated_remainder(lhs: Array, rhs: Array) -> Array:
    """The meaning of `relay.mod`."""
    if is_float(lhs.dtype):
        return np.fmod(lhs, rhs)
    return np.where(rhs == 0, 0, np.fmod(lhs, _nonzero(rhs)))


def _trunc_divide(lhs: Array, rhs: Array) -> Array:
    return np.trunc(lhs / rhs) if is_float(lhs.dtype) else truncated_quotient(lhs, rhs)


def _nonzero(divisor: Array) -> Array:
    """`divisor` with 1 in place of 0."""
    return np.where(divisor == 0, divisor.dtype.type(1), divisor)


def _left_shift(lhs: Array, rhs: Array) -> Array:
    possible = _possible_shift(rhs)
    return np.where(possible, lhs << np.where(possible, rhs, 0).astype(rhs.dtype), 0)


def _right_shift(lhs: Array, rhs: Array) -> Array:
    last = 8 * rhs.itemsize - 1
    filled = lhs >> rhs.dtype.type(last) if lhs.dtype.kind == "i" else np.zeros_like(lhs)
    possible = _possible_shift(rhs)
    return np.where(possible, lhs >> np.where(possible, rhs, 0).astype(rhs.dtype), filled)


def _possible_shift(bits: Array) -> Array:
    return np.asarray((bits >= 0) & (bits < 8 * bits.itemsize))


@register_impls
class BinaryFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.tensor.binary`."""

    run_add = elementwise(binary.AddOp, np.add)
    run_bitwise_and = elementwise(binary.BitwiseAndOp, np.bitwise_and)
    run_bitwise_or = elementwise(binary.BitwiseOrOp, np.bitwise_or)
    run_bitwise_xor = elementwise(binary.BitwiseXorOp, np.bitwise_xor)
    run_divide = elementwise(binary.DivideOp, truncated_quotient)
    run_equal = predicate(binary.EqualOp, np.equal)
    run_floor_divide = elementwise(binary.FloorDivideOp, _floor_divide)
    run_floor_mod = elementwise(binary.FloorModOp, _floor_mod)
    run_greater = predicate(binary.GreaterOp, np.greater)
    run_greater_equal = predicate(binary.GreaterEqualOp, np.greater_equal)
    run_left_shift = elementwise(binary.LeftShiftOp, _left_shift)
    run_less = predicate(binary.LessOp, np.less)
    run_less_equal = predicate(binary.LessEqualOp, np.less_equal)
    run_logical_and = predicate(binary.LogicalAndOp, np.logical_and)
    run_logical_or = predicate(binary.LogicalOrOp, np.logical_or)
    run_logical_xor = predicate(binary.LogicalXorOp, np.logical_xor)
    run_maximum = elementwise(binary.MaximumOp, np.maximum)
    run_minimum = elementwise(binary.MinimumOp, np.minimum)
    run_mod = elementwise(binary.ModOp, truncated_remainder)
    run_multiply = elementwise(binary.MultiplyOp, np.multiply)
    run_not_equal = predicate(binary.NotEqualOp, np.not_equal)
    run_power = elementwise(binary.PowerOp, power)
    run_right_shift = elementwise(binary.RightShiftOp, _right_shift)
    run_subtract = elementwise(binary.SubtractOp, np.subtract)
    run_trunc_divide = elementwise(binary.TruncDivideOp, _trunc_divide)
    run_trunc_mod = elementwise(binary.TruncModOp, truncated_remainder)
