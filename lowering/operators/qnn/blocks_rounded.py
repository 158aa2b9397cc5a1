"""
Products of data that are rounded to 8 bits in blocks with a matrix of a few bits a number: within a block they are those of
integers.

    round the rows of the data                                # `rounded_rows.py`
    for panel of columns, tile of rows:                       # the threads share these
        totals [rows x vectors of columns] = 0
        for block of the depth:
            sums = -(sum of the numbers of a row) * zero point
            for every word of the block:
                sums += numbers of the data * numbers of the word, by dot products
            totals += sums * scale of the matrix * scale of the data
        hand the totals to the sink
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import likely
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site
from xrelay.lowering.loops.few_bits import SINGLE, WORD, IntegerPanels
from xrelay.lowering.loops.tile_code import TileAt
from xrelay.lowering.loops.tiling import STORE_CYCLES, TILE_CYCLES, Tiling, tile_parameters
from xrelay.lowering.math.arithmetic import multiply, multiply_add
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.qnn.blocks_product import STARTED_PER_CYCLE, BlocksProduct, refusal
from xrelay.lowering.operators.qnn.blocks_tiles import Sums, each_block, each_word, emit_block_tiles
from xrelay.lowering.operators.qnn.rounded_rows import RoundedRows, rounded_rows

MOST_SUMS = 12
"""Sums of a block in the registers, beside as many totals, of a file of 32."""
FEW_SUMS = 5
"""The same of a file of 16."""
MOST_VECTORS = 4
AHEAD_BYTES = 3072
"""
How far before their use weights are asked for. Less than for weights that become f32, as they are used sooner, and than a page:
the next page need not follow in memory, and is found while the processor waits. Measured.
"""
FINISH_WORK = 4
"""Instructions that take a sum of a block to its total, and begin the next."""


def _tile(product: BlocksProduct, parameters: Parameters) -> Tiling:
    """The tile that parameters state. Sums of a block and totals fit into the registers."""
    all_rows = max(1, likely(product.rows))
    sums = MOST_SUMS if product.target.vector_registers >= 32 else FEW_SUMS
    rows = blocks(all_rows, blocks(all_rows, sums))
    panels = blocks(product.vectors, max(1, min(MOST_VECTORS, sums // rows)))
    # Panels of about the same width leave least unused.
    usual = Tiling(1, rows, blocks(product.vectors, panels))
    return tile_parameters(parameters, usual, 1, all_rows, product.vectors, ("", "rows", "vectors"))


def _parameters(site: Site, parameters: Parameters) -> None:
    product = BlocksProduct.of(site.op, site.target)
    if not product.is_empty:
        _tile(product, parameters)


def _refusal(site: Site) -> str | None:
    return refusal(site, rounds_data=True)


def _cost(site: Site) -> float:
    """Seconds for the arithmetic, or those in which the weights arrive."""
    product = BlocksProduct.of(site.op, site.target)
    if product.is_empty:
        return 0.0
    tiling, dot = _tile(product, Parameters()), product.integer_dot
    rows, row_tiles = tiling.columns, blocks(product.rows, tiling.columns)
    # Shifts and masks, and the products.
    steps = product.group // dot.group
    word = 2 * steps + dot.work.step * steps * rows
    work = product.vectors * (product.steps * word + product.blocks * FINISH_WORK * rows)
    tiles = row_tiles * blocks(product.vectors, tiling.vectors)
    finish = tiles * (TILE_CYCLES + STORE_CYCLES * rows * tiling.vectors)
    cycles = row_tiles * work / STARTED_PER_CYCLE + finish
    return product.with_arrival(cycles * product.target.cycle_seconds)


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product = BlocksProduct.of(op, ctx.target)
    tiling = _tile(product, ctx.parameters)
    panels = product.integer_panels(ctx, tiling.vectors * product.lanes)
    rounded = rounded_rows(ctx, product, panels.dot, product.common_zero_point(ctx))

    def tile(where: TileAt, totals: Sums) -> Sums:
        code = _TileOfRows(panels, rounded, where.place[-1], where.x, where.columns)
        return each_block(panels, product.depth, totals, code.block)

    emit_block_tiles(
        ctx, product, tiling, rounded.numbers.shape[-1] * panels.dot.image.bytes, tile, sink
    )


@dataclass(frozen=True)
class _TileOfRows:
    """The code of a tile."""

    panels: IntegerPanels
    data: RoundedRows
    panel: Index
    first: Index
    """Its first row."""
    rows: Sequence[int]
    """Its rows, counted from there."""

    def block(self, i: Index, totals: Sums, length: int) -> Sums:
        """The totals, row by row, with the products of a block added."""
        panels, b = self.panels, self.panels.b
        vectors = len(totals) // len(self.rows)
        zeros = panels.zeros_of(self.panel, i, vectors)
        scales = panels.scales_of(self.panel, i, vectors)
        starts: list[SSAValue] = []
        for row in self.rows:
            start = self._in_all_lanes(self.data.starts, row, i)
            starts += [start if zero is None else multiply(b, start, zero, WORD) for zero in zeros]
        sums = self._sums(i, blocks(length, panels.group), starts)
        result: list[SSAValue] = []
        for r, row in enumerate(self.rows):
            scale = self._in_all_lanes(self.data.scales, row, i)
            for v in range(vectors):
                place = r * vectors + v
                # The scales alone, or large data and a sum, may have a product that f32 does not hold.
                real = multiply(b, convert(b, sums[place], WORD, SINGLE), scales[v], SINGLE)
                result.append(multiply_add(b, real, scale, totals[place], SINGLE))
        return result

    def _in_all_lanes(self, buffer: Buffer, row: int, block: Index) -> SSAValue:
        """What a row has for a block."""
        b, count = self.panels.b, buffer.shape[-1]
        place = b.add(b.mul(b.add(self.first, row), count), block)
        return b.splat(b.load(buffer.pointer, place, buffer.element, 1), self.panels.lanes)

    def _sums(self, block: Index, count: int, sums: Sums) -> Sums:
        """The sums with the products of so many words of a block added."""
        panels, b, dot = self.panels, self.panels.b, self.panels.dot
        vectors, length = len(sums) // len(self.rows), self.data.numbers.format.strides[0]
        start = b.add(b.mul(self.first, length), b.mul(block, panels.size))
        x = b.address(self.data.numbers.pointer, start, dot.image.storage)
        words = panels.block(self.panel, block)

        def word(first: Index, number: int, sums: Sums) -> Sums:
            near = b.address(x, b.mul(first, panels.group), dot.image.storage)
            far = b.address(words, b.mul(first, panels.step_bytes), i8)
            result = list(sums)
            for v in range(vectors):
                place = number * panels.step_bytes + v * panels.lanes * WORD.bytes
                b.prefetch(b.address(far, place + AHEAD_BYTES, i8))
            weights = [list(panels.weights(panels.words(far, number, v))) for v in range(vectors)]
            for k in range(panels.group // dot.group):
                for r, row in enumerate(self.rows):
                    offset = row * length + number * panels.group + k * dot.group
                    factor = dot.factor(b, near, offset, panels.lanes, dot.group)
                    for v in range(vectors):
                        place = r * vectors + v
                        result[place] = dot.step(b, weights[v][k], factor, result[place])
            return result

        return each_word(panels, count, sums, word)


ROUNDED = Implementation("rounded-blocks", _emit, 20, _refusal, _cost, parameters=_parameters)
