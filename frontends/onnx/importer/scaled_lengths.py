"""
Lengths times numbers with a fraction, rounded, as exporters write sizes of images in floating point:

    Cast(Floor(Cast(n) * 0.7))        n * 7 // 10          for n up to 2**20, which has been tried
    Cast(Floor(Cast(n) * 1.3))        floor(n * 1.3)       rounded in f32 as well when the program runs
"""

from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

from xrelay.dialects.base import RelayOp
from xrelay.dialects.lengths import is_open, pin_here
from xrelay.dialects.lengths import scaled as scaled_length
from xrelay.dialects.scaling import Scaling
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor import binary, unary
from xrelay.frontends.onnx.importer.shape_arithmetic import (
    EXACT,
    as_integers,
    number_array,
    numbers_of,
)
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import known_array

LEAST_PART = 1024
"""Factors are multiples of one part in so many, or the nearest numbers of their type."""
MOST_SCALED = 2**20
"""How long axes are at most."""


def scaled(
    length: int,
    factor: float,
    dtype: np.dtype[Any],
    *,
    divides: bool = False,
    upwards: bool = False,
) -> int | None:
    """
    An open length times or, with `divides`, divided by a factor, in elements of f32 or f64, which is then rounded down
    or `upwards`; None for negative lengths and factors that are not positive.

    """
    if not isfinite(factor) or factor <= 0 or length < 0:
        return None
    fraction = _fraction(factor, dtype.str, divides, upwards)
    if fraction is None:
        return scaled_length(
            length,
            Scaling(factor, "float32" if dtype == np.float32 else "float64", divides, upwards),
        )
    over, under, most = fraction
    if length > most:
        pin_here(length)
    return -(-length * over // under) if upwards else length * over // under


@lru_cache
def _fraction(
    factor: float, dtype: str, divides: bool, upwards: bool
) -> tuple[int, int, int] | None:
    """
    A fraction near a factor, or its inverse, that gives what the factor gives, with which sizes are sums and products; and up to
    which length it does, which is MOST_SCALED or more. None where there is none.
    """
    exact = 1 / Fraction(factor) if divides else Fraction(factor)
    near = exact.limit_denominator(LEAST_PART)
    over, under = near.as_integer_ratio()
    digits = 2 ** (np.finfo(dtype).nmant + 1)
    if near == exact and not divides and digits // over >= MOST_SCALED:
        return over, under, digits // over  # Products are exact as long as they have few digits.
    lengths = np.arange(1, MOST_SCALED + 1)
    numbers, number = lengths.astype(dtype), np.dtype(dtype).type(factor)
    with np.errstate(over="ignore"):
        products = numbers / number if divides else numbers * number
    rounded = np.ceil(products) if upwards else np.floor(products)
    same = rounded == (-(-lengths * over // under) if upwards else lengths * over // under)
    return (over, under, MOST_SCALED) if same.all() else None


def rounded_product(op: RelayOp) -> Array | None:
    """
    The whole numbers that an operator makes of lengths times known numbers: rounded down or up, or as integers, which
    rounds down what is not negative. None where it does something else.
    """
    if not isinstance(op, unary.FloorOp | unary.CeilOp | unary.CastOp):
        return None
    type_ = op.results[0].type
    product = op.operands[0].owner
    if not isinstance(product, binary.MultiplyOp | binary.DivideOp) or not is_tensor_type(type_):
        return None
    of_floats = product.result.type
    if not is_tensor_type(of_floats) or of_floats.element_type not in EXACT:
        return None
    divides = isinstance(product, binary.DivideOp)
    lengths, factors = numbers_of(product.lhs.owner), known_array(product.rhs)
    if lengths is None and not divides:
        lengths, factors = numbers_of(product.rhs.owner), known_array(product.lhs)
    if lengths is None or factors is None:
        return None
    dtype, upwards = dtype_of(of_floats.element_type), isinstance(op, unary.CeilOp)
    found: list[int] = []
    for length, factor in zip(*map(np.ravel, np.broadcast_arrays(lengths, factors)), strict=True):
        if not is_open(length):
            return None
        number = scaled(length, float(factor), dtype, divides=divides, upwards=upwards)
        if number is None:
            return None
        found.append(number)
    numbers = number_array(found, type_.get_shape())
    is_cast = isinstance(op, unary.CastOp)
    return as_integers(numbers, type_.element_type) if is_cast else numbers
