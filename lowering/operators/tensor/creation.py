"""Kernel code of filled tensors, sequences of numbers and one-hot tensors."""

from xdsl.ir import Operation

from xrelay.dialects.tensor.creation import (
    ArangeOp,
    FullOp,
    OneHotOp,
    OnesLikeOp,
    OnesOp,
    ZerosLikeOp,
    ZerosOp,
)
from xrelay.lowering.emit.elements import INDEX, wide
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    leaf_element,
    shape_of,
)
from xrelay.lowering.emit.hoist import before_loops
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.reorder import saturated_index


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
    b, axis, lanes = ev.b, op.normalized_axis, position.lanes
    if not position.in_row:
        return (yield from EachLane(_one_hot)(ev, op, 0, position))
    indices, on, off = op.operands
    scalar, kind = at((), ()), element_of(op.results[0])
    with before_loops(b, ()):
        first = convert(b, (yield Demand((on, 0), scalar)), element_of(on), kind)
        second = convert(b, (yield Demand((off, 0), scalar)), element_of(off), kind)
    coords = position.coords(b)
    shape, own = shape_of(indices), (*coords[:axis], *coords[axis + 1 :])
    if axis == len(position.shape) - 1:
        # One index for all lanes, once for a row.
        with before_loops(b, own):
            raw = yield Demand((indices, 0), at(shape, own))
            index = saturated_index(b, raw, element_of(indices))
        hot = b.compare_lanes("eq", b.sub(index, coords[axis]), lanes, kind)
    else:
        raw = yield Demand((indices, 0), at(shape, own, lanes))
        place = b.splat(b.index(coords[axis]), lanes)
        hot = b.compare_integers(convert(b, raw, element_of(indices), INDEX), "eq", place)
    return b.select(hot, b.splat(first, lanes), b.splat(second, lanes))


def _filled(number: int) -> RuleFunction:
    def rule(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
        yield from ()
        kind = leaf_element((op.results[0], leaf))
        return ev.b.constant(kind.compute, number, position.lanes)

    return rule


def full(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    """The last operand, a scalar, as an element of the result, wherever it is asked for."""
    fill = op.operands[-1]
    value = yield Demand((fill, 0), at((), ()))
    converted = convert(ev.b, value, element_of(fill), element_of(op.results[0]))
    return ev.b.splat(converted, position.lanes)


RULES: dict[type[Operation], RuleFunction] = {
    ArangeOp: EachLane(_arange),
    FullOp: full,
    OneHotOp: _one_hot,
    OnesLikeOp: _filled(1),
    OnesOp: _filled(1),
    ZerosLikeOp: _filled(0),
    ZerosOp: _filled(0),
}
