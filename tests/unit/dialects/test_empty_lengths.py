"""Lengths may be 0 wherever what was decided about them holds for 0 as well."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_shapes.numbers import RELATIONS, built, program

from xrelay.dialects.length_scope import Guard, Pinned, Scope
from xrelay.dialects.lengths import (
    larger,
    may_be_empty,
    polynomial,
    smaller,
    symbol,
    whole_quotient,
)
from xrelay.dialects.tensor.reshape import apply_reshape

firsts = st.integers(0, 40)
calls = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=9)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.integers(0, 2**32), firsts, firsts, calls)
def test_expressions_are_those_of_numbers(
    seed: int, a: int, b: int, others: list[tuple[int, int]]
) -> None:
    scope = Scope()
    try:
        values = built(Random(seed), symbol(scope, "a", a), symbol(scope, "b", b), 8)
    except Pinned as pinned:
        assert 0 in [(a, b)[each] for each in pinned.symbols]
        return
    table = program(scope, *values)
    for lengths in others:
        found = table.at([lengths])
        if found is not None:
            assert list(found.table) == built(Random(seed), *lengths, 8)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.integers(0, 2**32), firsts, firsts, calls)
def test_decisions_hold_for_lengths_of_0(
    seed: int, a: int, b: int, others: list[tuple[int, int]]
) -> None:
    """All of order; lengths that are said to be different may both turn out to be 0."""

    def decided(a: int, b: int) -> list[tuple[str, bool]]:
        random = Random(seed)
        values = built(random, a, b, 6)
        found: list[tuple[str, bool]] = []
        for _ in range(6):
            left, right = random.choice(values), random.choice(values)
            relation = random.choice(RELATIONS)
            found.append((relation.__name__, relation(left, right)))
        return found

    scope = Scope()
    try:
        expected = decided(symbol(scope, "a", a), symbol(scope, "b", b))
    except Pinned:
        return
    table = program(scope)
    for lengths in others:
        if table.at([lengths]) is None:
            continue
        for (relation, one), (_, other) in zip(expected, decided(*lengths), strict=True):
            assert one == other or ((relation, one) in (("eq", False), ("ne", True)) and 0 in lengths)  # fmt: skip


def test_what_has_to_be_more_than_0() -> None:
    scope = Scope()
    n, p = symbol(scope, "n", 5), symbol(scope, "p", 7)
    assert n != 0 and 0 not in (n, p) and n >= 0 and n * p >= 0, "nothing is known from that"
    assert may_be_empty(n) and may_be_empty(n * p) and not may_be_empty(4)
    assert n + p > 0
    assert scope.conditions() == [Guard(polynomial(n + p), ">")]
    assert n - 1 >= 0
    assert not may_be_empty(n) and may_be_empty(p)
    assert scope.conditions() == [], "the sum is more than 0, as n is"
    assert n + p > 0 and n * p + 1 > 0 and (p + 3) // 4 >= 0
    assert may_be_empty(p)
    assert (p + 3) // 4 >= 1
    assert not may_be_empty(p)


def test_a_length_that_is_0_in_the_first_call() -> None:
    scope = Scope()
    n, p = symbol(scope, "n", 0), symbol(scope, "p", 0, (0, 12))
    assert scope.hint(polynomial(n)) > 1 and scope.hint(polynomial(p)) == 12
    with pytest.raises(Pinned) as pinned:
        assert n > 0
    assert pinned.value.symbols == {0} and scope.pinned == {0} and not scope.asked


def test_ranges_from_1_on() -> None:
    scope = Scope()
    n = symbol(scope, "n", 5, (1, 9))
    assert n > 0 and not may_be_empty(n) and not scope.conditions()
    m = symbol(scope, "m", 5, (0, 9))
    assert may_be_empty(m)
    assert m > 3
    assert not may_be_empty(m) and scope.empty.least(1) == 4


def test_where_there_are_elements() -> None:
    """What is asked while they are assumed is no condition; what was asked before is asked anew behind."""
    scope = Scope()
    n, p = symbol(scope, "n", 5), symbol(scope, "p", 7)
    with scope.empty.assuming(frozenset([0])):
        assert n > 0 and (n + 3) // 4 > 0 and n + p > 0 and larger(n, 1) is n
        with scope.empty.assuming(frozenset([1])):
            assert p > 0
        assert may_be_empty(p) and not may_be_empty(n)
    assert may_be_empty(n) and may_be_empty(p) and not scope.conditions()
    assert n > 0
    assert not may_be_empty(n) and may_be_empty(p)
    with pytest.raises(ValueError, match="some"), scope.empty.assuming(frozenset([1])):
        raise ValueError("some")
    assert may_be_empty(p)


def test_extremes_of_empty_lengths() -> None:
    scope = Scope()
    n = symbol(scope, "n", 5)
    assert str(larger(n, 1, of_empty=True)) == "max(1, n)" and may_be_empty(n)
    assert larger(4 * n, 2 * n) == 4 * n and smaller(4 * n, 2 * n) == 2 * n and may_be_empty(n)
    assert str(larger(n, 1)) == "n" and not may_be_empty(n)


def test_quotients() -> None:
    scope = Scope()
    n, p = symbol(scope, "n", 5), symbol(scope, "p", 7)
    assert whole_quotient(12 * n * p, n) == 12 * p and whole_quotient(n + 1, n) is None
    assert whole_quotient(12, 4) is None, "of lengths alone"
    assert may_be_empty(n) and may_be_empty(p)
    assert apply_reshape([n, p, 12], [n, -1, 4], allowzero=False) == [n, 3 * p, 4]
    assert may_be_empty(n) and may_be_empty(p)
    q = symbol(Scope(), "q", 2, (0, 3))
    assert q // 4 == 0 and may_be_empty(q)
    assert (q - 1) // 4 == 0 and not may_be_empty(q), "of 0 it is -1"


def test_quotients_by_0() -> None:
    scope = Scope()
    n, p = symbol(scope, "n", 5), symbol(scope, "p", 7)
    with scope.empty.assuming(frozenset([0, 1])):
        table = program(scope, 100 // p, (n + 1) // (2 * p))
    found = table.at([(3, 0)])
    assert found is not None and found.table == (0, 0), "no kernel runs that reads them"
    assert 100 // p >= 0
    assert program(scope).at([(3, 0)]) is None and program(scope).at([(0, 3)]) is not None


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.integers(0, 2**32), firsts, firsts, calls)
def test_what_is_0_with_a_length(seed: int, a: int, b: int, others: list[tuple[int, int]]) -> None:
    """Whichever number the other length is."""
    scope = Scope()
    try:
        values = built(Random(seed), symbol(scope, "a", a), symbol(scope, "b", b), 8)
        emptying = [scope.empty.emptying(polynomial(value)) for value in values]
    except Pinned:
        return
    table = program(scope, *values)
    for one, other in others:
        for place, lengths in enumerate(((0, other), (one, 0))):
            found = table.at([lengths])
            for value, symbols in zip(found.table if found else (), emptying, strict=False):
                assert value == 0 or place not in symbols


def test_quotients_by_what_is_0() -> None:
    """In kernels that do not run without elements; they are 0 then."""
    scope = Scope()
    m, n = symbol(scope, "m", 3), symbol(scope, "n", 8)
    with scope.empty.assuming(frozenset({0})):
        quotient = n // m
    assert quotient + n > 0
    assert not scope.empty.emptying(polynomial(quotient + m + 1))
