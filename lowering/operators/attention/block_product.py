"""The products of a block of rows, in memory of the thread, with panels."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.index import Index
from xrelay.lowering.loops.dots import Dot
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS, DepthLoop, accumulate
from xrelay.lowering.loops.tile_grid import TileGrid

Finish: TypeAlias = Callable[[Index, Index, SSAValue, int], None]
"""Takes the sums for a row and the number of a vector, of which so many lanes count."""


def multiply_rows(
    b: KernelBuilder,
    dot: Dot,
    grid: TileGrid,
    left: Buffer,
    panels: Buffer,
    depth: int,
    finish: Finish,
) -> None:
    """The rows of a block times panels. Tiles at the end overlap with the ones before."""
    lanes = b.target.lanes(dot.total.bytes)
    step, width = left.format.strides[0], grid.tiling.vectors * lanes * dot.group
    zero, steps = b.constant(dot.total.compute, 0, lanes), dot.steps(depth)
    for part in grid.parts(lanes):
        with (
            b.loop(part.first, part.first + part.count) as panel,
            b.loop(0, grid.columns_of_tiles) as tile,
        ):
            row = grid.column(b, tile)

            def rows(
                kind: TileGrid,
                row: Index = row,
                panel: Index = panel,
                widths: Sequence[int] = part.widths,
            ) -> None:
                places = [
                    (b.add(row, i), b.add(b.mul(panel, kind.tiling.vectors), v))
                    for i in kind.tile_columns
                    for v in range(len(widths))
                ]
                sums = _depth_loop(
                    b,
                    dot,
                    b.address(left.pointer, b.mul(row, step), dot.image.storage),
                    b.address(panels.pointer, b.mul(panel, steps * width), dot.weight.storage),
                    steps,
                    width,
                    [i * step for i in kind.tile_columns],
                    [v * lanes * dot.group for v in range(len(widths))],
                    [zero] * len(places),
                )
                for number, (place, value) in enumerate(zip(places, sums, strict=True)):
                    lanes_used = widths[number % len(widths)]
                    finish(*place, b.first_lanes(value, lanes_used), lanes_used)

            grid.by_kind(b, tile, rows)


def _depth_loop(
    b: KernelBuilder,
    dot: Dot,
    x: SSAValue,
    w: SSAValue,
    steps: int,
    width: int,
    rows: Sequence[int],
    columns: Sequence[int],
    sums: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """Adds the products of a whole depth, of so many steps, to the registers of a tile."""
    whole, lanes = steps - steps % UNROLLED_STEPS, b.target.lanes(dot.total.bytes)
    for start, length, most in ((0, whole, UNROLLED_STEPS), (whole, steps - whole, 1)):
        if not certainly(length, 0):
            unrolled = most if is_open(length) else min(length, UNROLLED_STEPS)
            loop = DepthLoop(length // unrolled, unrolled * dot.group, unrolled * width)
            offsets = [((start + i) * dot.group, (start + i) * width) for i in range(unrolled)]
            sums = accumulate(b, dot, x, w, [loop], offsets, rows, columns, sums, lanes)
    return sums
