"""Kernel code of tensors with gaps between their elements."""

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.nn.dilate import DilateOp
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.operators.tensor.unary import nearest


def _dilate(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, DilateOp)
    b, shape = ev.b, shape_of(op.x)
    strides = positive_numbers(op.strides, "strides", len(shape))
    if position.lanes > 1 and (strides[-1] > 1 or not position.in_row):
        return (yield from EachLane(_dilate)(ev, op, 0, position))
    coords = position.coords(b)
    own = [b.div(coord, stride) for coord, stride in zip(coords, strides, strict=True)]
    # In a gap, the element before it is read and not used.
    value = yield Demand((op.x, 0), at(shape, own, position.lanes))
    inside: SSAValue | None = None
    for coord, stride in zip(coords, strides, strict=True):
        if stride > 1:
            test = b.compare_index(b.mod(coord, stride), "eq", 0)
            inside = test if inside is None else b.both(inside, test)
    if inside is None:
        return value
    kind = element_of(op.x)
    number = nearest(op.dilation_value.value.data, kind)
    return b.select(inside, value, b.constant(kind.compute, number, position.lanes))


RULES: dict[type[Operation], RuleFunction] = {DilateOp: _dilate}
