"""Kernel code of the elementwise operators with one operand."""

from collections.abc import Callable
from math import isfinite, isnan, trunc

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.tensor import unary
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, nearest_float, wide
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Rule, RuleFunction, element_of
from xrelay.lowering.emit.index import lanes_of, scalar_type
from xrelay.lowering.emit.position import Position
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math import trigonometry as vector_math_trigonometry
from xrelay.lowering.math.arithmetic import highest, lowest, maximum, minimum
from xrelay.lowering.math.convert import convert

UnaryCode = Callable[[KernelBuilder, SSAValue, Element], SSAValue]


def _rounded_by(op: Callable[[SSAValue], Operation]) -> UnaryCode:
    return lambda b, x, kind: b.insert(op(x)).results[0] if kind.is_float else x


def _function(code: Callable[[KernelBuilder, SSAValue], SSAValue]) -> UnaryCode:
    return lambda b, x, _: code(b, x)


def one(b: KernelBuilder, like: SSAValue, value: float = 1.0) -> SSAValue:
    """A constant with the type of another value."""
    return b.constant(scalar_type(like), value, lanes_of(like))


def _negative(b: KernelBuilder, x: SSAValue, kind: Element) -> SSAValue:
    if kind.is_float:
        return b.insert(arith.NegfOp(x)).result
    return b.insert(arith.SubiOp(one(b, x, 0), x)).result


def absolute(b: KernelBuilder, x: SSAValue, kind: Element) -> SSAValue:
    """|x|; integers wrap around."""
    if kind.is_float:
        return b.insert(math.AbsFOp(x)).result
    if not kind.signed:
        return x
    return b.insert(arith.MaxSIOp(x, _negative(b, x, kind))).result


def _sign(b: KernelBuilder, x: SSAValue, kind: Element) -> SSAValue:
    zero = one(b, x, 0)
    if kind.is_float:
        positive, negative = b.compare_floats(zero, "olt", x), b.compare_floats(x, "olt", zero)
        neither = b.select(b.compare_floats(x, "uno", x), x, zero)  # The sign of -0 is 0.
        return b.select(positive, one(b, x), b.select(negative, one(b, x, -1), neither))
    if not kind.signed:
        return b.select(b.compare_integers(x, "ne", zero), one(b, x), zero)
    positive, negative = b.compare_integers(zero, "slt", x), b.compare_integers(x, "slt", zero)
    return b.select(positive, one(b, x), b.select(negative, one(b, x, -1), zero))


def _relu(b: KernelBuilder, x: SSAValue, kind: Element) -> SSAValue:
    return x if not kind.signed else maximum(b, x, one(b, x, 0), kind)


def nearest(number: float, kind: Element) -> float:
    """The nearest number that an element type has. NaN is 0 as an integer."""
    if not isinstance(kind.compute, IntegerType):
        return nearest_float(number, kind.compute)
    low, high = lowest(kind), highest(kind)
    if isnan(number):
        return 0
    return low if number <= low else high if number >= high else round(number)


def _clip(b: KernelBuilder, op: unary.ClipOp, x: SSAValue) -> SSAValue:
    kind = element_of(op.data)
    low, high = (nearest(bound.value.data, kind) for bound in (op.a_min, op.a_max))
    computed = wide(kind)
    return minimum(b, maximum(b, x, one(b, x, low), computed), one(b, x, high), computed)


def _leaky_relu(b: KernelBuilder, op: unary.LeakyReluOp, x: SSAValue) -> SSAValue:
    kind = wide(element_of(op.data))
    alpha = op.alpha.value.data
    if kind.is_float:
        scaled = b.insert(arith.MulfOp(x, one(b, x, alpha))).result
        return b.select(b.compare_floats(one(b, x, 0), "olt", x), x, scaled)
    whole = one(b, x, nearest(trunc(alpha) if isfinite(alpha) else alpha, kind))
    scaled = b.insert(arith.MuliOp(x, whole)).result
    less = "slt" if kind.signed else "ult"
    return b.select(b.compare_integers(one(b, x, 0), less, x), x, scaled)


CODE: dict[type[Operation], UnaryCode] = {
    unary.ExpOp: _function(vector_math.exp),
    unary.LogOp: _function(vector_math.natural_log),
    unary.SqrtOp: _function(vector_math.sqrt),
    unary.RsqrtOp: _function(vector_math.rsqrt),
    unary.TanhOp: _function(vector_math.tanh),
    unary.SigmoidOp: _function(vector_math.sigmoid),
    unary.ErfOp: _function(vector_math.erf),
    unary.SinOp: _function(vector_math_trigonometry.sin),
    unary.CosOp: _function(vector_math_trigonometry.cos),
    unary.FloorOp: _rounded_by(math.FloorOp),
    unary.CeilOp: _rounded_by(math.CeilOp),
    unary.RoundOp: _rounded_by(math.RoundEvenOp),
    unary.TruncOp: _rounded_by(math.TruncOp),
    unary.NegativeOp: _negative,
    unary.AbsOp: absolute,
    unary.SignOp: _sign,
    unary.ReluOp: _relu,
    unary.LogicalNotOp: lambda b, x, _: b.negate(x),
}


def apply(b: KernelBuilder, op: Operation, x: SSAValue) -> SSAValue:
    """The code of an elementwise operator for the elements `x` of its operand."""
    kind = element_of(op.operands[0])
    computed = wide(kind)
    match op:
        case unary.CopyOp():
            return x
        case unary.CastOp():
            return convert(b, x, kind, element_of(op.result))
        case unary.ClipOp():
            result = _clip(b, op, convert(b, x, kind, computed))
        case unary.LeakyReluOp():
            result = _leaky_relu(b, op, convert(b, x, kind, computed))
        case _:
            result = CODE[type(op)](b, convert(b, x, kind, computed), computed)
    return convert(b, result, computed, kind)


def _rule(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    return apply(ev.b, op, (yield Demand((op.operands[0], 0), position)))


RULES: dict[type[Operation], RuleFunction] = dict.fromkeys(unary.UNARY_OPS, _rule)
