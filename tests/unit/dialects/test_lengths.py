"""Lengths behave as the numbers that they turn out to be, wherever their guards hold."""

from collections.abc import Callable
from math import ceil, inf, nan, prod
from operator import add, eq, floordiv, ge, gt, index, le, lt, mod, mul, ne, sub
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_shapes.numbers import RELATIONS, built, program
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32

from xrelay.dialects.length_scope import Guard, Pinned, Scope
from xrelay.dialects.lengths import (
    certainly,
    common_divisor,
    hint,
    is_open_type,
    larger,
    likely,
    may_exceed,
    place_of,
    polynomial,
    smaller,
    symbol,
    type_at,
)
from xrelay.dialects.polynomials import quotient_bounds
from xrelay.dialects.slicing import resolve_slices
from xrelay.dialects.type_relations import joined
from xrelay.runtime.lengths import OpenLengths

Expression: TypeAlias = Callable[[int, int], int]

lengths = st.integers(2, 50)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.integers(0, 2**32), lengths, lengths, st.lists(st.tuples(lengths, lengths), max_size=4))
def test_expressions_are_those_of_numbers(
    seed: int, a: int, b: int, others: list[tuple[int, int]]
) -> None:
    scope = Scope()
    values = built(Random(seed), symbol(scope, "a", a), symbol(scope, "b", b), 8)
    assert list(map(hint, values)) == built(Random(seed), a, b, 8)
    table = program(scope, *values)
    for first, second in ((a, b), *others):
        found = table.at([(first, second)])
        if (first, second) == (a, b):
            assert found is not None, "the guards hold in the first call"
        if found is not None:
            assert list(found.table) == built(Random(seed), first, second, 8)
            for value, number in zip(values, found.table, strict=True):
                if "…" not in str(value):  # What people read are expressions of Python as well.
                    names = {"a": first, "b": second, "min": min, "max": max}
                    assert eval(str(value), {}, names) == number, str(value)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.integers(0, 2**32), lengths, lengths, st.lists(st.tuples(lengths, lengths), max_size=6))
def test_decisions_hold_wherever_the_guards_do(
    seed: int, a: int, b: int, others: list[tuple[int, int]]
) -> None:
    def decided(a: int, b: int) -> list[bool]:
        random = Random(seed)
        values = built(random, a, b, 6)
        pairs = [(random.choice(values), random.choice(values)) for _ in range(4)]
        relations = [random.choice(RELATIONS) for _ in pairs]
        pairs += [(each, 0) for each in values[-2:]]
        found = [compare(*pair) for compare, pair in zip([*relations, gt, le], pairs, strict=True)]
        return [*found, bool(values[-1]), bool(values[-2])]

    scope = Scope()
    try:
        expected = decided(symbol(scope, "a", a), symbol(scope, "b", b))
    except Pinned:
        assert scope.pinned
        return
    assert expected == decided(a, b)
    table = program(scope)
    for first, second in others:
        if table.at([(first, second)]) is not None:
            assert decided(first, second) == expected


