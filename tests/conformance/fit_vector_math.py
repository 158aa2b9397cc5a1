"""
Computes the coefficients of `xrelay.lowering.math.tables` and prints that module's tables.

    python tests/conformance/fit_vector_math.py

Every polynomial is the best one in the maximum norm, weighted so that the norm is the relative
error of the function that the polynomial is part of, found by Remez' exchange algorithm in 50
digits. The coefficients are then rounded to the format one after the other, from the lowest
degree on: those that follow make up for the rounding of those before.

Source: E. Remez, 1934; W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980.
Needs mpmath.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp

mp.mp.dps = 50
Function = Callable[[Any], Any]
POINTS = 1200


def grid(low: Any, high: Any) -> list[Any]:
    """Points that crowd together at both ends."""
    middle, radius = (high + low) / 2, (high - low) / 2
    return [middle - radius * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / POINTS) for i in range(POINTS)]


def remez(f: Function, weight: Function, low: Any, high: Any, powers: Sequence[int]) -> list[Any]:
    """
    The coefficients c of the sum of c[i] x**powers[i] for which the largest |weight (sum - f)|
    is smallest.
    """
    xs = grid(mp.mpf(low), mp.mpf(high))
    fs, ws = [f(x) for x in xs], [weight(x) for x in xs]
    count = len(powers) + 1
    chosen = [round((POINTS - 1) * i / (count - 1)) for i in range(count)]
    coefficients: list[Any] = []
    for _ in range(30):
        rows = [
            [xs[i] ** power for power in powers] + [(-1) ** n / ws[i]] for n, i in enumerate(chosen)
        ]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([fs[i] for i in chosen]))
        coefficients = [solution[i] for i in range(len(powers))]
        errors = [
            ws[i]
            * (mp.fsum(c * xs[i] ** p for c, p in zip(coefficients, powers, strict=True)) - fs[i])
            for i in range(POINTS)
        ]
        # The extreme point of each run of one sign; the best `count` neighbours of them.
        extremes: list[int] = []
        for i, error in enumerate(errors):
            if extremes and (error > 0) == (errors[extremes[-1]] > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > count:
            ends = (extremes[0], extremes[-1])
            extremes.remove(min(ends, key=lambda i: abs(errors[i])))
        largest = max(abs(error) for error in errors)
        if len(extremes) < count or largest < abs(solution[len(powers)]) * mp.mpf("1.001"):
            break
        chosen = extremes
    return coefficients


def rounded(number: Any, bits: int) -> Any:
    """The nearest number with that many significant bits."""
    if number == 0:
        return number
    exponent = mp.floor(mp.log(abs(number), 2)) + 1 - bits
    return mp.nint(number / mp.mpf(2) ** exponent) * mp.mpf(2) ** exponent


def fit(
    f: Function, weight: Function, low: Any, high: Any, powers: Sequence[int], bits: int
) -> list[Any]:
    """Remez with each coefficient in turn rounded and the others fitted again."""
    fixed: list[Any] = []
    for i in range(len(powers)):
        known = list(zip(fixed, powers, strict=False))
        rest = lambda x, known=known: f(x) - mp.fsum(c * x**p for c, p in known)
        # Where the rounding of further coefficients hardly matters, one fit is enough.
        if i == (3 if bits == 24 else 0):
            fixed += [rounded(c, bits) for c in remez(rest, weight, low, high, powers[i:])]
            break
        fixed.append(rounded(remez(rest, weight, low, high, powers[i:])[0], bits))
    xs = grid(mp.mpf(low), mp.mpf(high))
    worst = max(
        abs(weight(x) * (mp.fsum(c * x**p for c, p in zip(fixed, powers, strict=True)) - f(x)))
        for x in xs
    )
    print(f"    # relative error 2^{float(mp.log(worst, 2)):.1f}")
    return fixed


def show(name: str, numbers: Sequence[Any]) -> None:
    """Coefficients, highest degree first, as Horner's rule uses them."""
    print(f"{name} = (")
    for number in reversed(numbers):
        print(f"    {float(number)!r},")
    print(")")


