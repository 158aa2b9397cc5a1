"""How arrays of the caller lie in memory: first rows of larger ones, outputs over inputs, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xrelay.runtime import layouts
from xrelay.runtime.errors import ModelError
from xrelay.runtime.layouts import ROW_MAJOR, Growth, Layouts, Rows, capacity_along, layouts_of

Array = npt.NDArray[Any]


def block(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("array", "capacities"),
    [
        (block(2, 3, 4), [2, 3, 4]),
        (block(2, 9, 4)[:, :3], [None, 9, None]),
        (block(2, 3, 9)[:, :, :4], [None, None, 9]),
        (block(2, 9, 4)[:, 5:8], [None, 9, None]),
        (block(2, 3, 4)[:, :, ::2], [None, None, None]),
        (block(2, 3, 8)[:, :, ::2], [None, None, None]),
        (block(4, 3, 4)[::2], [None, 6, None]),
        (block(3, 4, 2).transpose(2, 0, 1), [None, None, None]),
        (block(2, 5, 9)[:, :3, :4], [None, None, None]),
        (block(1, 9, 4)[:, :3], [1, 3, 4]),
        (block(2, 9, 1)[:, :3], [None, 9, None]),
        (block(2, 3, 1)[:, :, ::2], [2, 3, 1]),
        (block(2, 1, 9)[:, :, :4], [None, None, 9]),
    ],
)
def test_capacities(array: Array, capacities: list[int | None]) -> None:
    """How many rows there are along each axis of which an array is the first rows."""
    assert [capacity_along(array, axis) for axis in range(array.ndim)] == capacities


def given(*arrays: Array) -> dict[str, Array]:
    return {f"a{number}": array for number, array in enumerate(arrays)}


def test_layouts_number_capacities() -> None:
    """Arrays of the same capacity have the same number."""
    inputs = given(block(2, 3), block(2, 9, 4)[:, :3], block(2, 7)[:, :3])
    outputs = {"y": block(2, 9)[:, :4], "z": block(4)}
    rows = (Rows("a1", 1, 0), Rows("a2", 1, 1))
    found = layouts_of(inputs, outputs)
    assert found == Layouts(rows, (Rows("y", 1, 0),), (), (9, 7))
    assert found.pattern == Layouts(rows, (Rows("y", 1, 0),), (), ())
    assert found.without({"a1"}) == Layouts((rows[1],), (Rows("y", 1, 0),), (), (9, 7))
    assert found.without({"a0"}) is found
    assert layouts_of(given(block(2, 3)), given(block(3))) == ROW_MAJOR
    assert layouts_of(given(block(0, 3)), {"y": block(0, 3)}) == ROW_MAJOR


def cache(length: int) -> Array:
    return block(2, 9, 4)[:, :length]


def test_outputs_over_inputs() -> None:
    """Both are the first rows of one array, along one axis, or whole rows of it."""
    whole = block(2, 9, 4)
    found = layouts_of({"old": whole[:, :3]}, {"new": whole[:, :4]})
    assert found == Layouts(
        (Rows("old", 1, 0),), (Rows("new", 1, 0),), (Growth("new", "old", 1),), (9,)
    )
    found = layouts_of({"old": whole[:, :8]}, {"new": whole})
    assert found == Layouts(
        (Rows("old", 1, 0),), (Rows("new", 1, 0),), (Growth("new", "old", 1),), (9,)
    )
    rows = block(9, 4)
    found = layouts_of({"old": rows[:3]}, {"new": rows[:5]})
    assert found == Layouts((), (), (Growth("new", "old", 0),), ())
    message = (
        "input 'old' and output 'new' share memory, but the elements of the input decide about lengths, and are read "
        "before the program runs; expected arrays apart"
    )
    with pytest.raises(ModelError) as caught:
        found.without({"old"})
    assert str(caught.value) == message
    assert found.without({"other"}) is found


BEGINS = "expected an output that begins with the input, and is longer along one axis"


STRIDES = (
    "input 'old' [2, 3, 4] and output 'new' [2, 4, 4] share memory, and their strides differ: [48, 16, 4] and "
    "[144, 16, 4]; expected both to be the first rows of one array along axis 1"
)
Part = Callable[[Array], Array]
DIFFERENT: list[tuple[Part, Part, str]] = [
    (
        lambda a: a[:, :3],
        lambda a: a[:, 1:5],
        "input 'old' [2, 3, 4] and output 'new' [2, 4, 4] share memory, and begin at different places; "
        + BEGINS,
    ),
    (
        lambda a: a[:, :3],
        lambda a: a[:, :4].view(np.int32),
        "input 'old' [2, 3, 4] and output 'new' [2, 4, 4] share memory, and are float32 and int32; "
        + BEGINS,
    ),
    (
        lambda a: a.reshape(-1)[:3],
        lambda a: a[:, :4],
        "input 'old' [3] and output 'new' [2, 4, 4] share memory, and are of rank 1 and 3; "
        + BEGINS,
    ),
    (
        lambda a: a[:, :4],
        lambda a: a[:, :3],
        "input 'old' [2, 4, 4] and output 'new' [2, 3, 4] share memory; "
        + BEGINS
        + " (the buffer may be too small)",
    ),
    (
        lambda a: a[:1, :3],
        lambda a: a[:, :4],
        "input 'old' [1, 3, 4] and output 'new' [2, 4, 4] share memory; "
        + BEGINS
        + " (the buffer may be too small)",
    ),
    (
        lambda a: a.reshape(-1)[:24].reshape(2, 3, 4),
        lambda a: a[:, :4],
        STRIDES,
    ),
]


@pytest.mark.parametrize("part", [np.s_[:], np.s_[:, :4]])
def test_outputs_exactly_on_inputs(part: Any) -> None:
    """They grow by nothing; a part of a larger array has its rows as others do."""
    array = block(2, 9, 4)[part]
    found = layouts_of({"old": array}, {"new": array})
    assert found.growing == (Growth("new", "old", None),)
    rows = () if array.flags.c_contiguous else (1,)
    assert tuple(each.axis for each in (*found.inputs, *found.outputs)) == 2 * rows


@pytest.mark.parametrize(("old", "new", "message"), DIFFERENT)
def test_outputs_that_do_not_grow(
    old: Callable[[Array], Array], new: Callable[[Array], Array], message: str
) -> None:
    """What keeps an output over an input from being one that the program appends to."""
    whole = block(2, 9, 4)
    with pytest.raises(ModelError) as caught:
        layouts_of({"old": old(whole)}, {"new": new(whole)})
    assert str(caught.value) == message


def test_outputs_over_several() -> None:
    """An output grows over one input alone, and shares nothing with another output."""
    whole = block(9, 4)
    with pytest.raises(ModelError) as caught:
        layouts_of({"one": whole[:3], "two": whole[:4]}, {"new": whole[:5]})
    assert (
        str(caught.value)
        == "output 'new' shares memory with input 'one' and input 'two', expected one"
    )
    with pytest.raises(ModelError, match=r"^output 'new' and output 'next' share memory$"):
        layouts_of({}, {"new": whole[:3], "next": whole[2:4]})
    assert layouts_of({"one": whole[:3], "two": whole[1:4]}, {"new": block(3)}) == ROW_MAJOR


def test_arrays_side_by_side() -> None:
    """Their spans overlap, and they have no element in common; what is hard to tell counts as shared."""
    whole = block(2, 9)
    found = layouts_of({"old": whole[:, :4]}, {"new": whole[:, 4:]})
    assert found == Layouts((Rows("old", 1, 0),), (Rows("new", 1, 0),), (), (9,))


def test_sharing_that_is_hard_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as sharing."""

    def shares_memory(one: Array, other: Array, max_work: int) -> bool:
        assert max_work == layouts.MOST_WORK
        raise np.exceptions.TooHardError("exceeded")

    monkeypatch.setattr(np, "shares_memory", shares_memory)
    whole = block(2, 9)
    with pytest.raises(ModelError, match=r"share memory, and begin at different places"):
        layouts_of({"old": whole[:, :4]}, {"new": whole[:, 4:]})


