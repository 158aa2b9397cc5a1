"""Dense attributes as constants keep them: equal elements are equal attributes."""

from typing import TypeAlias, TypeGuard

from xdsl.dialects.builtin import AnyDenseElement, AnyFloat, BytesAttr, DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute

Dense: TypeAlias = DenseIntOrFPElementsAttr[AnyDenseElement]

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


def is_written_exactly(value: Dense) -> bool:
    """
    Whether the numbers that xDSL prints have the bits of the elements: it makes signalling NaNs quiet,
    and takes 0 and -0 for one number that fills the tensor.
    """
    dtype, count = value.get_element_type(), len(value)
    if not isinstance(dtype, AnyFloat) or not count:
        return True
    numbers = dtype.unpack(value.data.data, count)
    return dtype.pack(numbers) == value.data.data and (count == 1 or not value.is_splat())
