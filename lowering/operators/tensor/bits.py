"""Kernel code of the operators on the representation of elements."""

from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.tensor import bits
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element, wide
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Rule, RuleFunction, element_of
from xrelay.lowering.emit.index import lanes_of, with_lanes
from xrelay.lowering.emit.position import Position
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.unary import absolute, one

PRODUCT = element(i64)


def _number_test(b: KernelBuilder, op: Operation, x: SSAValue, kind: Element) -> SSAValue:
    """Of integers, and of floating-point numbers in the type that they compute in."""
    if not kind.is_float:
        finite = isinstance(op, bits.IsFiniteOp)
        return b.constant(element_of(op.results[0]).compute, int(finite), lanes_of(x))
    if isinstance(op, bits.IsNanOp):
        return b.is_nan(x)
    predicate = "olt" if isinstance(op, bits.IsFiniteOp) else "oeq"
    return b.compare_floats(absolute(b, x, kind), predicate, one(b, x, inf))


def _fixed_point_multiply(
    b: KernelBuilder, op: bits.FixedPointMultiplyOp, x: SSAValue, kind: Element
) -> SSAValue:
    left, right = op.shifts
    x = convert(b, x, kind, PRODUCT)
    # Left of the point both factors are exact: their order does not matter modulo 2**64.
    factor = op.multiplier.value.data << left
    product = b.insert(arith.MuliOp(x, one(b, x, factor))).result
    rounded = b.insert(arith.AddiOp(product, one(b, x, 1 << (right - 1)))).result
    return convert(b, b.insert(arith.ShRSIOp(rounded, one(b, x, right))).result, PRODUCT, kind)


def _rule(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    b, kind = ev.b, element_of(op.operands[0])
    x = yield Demand((op.operands[0], 0), position)
    match op:
        case bits.BitwiseNotOp():
            return b.negate(x)
        case bits.ReinterpretOp():
            new = element_of(op.result).compute
            return x if new == kind.compute else b.bitcast(x, with_lanes(new, position.lanes))
        case bits.FixedPointMultiplyOp():
            return _fixed_point_multiply(b, op, x, kind)
        case _:
            return _number_test(b, op, convert(b, x, kind, wide(kind)), wide(kind))


RULES: dict[type[Operation], RuleFunction] = dict.fromkeys(bits.BIT_OPS, _rule)
