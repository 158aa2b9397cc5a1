"""
Sine and cosine of f32 and f64, exact in the reduction of their argument for all finite numbers.

x = n pi/2 + r with |r| <= pi/4; the last two bits of n tell which polynomial in r is the result.

- |x| < 2**20: n pi/2 is subtracted in f64 in parts whose products with n are exact (W. J. Cody and
  W. Waite, Software Manual for the Elementary Functions, 1980).
- Otherwise, in a branch that runs when a lane needs it: with x = m 2**k and integer m, only a
  window of the binary digits of 2/pi * 2**k matters; those before it yield multiples of 4 in
  x * 2/pi, those behind it less than the last place. The product is one of integers (M. Payne
  and R. Hanek, Radian reduction for trigonometric functions, 1983).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from xdsl.dialects import arith, llvm, scf
from xdsl.dialects.builtin import IntegerType, f64, i32, i64
from xdsl.ir import Block, Region, SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import with_lanes
from xrelay.lowering.math.lanes import F32, F64, Lanes
from xrelay.lowering.math.tables import (
    DIGITS_F32,
    DIGITS_F64,
    HALF_PI,
    HALF_PI_PARTS,
    TABLES,
    TWO_OVER_PI,
)

LARGE = 20
"""From 2**LARGE on the reduction takes the branch."""

DIGIT = 32
"""Bits of a digit; digits are held in i64 lanes, so that their products fit."""

Reduced = tuple[SSAValue, SSAValue, SSAValue]
"""The bits of n as i64, and r as a sum of two f64 numbers."""


def sin(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The sine."""
    v = Lanes.of(b, x)
    sign = v.mask(v.bits(x), v.format.sign)
    value = v.bits(_sine_after(v, v.abs(x), 0))
    return v.float(b.insert(arith.XOrIOp(value, sign)).result)


