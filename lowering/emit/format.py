"""
How a tensor lies in memory.

Most tensors are row-major without gaps. A tensor that a sliding window reads can have a *halo*:
rows and columns of zeros around every image, kept in memory, so that the window needs no bounds
checks and no padded copy of the image. A matrix whose rows are a multiple of a page apart can have
a gap after each row, because else a column of it falls into one set of the first-level cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xrelay.dialects.lengths import certainly
from xrelay.lowering.emit.position import Position

Halo = tuple[int, int, int, int]
"""Rows above, columns left, rows below, columns right."""

NO_HALO: Halo = (0, 0, 0, 0)


@dataclass(frozen=True)
class Format:
    """The place of every element of a tensor of a shape, counted in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """From one element to the next along each axis; 1 for the last."""
    before: int = 0
    """Elements of memory before the element at the origin."""
    size: int = 0
    """Elements of memory in all."""
    halo: Halo = NO_HALO
    """Zeros around the axes 2 and 3."""

    @property
    def dense_axes(self) -> int:
        """How many of the last axes lie without gaps, so that they can be run through as one."""
        expected, count = 1, 0
        for dim, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if not certainly(dim, 1) and not certainly(stride, expected):
                break
            expected *= dim
            count += 1
        return count

    def holds_in_order(self, position: Position) -> bool:
        """Whether the lanes of a position are neighbours in memory."""
        return position.in_row or self.dense_axes >= position.span


def row_major(shape: Sequence[int]) -> Format:
    """Without gaps, the last axis running fastest."""
    strides: list[int] = []
    step = 1
    for dim in reversed(shape):
        strides.append(step)
        step *= dim
    return Format(tuple(shape), tuple(reversed(strides)), 0, prod(shape))


def with_halo(shape: Sequence[int], halo: Halo) -> Format:
    """Images on the axes 2 and 3 of a tensor of at least four axes, with zeros around each."""
    top, left, bottom, right = halo
    height, width = shape[2] + top + bottom, shape[3] + left + right
    padded = row_major((*shape[:2], height, width, *shape[4:]))
    before = top * padded.strides[2] + left * padded.strides[3]
    return Format(tuple(shape), padded.strides, before, padded.size, halo)


def with_row_gap(shape: Sequence[int], gap: int) -> Format:
    """Rows along the last axis with `gap` unused elements after each."""
    padded = row_major((*shape[:-1], shape[-1] + gap))
    return Format(tuple(shape), padded.strides, 0, padded.size)


@dataclass(frozen=True)
class Spacing:
    """What the readers of a tensor want between its elements."""

    halo: Halo = NO_HALO
    """Zeros around the images on the axes 2 and 3."""
    row_gap: int = 0
    """Unused elements after each row along the last axis."""

    def __or__(self, other: "Spacing") -> "Spacing":
        top, left, bottom, right = map(max, self.halo, other.halo)
        return Spacing((top, left, bottom, right), max(self.row_gap, other.row_gap))

    def format(self, shape: Sequence[int]) -> Format:
        """A tensor of a shape with this between its elements."""
        if self.halo != NO_HALO:
            return with_halo(shape, self.halo)
        return with_row_gap(shape, self.row_gap) if self.row_gap else row_major(shape)


NO_SPACING = Spacing()
