"""
Fresh processes for measurements: one for each engine that loads a model, which tells time and memory,
and one in which all engines take turns. What crashes there is a line of the report.
"""

import json
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES, Engine, Job
from benchmarks.measure import measure
from benchmarks.results import EngineResult, Loading, Timing

RUNS = 3
TIMEOUT_SECONDS = 900
MAX_REASON = 200


def peak_memory() -> int:
    """The largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike getrusage, this does not count the process that started this one.
        found = re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) << 10
    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak_memory() -> None:
    """Starts `peak_memory` anew, where the system can; else it stays the peak of the loading."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def load_and_run(engine: Engine, job: Job) -> Loading:
    """Loads and runs a model in this process, which must be fresh."""
    start = time.perf_counter()
    import_module(engine.module)
    imported = time.perf_counter()
    session = engine.load(job)
    session.run()
    loaded = time.perf_counter()
    load_peak = peak_memory()
    forget_peak_memory()
    for _ in range(RUNS):
        session.run()
    return Loading(imported - start, loaded - imported, load_peak, peak_memory())


# -- requests, from the process that reports ------------------------------------------------------


class WorkerFailed(Exception):
    """A process did not answer; the message says why."""


@dataclass(frozen=True)
class Workers:
    """Makes processes, with a folder for what they need."""

    folder: Path

    def load(self, engine: str, job: Job) -> Loading:
        """
        The time and memory to load a model with an engine, and to run it.

        Raises WorkerFailed.
        """
        return Loading(**self._answer({"load": engine}, job))

    def race(
        self, engines: Sequence[str], job: Job, seconds: float, count: int | None
    ) -> dict[str, EngineResult]:
        """
        The times of some engines, interleaved in one process: see `measure`.

        Raises WorkerFailed.
        """
        request = {"race": list(engines), "seconds": seconds, "count": count}
        return {
            engine: EngineResult(Timing(tuple(samples)), gap, precision)
            for engine, (samples, gap, precision) in self._answer(request, job).items()
        }

    def _answer(self, request: dict[str, Any], job: Job) -> dict[str, Any]:
        inputs, answer = self.folder / "inputs.npz", self.folder / "answer.json"
        np.savez(inputs, allow_pickle=False, **dict(job.inputs))
        answer.unlink(missing_ok=True)
        place = {"model": job.model, "path": str(job.path), "threads": job.threads}
        files = {"inputs": str(inputs), "answer": str(answer)}
        whole = request | place | {"precision": job.precision} | files
        try:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.worker", json.dumps(whole)],
                cwd=Path(__file__).parents[1],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                check=False,
                timeout=TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise WorkerFailed(f"it did not end within {TIMEOUT_SECONDS} seconds") from None
        if done.returncode or not answer.exists():
            raise WorkerFailed(failure(done.returncode, done.stderr))
        return json.loads(answer.read_text())


def failure(code: int, messages: str) -> str:
    """Why a process failed: the first line of its exception, else how it ended."""
    if code < 0:
        return f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
    found = re.findall(r'^  File ".*\n(?: .*\n)*([^ \n].*)$', messages, re.MULTILINE)
    reason = found[-1].strip() if found else f"its process ended with code {code}"
    name, separator, text = reason.partition(": ")
    reason = f"{name.rpartition('.')[2]}{separator}{text}".removeprefix("NotRun: ")
    return reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 1]}…"


# -- answers, in the fresh process ----------------------------------------------------------------


def main() -> int:
    """Answers one request. What an engine raises ends the process, and its text is the reason."""
    request = json.loads(sys.argv[1])
    with np.load(request["inputs"]) as arrays:
        place, precision = Path(request["path"]), request["precision"]
        job = Job(request["model"], place, request["threads"], dict(arrays), precision=precision)
    if "load" in request:
        answer: object = asdict(load_and_run(ENGINES[request["load"]], job))
    else:
        results = measure(job, request["race"], request["seconds"], request["count"])
        answer = {
            engine: (
                result.timing.samples if result.timing else (),
                result.difference,
                result.precision,
            )
            for engine, result in results.items()
        }
    Path(request["answer"]).write_text(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
