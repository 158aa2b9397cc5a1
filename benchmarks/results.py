"""What a run of the benchmark finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.engines import ENGINES, FLOAT32, RIVALS, TOLERANCE, XRELAY

if TYPE_CHECKING:
    from benchmarks.machine import MachineDescription


@dataclass(frozen=True)
class Timing:
    """Times of single inferences, in milliseconds."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """What is reported."""
        return median(self.samples)

    @property
    def minimum(self) -> float:
        """What a quiet machine would give."""
        return min(self.samples)


@dataclass(frozen=True)
class Loading:
    """A fresh process that loads a model and runs it a few times."""

    imported: float
    """Seconds to import the engine."""
    loaded: float
    """Seconds from the file to a model that has run once."""
    load_peak: int
    """Bytes of memory at most until then, with those of Python and of the engine."""
    run_peak: int
    """Bytes of memory at most in the runs that follow."""

    @property
    def total(self) -> float:
        """Seconds from a started Python to the first result."""
        return self.imported + self.loaded


@dataclass
class EngineResult:
    """An engine on a model: times, or the reason why there are none."""

    timing: Timing | None = None
    difference: float | None = None
    """The largest difference from the reference, relative to the largest value there."""
    precision: str = FLOAT32
    """The type in which it multiplied: `Session.precision`."""
    reason: str | None = None
    cold: Loading | None = None
    """Compiled, or read from the model."""
    warm: Loading | None = None
    """Loaded from the cache of compiled models, where there is one."""
    tolerance: float = TOLERANCE
    """How far results may be from the reference's."""

    @property
    def wrong(self) -> bool:
        """
        Whether it gave other results than the reference, by more than its types explain. What other
        precisions cost in accuracy is shown and not judged.
        """
        if self.difference is None or self.precision != FLOAT32:
            return False
        return not self.difference <= self.tolerance


@dataclass
class Case:
    """A model on a number of threads."""

    model: str
    threads: int
    flops: int
    engines: dict[str, EngineResult] = field(default_factory=dict[str, EngineResult])

    @property
    def ratio(self) -> float | None:
        """How many times as fast xrelay is as the fastest rival, by medians. None when unknown."""
        ratios = [ratio for name in RIVALS if (ratio := self.ratio_to(name)) is not None]
        return min(ratios, default=None)

    def ratio_to(self, engine: str) -> float | None:
        """How many times as fast xrelay is as an engine, by medians. None when unknown."""
        own, other = self.timing(XRELAY), self.timing(engine)
        return other.median / own.median if own and other else None

    def timing(self, engine: str) -> Timing | None:
        """The times of an engine, if it ran."""
        result = self.engines.get(engine)
        return result.timing if result else None

    def gflops(self, engine: str) -> float | None:
        """The arithmetic rate of an engine, in GFLOP/s by the median."""
        timing = self.timing(engine)
        return self.flops / timing.median / 1e6 if timing else None


@dataclass(frozen=True)
class Report:
    """A whole run."""

    date: str
    command: str
    machine: "MachineDescription"
    engines: dict[str, str]
    """The version of each engine, by name."""
    cases: tuple[Case, ...]
    precision: str = FLOAT32
    """The type that engines were asked to multiply values of float32 in."""

    @property
    def threads(self) -> tuple[int, ...]:
        """The numbers of threads, in order."""
        return tuple(dict.fromkeys(case.threads for case in self.cases))

    def of_threads(self, threads: int) -> list[Case]:
        """The cases of a number of threads."""
        return [case for case in self.cases if case.threads == threads]

    def mean_ratio(self, threads: int) -> float | None:
        """The geometric mean of the ratios that are known. None when none is."""
        return geometric_mean([case.ratio for case in self.of_threads(threads)])

    def mean_ratio_to(self, engine: str, threads: int) -> float | None:
        """The same of the ratios to one engine."""
        return geometric_mean([case.ratio_to(engine) for case in self.of_threads(threads)])

    def precisions(self, engine: str) -> tuple[str, ...]:
        """The types in which an engine computed the models that it ran."""
        ran = [case.engines[engine] for case in self.cases if case.timing(engine)]
        return tuple(dict.fromkeys(result.precision for result in ran))

    @property
    def reduced(self) -> list[str]:
        """The engines that computed some models in another type than the one that was asked for."""
        return [name for name in self.engines if {*self.precisions(name)} - {self.precision}]

    def title(self, engine: str) -> str:
        """The title of an engine, with its precisions where these are not float32 alone."""
        title = ENGINES[engine].title
        precisions = ", ".join(self.precisions(engine))
        return title if precisions in ("", FLOAT32) else f"{title} ({precisions})"

    @property
    def wrong(self) -> list[str]:
        """What differs from the reference, as text."""
        return [
            f"{case.model}, {case.threads} threads: {name} differs by {result.difference:.1e}"
            for case in self.cases
            for name, result in case.engines.items()
            if result.wrong
        ]


def geometric_mean(values: Sequence[float | None]) -> float | None:
    """That of the values that are not None; None when there are none."""
    known = [value for value in values if value is not None]
    return exp(sum(map(log, known)) / len(known)) if known else None