def test_what_holds_for_all_lengths_is_no_guard() -> None:
    scope = Scope()
    n, m = symbol(scope, "n", 8), symbol(scope, "m", 3)
    assert certainly(n * 784 % 16, 0)
    assert certainly((n + 15) // 16 - -(-n // 16), 0)
    assert certainly((n * 6 - n * 6 % 4) // 2 - n * 6 // 4 * 2, 0)
    assert n * m * 64 // (n * 32) == m * 2
    assert (n * 64 + 64) // (n * 16 + 16) == 4 and (n * 64 + 64) % (n * 16 + 16) == 0
    assert (n * m + 2 * n + 3 * m + 6) // (m + 2) == n + 3
    assert n * m == m * n
    assert 0 not in (n, n * m, -(-n // 16))
    assert -1 not in (n, m)
    assert n > 0
    assert n + m >= 2
    assert smaller(n, 1) == 1
    assert larger(n, 1) == n
    assert prod((n, 3, 4)) == 12 * n
    assert common_divisor(n * 12 + m * 18) == 6
    assert divmod(n * 4, 2) == (n * 2, 0)
    assert 0 <= n % 7 <= 6 and 0 <= -n % 4 < 4 and 0 <= (4 - 3 * n % 4) % 4 <= 3
    assert (n + -n % 4) % 4 == 0
    assert may_exceed(n % 7, 5) and not may_exceed(n % 7, 6)
    assert not scope.conditions()


def test_numbers_that_several_lengths_have_pin_nothing() -> None:
    """What one length has alone does."""
    scope = Scope()
    n = symbol(scope, "n", 20)
    assert (n + 31) // 32 == 1
    assert [scope.condition(each) for each in scope.conditions()] == ["(n + 31)//32 == 1"]
    for chance in (lambda: n == 20, lambda: n // 3 + n == 26, lambda: 2 * n - n // 40 == 40):
        with pytest.raises(Pinned):
            chance()


def test_dictionaries_decide_nothing() -> None:
    scope = Scope()
    n, m = symbol(scope, "n", 8), symbol(scope, "m", 3)
    rest = m // 4
    known = {n - rest: 1, n - 2 * rest: 2, n - 3 * rest: 3}
    assert len(known) == 3
    assert known[n - m // 4] == 1
    assert known.get(rest - n) is None
    assert not scope.conditions()


def test_what_does_not_is_one() -> None:
    scope = Scope()
    n = symbol(scope, "n", 8)
    assert n >= 6
    assert n % 8 < 8
    table = program(scope)
    assert table.at([(6,)]) is not None
    assert table.at([(5,)]) is None
    assert table.at([(2**31,)]) is None


def test_types_that_are_the_same_by_chance_pin_nothing() -> None:
    """Branches of so many rows, of as many as another input has, and of two have one type where they must."""
    scope = Scope()
    rows, others = symbol(scope, "rows", 2), symbol(scope, "others", 2)

    def both(one: int, other: int) -> int:
        type_ = joined(TensorType(f32, [one, 3]), TensorType(f32, [other, 3]))
        assert isinstance(type_, TensorType)
        return type_.get_shape()[0]

    assert certainly(both(rows, rows), rows)
    assert both(rows, 2) == both(2, rows) == both(rows * rows, rows + 2) == DYNAMIC_INDEX
    assert not scope.pinned and not scope.guards
    assert certainly(both(rows, others), rows) and certainly(rows, others)
    assert len(scope.guards) == 1


def test_decisions_are_taken_once() -> None:
    """What is asked again has the answer that it had, whatever was decided between, and adds no condition."""
    scope = Scope()
    n, m = symbol(scope, "n", 8), symbol(scope, "m", 5)

    def ask() -> list[bool]:
        return [n * m > 30, n < 6, n - m != 4]

    assert ask() == [True, False, True]
    assert n >= 7
    before = scope.conditions()
    assert ask() == [True, False, True] and n >= 7
    assert scope.conditions() == before
    for _ in range(2):
        with pytest.raises(Pinned):
            _ = n == 8
    assert scope.pinned == {0}


@pytest.mark.parametrize(
    "ask",
    [
        int,
        index,
        float,
        range,
        ceil,
        lambda n: [0] * n,
        lambda n: n / 2,
        lambda n: 2.0 * n,
        lambda n: 1 << n,
        lambda n: n == 8,
        lambda n: n + 0.5,
        lambda n: n - 0.5,
        lambda n: 0.5 - n,
        lambda n: n & 3,
        lambda n: 3 & n,
        lambda n: n | 3,
        lambda n: 3 | n,
        lambda n: n ^ 3,
        lambda n: 3 ^ n,
        lambda n: n // 0,
        lambda n: f"{n:5}",
        lambda n: np.zeros(3)[n],
        lambda n: np.array([n], np.int64),
    ],
)
def test_what_asks_for_the_number_pins_it(ask: Callable[[int], object]) -> None:
    scope = Scope()
    n, _ = symbol(scope, "n", 8), symbol(scope, "m", 8)
    with pytest.raises(
        (Pinned, IndexError)
    ):  # NumPy puts an error of its own in the place of others.
        ask(n)
    assert scope.pinned == {0}


def test_lengths_stand_in_types() -> None:
    scope = Scope()
    n = symbol(scope, "n", 8)
    type_ = TensorType(f32, (n, 3))
    assert isinstance(n, int)
    assert str(type_) == "tensor<nx3xf32>"
    assert type_ == TensorType(f32, (n, 3))
    assert type_ != TensorType(f32, (n * 2, 3))
    assert is_open_type(type_)
    assert type_at(type_, likely) == TensorType(f32, (32, 3))
    assert not scope.conditions()
    assert type_ != TensorType(f32, (4, 3)), "which is a decision"
    assert program(scope).at([(4,)]) is None
    assert n != symbol(Scope(), "n", 8), "those of another program"


def test_long_sums_pin_their_symbols() -> None:
    scope = Scope()
    n, m = symbol(scope, "n", 8), symbol(scope, "m", 8)
    with pytest.raises(Pinned):
        for _ in range(20):
            n = (n + m) * (n + 1)


def test_data_travels_as_json() -> None:
    scope = Scope()
    n = symbol(scope, "n", 8)
    assert n * 3 > 4 + n // 2
    known = program(scope, n * 5 // 3, larger(n, 9))
    import json

    assert OpenLengths.from_data(json.loads(json.dumps(known.to_data()))) == known


def test_numbers_that_code_reads_together_follow_one_another() -> None:
    scope = Scope()
    a, b = symbol(scope, "a", 5), symbol(scope, "b", 7)
    alone = place_of(a)
    together = place_of(a, 3, b)
    assert place_of(a) == alone and place_of(a, 3, b) == together
    assert scope.table[alone] == polynomial(a)
    assert scope.table[together : together + 3] == [polynomial(a), polynomial(3), polynomial(b)]


USES: dict[str, Callable[[int], object]] = {
    "power": lambda n: n**2,
    "exponent": lambda n: 2**n,
    "real quotient": lambda n: n / 4,
    "real divisor": lambda n: 9 / n,
    "shift by it": lambda n: 1 << n,
    "shift back by it": lambda n: 640 >> n,
    "index": lambda n: [1, 2][n],
    "float": float,
    "round": round,
    "bits": lambda n: n.bit_length(),
    "remainder by 0": lambda n: n % 0,
}


@pytest.mark.parametrize("use", USES)
def test_what_needs_the_number_pins_it(use: str) -> None:
    scope = Scope()
    n, _ = symbol(scope, "n", 6), symbol(scope, "m", 7)
    with pytest.raises(Pinned, match="n"):
        USES[use](n)
    assert scope.pinned == {0}


def test_shifts_by_numbers_pin_nothing() -> None:
    scope = Scope()
    n = symbol(scope, "n", 6)
    assert polynomial(n << 2) == polynomial(n * 4)
    assert polynomial(n >> 1) == polynomial(n // 2) == polynomial((n + n) // 4)
    assert str(n << 2) == "4*n" and str(n >> 2) == "n//4"
    assert not scope.pinned


def test_divisors_that_are_not_positive_pin_what_they_meet() -> None:
    """Quotients of lengths are those of positive divisors; others are numbers."""
    scope = Scope()
    n, m, k = symbol(scope, "n", 6), symbol(scope, "m", 7), symbol(scope, "k", 8)
    with pytest.raises(Pinned, match="^n, m$"):
        _ = n // (m - 7)
    with pytest.raises(Pinned, match="^k$"):
        _ = (9 - k) // (k - 9)
    assert scope.pinned == {0, 1, 2}


FRACTIONS: tuple[tuple[Callable[[int, float], bool], float, bool, list[str]], ...] = (
    # n is 6, and at least 2
    (lt, 6.5, True, ["n <= 6"]),
    (le, 6.5, True, ["n <= 6"]),
    (gt, 6.5, False, ["n <= 6"]),
    (ge, 6.5, False, ["n <= 6"]),
    (lt, 5.5, False, ["n >= 6"]),
    (le, 5.5, False, ["n >= 6"]),
    (gt, 5.5, True, ["n >= 6"]),
    (ge, 5.5, True, ["n >= 6"]),
    (lt, 6.0, False, ["n >= 6"]),
    (le, 6.0, True, ["n <= 6"]),
    (gt, 6.0, False, ["n <= 6"]),
    (ge, 6.0, True, ["n >= 6"]),
    (eq, 6.5, False, []),
    (ne, 6.5, True, []),
    (eq, 1.0, False, []),
    (lt, inf, True, []),
    (gt, inf, False, []),
    (ge, -inf, True, []),
    (le, -inf, False, []),
    (eq, inf, False, []),
    (ne, inf, True, []),
    (lt, nan, False, []),
    (ge, nan, False, []),
    (ne, nan, True, []),
)


@pytest.mark.parametrize("row", FRACTIONS, ids=lambda row: f"{row[0].__name__} {row[1]}")
def test_numbers_with_a_fraction(
    row: tuple[Callable[[int, float], bool], float, bool, list[str]],
) -> None:
    """What a comparison with one says of lengths is what it says of the whole numbers around it."""
    compare, number, holds, guards = row
    scope = Scope()
    n = symbol(scope, "n", 6)
    assert compare(n * 3 // 3, number) is holds is compare(6, number)
    least, most = scope.atoms[0].bounds
    found = [f"n >= {least}"] * (least > 2) + [f"n <= {most}"] * (most < 2**31 - 1)
    assert found == guards


def test_what_is_no_number_is_no_length() -> None:
    """It is another thing, and has no order."""
    scope = Scope()
    n = symbol(scope, "n", 6)
    others: list[Any] = [None, {}]
    for other in others:
        assert (n != other, n == other) == (True, False)
        uses: list[Any] = [lt, ge, add, sub, mul, floordiv, mod]
        for use in uses:
            with pytest.raises(TypeError):
                use(n, other)
    assert not scope.conditions() and not scope.pinned


def test_amounts() -> None:
    """The sign of a length is that of the first call."""
    scope = Scope()
    n, m = symbol(scope, "n", 6), symbol(scope, "m", 7)
    assert polynomial(abs(n)) == polynomial(n)
    assert polynomial(abs(-n)) == polynomial(n)
    assert not scope.conditions()
    assert polynomial(abs(n - m)) == polynomial(m - n)
    assert polynomial(abs(m - n)) == polynomial(m - n)
    (guard,) = scope.conditions()
    assert scope.condition(guard) == "m - n >= 1"
    scope = Scope()
    n, m = symbol(scope, "n", 6), symbol(scope, "m", 6)
    assert polynomial(abs(n - m)) == polynomial(n - m)
    (guard,) = scope.conditions()
    assert scope.condition(guard) == "m - n <= 0"


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        ("<", "2*n > 6"),
        ("<=", "2*n >= 6"),
        (">", "2*n < 6"),
        (">=", "2*n <= 6"),
        ("==", "2*n == 6"),
    ],
)
def test_conditions_begin_with_what_is_positive(relation: str, text: str) -> None:
    """Those of the opposite number are mirrored."""
    scope = Scope()
    n = symbol(scope, "n", 6)
    assert scope.condition(Guard(polynomial(6 - 2 * n), relation)) == text
    flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(relation, relation)
    assert scope.condition(Guard(polynomial(2 * n - 6), flipped)) == text


@pytest.mark.parametrize(
    ("value", "by", "bounds"),
    [
        ((-inf, 5), (2, 3), (-inf, 2)),
        ((7, inf), (2, 3), (2, inf)),
        ((-inf, inf), (2, inf), (-inf, inf)),
        ((-7, 7), (2, inf), (-4, 3)),
        ((-1, 7), (8, inf), (-1, 0)),
        ((0, 7), (-3, 2), (0, 7)),
    ],
)
def test_bounds_of_quotients(
    value: tuple[float, float], by: tuple[float, float], bounds: tuple[float, float]
) -> None:
    """Of those by positive numbers: others are divided by 1 at least."""
    assert quotient_bounds(value, by) == bounds


def test_extremes_of_extremes() -> None:
    """The smaller one of two is not greater than either, so that the smaller one of it and either is itself."""
    scope = Scope()
    n, m, k = symbol(scope, "n", 6), symbol(scope, "m", 7), symbol(scope, "k", 8)
    for pick, other in ((smaller, larger), (larger, smaller)):
        both, crossed = pick(n, m), other(n, m)
        all_three = pick(both, k)
        for part in (n, m):
            assert polynomial(pick(both, part)) == polynomial(pick(part, both)) == polynomial(both)
            assert polynomial(pick(all_three, part)) == polynomial(all_three)
            assert polynomial(pick(crossed, part)) != polynomial(crossed)
    assert not scope.conditions()


@pytest.mark.parametrize("length", [2, 4])
def test_slices_of_open_lengths(length: int) -> None:
    """Those that Python takes, of indices within, just beyond, and far beyond the axis."""
    ends = (-1000, *range(-length - 3, length + 4), 1000)
    for first in ends:
        for last in ends:
            for step in (-3, -2, -1, 1, 2, 3):
                n = symbol(Scope(), "n", length)
                (found,) = resolve_slices([n], [first], [last], [step], None, "end")
                taken = range(length)[first:last:step]
                assert hint(found.length) == len(taken), (first, last, step)
                if taken:
                    assert (hint(found.start), found.step) == (taken[0], step), (first, last, step)
