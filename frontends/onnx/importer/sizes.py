"""How large tensors may be that the importer makes."""

from collections.abc import Sequence
from math import prod

from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import MOST_DIMENSIONS
from xrelay.frontends.onnx.errors import OnnxImportError

MAX_ELEMENTS = 2**40
"""Tensors with more elements are taken for mistakes, long before 64 bits overflow."""


def require_size(shape: Sequence[int], what: str) -> None:
    """
    Raises OnnxImportError for a shape with a product above MAX_ELEMENTS, in which lengths of 0 do not count,
    and for one of more dimensions than arrays have.
    """
    if prod(length for length in shape if not certainly(length, 0)) > MAX_ELEMENTS:
        raise OnnxImportError(
            f"{what} has the shape {list(shape)} with more than {MAX_ELEMENTS} elements"
        )
    if len(shape) > MOST_DIMENSIONS:
        raise OnnxImportError(
            f"{what} has {len(shape)} dimensions, arrays have at most {MOST_DIMENSIONS}"
        )


MAX_TABLE_BYTES = 2**28
"""The most bytes of a constant that the importer computes itself; those of the model may be larger."""


def require_table(shape: Sequence[int], what: str, itemsize: int = 8) -> None:
    """
    Raises OnnxImportError when a constant that the importer is about to compute would take more than
    MAX_TABLE_BYTES.
    """
    needed = prod(shape) * itemsize
    if needed > MAX_TABLE_BYTES:
        raise OnnxImportError(
            f"{what} has the shape {list(shape)} and takes {needed} bytes, the limit for constants "
            f"that importing computes is {MAX_TABLE_BYTES}"
        )
