"""
Elementary functions in vector code without branches: exp, log, tanh, erf, the logistic function,
square roots and powers, for f32 and f64. (Sine and cosine are in `vector_math_trigonometry`.)

One formula serves every number of lanes, so that results do not depend on the place of an
element in a row. Infinities, NaN, zeros with signs, overflow and subnormal numbers are those of
IEEE 754 and C's <math.h>. The largest errors, measured, are in docs/numerics.md.

Methods:

- exp(x) = 2**n exp(r) with n = round(x / log 2) and |r| <= log(2) / 2; log 2 is a sum of two
  numbers, so that r is exact enough, and exp(r) a polynomial (W. J. Cody and W. Waite, Software
  Manual for the Elementary Functions, 1980);
- tanh and erf are -expm1(y) with some y <= 0, where expm1(y) = 2**n expm1(r) + (2**n - 1) keeps
  its relative precision near 0: tanh(x) = -expm1(-2 x) / (2 + expm1(-2 x)), and
  erf(x) = -expm1(log(1 - erf(x))), whose exponent is x times a polynomial;
- log(x) = e log 2 + log(1 + f) with x = 2**e (1 + f), 1 + f between the root of 1/2 and that of 2;
- x**y = exp(y log x), in f64 for f32, and with sums of two f64 numbers for f64 (T. J. Dekker,
  A floating-point technique for extending the available precision, 1971).
"""

from math import log

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.math.lanes import F32, Lanes
from xrelay.lowering.math.tables import ATANH, EXP_SHORT, LOG2_E, LOG_SHORT, TABLES, TWO_THIRDS


def _reduce(v: Lanes, x: SSAValue, offset: int) -> tuple[SSAValue, SSAValue]:
    """x = n log(2) + r: bits whose last ones are those of n + `offset`, and r."""
    high, low = TABLES[v.format].ln2
    anchor = v.number(v.format.rounder + offset)
    anchored = v.fma(x, v.number(LOG2_E), anchor)
    n = v.sub(anchored, anchor)
    r = v.fma(n, v.number(-low), v.fma(n, v.number(-high), x))
    return v.bits(anchored), r


def _scaled(v: Lanes, x: SSAValue, biased: SSAValue) -> SSAValue:
    """
    x * 2**n, where the last bits of `biased` are n + 2 bias: as two products, of which only the
    second is rounded, because 2**n alone may be too small or too large.
    """
    mantissa = v.format.mantissa
    whole = v.left(biased, mantissa)
    half = v.mask(v.left(biased, mantissa - 1), v.format.infinity)
    return v.mul(v.mul(x, v.float(v.minus(whole, half))), v.float(half))


