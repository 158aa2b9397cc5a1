"""
Kernel code of matrices of a few bits a number: on demand, and products with them.

Those of constant matrices unpack words in registers (`blocks_streamed.py`) or panels into memory (`blocks_unpacked.py`).
What neither can do is computed number by number.
"""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
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
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.few_bits import SINGLE, WORD
from xrelay.lowering.math.arithmetic import multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct
from xrelay.lowering.operators.qnn.blocks_streamed import STREAMED
from xrelay.lowering.operators.qnn.blocks_unpacked import UNPACKED


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


RULES: dict[type[Operation], RuleFunction] = {QnnDequantizeBlocksOp: EachLane(_dequantize)}

STRATEGIES: dict[type[Operation], Strategy] = {
    QnnDenseBlocksOp: (STREAMED, UNPACKED, Implementation("each-number", _emit_each, 5)),
}
