"""
Products of data that are rounded to 8 bits in blocks with a matrix of a few bits a number: within a block they are those of
integers.

    for row of the data, block of the depth:                  # the threads share these
        scale = largest magnitude / 127
        numbers = data / scale, rounded
        start = -(sum of the numbers) * zero point            # that all have
    for panel of columns, tile of rows:                       # and these
        totals [rows x vectors of columns] = 0
        for block of the depth:
            sums = start, or -(sum of the numbers) * zero points of the block
            for every word of the block:
                sums += numbers of the data * numbers of the word, by dot products
            totals += sums * (scale of the data * scale of the matrix)
        hand the totals to the sink
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import likely
from xrelay.dialects.qnn.blocks import LEAST_PEAK
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index, with_lanes
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site
from xrelay.lowering.loops.dots import SINGLE as SINGLE_DOT
from xrelay.lowering.loops.dots import Dot
from xrelay.lowering.loops.few_bits import SINGLE, WORD, IntegerPanels
from xrelay.lowering.loops.matrix_product import PAGE_BYTES
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, UNROLLED_STEPS
from xrelay.lowering.loops.reductions import MAXIMUM, SUM, Term, reduce_elements
from xrelay.lowering.loops.tile_code import TileAt
from xrelay.lowering.loops.tile_grid import Place, TileGrid
from xrelay.lowering.loops.tiles import emit_tiles
from xrelay.lowering.loops.tiling import STORE_CYCLES, TILE_CYCLES, Tiling, tile_parameters
from xrelay.lowering.math.arithmetic import multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.qnn.blocks_product import STARTED_PER_CYCLE, BlocksProduct, refusal

MOST_SUMS = 12
"""Sums of a block in the registers, beside as many totals, of a file of 32."""
FEW_SUMS = 5
"""The same of a file of 16."""
MOST_VECTORS = 4
AHEAD_BYTES = 3072
"""How far before their use weights are asked for: less than a page, as all that comes between takes few cycles. Measured."""
LARGEST = 127.0
"""The largest magnitude of a number of 8 bits, as many on both sides of 0."""
MAGNITUDE = 0x7FFFFFFF
"""All bits of a number of f32 but its sign."""
FINISH_WORK = 4
"""Instructions that take a sum of a block to its total, and begin the next."""


@dataclass(frozen=True)
class RoundedRows:
    """The data of a product in memory, as integers with scales."""

    numbers: Buffer
    """[rows, depth and more], with zeros behind the depth that fill the last word of the matrix."""
    scales: Buffer
    """[rows, blocks] of f32."""
    starts: Buffer
    """[rows, blocks] of 32-bit integers: the sums of the numbers of a block times the zero point, or 1, negated."""


def rounded_rows(
    ctx: KernelContext, product: BlocksProduct, dot: Dot, zero_point: SSAValue | None
) -> RoundedRows:
    """Rounds the data. `zero_point`, of the type of the matrix's, is that of all blocks where there is one."""
    op, rows, size, b = product.op, product.rows, product.size, ctx.b
    place, kind = row_major((rows, product.blocks)), dot.image
    length = filled = product.steps * product.group
    if length * kind.bytes % PAGE_BYTES == 0:
        # Else the rows of a tile would meet in the same lines of the first-level cache.
        length += LINE_BYTES // kind.bytes
    numbers = ctx.scratch(kind, row_major((rows, length)))
    scales, starts = ctx.scratch(SINGLE, place), ctx.scratch(WORD, place)
    ctx.placed(op.data)
    shape = shape_of(op.data)
    if zero_point is not None:
        with b.inside(b.entry):
            zero_point = convert(b, zero_point, element_of(op.weight_zero_point), WORD)

    def block(row: Index, number: Index, count: int) -> None:
        first = b.mul(number, size)
        before = b.unflatten(row, shape[:-1])

        def data(offset: Index, lanes: int) -> SSAValue:
            place = Position(shape, before, b.add(first, offset), lanes)
            return ctx.ev.get((op.data, 0), place)

        def magnitude(_: tuple[Index, ...], offset: Index, lanes: int) -> SSAValue:
            # Numbers without a sign have the order of their bits, and NaN is the largest.
            bits = b.bitcast(data(offset, lanes), with_lanes(i32, lanes))
            return b.both(bits, b.constant(i32, MAGNITUDE, lanes))

        (bits,) = reduce_elements(ctx, [], count, [Term(MAXIMUM, WORD)], magnitude)
        peak, zero = b.bitcast(bits, f32), b.constant(f32, 0)
        is_small = b.compare_floats(peak, "olt", b.constant(f32, LEAST_PEAK))
        largest = b.constant(f32, LARGEST)
        inverse = b.select(is_small, zero, b.insert(arith.DivfOp(largest, peak)).result)
        scale = b.select(is_small, zero, b.insert(arith.DivfOp(peak, largest)).result)

        def rounded(_: tuple[Index, ...], offset: Index, lanes: int) -> SSAValue:
            exact = multiply(b, data(offset, lanes), b.splat(inverse, lanes), SINGLE)
            # NaN becomes 0: then the scale is infinite or NaN.
            whole = convert(b, b.insert(math.RoundEvenOp(exact)).result, SINGLE, kind)
            b.store(numbers.pointer, b.add(b.mul(row, length), b.add(first, offset)), kind, whole)
            return convert(b, whole, kind, WORD)

        (total,) = reduce_elements(ctx, [], count, [Term(SUM, WORD)], rounded)
        start = subtract(b, b.constant(i32, 0), total, WORD)
        if zero_point is not None:
            start = multiply(b, start, zero_point, WORD)
        place = at((rows, product.blocks), (row, number))
        ctx.store(scales, place, scale)
        ctx.store(starts, place, start)

    whole, rest = divmod(product.depth, size)

    def each(indices: tuple[Index, ...]) -> None:
        row, number = indices
        block(row, number, size)

    ctx.tasks((rows, whole), each)
    if rest or filled > product.depth:

        def end(indices: tuple[Index, ...]) -> None:
            (row,) = indices
            if rest:
                block(row, whole, rest)
            ctx.clear(numbers, b.add(b.mul(row, length), product.depth), filled - product.depth)

        ctx.tasks((rows,), end)
    ctx.barrier()
    return RoundedRows(numbers, scales, starts)


