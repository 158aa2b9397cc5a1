"""
Placement against single engines: a page with a row for each network and number of threads.

    python -m benchmarks.placement [--networks mobilenetv2,resnet50] [--threads 1,2] [--engines A,B] [-o placement.md] [--rows FILE]

Each row has, in milliseconds: own code, each engine alone, priority order (`backends=[…]`), the plan by isolated sums without
borders (Collage's rule), and the best plan; which of them ships; the upper limit of its ratio to the best single
engine, at a level of 5 % or less; what was predicted of it, and by how much predictions of all plans are wrong in the median and at worst; the bound, and
the gap to it; how many times as fast as the best single engine a plan may be by that bound, and what ships is; the seconds of
the first search, with measurements, and of a second one, which finds all in the database. All run in turns in one process, and parts
that whole runs contradict are measured again.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from platformdirs import user_cache_dir

from benchmarks.kept import ROWS_HELP, KeptRows, WrongRows
from benchmarks.machine import MachineDescription, describe_machine
from benchmarks.placement_networks import BUILT
from benchmarks.report import machine_lines
from benchmarks.suite import LIGHT, MODELS, BenchmarkModel, Quantized
from benchmarks.suite import NETWORKS as FLOATS
from xrelay.engines import Engines
from xrelay.finalists import handing_over
from xrelay.options import CompileOptions
from xrelay.placement.costs.borders import NoBorders
from xrelay.placement.costs.key import Machine
from xrelay.placement.errors import PlacementError
from xrelay.placement.methods import WARM, Inputs
from xrelay.placement.placing import Placement, Request, problem_of, run_costs
from xrelay.placement.plan_file import SIDE_BY_SIDE, plan_data
from xrelay.placement.rules.candidate import OWN
from xrelay.placement.search.exact import exact
from xrelay.placing import Settings, find_placement
from xrelay.sources import Source

ENGINES = ("onnxruntime", "openvino")
ISOLATED = "isolated sums"
"""The plan that is best by sums without borders."""
IN_BYTES = ("resnet50", "mobilenetv2", "vit_s16")
"""Networks that are placed in 8-bit integers, too."""
NETWORKS: dict[str, BenchmarkModel] = {
    each.name: each
    for each in (
        *FLOATS,
        *LIGHT,
        *(Quantized(f"{each.name}_int8", each) for each in FLOATS if each.name in IN_BYTES),
        *(
            Quantized(f"{each.name}_dynamic", each, True)
            for each in FLOATS
            if each.name in IN_BYTES
        ),
        *BUILT,
    )
}
"""By name, in the order of the page."""
TURNS = 12
REMEASURES = 4
CACHE = Path(user_cache_dir("xrelay", appauthor=False)) / "benchmarks"


@dataclass(frozen=True)
class Row:
    """What is known of a network on a number of threads."""

    network: str
    threads: int
    seconds: Mapping[str, float]
    """The median of each way to run it."""
    predicted: Mapping[str, float]
    """What the costs of the parts say, of those ways that are plans."""
    engines: Sequence[str]
    """The ways that are one engine alone."""
    shipped: str
    limit: float
    """The upper limit of the ratio of what ships to the best single engine, at a level of 5 % or less."""
    bound: float
    """No plan costs less, for all that is known of its parts."""
    gap: float
    search: float
    again: float
    measured: int
    measured_again: int
    remeasured: int
    """How many parts and borders were measured once more, as whole runs contradicted their costs."""

    @property
    def allowed(self) -> float:
        """By how much the best plan may be faster than the best single engine, for all that is known of the parts."""
        return (
            min(self.predicted[each] for each in self.engines if each in self.predicted)
            / self.bound
        )

    @property
    def reached(self) -> float:
        """By how much what ships is faster than the best single engine."""
        best = min(self.seconds[each] for each in self.engines if each in self.seconds)
        return best / self.seconds[self.shipped]

    @property
    def errors(self) -> dict[str, float]:
        """How far the prediction of each plan is from the measurement, in parts of this."""
        return {way: s / self.seconds[way] - 1 for way, s in self.predicted.items()}

    @property
    def error(self) -> float:
        """The median of the errors, without their signs."""
        return float(np.median([abs(each) for each in self.errors.values()]))

    @property
    def worst(self) -> float:
        """The error that is the farthest from 0, with its sign."""
        return max(self.errors.values(), key=abs)


def isolated(placement: Placement) -> Placement:
    """The best plan by sums without borders."""
    costs = run_costs(placement.candidates, placement.costs)
    problem = problem_of(placement.graph, placement.candidates, costs, NoBorders())
    return replace(placement, borders=NoBorders(), problem=problem, outcome=exact(problem))


def run_network(
    name: str,
    path: Path,
    threads: int,
    database: Path,
    names: Sequence[str] = ENGINES,
    inputs: Inputs = WARM,
) -> Row:
    """
    Places a network twice, and once more with whole runs.

    Raises PlacementError when there is nothing to compare own code with.
    """
    options, engines = CompileOptions(threads), Engines.of(names)
    settings = Settings(Request(), database, inputs=inputs, is_confirmed=False)
    start = time.perf_counter()
    first = find_placement(Source.read(path), engines, options, settings)
    search = time.perf_counter() - start
    start = time.perf_counter()
    second = find_placement(Source.read(path), engines, options, settings)
    again = time.perf_counter() - start
    machine, facts = Machine.here(threads), engines.facts()
    settings = replace(settings, is_confirmed=True, turns=TURNS, remeasures=REMEASURES)
    placed = find_placement(
        *(Source.read(path), engines, options, settings),
        beside=lambda found: {ISOLATED: plan_data(isolated(found), machine, facts)},
    )
    verdict, outcome = placed.verdict, placed.placement.outcome
    if verdict is None:
        raise PlacementError(f"{', '.join(names)} run nothing of {name}, expected engines that do")
    for reason in placed.excluded.items():
        print("{} is left out: {}".format(*reason), file=sys.stderr)
    # Sums without borders are no prediction, nor are those of regions that run at once.
    predicted = {
        each: placed.plans[each]["seconds"]
        for each in verdict.seconds
        if each != ISOLATED and not placed.plans[each].get(SIDE_BY_SIDE)
    }
    for each, taken in sorted(verdict.seconds.items()):
        told = f", predicted {1e3 * predicted[each]:.3f}" if each in predicted else ""
        print(f"{name}, {each}: {1e3 * taken:.3f} ms{told}", file=sys.stderr)
    return Row(
        name,
        threads,
        seconds_of(placed.plans, verdict.seconds),
        predicted,
        list(facts),
        verdict.shipped,
        verdict.limits.get(verdict.shipped, 1.0),
        outcome.bound,
        outcome.gap,
        search,
        again,
        first.measured,
        second.measured,
        placed.measured,
    )


def seconds_of(
    plans: Mapping[str, Mapping[str, Any]], ran: Mapping[str, float]
) -> dict[str, float]:
    """The seconds of plans, of which some ran whole: those that hand over the same regions as one of these take as long."""
    keys = {name: handing_over(plan) for name, plan in plans.items()}
    taken = {keys[name]: seconds for name, seconds in ran.items()}
    return {name: taken[key] for name, key in keys.items() if key in taken}


LEGEND = """
Milliseconds are medians of whole runs in turns, in one process: with one thread of the processor's time, otherwise of the clock.
*priority* is `backends=[…]`; *isolated sums* the plan that is best without borders, as Collage has it; *plan 1* the best plan. *ships* says what
is used; *limit* is the upper limit of its ratio to the best single engine, at a level of 5 % or less. *predicted* is what the parts say of what ships;
*error* and *worst* are how far the predictions of all plans that run are from the measurements, in the median and at most. Parts that whole runs
contradict by more than 10 %, or by 5 % beside the best single engine, are measured again, up to 4 times (`--remeasure 4`). No plan costs less than *bound* for all
that is known of the parts, *gap* is what the search left open, *allowed* how many times as fast as the best single engine a plan may be by
that bound, and *reached* what ships is. *search* is with measurements, *again* with all of them in the database, both without whole runs; *measured*
counts what these two measured, and what was measured again.
"""


def page(kept: KeptRows[Row], machine: MachineDescription) -> str:
    """The rows as a page in Markdown."""
    rows = kept.ordered(list(NETWORKS))
    lines = [
        "# Placement, measured",
        "",
        "This page is written by `python -m benchmarks.placement -o FILE`. How placements are made says [placement.md](placement.md).",
        LEGEND,
        *machine_lines(machine),
        kept.when(),
    ]
    for threads in sorted({row.threads for row in rows}):
        lines += [
            "",
            f"## Threads: {threads}",
            "",
            table([r for r in rows if r.threads == threads]),
        ]
    return "\n".join(lines)


def table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    engines = list(dict.fromkeys(each for row in rows for each in row.engines))
    ways = [OWN, *(each for each in engines if each != OWN), "priority", ISOLATED, "plan 1"]
    titles = ["network", "threads", *ways, "ships", "limit", "predicted", "error", "worst"]
    titles += ["bound", "gap", "allowed", "reached", "search", "again", "measured"]
    lines = [" | ".join(titles), " | ".join("---" for _ in titles)]
    for row in rows:
        times = [f"{1e3 * row.seconds[way]:.3f}" if way in row.seconds else "–" for way in ways]
        cells = [row.network, str(row.threads), *times, row.shipped, f"{row.limit:.3f}"]
        predicted = row.predicted.get(row.shipped)
        cells.append("–" if predicted is None else f"{1e3 * predicted:.3f}")
        cells += [f"{100 * row.error:.0f} %", f"{100 * row.worst:+.0f} %"]
        cells += [f"{1e3 * row.bound:.3f}", f"{100 * row.gap:.1f} %"]
        cells += [f"{row.allowed:.3f}", f"{row.reached:.3f}"]
        cells += [f"{row.search:.1f} s", f"{row.again:.1f} s"]
        cells.append(f"{row.measured}, {row.measured_again}, {row.remeasured}")
        lines.append(" | ".join(cells))
    return "".join(f"| {line} |\n" for line in lines)


def file_of(network: str, cache: Path) -> Path:
    """The file of a network of the page or the suite, or the one that is named."""
    known = NETWORKS.get(network) or MODELS.get(network)
    return Path(network) if known is None else known.onnx_file(cache, lambda text: None)


def name_of(path: Path) -> str:
    """The name of a network, without the digest that files of the suite have in theirs."""
    name, _, digest = path.stem.rpartition("-")
    is_known = (name in NETWORKS or name in MODELS) and len(digest) == 16
    return name if is_known else path.stem


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placement")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="their names, or files")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="the folder of the suite's models"
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default=",".join(ENGINES), help="beside own code")
    parser.add_argument("--inputs", choices=get_args(Inputs), default=WARM)
    parser.add_argument("--database", type=Path, help="to go on with what was measured before")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--rows", type=Path, metavar="FILE", help=ROWS_HELP)
    args = parser.parse_args(arguments)
    try:
        kept = KeptRows[Row].of(
            args.rows, lambda row: (row.network, row.threads), lambda fields: Row(**fields)
        )
    except WrongRows as error:
        parser.error(str(error))
    machine = describe_machine((), lambda text: None)
    with tempfile.TemporaryDirectory() as folder:
        database = args.database or Path(folder) / "costs.sqlite"
        for threads in map(int, args.threads.split(",")):
            for name in args.networks.split(","):
                path = file_of(name, args.cache)
                engines = args.engines.split(",")
                row = run_network(name_of(path), path, threads, database, engines, args.inputs)
                kept.add(row)
                print(table([row]), flush=True)
    if args.output is not None:
        args.output.write_text(page(kept, machine))


if __name__ == "__main__":
    main()
