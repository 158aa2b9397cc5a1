"""Conversion of values between element types, as `relay.cast` defines it."""

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import BFloat16Type, IntegerType, bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder, Saturated, Whole, mangle
from xrelay.lowering.emit.elements import Element, element, wide
from xrelay.lowering.emit.index import lanes_of, with_lanes
from xrelay.lowering.math.arithmetic import highest, lowest
from xrelay.lowering.math.half import (
    flush_to_bfloat,
    narrow_to_bfloat,
    narrow_to_half,
    widen_bfloat,
    widen_half,
)
from xrelay.lowering.math.quotients import known_number, rounded_quotient

BOOL, SINGLE, REAL = element(i1), element(f32), element(f64)
"""What much is converted to."""
MOST_ADDED = 1 << 16
"""To a rounded number, as the zero points of integers of 16 bits."""


def convert(b: KernelBuilder, value: SSAValue, old: Element, new: Element) -> SSAValue:
    """`value`, whose lanes are `old` elements, as `new` elements."""
    if old == new:
        return value
    if old.is_float and wide(old) != old:
        return convert(b, _widened(b, value, old), wide(old), new)
    lanes = lanes_of(value)
    if new.is_bool:
        if old.is_float:
            return b.is_nonzero(value)
        return b.compare_integers(value, "ne", b.constant(old.compute, 0, lanes))
    if old.is_float:
        return _from_float(b, value, old, new, lanes)
    if new.is_float:
        return _to_float(b, value, old, new, lanes)
    return _resize(b, value, old, IntegerType(new.bits), lanes)


def converts_quickly(b: KernelBuilder, old: Element, new: Element) -> bool:
    """Whether conversion between types of floating point is an instruction or two."""
    if not (old.is_float and new.is_float) or old.bytes > 4 or new.bytes > 4:
        return False
    short = {kind.compute for kind in (old, new) if wide(kind) != kind}
    if f16 in short and not b.target.f16c:
        return False
    return new.compute != bf16 or b.flushes_bfloat


def _from_float(
    b: KernelBuilder, value: SSAValue, old: Element, new: Element, lanes: int
) -> SSAValue:
    result = with_lanes(new.compute, lanes)
    if not new.is_float and new.bits < 32:
        return _clamped(b, value, old, new, lanes)
    if not new.is_float:
        return _saturated(b, value, old, new, lanes)
    if isinstance(new.compute, BFloat16Type):
        single = convert(b, value, old, wide(new))
        return flush_to_bfloat(b, single) if b.flushes_bfloat else narrow_to_bfloat(b, single)
    if new.bytes > old.bytes:
        return b.insert(llvm.FPExtOp(value, result)).result
    if new.bytes == 2 and (old.bytes == 8 or not b.target.f16c):
        return narrow_to_half(b, value)
    return b.insert(llvm.FPTruncOp(value, result)).result


def _saturated(
    b: KernelBuilder, value: SSAValue, old: Element, new: Element, lanes: int
) -> SSAValue:
    """Integers of 32 or 64 bits, of which NaN is 0 and what is beyond their bounds is the nearest one."""
    result, kind = with_lanes(new.compute, lanes), "si" if new.signed else "ui"
    if lanes == 1:
        name = f"llvm.fpto{kind}.sat.{mangle(result)}.{mangle(value.type)}"
        return b.instruction(name, [value], result)
    # LLVM converts one number after the other so that they saturate, and vectors of what is within the bounds at once. Beyond
    # them is the power of 2 that is the first number too large.
    beyond = 2.0 ** (new.bits - new.signed)
    below = beyond - 2.0 ** (new.bits - new.signed - (53 if old.bytes == 8 else 24))
    within = b.insert(
        arith.MaxnumfOp(value, b.constant(old.compute, float(lowest(new)), lanes))
    ).result
    within = b.insert(arith.MinnumfOp(within, b.constant(old.compute, below, lanes))).result
    # xDSL has this conversion as a call alone, which may leave lanes out: none of them.
    every, count = b.constant(BOOL.compute, 1, lanes), b.constant(i32, lanes)
    name = f"llvm.vp.fpto{kind}.{mangle(result)}.{mangle(value.type)}"
    number = b.instruction(name, [within, every, count], result)
    # Positive numbers have the order of their bits, above which are those of NaN.
    integer = i64 if old.bytes == 8 else i32
    first = b.bitcast(b.constant(old.compute, beyond), integer)
    bits = b.bitcast(value, with_lanes(integer, lanes))
    is_large = b.compare_integers(bits, "sge", b.splat(first, lanes))
    number = b.select(is_large, b.constant(new.compute, highest(new), lanes), number)
    return b.select(b.is_nan(value), b.constant(new.compute, 0, lanes), number)


