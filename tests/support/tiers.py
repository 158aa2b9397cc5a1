"""
Which tests are in `make quick`, and in what order tests run.

Tests that are marked `slow` take seconds each. `make test` begins with them, so that at its end no core waits for one
that has just begun.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from random import Random
from zlib import crc32

from pytest import Item

OF_A_FAMILY = 8
"""One of this many cases of a parametrised test is in `make quick`, and at least one."""


def quick_tests(items: list[Item]) -> Iterator[Item]:
    """
    Something of everything: of each test function some of its cases, drawn by their names, so that they stay the same
    when other cases come and go. Not what is marked as `slow` or `extensive`.
    """
    families: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("slow", "extensive")):
            families[item.nodeid.partition("[")[0]].append(item)
    for family in families.values():
        drawn = sorted(family, key=lambda item: (crc32(item.nodeid.encode()), item.nodeid))
        yield from drawn[: -(-len(family) // OF_A_FAMILY)]


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