def split(number: Any, sizes: Sequence[int]) -> list[float]:
    """A number as a sum of parts with those numbers of significant bits."""
    parts: list[float] = []
    for size in sizes:
        part = rounded(number, size)
        parts.append(float(part))
        number -= part
    return parts


def expm1_part(x: Any) -> Any:
    return (mp.expm1(x) - x) / x**2


def log1p_part(x: Any) -> Any:
    return (mp.log1p(x) - x + x * x / 2) / x**3


def log1p_weight(x: Any) -> Any:
    return abs(x**3 / mp.log1p(x))


def sin_part(z: Any) -> Any:
    return (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def cos_part(z: Any) -> Any:
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def erf_part(x: Any) -> Any:
    return mp.log(mp.erfc(x)) / x


def erf_weight(bits: int) -> Function:
    """
    An error in the logarithm of erfc counts less and less as erf approaches 1, but not so little
    that erf would not reach it: where erfc is half of the last place, a third would be too much.
    """
    least = mp.mpf(2) ** (3 - bits)
    return lambda x: x * max(mp.erfc(x) / mp.erf(x), least)


def atanh_part(z: Any) -> Any:
    return ((mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z - mp.mpf(1) / 3) * 2 / z


def digits_of_two_over_pi(shift: int, words: int) -> list[int]:
    """The digits of 2/pi * 2**-shift to base 2**32; the first bit counts 2."""
    with mp.workdps(400):
        number = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (32 * words - 2 - shift)))
    return [(number >> (32 * (words - 1 - i))) & 0xFFFFFFFF for i in range(words)]


def main() -> None:
    """Prints all tables."""
    ln2 = mp.log(2)
    half = ln2 / 2 * mp.mpf("1.0005")
    for name, degree, bits in (("EXP_F32", 4, 24), ("EXP_SHORT", 6, 53), ("EXP_F64", 9, 53)):
        # The weight makes it the relative error of exp(x) - 1.
        show(name, fit(expm1_part, abs, -half, half, range(degree + 1), bits))
    low, high = (mp.sqrt(0.5) - 1) * mp.mpf("1.0001"), (mp.sqrt(2) - 1) * mp.mpf("1.0001")
    for name, degree, bits in (("LOG_F32", 7, 24), ("LOG_SHORT", 12, 53), ("LOG_F64", 18, 53)):
        show(name, fit(log1p_part, log1p_weight, low, high, range(degree + 1), bits))
    limit = (mp.pi / 4 * mp.mpf("1.001")) ** 2
    for name, degree, bits in (("F32", 2, 24), ("F64", 5, 53)):
        powers = range(degree + 1)
        show(f"SIN_{name}", fit(sin_part, lambda z: z, 0, limit, powers, bits))
        show(f"COS_{name}", fit(cos_part, lambda z: z * z, 0, limit, powers, bits))
    for name, degree, limit, bits in (("F32", 11, 3.94, 24), ("F64", 24, 5.95, 53)):
        show(f"ERF_{name}", fit(erf_part, erf_weight(bits), 1e-9, limit, range(degree + 1), bits))
    limit = (3 - 2 * mp.sqrt(2)) ** 2 * mp.mpf("1.001")
    show("ATANH", fit(atanh_part, lambda z: z * z, 0, limit, range(8), 53))
    print("LN2_F32 =", split(ln2, (12, 24)))
    print("LN2_F64 =", split(ln2, (32, 53)))
    print("HALF_PI =", split(mp.pi / 2, (33, 33, 53)))
    print("HALF_PI_PAIR =", split(mp.pi / 2, (53, 53)))
    print("TWO_THIRDS =", split(mp.mpf(2) / 3, (53, 53)))
    print("DIGITS_F32 =", tuple(map(hex, digits_of_two_over_pi(3, 7))))
    print("DIGITS_F64 =", tuple(map(hex, digits_of_two_over_pi(32, 38))))


if __name__ == "__main__":
    main()
