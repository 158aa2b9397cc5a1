"""What `make quick` draws, the orders of tests, and which warnings are errors."""

import warnings
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import tiers


@dataclass(frozen=True)
class CallSpec:
    """The parameters of a test, as pytest keeps them."""

    params: dict[str, str]


@dataclass(frozen=True)
class Item:
    """A test, as pytest collects it."""

    nodeid: str
    mark: str = ""
    target: str = ""

    @property
    def callspec(self) -> CallSpec:
        return CallSpec({"target": self.target})

    @property
    def path(self) -> Path:
        return Path(self.nodeid.partition("::")[0])

    def get_closest_marker(self, name: str) -> str | None:
        return self.mark if self.mark == name else None


def cases(count: int, name: str = "tests/unit/test_a.py::test_a", mark: str = "") -> list[Any]:
    """The cases of a test function."""
    return [Item(f"{name}[{i}]", mark) for i in range(count)]


def test_a_share_of_each_function_is_quick() -> None:
    one, few, many = Item("tests/unit/test_a.py::test_one"), cases(3), cases(17, "test_b.py::test")
    drawn = list(tiers.quick_tests([one, *few, *many]))
    assert one in drawn
    assert len(set(few) & set(drawn)) == 1
    assert len(set(many) & set(drawn)) == 3


def test_a_share_of_each_file_with_programs_is_quick() -> None:
    path = "tests/execution/test_a.py"
    items = [each for name in "abcd" for each in cases(8, f"{path}::test_{name}")]
    assert len(list(tiers.quick_tests(items))) == 2
    assert len(list(tiers.quick_tests(items[:1]))) == 1


def test_what_takes_long_is_not_quick() -> None:
    slow, extensive = cases(9, mark="slow"), cases(9, mark="extensive")
    assert list(tiers.quick_tests([*slow, *extensive])) == []


def test_the_draw_stays_when_others_come() -> None:
    before = set(tiers.quick_tests(cases(80)))
    after = set(tiers.quick_tests(cases(81)))
    assert len(before) == 10
    assert len(after) == 11
    assert len(before & after) >= 10 - 1


def test_targets_take_turns() -> None:
    targets = ["x86-64", "x86-64-v3", "riscv64"]
    here = targets[:2]
    items: list[Any] = [
        Item(f"test_a.py::test_{name}[{target}-{i}]", mark, target)
        for name, mark in (("one", "in_turn"), ("two", "in_turn"), ("all", ""))
        for i in range(3)
        for target in targets
    ]
    out = list(tiers.out_of_turn(items, here))
    for name in ("one", "two"):
        for i in range(3):
            (item,) = (
                each for each in out if f"_{name}[" in each.nodeid and f"-{i}]" in each.nodeid
            )
            assert item.target in here
    assert len(out) == 6
    assert {item.target for item in out[:3]} == set(here)


def test_slow_tests_are_first_and_others_keep_their_order() -> None:
    quick, slow = cases(5), cases(2, "test_b.py::test", "slow")
    assert tiers.slow_first([*quick, *slow]) == [*slow, *quick]


def test_random_orders() -> None:
    items = [each for name in "abcdef" for each in cases(6, f"test_{name}.py::test")]
    orders = [tiers.in_random_order(items, seed) for seed in ("1", "1", "2")]
    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        assert sorted(order, key=items.index) == items
        assert order != items
        assert len(list(groupby(order, key=lambda item: item.path))) == 6


def test_warnings_are_errors_but_that_of_forks() -> None:
    """The text is that of `warn_about_fork_with_threads` of CPython 3.12."""
    warnings.warn(
        "This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child.",
        DeprecationWarning,
        stacklevel=1,
    )
    with pytest.raises(DeprecationWarning, match="use of knives"):
        warnings.warn("use of knives", DeprecationWarning, stacklevel=1)
