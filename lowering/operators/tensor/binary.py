"""Kernel code of the operators on two tensors."""

from collections.abc import Callable

from xdsl.dialects import arith, llvm, math
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.tensor import binary
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import Evaluator, Rule, RuleFunction, element_of
from xrelay.lowering.emit.position import Position
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math.arithmetic import add, maximum, minimum, multiply, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.unary import one

BinaryCode = Callable[[KernelBuilder, SSAValue, SSAValue, Element], SSAValue]


def _divide(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    if kind.is_float:
        return b.insert(arith.DivfOp(x, y)).result
    return integer_division(b, x, y, kind)[0]


def integer_division(
    b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element
) -> tuple[SSAValue, SSAValue]:
    """
    Quotient towards zero and remainder, both 0 for y = 0. The CPU would trap on that, and on the
    smallest number divided by -1.
    """
    zero = one(b, x, 0)
    by_zero = b.compare_integers(y, "eq", zero)
    divisor = b.select(by_zero, one(b, x, 1), y)
    if not kind.signed:
        quotient = b.insert(arith.DivUIOp(x, divisor)).result
        remainder = b.insert(arith.RemUIOp(x, divisor)).result
    else:
        by_minus = b.compare_integers(y, "eq", one(b, x, -1))
        divisor = b.select(by_minus, one(b, x, 1), divisor)
        quotient = b.insert(arith.DivSIOp(x, divisor)).result
        remainder = b.insert(arith.RemSIOp(x, divisor)).result
        quotient = b.select(by_minus, b.insert(arith.SubiOp(zero, x)).result, quotient)
    return b.select(by_zero, zero, quotient), b.select(by_zero, zero, remainder)


def _rounds_down(
    b: KernelBuilder, remainder: SSAValue, y: SSAValue, kind: Element
) -> SSAValue | None:
    """Where the floor of a quotient is below the quotient rounded towards zero."""
    if not kind.signed:
        return None
    zero = one(b, y, 0)
    signs = b.insert(arith.XOrIOp(remainder, y)).result
    differ = b.compare_integers(signs, "slt", zero)
    return b.both(differ, b.compare_integers(remainder, "ne", zero))


def _float_floor_quotient(b: KernelBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.insert(math.FloorOp(b.insert(arith.DivfOp(x, y)).result)).result


def _floor_divide(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    if kind.is_float:
        return _float_floor_quotient(b, x, y)
    quotient, remainder = integer_division(b, x, y, kind)
    down = _rounds_down(b, remainder, y, kind)
    if down is None:
        return quotient
    return b.select(down, add(b, quotient, one(b, x, -1), kind), quotient)


def _floor_mod(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    if kind.is_float:
        product = multiply(b, _float_floor_quotient(b, x, y), y, kind)
        return subtract(b, x, product, kind)
    remainder = integer_division(b, x, y, kind)[1]
    down = _rounds_down(b, remainder, y, kind)
    if down is None:
        return remainder
    return b.select(down, add(b, remainder, y, kind), remainder)


def _mod(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    if kind.is_float:
        return b.insert(llvm.FRemOp(x, y)).res
    return integer_division(b, x, y, kind)[1]


def _trunc_divide(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    quotient = _divide(b, x, y, kind)
    return b.insert(math.TruncOp(quotient)).result if kind.is_float else quotient


def _shift_in_range(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    return b.compare_integers(y, "ult", one(b, x, kind.bits))


def _left_shift(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    valid = _shift_in_range(b, x, y, kind)
    amount = b.select(valid, y, one(b, x, 0))
    return b.select(valid, b.insert(arith.ShLIOp(x, amount)).result, one(b, x, 0))


def _right_shift(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    valid = _shift_in_range(b, x, y, kind)
    if kind.signed:
        amount = b.select(valid, y, one(b, x, kind.bits - 1))
        return b.insert(arith.ShRSIOp(x, amount)).result
    amount = b.select(valid, y, one(b, x, 0))
    return b.select(valid, b.insert(arith.ShRUIOp(x, amount)).result, one(b, x, 0))


def _compare(float_predicate: str, integer_predicate: str, *, swap: bool = False) -> BinaryCode:
    def code(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
        if swap:
            x, y = y, x
        if kind.is_float:
            return b.compare_floats(x, float_predicate, y)
        predicate = integer_predicate
        if predicate not in ("eq", "ne"):
            predicate = ("s" if kind.signed else "u") + predicate
        return b.compare_integers(x, predicate, y)

    return code


def _exclusive_or(b: KernelBuilder, x: SSAValue, y: SSAValue, _: Element) -> SSAValue:
    return b.insert(arith.XOrIOp(x, y)).result


CODE: dict[type[Operation], BinaryCode] = {
    binary.AddOp: add,
    binary.SubtractOp: subtract,
    binary.MultiplyOp: multiply,
    binary.DivideOp: _divide,
    binary.FloorDivideOp: _floor_divide,
    binary.FloorModOp: _floor_mod,
    binary.ModOp: _mod,
    binary.PowerOp: lambda b, x, y, _: vector_math.power(b, x, y),
    binary.TruncDivideOp: _trunc_divide,
    binary.TruncModOp: _mod,
    binary.MaximumOp: maximum,
    binary.MinimumOp: minimum,
    binary.LeftShiftOp: _left_shift,
    binary.RightShiftOp: _right_shift,
    binary.BitwiseAndOp: lambda b, x, y, _: b.both(x, y),
    binary.BitwiseOrOp: lambda b, x, y, _: b.either(x, y),
    binary.BitwiseXorOp: _exclusive_or,
    binary.LogicalAndOp: lambda b, x, y, _: b.both(x, y),
    binary.LogicalOrOp: lambda b, x, y, _: b.either(x, y),
    binary.LogicalXorOp: _exclusive_or,
    binary.EqualOp: _compare("oeq", "eq"),
    binary.NotEqualOp: _compare("une", "ne"),
    binary.LessOp: _compare("olt", "lt"),
    binary.LessEqualOp: _compare("ole", "le"),
    binary.GreaterOp: _compare("olt", "lt", swap=True),
    binary.GreaterEqualOp: _compare("ole", "le", swap=True),
}


def _rule(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    b, (lhs, rhs) = ev.b, op.operands
    kind, out_kind = element_of(lhs), element_of(op.results[0])
    computed = wide(kind)
    x = convert(b, (yield from ev.broadcast(lhs, position)), kind, computed)
    y = convert(b, (yield from ev.broadcast(rhs, position)), kind, computed)
    result = CODE[type(op)](b, x, y, computed)
    return result if out_kind.is_bool else convert(b, result, computed, out_kind)


def _power_rule(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
    """An exponent that is known when the kernel is built may be a few products."""
    base, exponent = op.operands
    kind = element_of(base)
    # The elements of a parameter are not part of the kernel.
    number = None if (exponent, 0) in ev.buffers else number_of(exponent)
    if number is None or not kind.is_float:
        return (yield from _rule(ev, op, leaf, position))
    b, computed = ev.b, wide(kind)
    x = convert(b, (yield from ev.broadcast(base, position)), kind, computed)
    return convert(b, vector_math.power_of_constant(b, x, number), computed, kind)


RULES: dict[type[Operation], RuleFunction] = {
    **dict.fromkeys(binary.BINARY_OPS, _rule),
    binary.PowerOp: _power_rule,
}
