"""
Kernel code of matrices of a few bits a number: on demand, and products with them.

Those of constant matrices unpack words in registers (`blocks_streamed.py`) or panels into memory (`blocks_unpacked.py`).
What neither can do is computed number by number.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.dots import MultiplyAdd
from xrelay.lowering.loops.few_bits import SINGLE, WORD
from xrelay.lowering.math.arithmetic import multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct
from xrelay.lowering.operators.qnn.blocks_rounded import ROUNDED
from xrelay.lowering.operators.qnn.blocks_streamed import STREAMED
from xrelay.lowering.operators.qnn.blocks_unpacked import UNPACKED
from xrelay.lowering.operators.qnn.rounded_rows import rounded_rows


def _whole_number(
    ev: Evaluator,
    op: QnnDequantizeBlocksOp | QnnDenseBlocksOp,
    packed: SSAValue,
    row: Index,
    column: Index,
) -> Rule:
    """A number of a matrix, as an integer of 32 bits."""
    b, each = ev.b, 8 // op.width
    byte = yield Demand((packed, 0), at(shape_of(packed), (row, b.div(column, each))))
    word = convert(b, byte, element_of(packed), WORD)
    shift = b.index(b.mul(b.mod(column, each), op.width))
    word = b.insert(arith.ShRUIOp(word, convert(b, shift, INDEX, WORD))).result
    return b.both(word, b.constant(WORD.compute, 2**op.width - 1))


def _parameter(ev: Evaluator, value: SSAValue, row: Index, block: Index, kind: Element) -> Rule:
    """A scale or zero point of a block, as an element of a type."""
    shape = shape_of(value)
    place = at(shape, (row, block)[: len(shape)])
    return convert(ev.b, (yield Demand((value, 0), place)), element_of(value), kind)


def _number(
    ev: Evaluator,
    op: QnnDequantizeBlocksOp | QnnDenseBlocksOp,
    matrix: tuple[SSAValue, SSAValue, SSAValue],
    row: Index,
    column: Index,
) -> Rule:
    """What a number of a matrix with its scale and zero point stands for."""
    b, (packed, scale, zero_point) = ev.b, matrix
    block = b.div(column, op.size)
    word = yield from _whole_number(ev, op, packed, row, column)
    below = yield from _parameter(ev, zero_point, row, block, SINGLE)
    number = subtract(b, convert(b, word, WORD, SINGLE), below, SINGLE)
    return multiply(b, number, (yield from _parameter(ev, scale, row, block, SINGLE)), SINGLE)


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
    total_of = _rounded_total(ctx, product) if op.rounds_data else _total(ctx, product)

    def result(indices: tuple[Index, ...]) -> None:
        row, column = indices
        sink(Position(out_shape, b.unflatten(row, out_shape[:-1]), column), total_of(row, column))

    ctx.tasks((product.rows, product.columns), result)


Total: TypeAlias = Callable[[Index, Index], SSAValue]
"""The result of a product, by its row and column."""


def _total(ctx: KernelContext, product: BlocksProduct) -> Total:
    op, b, shape = product.op, ctx.b, shape_of(product.op.data)
    matrix = op.weight, op.weight_scale, op.weight_zero_point

    def total(row: Index, column: Index) -> SSAValue:
        before = b.unflatten(row, shape[:-1])

        def step(k: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            factor = ctx.ev.get((op.data, 0), at(shape, (*before, k)))
            number = ctx.ev.run(_number(ctx.ev, op, matrix, column, k))
            return [multiply_add(b, factor, number, sums[0], SINGLE)]

        return b.fold(0, product.depth, 1, [b.constant(f32, 0)], step)[0]

    return total


def _rounded_total(ctx: KernelContext, product: BlocksProduct) -> Total:
    op, b, ev = product.op, ctx.b, ctx.ev
    rounded = rounded_rows(ctx, product, MultiplyAdd.of(WORD), None)

    def total(row: Index, column: Index) -> SSAValue:
        def block(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = at(rounded.scales.shape, (row, i))
            start = b.load(rounded.starts.pointer, rounded.starts.offset(b, place), WORD, 1)
            zero_point = ev.run(_parameter(ev, op.weight_zero_point, column, i, WORD))

            def step(k: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                where = rounded.numbers.offset(b, at(rounded.numbers.shape, (row, k)))
                factor = b.load(rounded.numbers.pointer, where, WORD, 1)
                number = ev.run(_whole_number(ev, op, op.weight, column, k))
                return [multiply_add(b, factor, number, sums[0], WORD)]

            low, high = b.part(i, product.size, product.depth)
            (total,) = b.fold(low, high, 1, [multiply(b, start, zero_point, WORD)], step)
            scale = b.load(rounded.scales.pointer, rounded.scales.offset(b, place), SINGLE, 1)
            step_size = ev.run(_parameter(ev, op.weight_scale, column, i, SINGLE))
            real = multiply(b, convert(b, total, WORD, SINGLE), step_size, SINGLE)
            return [multiply_add(b, real, scale, totals[0], SINGLE)]

        return b.fold(0, product.blocks, 1, [b.constant(f32, 0)], block)[0]

    return total


RULES: dict[type[Operation], RuleFunction] = {QnnDequantizeBlocksOp: EachLane(_dequantize)}

STRATEGIES: dict[type[Operation], Strategy] = {
    QnnDenseBlocksOp: (STREAMED, UNPACKED, ROUNDED, Implementation("each-number", _emit_each, 5)),
}
