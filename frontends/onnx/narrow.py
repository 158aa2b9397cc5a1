"""
ONNX's element types of 8 bits or fewer that are no element types of programs, and their numbers.

A program holds the integers among them as `i8` or `ui8`, and the floating-point ones as their bits in `ui8`. The
arrays that models take and return have the types of ml_dtypes, an element in the low bits of each byte.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from xdsl.dialects.builtin import IntegerType, Signedness

from xrelay.interpreters.arrays import Array

I8 = IntegerType(8)
UI8 = IntegerType(8, Signedness.UNSIGNED)


@dataclass(frozen=True)
class Narrow:
    """An element type."""

    name: str
    """What ml_dtypes calls it."""
    bits: int
    signed: bool = True
    is_float: bool = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of arrays of these elements."""
        return np.dtype(getattr(ml_dtypes, self.name))

    @property
    def held_as(self) -> IntegerType:
        """The element type of programs that holds these elements."""
        return I8 if self.signed and not self.is_float else UI8

    @property
    def mask(self) -> int:
        """All bits of an element."""
        return (1 << self.bits) - 1


NARROW: dict[int, Narrow] = {
    TensorProto.FLOAT8E4M3FN: Narrow("float8_e4m3fn", 8),
    TensorProto.FLOAT8E4M3FNUZ: Narrow("float8_e4m3fnuz", 8),
    TensorProto.FLOAT8E5M2: Narrow("float8_e5m2", 8),
    TensorProto.FLOAT8E5M2FNUZ: Narrow("float8_e5m2fnuz", 8),
    TensorProto.FLOAT8E8M0: Narrow("float8_e8m0fnu", 8, signed=False),
    TensorProto.FLOAT4E2M1: Narrow("float4_e2m1fn", 4),
    TensorProto.INT4: Narrow("int4", 4, is_float=False),
    TensorProto.UINT4: Narrow("uint4", 4, signed=False, is_float=False),
    TensorProto.INT2: Narrow("int2", 2, is_float=False),
    TensorProto.UINT2: Narrow("uint2", 2, signed=False, is_float=False),
}
"""By ONNX's codes of data types."""


def held(bits: Array, narrow: Narrow) -> Array:
    """What a program holds for the bits of elements, each in a byte."""
    bits = bits.view(np.uint8) & np.uint8(narrow.mask)
    if narrow.is_float or not narrow.signed:
        return bits
    return ((bits ^ (1 << narrow.bits - 1)).astype(np.int8) - (1 << narrow.bits - 1)).astype(
        np.int8
    )


def unpacked(content: npt.NDArray[np.uint8], count: int, narrow: Narrow) -> Array:
    """What a program holds for elements of which several share a byte; the first has the lower bits."""
    shifts = np.arange(0, 8, narrow.bits, dtype=np.uint8)
    return held((content[:, None] >> shifts).reshape(-1)[:count].astype(np.uint8), narrow)


@cache
def values_of(narrow: Narrow) -> npt.NDArray[np.float32]:
    """The number of each pattern of bits of a floating-point type."""
    bits = np.arange(1 << narrow.bits, dtype=np.uint8)
    return bits.view(narrow.dtype).astype(np.float32)


@dataclass(frozen=True)
class Rounding:
    """How numbers become elements of a floating-point type: by the count of limits that they reach."""

    limits: npt.NDArray[np.float32]
    """Ascending; the absolute value of a number is looked for among them."""
    bits: npt.NDArray[np.uint8]
    """Those of positive numbers, one more than limits."""
    negative: npt.NDArray[np.uint8]
    """Those of negative numbers."""
    nan: int
    """The bits of NaN."""
    negative_zero: bool
    """Whether zeros have signs."""


@cache
def rounding(narrow: Narrow, mode: str, *, saturate: bool) -> Rounding:
    """
    Rounding to the nearest number, of two to the one with an even last bit; for `float8_e8m0fnu`, whose numbers
    are powers of two, as `mode` says: "up", "down", or "nearest", of two to the larger one. Numbers beyond the
    largest become the largest with `saturate`, else infinity, or NaN where there is none.

    Source: ONNX's Cast, and its tables of casts to float8.
    """
    all_values = values_of(narrow)
    half = all_values[: len(all_values) // 2] if narrow.signed else all_values
    finite = np.flatnonzero(np.isfinite(half))
    values, codes = half[finite].astype(np.float64), finite.astype(np.uint8)
    nans = np.flatnonzero(np.isnan(all_values))
    nan = int(nans[0]) if len(nans) else len(half)
    following = np.append(values[1:], 2 * values[-1] - values[-2])
    beyond = np.append(codes[1:], np.uint8(codes[-1] + 1) if narrow.signed else np.uint8(0))
    middle = (values + following) / 2
    up = np.nextafter(values.astype(np.float32), np.float32(np.inf))
    match mode if not narrow.signed else "":
        case "up":
            limits = up
        case "down":
            limits = following.astype(np.float32)
        case "nearest":
            limits = middle.astype(np.float32)
        case _:
            near = middle.astype(np.float32)
            limits = np.where(beyond % 2 == 0, near, np.nextafter(near, np.float32(np.inf)))
    too_large = np.flatnonzero(np.isinf(half))
    overflow = int(too_large[0]) if len(too_large) else nan
    if saturate or not len(nans):
        limits, bits = limits[:-1], codes
    else:
        bits = np.append(codes, np.uint8(overflow))
    zero = bool(narrow.signed and all_values[len(half)] == 0)
    negative = np.full_like(bits, nan)
    if narrow.signed:
        negative = np.where(bits == nan, bits, bits | np.uint8(len(half)))
        negative = np.where(zero | (bits > 0), negative, bits)
    return Rounding(limits.astype(np.float32), bits, negative, nan, zero)
