"""`xrelay place`: which engine runs which part of a model the fastest, by measurement."""

import argparse
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from xrelay.engines import Engines
from xrelay.placement.errors import PlacementError
from xrelay.placement.explain import explanation, explanation_data, explanation_text
from xrelay.placement.pins import parse_pins
from xrelay.placement.placing import Request
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.placement.search.exact import pareto
from xrelay.placement.search.problem import Outcome
from xrelay.placing import MOST_REMEASURES, Placed, Settings, find_placement
from xrelay.runtime.arguments import check_seconds, number_argument
from xrelay.runtime.support import MAX_THREADS
from xrelay.sources import Source
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, failing_with
from xrelay.tools.module_file import write_module
from xrelay.tools.progress import stage_progress
from xrelay.tools.tables import shown_operators, table_console, write_json


def place_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    with failing_with(BAD_INPUT):
        options = arguments.compile_options(args)
        shapes = arguments.shapes(args.shape)
        engines = Engines.of(arguments.backends(args.backend))
        settings = settings_of(args)
    files = (args.output, args.program, args.explain, args.database)
    arguments.require_writable(*files, model=args.model)
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            progress("read the model")
            source = Source.read(Path(args.model), shapes, options.limits)
        with failing_with(FAILED):
            placed = find_placement(source, engines, options, settings, progress)
    show(placed)
    if args.pareto:
        show_front(pareto(placed.placement.problem))
    with failing_with(BAD_INPUT):
        rows = [] if args.explain is None else explanation(placed.placement)
        if args.output is not None:
            reasons = {"explanation": explanation_data(rows)} if rows else {}
            write_json(Path(args.output), {**placed.plan, **reasons})
        if args.program is not None:
            write_module(source.module, Path(args.program))
        if args.explain is not None:
            if args.explain == arguments.STANDARD_OUTPUT:
                print(explanation_text(placed.placement, rows), end="")
            else:
                write_json(Path(args.explain), explanation_data(rows))
    return 0


def settings_of(args: argparse.Namespace) -> Settings:
    """
    What the command line asks for.

    Raises PlacementError for what makes no sense.
    """
    number_argument("--workers", args.workers, 1, MAX_THREADS, PlacementError)
    check_seconds("--seconds", args.seconds, PlacementError, positive=True)
    check_seconds("--measure-seconds", args.measure_seconds, PlacementError)
    check_seconds("--refine", args.refine, PlacementError, finite=True)
    number_argument("--remeasure", args.remeasure, 0, MOST_REMEASURES, PlacementError)
    for option, value in (("--refine", args.refine), ("--remeasure", args.remeasure)):
        if value and args.no_confirm:
            raise PlacementError(
                f"{option} goes with whole runs in the end, so without --no-confirm"
            )
    if args.program is not None and Path(args.program).suffix != ".mlir":
        raise PlacementError(f"--program is '{args.program}', expected a .mlir file")
    pins = parse_pins(args.pin)
    return Settings(
        Request(pins, args.memory, args.seconds, method=args.method, is_pruned=args.prune),
        None if args.database is None else Path(args.database),
        args.workers,
        args.measure_seconds,
        inputs=args.inputs,
        refine_seconds=args.refine,
        is_confirmed=not args.no_confirm,
        remeasures=args.remeasure,
    )


def computing(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The regions of a plan that compute something."""
    return [region for region in plan["regions"] if region["engine"] != HOST]


def cells(engine: str, regions: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The row of some regions that run as one."""
    nodes = (node["op"] for region in regions for node in region["nodes"])
    names = [name for name in nodes if name != "constant"]
    seconds = sum(region["seconds"] for region in regions)
    return engine, shown_operators(names), f"{1e6 * seconds:.1f}", regions[0]["source"]


def show_front(front: Outcome) -> None:
    """Prints the plans of which none is better both in time and in memory."""
    title = "Time and memory" if front.is_complete else "Time and memory, as far as it was searched"
    table = Table("ms", "bytes", title=title)
    for plan in front.plans:
        table.add_row(f"{1e3 * plan.cost:.3f}", str(plan.memory))
    table_console().print(table)


def show(placed: Placed) -> None:
    """Prints the plan, and what whole runs said."""
    console = table_console()
    table = Table("engine", "operators", "µs", "source", title="Regions")
    for engine, regions in groupby(computing(placed.plan), key=lambda region: region["engine"]):
        # Regions of own code that stand together are one in the end.
        parts = list(regions)
        for part in [parts] if engine == OWN else [[each] for each in parts]:
            table.add_row(*map(escape, cells(engine, part)))
    console.print(table)
    plan, noun = placed.plan, "measurement" if placed.measured == 1 else "measurements"
    borders = plan["seconds"] - sum(region["seconds"] for region in computing(plan))
    console.print(
        f"expected {1e3 * plan['seconds']:.3f} ms, of which borders {1e3 * borders:.3f} ms; no plan under "
        f"{1e3 * plan['bound']:.3f} ms; {placed.measured} {noun}"
    )
    if placed.verdict is not None:
        verdict = placed.verdict
        table = Table("plan", "ms", "ratio at most", title="Whole runs")
        for name, seconds in sorted(verdict.seconds.items(), key=lambda item: item[1]):
            limit = f"{verdict.limits[name]:.3f}" if name in verdict.limits else ""
            mark = " (ships)" if name == verdict.shipped else ""
            table.add_row(escape(name + mark), f"{1e3 * seconds:.3f}", limit)
        console.print(table)
    for name, reason in placed.excluded.items():
        console.print(escape(f"{name} is left out: {reason}"))