def _clamped(b: KernelBuilder, value: SSAValue, old: Element, new: Element, lanes: int) -> SSAValue:
    """
    Integers of 8 or 16 bits, of which NaN is 0: floating point holds their bounds, and 32 bits what lies between.
    LLVM converts to them one number after the other.

    Numbers that were rounded, as those are that are quantised, are clamped before, and rounded by the conversion.
    """
    rounded = _rounded(value)
    x, added = rounded or (value, 0)
    is_bounded = False
    if rounded is not None:
        x, is_bounded = rounded_quotient(b, x, int(lowest(new)) - added, int(highest(new)) - added)

    def number(integer: float) -> SSAValue:
        return b.constant(old.compute, float(integer - added), lanes)

    if new.signed:
        x = b.select(b.is_nan(x), number(0), x)
    whole = x
    # Of NaN and a number both give the number: 0, the lowest of unsigned integers.
    x = b.insert(arith.MaxnumfOp(x, number(lowest(new)))).result
    x = b.insert(arith.MinnumfOp(x, number(highest(new)))).result
    if rounded is None:
        x = b.insert(math.TruncOp(x)).result
    # Beside this number the steps of the type are 1: the sum is rounded to even, and its lowest bits are the integer's.
    mantissa, bits = (52, i64) if old.bytes == 8 else (23, i32)
    shift = 1.5 * 2.0**mantissa
    shifted = b.insert(arith.AddfOp(x, b.constant(old.compute, shift, lanes))).result
    digits = b.bitcast(shifted, with_lanes(bits, lanes))
    if added:
        digits = b.insert(arith.AddiOp(digits, b.constant(bits, added, lanes))).result
    result = b.insert(llvm.TruncOp(digits, with_lanes(new.compute, lanes))).res
    b.whole_numbers[result] = Whole(shifted, shift - added, new)
    if rounded is not None and old.bytes == 4:
        b.saturated[result] = Saturated(whole, added, new, is_bounded)
    return result


def _rounded(value: SSAValue) -> tuple[SSAValue, int] | None:
    """What is rounded to even and the integer that is added to it, where a number is computed so."""
    op, added = value.owner, 0.0
    if isinstance(op, arith.AddfOp):
        known = known_number(op.rhs)
        # The sum must be exact.
        if known is None or not known.is_integer() or abs(known) > MOST_ADDED:
            return None
        op, added = op.lhs.owner, known
    return (op.operand, int(added)) if isinstance(op, math.RoundEvenOp) else None


def _widened(b: KernelBuilder, value: SSAValue, old: Element) -> SSAValue:
    if isinstance(old.compute, BFloat16Type):
        return widen_bfloat(b, value)
    if not b.target.f16c:
        return widen_half(b, value)
    return b.insert(llvm.FPExtOp(value, with_lanes(f32, lanes_of(value)))).result


def _to_float(
    b: KernelBuilder, value: SSAValue, old: Element, new: Element, lanes: int
) -> SSAValue:
    if wide(new) != new:
        # Whatever f32 rounds is infinite as f16; to bf16 ml_dtypes rounds twice as well.
        return convert(b, convert(b, value, old, wide(new)), wide(new), new)
    result = with_lanes(new.compute, lanes)
    whole = b.whole_numbers.get(value)
    if whole is not None and whole.kind == old and whole.sum.type == result:
        # It was a number before. The difference is exact, and no negative zero.
        other = b.constant(new.compute, whole.other, lanes)
        number = b.insert(arith.SubfOp(whole.sum, other)).result
        b.integers[number] = old
        return number
    if old.bits < 64:
        # Twice the width holds every unsigned number as a signed one.
        longer = (
            value if old.signed else _resize(b, value, old, i32 if old.bits < 32 else i64, lanes)
        )
        number = b.insert(llvm.SIToFPOp(longer, result)).result
        b.integers[number] = old
        return number
    if old.signed:
        return b.insert(llvm.SIToFPOp(value, result)).result
    # Halve numbers over the signed range, keeping the lost bit so that rounding stays right.
    one = b.constant(i64, 1, lanes)
    half = b.either(b.insert(arith.ShRUIOp(value, one)).result, b.both(value, one))
    halved = b.insert(llvm.SIToFPOp(half, result)).result
    doubled = b.insert(arith.AddfOp(halved, halved)).result
    direct = b.insert(llvm.SIToFPOp(value, result)).result
    negative = b.compare_integers(value, "slt", b.constant(i64, 0, lanes))
    return b.select(negative, doubled, direct)


def _resize(
    b: KernelBuilder, value: SSAValue, old: Element, new: IntegerType, lanes: int
) -> SSAValue:
    result = with_lanes(new, lanes)
    if new.width.data == old.bits:
        return value
    if new.width.data < old.bits:
        return b.insert(llvm.TruncOp(value, result)).res
    if old.signed:
        return b.insert(llvm.SExtOp(value, result)).res
    return b.insert(llvm.ZExtOp(value, result)).res
