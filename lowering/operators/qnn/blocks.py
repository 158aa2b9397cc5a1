"""
Kernel code of matrices of a few bits a number.

Products of few rows are as fast as the weights are read: each word of packed weights is loaded once and unpacked in
registers, for all rows.

    for panel of columns, tile of rows:                       # the threads share these
        totals [rows x vectors of columns] = 0
        for block of the depth:
            sums = 0
            for every number of the block:
                sums += element of the left operand (in all lanes) * (number - zero point)
            totals += sums * scale
        hand the totals to the sink

Products of many rows unpack the weights of a panel into memory of the thread, times the scales, and go on as
other products of f32 do (`xrelay.lowering.loops.matrix_panels`). What neither can do is computed number by number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.lowering.emit.builder import Index
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.format import Spacing, row_major
from xrelay.lowering.emit.packing import MatrixPanels, blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import SINGLE as SINGLE_DOT
from xrelay.lowering.loops.few_bits import (
    SINGLE,
    WORD,
    WORD_BYTES,
    BlockPanels,
    Numbers,
    Parameter,
    unpacking_work,
)
from xrelay.lowering.loops.matrix_operands import Panels, left_operand
from xrelay.lowering.loops.matrix_panels import emit_panels, panel_tile, row_spacing
from xrelay.lowering.loops.matrix_product import PanelPlan, Product
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS
from xrelay.lowering.loops.tiles import STREAM_AHEAD_BYTES, Place, TileAt, TileGrid, emit_tiles
from xrelay.lowering.loops.tiling import (
    MULTIPLY_ADDS_PER_CYCLE,
    STORE_CYCLES,
    TILE_CYCLES,
    Tiling,
    depth_parts,
    positions_per_block,
    tile_parameters,
)
from xrelay.lowering.math.arithmetic import multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert

MOST_ROWS = 8
"""Rows of a tile that unpacks in registers."""
MOST_SUMS = 16
"""Sums of a block in the registers, beside as many totals."""
MOST_VECTORS = 4
STARTED_PER_CYCLE = 2.5
"""Instructions on vectors of all kinds."""
UNPACKED_WORK = 12
"""To write a vector of unpacked numbers into the second-level cache, as so many instructions: measured."""


@dataclass(frozen=True)
class BlocksProduct:
    """[rows, depth] times the transpose of a matrix [columns, depth] in blocks."""

    op: QnnDenseBlocksOp
    target: Target
    rows: int
    depth: int
    columns: int

    @staticmethod
    def of(op: Operation, target: Target) -> "BlocksProduct":
        """The sizes of an operator."""
        assert isinstance(op, QnnDenseBlocksOp)
        *outer, depth = shape_of(op.data)
        return BlocksProduct(op, target, prod(outer), depth, shape_of(op.weight)[0])

    @property
    def is_empty(self) -> bool:
        """Whether there is no result."""
        return 0 in (self.rows, self.columns)

    @property
    def lanes(self) -> int:
        """Columns of a vector."""
        return self.target.lanes(SINGLE.bytes)

    @property
    def vectors(self) -> int:
        """Vectors of columns."""
        return blocks(self.columns, self.lanes)

    @property
    def size(self) -> int:
        """The numbers of a block."""
        return min(self.op.size, self.depth)

    @property
    def group(self) -> int:
        """The numbers of a word."""
        return WORD.bits // self.op.width

    @property
    def blocks(self) -> int:
        """The blocks of a row."""
        return blocks(self.depth, self.size)

    @property
    def steps(self) -> int:
        """The words of a row."""
        return blocks(self.depth, self.group)

    @property
    def packed_bytes(self) -> int:
        """What the weights take, without scales."""
        return self.steps * self.vectors * self.lanes * WORD_BYTES

    @property
    def has_many_zero_points(self) -> bool:
        """Whether each block has a zero point."""
        return bool(shape_of(self.op.weight_zero_point))

    @property
    def plan(self) -> PanelPlan:
        """The same as a product of f32."""
        op, out_shape = self.op, shape_of(self.op.result)
        sizes = 1, self.rows, self.depth, self.columns, 1, 1
        product = Product(op.data, op.weight, *sizes, False, False, SINGLE, out_shape)
        return PanelPlan(product, self.target, SINGLE_DOT)

    @property
    def parts(self) -> int:
        """Into how many parts of whole blocks the depth is cut, so that unpacked panels stay near."""
        if self.depth % self.size:
            return 1
        return depth_parts(self.target, self.depth, self.depth // self.size)

    def cycles(self, rows: int, others: float) -> float:
        """To unpack all weights once, with so many products and other instructions for each vector of numbers."""
        many = self.has_many_zero_points
        work = unpacking_work(self.target, self.op.width, many_zero_points=many)
        # Multiply-adds have units of their own, beside those that unpack.
        busy = max(rows / MULTIPLY_ADDS_PER_CYCLE, (rows + others + work) / STARTED_PER_CYCLE)
        return self.vectors * self.depth * busy

    def panels(self, ctx: KernelContext, width: int) -> BlockPanels:
        """The weights in panels of `width` columns."""
        op, b = self.op, ctx.b
        packing = MatrixPanels(width, by_rows=False)

        def parameter(value: SSAValue) -> Parameter:
            return Parameter(ctx.packed(value, packing), element_of(value), width, self.blocks)

        common = zero_points = None
        if self.has_many_zero_points:
            zero_points = parameter(op.weight_zero_point)
        else:
            with b.inside(b.entry):
                zero = ctx.scalar(op.weight_zero_point)
                zero = convert(b, zero, element_of(op.weight_zero_point), SINGLE)
                common = b.splat(zero, self.lanes)
        pointer = ctx.packed(op.weight, MatrixPanels(width, by_rows=False, group=WORD_BYTES))
        numbers = Numbers.of(b, op.width, common)
        scales = parameter(op.weight_scale)
        return BlockPanels(b, pointer, width, self.steps, self.size, numbers, scales, zero_points)


# -- few rows: unpacked in registers ------------------------------------------------------------------


def _streamed_tile(product: BlocksProduct, parameters: Parameters) -> Tiling:
    """The tile that parameters state. Sums of a block and totals fit into the registers."""
    many = product.target.vector_registers >= 32
    rows = min(product.rows, MOST_ROWS if many else MOST_ROWS // 2)
    sums = MOST_SUMS if many else MOST_SUMS // 2 - 2
    panels = blocks(product.vectors, max(1, min(MOST_VECTORS, sums // rows)))
    # Panels of about the same width leave least unused.
    vectors = blocks(product.vectors, panels)
    names = ("", "rows", "vectors")
    usual = Tiling(1, rows, vectors)
    return tile_parameters(parameters, usual, 1, product.rows, product.vectors, names)


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
    seconds = cycles * target.cycle_seconds
    if product.packed_bytes > target.l2_bytes:
        return max(seconds, product.packed_bytes / target.memory_bandwidth)
    return seconds


def _emit_streamed(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product, b = BlocksProduct.of(op, ctx.target), ctx.b
    if product.is_empty:
        return
    tiling, lanes = _streamed_tile(product, ctx.parameters), product.lanes
    left = left_operand(ctx, product.plan)
    row_step = left.format.strides[-2] if len(left.shape) > 1 else product.depth
    panels, out_shape = product.panels(ctx, tiling.vectors * lanes), shape_of(op.results[0])

    def tile(where: TileAt, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x = b.address(left.pointer, b.mul(where.x, row_step), f32)
        rows = [i * row_step for i in range(tiling.columns)]
        return _add_blocks(panels, product.depth, where.place[-1], x, rows, totals)

    def place_of(place: Place, _: Index, row: Index, vector: Index, count: int) -> Position:
        return Position(out_shape, b.unflatten(row, out_shape[:-1]), b.mul(vector, lanes), count)

    grid = TileGrid(
        (),
        1,
        product.rows,
        tiling,
        product.vectors,
        product.depth * SINGLE.bytes,
        product.packed_bytes,
        last_lanes=product.columns % lanes,
    )
    emit_tiles(ctx, grid, SINGLE_DOT, lanes, tile, place_of, sink)


def _add_blocks(
    panels: BlockPanels,
    depth: int,
    panel: Index,
    x: SSAValue,
    rows: Sequence[int],
    totals: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """The totals of a tile, row by row, with the products of all blocks added."""
    b, size, vectors = panels.b, panels.size, len(totals) // len(rows)

    def block(i: Index, before: Sequence[SSAValue], length: int = size) -> Sequence[SSAValue]:
        scales = panels.scales_of(panel, i, vectors)
        zeros = panels.zeros_of(panel, i, vectors)
        near, words = b.address(x, b.mul(i, size), f32), panels.block(panel, i)
        sums = _block_sums(panels, near, words, rows, zeros, length)
        return [
            multiply_add(b, total, scales[j % vectors], done, SINGLE)
            for j, (total, done) in enumerate(zip(sums, before, strict=True))
        ]

    whole, rest = divmod(depth, size)
    totals = b.fold(0, whole, 1, totals, block)
    return block(whole, totals, rest) if rest else totals


def _block_sums(
    panels: BlockPanels,
    x: SSAValue,
    words: SSAValue,
    rows: Sequence[int],
    zeros: Sequence[SSAValue | None],
    length: int,
) -> Sequence[SSAValue]:
    """The sums of a block of `length` numbers, row by row."""
    b, group = panels.b, panels.group
    lanes, vectors = panels.numbers.lanes, len(zeros)

    def step(
        x: SSAValue, words: SSAValue, number: int, count: int, sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        result = list(sums)
        for line in range(vectors):
            place = number * panels.step_bytes + line * lanes * WORD_BYTES
            b.prefetch(b.address(words, place + STREAM_AHEAD_BYTES, i8))
        columns = panels.columns(words, number, count, zeros)
        for k in range(count):
            for r, row in enumerate(rows):
                factor = b.splat(b.load(x, row + number * group + k, SINGLE, 1), lanes)
                for v in range(vectors):
                    place = r * vectors + v
                    result[place] = multiply_add(b, columns[v][k], factor, result[place], SINGLE)
        return result

    whole, rest = divmod(length, group)
    unrolled = max(1, min(whole, UNROLLED_STEPS))

    def steps(i: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        near = b.address(x, b.mul(i, unrolled * group), f32)
        far = b.address(words, b.mul(i, unrolled * panels.step_bytes), i8)
        for number in range(unrolled):
            sums = step(near, far, number, group, sums)
        return sums

    sums: Sequence[SSAValue] = [b.constant(f32, 0, lanes)] * (len(rows) * vectors)
    sums = b.fold(0, whole // unrolled, 1, sums, steps)
    for number in range(whole - whole % unrolled, whole):
        sums = step(x, words, number, group, sums)
    return step(x, words, whole, rest, sums) if rest else sums


# -- many rows: unpacked into memory ------------------------------------------------------------------


@dataclass(frozen=True)
class UnpackedPanel(Panels):
    """The part of a panel that is in memory of the thread: the one that is multiplied."""

    def weights(self, b: object, member: Index, panel: Index, step: Index) -> Index:
        del b, member, panel, step
        return 0


def _unpacked_parameters(site: Site, parameters: Parameters) -> None:
    product = BlocksProduct.of(site.op, site.target)
    if not product.is_empty:
        panel_tile(product.plan, parameters)


def _unpacked_cost(site: Site) -> float:
    """Seconds for the product, and to unpack panels for each block of rows."""
    product, target = BlocksProduct.of(site.op, site.target), site.target
    if product.is_empty:
        return 0.0
    part_bytes = product.depth // product.parts * SINGLE.bytes
    weight_bytes = product.depth * product.vectors * product.lanes * SINGLE.bytes
    block = positions_per_block(target, part_bytes, product.rows, weight_bytes)
    unpacking = blocks(product.rows, block) * product.cycles(0, UNPACKED_WORK)
    return (product.plan.tiling.cycles * product.parts + unpacking) * target.cycle_seconds


def _emit_unpacked(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product = BlocksProduct.of(op, ctx.target)
    if product.is_empty:
        return
    plan, parts = product.plan, product.parts
    tiling = panel_tile(plan, ctx.parameters)
    left = left_operand(ctx, plan)
    width = tiling.vectors * product.lanes
    panels = product.panels(ctx, width)
    length = product.depth // parts
    room = ctx.private_scratch(SINGLE, row_major((length, width)))

    def prepare(place: Place, part: Index) -> None:
        _unpack(panels, room.pointer, place[-1], part, length)

    right = UnpackedPanel(room.pointer, 0, 0, width)
    emit_panels(ctx, plan, tiling, parts, left, right, sink, prepare)


def _unpack(panels: BlockPanels, room: SSAValue, panel: Index, part: Index, length: int) -> None:
    """Writes `length` rows of a panel as f32, those of a part."""
    b, size, group, lanes = panels.b, panels.size, panels.group, panels.numbers.lanes
    vectors = panels.width // lanes

    def block(i: Index, numbers: int) -> None:
        whole = b.add(b.mul(part, length // size), i)
        scales = panels.scales_of(panel, whole, vectors)
        zeros = panels.zeros_of(panel, whole, vectors)
        words = panels.block(panel, whole)

        def step(number: Index, count: int) -> None:
            start = b.address(words, b.mul(number, panels.step_bytes), i8)
            row = b.add(b.mul(i, size), b.mul(number, group))
            place = b.address(room, b.mul(row, panels.width), f32)
            for v, column in enumerate(panels.columns(start, 0, count, zeros)):
                for k, value in enumerate(column):
                    scaled = multiply(b, value, scales[v], SINGLE)
                    b.store(place, k * panels.width + v * lanes, SINGLE, scaled)

        with b.loop(0, numbers // group) as number:
            step(number, group)
        if numbers % group:
            step(numbers // group, numbers % group)

    whole, rest = divmod(length, size)
    with b.loop(0, whole) as i:
        block(i, size)
    if rest:
        block(whole, rest)


# -- number by number ---------------------------------------------------------------------------------


def _number(
    ev: Evaluator,
    op: QnnDequantizeBlocksOp | QnnDenseBlocksOp,
    matrix: tuple[SSAValue, SSAValue, SSAValue],
    row: Index,
    column: Index,
) -> Rule:
    """What a number of a matrix with its scale and zero point stands for."""
    b, (packed, scale, zero_point) = ev.b, matrix
    each = 8 // op.width

    def parameter(value: SSAValue) -> Rule:
        shape = shape_of(value)
        place = at(shape, (row, b.div(column, op.size))[: len(shape)])
        return convert(b, (yield Demand((value, 0), place)), element_of(value), SINGLE)

    byte = yield Demand((packed, 0), at(shape_of(packed), (row, b.div(column, each))))
    word = convert(b, byte, element_of(packed), WORD)
    shift = b.index(b.mul(b.mod(column, each), op.width))
    word = b.insert(arith.ShRUIOp(word, convert(b, shift, INDEX, WORD))).result
    word = b.both(word, b.constant(WORD.compute, 2**op.width - 1))
    below = yield from parameter(zero_point)
    number = subtract(b, convert(b, word, WORD, SINGLE), below, SINGLE)
    return multiply(b, number, (yield from parameter(scale)), SINGLE)


def _dequantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, QnnDequantizeBlocksOp)
    row, column = position.coords(ev.b)
    return (yield from _number(ev, op, (op.data, op.scale, op.zero_point), row, column))


def _emit_each(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product, b = BlocksProduct.of(op, ctx.target), ctx.b
    op, out_shape = product.op, shape_of(op.results[0])
    matrix = op.weight, op.weight_scale, op.weight_zero_point
    for value in (op.data, *matrix):
        ctx.in_memory(value)

    def result(indices: tuple[Index, ...]) -> None:
        row, column = indices
        before = b.unflatten(row, out_shape[:-1])

        def step(k: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            factor = ctx.ev.get((op.data, 0), at(shape_of(op.data), (*before, k)))
            number = ctx.ev.run(_number(ctx.ev, op, matrix, column, k))
            return [multiply_add(b, factor, number, sums[0], SINGLE)]

        (total,) = b.fold(0, product.depth, 1, [b.constant(f32, 0)], step)
        sink(Position(out_shape, before, column), total)

    ctx.tasks((product.rows, product.columns), result)


# -- the choice ---------------------------------------------------------------------------------------


def _refusal(site: Site) -> str | None:
    product = BlocksProduct.of(site.op, site.target)
    op = product.op
    operands = [op.weight, op.weight_scale]
    if product.has_many_zero_points:
        operands.append(op.weight_zero_point)
    known = all(each in site.constants for each in operands)
    whole = op.has_whole_words(product.depth)
    if not product.depth:
        return "rows without elements"
    return unless(known, "weights that are computed, or used twice") or unless(
        whole, f"blocks of {product.size}, words of 32 bits have {product.group} numbers"
    )


def _spacing(site: Site) -> Spacing:
    return row_spacing(BlocksProduct.of(site.op, site.target).plan.product)


RULES: dict[type[Operation], RuleFunction] = {QnnDequantizeBlocksOp: EachLane(_dequantize)}

STRATEGIES: dict[type[Operation], Strategy] = {
    QnnDenseBlocksOp: (
        Implementation(
            "streamed-blocks",
            _emit_streamed,
            20,
            _refusal,
            _streamed_cost,
            _spacing,
            _streamed_parameters,
        ),
        Implementation(
            "unpacked-blocks",
            _emit_unpacked,
            20,
            _refusal,
            _unpacked_cost,
            _spacing,
            _unpacked_parameters,
        ),
        Implementation("each-number", _emit_each, 5),
    ),
}