def cos(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The cosine: the sine a quarter of the period further on."""
    v = Lanes.of(b, x)
    return _sine_after(v, v.abs(x), 1)


def _sine_after(v: Lanes, x: SSAValue, quarters: int) -> SSAValue:
    """sin(x + quarters pi/2) for x >= 0"""
    b = v.b
    w, wide = v.widened(x) if v.format == F32 else (v, x)
    n, r, r_low = _reduced(v, x, w, wide)
    n = w.plus(n, w.whole(quarters))
    if v.format == F32:
        r, r_low = v.narrowed(r), None
        n = b.insert(llvm.TruncOp(n, with_lanes(i32, v.count))).res
    z = v.mul(r, r)
    odd = v.equal(v.mask(n, 1), 1)
    value = v.select(odd, _cosine(v, r, r_low, z), _sine(v, r, r_low, z))
    # n = 2 or 3: the sign is the other one.
    flip = v.left(v.mask(n, 2), v.format.bits - 2)
    return v.float(b.insert(arith.XOrIOp(v.bits(value), flip)).result)


def _sine(v: Lanes, r: SSAValue, r_low: SSAValue | None, z: SSAValue) -> SSAValue:
    """sin(r + r_low) for |r| <= pi/4, z = r**2"""
    rest = v.mul(v.mul(r, z), v.polynomial(z, TABLES[v.format].sin))
    if r_low is not None:
        rest = v.add(rest, v.mul(r_low, v.fma(z, v.number(-0.5), v.number(1.0))))
    return v.add(r, rest)


def _cosine(v: Lanes, r: SSAValue, r_low: SSAValue | None, z: SSAValue) -> SSAValue:
    """cos(r + r_low) for |r| <= pi/4, z = r**2"""
    unit, half = v.number(1.0), v.mul(z, v.number(0.5))
    first = v.sub(unit, half)
    rounding = v.sub(v.sub(unit, first), half)
    rest = v.fma(v.mul(z, z), v.polynomial(z, TABLES[v.format].cos), rounding)
    if r_low is not None:
        rest = v.sub(rest, v.mul(r, r_low))
    return v.add(first, rest)


def _reduced(v: Lanes, x: SSAValue, w: Lanes, wide: SSAValue) -> Reduced:
    """x = n pi/2 + r for x >= 0; `wide` is x in f64, in which `w` computes."""
    b = v.b
    small = _reduced_in_parts(w, wide)
    # Infinities and NaN are small here: their remainder is NaN already.
    above = v.minus(v.bits(x), v.whole(v.format.power_of_two(LARGE)))
    large = v.below(above, v.format.infinity - v.format.power_of_two(LARGE))
    anywhere = large
    if v.count > 1:
        word = IntegerType(v.count)
        some = b.bitcast(large, word)
        anywhere = b.compare_integers(some, "ne", b.constant(word, 0))

    def chosen() -> Sequence[SSAValue]:
        exact = _reduced_by_digits(v, x, large)
        return [w.select(large, new, old) for new, old in zip(exact, small, strict=True)]

    n, r, r_low = _choose(b, anywhere, chosen, small)
    return n, r, r_low


def _choose(
    b: KernelBuilder,
    condition: SSAValue,
    then: Callable[[], Sequence[SSAValue]],
    otherwise: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """What `then` computes where a condition holds, values that are there elsewhere."""
    first, second = Block(), Block()
    with b.inside(first):
        b.insert(scf.YieldOp(*then()))
    with b.inside(second):
        b.insert(scf.YieldOp(*otherwise))
    types = [value.type for value in otherwise]
    return b.insert(scf.IfOp(condition, types, Region(first), Region(second))).results


def _reduced_in_parts(w: Lanes, x: SSAValue) -> Reduced:
    """For 0 <= x < 2**LARGE; r is NaN where x is NaN or infinite."""
    anchor = w.number(w.format.rounder)
    anchored = w.fma(x, w.number(TWO_OVER_PI), anchor)
    n = w.sub(anchored, anchor)
    first, second, third = (w.mul(n, w.number(part)) for part in HALF_PI_PARTS)
    r, error = w.exact_sum(w.sub(x, first), w.neg(second))
    r, error = w.exact_sum(r, w.sub(error, third))
    return w.bits(anchored), r, error


def _reduced_by_digits(v: Lanes, x: SSAValue, large: SSAValue) -> Reduced:
    """For finite x >= 2**LARGE, which `large` states; what other lanes get has no meaning."""
    b, w = v.b, Lanes(v.b, F64, v.count)
    digits = DIGITS_F32 if v.format == F32 else DIGITS_F64
    limbs = 1 if v.format == F32 else 2
    bits = v.bits(v.select(large, x, v.number(2.0**LARGE)))
    if v.format == F32:
        bits = b.insert(llvm.ZExtOp(bits, with_lanes(i64, v.count))).res
    mantissa = v.format.mantissa
    place = w.minus(w.right(bits, mantissa), w.whole(LARGE + v.format.bias))
    # x = m 2**(place + LARGE - mantissa): the digits stand at 2**(LARGE - mantissa) already.
    m = b.either(w.mask(bits, (1 << mantissa) - 1), w.whole(1 << mantissa))
    factor = [w.mask(m, 2**DIGIT - 1), w.right(m, DIGIT)][:limbs]
    window = _window(w, digits, place, 3 * limbs)
    product = _product(w, factor, window)

    top = b.either(w.left(product[0], DIGIT), product[1])
    n = w.right(w.plus(top, w.whole(1 << 61)), 62)
    # Shifted over the two bits before the point, the fraction is signed.
    fraction = w.left(top, 2)
    if limbs == 1:
        turn = w.mul(_to_float(w, fraction), w.number(HALF_PI[0] * 2.0**-64))
        r, r_low = turn, w.number(0.0)
    else:
        r, r_low = _radians(w, fraction, b.either(w.left(product[2], DIGIT), product[3]))
    return n, r, r_low


def _to_float(w: Lanes, integer: SSAValue) -> SSAValue:
    return w.b.insert(llvm.SIToFPOp(integer, with_lanes(f64, w.count))).result


def _radians(w: Lanes, fraction: SSAValue, behind: SSAValue) -> tuple[SSAValue, SSAValue]:
    """
    Quarters of the period as radians: `fraction` / 2**64, whose last two bits are still in
    `behind`, which follows.
    """
    b = w.b
    fraction = b.either(fraction, w.right(behind, 62))
    behind = w.left(behind, 2)
    # Three integers of at most 48 bits, which f64 holds.
    middle = b.either(w.left(w.mask(fraction, 0xFFFF), DIGIT), w.right(behind, DIGIT))
    pieces = (
        w.mul(_to_float(w, w.mask(fraction, -0x10000)), w.number(2.0**-64)),
        w.mul(_to_float(w, middle), w.number(2.0**-96)),
        w.mul(_to_float(w, w.mask(behind, 2**DIGIT - 1)), w.number(2.0**-128)),
    )
    turn, turn_low = w.exact_sum(pieces[0], pieces[1])
    turn, turn_low = w.exact_sum(turn, w.add(turn_low, pieces[2]))
    r, error = w.exact_product(turn, w.number(HALF_PI[0]))
    error = w.fma(turn, w.number(HALF_PI[1]), error)
    return w.ordered_sum(r, w.fma(turn_low, w.number(HALF_PI[0]), error))


def _window(w: Lanes, digits: Sequence[int], place: SSAValue, count: int) -> list[SSAValue]:
    """`count` digits of a long number from bit `place` on, in every lane another."""
    number = w.right(place, DIGIT.bit_length() - 1)
    chosen = [w.whole(digit) for digit in digits]
    # By 2**i digits at a time, the longest way first; one more digit than wanted, to shift in.
    for i in reversed(range((len(digits) - count - 1).bit_length())):
        step = 1 << i
        length = min(len(chosen) - step, count + step)
        moves = w.equal(w.mask(number, step), step)
        chosen = [w.select(moves, chosen[j + step], chosen[j]) for j in range(length)]
    bit = w.mask(place, DIGIT - 1)
    joined = [w.b.either(w.left(high, DIGIT), low) for high, low in pairwise(chosen)]
    return [w.right(w.left(pair, bit), DIGIT) for pair in joined][:count]


def _product(w: Lanes, factor: Sequence[SSAValue], window: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The last digits of a product, as many as `window` has, most significant first; `factor` has
    its least significant digit first.
    """
    columns: list[list[SSAValue]] = [[] for _ in window]
    for i, digit in enumerate(reversed(window)):
        for j, limb in enumerate(factor):
            if i + j < len(window):
                part = w.times(limb, digit)
                columns[i + j].append(w.mask(part, 2**DIGIT - 1))
                if i + j + 1 < len(window):
                    columns[i + j + 1].append(w.right(part, DIGIT))
    result: list[SSAValue] = []
    carry = w.whole(0)
    for column in columns:
        total = carry
        for part in column:
            total = w.plus(total, part)
        result.append(w.mask(total, 2**DIGIT - 1))
        carry = w.right(total, DIGIT)
    return result[::-1]
