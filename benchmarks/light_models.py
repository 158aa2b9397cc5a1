"""
Side by side with onnxruntime: the light models with seeded random weights, on one thread.

    python benchmarks/light_models.py [MODEL …] [--rounds N] [--json]

Both run in turn in one process, so that both meet the same machine. Reported are medians and minima
in milliseconds, and the ratio of the medians: above 1 xrelay is faster.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import onnxruntime
from rich.console import Console
from rich.table import Table

import xrelay
from xrelay.tools.light_models import LIGHT_MODELS, light_model
from xrelay.tools.progress import stage_progress
from xrelay.tools.run_model import complete_inputs


@dataclass(frozen=True)
class Result:
    """Times of one model, in milliseconds."""

    model: str
    compile: float
    xrelay_median: float
    xrelay_minimum: float
    onnxruntime_median: float
    onnxruntime_minimum: float

    @property
    def ratio(self) -> float:
        """How many times faster xrelay is, by the medians."""
        return self.onnxruntime_median / self.xrelay_median


def milliseconds(run: Callable[[], object]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def measure(name: str, rounds: int) -> Result:
    """Compiles a model with both engines and runs them in turn."""
    proto = light_model(name, seed=0)
    start = time.perf_counter()
    model = xrelay.compile(proto)
    compile_time = 1e3 * (time.perf_counter() - start)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = complete_inputs(model.signature, {}, seed=0)
    runs = (lambda: model.run(inputs), lambda: session.run(None, inputs))
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(rounds + 1):
        for run, taken in zip(runs, times, strict=True):
            elapsed = milliseconds(run)
            if i:  # the first round warms up
                taken.append(elapsed)
    ours, theirs = times
    return Result(
        name,
        compile_time,
        statistics.median(ours),
        min(ours),
        statistics.median(theirs),
        min(theirs),
    )


def main() -> int:
    """Prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0].strip())
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(LIGHT_MODELS))
    parser.add_argument("--rounds", type=int, default=10, help="counted runs of each (default 10)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args()
    unknown = [name for name in args.models if name not in LIGHT_MODELS]
    if unknown or args.rounds < 1:
        parser.error(f"unknown model {unknown[0]}" if unknown else "--rounds must be at least 1")
    results: list[Result] = []
    for name in args.models or LIGHT_MODELS:
        with stage_progress() as progress:
            progress(name)
            results.append(measure(name, args.rounds))
    if args.json:
        print(
            json.dumps([asdict(result) | {"ratio": result.ratio} for result in results], indent=2)
        )
        return 0
    table = Table("model", "compile", "xrelay", "(min)", "onnxruntime", "(min)", "ratio")
    for r in results:
        numbers = (
            r.compile,
            r.xrelay_median,
            r.xrelay_minimum,
            r.onnxruntime_median,
            r.onnxruntime_minimum,
        )
        table.add_row(r.model, *(f"{number:.1f}" for number in numbers), f"{r.ratio:.2f}")
    Console(soft_wrap=True).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
