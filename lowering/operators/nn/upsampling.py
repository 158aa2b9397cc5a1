"""Kernel code of upsampling: places are computed with whole numbers, exactly."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.nn.upsampling import Upsampling3DOp, UpsamplingFamilyOp, UpsamplingOp
from xrelay.lowering.emit.elements import INDEX, Element, element
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
from xrelay.lowering.loops.axis_order import AxisOrder
from xrelay.lowering.math.arithmetic import add, multiply, subtract
from xrelay.lowering.math.convert import convert


def _upsampling(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, UpsamplingFamilyOp)
    if isinstance(op, UpsamplingOp) and op.is_cubic:
        raise DiagnosticException(f"{op.name}: 'method' is \"bicubic\", which legalize replaces")
    b, order = ev.b, AxisOrder(op.IMAGE_LAYOUT, op.data_layout)
    old = order.canonical(shape_of(op.data))[2:]
    new = order.canonical(position.shape)[2:]
    rounds = op.mode == "align_corners"

    def nearest(axis: int, place: Index) -> Index:
        scale, shift, divisor = op.place_factors(old[axis], new[axis])
        if rounds:
            scale, shift, divisor = 2 * scale, 2 * shift + divisor, 2 * divisor
        numerator = b.larger(b.add(b.mul(place, scale), shift), 0)
        return b.smaller(b.div(numerator, divisor), old[axis] - 1)

    def source(coords: tuple[Index, ...]) -> list[Index]:
        n, c, *places = order.named(b, coords)
        return order.stated(b, (n, c, *(nearest(i, place) for i, place in enumerate(places))))

    if not op.interpolates:
        straight = keeps_rows(op)
        return (yield from ev.mapped((op.data, 0), position, source, contiguous=straight))
    if position.lanes > 1:
        return (yield from EachLane(_upsampling)(ev, op, 0, position))
    n, c, *places = order.named(b, position.coords(b))
    kind = element_of(op.data)
    real = kind if kind.is_float and kind.bytes == 8 else element(f32)
    neighbours = [
        _neighbours(ev, op, (old[i], new[i]), place, real) for i, place in enumerate(places)
    ]

    def between(chosen: tuple[Index, ...]) -> Rule:
        if len(chosen) == len(places):
            where = at(shape_of(op.data), order.stated(b, (n, c, *chosen)))
            return convert(b, (yield Demand((op.data, 0), where)), kind, real)
        first, second, part = neighbours[len(chosen)]
        low = yield from between((*chosen, first))
        high = yield from between((*chosen, second))
        rest = subtract(b, b.constant(real.compute, 1), part, real)
        return add(b, multiply(b, low, rest, real), multiply(b, high, part, real), real)

    return convert(b, (yield from between(())), real, kind)


def _neighbours(
    ev: Evaluator, op: UpsamplingFamilyOp, lengths: tuple[int, int], place: Index, real: Element
) -> tuple[Index, Index, SSAValue]:
    """The elements before and after a place on an axis, and how far it is from the first one."""
    b, (old, new) = ev.b, lengths
    scale, shift, divisor = op.place_factors(old, new)
    numerator = b.larger(b.add(b.mul(place, scale), shift), 0)
    numerator = b.smaller(numerator, (old - 1) * divisor)
    first = b.div(numerator, divisor)
    rest = convert(b, b.index(b.sub(numerator, b.mul(first, divisor))), INDEX, real)
    part = b.insert(arith.DivfOp(rest, b.constant(real.compute, divisor))).result
    return first, b.smaller(b.add(first, 1), old - 1), part


def keeps_rows(op: UpsamplingFamilyOp) -> bool:
    """Whether neighbours in a row of the result are copies of neighbours in a row of `data`."""
    if op.interpolates:
        return False
    last = op.data_layout.axes[-1].name
    return last in "NC" or shape_of(op.data)[-1] == shape_of(op.result)[-1]


RULES: dict[type[Operation], RuleFunction] = {
    UpsamplingOp: _upsampling,
    Upsampling3DOp: _upsampling,
}
