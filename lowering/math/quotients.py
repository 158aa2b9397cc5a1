"""
Quotients by a known divisor that are rounded to integers, without a division.

What is computed instead is not the quotient, but has the same nearest integer: that is tried, when the code is made,
with all numbers where the integer can differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, f32
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import scalar_type
from xrelay.lowering.math.arithmetic import highest, lowest
from xrelay.lowering.math.lanes import Lanes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LEAST_DIVISOR, MOST_DIVISOR = 2.0**-60, 2.0**60
"""Beside these, parts of what is multiplied may be subnormal or infinite."""
NEIGHBOURS = 2
"""As many numbers of f32 on either side of a half are looked at."""
MOST_PAIRS = 1 << 16
"""Of integers whose sums are all tried: those of two bytes."""


def known_number(value: SSAValue) -> float | None:
    """The number of floating point in all lanes, where the code states it."""
    op = value.owner
    if isinstance(op, vector.BroadcastOp):
        op = op.source.owner
    match op:
        case arith.ConstantOp(value=FloatAttr() as number):
            return number.value.data
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as numbers) if numbers.is_splat():
            number = numbers.get_values()[0]
            return number if isinstance(number, float) else None
        case _:
            return None


def rounded_quotient(b: KernelBuilder, x: SSAValue, low: int, high: int) -> tuple[SSAValue, bool]:
    """
    A number with the nearest integer of `x`, as far as that lies between two bounds: for less where `x` is a quotient
    by a known number, and for still less where that divides the sum of two quantised numbers. Also whether an integer
    of 32 bits surely holds it.
    """
    division = x.owner
    if not isinstance(division, arith.DivfOp) or scalar_type(x) != f32 or not b.target.fma:
        return x, False
    v, divisor = Lanes.of(b, x), known_number(division.rhs)
    if divisor is None:
        return x, False
    terms = _terms(b, division.lhs)
    if terms is not None:
        (first, p), (second, q) = terms
        factors = sum_factors(p, q, divisor, low, high)
        if factors is not None:
            a, c, rest = (v.number(each) for each in factors)
            return v.fma(first, a, v.fma(second, c, rest)), is_bounded(p, q, factors)
    parts = reciprocal_parts(divisor, low, high)
    if parts is None:
        return x, False
    whole, rest = parts
    if rest == 0:  # Infinity times 0 is NaN.
        return v.mul(division.lhs, v.number(whole)), False
    return v.fma(division.lhs, v.number(whole), v.mul(division.lhs, v.number(rest))), False


@cache
def reciprocal_parts(divisor: float, low: int, high: int) -> tuple[float, float] | None:
    """
    Numbers a and b of f32 so that fma(x, a, x * b) has the same nearest integer between `low` and `high` as the
    quotient of f32 x / divisor, for all x of f32; ties go to even, and what is beyond the bounds counts as the bound.
    None where no such numbers are found.

    a is the reciprocal rounded down, and b what it lacks. As both are not negative, the sum never falls while x
    grows, and neither does the quotient: they have the same integers where these step from each to the next at the
    same x. That is tried with the numbers around each step.
    """
    import numpy as np

    if not LEAST_DIVISOR <= divisor <= MOST_DIVISOR or np.float32(divisor) != divisor:
        return None
    whole = np.float32(1 / divisor)
    if float(whole) * divisor > 1:
        whole = np.nextafter(whole, np.float32(0))
    rest = np.float32(max(1 / divisor - float(whole), 0))
    integers = np.arange(low, high)
    nearest = ((integers + 0.5) * divisor).astype(np.float32)
    steps = np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
    around = nearest.view(np.int32)[:, None] + steps * np.where(nearest < 0, -1, 1)[:, None]
    x = around.astype(np.int32).view(np.float32)
    quotients = np.rint(x / np.float32(divisor))
    if not np.array_equal(np.rint(_fma(x, whole, x * rest)), quotients):
        return None
    if not (np.all(quotients[:, 0] == integers) and np.all(quotients[:, -1] == integers + 1)):
        return None
    return float(whole), float(rest)


@dataclass(frozen=True)
class Term:
    """(n + added) * scale, where n are integers of some type."""

    low: int
    high: int
    added: float
    scale: float

    @property
    def count(self) -> int:
        """Of the integers."""
        return self.high - self.low + 1

    @property
    def integers(self) -> "npt.NDArray[np.float32]":
        """All of them."""
        import numpy as np

        return np.arange(self.low, self.high + 1, dtype=np.float32)


def _terms(
    b: KernelBuilder, x: SSAValue
) -> tuple[tuple[SSAValue, Term], tuple[SSAValue, Term]] | None:
    """The integers of a sum of two quantised numbers, each with what becomes of it."""
    if not isinstance(x.owner, arith.AddfOp):
        return None
    first, second = (_term(b, each) for each in x.owner.operands)
    return None if first is None or second is None else (first, second)


def _term(b: KernelBuilder, x: SSAValue) -> tuple[SSAValue, Term] | None:
    scaled = x.owner
    scale = known_number(scaled.rhs) if isinstance(scaled, arith.MulfOp) else None
    if not isinstance(scaled, arith.MulfOp) or scale is None:
        return None
    value, added = scaled.lhs, 0.0
    if isinstance(value.owner, arith.SubfOp) and value not in b.integers:
        zero_point = known_number(value.owner.rhs)
        if zero_point is None:
            return None
        value, added = value.owner.lhs, -zero_point
    kind = b.integers.get(value)
    if kind is None:
        return None
    return value, Term(int(lowest(kind)), int(highest(kind)), added, scale)


@cache
def sum_factors(
    p: Term, q: Term, divisor: float, low: int, high: int
) -> tuple[float, float, float] | None:
    """
    Numbers a, b and c of f32 so that fma(n, a, fma(m, b, c)) has the same nearest integer between `low` and `high` as
    the quotient of f32 (p of n + q of m) / divisor, for all integers n of p and m of q: all pairs are tried.
    None where no such numbers are found.
    """
    import numpy as np

    if not 0 < p.count * q.count <= MOST_PAIRS or not LEAST_DIVISOR <= divisor <= MOST_DIVISOR:
        return None
    n, m = p.integers[:, None], q.integers
    with np.errstate(all="ignore"):
        sums = _dequantized(p, n) + _dequantized(q, m)
        quotients = np.clip(np.rint(sums / np.float32(divisor)), low, high)
        for a, b, c in _near_factors(p, q, divisor):
            found = np.rint(_fma(n, a, _fma(m, b, c)))
            if np.array_equal(np.clip(found, low, high), quotients):
                return float(a), float(b), float(c)
    return None


def is_bounded(p: Term, q: Term, factors: tuple[float, float, float]) -> bool:
    """Whether integers of 32 bits hold what the sums with some factors are rounded to."""
    a, b, c = map(abs, factors)
    largest = [max(abs(each.low), abs(each.high)) for each in (p, q)]
    return largest[0] * a + largest[1] * b + c < 2**30


def _dequantized(term: Term, integers: "npt.NDArray[np.float32]") -> "npt.NDArray[np.float32]":
    import numpy as np

    return (integers + np.float32(term.added)) * np.float32(term.scale)


def _near_factors(
    p: Term, q: Term, divisor: float
) -> Iterator[tuple["np.float32", "np.float32", "np.float32"]]:
    """The factors of a sum as they should be, and then such beside them."""
    import numpy as np

    added = (p.added * p.scale + q.added * q.scale) / divisor
    usual = (p.scale / divisor, q.scale / divisor, added)
    first, second, last = (
        (each, np.nextafter(each, np.float32(np.inf)), np.nextafter(each, np.float32(-np.inf)))
        for each in map(np.float32, usual)
    )
    yield from product(first, second, last)


def _fma(
    x: "npt.NDArray[np.float32]",
    factor: "np.float32",
    added: "npt.NDArray[np.float32] | np.float32",
) -> "npt.NDArray[np.float32]":
    """x * factor + added in one rounding."""
    import numpy as np

    products = x.astype(np.float64) * float(factor)  # exact
    total = products + added
    part = total - products
    lost = (products - (total - part)) + (added - part)  # Knuth's two-sum: exact
    # Of the two numbers of f64 beside an inexact sum the odd one is rounded to f32 as the sum would be.
    is_even = total.view(np.int64) % 2 == 0
    beside = np.nextafter(total, np.copysign(np.inf, lost))
    return np.where((lost != 0) & is_even, beside, total).astype(np.float32)
