"""Kernel code of the operators on quantised tensors."""

from collections.abc import Generator, Sequence

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn import conversion as qnn
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element, wide
from xrelay.lowering.emit.evaluate import (
    Demand,
    Evaluator,
    Leaf,
    Rule,
    RuleFunction,
    element_of,
    leaf_element,
)
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math.arithmetic import highest, lowest, maximum, minimum
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.operators.qnn.parameters import SCALE, ZERO_POINT, Arithmetic, parameter
from xrelay.lowering.operators.tensor.transform import field_shapes, fields_of, join_fields


def _requantized(
    ev: Evaluator, op: qnn.QnnConcatenateOp, fields: Sequence[Leaf], position: Position
) -> Rule:
    """Elements of a field, given with its scale and zero point, as the output has them."""
    data, input_scale, input_zero_point = fields
    b, kind, a = ev.b, leaf_element(data), Arithmetic(ev.b, position.lanes)

    def real(scalar: SSAValue, of: Element) -> SSAValue:
        return b.splat(convert(b, scalar, of, REAL), position.lanes)

    scalar = at((), ())
    scale = yield Demand(input_scale, scalar)
    zero_point = yield Demand(input_zero_point, scalar)
    new_scale = yield Demand((op.output_scale, 0), scalar)
    new_zero_point = yield Demand((op.output_zero_point, 0), scalar)
    raw = yield Demand(data, position)
    same = b.both(
        b.compare_floats(scale, "oeq", new_scale),
        b.compare_integers(zero_point, "eq", new_zero_point),
    )
    ratio = a.divide_real(real(scale, SCALE), real(new_scale, SCALE))
    centered = a.subtract_real(convert(b, raw, kind, REAL), real(zero_point, ZERO_POINT))
    half_up = a.add_real(a.multiply_real(centered, ratio), a.number(0.5, REAL))
    rounded = b.insert(math.FloorOp(half_up)).result
    moved = a.add_real(rounded, real(new_zero_point, ZERO_POINT))
    # Converting to integers clamps.
    return b.select(same, raw, convert(b, moved, REAL, kind))


def _concatenate(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnConcatenateOp)

    given = (fields_of(ev, each) for each in (op.data, op.input_scales, op.input_zero_points))
    fields = list(zip(*given, strict=True))

    def field_rule(field: int, place: Position) -> Rule:
        return (yield from _requantized(ev, op, fields[field], place))

    shapes = field_shapes(op.data)
    return (yield from join_fields(ev.b, position, shapes, op.normalized_axis, field_rule))


def _quantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnQuantizeOp)
    axis = op.channel_axis
    x = yield Demand((op.data, 0), position)
    scale = yield from parameter(ev, op.output_scale, axis, position)
    zero_point = yield from parameter(ev, op.output_zero_point, axis, position)
    return Arithmetic(ev.b, position.lanes).quantized(x, scale, zero_point, element_of(op.result))


def _dequantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnDequantizeOp)
    axis = op.channel_axis
    q = yield Demand((op.data, 0), position)
    scale = yield from parameter(ev, op.input_scale, axis, position)
    zero_point = yield from parameter(ev, op.input_zero_point, axis, position)
    return Arithmetic(ev.b, position.lanes).dequantized(q, element_of(op.data), scale, zero_point)