def exp(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """e**x"""
    v = Lanes.of(b, x)
    table = TABLES[v.format]
    x = v.at_least(v.at_most(x, table.exp_most), table.exp_least)
    biased, r = _reduce(v, x, 2 * v.format.bias)
    return _scaled(v, v.polynomial(r, (*table.exp, 1.0, 1.0)), biased)


def decay(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """e**x for x <= 0, which cannot overflow."""
    v = Lanes.of(b, x)
    table = TABLES[v.format]
    # Between the smallest results and the normal numbers.
    lift = v.format.bias // 2 + 1
    biased, r = _reduce(v, v.at_least(x, table.exp_least), v.format.bias + lift)
    raised = v.float(v.left(biased, v.format.mantissa))
    result = v.mul(v.polynomial(r, (*table.exp, 1.0, 1.0)), raised)
    return v.mul(result, v.number(2.0**-lift))


def decay_to_zero(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """
    e**x for x <= 0, or 0 where that is less than 0.7 of the smallest normal number. Processors take a
    hundred times as long for subnormal results, which a softmax over masked elements is full of.
    """
    v = Lanes.of(b, x)
    table = TABLES[v.format]
    # Below this, the exponent of the factor is that of zero, and so is the product.
    size = v.at_least(x, -v.format.bias * log(2))
    biased, r = _reduce(v, size, v.format.bias)
    scale = v.float(v.left(biased, v.format.mantissa))
    return v.mul(v.polynomial(r, (*table.exp, 1.0, 1.0)), scale)


def expm1_of_negative(v: Lanes, x: SSAValue) -> SSAValue:
    """e**x - 1 for x <= 0 that is not so small that 2**n would be subnormal."""
    biased, r = _reduce(v, x, v.format.bias)
    scale = v.float(v.left(biased, v.format.mantissa))
    own = v.fma(v.mul(r, r), v.polynomial(r, TABLES[v.format].exp), r)
    return v.fma(scale, own, v.sub(scale, v.number(1.0)))


def sigmoid(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """1 / (1 + e**-x)"""
    v = Lanes.of(b, x)
    raised, unit = decay(b, v.neg(v.abs(x))), v.number(1.0)
    numerator = v.select(v.is_negative(x), raised, unit)
    return v.div(numerator, v.add(unit, raised))


def tanh(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The hyperbolic tangent."""
    v = Lanes.of(b, x)
    size = v.at_most(v.abs(x), TABLES[v.format].tanh_most)
    below = expm1_of_negative(v, v.mul(size, v.number(-2.0)))
    return v.with_sign(v.div(below, v.add(below, v.number(2.0))), x)


def erf(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The error function."""
    v = Lanes.of(b, x)
    table = TABLES[v.format]
    size = v.at_most(v.abs(x), table.erf_most)
    exponent = v.mul(size, v.polynomial(size, table.erf))
    return v.with_sign(expm1_of_negative(v, exponent), x)


def sqrt(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The square root."""
    return Lanes.of(b, x).sqrt(x)


def reciprocal(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """1 / x"""
    v = Lanes.of(b, x)
    return v.div(v.number(1.0), x)


def rsqrt(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """1 / the square root."""
    return reciprocal(b, sqrt(b, x))


def _split(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """
    A positive normal number as 2**e (1 + f), 1 + f between the root of 1/2 and that of 2: e and
    f, both exact.
    """
    mantissa, bias = v.format.mantissa, v.format.bias
    bits = v.bits(x)
    above = v.minus(bits, v.whole(TABLES[v.format].root_half))
    f = v.sub(v.float(v.minus(bits, v.mask(above, -1 << mantissa))), v.number(1.0))
    # The biased exponent becomes the last bits of a number: 2**mantissa + e + bias.
    last = v.right(v.plus(above, v.whole(bias << mantissa)), mantissa)
    anchored = v.float(v.b.either(last, v.whole(v.format.power_of_two(mantissa))))
    return v.sub(anchored, v.number(2.0**mantissa + bias)), f


def normalised(v: Lanes, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """`_split` for subnormal numbers too."""
    lift = v.number(v.format.mantissa + 2)
    bits, scaled = v.bits(x), v.bits(v.mul(x, v.number(2.0 ** (v.format.mantissa + 2))))
    # The mask of a comparison would have to be moved out of its register first.
    subnormal = v.sign_mask(v.minus(bits, v.whole(1 << v.format.mantissa)))
    e, f = _split(v, v.float(v.select_bits(subnormal, scaled, bits)))
    return v.sub(e, v.float(v.b.both(subnormal, v.bits(lift)))), f


def _log_of_split(v: Lanes, e: SSAValue, f: SSAValue, table: tuple[float, ...]) -> SSAValue:
    """log(2**e (1 + f))"""
    high, low = TABLES[v.format].ln2
    rest = v.fma(v.mul(f, f), v.polynomial(f, (*table, -0.5)), v.mul(e, v.number(low)))
    return v.fma(e, v.number(high), v.add(f, rest))


def is_regular(v: Lanes, bits: SSAValue) -> SSAValue:
    """Whether the bits are those of a positive finite number."""
    return v.below(v.minus(bits, v.whole(1)), v.format.infinity - 1)


def not_a_number(v: Lanes) -> SSAValue:
    """A NaN in every lane."""
    return v.float(v.whole(v.format.infinity + (1 << (v.format.mantissa - 1))))


def infinity(v: Lanes, *, negative: bool = False) -> SSAValue:
    """An infinity in every lane."""
    return v.float(v.whole(v.format.infinity + (v.format.sign if negative else 0)))


def natural_log(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The natural logarithm."""
    v = Lanes.of(b, x)
    bits = v.bits(x)
    result = _log_of_split(v, *normalised(v, x), TABLES[v.format].log)
    return v.select(is_regular(v, bits), result, log_of_special(v, x))


def log_of_special(v: Lanes, x: SSAValue) -> SSAValue:
    """The logarithm, with any base, of a number that is not positive and finite."""
    # Infinity and NaN stay as they are.
    special = v.select(v.is_negative(x), v.add(not_a_number(v), x), x)
    is_zero = v.equal(v.mask(v.bits(x), v.format.magnitude), 0)
    return v.select(is_zero, infinity(v, negative=True), special)


def power(b: KernelBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """x**y, as C's pow and NumPy's power define it for all special values."""
    v = Lanes.of(b, x)
    size = v.abs(x)
    regular = is_regular(v, v.bits(size))
    if v.format == F32:
        result = _power_of_size_f32(v, size, y, regular)
    else:
        result = _power_of_size_f64(v, size, y, regular)
    whole, odd = _parity(v, y)
    negative = v.is_negative(x)
    result = v.select(b.both(negative, odd), v.neg(result), result)
    undefined = b.both(b.both(negative, regular), b.negate(whole))
    result = v.select(undefined, not_a_number(v), result)
    always_one = b.either(
        v.equal(v.bits(x), v.format.power_of_two(0)), v.equal(v.bits(v.abs(y)), 0)
    )
    return v.select(always_one, v.number(1.0), result)


def _parity(v: Lanes, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether y is a whole number, infinity being one, and whether an odd one."""
    mantissa = v.format.mantissa
    size = v.abs(y)
    bits = v.bits(size)
    fraction_free = v.b.negate(v.below(bits, v.format.power_of_two(mantissa)))
    anchor = v.number(2.0**mantissa)
    anchored = v.add(size, anchor)
    same = v.b.compare_integers(v.bits(v.sub(anchored, anchor)), "eq", bits)
    last = v.mask(v.select(fraction_free, bits, v.bits(anchored)), 1)
    whole = v.b.either(fraction_free, same)
    odd = v.b.both(v.equal(last, 1), v.below(bits, v.format.power_of_two(mantissa + 1)))
    return whole, v.b.both(whole, odd)


LARGEST_EXPONENT = 2.0**100
"""Larger y make a power infinite, 0 or 1, like this one."""


def _power_of_size_f32(v: Lanes, size: SSAValue, y: SSAValue, regular: SSAValue) -> SSAValue:
    """size**y for size >= 0; NaN for 0**0."""
    w, wide = v.widened(size)
    # Every f32 is a normal number in f64.
    logarithm = _log_of_split(w, *_split(w, wide), LOG_SHORT)
    is_zero = w.equal(w.bits(wide), 0)
    special = w.select(is_zero, infinity(w, negative=True), wide)
    logarithm = w.select(regular, logarithm, special)
    _, y = v.widened(y)
    y = w.at_least(w.at_most(y, LARGEST_EXPONENT), -LARGEST_EXPONENT)
    # Beyond what f32 can hold, far within what f64 can.
    exponent = w.at_least(w.at_most(w.mul(y, logarithm), 100.0), -120.0)
    biased, r = _reduce(w, exponent, w.format.bias)
    result = w.polynomial(r, (*EXP_SHORT, 1.0, 1.0))
    return v.narrowed(w.mul(result, w.float(w.left(biased, w.format.mantissa))))


def _power_of_size_f64(v: Lanes, size: SSAValue, y: SSAValue, regular: SSAValue) -> SSAValue:
    """size**y for size >= 0; NaN for 0**0."""
    high, low = log_as_sum(v, *normalised(v, size))
    y = v.at_least(v.at_most(y, LARGEST_EXPONENT), -LARGEST_EXPONENT)
    exponent, error = v.exact_product(y, high)
    error = v.fma(y, low, error)
    is_zero = v.equal(v.bits(size), 0)
    special = v.select(is_zero, infinity(v, negative=True), size)
    exponent = v.select(regular, exponent, v.mul(y, special))
    error = v.select(regular, error, v.number(0.0))
    # Where these limits take effect, the result is 0 or infinite.
    exponent = v.at_least(v.at_most(exponent, 720.0), -760.0)
    error = v.at_least(v.at_most(error, 0.5), -0.5)
    biased, r = _reduce(v, exponent, 2 * v.format.bias)
    result = v.polynomial(r, (*TABLES[v.format].exp, 1.0, 1.0))
    return _scaled(v, v.fma(result, error, result), biased)


def log_as_sum(v: Lanes, e: SSAValue, f: SSAValue) -> tuple[SSAValue, SSAValue]:
    """
    log(2**e (1 + f)) as a sum of two f64 numbers, with about 65 bits:
    e log 2 + 2 s + s**3 (2/3 + s**2 A(s**2)) with s = f / (2 + f).
    """
    divisor, divisor_low = v.ordered_sum(v.number(2.0), f)
    s = v.div(f, divisor)
    product, error = v.exact_product(s, divisor)
    rest = v.sub(v.sub(f, product), v.fma(s, divisor_low, error))
    s_low = v.div(rest, divisor)

    z, z_low = v.exact_product(s, s)
    z_low = v.fma(v.add(s, s), s_low, z_low)
    factor, factor_low = v.ordered_sum(v.number(TWO_THIRDS[0]), v.mul(z, v.polynomial(z, ATANH)))
    factor_low = v.add(factor_low, v.number(TWO_THIRDS[1]))
    cube, cube_low = v.exact_product(s, z)
    cube_low = v.fma(s, z_low, v.fma(s_low, z, cube_low))
    term, term_low = v.exact_product(cube, factor)
    term_low = v.fma(cube, factor_low, v.fma(cube_low, factor, term_low))

    high, low = TABLES[v.format].ln2
    total, total_low = v.ordered_sum(v.add(s, s), term)
    total_low = v.add(total_low, v.fma(v.number(2.0), s_low, term_low))
    result, result_low = v.exact_sum(v.mul(e, v.number(high)), total)
    result_low = v.add(result_low, v.fma(e, v.number(low), total_low))
    return v.ordered_sum(result, result_low)


def power_of_constant(b: KernelBuilder, x: SSAValue, y: float) -> SSAValue:
    """x**y for a y that is known when the kernel is built."""
    v = Lanes.of(b, x)
    if y in (-1.0, -2.0):
        # The reciprocal comes first: the square of a small number has lost its precision.
        return power_of_constant(b, reciprocal(b, x), -y)
    match y:
        case 0.0:
            return v.number(1.0)
        case 1.0:
            return x
        case 2.0:
            return v.mul(x, x)
        case 3.0:
            return v.mul(v.mul(x, x), x)
        case 4.0:
            square = v.mul(x, x)
            return v.mul(square, square)
        case 0.5:
            return _root(v, x)
        case -0.5:
            return reciprocal(b, _root(v, x))
        case 0.75:
            # Usual in local response normalisation.
            root = _root(v, x)
            return v.mul(root, v.sqrt(root))
        case _:
            return power(b, x, v.number(y))


def _root(v: Lanes, x: SSAValue) -> SSAValue:
    """x**0.5: unlike the square root, that of -0 is 0, and that of -infinity infinity."""
    root = v.sqrt(v.add(x, v.number(0.0)))
    is_infinite = v.equal(v.bits(x), v.format.infinity | v.format.sign)
    return v.select(is_infinite, infinity(v), root)
