"""
How the results of convolutions and matrix products are cut into register tiles and cache blocks.

The estimate counts cycles of a core that starts two vector multiply-adds and two loads in a cycle,
with a latency of four cycles: what current x86-64 cores have in common.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from xrelay.dialects.lengths import likely
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import SINGLE, Dot, Work
from xrelay.lowering.loops.micro_kernel import most_positions

MULTIPLY_ADDS_PER_CYCLE = 2
LATENCY = 4
FAR_LOAD_CYCLES = 1.0
"""What a vector of the weights costs more where a panel fills a good part of the second cache."""
LOAD_CYCLES = 0.12
"""What a load costs although it runs beside multiply-adds; fitted, as is the next number, to the
times of twenty tilings of a pointwise convolution on an AVX-512 core."""
STEP_CYCLES = 1.2
MOST_VECTORS = 8
STREAMED_VECTORS = 3
MANY_POSITIONS = 64
PANEL_VECTORS = 4
"""Vectors in a panel of the usual width."""
TILE_CYCLES = 16
"""To start and end the loops of a tile."""
STORE_CYCLES = 2
"""To finish and store a register."""
SECOND_SHAPE = 1.02
"""A narrower last panel is more code."""
OPEN_SECOND_SHAPE = 1.1
"""The same where it is not known how many positions there are: there is code for tiles of each size."""

FEWEST_TILES = 3
"""So many read a panel whose weights are converted before them."""
TASKS_PER_THREAD = 8
"""So many tasks keep the shares of the threads nearly equal."""
MOST_ALONG = 32
"""More positions along one side than the largest register file has registers help nobody."""


@dataclass(frozen=True)
class Tiling:
    """Tiles of `rows` x `columns` positions and `vectors` vectors of output channels."""

    rows: int
    columns: int
    vectors: int
    cycles: float = 0.0
    """Estimated for all results, where it was chosen by that."""

    @property
    def positions(self) -> int:
        """How many positions a tile has."""
        return self.rows * self.columns


def tile_parameters(
    parameters: Parameters,
    usual: Tiling,
    height: int,
    width: int,
    vectors: int,
    names: tuple[str, str, str] = ("rows", "columns", "vectors"),
) -> Tiling:
    """
    The tiling of `height` x `width` positions and `vectors` vectors of output channels that
    parameters state, `usual` for what they do not. A side without a name has one position.
    """
    sizes = (usual.rows, usual.columns, usual.vectors)
    most = (min(height, MOST_ALONG), min(width, MOST_ALONG), min(vectors, MOST_VECTORS))
    chosen = [
        parameters.number(name, size, range(1, max(limit, 1) + 1)) if name else size
        for name, size, limit in zip(names, sizes, most, strict=True)
    ]
    return usual if chosen == list(sizes) else Tiling(*chosen)


def step_cycles(positions: int, vectors: int, *, far: bool, work: Work = SINGLE.work) -> float:
    """One step of the depth of a tile; `far` says that the weights come from beyond the near caches."""
    instructions = positions * vectors * work.step + positions * work.factor + vectors * work.weight
    busy = instructions / MULTIPLY_ADDS_PER_CYCLE
    loads = LOAD_CYCLES * (positions + vectors) + (FAR_LOAD_CYCLES * vectors if far else 0.0)
    return max(busy + loads + STEP_CYCLES, LATENCY)


def _shapes(height: int, width: int, most: int) -> Iterator[tuple[int, int]]:
    for columns in range(1, min(width, most) + 1):
        for rows in range(1, min(height, most // columns) + 1):
            yield rows, columns


@cache
def choose_tiling(
    target: Target,
    height: int,
    width: int,
    vectors: int,
    depth: int,
    widest: int,
    most_at_once: int | None = None,
    shares: int = 1,
    dot: Dot = SINGLE,
    is_open: bool = False,
    varies: bool = False,
) -> Tiling:
    """
    The cheapest tiling of `height` x `width` positions and `vectors` vectors of output channels, for so
    many steps of a dot product as `depth` says.
    Tiles at the end of a row overlap with the one before. A tile has at most `widest` vectors and
    `most_at_once` positions. So many threads share the panels of output
    channels as `shares` says; `is_open` says that it is not known before the program runs how many
    positions there are, and `varies` that other widths matter as much as this one. Where there is nothing to compute, as there may be at likely lengths, any tiling serves.
    """
    if min(height, width, vectors) < 1:
        return Tiling(1, 1, 1, 0.0)
    best: Tiling | None = None
    for wide in range(1, min(vectors, widest) + 1):
        most = most_positions(target, wide, dot.work.registers)
        if most_at_once is not None:
            most = min(most, most_at_once)
        parts = panel_parts(vectors, wide)
        for rows, columns in _shapes(height, width, most):
            along: float = blocks(width, columns)
            if varies and width > MOST_ALONG:
                # At other widths, half of the last tile is empty on average.
                along = (along + width / columns + 0.5) / 2
            tiles = blocks(height, rows) * along
            cycles = 0.0
            for _, panels, own in parts:
                far = depth * own * dot.step_bytes(target) > target.l2_bytes // 4
                step = step_cycles(rows * columns, own, far=far, work=dot.work)
                finish = TILE_CYCLES + STORE_CYCLES * rows * columns * own
                # What counts is the largest share.
                cycles += tiles * blocks(panels, shares) * shares * (depth * step + finish)
            if len(parts) > 1:
                cycles *= OPEN_SECOND_SHAPE if is_open else SECOND_SHAPE
            if best is None or cycles < best.cycles:
                best = Tiling(rows, columns, wide, cycles)
    assert best is not None
    return best


def most_vectors(target: Target, positions: int, weight_bytes: int) -> int:
    """
    How many vectors of output channels a tile may have. Weights that stream through the caches for
    the sake of few positions arrive best three vectors at a time.
    """
    streams = weight_bytes > target.l2_bytes // 2
    few = STREAMED_VECTORS < positions < MANY_POSITIONS
    return STREAMED_VECTORS if streams and few else MOST_VECTORS


def depth_parts(target: Target, depth: int, pieces: int, dot: Dot = SINGLE) -> int:
    """
    Into how many parts of equal size to cut a depth of so many steps that consists of `pieces`, so that
    a panel of a part stays in the second-level cache beside the image.
    """
    most = target.l2_bytes // 4 // (PANEL_VECTORS * dot.step_bytes(target))
    for parts in range(1, pieces + 1):
        if pieces % parts == 0 and depth // parts <= most:
            return parts
    return 1


def panel_parts(vectors: int, wide: int) -> Sequence[tuple[int, int, int]]:
    """
    The panels of `vectors` vectors: (first panel, number of panels, vectors in each). A narrower
    one comes last.
    """
    whole, rest = divmod(vectors, wide)
    parts = [(0, whole, wide)] if whole else []
    return [*parts, (whole, 1, rest)] if rest else parts


def positions_per_block(
    target: Target, position_bytes: int, positions: int, weight_bytes: int, *, again: bool = True
) -> int:
    """
    How many positions to compute with one panel of the weights before the next.

    Weights that stay in the second-level cache are read again for every block, so that the block
    of the image can stay in the first level. Larger ones, and those that it costs something to read `again`, are read once,
    as long as the image fits into the second level.
    """
    if again and weight_bytes <= target.l2_bytes // 2:
        wanted = target.l1_bytes // 2 // max(position_bytes, 1)
    else:
        wanted = target.l2_bytes // 2 // max(position_bytes, 1)
    return max(1, min(positions, wanted))


def busy_blocks(threads: int, panels: int) -> int:
    """Into how many blocks tiles are cut, each of which is a task with each panel, so that all threads have work."""
    # There may be no whole panel in the first call.
    return blocks(threads * TASKS_PER_THREAD, max(1, likely(panels))) if threads > 1 else 1


def converts_ahead(target: Target, threads: int, tiles: int, panels: int, panel_bytes: int) -> bool:
    """
    Whether weights with fewer bits than sums are converted before the tiles of a block: many read a panel, which stays in
    the second-level cache.
    """
    near = panel_bytes <= target.l2_bytes // 2
    return near and blocks(tiles, busy_blocks(threads, panels)) >= FEWEST_TILES
