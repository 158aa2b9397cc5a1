"""Lengths that are found out in a call: how large numbers may be, what is refused, and records that are damaged."""

from dataclasses import replace
from typing import Any

import pytest

from xrelay.runtime.lengths import MOST_NUMBER, KnownLengths, OpenLengths, Polynomial, value_of

N: Polynomial = (((0,), 1),)
"""The first symbol."""
ONE: Polynomial = (((), 1),)


def open_lengths(**changes: Any) -> OpenLengths:
    """A program whose input has `n` rows of one element, with changes."""
    found = OpenLengths(("n",), ((0, 0),), ((1, 2**40),), (), (), (N,), ((N, ONE),), ((N,),), N)
    return replace(found, **changes)


def times(factor: int) -> Polynomial:
    return (((0,), factor),)


LARGE = 2**22
"""With 2**40 it is the first number that no code is given."""


@pytest.mark.parametrize(
    ("changes", "workspace"),
    [
        ({}, 2**40),
        ({"table": (times(LARGE),)}, None),
        ({"table": (N, times(-LARGE), ONE)}, None),
        ({"workspace_bytes": times(LARGE)}, None),
        ({"table": (times(LARGE - 1),)}, 2**40),
        ({"workspace_bytes": times(1 - LARGE)}, (1 - LARGE) * 2**40),
        ({"outputs": ((times(LARGE),),)}, 2**40),
    ],
)
def test_numbers_that_code_is_given(changes: dict[str, Any], workspace: int | None) -> None:
    """Each number of the table, and the size of the workspace, is less than MOST_NUMBER in size."""
    lengths = open_lengths(**changes)
    found = lengths.at([(2**40, 1)])
    assert 2**40 * LARGE == MOST_NUMBER
    if workspace is None:
        assert found is None
        assert lengths.at([(2**40 - 1, 1)]) is not None
    else:
        table = tuple(value_of(each, [2**40]) for each in lengths.table)
        outputs = tuple(tuple(value_of(d, [2**40]) for d in s) for s in lengths.outputs)
        assert found == KnownLengths(table, ((2**40, 1),), outputs, workspace)


def quotient(lengths: tuple[int, int]) -> KnownLengths | None:
    """What a program with n // (m - 3), the smaller one and the larger one in its table is at some lengths."""
    m: Polynomial = (((1,), 1),)
    program = OpenLengths(
        ("n", "m"),
        ((0, 0), (0, 1)),
        ((-9, 9), (2, 7)),
        (("div", N, (((1,), 1), ((), -3))), ("min", N, m), ("max", N, m)),
        (((((3,), 1),), "!="),),
        tuple((((each,), 1),) for each in (2, 3, 4)),
        ((N, m),),
        ((m,),),
        m,
    )
    return program.at([lengths])


@pytest.mark.parametrize(
    ("lengths", "table"),
    [
        ((9, 7), (2, 7, 9)),
        ((7, 5), (3, 5, 7)),
        ((-7, 5), (-4, -7, 5)),
        ((6, 4), (6, 4, 6)),
        ((6, 3), (0, 3, 6)),  # By 0, in kernels that do not run.
        ((6, 2), (0, 2, 6)),  # By less.
        ((0, 5), None),  # What the guard excludes.
        ((-9, 7), (-3, -9, 7)),
        ((-10, 7), None),
        ((10, 7), None),
        ((5, 1), None),
        ((5, 8), None),
    ],
)
def test_what_is_computed_from_lengths(
    lengths: tuple[int, int], table: tuple[int, ...] | None
) -> None:
    """Quotients are rounded down, and are 0 for divisors that are not above 0; bounds belong to what is served."""
    n, m = lengths
    found = quotient(lengths)
    assert found == (None if table is None else KnownLengths(table, ((n, m),), ((m,),), m))


