"""Where the time of a run goes, step by step."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xrelay.runtime.model import Model
from xrelay.runtime.signature import StepSpec

WARM_UP_RUNS = 3
MIN_RUNS, MAX_RUNS = 10, 500
BUDGET_SECONDS = 2.0
"""About how long a profile takes."""


@dataclass(frozen=True)
class StepTime:
    """What one step does, and how long it takes."""

    number: int
    spec: StepSpec
    seconds: float
    """The median over runs."""

    @property
    def flops(self) -> float:
        """Floating-point operations per second."""
        return self.spec.flops / self.seconds if self.seconds else 0.0

    @property
    def bandwidth(self) -> float:
        """Bytes read and written per second."""
        return self.spec.bytes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Profile:
    """The times of some runs of a model."""

    name: str
    threads: int
    specs: tuple[StepSpec, ...]
    stamps: npt.NDArray[np.int64]
    """A row for each run: nanoseconds at its start and after each step."""

    @cached_property
    def seconds(self) -> float:
        """The median time of a run."""
        return float(np.median(self.stamps[:, -1] - self.stamps[:, 0])) / 1e9

    @cached_property
    def steps(self) -> tuple[StepTime, ...]:
        """The steps in order."""
        medians = np.median(np.diff(self.stamps, axis=1), axis=0) / 1e9
        return tuple(
            StepTime(i, spec, float(seconds))
            for i, (spec, seconds) in enumerate(zip(self.specs, medians, strict=True))
        )

    def chrome_trace(self) -> str:
        """
        The run of median length as JSON for chrome://tracing and Perfetto.

        Reference: Trace Event Format, complete events ("ph": "X"), times in microseconds.
        """
        totals = self.stamps[:, -1] - self.stamps[:, 0]
        run = self.stamps[int(np.argsort(totals, kind="stable")[len(totals) // 2])]
        events: list[dict[str, Any]] = []
        for i, spec in enumerate(self.specs):
            nanoseconds = int(run[i + 1] - run[i])
            events.append(
                {
                    "name": spec.name,
                    "cat": spec.implementation or "kernel",
                    "ph": "X",
                    "ts": int(run[i] - run[0]) / 1e3,
                    "dur": nanoseconds / 1e3,
                    "pid": 1,
                    "tid": 1,
                    "args": {
                        "step": i,
                        "nodes": spec.nodes,
                        "flops": spec.flops,
                        "bytes": spec.bytes,
                        "GFLOP/s": round(spec.flops / max(1, nanoseconds), 3),
                        "GB/s": round(spec.bytes / max(1, nanoseconds), 3),
                    },
                }
            )
        label = f"{self.name}, {self.threads} threads"
        process = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": label}}
        return json.dumps({"displayTimeUnit": "ms", "traceEvents": [process, *events]}, indent=1)


def profile_model(model: Model, inputs: Mapping[str, npt.ArrayLike]) -> Profile:
    """
    Runs a model that is compiled for profiling, for about two seconds.

    Raises ModelError as `Model.profile` does.
    """
    start = time.perf_counter()
    model.profile(inputs, WARM_UP_RUNS)
    each = (time.perf_counter() - start) / WARM_UP_RUNS
    runs = min(MAX_RUNS, max(MIN_RUNS, int(BUDGET_SECONDS / max(each, 1e-6))))
    _, stamps = model.profile(inputs, runs)
    signature = model.signature
    return Profile(signature.name, signature.threads, signature.steps, stamps)
