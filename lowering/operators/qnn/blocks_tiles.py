"""
The loops that products of few rows with a matrix in blocks share: tiles of rows and panels of columns, and in a tile the words of
a block, some of them at once.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.dots import SINGLE as SINGLE_DOT
from xrelay.lowering.loops.few_bits import BlockPanels
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS
from xrelay.lowering.loops.tile_code import TileCode
from xrelay.lowering.loops.tile_grid import Place, TileGrid
from xrelay.lowering.loops.tiles import emit_tiles
from xrelay.lowering.loops.tiling import Tiling
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct

Sums: TypeAlias = Sequence[SSAValue]
BlockCode: TypeAlias = Callable[[Index, Sums, int], Sums]
"""Adds the products of a block, by its number and how many numbers it has, to totals."""
WordCode: TypeAlias = Callable[[Index, int, Sums], Sums]
"""Adds those of a word of a block to sums: the number of the first of some words, and how many words behind it."""


def emit_block_tiles(
    ctx: KernelContext,
    product: BlocksProduct,
    tiling: Tiling,
    row_bytes: int,
    tile: TileCode,
    sink: Sink,
) -> None:
    """Emits the loops around tiles, with rows of data of so many bytes."""
    b, lanes, out_shape = ctx.b, product.lanes, shape_of(product.op.result)

    def place_of(place: Place, _: Index, row: Index, vector: Index, count: int) -> Position:
        return Position(out_shape, b.unflatten(row, out_shape[:-1]), b.mul(vector, lanes), count)

    grid = TileGrid(
        (),
        1,
        product.rows,
        tiling,
        product.vectors,
        row_bytes,
        product.packed_bytes,
        last_lanes=product.columns % lanes,
    )
    emit_tiles(ctx, grid, SINGLE_DOT, lanes, tile, place_of, sink)


def each_block(panels: BlockPanels, depth: int, totals: Sums, block: BlockCode) -> Sums:
    """The totals of a tile with the products of all blocks added; the last one may be shorter."""
    size = panels.size
    whole, rest = divmod(depth, size)
    totals = panels.b.fold(0, whole, 1, totals, lambda i, before: block(i, before, size))
    return block(whole, totals, rest) if rest else totals


def each_word(panels: BlockPanels, count: int, sums: Sums, word: WordCode) -> Sums:
    """The sums of a block with so many whole words added."""
    unrolled = max(1, min(count, UNROLLED_STEPS))

    def some(i: Index, sums: Sums) -> Sums:
        first = panels.b.mul(i, unrolled)
        for number in range(unrolled):
            sums = word(first, number, sums)
        return sums

    sums = panels.b.fold(0, count // unrolled, 1, sums, some)
    for number in range(count - count % unrolled, count):
        sums = word(0, number, sums)
    return sums
