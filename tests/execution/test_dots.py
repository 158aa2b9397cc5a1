"""
Convolutions and matrix products of integers, f16 and bf16 agree with the interpreter, on targets with and
without the dot products that compute them. All run between pages that fault on access.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby

import pytest
from cases.dots import (
    FLOATS,
    TYPES,
    Types,
    converted_convolutions,
    converted_products,
    convolutions,
    depthwise,
    products,
    short_depths,
    winograd,
)
from cases.strategies.case import Case
from strategy_checks import Trial, problems

from xrelay.lowering.emit.target import TARGETS

INDEX = {name: i for i, name in enumerate(TARGETS)}
TABLES = (
    converted_convolutions,
    converted_products,
    convolutions,
    depthwise,
    products,
    short_depths,
)
"""Each gives cases of one implementation, of some types, for vectors of a number of sums."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_agrees_with_the_interpreter(
    any_target: str, table: Callable[[Types, int], Iterator[Case]]
) -> None:
    """The targets share every other case; each has all types."""
    lanes = TARGETS[any_target].lanes(4)
    cases = list(chain.from_iterable(table(types, lanes) for types in TYPES))
    check(cases[INDEX[any_target] :: 2 * len(TARGETS)], any_target, 2)


@pytest.mark.parametrize("table", (convolutions, depthwise, products), ids=lambda t: t.__name__)
@pytest.mark.parametrize("target", ["x86-64-v4-bf16"], indirect=True)
def test_what_is_not_finite_spreads_no_further(
    target: str, table: Callable[[Types, int], Iterator[Case]]
) -> None:
    """Pairs at the end of a depth, or of a column, have elements that do not count."""
    types = "bfloat16", "bfloat16", "float32"
    problem = Trial(list(table(types, TARGETS[target].lanes(4))), target, 1).leaks()
    assert not problem, problem


@pytest.mark.parametrize("number", [0, 1])
def test_winograd(any_target: str, number: int) -> None:
    """Each of the algorithms on a part of the targets."""
    own = [types for i, types in enumerate(FLOATS) if (i + number) % 3 == INDEX[any_target] % 3]
    cases = [list(winograd(types, TARGETS[any_target].lanes(4)))[number] for types in own]
    check(cases, any_target, 2)


@pytest.mark.extensive
@pytest.mark.parametrize("types", TYPES, ids="-".join)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_all_cases(
    any_target: str, types: Types, table: Callable[[Types, int], Iterator[Case]]
) -> None:
    cases = table(types, TARGETS[any_target].lanes(4))
    for _, alike in groupby(cases, lambda case: case.implementation):
        check(list(alike), any_target, 1)


def check(cases: Sequence[Case], target: str, threads: int) -> None:
    """All of some cases are right."""
    problem = problems(cases, target, threads)
    assert not problem, problem