def _tile(product: BlocksProduct, parameters: Parameters) -> Tiling:
    """The tile that parameters state. Sums of a block and totals fit into the registers."""
    all_rows = likely(product.rows)
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
    product, target = BlocksProduct.of(site.op, site.target), site.target
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
    seconds = (row_tiles * work / STARTED_PER_CYCLE + finish) * target.cycle_seconds
    if product.packed_bytes > target.l2_bytes:
        return max(seconds, product.packed_bytes / target.memory_bandwidth)
    return seconds


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product, b = BlocksProduct.of(op, ctx.target), ctx.b
    tiling, lanes = _tile(product, ctx.parameters), product.lanes
    panels = product.integer_panels(ctx, tiling.vectors * lanes)
    rounded = rounded_rows(ctx, product, panels.dot, product.common_zero_point(ctx))
    out_shape = shape_of(op.results[0])

    def tile(where: TileAt, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        code = _TileOfRows(panels, product, rounded, where.x, where.columns)
        return code.with_blocks(where.place[-1], totals)

    def place_of(place: Place, _: Index, row: Index, vector: Index, count: int) -> Position:
        return Position(out_shape, b.unflatten(row, out_shape[:-1]), b.mul(vector, lanes), count)

    grid = TileGrid(
        (),
        1,
        product.rows,
        tiling,
        product.vectors,
        product.steps * product.group * panels.dot.image.bytes,
        product.packed_bytes,
        last_lanes=product.columns % lanes,
    )
    emit_tiles(ctx, grid, SINGLE_DOT, lanes, tile, place_of, sink)


@dataclass(frozen=True)
class _TileOfRows:
    """The code of a tile."""

    panels: IntegerPanels
    product: BlocksProduct
    data: RoundedRows
    first: Index
    """Its first row."""
    rows: Sequence[int]
    """Its rows, counted from there."""

    def with_blocks(self, panel: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The totals, row by row, with the products of all blocks added."""
        panels, b = self.panels, self.panels.b
        size, vectors = panels.size, len(totals) // len(self.rows)

        def block(i: Index, before: Sequence[SSAValue], length: int = size) -> Sequence[SSAValue]:
            zeros = panels.zeros_of(panel, i, vectors)
            scales = panels.scales_of(panel, i, vectors)
            sums: list[SSAValue] = []
            for row in self.rows:
                start = self._each_lane(self.data.starts, row, i)
                sums += [
                    start if zero is None else multiply(b, start, zero, WORD) for zero in zeros
                ]
            sums = list(self._sums(panels.block(panel, i), i, blocks(length, panels.group), sums))
            result: list[SSAValue] = []
            for r, row in enumerate(self.rows):
                scale = self._each_lane(self.data.scales, row, i)
                for v in range(vectors):
                    place = r * vectors + v
                    real = convert(b, sums[place], WORD, SINGLE)
                    step = multiply(b, scales[v], scale, SINGLE)
                    result.append(multiply_add(b, real, step, before[place], SINGLE))
            return result

        whole, rest = divmod(self.product.depth, size)
        totals = b.fold(0, whole, 1, totals, block)
        return block(whole, totals, rest) if rest else totals

    def _each_lane(self, buffer: Buffer, row: int, block: Index) -> SSAValue:
        """What a row has for a block, in every lane."""
        b = self.panels.b
        place = b.add(b.mul(b.add(self.first, row), self.product.blocks), block)
        return b.splat(b.load(buffer.pointer, place, buffer.element, 1), self.panels.lanes)

    def _sums(
        self, words: SSAValue, block: Index, count: int, sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The sums with the products of so many words of a block added."""
        panels, b, dot = self.panels, self.panels.b, self.panels.dot
        vectors = len(sums) // len(self.rows)
        length = self.data.numbers.shape[-1]
        near = b.address(
            self.data.numbers.pointer,
            b.add(b.mul(self.first, length), b.mul(block, panels.size)),
            dot.image.storage,
        )

        def step(
            x: SSAValue, words: SSAValue, number: int, sums: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            result = list(sums)
            for v in range(vectors):
                place = number * panels.step_bytes + v * panels.lanes * WORD.bytes
                b.prefetch(b.address(words, place + AHEAD_BYTES, i8))
            weights = [list(panels.weights(panels.words(words, number, v))) for v in range(vectors)]
            for k in range(panels.group // dot.group):
                for r, row in enumerate(self.rows):
                    offset = row * length + number * panels.group + k * dot.group
                    factor = dot.factor(b, x, offset, panels.lanes, dot.group)
                    for v in range(vectors):
                        place = r * vectors + v
                        result[place] = dot.step(b, weights[v][k], factor, result[place])
            return result

        unrolled = max(1, min(count, UNROLLED_STEPS))

        def steps(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            x = b.address(near, b.mul(i, unrolled * panels.group), dot.image.storage)
            far = b.address(words, b.mul(i, unrolled * panels.step_bytes), i8)
            for number in range(unrolled):
                sums = step(x, far, number, sums)
            return sums

        sums = b.fold(0, count // unrolled, 1, sums, steps)
        for number in range(count - count % unrolled, count):
            sums = step(near, words, number, sums)
        return sums


ROUNDED = Implementation("rounded-blocks", _emit, 20, _refusal, _cost, parameters=_parameters)
