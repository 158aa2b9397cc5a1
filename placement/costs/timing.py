"""
Timing a function such that medians can be compared.

The machine is left to settle, the first runs are not counted, then samples are taken until the 95 % interval of the median is
narrow, or the time is over: of at least a millisecond, or of one run where each is behind other data. With one thread the
processor's time counts, which other processes do not lengthen.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

SETTLE_SECONDS = 0.005
SETTLE_LIMIT = 1.0
WHOLE_WINDOWS = 3
"""How many windows whole networks are measured in: what these take decides the most."""
SAMPLE_SECONDS = 1e-3
LEAST_SAMPLES = 5
NARROW = 0.02
"""The width of the interval, of the median, at which sampling ends."""
STILL_RUNS = 4
FASTER = 0.01
"""A run that is faster by this share than all before is no still run; a warm-up ends with some still ones in a row."""
RESAMPLES = 200
"""Of the bootstrap."""
PAUSE_SECONDS = 0.2
"""Between windows of sampling."""
LONG_SECONDS = 1.0
"""Of sampling that is long enough without further windows."""
TURN_SECONDS = 0.05
"""How long something runs in one turn, at least."""
TURN_WARM_UP_SECONDS = 0.5
"""How long it runs before, at most."""
MOST_REPEATS = 1000
"""Runs in one sample, whose inputs are there before."""

_Given = TypeVar("_Given")


@dataclass(frozen=True)
class Timing:
    """The median of some samples, and its 95 % interval, in seconds."""

    median: float
    low: float
    high: float
    samples: int


def settle() -> None:
    """Waits until the threads of this process are idle, for at most a second."""
    limit = time.perf_counter() + SETTLE_LIMIT
    while time.perf_counter() < limit:
        used = time.process_time()
        time.sleep(SETTLE_SECONDS)
        if time.process_time() - used < SETTLE_SECONDS / 10:
            return


def clock_for(threads: int) -> Callable[[], float]:
    """The clock that tells best what so many threads take."""
    return time.process_time if threads == 1 else time.perf_counter


def interval(samples: Sequence[float]) -> Timing:
    """The median of some samples, and its interval by the bootstrap, with a fixed seed."""
    values = np.asarray(samples, np.float64)
    rng = np.random.default_rng(0)
    drawn = np.median(values[rng.integers(0, len(values), (RESAMPLES, len(values)))], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Timing(float(np.median(values)), float(low), float(high), len(values))


def warm_up(run: Callable[[], object], clock: Callable[[], float], seconds: float) -> None:
    """
    Runs until that gets no faster, or so many seconds are over: what others used last is in caches, and goes from large
    ones in several runs only.
    """
    end = time.perf_counter() + seconds
    least, since = float("inf"), 0
    while since < STILL_RUNS and time.perf_counter() < end:
        start = clock()
        run()
        taken = clock() - start
        since = 0 if taken < least * (1 - FASTER) else since + 1
        least = min(least, taken)


def measure(
    run: Callable[[_Given], object],
    given: Callable[[], _Given],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
    windows: int = 1,
    sample: float = SAMPLE_SECONDS,
) -> Timing:
    """
    How long a run takes, found out within about so many seconds, and half as many before; with several windows within so many
    each, with pauses between them, of which the quickest counts: what else a machine does slows down one of them as a whole.
    A sample is one run, or as many as take its seconds. What gives a run its inputs takes no time of it.
    """
    settle()
    run(given())
    warm_up(lambda: run(given()), clock, seconds / 2)
    arrays = given()
    start = clock()
    run(arrays)
    repeats = max(1, min(int(sample / max(clock() - start, 1e-7)), MOST_REPEATS))
    begun = time.perf_counter()
    found = [_window(run, given, seconds, clock, repeats)]
    while len(found) < windows and time.perf_counter() - begun < LONG_SECONDS:
        time.sleep(PAUSE_SECONDS)
        run(given())
        found.append(_window(run, given, seconds, clock, repeats))
    return min(found, key=lambda each: each.median)


def _window(
    run: Callable[[_Given], object],
    given: Callable[[], _Given],
    seconds: float,
    clock: Callable[[], float],
    repeats: int,
) -> Timing:
    """Samples of so many runs each."""
    end = time.perf_counter() + seconds
    samples: list[float] = []
    found: Timing | None = None
    while found is None or time.perf_counter() < end:
        for _ in range(LEAST_SAMPLES):
            samples.append(_sample(run, given, clock, repeats))
        found = interval(samples)
        if found.high - found.low <= NARROW * found.median and len(samples) > LEAST_SAMPLES:
            break
    return found


def _sample(
    run: Callable[[_Given], object],
    given: Callable[[], _Given],
    clock: Callable[[], float],
    repeats: int,
) -> float:
    """What a run takes, of so many in a row."""
    inputs = [given() for _ in range(repeats)]
    start = clock()
    for each in inputs:
        run(each)
    return (clock() - start) / repeats


def one_turn(
    run: Callable[[_Given], object],
    given: Callable[[], _Given],
    clock: Callable[[], float],
    seconds: float = TURN_SECONDS,
    sample: float = 0.0,
) -> float:
    """
    The median of some samples in a turn, each of one run, or of as many as take the seconds of a `sample`; the first runs do not
    count, nor does what gives a run its inputs.
    """
    warm_up(lambda: run(given()), clock, TURN_WARM_UP_SECONDS)
    samples: list[float] = []
    repeats = 1
    end = time.perf_counter() + seconds
    while len(samples) < 3 or time.perf_counter() < end:
        samples.append(_sample(run, given, clock, repeats))
        if len(samples) == 1 and samples[0] < sample / 2:
            repeats = min(int(sample / max(samples.pop(), 1e-7)), MOST_REPEATS)
            sample = 0.0
    return float(np.median(samples))


def machine_load() -> float:
    """How many processes the machine has been running in the last minute; 0 where it does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
