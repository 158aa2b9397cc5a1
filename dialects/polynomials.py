"""Sums of products of whole numbers that are not known, as data: their arithmetic, and that of what they lie between."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, inf, prod
from operator import eq, ge, gt, le, lt, ne
from typing import TypeAlias

Monomial: TypeAlias = tuple[int, ...]
"""A product of atoms, by their numbers in ascending order; nothing is 1."""
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]
"""A sum of products, each with its factor, in ascending order; nothing is 0."""
Bounds: TypeAlias = tuple[float, float]
"""The least and the greatest value: whole numbers, or infinite."""

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip

MOST_KNOWN = 1 << 14
"""Of results that are kept: a program asks for the same ones again and again."""


def _none(left: float, right: float) -> float:
    raise AssertionError("a symbol is computed from nothing")


@dataclass(frozen=True)
class Atom:
    """A symbol, or a function of two polynomials that is none."""

    operation: str
    """"symbol", or one of `xrelay.runtime.dimensions.operations`: that of a scaling has no right side."""
    left: Polynomial
    right: Polynomial
    hint: int
    likely: int
    bounds: Bounds
    """What it is between where no symbol is 0."""
    symbols: frozenset[int]
    code: Callable[[float, float], float] = _none
    """What computes it from numbers, where it is no symbol."""

    def bounds_by(self, left: Bounds, right: Bounds) -> Bounds:
        """What an atom that is no symbol is between, by the bounds of its sides."""
        if self.operation == "div":
            return quotient_bounds(left, right)
        return self.code(left[0], right[0]), self.code(left[1], right[1])


def product_bounds(lhs: Bounds, rhs: Bounds) -> Bounds:
    """The bounds of a product."""
    ends = [a * b if a and b else 0 for a in lhs for b in rhs]
    return min(ends), max(ends)


def quotient_bounds(value: Bounds, by: Bounds) -> Bounds:
    """The bounds of a quotient that is rounded down, where the divisor is positive, and of 0 where it may be 0."""
    divisors = max(by[0], 1), max(by[1], 1)

    def divided(number: float, divisor: float) -> float:
        if abs(number) == inf:
            return number
        return number // divisor if divisor != inf else -int(number < 0)

    ends = [divided(number, divisor) for number in value for divisor in divisors]
    if by[0] <= 0:
        ends.append(0)
    return min(ends), max(ends)


def bounds_of(
    value: Polynomial,
    bounds_of_atom: Callable[[int], Bounds],
    known: Sequence[Mapping[Polynomial, Bounds]],
) -> Bounds:
    """The bounds of a sum, by those of its atoms and what is `known` about sums (as `core_of` has them)."""
    low: float = 0
    high: float = 0
    for atoms, factor in value:
        ends: Bounds = (factor, factor)
        for each in atoms:
            ends = product_bounds(ends, bounds_of_atom(each))
        low, high = low + ends[0], high + ends[1]
    if value and any(known):
        core, factor, constant = core_of(value)
        for narrower in known:
            bounds = narrower.get(core)
            if bounds is not None:
                least, most = sorted(factor * end + constant for end in bounds)
                low, high = max(low, least), min(high, most)
    return low, high


def settled(bounds: Bounds, relation: str) -> bool | None:
    """Whether what lies between bounds has a relation to 0; None where it may or may not."""
    low, high = bounds
    compare = RELATIONS[relation]
    if low == high:
        return compare(low, 0)
    if relation in ("==", "!="):
        return relation == "!=" if low > 0 or high < 0 else None
    return compare(low, 0) if compare(low, 0) == compare(high, 0) else None


def core_of(value: Polynomial) -> tuple[Polynomial, int, int]:
    """A sum as a factor times another one without a constant, of which the last factor is positive, and a constant."""
    rest = tuple(each for each in value if each[0])
    if not rest:
        return (), 1, sum(factor for _, factor in value)
    common = gcd(*(factor for _, factor in rest)) * (1 if rest[-1][1] > 0 else -1)
    core = tuple((atoms, factor // common) for atoms, factor in rest)
    return core, common, sum(factor for atoms, factor in value if not atoms)


def value_of(value: Polynomial, number_of: Callable[[int], int]) -> int:
    """What a polynomial is where its atoms are numbers."""
    return sum(factor * prod(map(number_of, atoms)) for atoms, factor in value)


def number(value: int) -> Polynomial:
    """A number as a polynomial."""
    return (((), value),) if value else ()


def _collected(terms: dict[Monomial, int]) -> Polynomial:
    return tuple(sorted((atoms, factor) for atoms, factor in terms.items() if factor))


@lru_cache(MOST_KNOWN)
def total(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    """The sum of two."""
    terms = dict(lhs)
    for atoms, factor in rhs:
        terms[atoms] = terms.get(atoms, 0) + factor
    return _collected(terms)


def times(value: Polynomial, factor: int) -> Polynomial:
    """A polynomial a number of times."""
    if factor == 1:
        return value
    return tuple((atoms, each * factor) for atoms, each in value) if factor else ()


@lru_cache(MOST_KNOWN)
def difference(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    """What is left of one without the other."""
    return total(lhs, times(rhs, -1))


@lru_cache(MOST_KNOWN)
def multiplied(lhs: Polynomial, rhs: Polynomial) -> Polynomial:
    """The product of two."""
    terms: dict[Monomial, int] = {}
    for left, first in lhs:
        for right, second in rhs:
            atoms = tuple(sorted(left + right))
            terms[atoms] = terms.get(atoms, 0) + first * second
    return _collected(terms)


@lru_cache(MOST_KNOWN)
def split(value: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """The part that a divisor divides, divided, and the rest; that of a constant is less than a divisor that is a number."""
    if value == by:
        return number(1), ()
    if len(by) != 1:
        quotient = exact_quotient(value, by)
        return ((), value) if quotient is None else (quotient, ())
    (divisor, unit) = by[0]
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for atoms, factor in value:
        left = _without(atoms, divisor)
        if left is None:
            rest[atoms] = factor
            continue
        if not atoms:
            quotient = factor // unit
        else:
            quotient = abs(factor) // unit * (1 if factor > 0 else -1)
        whole[left] = quotient
        rest[atoms] = factor - quotient * unit
    return _collected(whole), _collected(rest)


def exact_quotient(value: Polynomial, by: Polynomial) -> Polynomial | None:
    """
    What gives a sum when it is multiplied with a divisor, which is not 0: (64 n + 64) / (16 n + 16) is 4. None where
    there is no such sum with whole factors.
    """

    def rank(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
        # The greatest term of a product is the product of the greatest terms in this order.
        return len(term[0]), term[0]

    divisor, unit = max(by, key=rank)
    quotient: Polynomial = ()
    while value:
        atoms, factor = max(value, key=rank)
        left = _without(atoms, divisor)
        if left is None or factor % unit:
            return None
        term: Polynomial = ((left, factor // unit),)
        quotient = total(quotient, term)
        value = total(value, times(multiplied(by, term), -1))
    return quotient


def _without(atoms: Monomial, divisor: Monomial) -> Monomial | None:
    """A product without some of its factors; None where it does not have them."""
    left = list(atoms)
    for each in divisor:
        if each not in left:
            return None
        left.remove(each)
    return tuple(left)
