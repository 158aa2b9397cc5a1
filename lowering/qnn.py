"""Kernel code of the operators on quantised tensors."""

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.qnn import QnnConcatenateOp
from xrelay.lowering.builder import KernelBuilder
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import Element, element
from xrelay.lowering.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    leaf_element,
    leaf_shape,
)
from xrelay.lowering.position import Position, at

REAL = element(f64)


SCALE = element(f32)
ZERO_POINT = element(i32)


def _real(b: KernelBuilder, value: SSAValue, kind: Element) -> SSAValue:
    return convert(b, value, kind, REAL)


def _requantized(ev: Evaluator, op: QnnConcatenateOp, field: int, position: Position) -> Rule:
    """One element of a field with the scale and zero point of the output."""
    b, kind = ev.b, leaf_element((op.data, field))
    scalar = at((), ())
    scale = yield Demand((op.input_scales, field), scalar)
    zero_point = yield Demand((op.input_zero_points, field), scalar)
    new_scale = yield Demand((op.output_scale, 0), scalar)
    new_zero_point = yield Demand((op.output_zero_point, 0), scalar)
    raw = yield Demand((op.data, field), position)
    same = b.both(
        b.compare_floats(scale, "oeq", new_scale),
        b.compare_integers(zero_point, "eq", new_zero_point),
    )
    quotient = arith.DivfOp(_real(b, scale, SCALE), _real(b, new_scale, SCALE))
    ratio = b.insert(quotient).result
    centered = b.insert(
        arith.SubfOp(convert(b, raw, kind, REAL), _real(b, zero_point, ZERO_POINT))
    ).result
    scaled = b.insert(arith.MulfOp(centered, ratio)).result
    half_up = b.insert(arith.AddfOp(scaled, b.constant(f64, 0.5))).result
    rounded = b.insert(math.FloorOp(half_up)).result
    moved = b.insert(arith.AddfOp(rounded, _real(b, new_zero_point, ZERO_POINT))).result
    # Converting to integers clamps.
    return b.select(same, raw, convert(b, moved, REAL, kind))


def _concatenate(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, QnnConcatenateOp)
    b = ev.b
    if position.lanes > 1:
        parts: list[SSAValue] = []
        for i in range(position.lanes):
            parts.append((yield from _concatenate(ev, op, 0, position.lane(b, i))))
        return b.from_lanes(parts)
    axis, coords = op.normalized_axis, position.coords(b)
    start = 0
    choices: list[tuple[int, int, Position]] = []
    for field in range(len(op.data.type.types.data)):
        shape = leaf_shape((op.data, field))
        own = (*coords[:axis], b.sub(coords[axis], start), *coords[axis + 1 :])
        start += shape[axis]
        if 0 not in shape:
            choices.append((start, field, at(shape, own)))

    def choose(number: int) -> Rule:
        bound, field, place = choices[number]
        index = coords[axis]
        if number == len(choices) - 1:
            return (yield from _requantized(ev, op, field, place))
        if isinstance(index, int):
            chosen = _requantized(ev, op, field, place) if index < bound else choose(number + 1)
            return (yield from chosen)
        condition = b.compare_index(index, "slt", bound)
        then, otherwise = Block(), Block()
        with b.inside(then):
            first = yield from _requantized(ev, op, field, place)
        with b.inside(otherwise):
            rest = yield from choose(number + 1)
        return b.join(condition, (then, first), (otherwise, rest))

    return (yield from choose(0))


RULES: dict[type[Operation], RuleFunction] = {QnnConcatenateOp: _concatenate}
