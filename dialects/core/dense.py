"""Dense attributes as constants keep them: equal elements are equal attributes."""

import re
from math import prod
from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import AnyDenseElement, AnyFloat, BytesAttr, DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

Dense: TypeAlias = DenseIntOrFPElementsAttr[AnyDenseElement]

_LITERAL = re.compile(r'\s*(?:dense\s*)?<([^"<>]*)>')
_COMMENT = re.compile(r"//[^\n]*")
_SIGN = re.compile(r"-\s+")
_ELEMENT = re.compile(r"[^\s,\[\]]+")
_PIECE = 4096
_TRUE = bytes((0, *[0xFF] * 255))
"""How a dense attribute writes each byte of a bool."""


def is_dense(value: Attribute) -> TypeGuard[Dense]:
    """Whether a constant holds its elements in the attribute itself, not in a blob."""
    return isinstance(value, DenseIntOrFPElementsAttr)


def repeats(content: bytes | memoryview, width: int) -> bool:
    """Whether there are elements, of `width` bytes, and all have the bits of the first."""
    first = bytes(content[:width])
    # Most tensors differ at once. The others are compared in pieces, not with a copy of their size.
    if not first or bytes(content[width : 2 * width]) not in (first, b""):
        return False
    piece = first * _PIECE
    return all(
        bytes(content[begin : begin + len(piece)]) == piece[: len(content) - begin]
        for begin in range(0, len(content), len(piece))
    )


def stored_once(value: Dense) -> Dense:
    """The attribute with one element where all have the same bits, and with 0xff for true."""
    dtype, content = value.get_element_type(), value.data.data
    kept = content.translate(_TRUE) if dtype == i1 else content
    if repeats(kept, dtype.compile_time_size):
        kept = kept[: dtype.compile_time_size]
    return value if kept == content else DenseIntOrFPElementsAttr(value.type, BytesAttr(kept))


def written(value: Dense) -> str | None:
    """
    What xDSL prints for an attribute, None where that is not what it reads: it makes signalling NaNs quiet, takes 0 and
    -0 for one number that fills the tensor, and reads the bits that it prints of infinities and NaN as whole numbers.
    """
    dtype, count = value.get_element_type(), len(value)
    if isinstance(dtype, AnyFloat) and count:
        numbers = dtype.unpack(value.data.data, count)
        is_exact = dtype.pack(numbers) == value.data.data
        if not is_exact or (count > 1 and value.is_splat()):
            return None
    text = str(value)
    return None if isinstance(dtype, AnyFloat) and "0x" in text.partition(">")[0] else text


def with_bits(value: Dense, text: str) -> Dense:
    """
    The attribute of a text, with or without `dense`, in which a float may stand as its bits, as in MLIR: xDSL reads them as a
    whole number. What is another text, as that of an alias, is left as it was read.

    Raises VerifyException for bits with a sign, and for more of them than a float has.
    """
    dtype, literal = value.get_element_type(), _LITERAL.match(_COMMENT.sub("", text))
    if not isinstance(dtype, AnyFloat) or literal is None or "0x" not in literal[1].lower():
        return value
    elements = _ELEMENT.findall(_SIGN.sub("-", literal[1]))
    is_splat = "[" not in literal[1]
    if len(elements) != (1 if is_splat else prod(value.get_shape())):
        return value
    width, content = dtype.compile_time_size, bytearray(value.data.data)
    for number, element in enumerate(elements):
        if not element.lstrip("-").lower().startswith("0x"):
            continue
        bits = int(element, 16)
        if bits < 0 or element.startswith("-"):
            raise VerifyException(f"'{element}' has a sign, expected bits of {dtype}")
        if bits.bit_length() > dtype.bitwidth:
            raise VerifyException(f"{element} has more bits than {dtype}")
        content[number * width : (number + 1) * width] = bits.to_bytes(width, "little")
    if is_splat:
        del content[width:]  # One element stands for all.
    return DenseIntOrFPElementsAttr(value.type, BytesAttr(bytes(content)))
