"""
Which tests are in `make quick`, in what order tests run, and how many examples properties get.

Tests that are marked `slow` take seconds each. `make test` begins with them, so that at its end no core waits for one
that has just begun.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from random import Random
from zlib import crc32

from hypothesis import HealthCheck, settings
from pytest import Item

QUICK_SHARES = {"execution": 16}
"""Of the tests of a file in these folders, one of so many is in `make quick`: they compile programs."""
QUICK_SHARE = 8
"""Elsewhere, of the cases of a test function one of so many is."""
DEFAULT = 100
"""
Examples of the profile of `make test`, in whose measure tests state theirs: a few fixed ones there, many new ones in
`make conformance`, which runs them with `--hypothesis-profile extensive` (tests/conftest.py).
"""


def family(item: Item) -> tuple[str, int]:
    """What a test is drawn with for `make quick`, and how many there are for one that is drawn."""
    folder = item.path.parent.name
    if folder in QUICK_SHARES:
        return str(item.path), QUICK_SHARES[folder]
    return item.nodeid.partition("[")[0], QUICK_SHARE


def quick_tests(items: list[Item]) -> Iterator[Item]:
    """
    Something of everything: of each family a share, and at least one. They are drawn by their names, so that they stay
    the same when other tests come and go. What is marked as `slow` or `extensive` is not among them.
    """
    families: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("slow", "extensive")):
            families[family(item)].append(item)
    for (_, share), members in families.items():
        members.sort(key=lambda item: (crc32(item.nodeid.encode()), item.nodeid))
        yield from members[: -(-len(members) // share)]


def out_of_turn(items: list[Item], targets: Sequence[str]) -> Iterator[Item]:
    """
    Of the tests that are marked as `in_turn` those that are not their target's: some targets take turns with the cases
    of a function, of which the first falls to one that its name says.
    """
    cases: dict[str, dict[str, dict[str, Item]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        if item.get_closest_marker("in_turn"):
            target = item.callspec.params["target"]
            if target in targets:
                function, _, case = item.nodeid.partition("[")
                cases[function][case.replace(target, "", 1)][target] = item
    for function, members in cases.items():
        first = crc32(function.encode())
        for number, case in enumerate(members.values(), first):
            turn = targets[number % len(targets)]
            yield from (item for target, item in case.items() if target != turn)


def slow_first(items: list[Item]) -> list[Item]:
    """The tests with the slow ones before all others."""
    return sorted(items, key=lambda item: item.get_closest_marker("slow") is None)


def in_random_order(items: list[Item], seed: str) -> list[Item]:
    """The tests with the files, and the tests of each file, in an order that `seed` says."""
    random = Random(seed)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    random.shuffle(files)
    for tests in files:
        random.shuffle(tests)
    return [item for tests in files for item in tests]


def examples(count: int) -> settings:
    """So many examples in `make test`, and in other profiles as many times more as they say."""
    profile = settings()
    return settings(profile, max_examples=max(1, count * profile.max_examples // DEFAULT))


def fixed_examples(count: int, *unchecked: HealthCheck) -> settings:
    """So many examples, the same in every run of all tiers, of which Hypothesis does not check some things."""
    return settings(
        deadline=None, derandomize=True, max_examples=count, suppress_health_check=unchecked
    )
