"""The arithmetic of quantised numbers in NumPy."""

import numpy as np

from xrelay.interpreters import arrays
from xrelay.interpreters.arrays import Array, DType
from xrelay.interpreters.numerics import convert, quiet


def along(values: Array, axis: int, rank: int) -> Array:
    """A parameter, shaped to broadcast along `axis` of a tensor of `rank` dimensions."""
    return values.reshape(()) if values.size == 1 else arrays.along(values, axis, rank)


def clamped(values: Array, dtype: DType) -> Array:
    """Integers as others, which they are clamped to the range of."""
    limits = np.iinfo(dtype)
    return np.asarray(np.clip(values, limits.min, limits.max).astype(dtype))


def round_half_away(x: Array) -> Array:
    """Whole numbers; halves are rounded away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(x.dtype.type(1), x), 0)


@quiet
def quantized(x: Array, scale: Array, zero_point: Array, dtype: DType) -> Array:
    """Numbers of f32 as quantised ones."""
    whole = np.rint(x / scale) + zero_point.astype(np.float32)
    return convert(np.asarray(whole), dtype)


@quiet
def dequantized(q: Array, scale: Array, zero_point: Array) -> Array:
    """The numbers of f32 that quantised ones stand for."""
    return np.asarray((q.astype(np.int32) - zero_point).astype(np.float32) * scale)


@quiet
def fixed_points(numbers: Array) -> tuple[Array, Array]:
    """`xrelay.dialects.qnn.parameters.fixed_point` of each of some numbers that are not negative."""
    fractions, shifts = np.frexp(numbers)
    sizes = np.floor(fractions * 2**31 + 0.5).astype(np.int64)
    carried = sizes == 2**31
    return np.where(carried, 2**30, sizes), shifts.astype(np.int64) + carried


@quiet
def fixed_point_product(x: Array, m: Array, shift: Array, *, rounds_up: bool = True) -> Array:
    """
    The whole numbers next to x * m * 2**(shift - 31) for 32-bit integers x, as 32-bit integers;
    halves are rounded up or else away from zero.
    """
    left = np.maximum(shift, 0)
    moved = np.where(left < 64, x.astype(np.int64) << np.minimum(left, 63), 0)
    product = np.asarray(moved * m)
    # No product reaches the half that a longer shift would round by.
    right = np.minimum(31 + np.maximum(-shift, 0), 63)
    half = np.int64(1) << (right - 1)
    bias = half if rounds_up else half - (product < 0)
    return np.asarray(((product + bias) >> right).astype(np.int32))


@quiet
def requantized(
    q: Array,
    scale: Array,
    zero_point: Array,
    new_scale: Array,
    new_zero_point: Array,
    *,
    dtype: DType,
    rounds_up: bool = True,
    to_even: bool = False,
    compute: DType | None = None,
) -> Array:
    """
    Quantised numbers with another scale and zero point, computed in fixed-point numbers or in the
    floating-point type `compute`, in which halves may be rounded to even.
    """
    ratio = scale.astype(np.float64) / new_scale.astype(np.float64)
    if compute is None:
        centered = q.astype(np.int32) - zero_point
        moved = fixed_point_product(centered, *fixed_points(ratio), rounds_up=rounds_up)
        result = moved + new_zero_point
    else:
        centered = q.astype(compute) - zero_point.astype(compute)
        if to_even:
            whole = np.rint(centered * ratio.astype(compute))
            return convert(np.asarray(whole + new_zero_point.astype(compute)), dtype)
        exact = np.asarray(centered * ratio.astype(compute) + new_zero_point.astype(compute))
        whole = np.floor(exact + compute.type(0.5)) if rounds_up else round_half_away(exact)
        result = convert(np.asarray(whole), np.dtype(np.int32))
    return clamped(np.asarray(result), dtype)
