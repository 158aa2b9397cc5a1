"""
Elementary functions that are made of those of `vector_math`: inverse trigonometric, hyperbolic and
inverse hyperbolic functions, the tangent, and logarithms with other bases.

The formulas are for f64; f32 is computed in f64 and rounded once. The largest errors are in
docs/numerics.md. Methods:

- atan: x is rotated by the nearest multiple of pi/8, so that |tan| <= tan(pi/16) is left, for which
  a dozen terms of the Taylor series are enough;
- asin(x) = atan(x / sqrt((1 - x) (1 + x))), acos(x) = 2 atan(sqrt((1 - x) / (1 + x)));
- log(1 + y) = log(u) + (y - (u - 1)) / u with u = 1 + y rounded (attributed to W. Kahan in the HP-15C
  Advanced Functions Handbook, 1982), from which the inverse hyperbolic functions follow;
- logarithms with bases 2 and 10 are products of two sums of two numbers, so that powers of the base
  have exact logarithms.
"""

from collections.abc import Callable
from math import log

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.math.elementary import (
    exp,
    expm1_of_negative,
    is_regular,
    log_as_sum,
    log_of_special,
    natural_log,
    normalised,
    not_a_number,
)
from xrelay.lowering.math.lanes import F32, Lanes
from xrelay.lowering.math.trigonometry import cos, sin

Function = Callable[[KernelBuilder, SSAValue], SSAValue]

LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LOG10_E = (0.4342944819032518, 1.098319650216765e-17)
"""Reciprocals of the natural logarithms of the bases, as sums of two f64 numbers."""

ROTATIONS = (
    (0.0, 0.0, 1.0, 0.0, 0.0),
    (
        0.198912367379658,
        0.39269908169872414,
        0.9238795325112867,
        0.3826834323650898,
        1.53080849893419e-17,
    ),
    (
        0.6681786379192989,
        0.7853981633974483,
        0.7071067811865476,
        0.7071067811865476,
        3.06161699786838e-17,
    ),
    (
        1.496605762665489,
        1.1780972450961724,
        0.3826834323650898,
        0.9238795325112867,
        4.59242549680257e-17,
    ),
    (5.027339492125848, 1.5707963267948966, 0.0, 1.0, 6.12323399573677e-17),
)
"""From which x on which rotation is used: the angle, its cosine, its sine, and what the angle lacks."""

LARGE = 28
"""From 2**LARGE on, x and sqrt(x**2 + 1) are the same number."""


def _in_f64(function: Function) -> Function:
    """The function, computed in f64."""

    def code(b: KernelBuilder, x: SSAValue) -> SSAValue:
        v = Lanes.of(b, x)
        if v.format != F32:
            return function(b, x)
        _, wide = v.widened(x)
        return v.narrowed(function(b, wide))

    return code


def _with_sign(v: Lanes, x: SSAValue, sign: SSAValue) -> SSAValue:
    """
    |x| with the sign of another number, in integer arithmetic: LLVM would exchange `copysign` with the
    conversions behind it, and then make one of those from f64 to f32 to f16, for which it calls a
    function that programs need not have.
    """
    size = v.mask(v.bits(x), v.format.magnitude)
    return v.float(v.b.either(size, v.mask(v.bits(sign), v.format.sign)))


