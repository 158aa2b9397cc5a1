"""Which elements of a tensor are asked for at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xrelay.dialects.lengths import certainly
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import Index

Coords: TypeAlias = tuple[Index, ...]
"""One index for each axis."""


@dataclass(frozen=True)
class Rows:
    """
    What the rows along the last axis of a tensor are made of, where not all neighbours come from
    neighbours: some stretches, in each of which they do, one after the other, so many times.
    """

    lengths: tuple[int, ...]
    repeats: int = 1


@dataclass(frozen=True)
class Position:
    """
    `lanes` consecutive elements of a tensor of shape `shape`.

    The last `span` axes are seen as one: lane i is the element at offset `inner` + i in them, and
    `outer` are the coordinates on the axes before, which all lanes share. With span 1 the lanes
    lie in one row; with span = rank, `inner` is the row-major offset in the whole tensor.
    """

    shape: tuple[int, ...]
    outer: tuple[Index, ...]
    inner: Index
    lanes: int = 1
    in_one_row: bool = False
    """Whether the lanes are known to lie along the last axis alone, although the span is wider."""

    @property
    def span(self) -> int:
        """How many of the last axes the lanes run over."""
        return len(self.shape) - len(self.outer)

    @property
    def in_row(self) -> bool:
        """Whether all lanes are known to lie along the last axis alone."""
        if self.lanes == 1 or self.span <= 1 or self.in_one_row:
            return True
        return certainly(prod(self.shape[len(self.outer) : -1]), 1)

    def coords(self, b: KernelBuilder) -> tuple[Index, ...]:
        """The coordinates of lane 0."""
        return (*self.outer, *b.unflatten(self.inner, self.shape[len(self.outer) :]))

    def offset(self, b: KernelBuilder) -> Index:
        """The row-major offset of lane 0 in the tensor."""
        size = prod(self.shape[len(self.outer) :])
        outer = b.flatten(self.outer, self.shape[: len(self.outer)])
        return b.add(b.mul(outer, size), self.inner)

    def lane(self, b: KernelBuilder, i: Index) -> "Position":
        """Lane i alone."""
        return Position(self.shape, self.outer, b.add(self.inner, i))


def at(shape: Sequence[int], coords: Sequence[Index], lanes: int = 1) -> Position:
    """The elements from `coords` on along the last axis."""
    if not shape:
        return Position((), (), 0)
    return Position(tuple(shape), tuple(coords[:-1]), coords[-1], lanes)


def linear(shape: Sequence[int], offset: Index, lanes: int = 1) -> Position:
    """The elements from a row-major offset on."""
    return Position(tuple(shape), (), offset if shape else 0, lanes)
