"""Quotients that are rounded to integers, as products with the parts of the reciprocal."""

from fractions import Fraction

import numpy as np
import pytest

from xrelay.lowering.math.quotients import Term, reciprocal_parts, sum_factors


def rounded(x: Fraction) -> np.float32:
    """The nearest number of f32; ties go to even."""
    nearest = np.float32(float(x))
    others = [np.nextafter(nearest, np.float32(side)) for side in (-np.inf, np.inf)]

    return min(
        (nearest, *others),
        key=lambda each: (abs(Fraction(float(each)) - x), int(each.view(np.int32)) % 2),
    )


def product_of(x: np.float32, parts: tuple[float, float]) -> np.float32:
    """fma(x, a, x * b), each with one rounding."""
    whole, rest = (Fraction(each) for each in parts)
    least = Fraction(float(rounded(Fraction(float(x)) * rest)))
    return rounded(Fraction(float(x)) * whole + least)


@pytest.mark.parametrize("divisor", [0.02, 1 / 3, 7.3e-5, 1e4, 1.9999998, 2.0**-60])
def test_same_integers(divisor: float) -> None:
    """Beside each half, as rational arithmetic has it."""
    low, high = -130, 125
    scale = np.float32(divisor)
    parts = reciprocal_parts(float(scale), low, high)
    assert parts is not None
    for half in np.arange(low, high) + 0.5:
        middle = np.float32(half * float(scale))
        for side in (-np.inf, np.inf):
            for x in (middle, np.nextafter(middle, np.float32(side))):
                assert np.rint(product_of(x, parts)) == np.rint(x / scale), x


def test_parts() -> None:
    """The reciprocal rounded down, and what it lacks of 1 / 3; nothing is lacking of a power of two."""
    assert reciprocal_parts(4.0, -128, 127) == (0.25, 0.0)
    found = reciprocal_parts(3.0, -128, 127)
    assert found is not None
    whole, rest = (Fraction(each) for each in found)
    assert whole < Fraction(1, 3) < whole + Fraction(1, 2**25)
    assert abs(whole + rest - Fraction(1, 3)) < Fraction(1, 2**49)


@pytest.mark.parametrize(
    "divisor", [0.1, 2 - 2.0**-23, 0.0, -0.5, 2.0**-61, 2.0**61, float("inf"), float("nan")]
)
def test_divisions_that_stay(divisor: float) -> None:
    """0.1 is no number of f32; where all bits of a divisor are ones, two parts are not enough; others may be subnormal."""
    assert reciprocal_parts(divisor, -128, 127) is None


def test_bounds_of_divisors() -> None:
    """Those that are just taken."""
    assert reciprocal_parts(2.0**-60, 0, 255) == (2.0**60, 0.0)
    assert reciprocal_parts(2.0**60, 0, 255) == (2.0**-60, 0.0)


def dequantized(term: Term, integer: int) -> np.float32:
    """What a term makes of an integer."""
    return (np.float32(integer) + np.float32(term.added)) * np.float32(term.scale)


@pytest.mark.parametrize(
    "scales", [(0.0527979, 0.0322591, 0.0379013), (1 / 3, 0.02, 0.11), (0.5, 0.25, 0.5)]
)
def test_sums(scales: tuple[float, ...]) -> None:
    """Pairs here and there, and such whose sum is near a half, as rational arithmetic has them."""
    one, other, divisor = (np.float32(each) for each in scales)
    p, q = Term(0, 255, -130.0, float(one)), Term(-128, 127, 7.0, float(other))
    low, high = -100, 155
    factors = sum_factors(p, q, float(divisor), low, high)
    assert factors is not None
    a, b, c = map(Fraction, factors)
    n, m = np.meshgrid(np.arange(0, 256), np.arange(-128, 128))
    sums = (n - 130) * float(one) + (m + 7) * float(other)
    from_half = np.abs((sums / float(divisor)) % 1 - 0.5)
    near = np.argsort(from_half, axis=None)[:300]
    for number in (*near, *range(0, n.size, 997)):
        first, second = int(n.flat[number]), int(m.flat[number])
        quotient = (dequantized(p, first) + dequantized(q, second)) / divisor
        found = rounded(first * a + Fraction(float(rounded(second * b + c))))
        assert np.clip(np.rint(found), low, high) == np.clip(np.rint(quotient), low, high)


@pytest.mark.parametrize(
    ("p", "divisor"),
    [
        (Term(0, 256, 0.0, 0.5), 1.0),
        (Term(0, -1, 0.0, 0.5), 1.0),
        (Term(0, 255, 0.0, 0.5), 2.0**-61),
        (Term(0, 255, 0.0, 0.5), 2.0**61),
        (Term(0, 255, 0.0, 0.5), 0.0),
        (Term(0, 255, 0.0, float("nan")), 1.0),
    ],
)
def test_sums_that_stay(p: Term, divisor: float) -> None:
    """More pairs than two bytes have, none, and divisors that are too small or too large."""
    assert sum_factors(p, Term(-128, 127, 0.0, 0.5), divisor, -128, 127) is None


def test_factors_of_sums() -> None:
    """As they should be where nothing is rounded."""
    p, q = Term(0, 255, -2.0, 0.5), Term(-128, 127, 3.0, 0.25)
    assert sum_factors(p, q, 2.0, -128, 127) == (0.25, 0.125, -0.125)


def test_no_factors_of_sums() -> None:
    """Of none of those beside the usual factors all pairs have the same integer."""
    scales = [float(np.float32(each)) for each in (0.053, 0.032, 0.0384)]
    p, q = Term(0, 255, -130.0, scales[0]), Term(-128, 127, 7.0, scales[1])
    assert sum_factors(p, q, scales[2], -100, 155) is None
