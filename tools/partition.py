"""`xrelay partition`: what backends take of a model, and what keeps them from taking more."""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xrelay.compile_model import compile_model
from xrelay.compiler import read_model
from xrelay.coverage import Coverage, RegionCoverage, coverage
from xrelay.partitioned import compile_partition, find_backends, partition
from xrelay.program_weights import require_weights
from xrelay.runtime.model import Array
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.staged import require_known_sizes
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.module_file import write_module
from xrelay.tools.progress import stage_progress
from xrelay.tools.run_model import complete_inputs
from xrelay.tools.tables import shown_operators, table_console, write_json
from xrelay.tools.verify import TOLERANCE, largest_difference
from xrelay.transforms.rules.copying import copied


def partition_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.limit is not None and args.limit < 0:
        raise CommandFailed(f"--limit is {args.limit}, expected at least 0", BAD_INPUT)
    if args.seed < 0:
        raise CommandFailed(f"--seed is {args.seed}, expected at least 0", BAD_INPUT)
    if args.output is not None and Path(args.output).suffix != ".mlir":
        raise CommandFailed(f"-o is '{args.output}', expected a .mlir file", BAD_INPUT)
    arguments.require_writable(args.output, args.json)
    with failing_with(BAD_INPUT):
        options = arguments.compile_options(args)
        shapes = arguments.shapes(args.shape)
        backends = find_backends(arguments.backends(args.backend))
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            progress("read the model")
            module, name = read_model(Path(args.model), shapes, options.limits, unrolled=True)
            require_weights(module, args.model)
        original = copied(module) if args.run else None
        with failing_with(FAILED):
            require_known_sizes(module)
            partition(module, backends, progress, options.limits)
            report = coverage(module, backends)
    if args.output is not None:
        with failing_with(BAD_INPUT):
            write_module(module, Path(args.output))
    console = table_console()
    show_coverage(report, console, args.limit)
    ran: dict[str, object] = {}
    code = 0
    if original is not None:
        with stage_progress() as progress, failing_with(FAILED):
            model = compile_partition(
                module, name, backends, options, fallback=args.fallback, progress=progress
            )
            reference = compile_model(
                original,
                threads=options.threads,
                target=options.target,
                winograd=options.winograd,
                progress=progress,
            )
            inputs = complete_inputs(model.signature, {}, args.seed)
            expected = reference.run(inputs)
            ran, is_close = run_regions(model, inputs, expected, console)
            code = 0 if is_close else FAILED
    if args.json is not None:
        with failing_with(BAD_INPUT):
            write_json(Path(args.json), {**as_data(report), **ran})
    return code


def as_data(report: Coverage) -> dict[str, object]:
    """A report as JSON has it."""
    return {
        **asdict(report),
        "offloaded_operators": report.offloaded_operators,
        "offloaded_flops": report.offloaded_flops,
    }


def show_coverage(report: Coverage, console: Console, limit: int | None) -> None:
    """Prints a report: regions, the host, blockers."""
    simulated = any(region.seconds is not None for region in report.regions)
    table = Table("region", "backend", "operators", "MFLOP", "in and out", title="Regions")
    if simulated:
        table.add_column("estimated")
    for region in report.regions[:limit]:
        seconds = [] if not simulated else [_milliseconds(region.seconds)]
        table.add_row(*map(escape, (*_cells(region), *seconds)))
    _more(table, len(report.regions), limit)
    console.print(table)
    console.print(
        f"{_count(len(report.regions), 'region')} with {100 * report.offloaded_operators:.1f} % of "
        f"the operators and {100 * report.offloaded_flops:.1f} % of the operations; "
        f"{_count(len(report.host.operators), 'operator')} and "
        f"{report.host.flops / 1e6:.1f} MFLOP stay on the host"
    )
    if simulated:
        total = sum(region.seconds or 0.0 for region in report.regions)
        console.print(f"the regions of simulated backends would take {_milliseconds(total)}")
    if not report.blockers:
        return
    table = Table("operator", "count", "MFLOP", "backend", "reason", title="What stays on the host")
    for row in report.blockers[:limit]:
        cells = row.operator, str(row.count), f"{row.flops / 1e6:.2f}", row.backend, row.reason
        table.add_row(*map(escape, cells))
    _more(table, len(report.blockers), limit)
    console.print(table)


def _cells(region: RegionCoverage) -> tuple[str, ...]:
    listed, size = shown_operators(region.operators), f"{region.bytes / 1024:.1f} KiB"
    return region.name, region.backend, listed, f"{region.flops / 1e6:.2f}", size


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3f} ms"


def _more(table: Table, count: int, limit: int | None) -> None:
    if limit is not None and count > limit:
        table.caption = f"{count - limit} more"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def run_regions(
    model: PartitionedModel,
    inputs: Mapping[str, Array],
    expected: Mapping[str, Array],
    console: Console,
) -> tuple[dict[str, object], bool]:
    """
    Runs a model, prints the time of each region and how far its outputs are from those expected.
    Returns these as data, and whether the outputs are close.
    """
    model.run(inputs)
    times: list[float] = []

    def note(step: object) -> None:
        times.append(time.perf_counter())

    note(None)
    outputs = model.run(inputs, after_step=note)
    rows = [
        {"region": step.name, "backend": step.backend, "seconds": end - start}
        for step, start, end in zip(model.steps, times[:-1], times[1:], strict=True)
    ]
    table = Table("step", "backend", "ms", title="One run")
    for row, step in zip(rows, model.steps, strict=True):
        problem = f" ({step.failures[0]})" if step.failures else ""
        backend = f"xrelay, because {step.backend} fails{problem}" if problem else step.backend
        table.add_row(escape(step.name), escape(backend), f"{1e3 * float(row['seconds']):.3f}")
    console.print(table)
    worst = max((largest_difference(outputs[name], expected[name]) for name in expected), default=0)
    console.print(
        f"ran in {1e3 * (times[-1] - times[0]):.2f} ms; the largest difference from xrelay's own "
        f"code, of the largest element, is {worst:.3g}"
    )
    failures: Sequence[str] = [f"{s.name}: {s.failures[0]}" for s in model.steps if s.failures]
    # JSON has no infinity, which stands for NaN in one of them.
    difference = worst if isfinite(worst) else None
    found: dict[str, object] = {
        "steps": rows,
        "largest_difference": difference,
        "failures": failures,
    }
    return found, worst <= TOLERANCE
