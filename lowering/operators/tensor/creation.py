"""Kernel code of sequences of numbers and of one-hot tensors."""

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from xrelay.dialects.tensor.creation import ArangeOp, OneHotOp
from xrelay.lowering.emit.elements import element, wide
from xrelay.lowering.emit.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.reorder import each_lane, saturated_index

INDEX = element(i64)


def _arange(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, ArangeOp)
    b, kind = ev.b, element_of(op.start)
    computed = wide(kind)
    start = convert(b, (yield Demand((op.start, 0), at((), ()))), kind, computed)
    step = convert(b, (yield Demand((op.step, 0), at((), ()))), kind, computed)
    number = convert(b, b.index(position.coords(b)[0]), INDEX, computed)
    value = add(b, start, multiply(b, number, step, computed), computed)
    return convert(b, convert(b, value, computed, kind), kind, element_of(op.result))


def _one_hot(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, OneHotOp)
    b, axis = ev.b, op.normalized_axis
    indices, on, off = op.operands
    coords = position.coords(b)
    own = (*coords[:axis], *coords[axis + 1 :])
    raw = yield Demand((indices, 0), at(shape_of(indices), own))
    index = saturated_index(b, raw, element_of(indices))
    hot = b.compare_index(index, "eq", coords[axis])
    scalar, kind = at((), ()), element_of(op.results[0])
    first = convert(b, (yield Demand((on, 0), scalar)), element_of(on), kind)
    second = convert(b, (yield Demand((off, 0), scalar)), element_of(off), kind)
    return b.select(hot, first, second)


RULES: dict[type[Operation], RuleFunction] = {
    ArangeOp: each_lane(_arange),
    OneHotOp: each_lane(_one_hot),
}
