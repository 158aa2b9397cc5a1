"""
Whether a mixed plan is faster than the best single engine, by whole runs in turns.

The ratio of the medians is tested one-sided by the bootstrap over turns; the level of 5 % is shared by the plans that are
tried (Holm). A plan that does not pass does not ship.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from xrelay.placement.costs.timing import settle

LEVEL = 0.05
RESAMPLES, MOST_RESAMPLES = 2000, 100_000
FARTHER = 20
"""So many resamples are beyond a limit, at least, up to the most resamples."""
TURNS = 12
ROUNDS = 3
"""How often an undecided test is repeated with twice the turns, at most; the repetitions, and later tests, share the level."""

Run = Callable[[], float]
"""Runs a network a few times and returns the seconds of one run."""


@dataclass(frozen=True)
class Verdict:
    """What whole runs say."""

    shipped: str
    """What is the fastest for all that can be told."""
    best_single: str
    seconds: Mapping[str, float]
    """The median of each."""
    limits: Mapping[str, float]
    """The one-sided upper limit of the ratio of each mixed plan to the best single engine."""

    def after(self, samples: Mapping[str, Sequence[float]], later: int) -> "Verdict":
        """
        The verdict by later runs, one of so many `later` tests: the fastest single engine ships, unless a mixed plan is proven to be
        faster now, or was before, if it is faster than the same engine still.
        """
        seconds = {name: float(np.median(each)) for name, each in samples.items()}
        best = min((n for n in seconds if n not in self.limits), key=lambda n: (seconds[n], n))
        passed, limits = passing(samples, list(self.limits), best, level_of(later))
        is_same = best == self.best_single
        shipped = self.shipped
        if is_same and shipped in self.limits and seconds[shipped] < seconds[best]:
            passed = list(dict.fromkeys([*passed, shipped]))
        shipped = min(passed, key=lambda name: (seconds[name], name), default=best)
        if is_same:
            limits = {name: min(limit, self.limits[name]) for name, limit in limits.items()}
        return Verdict(shipped, best, seconds, limits)


def level_of(later: int) -> float:
    """The level of each test: some `later` ones, and before each of them, and at first, `ROUNDS` of plans that are new."""
    return LEVEL / (ROUNDS * (later + 1) + later)


def take_turns(runs: Mapping[str, Run], turns: int, seed: int = 0) -> dict[str, list[float]]:
    """The seconds of each of some networks in each turn. The order is drawn anew in each turn."""
    rng = np.random.default_rng(seed)
    names = list(runs)
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(turns):
        for place in rng.permutation(len(names)):
            settle()
            found[names[place]].append(runs[names[place]]())
    return found


def upper_limit(mixed: Sequence[float], single: Sequence[float], level: float) -> float:
    """The one-sided upper limit of the ratio of medians, at a level, by the bootstrap over turns."""
    one, other = np.asarray(mixed), np.asarray(single)
    rng = np.random.default_rng(0)
    count = min(max(RESAMPLES, ceil(FARTHER / level)), MOST_RESAMPLES)
    drawn = rng.integers(0, len(one), (count, len(one)))
    ratios = np.median(one[drawn], axis=1) / np.median(other[drawn], axis=1)
    return float(np.quantile(ratios, 1 - level))


def passing(
    samples: Mapping[str, Sequence[float]], mixed: Sequence[str], single: str, level: float
) -> tuple[list[str], dict[str, float]]:
    """The mixed plans that are faster than a single engine, by Holm's procedure, and the limits of all."""
    medians = {name: float(np.median(samples[name])) for name in mixed}
    passed: list[str] = []
    limits: dict[str, float] = {}
    for rank, name in enumerate(sorted(mixed, key=lambda each: (medians[each], each))):
        share = level / (len(mixed) - rank)
        limits[name] = upper_limit(samples[name], samples[single], share)
        if limits[name] < 1 and len(passed) == rank:
            passed.append(name)
    return passed, limits


def confirm(
    mixed: Mapping[str, Run], singles: Mapping[str, Run], turns: int = TURNS, later: int = 0
) -> Verdict:
    """
    What to ship: the fastest mixed plan that is proven to be faster than the best single engine, or that engine. So many tests
    may follow `later`, and share the level.
    """
    every = {**singles, **mixed}
    level = level_of(later)
    samples: dict[str, list[float]] = {}
    passed: list[str] = []
    limits: dict[str, float] = {}
    best = ""
    for number in range(ROUNDS):
        samples = take_turns(every, turns << number, number)
        best = min(singles, key=lambda name: (float(np.median(samples[name])), name))
        passed, limits = passing(samples, list(mixed), best, level)
        undecided = [
            name
            for name in mixed
            if name not in passed and np.median(samples[name]) < np.median(samples[best])
        ]
        if passed or not undecided:
            break
    medians = {name: float(np.median(each)) for name, each in samples.items()}
    shipped = min(passed, key=lambda name: (medians[name], name), default=best)
    return Verdict(shipped, best, medians, limits)