def test_inputs_whose_other_lengths_differ() -> None:
    """All of the shape has to follow from the symbols."""
    assert open_lengths().at([(3, 2)]) is None
    assert open_lengths().at([(3, 1)]) == KnownLengths((3,), ((3, 1),), ((3,),), 3)


def as_lists(value: object) -> Any:
    """As JSON has it."""
    return [as_lists(each) for each in value] if isinstance(value, tuple) else value


def test_records_are_read_as_written() -> None:
    """With lists in place of tuples."""
    for lengths in (
        open_lengths(),
        open_lengths(table=(((), ((0, 0), MOST_NUMBER)), ())[1:]),
        open_lengths(table=((((0, 0), MOST_NUMBER), ((), -MOST_NUMBER)),)),
        open_lengths(atoms=(("max", N, ONE),), table=((((1,), 2),),), guards=((N, ">="),)),
        open_lengths(conditions=("n > 0",), texts=((("n", "1"),), (("n",),)), workspace_text="n"),
    ):
        data = {name: as_lists(value) for name, value in lengths.to_data().items()}
        assert OpenLengths.from_data(data) == lengths


DAMAGED: list[tuple[str, object, str]] = [
    ("symbols", [3], "a text"),
    ("conditions", [3], "a text"),
    ("workspace_text", 3, "a text"),
    ("symbols", ["n", "m"], "the symbols"),
    ("bounds", [], "the symbols"),
    ("sources", [[0, 0], [0, 1]], "the symbols"),
    ("sources", [[0]], "a pair of numbers"),
    ("sources", [[0, True]], "a pair of numbers"),
    ("bounds", [[1, 2.0]], "a pair of numbers"),
    ("bounds", [[1, 2, 3]], "a pair of numbers"),
    ("sources", [[1, 0]], "the input of a symbol"),
    ("sources", [[-1, 0]], "the input of a symbol"),
    ("sources", [[0, 2]], "the axis of a symbol"),
    ("sources", [[0, -1]], "the axis of a symbol"),
    ("atoms", [["mod", [], []]], "an operation"),
    ("atoms", [["div", [[[1], 1]], []]], "the operand of an operation"),
    ("atoms", [["div", [], [[[1], 1]]]], "the operand of an operation"),
    ("guards", [[[], "~"]], "a condition"),
    ("guards", [[[[[1], 1]], "=="]], "a condition"),
    ("table", [3], "a number"),
    ("table", [[3]], "a number"),
    ("table", [[[[0]]]], "a number"),
    ("table", [[[[0], 1, 2]]], "a number"),
    ("table", [[[0, 1]]], "a number"),
    ("table", [[[[0], 1.0]]], "a number"),
    ("table", [[[[0], True]]], "a number"),
    ("table", [[[[0], MOST_NUMBER + 1]]], "a number"),
    ("table", [[[[0], -MOST_NUMBER - 1]]], "a number"),
    ("table", [[[[1], 1]]], "a number"),
    ("table", [[[[-1], 1]]], "a number"),
    ("table", [[[["n"], 1]]], "a number"),
    ("table", [[[[0, False], 1]]], "a number"),
    ("inputs", [[[[[0], 1]], 3]], "a number"),
    ("outputs", [[3]], "a number"),
    ("workspace_bytes", 3, "the size of the workspace"),
    ("texts", [[]], "the texts of shapes"),
    ("texts", [[], [], []], "the texts of shapes"),
    ("texts", [[["n", 1]], []], "the text of a shape"),
    ("texts", [[], [[1]]], "the text of a shape"),
]


@pytest.mark.parametrize(("name", "value", "what"), DAMAGED)
def test_damaged_records(name: str, value: object, what: str) -> None:
    """It is said which part is none that a program has."""
    data = {each: as_lists(given) for each, given in open_lengths().to_data().items()}
    with pytest.raises(TypeError) as caught:
        OpenLengths.from_data({**data, name: value})
    assert str(caught.value) == f"{what} is damaged"
