"""
Places buffers with known lifetimes in one block of memory, so that buffers that are never alive
at the same time share it.

Two ways are tried, and the one that needs less is taken:

- in the order of the steps; a buffer gets the smallest hole that holds it, or the end of the block.
  Freed holes are joined with their neighbours, and found by bisection.
- the largest buffer first; each gets the smallest gap between those that live at the same time.

Reference: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, calls
the second one greedy by size.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

ALIGNMENT = 64
"""Bytes that the constants, the workspace and every buffer in them are aligned to."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is alive from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int


@dataclass(frozen=True)
class MemoryPlan:
    """Where each buffer lies, and how many bytes all of them need."""

    offsets: tuple[int, ...]
    size: int


@dataclass
class _Holes:
    """Free ranges, sorted by (size, start), and findable by either end."""

    by_size: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    start_to_end: dict[int, int] = field(default_factory=dict[int, int])
    end_to_start: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, start: int, end: int) -> None:
        if start in self.end_to_start:
            before = self.end_to_start[start]
            self.remove(before, start)
            start = before
        if end in self.start_to_end:
            after = self.start_to_end[end]
            self.remove(end, after)
            end = after
        insort(self.by_size, (end - start, start))
        self.start_to_end[start] = end
        self.end_to_start[end] = start

    def remove(self, start: int, end: int) -> None:
        del self.by_size[bisect_left(self.by_size, (end - start, start))]
        del self.start_to_end[start]
        del self.end_to_start[end]

    def take(self, size: int) -> int | None:
        i = bisect_left(self.by_size, (size, -1))
        if i == len(self.by_size):
            return None
        length, start = self.by_size[i]
        self.remove(start, start + length)
        if length > size:
            self.add(start + size, start + length)
        return start


def plan_memory(lifetimes: Sequence[Lifetime]) -> MemoryPlan:
    """Offsets, multiples of ALIGNMENT, at which no two buffers that live together overlap."""
    sizes = [-(-max(lifetime.size, 1) // ALIGNMENT) * ALIGNMENT for lifetime in lifetimes]
    plans = (_in_order(lifetimes, sizes), _largest_first(lifetimes, sizes))
    return min(plans, key=lambda plan: plan.size)


def _in_order(lifetimes: Sequence[Lifetime], sizes: Sequence[int]) -> MemoryPlan:
    starting: dict[int, list[int]] = {}
    ending: dict[int, list[int]] = {}
    for i, lifetime in enumerate(lifetimes):
        starting.setdefault(lifetime.first, []).append(i)
        ending.setdefault(lifetime.last, []).append(i)
    offsets = [0] * len(lifetimes)
    holes, top = _Holes(), 0
    for step in sorted({*starting, *ending}):
        for i in starting.get(step, ()):
            offset = holes.take(sizes[i])
            if offset is None:
                # A hole at the end of the block grows.
                offset = holes.end_to_start.get(top, top)
                if offset != top:
                    holes.remove(offset, top)
                top = offset + sizes[i]
            offsets[i] = offset
        for i in ending.get(step, ()):
            holes.add(offsets[i], offsets[i] + sizes[i])
    return MemoryPlan(tuple(offsets), top)


def _largest_first(lifetimes: Sequence[Lifetime], sizes: Sequence[int]) -> MemoryPlan:
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    top = 0
    for i in sorted(range(len(lifetimes)), key=lambda i: (-sizes[i], lifetimes[i].first)):
        own = lifetimes[i]
        taken = sorted(
            (offsets[j], offsets[j] + sizes[j])
            for j in placed
            if lifetimes[j].first <= own.last and own.first <= lifetimes[j].last
        )
        end = 0
        gaps: list[tuple[int, int]] = []
        for start, stop in taken:
            if start - end >= sizes[i]:
                gaps.append((start - end, end))
            end = max(end, stop)
        offsets[i] = min(gaps)[1] if gaps else end
        placed.append(i)
        top = max(top, offsets[i] + sizes[i])
    return MemoryPlan(tuple(offsets), top)
