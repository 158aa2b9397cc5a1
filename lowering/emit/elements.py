"""How elements of tensors are held in memory and in registers."""

from dataclasses import dataclass
from math import copysign, inf
from struct import pack, unpack

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    f32,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

ElementType = Float16Type | Float32Type | Float64Type | IntegerType


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


def element(dtype: Attribute) -> Element:
    """
    The element of a tensor type.

    Raises DiagnosticException for dtypes that kernels do not compute with.
    """
    match dtype:
        case Float16Type():
            return Element(dtype, dtype, 2, True)
        case Float32Type():
            return Element(dtype, dtype, 4, True)
        case Float64Type():
            return Element(dtype, dtype, 8, True)
        case IntegerType() if dtype == i1:
            return Element(i1, i8, 1, False)
        case IntegerType() if dtype.width.data in (8, 16, 32, 64):
            signless = IntegerType(dtype.width.data)
            signed = dtype.signedness.data != Signedness.UNSIGNED
            return Element(signless, signless, dtype.width.data // 8, signed)
        case _:
            raise DiagnosticException(
                f"element type {dtype} has no kernels; supported are f16, f32, f64, i1, "
                "i8 to i64 and ui8 to ui64"
            )


INDEX = element(i64)
"""What indices are computed in."""


def wide(kind: Element) -> Element:
    """
    What elements are computed in: f32 for f16, rounded once at the end of each operator; other
    types themselves.
    """
    return element(f32) if kind.is_float and kind.bytes == 2 else kind


def nearest_float(number: float, size: int) -> float:
    """The nearest number that floating point of `size` bytes has."""
    layout = {2: "<e", 4: "<f", 8: "<d"}[size]
    try:
        return unpack(layout, pack(layout, number))[0]
    except OverflowError:
        return copysign(inf, number)
