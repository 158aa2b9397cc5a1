"""How elements of tensors are held in memory and in registers."""

from dataclasses import dataclass
from functools import cache
from math import copysign, inf, isfinite
from struct import pack, unpack

from xdsl.dialects.builtin import BFloat16Type, IntegerType, Signedness, f32, i1, i8, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.dtypes import DTYPES, ElementType, FloatType, is_element_type
from xrelay.dialects.shapes import is_integer_type


@dataclass(frozen=True)
class Element:
    """An element type of tensors as kernels see it."""

    compute: ElementType
    """In registers. Integers are signless: `signed` tells how to read them."""
    storage: ElementType
    """In memory: bools take one byte."""
    bytes: int
    signed: bool

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return not isinstance(self.compute, IntegerType)

    @property
    def is_bool(self) -> bool:
        """Whether it is i1."""
        return self.compute == i1

    @property
    def bits(self) -> int:
        """Width in registers."""
        return 1 if self.is_bool else 8 * self.bytes


@cache
def element(dtype: Attribute) -> Element:
    """
    The element of a tensor type.

    Raises DiagnosticException for dtypes that kernels do not compute with.
    """
    if is_integer_type(dtype) and dtype.signedness.data == Signedness.SIGNED:
        return element(IntegerType(dtype.width.data))
    if not is_element_type(dtype):
        known = ", ".join(str(row.type) for row in DTYPES)
        raise DiagnosticException(f"element type {dtype} has no kernels; supported are {known}")
    if not isinstance(dtype, IntegerType):
        return Element(dtype, dtype, dtype.size, True)
    if dtype == i1:
        return Element(i1, i8, 1, False)
    signless, signed = IntegerType(dtype.width.data), dtype.signedness.data != Signedness.UNSIGNED
    return Element(signless, signless, dtype.size, signed)


INDEX = element(i64)
"""What indices are computed in."""


def wide(kind: Element) -> Element:
    """
    What elements are computed in: f32 for f16 and bf16, rounded once at the end of each operator;
    other types themselves.
    """
    return element(f32) if kind.is_float and kind.bytes == 2 else kind


def nearest_float(number: float, type_: FloatType) -> float:
    """
    The nearest number that a floating-point type has; for bf16 that of the nearest f32, as
    ml_dtypes rounds.
    """
    if isinstance(type_, BFloat16Type):
        (bits,) = unpack("<I", pack("<f", nearest_float(number, f32)))
        if isfinite(number):
            bits += 0x7FFF + (bits >> 16 & 1)
        return unpack("<f", pack("<I", bits & 0xFFFF0000))[0]
    layout = {2: "<e", 4: "<f", 8: "<d"}[type_.size]
    try:
        return unpack(layout, pack(layout, number))[0]
    except OverflowError:
        return copysign(inf, number)
