"""Inputs of what is measured: the same in each run, or from a pool."""

import itertools
import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from xrelay.backends.base import Array
from xrelay.backends.regions import RegionTensor
from xrelay.placement.costs import inputs
from xrelay.placement.costs.inputs import (
    USUAL_CACHE,
    inputs_in_turn,
    last_cache_bytes,
    numbers,
    pool_bytes,
)

POOL = 1 << 16


def tensor(shape: tuple[int, ...], dtype: type = np.float32) -> RegionTensor:
    return RegionTensor(shape, np.dtype(dtype))


def address(array: Array) -> int:
    return array.ctypes.data


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools of 64 KiB."""
    monkeypatch.setattr(inputs, "pool_bytes", lambda: POOL)


def test_warm_inputs_are_the_same_arrays() -> None:
    given = inputs_in_turn([tensor((3, 4)), tensor((5,), np.int64)])
    first, second = given(), given()
    assert [id(each) for each in first] == [id(each) for each in second]
    assert np.array_equal(first[0], numbers(tensor((3, 4))))


@pytest.mark.usefixtures("small_pool")
@pytest.mark.parametrize("elements", [1, 100, 5000, 40_000], ids=str)
def test_rotating_inputs_fill_a_pool(elements: int) -> None:
    """Each run has arrays of its own, with equal elements, until the whole pool has been used."""
    tensors = [tensor((elements,)), tensor((), np.int64), tensor((3,), ml_dtypes.bfloat16)]
    given = inputs_in_turn(tensors, range(3))
    sets: list[list[Array]] = []
    while not sets or address(sets[-1][0]) != address(sets[0][0]) or len(sets) == 1:
        sets.append(given())
    sets.pop()
    assert len(sets) == max(2, math.ceil(POOL / (math.ceil(4 * elements / 64) * 64 + 128)))
    for each in sets:
        assert [(a.shape, a.dtype) for a in each] == [(t.shape, t.dtype) for t in tensors]
        assert all(np.array_equal(a, numbers(t)) for a, t in zip(each, tensors, strict=True))
        assert all(address(a) % 64 == 0 for a in each)
    starts = sorted((address(a), a.nbytes) for each in sets for a in each)
    ends = [start + size for start, size in starts]
    assert all(end <= start for end, (start, _) in zip(ends, starts[1:], strict=False))
    assert ends[-1] - starts[0][0] > POOL - 2 * (4 * elements + 192), "they lie all over it"


@pytest.mark.usefixtures("small_pool")
def test_some_inputs_rotate() -> None:
    """What a region gets of the region before lies where that has left it."""
    given = inputs_in_turn([tensor((30,)), tensor((40,)), tensor((50,))], [1])
    first, second = given(), given()
    assert first[0] is second[0] and first[2] is second[2]
    assert address(first[1]) != address(second[1]) and np.array_equal(first[1], second[1])


@pytest.mark.usefixtures("small_pool")
def test_few_of_small_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """To make sets of inputs takes time, too: those of small ones lie apart, so that they fill the pool."""
    monkeypatch.setattr(inputs, "MOST_SETS", 4)
    given = inputs_in_turn([tensor((2,))], [0])
    starts = [address(given()[0]) for _ in range(5)]
    assert starts[4] == starts[0]
    assert [b - a for a, b in itertools.pairwise(starts[:4])] == [POOL // 4 + 64] * 3


@pytest.mark.parametrize("tensors", [[], [tensor((0, 3))]], ids=["none", "empty"])
def test_no_bytes_are_no_pool(tensors: list[RegionTensor]) -> None:
    given = inputs_in_turn(tensors, range(len(tensors)))
    assert [each.shape for each in given()] == [each.shape for each in tensors]


def test_the_last_cache_is_the_largest(tmp_path: Path) -> None:
    assert last_cache_bytes(tmp_path / "nowhere") == USUAL_CACHE
    (tmp_path / "index9").mkdir()
    for number, size in enumerate(["48K", "32K", "2048K", "30M"]):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        (folder / "size").write_text(size + "\n")
    assert last_cache_bytes(tmp_path) == 30 << 20


def test_pools_are_larger_than_caches_and_leave_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(cache: int, pages: int) -> int:
        monkeypatch.setattr(inputs, "last_cache_bytes", lambda folder: cache)
        monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}.get)
        return pool_bytes()

    assert told(30 << 20, 1 << 20) == 60 << 20
    assert told(300 << 20, 1 << 16) == 64 << 20
