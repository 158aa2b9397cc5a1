"""Kernel code of elementwise arithmetic on quantised tensors."""

from collections.abc import Callable, Generator

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i8, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn import arithmetic as qnn
from xrelay.dialects.qnn.parameters import fixed_point, ui8
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.index import lanes_of
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math.convert import REAL
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.qnn.parameters import SCALE, WIDE, ZERO_POINT, Arithmetic, parameter

SCALAR = at((), ())
BYTE = element(ui8)


def _absolute(b: KernelBuilder, x: SSAValue) -> SSAValue:
    return b.insert(math.AbsFOp(x)).result


def _hardswish(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    between = v.at_most(v.at_least(v.add(x, v.number(3.0)), 0.0), 6.0)
    return v.div(v.mul(x, between), v.number(6.0))


FUNCTIONS: dict[type[Operation], Callable[[KernelBuilder, SSAValue], SSAValue]] = {
    qnn.QnnAbsOp: _absolute,
    qnn.QnnErfOp: vector_math.erf,
    qnn.QnnExpOp: vector_math.exp,
    qnn.QnnHardswishOp: _hardswish,
    qnn.QnnLogOp: vector_math.natural_log,
    qnn.QnnRsqrtOp: vector_math.rsqrt,
    qnn.QnnSigmoidOp: vector_math.sigmoid,
    qnn.QnnSqrtOp: vector_math.sqrt,
    qnn.QnnTanhOp: vector_math.tanh,
}
"""What the operators compute of numbers of f64."""


def _unary(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnUnaryOp)
    b, kind = ev.b, element_of(op.data)
    a = Arithmetic(b, position.lanes)
    q = yield Demand((op.data, 0), position)
    scale = yield Demand((op.scale, 0), SCALAR)
    zero_point = yield Demand((op.zero_point, 0), SCALAR)
    new_scale = yield Demand((op.output_scale, 0), SCALAR)
    new_zero_point = yield Demand((op.output_zero_point, 0), SCALAR)
    x = a.convert(a.dequantized(q, kind, scale, zero_point), SCALE, REAL)
    result = a.convert(FUNCTIONS[type(op)](b, x), REAL, SCALE)
    return a.quantized(result, new_scale, new_zero_point, kind)


def _operand(
    ev: Evaluator, op: qnn.QnnBinaryOp, number: int, position: Position
) -> Generator[Demand, SSAValue, tuple[SSAValue, SSAValue]]:
    """Elements of operand 0 or 1, as i32 without the zero point, and their scale."""
    value, axis = op.operands[number], op.channel_axes[number]
    scale, zero_point = op.operands[2 * number + 2 : 2 * number + 4]
    a = Arithmetic(ev.b, position.lanes)
    q = a.convert((yield from ev.broadcast(value, position)), element_of(value), ZERO_POINT)
    zeros = yield from parameter(ev, zero_point, axis, position)
    scales = yield from parameter(ev, scale, axis, position)
    return a.subtract(q, zeros), scales


def _sum(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnBinaryOp)
    a = Arithmetic(ev.b, position.lanes)
    new_scale = yield Demand((op.output_scale, 0), SCALAR)
    new_zero_point = yield Demand((op.output_zero_point, 0), SCALAR)
    terms: list[SSAValue] = []
    for number in (0, 1):
        centered, scale = yield from _operand(ev, op, number, position)
        factor = a.fixed_point(a.ratio(scale, new_scale))
        terms.append(a.fixed_point_product(centered, *factor))
    # The zero point that both operands are moved to is subtracted once: once remains.
    total = (a.add if isinstance(op, qnn.QnnAddOp) else a.subtract)(*terms)
    return a.clamped(a.add(total, new_zero_point), element_of(op.result))


def _product(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnMulOp)
    a = Arithmetic(ev.b, position.lanes)
    lhs, lhs_scale = yield from _operand(ev, op, 0, position)
    rhs, rhs_scale = yield from _operand(ev, op, 1, position)
    new_scale = yield Demand((op.output_scale, 0), SCALAR)
    new_zero_point = yield Demand((op.output_zero_point, 0), SCALAR)
    factor = a.fixed_point(a.ratio(a.multiply_real(lhs_scale, rhs_scale), new_scale))
    moved = a.fixed_point_product(a.multiply(lhs, rhs), *factor)
    return a.clamped(a.add(moved, new_zero_point), element_of(op.result))


def _leaky_relu(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnLeakyReluOp)
    b, lanes, kind = ev.b, position.lanes, element_of(op.data)
    a = Arithmetic(b, lanes)
    q = a.convert((yield Demand((op.data, 0), position)), kind, ZERO_POINT)
    scale = yield Demand((op.input_scale, 0), SCALAR)
    zero_point = yield Demand((op.input_zero_point, 0), SCALAR)
    new_scale = yield Demand((op.output_scale, 0), SCALAR)
    new_zero_point = yield Demand((op.output_zero_point, 0), SCALAR)

    def scaled(x: SSAValue, number: float) -> SSAValue:
        m, s = (b.constant(i64, whole) for whole in fixed_point(number))
        return a.fixed_point_product(x, m, s)

    factor = a.fixed_point(a.ratio(scale, new_scale))
    moved = a.fixed_point_product(a.subtract(q, zero_point), *factor)
    moved = a.add(moved, new_zero_point)
    alpha = op.alpha.value.data
    leaked = a.add(scaled(moved, alpha), scaled(new_zero_point, 1 - alpha))
    below = b.compare_integers(q, "slt", b.splat(zero_point, lanes))
    return a.clamped(b.select(below, leaked, moved), kind)


def _lookup(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, qnn.QnnLookupOp)
    b, kind, shape = ev.b, element_of(op.data), shape_of(op.table)
    q = yield Demand((op.data, 0), position)
    if kind.signed:
        flip = b.constant(i8, -128, position.lanes)
        q = b.insert(arith.XOrIOp(q, flip)).result
    if b.target.byte_permutes and element_of(op.table).bits == 8 and position.lanes > 1:
        parts: list[SSAValue] = []
        for start in range(0, 256, REGISTER):
            parts.append((yield Demand((op.table, 0), at(shape, [start], REGISTER))))
        return _picked(b, parts, q)
    places = Arithmetic(b, position.lanes).convert(q, BYTE, WIDE)
    places = [b.lane(places, i) for i in range(position.lanes)]
    leaves = [at(shape, [place]) for place in places]
    return (yield from ev.each_lane((op.table, 0), leaves))


REGISTER = 64
"""Bytes of a register that picks bytes of two."""


def _picked(b: KernelBuilder, table: list[SSAValue], q: SSAValue) -> SSAValue:
    """The bytes of four registers at the places `q`, at most as many as a register has."""
    lanes = lanes_of(q)
    places = b.shuffle(q, [min(i, lanes - 1) for i in range(REGISTER)])
    halves = [
        b.instruction("llvm.x86.avx512.vpermi2var.qi.512", [first, places, second], places.type)
        for first, second in (table[:2], table[2:])
    ]
    upper = b.compare_integers(places, "slt", b.constant(i8, 0, REGISTER))
    return b.first_lanes(b.select(upper, halves[1], halves[0]), lanes)


RULES: dict[type[Operation], RuleFunction] = {
    **dict.fromkeys(qnn.QNN_UNARY_OPS, _unary),
    qnn.QnnAddOp: _sum,
    qnn.QnnSubtractOp: _sum,
    qnn.QnnMulOp: _product,
    qnn.QnnLeakyReluOp: _leaky_relu,
    qnn.QnnLookupOp: _lookup,
}
