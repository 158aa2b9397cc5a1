"""
Whether a mixed plan is faster than the best single engine, by whole runs in turns.

The ratio of the medians is tested one-sided by the bootstrap over turns; the level of 5 % is shared by the plans that are
tried (Holm). A plan that does not pass does not ship.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xrelay.placement.costs.timing import settle

LEVEL = 0.05
RESAMPLES = 2000
TURNS = 12
ROUNDS = 3
"""How often an undecided test is repeated with twice the turns, at most; the repetitions share the level."""

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

    def with_seconds(self, seconds: Mapping[str, float]) -> "Verdict":
        """The verdict by the medians of later runs: of single engines the fastest ships, and what was proven to be faster stays so."""
        singles = [name for name in seconds if name not in self.limits]
        best = min(singles, key=lambda name: (seconds[name], name))
        shipped = self.shipped if self.shipped in self.limits else best
        return replace(self, shipped=shipped, best_single=best, seconds=seconds)


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
    drawn = rng.integers(0, len(one), (RESAMPLES, len(one)))
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


def confirm(mixed: Mapping[str, Run], singles: Mapping[str, Run], turns: int = TURNS) -> Verdict:
    """What to ship: the fastest mixed plan that is proven to be faster than the best single engine, or that engine."""
    every = {**singles, **mixed}
    level = LEVEL / ROUNDS
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
