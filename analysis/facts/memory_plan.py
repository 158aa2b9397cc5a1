"""
Places buffers with known lifetimes in one block of memory, so that buffers that are never alive
at the same time share it.

Two ways are tried, and the one that needs less is taken:

- in the order of the steps; a buffer gets the smallest hole that holds it, or the end of the block.
  Freed holes are joined with their neighbours, and found by bisection.
- the largest buffer first; each gets the smallest gap between those that live at the same time. That takes
  time in the pairs that do, and is left out where these are too many.

Buffers of no bytes lie at the start, and take no place.

Reference: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, calls
the second one greedy by size.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from xrelay.dialects.lengths import certainly, hint, is_open, larger

ALIGNMENT = 64
"""Bytes that the constants, the workspace and every buffer in them are aligned to."""
MOST_PAIRS = 1 << 20
"""With more pairs of buffers that live at the same time, placing the largest first takes too long."""


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
    numbers = [number for number, lifetime in enumerate(lifetimes) if lifetime.size]
    needed = [lifetimes[number] for number in numbers]
    sizes = [-(-lifetime.size // ALIGNMENT) * ALIGNMENT for lifetime in needed]
    plans = [_in_order(needed, sizes)]
    together = _living_together(needed)
    if together is not None:
        plans.append(_largest_first(needed, sizes, together))
    best = min(plans, key=lambda plan: plan.size)
    offsets = [0] * len(lifetimes)
    for number, offset in zip(numbers, best.offsets, strict=True):
        offsets[number] = offset
    return MemoryPlan(tuple(offsets), best.size)


def plan_slots(lifetimes: Sequence[Lifetime]) -> MemoryPlan:
    """
    The same for sizes that are known when the program runs: slots one behind the other, in each of which some buffers
    lie at different times. A slot is as large as the largest of them then is.
    """
    slots: list[int] = []
    ends: list[int] = []
    """The last step that uses each slot so far."""
    chosen: dict[int, int] = {}
    for i in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first):
        each = lifetimes[i]
        size = -(-each.size // ALIGNMENT) * ALIGNMENT
        likely = hint(size)
        if certainly(size, 0):
            continue
        # Sizes that are known, or not, have slots of their own: the larger one of both would be no sum.
        free = [
            slot
            for slot, end in enumerate(ends)
            if end < each.first and is_open(slots[slot]) == is_open(size)
        ]
        slot = min(free, key=lambda slot: _misfit(hint(slots[slot]), likely), default=len(slots))
        if slot == len(slots):
            slots.append(size)
            ends.append(each.last)
        slots[slot], ends[slot] = larger(slots[slot], size, of_empty=True), each.last
        chosen[i] = slot
    offsets = [0]
    for size in slots:
        offsets.append(offsets[-1] + size)
    places = tuple(offsets[chosen[i]] if i in chosen else 0 for i in range(len(lifetimes)))
    return MemoryPlan(places, offsets[-1])


def _misfit(size: int, wanted: int) -> tuple[bool, int]:
    """How little a slot suits: one that is large enough suits better, and the nearest of each kind best."""
    return size < wanted, abs(size - wanted)


def _living_together(lifetimes: Sequence[Lifetime]) -> list[list[int]] | None:
    """For each buffer the others that live at the same time; None for more than MOST_PAIRS pairs."""
    together: list[list[int]] = [[] for _ in lifetimes]
    alive: list[int] = []
    pairs = 0
    for i in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first):
        alive = [j for j in alive if lifetimes[j].last >= lifetimes[i].first]
        pairs += len(alive)
        if pairs > MOST_PAIRS:
            return None
        for j in alive:
            together[j].append(i)
        together[i].extend(alive)
        alive.append(i)
    return together


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


def _largest_first(
    lifetimes: Sequence[Lifetime], sizes: Sequence[int], together: Sequence[Sequence[int]]
) -> MemoryPlan:
    offsets = [0] * len(lifetimes)
    placed = [False] * len(lifetimes)
    top = 0
    for i in sorted(range(len(lifetimes)), key=lambda i: (-sizes[i], lifetimes[i].first)):
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in together[i] if placed[j])
        end = 0
        gaps: list[tuple[int, int]] = []
        for start, stop in taken:
            if start - end >= sizes[i]:
                gaps.append((start - end, end))
            end = max(end, stop)
        offsets[i] = min(gaps)[1] if gaps else end
        placed[i] = True
        top = max(top, offsets[i] + sizes[i])
    return MemoryPlan(tuple(offsets), top)
