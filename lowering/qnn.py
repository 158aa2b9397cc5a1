"""Kernel code of the operators on quantised tensors."""

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn import QnnConcatenateOp
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import Element, element
from xrelay.lowering.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    leaf_element,
)
from xrelay.lowering.position import Position, at
from xrelay.lowering.transform import field_shapes, join_fields

REAL = element(f64)


SCALE = element(f32)
ZERO_POINT = element(i32)


def _requantized(ev: Evaluator, op: QnnConcatenateOp, field: int, position: Position) -> Rule:
    """Elements of a field with the scale and zero point of the output."""
    b, kind, lanes = ev.b, leaf_element((op.data, field)), position.lanes

    def real(scalar: SSAValue, of: Element) -> SSAValue:
        return b.splat(convert(b, scalar, of, REAL), lanes)

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
    ratio = b.insert(arith.DivfOp(real(scale, SCALE), real(new_scale, SCALE))).result
    centered = b.insert(
        arith.SubfOp(convert(b, raw, kind, REAL), real(zero_point, ZERO_POINT))
    ).result
    scaled = b.insert(arith.MulfOp(centered, ratio)).result
    half_up = b.insert(arith.AddfOp(scaled, b.constant(f64, 0.5, lanes))).result
    rounded = b.insert(math.FloorOp(half_up)).result
    moved = b.insert(arith.AddfOp(rounded, real(new_zero_point, ZERO_POINT))).result
    # Converting to integers clamps.
    return b.select(same, raw, convert(b, moved, REAL, kind))


def _concatenate(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, QnnConcatenateOp)

    def field_rule(field: int, place: Position) -> Rule:
        return (yield from _requantized(ev, op, field, place))

    shapes = field_shapes(op.data)
    return (yield from join_fields(ev.b, position, shapes, op.normalized_axis, field_rule))


RULES: dict[type[Operation], RuleFunction] = {QnnConcatenateOp: _concatenate}
