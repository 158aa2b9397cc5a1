"""Kernel code of the operators that take the dtype or the shape of another tensor."""

from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.tensor import like
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor import reduce as reduction
from xrelay.lowering.operators.tensor.creation import full
from xrelay.lowering.operators.tensor.reshape import reshape_rule
from xrelay.lowering.operators.tensor.transform import broadcast_rule


def _cast_like(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    data, other = op.operands
    value = yield Demand((data, 0), position)
    return convert(ev.b, value, element_of(data), element_of(other))


def _slice_like(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    data = (op.operands[0], 0)
    return (yield from ev.mapped(data, position, lambda coords: coords, contiguous=True))


def converted_number(number: int, kind: Element) -> int:
    """A whole number as an element of a type, as `relay.cast` from i64 converts it."""
    if kind.is_float:
        return number
    return int(number != 0) if kind.is_bool else number % 2**kind.bits


def _shape_of(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    yield from ()
    b, kind, shape = ev.b, element_of(op.results[0]), shape_of(op.operands[0])
    numbers = [b.constant(kind.compute, converted_number(dim, kind)) for dim in shape]
    lanes = [position.lane(b, i).coords(b)[0] for i in range(position.lanes)]

    def length(axis: Index) -> SSAValue:
        value = numbers[-1]
        for i in reversed(range(len(numbers) - 1)):
            value = b.select(b.compare_index(axis, "eq", i), numbers[i], value)
        return value

    return b.from_lanes(
        [numbers[axis] if isinstance(axis, int) else length(axis) for axis in lanes]
    )


def _ndarray_size(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    yield from ()
    kind = element_of(op.results[0])
    return ev.b.constant(kind.compute, converted_number(prod(shape_of(op.operands[0])), kind))


def _collapse_sum(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, like.CollapseSumOp)
    data = op.operands[0]
    shape, target = shape_of(data), shape_of(op.result)
    axes = op.summed_axes(shape, target)
    out_axes = range(len(shape) - len(target), len(shape))
    kind = wide(element_of(data))
    reduction.reduce_axes(ctx, op, axes, reduction.SUM, sink, kind, out_axes=out_axes)


RULES: dict[type[Operation], RuleFunction] = {
    like.CastLikeOp: _cast_like,
    like.FullLikeOp: full,
    like.BroadcastToLikeOp: broadcast_rule,
    like.ReshapeLikeOp: reshape_rule,
    like.SliceLikeOp: _slice_like,
    like.ShapeOfOp: _shape_of,
    like.NdarraySizeOp: _ndarray_size,
}

STRATEGIES: dict[type[Operation], Strategy] = {
    like.CollapseSumLikeOp: (Implementation("loops", _collapse_sum),),
    like.CollapseSumToOp: (Implementation("loops", _collapse_sum),),
}
