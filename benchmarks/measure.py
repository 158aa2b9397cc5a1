"""
Timing, such that engines can be compared.

All engines are loaded in one process, and take turns. Before its turn an engine gets a quiet machine
(threads of the one before may still spin) and one run that is not counted, so that its weights and
threads are where they are when it runs alone. Each turn then has several counted runs, and turns
alternate often, so that slow and fast phases of the machine meet all engines alike.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.engines import ENGINES, REFERENCE, Array, Job
from benchmarks.results import EngineResult, Timing
from xrelay.placement.costs.timing import settle

TURN_SECONDS = 0.1
TURN_RUNS = 3
"""A turn has at least so many runs, and at least lasts so long."""
MIN_RUNS = 12
"""At least so many runs are counted, however long they take."""


def turn(run: Callable[[], object], runs: int | None = None) -> list[float]:
    """The times of one turn in milliseconds: of `runs` runs, by default of those of one turn."""
    settle()
    run()
    samples: list[float] = []
    end = time.perf_counter() + TURN_SECONDS
    while len(samples) < (runs or TURN_RUNS) or (runs is None and time.perf_counter() < end):
        start = time.perf_counter()
        run()
        samples.append(1e3 * (time.perf_counter() - start))
    return samples


def interleave(
    runs: Mapping[str, Callable[[], object]], seconds: float, count: int | None = None
) -> dict[str, Timing]:
    """
    Times of each of `runs`, in turns for `seconds` in all; or `count` of each, when it is given.
    """
    samples: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    end = time.perf_counter() + seconds

    def enough() -> bool:
        least = min(map(len, samples.values()))
        if count is not None:
            return least >= count
        return least >= MIN_RUNS and time.perf_counter() >= end

    while names and not enough():
        for name in names:
            left = None if count is None else min(TURN_RUNS, count - len(samples[name]))
            samples[name] += turn(runs[name], left)
        names.append(names.pop(0))  # Another engine is the first in the next round.
    return {name: Timing(tuple(taken)) for name, taken in samples.items()}


def difference(found: list[Array], expected: list[Array]) -> float:
    """
    The largest difference of any output, relative to the largest value of that output. Infinite
    for other shapes and for what is not finite.
    """
    if [array.shape for array in found] != [array.shape for array in expected]:
        return float("inf")
    worst = 0.0
    for ours, right in zip(found, expected, strict=True):
        gap = float(np.max(np.abs(ours.astype(np.float64) - right), initial=0))
        scale = float(np.max(np.abs(right), initial=0))
        relative = 0.0 if gap == 0 else gap / scale if scale else float("inf")
        worst = max(worst, relative if np.isfinite(relative) else float("inf"))
    return worst


def measure(
    job: Job, engines: Sequence[str], seconds: float, count: int | None
) -> dict[str, EngineResult]:
    """Loads the model in all engines, times them in turns, and compares their outputs."""
    sessions = {engine: ENGINES[engine].load(job) for engine in engines}
    # Results may be the engine's own memory, hence the copies.
    found = {
        engine: [np.array(each) for each in session.outputs(session.run())]
        for engine, session in sessions.items()
    }
    timings = interleave(
        {engine: session.run for engine, session in sessions.items()}, seconds, count
    )
    results = {
        engine: EngineResult(timing, precision=sessions[engine].precision)
        for engine, timing in timings.items()
    }
    if REFERENCE in found:
        for engine in found.keys() - {REFERENCE}:
            results[engine].difference = difference(found[engine], found[REFERENCE])
    return results
