"""
Products of few rows with a matrix of a few bits a number. They are as fast as the weights are read: each word of packed
weights is loaded once and unpacked in registers, for all rows.

    for panel of columns, tile of rows:                       # the threads share these
        totals [rows x vectors of columns] = 0
        for block of the depth:
            sums = 0
            for every number of the block:
                sums += element of the left operand (in all lanes) * (number - zero point)
            totals += sums * scale
        hand the totals to the sink
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import likely
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site
from xrelay.lowering.loops.few_bits import SINGLE, WORD_BYTES, Below, FloatPanels
from xrelay.lowering.loops.matrix_operands import left_operand
from xrelay.lowering.loops.tile_code import TileAt
from xrelay.lowering.loops.tiles import STREAM_AHEAD_BYTES
from xrelay.lowering.loops.tiling import STORE_CYCLES, TILE_CYCLES, Tiling, tile_parameters
from xrelay.lowering.math.arithmetic import multiply_add
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct, refusal, spacing
from xrelay.lowering.operators.qnn.blocks_tiles import Sums, each_block, each_word, emit_block_tiles

MOST_ROWS = 8
"""Rows of a tile."""
MOST_SUMS = 16
"""Sums of a block in the registers, beside as many totals."""
MOST_VECTORS = 4


def _streamed_tile(product: BlocksProduct, parameters: Parameters) -> Tiling:
    """The tile that parameters state. Sums of a block and totals fit into the registers."""
    many, all_rows = product.target.vector_registers >= 32, max(1, likely(product.rows))
    rows = min(all_rows, MOST_ROWS if many else MOST_ROWS // 2)
    sums = MOST_SUMS if many else MOST_SUMS // 2 - 2
    panels = blocks(product.vectors, max(1, min(MOST_VECTORS, sums // rows)))
    # Panels of about the same width leave least unused.
    vectors = blocks(product.vectors, panels)
    names = ("", "rows", "vectors")
    usual = Tiling(1, rows, vectors)
    return tile_parameters(parameters, usual, 1, all_rows, product.vectors, names)


def _streamed_parameters(site: Site, parameters: Parameters) -> None:
    product = BlocksProduct.of(site.op, site.target)
    if not product.is_empty:
        _streamed_tile(product, parameters)


def _streamed_cost(site: Site) -> float:
    """Seconds for the arithmetic, or those in which the weights arrive."""
    product, target = BlocksProduct.of(site.op, site.target), site.target
    if product.is_empty:
        return 0.0
    tiling = _streamed_tile(product, Parameters())
    row_tiles = blocks(product.rows, tiling.columns)
    tiles = row_tiles * blocks(product.vectors, tiling.vectors)
    finish = tiles * (TILE_CYCLES + STORE_CYCLES * tiling.columns * tiling.vectors)
    cycles = row_tiles * product.cycles(tiling.columns, 0) + finish
    return product.with_arrival(cycles * target.cycle_seconds)


def _emit_streamed(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product, b = BlocksProduct.of(op, ctx.target), ctx.b
    tiling = _streamed_tile(product, ctx.parameters)
    left = left_operand(ctx, product.plan)
    row_step = left.format.strides[-2] if len(left.shape) > 1 else product.depth
    panels = product.float_panels(ctx, tiling.vectors * product.lanes)

    def tile(where: TileAt, totals: Sums) -> Sums:
        x = b.address(left.pointer, b.mul(where.x, row_step), f32)
        rows = [row * row_step for row in where.columns]
        return _add_blocks(panels, product.depth, where.place[-1], x, rows, totals)

    emit_block_tiles(ctx, product, tiling, product.depth * SINGLE.bytes, tile, sink)


def _add_blocks(
    panels: FloatPanels,
    depth: int,
    panel: Index,
    x: SSAValue,
    rows: Sequence[int],
    totals: Sums,
) -> Sums:
    """The totals of a tile, row by row, with the products of all blocks added."""
    b, size, vectors = panels.b, panels.size, len(totals) // len(rows)

    def block(i: Index, before: Sums, length: int) -> Sums:
        scales = panels.scales_of(panel, i, vectors)
        zeros = panels.zeros_of(panel, i, vectors)
        near, words = b.address(x, b.mul(i, size), f32), panels.block(panel, i)
        sums = _block_sums(panels, near, words, rows, zeros, length)
        return [
            multiply_add(b, total, scales[j % vectors], done, SINGLE)
            for j, (total, done) in enumerate(zip(sums, before, strict=True))
        ]

    return each_block(panels, depth, totals, block)


def _block_sums(
    panels: FloatPanels,
    x: SSAValue,
    words: SSAValue,
    rows: Sequence[int],
    zeros: Sequence[Below],
    length: int,
) -> Sums:
    """The sums of a block of `length` numbers, row by row."""
    b, group = panels.b, panels.group
    lanes, vectors = panels.lanes, len(zeros)

    def word(first: Index, number: int, sums: Sums, count: int = group) -> Sums:
        near = b.address(x, b.mul(first, group), f32)
        far = b.address(words, b.mul(first, panels.step_bytes), i8)
        result = list(sums)
        for v in range(vectors):
            place = number * panels.step_bytes + v * lanes * WORD_BYTES
            b.prefetch(b.address(far, place + STREAM_AHEAD_BYTES, i8))
        columns = panels.columns(far, number, count, zeros)
        for k in range(count):
            for r, row in enumerate(rows):
                factor = b.splat(b.load(near, row + number * group + k, SINGLE, 1), lanes)
                for v in range(vectors):
                    place = r * vectors + v
                    result[place] = multiply_add(b, columns[v][k], factor, result[place], SINGLE)
        return result

    whole, rest = divmod(length, group)
    sums: Sums = [b.constant(f32, 0, lanes)] * (len(rows) * vectors)
    sums = each_word(panels, whole, sums, word)
    return word(0, whole, sums, rest) if rest else sums


STREAMED = Implementation(
    "streamed-blocks", _emit_streamed, 20, refusal, _streamed_cost, spacing, _streamed_parameters
)
