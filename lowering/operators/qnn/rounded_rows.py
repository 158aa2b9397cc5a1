"""
Data of products that are rounded to 8 bits in blocks, with a scale each:

    for row of the data, block of the depth:                  # the threads share these
        scale = largest magnitude / 127
        numbers = data / scale, rounded
        start = -(sum of the numbers) * zero point            # that all have
"""

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import likely
from xrelay.dialects.qnn.blocks import LEAST_PEAK
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major, with_row_gap
from xrelay.lowering.emit.index import Index, with_lanes
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.loops.dots import Dot
from xrelay.lowering.loops.few_bits import SINGLE, WORD
from xrelay.lowering.loops.matrix_product import PAGE_BYTES
from xrelay.lowering.loops.micro_kernel import LINE_BYTES
from xrelay.lowering.loops.reductions import MAXIMUM, SUM, Term, reduce_elements
from xrelay.lowering.math.arithmetic import multiply, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct

LARGEST = 127.0
"""The largest magnitude of a number of 8 bits, as many on both sides of 0."""
MAGNITUDE = 0x7FFFFFFF
"""All bits of a number of f32 but its sign."""


@dataclass(frozen=True)
class RoundedRows:
    """The data of a product in memory, as integers with scales."""

    numbers: Buffer
    """[rows, depth], with zeros behind the depth that fill the last word of the matrix."""
    scales: Buffer
    """[rows, blocks] of f32."""
    starts: Buffer
    """
    [rows, blocks] of 32-bit integers: minus the sum of the numbers of a block, times the zero point where all blocks have
    the same.
    """


def rounded_rows(
    ctx: KernelContext, product: BlocksProduct, dot: Dot, zero_point: SSAValue | None
) -> RoundedRows:
    """Rounds the data to what a dot product takes. `zero_point` is the one that all blocks have, as it is in memory; None where they differ."""
    op, rows, size, b = product.op, product.rows, product.size, ctx.b
    place, kind = row_major((rows, product.blocks)), dot.image
    filled = product.steps * product.group
    # Else the rows of a tile would meet in the same lines of the first-level cache.
    collide = likely(filled) * kind.bytes % PAGE_BYTES == 0
    format = with_row_gap((rows, filled), LINE_BYTES // kind.bytes if collide else 0)
    numbers, length = ctx.scratch(kind, format), format.strides[0]
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