def _atan(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    # The quotients of larger numbers would not be finite.
    size = v.at_most(v.abs(x), 2.0**1000)
    bits = v.bits(size)
    constants = [v.number(number) for number in ROTATIONS[0][1:]]
    for start, *numbers in ROTATIONS[1:]:
        before = b.compare_integers(bits, "ult", v.bits(v.number(start)))
        pairs = zip(constants, numbers, strict=True)
        constants = [v.select(before, old, v.number(new)) for old, new in pairs]
    angle, cosine, sine, rest = constants
    r = v.div(v.fma(size, cosine, v.neg(sine)), v.fma(size, sine, cosine))
    z = v.mul(r, r)
    series = [(-1.0) ** i / (2 * i + 1) for i in range(12, 0, -1)]
    tail = v.fma(v.mul(r, z), v.polynomial(z, series), rest)
    return _with_sign(v, v.add(angle, v.add(r, tail)), x)


def _asin(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    unit = v.number(1.0)
    other = v.sqrt(v.mul(v.sub(unit, x), v.add(unit, x)))
    return _atan(b, v.div(x, other))


def _acos(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    unit = v.number(1.0)
    half = _atan(b, v.sqrt(v.div(v.sub(unit, x), v.add(unit, x))))
    return v.add(half, half)


def _log1p(v: Lanes, y: SSAValue) -> SSAValue:
    """log(1 + y)"""
    u = v.add(v.number(1.0), y)
    logarithm = natural_log(v.b, u)
    lost = v.div(v.sub(y, v.sub(u, v.number(1.0))), u)
    return v.select(is_regular(v, v.bits(u)), v.add(logarithm, lost), logarithm)


def _log_of_double(v: Lanes, x: SSAValue) -> SSAValue:
    """log(2 x), which may be larger than any finite number's."""
    return v.add(natural_log(v.b, x), v.number(log(2)))


def _is_moderate(v: Lanes, x: SSAValue) -> SSAValue:
    """Whether 0 <= x < 2**LARGE."""
    return v.below(v.bits(x), v.format.power_of_two(LARGE))


def _asinh(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    size, unit = v.abs(x), v.number(1.0)
    square = v.mul(size, size)
    root = v.sqrt(v.add(unit, square))
    small = _log1p(v, v.add(size, v.div(square, v.add(unit, root))))
    return _with_sign(v, v.select(_is_moderate(v, size), small, _log_of_double(v, size)), x)


def _acosh(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    above = v.sub(x, v.number(1.0))
    root = v.sqrt(v.mul(above, v.add(x, v.number(1.0))))
    small = _log1p(v, v.add(above, root))
    result = v.select(_is_moderate(v, x), small, _log_of_double(v, x))
    return v.select(v.is_negative(x), not_a_number(v), result)


def _atanh(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    size = v.abs(x)
    quotient = v.div(v.add(size, size), v.sub(v.number(1.0), size))
    return _with_sign(v, v.mul(v.number(0.5), _log1p(v, quotient)), x)


def _half_powers(v: Lanes, size: SSAValue) -> tuple[SSAValue, SSAValue]:
    """e**size / 2 and e**-size / 2, for size >= 0."""
    root = exp(v.b, v.mul(size, v.number(0.5)))
    moderate = v.below(v.bits(size), v.format.power_of_two(5))
    # Where e**size may be infinite although its half is not, it is a product.
    product = v.mul(v.mul(root, v.number(0.5)), root)
    half = v.select(moderate, v.mul(exp(v.b, size), v.number(0.5)), product)
    return half, v.div(v.number(0.25), half)


def _cosh(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    half, other = _half_powers(v, v.abs(x))
    return v.add(half, other)


def _sinh(b: KernelBuilder, x: SSAValue) -> SSAValue:
    v = Lanes.of(b, x)
    size = v.abs(x)
    half, other = _half_powers(v, size)
    large = v.sub(half, other)
    # (1 - u) (1 + u) / 2 u with u = e**-x keeps the precision of small results.
    below = expm1_of_negative(v, v.neg(v.at_most(size, 1.0)))
    unit, two = v.number(1.0), v.number(2.0)
    small = v.div(v.mul(below, v.add(two, below)), v.mul(two, v.add(unit, below)))
    is_small = v.below(v.bits(size), v.format.power_of_two(0))
    return _with_sign(v, v.select(is_small, small, large), x)


def _tan(b: KernelBuilder, x: SSAValue) -> SSAValue:
    return Lanes.of(b, x).div(sin(b, x), cos(b, x))


def _logarithm(base: tuple[float, float]) -> Function:
    def code(b: KernelBuilder, x: SSAValue) -> SSAValue:
        v = Lanes.of(b, x)
        high, low = log_as_sum(v, *normalised(v, x))
        product, error = v.exact_product(high, v.number(base[0]))
        error = v.fma(low, v.number(base[0]), v.fma(high, v.number(base[1]), error))
        result = v.add(product, error)
        return v.select(is_regular(v, v.bits(x)), result, log_of_special(v, x))

    return code


acos = _in_f64(_acos)
"""The angle between 0 and pi with a cosine."""
acosh = _in_f64(_acosh)
"""The inverse hyperbolic cosine."""
asin = _in_f64(_asin)
"""The angle between -pi/2 and pi/2 with a sine."""
asinh = _in_f64(_asinh)
"""The inverse hyperbolic sine."""
atan = _in_f64(_atan)
"""The angle between -pi/2 and pi/2 with a tangent."""
atanh = _in_f64(_atanh)
"""The inverse hyperbolic tangent."""
cosh = _in_f64(_cosh)
"""The hyperbolic cosine."""
sinh = _in_f64(_sinh)
"""The hyperbolic sine."""
tan = _in_f64(_tan)
"""The tangent."""
log2 = _in_f64(_logarithm(LOG2_E))
"""The logarithm with base 2."""
log10 = _in_f64(_logarithm(LOG10_E))
"""The logarithm with base 10."""