def test_arrays_that_lie_otherwise() -> None:
    """Steps between elements that no first rows have, and arrays that may not be written to."""
    with pytest.raises(ModelError) as caught:
        layouts_of({"x": block(3, 8)[:, ::2]}, {})
    assert str(caught.value).startswith("input 'x' ")
    assert str(caught.value).endswith(
        "expected those of an array [3, 4] or of the first rows of a larger one along one axis"
    )
    fixed = block(3)
    fixed.flags.writeable = False
    assert layouts_of({"x": fixed}, {}) == ROW_MAJOR
    with pytest.raises(ModelError, match=r"^output 'y' "):
        layouts_of({}, {"y": fixed})


def test_only_arrays_whose_spans_meet_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many arrays beside each other take time that is linear in their number."""
    compared: list[tuple[int, int]] = []
    shares_memory = np.shares_memory

    def shares(one: Array, other: Array, max_work: Any = None) -> bool:
        compared.append((one.size, other.size))
        return shares_memory(one, other, max_work=max_work)

    monkeypatch.setattr(np, "shares_memory", shares)
    memory = block(40)
    parts = [memory[4 * i : 4 * i + 4] for i in range(8)]
    columns = memory[32:].reshape(4, 2)
    left, right = columns[:, :1], columns[:3, 1:]
    assert layouts_of(given(*parts[:4]), {f"y{i}": parts[4 + i] for i in range(4)}) == ROW_MAJOR
    assert compared == []
    layouts_of({"x": parts[0], "l": left}, {"r": right})
    assert compared == [(3, 4)]
