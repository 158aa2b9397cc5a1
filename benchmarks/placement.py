"""
Placement against single engines: a page with a row for each network and number of threads.

    python -m benchmarks.placement [--networks mobilenetv2,resnet50] [--threads 1,2] [-o placement.md]

Each row has, in milliseconds: own code, each engine alone, priority order (`backends=[…]`), the plan by isolated sums without
borders (Collage's rule), and what placement ships; the upper 95 % limit of its ratio to the best single engine; what was
predicted; the gap to the bound; the seconds of the first search, with measurements, and of a second one, which finds all in
the database. All run in turns in one process.
"""

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_dir

from benchmarks.suite import MODELS
from xrelay.engines import Engines
from xrelay.finalists import example_inputs, planned_model, plans_to_try, run_of
from xrelay.options import CompileOptions
from xrelay.partitioned import compile_partitioned
from xrelay.placement.confirmation import take_turns, upper_limit
from xrelay.placement.costs.borders import NoBorders
from xrelay.placement.costs.key import Machine
from xrelay.placement.placing import Placement, Request, problem_of
from xrelay.placement.plan_file import plan_data
from xrelay.placement.search.exact import exact
from xrelay.placing import Placed, Settings, find_placement
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.sources import Source

ENGINES = ("onnxruntime", "openvino")
TURNS = 12
CACHE = Path(user_cache_dir("xrelay", appauthor=False)) / "benchmarks"


@dataclass(frozen=True)
class Row:
    """What is known of a network on a number of threads."""

    network: str
    threads: int
    seconds: Mapping[str, float]
    """The median of each way to run it."""
    shipped: str
    limit: float
    """The upper 95 % limit of the ratio of what ships to the best single engine."""
    predicted: float
    gap: float
    search: float
    again: float
    measured: int
    measured_again: int


def isolated(placement: Placement) -> Placement:
    """The best plan by sums without borders."""
    problem = problem_of(placement.graph, placement.candidates, placement.costs, NoBorders())
    return replace(placement, borders=NoBorders(), problem=problem, outcome=exact(problem))


def run_network(name: str, path: Path, threads: int, database: Path) -> Row:
    """Places a network and runs all plans in turns."""
    options, engines = CompileOptions(threads), Engines.of(ENGINES)
    settings = Settings(Request(), database, is_confirmed=False)
    start = time.perf_counter()
    placed = find_placement(Source.read(path), engines, options, settings)
    search = time.perf_counter() - start
    start = time.perf_counter()
    second = find_placement(Source.read(path), engines, options, settings)
    again = time.perf_counter() - start
    machine, facts = Machine.here(threads), engines.facts()
    plans = plans_to_try(placed.placement, engines, machine)
    plans["isolated sums"] = plan_data(isolated(placed.placement), machine, facts)
    models = {each: planned(path, plan, engines, options) for each, plan in plans.items()}
    models["priority"] = compile_partitioned(path, None, options, ENGINES)
    inputs = example_inputs(models["priority"])
    samples = take_turns({each: run_of(model, inputs) for each, model in models.items()}, TURNS)
    return row_of(name, threads, samples, placed, second, search, again, list(facts))


def planned(
    path: Path, plan: Mapping[str, Any], engines: Engines, options: CompileOptions
) -> PartitionedModel:
    """A network whose regions a plan says."""
    source = Source.read(path)
    graph = source.prepared(options)
    return planned_model(source.module, plan, engines, options, graph.origin)


def row_of(
    name: str,
    threads: int,
    samples: Mapping[str, Sequence[float]],
    placed: Placed,
    second: Placed,
    search: float,
    again: float,
    engines: Sequence[str],
) -> Row:
    """The row of a network whose plans were run."""
    medians = {each: float(np.median(taken)) for each, taken in samples.items()}
    best = min((each for each in engines if each in medians), key=medians.__getitem__)
    shipped = best
    if "plan 1" in samples and upper_limit(samples["plan 1"], samples[best], 0.05) < 1:
        shipped = "plan 1"
    limit = 1.0 if shipped == best else upper_limit(samples[shipped], samples[best], 0.05)
    outcome = placed.placement.outcome
    return Row(
        name,
        threads,
        medians,
        shipped,
        limit,
        outcome.plans[0].cost,
        outcome.gap,
        search,
        again,
        placed.measured,
        second.measured,
    )


def page(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    ways = ["default", *ENGINES, "priority", "isolated sums", "plan 1"]
    titles = [
        "network",
        "threads",
        *ways,
        "ships",
        "limit",
        "predicted",
        "gap",
        "search",
        "again",
        "measured",
    ]
    lines = [" | ".join(titles), " | ".join("---" for _ in titles)]
    for row in rows:
        times = [f"{1e3 * row.seconds[way]:.3f}" if way in row.seconds else "–" for way in ways]
        lines.append(
            " | ".join(
                [
                    *(row.network, str(row.threads), *times, row.shipped, f"{row.limit:.3f}"),
                    *(
                        f"{1e3 * row.predicted:.3f}",
                        f"{100 * row.gap:.1f} %",
                        f"{row.search:.1f} s",
                    ),
                    *(f"{row.again:.1f} s", f"{row.measured}, then {row.measured_again}"),
                ]
            )
        )
    return "".join(f"| {line} |\n" for line in lines)


def file_of(network: str, cache: Path) -> Path:
    """The file of a network of the suite, or the one that is named."""
    if network in MODELS:
        return MODELS[network].onnx_file(cache, lambda text: None)
    return Path(network)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placement")
    parser.add_argument("--networks", default=",".join(MODELS), help="names of the suite, or files")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="the folder of the suite's models"
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--database", type=Path, help="to go on with what was measured before")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        database = args.database or Path(folder) / "costs.sqlite"
        for threads in map(int, args.threads.split(",")):
            for name in args.networks.split(","):
                path = file_of(name, args.cache)
                rows.append(run_network(path.stem, path, threads, database))
                print(page(rows[-1:]), flush=True)
    if args.output is not None:
        args.output.write_text(page(rows))


if __name__ == "__main__":
    main()
