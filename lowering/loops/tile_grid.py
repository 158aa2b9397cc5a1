"""
The results of a convolution or matrix product as a grid of register tiles: panels of weights, blocks of tiles, and
how threads share them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely, smaller
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


NARROW = (4, 2, 1)
"""The columns of narrow tiles where lengths of few are usual, as the rows of matrices."""
NARROW_IMAGES = (4, 1)
"""The same for images, which are seldom less than four pixels wide: each takes a kernel's time to compile."""
NARROW_ROWS = (1,)
"""The same for images as one row of pixels, of which there are more."""


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
    narrow: Sequence[int] = NARROW
    """The columns of tiles for lengths that are less than the columns of `tiling`, largest first, and 1 at last."""
    exists: int = 1
    """0 for a grid without tiles, another one having them, which may be known when the program runs only."""

    def alternatives(self) -> tuple["TileGrid", ...]:
        """
        The grids one of which has the tiles: this one; and where the width may be less than that of a tile, those with
        narrower tiles for such widths.
        """
        found: list[TileGrid] = []
        wider = 0
        narrower = [columns for columns in self.narrow if columns < self.tiling.columns]
        for columns in (self.tiling.columns, *narrower):
            fits = smaller(1, self.width // columns)
            if certainly(fits, 0):
                continue
            tiling = replace(self.tiling, columns=columns)
            found.append(replace(self, tiling=tiling, exists=fits - wider))
            if certainly(fits, 1):
                break
            wider = fits
        return tuple(found)

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

    @property
    def rows_of_tiles(self) -> int:
        """How many rows of tiles there are."""
        return blocks(self.height, self.tiling.rows)

    @property
    def columns_of_tiles(self) -> int:
        """How many tiles there are in a row."""
        return blocks(self.width, self.tiling.columns)

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return self.rows_of_tiles * self.columns_of_tiles * self.exists


def tiles_per_block(ctx: KernelContext, grid: TileGrid, panels: int) -> int:
    """So many that the blocks are of nearly equal size."""
    tiles = likely(grid.rows_of_tiles * grid.columns_of_tiles)
    everything = likely(grid.height * grid.width)
    positions = positions_per_block(
        ctx.target, grid.position_bytes, everything, grid.weight_bytes, again=grid.packed is None
    )
    count = max(1, positions // grid.tiling.positions) if positions < everything else tiles
    number = blocks(tiles, count)
    if ctx.team.size > 1:
        number = min(tiles, max(number, busy_blocks(ctx.team.size, prod(grid.batch) * panels)))
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
