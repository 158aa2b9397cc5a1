"""Scalar constants as Relay text writes them: `1`, `2i64`, `0.5f`, `1e-3f64`, `True`, `inff`."""

import re
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xrelay.dialects.shapes import is_integer_type
from xrelay.frontends.relay_text.types import element_type_named

Scalar: TypeAlias = DenseIntOrFPElementsAttr[AnyDenseElement]

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)((?:f|bf|i|u|uint|int)?)(\d*)")
WIDTHS = frozenset(("1", "8", "16", "32", "64"))
"""The widths of integers that there are constants of."""
_NOT_FINITE = re.compile(r"(inf|nan)(f?)(\d*)")
_FLOATS: dict[str, AnyDenseElement] = {
    "f": f32,
    "f16": f16,
    "f32": f32,
    "f64": f64,
    "bf16": bf16,
    "": f32,
}


def is_not_finite(name: str) -> bool:
    """Whether a name is a number: `inff`, `nan`, …"""
    return _NOT_FINITE.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def scalar(text: str, negative: bool) -> tuple[Scalar, Attribute] | None:
    """The value and the type of a number; None when its suffix or its size is not known."""
    found = _NUMBER.fullmatch(text)
    sign = -1 if negative else 1
    if found is None:
        found = _NOT_FINITE.fullmatch(text)
        if found is None:
            return None
        element = _FLOATS.get(found[2] + found[3])
        return None if element is None else dense(sign * float(found[1]), element)
    digits, letter, width = found.groups()
    if letter in ("f", "bf") or (not letter and not digits.isdigit()):
        element = _FLOATS.get(letter + width)
        value = float(digits)
        return dense(sign * value, element) if element is not None and isfinite(value) else None
    if not digits.isdigit():
        return None
    try:
        whole = sign * int(digits)
    except ValueError:  # thousands of digits
        return None
    if not letter:
        return dense(whole, i32 if -(2**31) <= whole < 2**31 else i64)
    if width not in WIDTHS:
        return None
    signed = letter[0] == "i"
    if signed and width != "1" and not -(2 ** (int(width) - 1)) <= whole < 2 ** (int(width) - 1):
        return None  # The IR, whose integers have no sign, would take it for a negative one.
    element = element_type_named(("int" if signed else "uint") + width)
    return dense(whole, element) if element is not None and is_integer_type(element) else None


@lru_cache(maxsize=2)
def boolean(value: bool) -> tuple[Scalar, Attribute]:
    """The value and the type of `True` or `False`."""
    type_ = TensorType(i1, [])
    return cast(Scalar, DenseIntOrFPElementsAttr.from_list(type_, [value])), type_


def dense(value: float, element: AnyDenseElement) -> tuple[Scalar, Attribute] | None:
    """A constant of rank 0; None when the element type cannot hold the value."""
    type_ = TensorType(element, [])
    # Which overload of `from_list` it is depends on the element type, not on a type known here.
    from_list = cast(Callable[[Attribute, list[float]], Scalar], DenseIntOrFPElementsAttr.from_list)
    try:
        found = from_list(type_, [value])
    except (ValueError, OverflowError):
        return None
    (stored,) = found.get_values()
    if isinstance(stored, float) and isfinite(value) and not isfinite(stored):
        return None  # rounded to infinity
    return found, type_


def converted(value: Scalar, element: Attribute) -> Scalar | None:
    """A scalar constant with another element type; None when that does not have its value."""
    (number,) = value.get_values()
    found = None
    if isinstance(number, tuple):
        return None
    if is_integer_type(element):
        if isfinite(number) and int(number) == number:
            found = dense(int(number), element)
    elif isinstance(element, AnyFloat):
        found = dense(float(number), element)
    return None if found is None else found[0]


def attribute_number(text: str, negative: bool) -> int | float | None:
    """
    The number that an attribute holds, whatever type its suffix states; None for one that 64 bits
    do not hold.
    """
    sign = -1 if negative else 1
    found = _NUMBER.fullmatch(text)
    if found is None:
        return sign * float(text[:3])
    digits, letter, _ = found.groups()
    if not digits.isdigit() or letter in ("f", "bf"):
        value = sign * float(digits)
        return value if isfinite(value) else None
    try:
        return int64(f"-{digits}" if negative else digits)
    except ValueError:
        return None


def int64(text: str) -> int:
    """
    The integer that a text states.

    Raises ValueError when it is none of 64 bits: attributes and shapes hold no others.
    """
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"found {text}, expected {INT64}")
    return value


INT64 = "an integer of 64 bits"
"""What `int64` takes, in messages."""
