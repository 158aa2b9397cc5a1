"""
Arithmetic on element types that NumPy lacks or treats in its own way: conversion, limits, and the
detour of narrow types over wider ones.
"""

from typing import Any

import numpy as np

from xrelay.interpreters.arrays import BFLOAT16, Array, DType

quiet = np.errstate(all="ignore")
"""Decorator: infinities, NaN and wrap-around are values here, not reasons for warnings."""


def is_float(dtype: DType) -> bool:
    """Whether elements are floating-point numbers."""
    return dtype.kind == "f" or dtype == BFLOAT16


def wide_dtype(dtype: DType) -> DType:
    """
    The type in which operators compute: float32 for 16-bit floating point, one rounding at the
    end; uint8 for bools, which are integers modulo 2; every other type itself.
    """
    if dtype in (np.float16, BFLOAT16):
        return np.dtype(np.float32)
    return np.dtype(np.uint8) if dtype == np.bool_ else dtype


def widen(array: Array) -> Array:
    """`array` in the type in which operators compute."""
    return array.astype(wide_dtype(array.dtype), copy=False)


@quiet
def narrow(result: Any, dtype: DType) -> Array:
    """What was computed in `wide_dtype(dtype)`, as an array of `dtype`. Bools keep the low bit."""
    array = np.asarray(result & 1 if dtype == np.bool_ else result)
    return array.astype(dtype, copy=False)


def lowest(dtype: DType) -> Any:
    """The smallest value: -inf in floating point."""
    if is_float(dtype):
        return -np.inf
    return False if dtype == np.bool_ else np.iinfo(dtype).min


def highest(dtype: DType) -> Any:
    """The largest value: inf in floating point."""
    if is_float(dtype):
        return np.inf
    return True if dtype == np.bool_ else np.iinfo(dtype).max


@quiet
def power(base: Array, exponent: Array) -> Array:
    """
    `base` to the power of `exponent`, as `pow` of C. NumPy takes square roots for one exponent 0.5 for all, which
    are others for -inf and -0.
    """
    result = np.power(base, exponent)
    if not is_float(result.dtype):
        return result
    root = exponent == 0.5
    result = np.where(root & (base == -np.inf), result.dtype.type(np.inf), result)
    return np.where(root & (base == 0), result.dtype.type(0), result)


def convert(array: Array, dtype: DType) -> Array:
    """The meaning of `relay.cast`: saturating to integers, NaN to 0; x != 0 to bool."""
    if dtype == np.bool_:
        return np.asarray(array != 0)
    if not is_float(array.dtype) or is_float(dtype):
        with np.errstate(over="ignore"):  # Too large for a floating-point type is infinite.
            return array.astype(dtype, copy=False)
    whole = np.trunc(array.astype(np.float64, copy=False))
    low, high = lowest(dtype), highest(dtype)
    # float(high) may round up to a number that is out of range: it counts as one.
    above, below = whole >= float(high), whole <= float(low)
    result = np.where(above | below | np.isnan(whole), 0, whole).astype(dtype)
    return np.where(above, dtype.type(high), np.where(below, dtype.type(low), result))


def rounded(value: float, dtype: DType) -> Array:
    """`value` as a rank 0 array: to nearest for integers and bools, which saturate."""
    exact = np.asarray(value, np.float64)
    if not is_float(dtype):
        exact = np.asarray(np.rint(exact) >= 1 if dtype == np.bool_ else np.rint(exact))
    return convert(exact, dtype)
