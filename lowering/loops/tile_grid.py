"""
The results of a convolution or matrix product as a grid of register tiles: panels of weights, blocks of tiles, and
how threads share them.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, larger, likely, smaller
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.loops.tiling import (
    TASKS_PER_THREAD,
    Tiling,
    busy_blocks,
    panel_parts,
    positions_per_block,
)

Place: TypeAlias = Sequence[Index]
"""Coordinates in the batch, and the number of a panel."""


@dataclass(frozen=True)
class Narrow:
    """The columns of narrow tiles for what whole ones leave of a row."""

    most: int
    share: int
    """They have the columns of a whole tile divided by this, rounded up, where that is less."""
    single: bool = False
    """Whether a row of one column has a tile of its own: it reads the weights once, at the speed of memory."""

    def columns(self, whole: int) -> int:
        """Those beside whole tiles of so many."""
        return min(self.most, blocks(whole, self.share))


NARROW = Narrow(4, 2, single=True)
"""Those of matrices: each tile reads all weights."""
NARROW_IMAGES = Narrow(3, 3)
"""Those of images, whose weights stay near: more columns take longer to compile."""


@dataclass(frozen=True)
class PackedWeights:
    """Weights in memory that tiles do not read as they are."""

    kind: Element
    address: Callable[[Place, Index], SSAValue]
    """Of a part of the depth of a panel."""


@dataclass(frozen=True)
class PanelRange:
    """Panels of the same shape, one after the other."""

    first: int
    """The number of the first."""
    count: int
    widths: list[int]
    """The lanes that count in each of their vectors."""
    rest: int = 0
    """The columns that count where it is not known before the program runs how many do; 0 for all of `widths`."""


@dataclass(frozen=True)
class TileGrid:
    """The results of one kernel as a grid of tiles."""

    batch: tuple[int, ...]
    height: int
    width: int
    tiling: Tiling
    vectors: int
    """Vectors of output channels."""
    position_bytes: int
    """What one position reads of the image."""
    weight_bytes: int
    depth_parts: int = 1
    """Into how many parts the depth is cut."""
    part_elements: int = 0
    """Elements from the weights of one part of a panel to those of the next; 0 when the weights are
    not packed."""
    round_elements: int = 0
    """Elements of the weights in a round of the innermost loop."""
    last_lanes: int = 0
    """Lanes that count in the last vector of output channels; 0 for all."""
    columns: int = 0
    """Elements in a row of the result. Where they are open, the last panel may end before its end."""
    packed: PackedWeights | None = None
    """What the weights that tiles read are made of, panel by panel; None where it is these that are packed."""
    narrow: Narrow | None = NARROW
    """
    The narrow tiles for what whole ones leave of a row whose width is not known. In rows that are narrower still they repeat
    the last column. None for code whose tiles may have any number of columns up to those of the tiling.
    """
    repeats: bool = False
    """Whether these are the narrow tiles."""
    is_single: bool = False
    """Whether they are those of rows of one column."""

    @cached_property
    def narrow_grid(self) -> "TileGrid | None":
        """The narrow tiles beside those of this grid; None where there are none, as its tiles overlap at the end of a row."""
        columns = self.tiling.columns
        if self.repeats or not self.narrow or certainly(self.width % columns, 0):
            return None
        if certainly(smaller(1, self.width // columns), 1):
            return None
        tiling = replace(self.tiling, columns=self.narrow.columns(columns))
        return replace(self, tiling=tiling, repeats=True)

    @cached_property
    def single_grid(self) -> "TileGrid | None":
        """The tiles of rows of one column beside these narrow ones."""
        if not self.narrow or not self.narrow.single or not self.repeats or self.is_single:
            return None
        if self.tiling.columns == 1 or certainly(smaller(2, self.width), 2):
            return None
        return replace(self, tiling=replace(self.tiling, columns=1), is_single=True)

    @cached_property
    def tile_width(self) -> int:
        """The columns of a tile that is not narrow: where tiles may have any number, equal shares of a row."""
        if self.narrow or not is_open(self.width):
            return self.tiling.columns
        return blocks(self.width, blocks(self.width, self.tiling.columns))

    @property
    def tile_columns(self) -> Sequence[int]:
        """Which columns a tile has, counted from its first; the last one again and again for those that it does not have."""
        columns = range(self.tiling.columns)
        if self.repeats:
            return [smaller(each, self.width - 1) for each in columns]
        if is_open(self.tile_width):
            return [smaller(each, self.tile_width - 1) for each in columns]
        return columns

    @property
    def different_columns(self) -> int:
        """How many of these are different: the first ones."""
        return smaller(self.tiling.columns, self.width) if self.repeats else self.tile_width

    @cached_property
    def whole_tiles(self) -> int:
        """How many tiles of a row are not narrow."""
        whole = self.width // self.tiling.columns
        return (
            whole + self._overlaps if self.narrow_grid else blocks(self.width, self.tiling.columns)
        )

    @property
    def _overlaps(self) -> int:
        """
        1 where the last tile of a row is a whole one that overlaps with the one before, as more is left than narrow ones
        have; else 0.
        """
        assert self.narrow_grid is not None
        whole, rest = divmod(self.width, self.tiling.columns)
        return smaller(smaller(1, whole), larger(0, rest - self.narrow_grid.tiling.columns))

    def column(self, b: KernelBuilder, number: Index) -> Index:
        """The first column of a tile in a row."""
        columns = self.tiling.columns
        if self.narrow_grid is None:
            return b.smaller(b.mul(number, self.tile_width), self.width - self.tile_width)
        least = self.narrow_grid.tiling.columns
        # Up to the first narrow tile the first of the two is less, behind it the second.
        behind = b.add(b.mul(number, least), self.width // columns * (columns - least))
        last = larger(0, self.width - least) - self._overlaps * (columns - least)
        return b.smaller(b.smaller(b.mul(number, columns), behind), last)

    def by_kind(self, b: KernelBuilder, number: Index, code: Callable[["TileGrid"], None]) -> None:
        """Runs code for a tile of a row: that for the grid that has tiles like it."""
        narrow = self.narrow_grid
        if narrow is None:
            code(self)
            return
        is_narrow = b.compare_index(number, "sge", self.whole_tiles)
        with b.when(b.negate(is_narrow)):
            code(self)
        with b.when(is_narrow):
            code(narrow)

    def by_width(self, b: KernelBuilder, code: Callable[["TileGrid"], None]) -> None:
        """Runs code for a tile like those of this grid: that for rows of one column where it is the only one of its row."""
        single = self.single_grid
        if single is None:
            code(self)
            return
        is_single = b.compare_index(self.width, "eq", 1)
        with b.when(is_single):
            code(single)
        with b.when(b.negate(is_single)):
            code(self)

    def parts(self, lanes: int) -> Iterator[PanelRange]:
        """The panels, those of the same shape together."""
        if is_open(self.columns):
            full = [lanes] * self.tiling.vectors
            whole, rest = divmod(self.columns, lanes * self.tiling.vectors)
            yield PanelRange(0, whole, full)
            if not certainly(rest, 0):
                yield PanelRange(whole, smaller(rest, 1), full, rest)
            return
        for first, panels, vectors in panel_parts(self.vectors, self.tiling.vectors):
            full = [lanes] * vectors
            if self.last_lanes and first * self.tiling.vectors + panels * vectors == self.vectors:
                if panels > 1:
                    yield PanelRange(first, panels - 1, full)
                yield PanelRange(first + panels - 1, 1, [*full[:-1], self.last_lanes])
            else:
                yield PanelRange(first, panels, full)

    def lines_ahead(self, b: KernelBuilder, line: int, tiles: Index) -> Index:
        """
        How many lines of so many elements a tile asks for in a round, of the weights that come next: all that a round reads,
        in equal shares of the tiles of a block.
        """
        return b.div(b.add(tiles, blocks(self.round_elements, line) - 1), tiles)

    @property
    def rows_of_tiles(self) -> int:
        """How many rows of tiles there are."""
        return blocks(self.height, self.tiling.rows)

    @cached_property
    def columns_of_tiles(self) -> int:
        """How many tiles there are in a row."""
        if self.narrow_grid is None:
            return self.whole_tiles
        narrow = blocks(self.width % self.tiling.columns, self.narrow_grid.tiling.columns)
        return self.whole_tiles + narrow * (1 - self._overlaps)

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return self.rows_of_tiles * self.columns_of_tiles


def tiles_per_block(ctx: KernelContext, grid: TileGrid, panels: int) -> int:
    """
    So many that the blocks are of nearly equal size. Where it is not known how many tiles there are, as many as should be in
    one: later calls may have more than the first.
    """
    # What lengths are likely to be may be beyond those that the program serves.
    tiles = max(1, likely(grid.rows_of_tiles * grid.columns_of_tiles))
    everything = likely(grid.height * grid.width)
    fitting = positions_per_block(
        ctx.target, grid.position_bytes, sys.maxsize, grid.weight_bytes, again=grid.packed is None
    )
    count = max(1, fitting // grid.tiling.positions) if fitting < everything else tiles
    number = blocks(tiles, count)
    if ctx.team.size > 1:
        number = min(tiles, max(number, busy_blocks(ctx.team.size, prod(grid.batch) * panels)))
    if number == 1 and is_open(grid.tiles):
        return max(tiles, fitting // grid.tiling.positions)
    return blocks(tiles, number)


def panels_per_task(
    ctx: KernelContext, grid: TileGrid, panels: PanelRange, count: int, gathers: bool
) -> int:
    """
    How many panels of a block of `count` tiles a task has whose sums are in memory: the last tile of a task has none
    beside which it is handed over. What is gathered is gathered for all of them, if that leaves work for all threads.
    """
    shares = likely(prod(grid.batch) * blocks(grid.tiles, count))
    if gathers:
        return blocks(panels.count, ctx.team.size) if shares < ctx.team.size else panels.count
    wanted = ctx.team.size * TASKS_PER_THREAD if ctx.team.size > 1 else 1
    return max(1, blocks(likely(panels.count), blocks(wanted, max(1, shares))))
