"""
The loops around the register tiles of convolutions and matrix products.

    for batch, block of tiles, panel of output channels:      # the threads share these
        for tile of the block:
            compute the tile, hand it to the sink

A block holds as many positions as fit into the cache that suits; with more than one thread it is
made smaller until all threads have work. Where the depth is cut into parts, because a panel of the
whole depth would not stay in the cache, the sums wait in memory:

        sums of the block = 0
        for part of the depth, tile of the block:
            add the part to the sums of the tile
        for tile of the block:
            hand it to the sink
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import Index, KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, Prefetch
from xrelay.lowering.loops.tiling import Tiling, panel_parts, positions_per_block

Place: TypeAlias = Sequence[Index]
"""Coordinates in the batch, and the number of a panel."""


@dataclass(frozen=True)
class TileAt:
    """A tile that is to be computed."""

    place: Place
    y: Index
    x: Index
    """Its first position."""
    part: Index
    """The part of the depth."""
    prefetch: Prefetch | None
    """What to bring near meanwhile."""


TileCode: TypeAlias = Callable[[TileAt, Sequence[SSAValue]], Sequence[SSAValue]]
"""Adds a part of the depth to the registers of a tile, position by position; there are as many for
each position as the tile has vectors."""

PlaceOf: TypeAlias = Callable[[Place, Index, Index, Index, int], Position]
"""Where the result for position (y, x) and a number of lanes of a vector of channels lies."""

Range: TypeAlias = tuple[Index, Index]
"""From a number up to another."""

Widths: TypeAlias = Sequence[int]
"""The lanes that count in each vector of a panel."""

STREAM_AHEAD_BYTES = 8192
"""How far before their use weights that are used once are asked for."""

TASKS_PER_THREAD = 8
"""So many tasks keep the shares of the threads nearly equal."""


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

    def parts(self, lanes: int) -> Iterator[tuple[int, int, list[int]]]:
        """
        The panels of the same shape: the number of the first, how many there are, and the lanes
        that count in each of their vectors.
        """
        for first, panels, vectors in panel_parts(self.vectors, self.tiling.vectors):
            full = [lanes] * vectors
            if self.last_lanes and first * self.tiling.vectors + panels * vectors == self.vectors:
                if panels > 1:
                    yield first, panels - 1, full
                yield first + panels - 1, 1, [*full[:-1], self.last_lanes]
            else:
                yield first, panels, full

    @property
    def rows_of_tiles(self) -> int:
        """How many rows of tiles there are."""
        return blocks(self.height, self.tiling.rows)

    @property
    def columns_of_tiles(self) -> int:
        """How many tiles there are in a row."""
        return blocks(self.width, self.tiling.columns)


def _tiles_per_block(ctx: KernelContext, grid: TileGrid, panels: int) -> int:
    """So many that the blocks are of nearly equal size."""
    tiles = grid.rows_of_tiles * grid.columns_of_tiles
    everything = grid.height * grid.width
    positions = positions_per_block(ctx.target, grid.position_bytes, everything, grid.weight_bytes)
    count = max(1, positions // grid.tiling.positions) if positions < everything else tiles
    number = blocks(tiles, count)
    if ctx.team.size > 1:
        wanted = ctx.team.size * TASKS_PER_THREAD
        number = min(tiles, max(number, blocks(wanted, prod(grid.batch) * panels)))
    return blocks(tiles, number)


def emit_tiles(
    ctx: KernelContext,
    grid: TileGrid,
    kind: Element,
    lanes: int,
    tile: TileCode,
    place_of: PlaceOf,
    sink: Sink,
) -> None:
    """Emits the loops. Tiles at the end of a row or column overlap with the ones before."""
    b, tiling = ctx.b, grid.tiling
    tiles, across = grid.rows_of_tiles * grid.columns_of_tiles, grid.columns_of_tiles
    offsets = [(row, column) for row in range(tiling.rows) for column in range(tiling.columns)]

    zero = b.constant(kind.compute, 0, lanes)

    def hand_over(
        place: Place, where: tuple[Index, Index], v: int, widths: Sequence[int], value: SSAValue
    ) -> None:
        vector = b.add(b.mul(place[-1], tiling.vectors), v)
        sink(place_of(place, *where, vector, widths[v]), b.first_lanes(value, widths[v]))

    def sums_of(kept: Buffer, coords: Sequence[Index], widths: Sequence[int]) -> Iterator[Index]:
        for row, column in offsets:
            for v in range(len(widths)):
                yield kept.offset(b, at(kept.shape, (*coords, row, column, v, 0), lanes))

    def finish(
        kept: Buffer,
        coords: Sequence[Index],
        place: Place,
        y: Index,
        x: Index,
        widths: Sequence[int],
    ) -> None:
        """Hands over a tile whose sums are in memory."""

        def position(indices: tuple[Index, ...]) -> None:
            row, column = indices
            for v in range(len(widths)):
                source = kept.offset(b, at(kept.shape, (*coords, row, column, v, 0), lanes))
                value = b.load(kept.pointer, source, kind, lanes)
                hand_over(place, (b.add(y, row), b.add(x, column)), v, widths, value)

        b.loop_nest((tiling.rows, tiling.columns), position)

    def corner(i: Index) -> tuple[Index, Index]:
        """The first position of a tile."""
        y = b.smaller(b.mul(b.div(i, across), tiling.rows), grid.height - tiling.rows)
        x = b.smaller(b.mul(b.mod(i, across), tiling.columns), grid.width - tiling.columns)
        return y, x

    def ahead(i: Index, count: int) -> Prefetch | None:
        """
        The share of a tile, one of `count`, in the lines of the weights that come next. After the
        last panel these are the weights of the next step.
        """
        if not grid.part_elements or grid.weight_bytes <= ctx.target.l2_bytes // 2:
            return None
        line = LINE_BYTES // kind.bytes
        lines = blocks(blocks(grid.round_elements, line), count)
        if count == 1:
            # Every panel is read once: what counts is not to wait at the end of a page.
            return Prefetch(STREAM_AHEAD_BYTES // kind.bytes, lines)
        panel = grid.part_elements * grid.depth_parts
        return Prefetch(b.add(b.mul(i, lines * line), panel), lines)

    def whole_tile(place: Place, i: Index, count: int, widths: Sequence[int]) -> None:
        y, x = corner(i)
        totals = tile(
            TileAt(place, y, x, 0, ahead(i, count)), [zero] * (len(offsets) * len(widths))
        )
        if not ctx.heavy_epilogue:
            for number, total in enumerate(totals):
                row, column = offsets[number // len(widths)]
                where = b.add(y, row), b.add(x, column)
                hand_over(place, where, number % len(widths), widths, total)
            return
        kept = ctx.private_scratch(kind, row_major((1, *tile_shape(widths))))
        for where, total in zip(sums_of(kept, (0,), widths), totals, strict=True):
            b.store(kept.pointer, where, kind, total)
        finish(kept, (0,), place, y, x, widths)

    def tile_shape(widths: Sequence[int]) -> tuple[int, ...]:
        return tiling.rows, tiling.columns, len(widths), lanes

    def parted_tiles(
        batch: Sequence[Index], tile_range: Range, panel_range: Range, kept: Buffer, widths: Widths
    ) -> None:
        """A block of tiles for a range of panels, with the sums in memory between the parts."""
        first_tile, first_panel = tile_range[0], panel_range[0]

        def each(body: Callable[[Index, Index, tuple[Index, Index]], None]) -> None:
            with b.loop(*panel_range) as panel, b.loop(*tile_range) as i:
                body(panel, i, (b.sub(panel, first_panel), b.sub(i, first_tile)))

        def clear(panel: Index, i: Index, slot: tuple[Index, Index]) -> None:
            for where in sums_of(kept, slot, widths):
                b.store(kept.pointer, where, kind, zero)

        def finish_tile(panel: Index, i: Index, slot: tuple[Index, Index]) -> None:
            finish(kept, slot, (*batch, panel), *corner(i), widths)

        each(clear)
        with b.loop(0, grid.depth_parts) as part:

            def add_part(panel: Index, i: Index, slot: tuple[Index, Index]) -> None:
                places = list(sums_of(kept, slot, widths))
                totals = [b.load(kept.pointer, where, kind, lanes) for where in places]
                at_tile = TileAt((*batch, panel), *corner(i), part, ahead(slot[1], kept.shape[1]))
                for where, total in zip(places, tile(at_tile, totals), strict=True):
                    b.store(kept.pointer, where, kind, total)

            each(add_part)
        each(finish_tile)

    for first, panels, widths in grid.parts(lanes):
        count = _tiles_per_block(ctx, grid, panels)
        # With parts of the depth, a task has all panels that one thread computes.
        together = blocks(panels, ctx.team.size) if grid.depth_parts > 1 else 1

        def task(
            indices: tuple[Index, ...],
            first: int = first,
            panels: int = panels,
            widths: Widths = widths,
            count: int = count,
            together: int = together,
        ) -> None:
            *batch, block, group = indices
            tile_range = _range(b, block, count, tiles)
            low, high = _range(b, group, together, panels)
            if grid.depth_parts > 1:
                kept = ctx.private_scratch(kind, row_major((together, count, *tile_shape(widths))))
                panel_range = b.add(low, first), b.add(high, first)
                parted_tiles(batch, tile_range, panel_range, kept, widths)
                return
            with b.loop(*tile_range) as i:
                whole_tile((*batch, b.add(low, first)), i, count, widths)

        ctx.tasks((*grid.batch, blocks(tiles, count), blocks(panels, together)), task)


def _range(b: KernelBuilder, block: Index, size: int, length: int) -> Range:
    """The numbers below `length` in a block of `size`."""
    start = b.mul(block, size)
    stop = b.add(start, size)
    return start, b.smaller(stop, length) if length % size else stop
