"""
How much other data a network goes through before it comes to one of its parts, or to a border, again: what was in caches then
is not there any more. What is measured by itself, again and again, would keep it there.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from xrelay.backends.base import Array
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.sub_graph import SubGraph

LEAST_BYTES, MOST_BYTES = 4 << 20, 32 << 20
"""
What a core reads at least before a border is measured, and at most before a border or a part: more than its own caches have,
and as much as a network goes through, up to where runs are so long that borders do not matter.
"""
FEW_BYTES = 1 << 20
"""Less than this leaves a core's own caches as they are, more or less."""


def bytes_of_run(graph: Graph, threads: int) -> int:
    """
    How many bytes a run of a network goes through until it comes to a border again: its footprint, rounded up to a number
    of three bits, so that networks of about as many share what is measured, between `LEAST_BYTES` and `MOST_BYTES`. With several
    threads as few as that: while more is read the threads of engines go to sleep, which they do not within a run.
    """
    if threads > 1:
        return LEAST_BYTES
    return min(max(LEAST_BYTES, _rounded(graph.footprint)), MOST_BYTES)


def bytes_beside(part: SubGraph, threads: int) -> int:
    """
    How many bytes a run of a network goes through between two runs of a part of it: its footprint without that of the part,
    rounded and limited as for borders; 0 where these are few, as for a part that is the whole network.
    """
    found = part.graph.footprint - part.graph.footprint_of(part.inside, part.inputs)
    if found < FEW_BYTES:
        return 0
    return min(_rounded(found), LEAST_BYTES if threads > 1 else MOST_BYTES)


def _rounded(count: int) -> int:
    unit = 1 << max(count.bit_length() - 3, 0)
    return -(-count // unit) * unit


def reading(behind: int, warm: Sequence[Array] = ()) -> Callable[[], None]:
    """What reads so many bytes of other data, and then arrays that are in caches nevertheless, as what was just computed is."""
    return partial(_read, [_others(behind), *(each.reshape(-1).view(np.uint8) for each in warm)])


_kept = [np.ones(0, np.uint8)]
"""What is read by all measurements of this process."""


def _others(count: int) -> Array:
    """So many bytes."""
    if _kept[0].size < count:
        _kept[0] = np.ones(count, np.uint8)
    return _kept[0][:count]


def _read(arrays: Sequence[Array]) -> None:
    for each in arrays:
        each.max(initial=0)
