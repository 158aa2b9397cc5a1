"""
The loops around the register tiles of convolutions and matrix products.

Where it is not known how long a row is, narrow tiles compute what whole ones leave of it (`tile_grid.py`), or tiles have
equal shares of it.

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

Where sums leave registers that other code does not know, those of one tile are handed over while those of the next are
computed: the units for products and those for vectors both have work. A task has as many panels as leave tasks for all
threads.

        for panel of the task, tile of the block:
            for round of products of the tile:
                multiply, and hand over a share of the tile before
        hand over the last tile

Where the positions of a block are gathered, a task has all panels, or the share of a thread if there are fewer blocks
than threads:

        for tile of the block:
            gather what its positions read
        for panel, tile of the block:
            compute the tile, hand it to the sink
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.dots import Operands
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, Prefetch
from xrelay.lowering.loops.tile_code import (
    Gather,
    PlaceOf,
    PrepareCode,
    StartCode,
    SumsInMemory,
    TileAt,
    TileCode,
)
from xrelay.lowering.loops.tile_grid import (
    PanelRange,
    Place,
    TileGrid,
    panels_per_task,
    tiles_per_block,
)
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.joined_stores import TOGETHER, joined_stores, joins_stores

Range: TypeAlias = tuple[Index, Index]
"""From a number up to another."""

STREAM_AHEAD_BYTES = 8192
"""How far before their use weights that are used once are asked for."""
FEW_POSITIONS = range(2, 8)
"""
Tiles alone of so many positions do not ask for weights: what processors foresee by themselves comes in time, and up to 1.6 times as
fast (measured on Zen 4). One position waits at the ends of pages, and many take longer than what is foreseen stays.
"""
DEEP_BYTES = 256
"""So long are the weights of a channel where it takes no time to speak of that sums go through memory."""
RARE = 8
"""In rows of unknown length, tiles are rare whose panels are so small a part of all."""


def emit_tiles(
    ctx: KernelContext,
    grid: TileGrid,
    dot: Operands,
    lanes: int,
    tile: TileCode | SumsInMemory,
    place_of: PlaceOf,
    sink: Sink,
    start: StartCode | None = None,
    prepare: PrepareCode | None = None,
) -> None:
    """
    Emits the loops. Tiles at the end of a row or column overlap with the ones before, or are narrow ones. Sums begin with 0,
    or as `start` says; `prepare` is run before the tiles of each panel and part.
    """
    zero = ctx.b.constant(dot.total.compute, 0, lanes)

    def zeros(_: Place, vectors: int) -> Sequence[SSAValue]:
        return [zero] * vectors

    if isinstance(tile, SumsInMemory):
        # The rows of their registers are all at the same distance.
        grid = replace(grid, narrow=None)
    gather = tile.gather if isinstance(tile, SumsInMemory) else None
    all_panels = sum(likely(panels.count) for panels in grid.parts(lanes))
    for panels in grid.parts(lanes):
        count = tiles_per_block(ctx, grid, panels.count if gather is None else 1)
        if isinstance(tile, SumsInMemory):
            assert prepare is None, "a task has several panels"
            together = panels_per_task(ctx, grid, panels, count, gather is not None)
        else:
            # With parts of the depth, a task has all panels that one thread computes.
            together = blocks(panels.count, ctx.team.size) if grid.depth_parts > 1 else 1
        code = _Tiles(
            ctx, grid, dot, lanes, tile, place_of, sink, start or zeros, prepare or (lambda place, part: None), panels, count,
            together, panels_are_rare=is_open(grid.tiles) and likely(panels.count) * RARE <= all_panels,
        )  # fmt: skip
        rounds = (*grid.batch, blocks(grid.tiles, count), blocks(panels.count, together))
        ctx.tasks(rounds, code.run)


@dataclass(frozen=True)
class _Tiles:
    """The code of the tiles of panels of one shape."""

    ctx: KernelContext
    grid: TileGrid
    dot: Operands
    lanes: int
    tile: TileCode | SumsInMemory
    place_of: PlaceOf
    sink: Sink
    start: StartCode
    prepare: PrepareCode
    panels: PanelRange
    count: int
    """The tiles of a block."""
    together: int
    """The panels of a task."""
    panels_are_rare: bool
    """Whether other panels have nearly all tiles."""

    @property
    def b(self) -> KernelBuilder:
        """Where the code goes."""
        return self.ctx.b

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the sums of a tile in memory."""
        tiling = self.grid.tiling
        return tiling.rows, tiling.columns, len(self.panels.widths), self.lanes

    def run(self, indices: tuple[Index, ...]) -> None:
        """A task: a block of tiles for a range of panels."""
        b, tile, first = self.b, self.tile, self.panels.first
        *batch, block, group = indices
        tiles = b.part(block, self.count, self.grid.tiles)
        low, high = b.part(group, self.together, self.panels.count)
        panels = b.add(low, first), b.add(high, first)
        if self.grid.depth_parts > 1:
            self.in_parts(batch, tiles, panels)
        elif isinstance(tile, SumsInMemory):
            gather = tile.gather
            windows = None if gather is None else self.gathered(gather, (*batch, panels[0]), tiles)
            with tile.task(self.grid.tiling, self.grid.tile_width):
                self.overlapping(tile, batch, tiles, panels, windows)
        else:
            place = (*batch, panels[0])
            self.prepare(place, 0)
            with b.loop(*tiles) as i:
                self.whole(place, i, tiles)

    def gathered(self, gather: Gather, place: Place, tiles: Range) -> Callable[[Index], SSAValue]:
        """Gathers what the positions of a block of tiles read: where that of each tile lies."""
        b, tiling = self.b, self.grid.tiling
        size = gather.elements(tiling)
        memory = self.ctx.private_scratch(gather.kind, row_major((self.count, size)))

        def windows(i: Index) -> SSAValue:
            return b.address(memory.pointer, b.mul(b.sub(i, tiles[0]), size), gather.kind.storage)

        with b.loop(*tiles) as i:
            columns, width = self.grid.tile_columns, self.grid.tile_width
            corner = self._corner(i)
            where = TileAt(
                place, *corner, 0, None, tiling, columns, windows=windows(i), width=width
            )
            gather.write(where)
        return windows

    def overlapping(
        self,
        tile: SumsInMemory,
        batch: Sequence[Index],
        tiles: Range,
        panels: Range,
        windows: Callable[[Index], SSAValue] | None,
    ) -> None:
        """A block of tiles for a range of panels: each is handed over while the next is computed."""
        b, tiling, width = self.b, self.grid.tiling, self.grid.tile_width
        kept = self._kept_tile()
        # Tiles with any number of columns have one row.
        positions = width if is_open(width) else tiling.positions
        together = self._together(width)
        with b.loop(*panels) as panel, b.loop(*tiles) as i:
            is_first = b.compare_index(i, "eq", tiles[0])
            index = b.select(is_first, b.index(b.sub(tiles[1], 1)), b.index(b.sub(i, 1)))
            place = b.select(is_first, b.index(b.sub(panel, 1)), b.index(panel))
            corner = self._corner(index)
            is_there = b.either(
                b.compare_index(i, "ne", tiles[0]), b.compare_index(panel, "ne", panels[0])
            )
            count = b.select(is_there, b.index(positions), b.index(0))

            def hand_over(
                number: Index,
                rounds: int,
                place: Place = (*batch, place),
                corner: tuple[Index, Index] = corner,
                count: Index = count,
            ) -> None:
                share = blocks(blocks(tiling.positions, together), rounds) * together
                start = b.mul(number, share)
                stop = b.smaller(b.add(start, share), count)

                def finish(first: Index, size: int) -> None:
                    row, column = b.div(first, tiling.columns), b.mod(first, tiling.columns)
                    self._finish_positions(kept, (0,), place, *corner, row, column, size)

                self._together_or_alone(start, stop, together, width, finish)

            where = TileAt(
                (*batch, panel),
                *self._corner(i),
                0,
                self._ahead((*batch, panel), 0, i, tiles),
                tiling,
                range(tiling.columns),
                windows=None if windows is None else windows(i),
                width=width,
            )
            tile.compute(where, len(self.panels.widths), kept.pointer, hand_over)
        last = b.sub(tiles[1], 1)
        place = *batch, b.sub(panels[1], 1)
        self._finish(kept, (0,), place, *self._corner(last), width)

    def whole(self, place: Place, i: Index, tiles: Range) -> None:
        """Computes tile i of a block over the whole depth, and hands it over."""
        b, grid = self.b, self.grid
        corner, ahead = self._corner(i), self._ahead(place, 0, i, tiles)

        def sums(grid: TileGrid) -> Sequence[SSAValue]:
            assert not isinstance(self.tile, SumsInMemory), "these are handed over later"
            first = list(self.start(place, len(self.panels.widths))) * grid.tiling.positions
            columns, near = grid.tile_columns, self._near(grid, place, 0, ahead)
            where = TileAt(place, *corner, 0, near, grid.tiling, columns, self._is_rare(grid))
            return self.tile(where, first)

        def keep(grid: TileGrid) -> None:
            grid.by_width(b, lambda grid: self._keep(grid, kept, (0,), sums(grid)))

        is_alone = grid.narrow_grid is None
        if is_alone and not self._waits:
            self._hand_over(grid, place, corner, sums(grid))
            return
        kept = self._kept_tile()
        number = 0 if is_alone else self._number(i)
        if self._waits and (is_alone or self._together(grid.different_columns) == 1):
            grid.by_kind(b, number, keep)
            self._finish(kept, (0,), place, *corner, self._different_columns(i))
            return

        def each(grid: TileGrid) -> None:
            if self._waits or grid.repeats:
                keep(grid)
                self._finish(kept, (0,), place, *corner, grid.different_columns)
            else:
                self._hand_over(grid, place, corner, sums(grid))

        grid.by_kind(b, number, each)

    @property
    def _waits(self) -> bool:
        """
        Whether the sums of all tiles wait in memory: where code would be long that takes them out of registers, and
        where that takes no time to speak of, as tiles are deep, and whole and narrow ones can share what follows.
        """
        if self.ctx.heavy_epilogue or not certainly(self.panels.rest, 0):
            return True
        grid = self.grid
        depth = likely(grid.weight_bytes) // (max(likely(grid.vectors), 1) * self.lanes)
        return grid.narrow_grid is not None and depth >= DEEP_BYTES

    def _is_rare(self, grid: TileGrid) -> bool:
        """Whether there are few tiles of a grid for these panels."""
        return grid.repeats and not grid.is_single or self.panels_are_rare

    def _kept_tile(self) -> Buffer:
        """Memory of the thread for the sums of a tile."""
        return self.ctx.private_scratch(self.dot.total, row_major((1, *self.shape)))

    def _keep(
        self, grid: TileGrid, kept: Buffer, slot: Sequence[Index], sums: Sequence[SSAValue]
    ) -> None:
        """Writes the sums of a tile of a grid to memory."""
        for place, total in zip(self._sums(grid, kept, slot), sums, strict=True):
            self.b.store(place, 0, self.dot.total, total)

    def in_parts(self, batch: Sequence[Index], tiles: Range, panels: Range) -> None:
        """A block of tiles for a range of panels, with the sums in memory between the parts."""
        b, kind, tile = self.b, self.dot.total, self.tile
        format = row_major((self.together, self.count, *self.shape))
        kept = self.ctx.private_scratch(kind, format)
        assert not isinstance(tile, SumsInMemory), (
            "registers of sums hold them over the whole depth"
        )

        def each(
            body: Callable[[Index, Index, tuple[Index, Index]], None], part: Index | None = None
        ) -> None:
            with b.loop(*panels) as panel:
                if part is not None:
                    self.prepare((*batch, panel), part)
                with b.loop(*tiles) as i:
                    body(panel, i, (b.sub(panel, panels[0]), b.sub(i, tiles[0])))

        def clear(panel: Index, i: Index, slot: tuple[Index, Index]) -> None:
            first = self.start((*batch, panel), len(self.panels.widths))
            tiling = self.grid.tiling
            with b.loop(0, tiling.rows) as row, b.loop(0, tiling.columns) as column:
                for v, value in enumerate(first):
                    b.store(kept.pointer, self._sum(kept, (*slot, row, column, v)), kind, value)

        def finish(panel: Index, i: Index, slot: tuple[Index, Index]) -> None:
            columns = self._different_columns(i)
            self._finish(kept, slot, (*batch, panel), *self._corner(i), columns)

        each(clear)
        with b.loop(0, self.grid.depth_parts) as part:

            def add_part(panel: Index, i: Index, slot: tuple[Index, Index]) -> None:
                corner = self._corner(i)
                ahead = self._ahead((*batch, panel), part, i, tiles)

                def add(grid: TileGrid) -> None:
                    near = self._near(grid, (*batch, panel), part, ahead)
                    totals = [
                        b.load(place, 0, kind, self.lanes) for place in self._sums(grid, kept, slot)
                    ]
                    tiling, columns = grid.tiling, grid.tile_columns
                    is_rare = self._is_rare(grid)
                    where = TileAt((*batch, panel), *corner, part, near, tiling, columns, is_rare)
                    self._keep(grid, kept, slot, tile(where, totals))

                self.grid.by_kind(b, self._number(i), lambda grid: grid.by_width(b, add))

            each(add_part, part)
        each(finish)

    def _number(self, i: Index) -> Index:
        """The number of a tile in its row."""
        grid = self.grid
        if is_open(grid.columns_of_tiles) and certainly(grid.rows_of_tiles, 1):
            return i
        return self.b.mod(i, grid.columns_of_tiles)

    def _corner(self, i: Index) -> tuple[Index, Index]:
        """The first position of a tile."""
        b, grid = self.b, self.grid
        y: Index = 0
        if not (is_open(grid.columns_of_tiles) and certainly(grid.rows_of_tiles, 1)):
            y = b.mul(b.div(i, grid.columns_of_tiles), grid.tiling.rows)
            y = b.smaller(y, grid.height - grid.tiling.rows)
        return y, grid.column(b, self._number(i))

    def _different_columns(self, i: Index) -> Index:
        """How many columns of a tile are different."""
        b, grid, narrow = self.b, self.grid, self.grid.narrow_grid
        if narrow is None:
            return grid.different_columns
        is_whole = b.compare_index(self._number(i), "slt", grid.whole_tiles)
        return b.select(
            is_whole, b.index(grid.different_columns), b.index(narrow.different_columns)
        )

    def _ahead(self, place: Place, part: Index, i: Index, tiles: Range) -> Prefetch | None:
        """
        The share of tile i of a block in the lines of the weights that come next. After the last panel these are the
        weights of the next step.
        """
        b, grid = self.b, self.grid
        alone = self._stream(place, part)
        if alone is None or not is_open(grid.tiles) and self.count == 1:
            positions = grid.tiling.rows * grid.tiling.columns
            return None if self.ctx.weights_are_kept or positions in FEW_POSITIONS else alone
        # A program for many lengths may have any number of tiles in a block.
        count = b.sub(tiles[1], tiles[0]) if is_open(grid.tiles) else self.count
        line = LINE_BYTES // alone.stored.bytes
        share = grid.lines_ahead(b, line, count)
        number = b.mul(b.sub(i, tiles[0]), b.mul(share, line))
        distance = b.add(number, grid.part_elements * grid.depth_parts)
        if is_open(grid.tiles):
            is_alone = b.compare_index(count, "eq", 1)
            distance = b.select(is_alone, b.index(alone.distance), b.index(distance))
        return replace(alone, distance=distance, lines=share)

    def _near(
        self, grid: TileGrid, place: Place, part: Index, ahead: Prefetch | None
    ) -> Prefetch | None:
        """What a tile of a grid brings near, of which it is known that it is alone, or `ahead`."""
        if not grid.is_single:
            return ahead
        return None if self.ctx.weights_are_kept else self._stream(place, part)

    def _stream(self, place: Place, part: Index) -> Prefetch | None:
        """
        The lines that a tile asks for which is the only one of its block: where every panel is read once, what counts is not
        to wait at the end of a page.
        """
        grid, packed = self.grid, self.grid.packed
        if not grid.part_elements or grid.weight_bytes <= self.ctx.target.l2_bytes // 2:
            return None
        kind = self.dot.weight if packed is None else packed.kind
        first = None if packed is None else packed.address(place, part)
        lines = grid.lines_ahead(self.b, LINE_BYTES // kind.bytes, 1)
        return Prefetch(STREAM_AHEAD_BYTES // kind.bytes, lines, kind, first)

    def _sums(self, grid: TileGrid, kept: Buffer, slot: Sequence[Index]) -> Iterator[SSAValue]:
        """The addresses of the sums of a tile of a grid in memory, in the order of its registers."""
        tiling, storage = grid.tiling, self.dot.total.storage
        first = self.b.opaque(
            self.b.address(kept.pointer, self._sum(kept, (*slot, 0, 0, 0)), storage)
        )
        for row, column, v in product(
            range(tiling.rows), range(tiling.columns), range(len(self.panels.widths))
        ):
            place = *(0 for _ in slot), row, column, v
            yield self.b.address(first, self._sum(kept, place), storage)

    def _sum(self, kept: Buffer, vector: Sequence[Index]) -> Index:
        return kept.offset(self.b, at(kept.shape, (*vector, 0), self.lanes))

    def _finish(
        self,
        kept: Buffer,
        slot: Sequence[Index],
        place: Place,
        y: Index,
        x: Index,
        columns: Index,
    ) -> None:
        """Hands over so many columns of a tile whose sums are in memory."""
        together = self._together(columns)
        with self.b.loop(0, self.grid.tiling.rows) as row:

            def finish(column: Index, size: int) -> None:
                self._finish_positions(kept, slot, place, y, x, row, column, size)

            self._together_or_alone(0, columns, together, columns, finish)

    def _together_or_alone(
        self, start: Index, stop: Index, together: int, columns: Index, code: Callable[[Index, int], None]
    ) -> None:  # fmt: skip
        """
        Runs code for numbers of a range that begins with a multiple of `together`: for so many at once, and if that need not
        divide the columns of a tile, alone for each that is left.
        """
        b, even = self.b, stop
        if together > 1 and not (isinstance(columns, int) and certainly(columns % together, 0)):
            even = b.larger(start, b.sub(stop, b.mod(stop, together)))
            with b.loop(even, stop) as number:
                code(number, 1)
        with b.loop(start, even, together) as number:
            code(number, together)

    def _together(self, columns: Index) -> int:
        """Positions whose results are stored at once: neighbours in a row of a tile, which may have others beside."""
        joins = self.ctx.writes_bytes and joins_stores(self.ctx.target)
        divides = isinstance(columns, int) and certainly(columns % TOGETHER, 0)
        any_number = isinstance(self.tile, SumsInMemory) and is_open(self.grid.tile_width)
        return TOGETHER if joins and (divides or any_number) else 1

    def _finish_positions(
        self, kept: Buffer, slot: Sequence[Index], place: Place, y: Index, x: Index, row: Index, column: Index, together: int
    ) -> None:  # fmt: skip
        """Hands over as many positions as are stored at once, of a tile whose first one is (y, x)."""
        b = self.b
        with joined_stores(b) if together > 1 else nullcontext():
            for i in range(together):
                self._finish_position(
                    kept,
                    (*slot, row, b.add(column, i)),
                    place,
                    b.add(y, row),
                    b.add(x, b.add(column, i)),
                )

    def _finish_position(
        self, kept: Buffer, slot: Sequence[Index], place: Place, y: Index, x: Index
    ) -> None:
        """Hands over the position (y, x), whose sums are those of a slot."""
        b = self.b

        def vector(v: Index, width: int) -> None:
            value = b.load(kept.pointer, self._sum(kept, (*slot, v)), self.dot.total, width)
            self.sink(self._position(place, (y, x), v, width), value)

        if certainly(self.panels.rest, 0):
            for v, width in enumerate(self.panels.widths):
                vector(v, width)
            return
        # The columns that there are: whole vectors, then one by one.
        vectors, last = divmod(self.panels.rest, self.lanes)
        with b.loop(0, vectors) as v:
            vector(v, self.lanes)
        source = self._sum(kept, (*slot, vectors))
        first = self._position(place, (y, x), vectors, 1)
        with b.loop(0, last) as i:
            value = b.load(kept.pointer, b.add(source, i), self.dot.total, 1)
            self.sink(first.lane(b, i), value)

    def _hand_over(
        self, grid: TileGrid, place: Place, corner: tuple[Index, Index], sums: Sequence[SSAValue]
    ) -> None:
        """Gives the sums of a tile of a grid, which are in registers, to the sink."""
        b, (y, x), vectors = self.b, corner, len(self.panels.widths)
        for number, value in enumerate(sums):
            row, column = divmod(number // vectors, grid.tiling.columns)
            v = number % vectors
            width = self.panels.widths[v]
            position = self._position(place, (b.add(y, row), b.add(x, column)), v, width)
            self.sink(position, b.first_lanes(value, width))

    def _position(self, place: Place, where: tuple[Index, Index], v: Index, width: int) -> Position:
        """Where vector v of a position, or its first elements, lie in the result."""
        b = self.b
        vector = b.add(b.mul(place[-1], self.grid.tiling.vectors), v)
        return self.place_of(place, *where, vector, width)


def converted(b: KernelBuilder, sink: Sink, total: Element, result: Element) -> Sink:
    """Takes sums, and gives a sink what they are as elements of the result."""
    if total == result:
        return sink
    return lambda position, value: sink(position, convert(b, value, total, result))
