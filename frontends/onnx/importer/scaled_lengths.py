"""
Lengths times numbers with a fraction, rounded, as exporters write sizes of images in floating point:

    Cast(Floor(Cast(n) * 0.7))        n * 7 // 10        for n up to 2**20, which has been tried
"""

from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import is_float, is_integer_type, is_tensor_type
from xrelay.dialects.tensor import binary, unary
from xrelay.frontends.onnx.importer.shape_arithmetic import number_array, numbers_of
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
    An open length times or, with `divides`, divided by a factor, in elements of a dtype, which is then rounded down or
    `upwards`. None where that is no product with a simple fraction for all lengths that are likely.
    """
    if not isfinite(factor) or factor <= 0:
        return None
    over, under, most = _fraction(factor, dtype.str, divides, upwards)
    if length > most:
        return None
    return -(-length * over // under) if upwards else length * over // under


@lru_cache
def _fraction(factor: float, dtype: str, divides: bool, upwards: bool) -> tuple[int, int, int]:
    """A fraction near a factor, or its inverse, and up to which length it gives what the factor gives."""
    exact = 1 / Fraction(factor) if divides else Fraction(factor)
    over, under = exact.limit_denominator(LEAST_PART).as_integer_ratio()
    lengths = np.arange(1, MOST_SCALED + 1)
    numbers, number = lengths.astype(dtype), np.dtype(dtype).type(factor)
    products = numbers / number if divides else numbers * number
    rounded = np.ceil(products) if upwards else np.floor(products)
    same = rounded == (-(-lengths * over // under) if upwards else lengths * over // under)
    return over, under, MOST_SCALED if same.all() else int(same.argmin())


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
    if isinstance(op, unary.CastOp) and not is_integer_type(type_.element_type):
        return None
    of_floats = product.result.type
    if not is_tensor_type(of_floats) or not is_float(of_floats.element_type):
        return None
    divides = isinstance(product, binary.DivideOp)
    lengths, factors = _numbers(product.lhs), known_array(product.rhs)
    if lengths is None and not divides:
        lengths, factors = _numbers(product.rhs), known_array(product.lhs)
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
    return number_array(found, type_.get_shape())


def _numbers(value: SSAValue) -> Array | None:
    return numbers_of(value.owner)