def _requantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnRequantizeOp)
    a, axis, scalar = Arithmetic(ev.b, position.lanes), op.channel_axis, at((), ())
    raw = yield Demand((op.data, 0), position)
    scale = yield from parameter(ev, op.input_scale, axis, position)
    zero_point = yield from parameter(ev, op.input_zero_point, axis, position)
    new_scale = yield Demand((op.output_scale, 0), scalar)
    new_zero_point = yield Demand((op.output_zero_point, 0), scalar)
    ratio, kind = a.ratio(scale, new_scale), element_of(op.data)
    if op.float_dtype is None:
        centered = a.subtract(a.convert(raw, kind, ZERO_POINT), zero_point)
        factor = a.fixed_point(ratio)
        moved = a.fixed_point_product(centered, *factor, rounds_up=op.rounds_up)
        result = a.add(moved, new_zero_point)
    else:
        real = element(op.float_dtype)

        def number(whole: SSAValue) -> SSAValue:
            return a.convert(whole, ZERO_POINT, real)

        centered = a.subtract_real(a.convert(raw, kind, real), number(zero_point))
        moved = a.multiply_real(centered, a.convert(ratio, REAL, real))
        if op.rounds_to_even:
            whole = ev.b.insert(math.RoundEvenOp(moved)).result
            # The conversion clamps.
            return a.convert(a.add_real(whole, number(new_zero_point)), real, element_of(op.result))
        exact = a.add_real(moved, number(new_zero_point))
        if op.rounds_up:
            half_up = a.add_real(exact, a.number(0.5, real))
            whole = ev.b.insert(math.FloorOp(half_up)).result
        else:
            whole = a.round_half_away(exact)
        result = a.convert(whole, real, ZERO_POINT)
    return a.clamped(result, element_of(op.result))


def _simulated(
    ev: Evaluator, op: qnn.QnnSimulatedOp, position: Position
) -> Generator[Demand, SSAValue, tuple[SSAValue, SSAValue, SSAValue, SSAValue]]:
    """The number of the dtype, elements, scale and zero point, in the type that is computed in."""
    b, kind = ev.b, element_of(op.operands[0])
    a, (_, code, scale, zero_point) = Arithmetic(b, position.lanes), op.operands
    number = yield Demand((code, 0), at((), ()))
    x = a.convert((yield Demand((op.operands[0], 0), position)), kind, wide(kind))
    scales = yield from parameter(ev, scale, op.channel_axis, position)
    zeros = yield from parameter(ev, zero_point, op.channel_axis, position)
    return (
        number,
        x,
        b.splat(a.convert(scales, SCALE, wide(kind)), position.lanes),
        b.splat(a.convert(zeros, ZERO_POINT, wide(kind)), position.lanes),
    )


def _is_code(b: KernelBuilder, number: SSAValue, code: int, lanes: int) -> SSAValue:
    same = b.compare_integers(number, "eq", b.constant(ZERO_POINT.compute, code))
    return b.splat(same, lanes)


def _simulated_quantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnSimulatedQuantizeOp)
    b, lanes, kind = ev.b, position.lanes, element_of(op.data)
    a, computed = Arithmetic(b, lanes), wide(kind)
    code, x, scale, zero_point = yield from _simulated(ev, op, position)
    whole = b.insert(math.RoundEvenOp(a.divide_real(x, scale))).result
    moved = a.add_real(whole, zero_point)
    result = x
    for number, dtype in qnn.SIMULATED.items():
        low, high = (a.number(limit(element(dtype)), computed) for limit in (lowest, highest))
        clamped = maximum(b, minimum(b, moved, high, computed), low, computed)
        result = b.select(_is_code(b, code, number, lanes), clamped, result)
    return a.convert(result, computed, kind)


def _simulated_dequantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnSimulatedDequantizeOp)
    b, lanes, kind = ev.b, position.lanes, element_of(op.data)
    a, computed = Arithmetic(b, lanes), wide(kind)
    code, q, scale, zero_point = yield from _simulated(ev, op, position)
    exact = a.multiply_real(a.subtract_real(q, zero_point), scale)
    result = q
    for number in qnn.SIMULATED:
        result = b.select(_is_code(b, code, number, lanes), exact, result)
    return a.convert(result, computed, kind)


RULES: dict[type[Operation], RuleFunction] = {
    qnn.QnnConcatenateOp: _concatenate,
    qnn.QnnQuantizeOp: _quantize,
    qnn.QnnDequantizeOp: _dequantize,
    qnn.QnnRequantizeOp: _requantize,
    qnn.QnnSimulatedQuantizeOp: _simulated_quantize,
    qnn.QnnSimulatedDequantizeOp: _simulated_dequantize,
}
