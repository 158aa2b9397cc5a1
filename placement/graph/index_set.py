"""
Sets of nodes as bit masks: bit i of a number says whether node i is in the set.

Union, intersection and difference are `|`, `&` and `& ~`, the count is `bit_count()`, and numbers
order sets by their last member that differs.
"""

from collections.abc import Iterable, Iterator
from functools import reduce


def index_set(indices: Iterable[int]) -> int:
    """The set of some indices."""
    found = 0
    for index in indices:
        found |= 1 << index
    return found


def union_of(sets: Iterable[int]) -> int:
    """The set of what is in any of some sets."""
    return reduce(int.__or__, sets, 0)


def members(indices: int) -> Iterator[int]:
    """The members of a set in ascending order."""
    while indices:
        lowest = indices & -indices
        yield lowest.bit_length() - 1
        indices ^= lowest


def first_inside(indices: int) -> int:
    """The first member of a set, -1 when it has none."""
    return (indices & -indices).bit_length() - 1


def first_outside(indices: int) -> int:
    """The first index that is not in a set."""
    return first_inside(~indices)


def last_inside(indices: int) -> int:
    """The last member of a set, -1 when it has none."""
    return indices.bit_length() - 1


def up_to(count: int) -> int:
    """The set of the indices below a number."""
    return (1 << count) - 1
