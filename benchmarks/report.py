"""Reports: tables in a terminal, JSON, and the page in Markdown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.engines import ENGINES, FLOAT32, REFERENCE, RIVALS, TOLERANCE, XRELAY
from benchmarks.machine import MachineDescription
from benchmarks.results import Case, EngineResult, Loading, Report

NOTHING = "–"

WRITTEN = """\
This page is written by the benchmark (`{command}`, {date}); `make bench` writes it anew."""

METHOD = """\
All engines run the same ONNX file on the same inputs, batch 1 unless the name says
otherwise, on the same number of threads. They take turns in one process: before its turn an engine
gets a machine on which the threads of the others are idle, and one run that is not counted. Reported
are the median and the minimum of single inferences.

{types}

The ratio is the median of the faster of {rivals} divided by xrelay's: above 1 xrelay is faster. Where
an engine takes another type than {precision}, a further ratio compares with it alone: below 1 it is faster than xrelay.

GFLOP counts the multiplications and additions of convolutions and matrix products as the model
states them; the share of the peak is xrelay's. The difference is the largest one
of an output of xrelay from {reference}'s, relative to the largest value of that output; above
{tolerance:.0e} it is marked as wrong, for files of integers above a quarter: an integer that is
rounded the other way in one layer is a step in all behind it. That of an engine that computes in another type stands beside its
ratio, and is what its speed costs.

Loading and memory are measured in a process of its own for each engine, from the file to the first
result. Memory is the resident size, with that of Python and of the engine.

Networks are built with torch from seeded random weights (`benchmarks/vision.py`,
`benchmarks/transformers.py`); `…_int8` and `…_dynamic` are these quantised by onnxruntime's tools
(`benchmarks/converted.py`); `light_…` are the models of the onnx package with random weights."""


TYPES = """\
All compute files of float32 in float32, with one exception. OpenVINO has to be asked for that: unasked, it computes in
bfloat16 (8 bits of mantissa for 24) on CPUs that have instructions for it. "OpenVINO" is asked;
"{default}" is not, and where it then computes in another type, the title says in which."""

FEWER_BITS = """\
xrelay and OpenVINO are asked to multiply values of float32 in {precision}; those that know no such setting compute in
float32. "{default}" chooses by itself. Titles say which type it was, where that is not float32."""


OTHER_TYPES = """\
The ratios hold for models of float32 values, computed in {precision}, with static shapes, on the CPU above. OpenVINO
as it comes takes another type than float32 where the CPU can; those with fewer bits are in [types.md](types.md)."""


BUSY = """\
**The machine was busy with other work.** The times below show that the benchmark runs; they are no
evidence of speed."""
BUSY_LOAD = 0.5


@dataclass(frozen=True)
class Grid:
    """A table, for any form of report."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash for None."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def milliseconds(result: EngineResult | None) -> str:
    """Median / minimum."""
    if result is None or result.timing is None:
        return "n/a"
    digits = 1 if result.timing.median >= 100 else 2
    return f"{result.timing.median:.{digits}f} / {result.timing.minimum:.{digits}f}"


def count_threads(threads: int) -> str:
    """In words."""
    return "1 thread" if threads == 1 else f"{threads} threads"


def times_grid(report: Report, threads: int) -> Grid:
    """Times of all engines, and how xrelay compares."""
    peak = report.machine.peak(threads)
    reduced = report.reduced
    rows: list[tuple[str, ...]] = []
    for case in report.of_threads(threads):
        result = case.engines.get(XRELAY)
        rate = case.gflops(XRELAY)
        share = rate / peak.gflops if rate is not None and peak else None
        rows.append(
            (
                case.model,
                number(case.flops / 1e9),
                *(milliseconds(case.engines.get(name)) for name in report.engines),
                number(case.ratio),
                number(rate, 0),
                NOTHING if share is None else f"{100 * share:.0f} %",
                difference_text(result),
                *(number(case.ratio_to(name)) for name in reduced),
                *(difference_text(case.engines.get(name)) for name in reduced),
            )
        )
    mean = ("geometric mean", "", *("" for _ in report.engines))
    means = [number(report.mean_ratio_to(name, threads)) for name in reduced]
    rows.append(
        (*mean, number(report.mean_ratio(threads)), *("", "", ""), *means, *("" for _ in means))
    )
    titles = [report.title(name) for name in report.engines]
    others = [
        f"{what} {report.title(name)}" for what in ("ratio to", "difference of") for name in reduced
    ]
    return Grid(
        f"{count_threads(threads)}: milliseconds, median / minimum",
        ("model", "GFLOP", *titles, "ratio", "GFLOP/s", "of peak", "difference", *others),
        tuple(rows),
    )


def difference_text(result: EngineResult | None) -> str:
    """How far the results are from the reference's."""
    if result is None or result.difference is None:
        return NOTHING
    return f"{result.difference:.1e}{' WRONG' if result.wrong else ''}"


def loading_grid(report: Report, threads: int, title: str, what: Callable[[Loading], str]) -> Grid:
    """A number of the loading of each engine; xrelay's twice, compiled and from its cache."""
    columns = [(name, False) for name in report.engines]
    if XRELAY in report.engines:
        columns.insert(1 + columns.index((XRELAY, False)), (XRELAY, True))
    header = [f"{report.title(name)}{', from cache' if warm else ''}" for name, warm in columns]
    rows: list[tuple[str, ...]] = []
    for case in report.of_threads(threads):
        row = [case.model]
        for name, warm in columns:
            result = case.engines.get(name) or EngineResult()
            loading = result.warm if warm else result.cold
            row.append(what(loading) if loading else NOTHING)
        rows.append(tuple(row))
    return Grid(title, ("model", *header), tuple(rows))


def loading_grids(report: Report) -> list[Grid]:
    """Times and memory of loading, for the first number of threads."""
    threads = report.threads[0]

    def seconds(loading: Loading) -> str:
        return f"{loading.imported:.2f} + {loading.loaded:.2f}"

    def mebibytes(loading: Loading) -> str:
        return f"{loading.load_peak >> 20} / {loading.run_peak >> 20}"

    return [
        loading_grid(
            report,
            threads,
            f"{count_threads(threads)}: seconds to import the engine + to load and run once",
            seconds,
        ),
        loading_grid(
            report,
            threads,
            f"{count_threads(threads)}: MiB of memory at most while loading / while running",
            mebibytes,
        ),
    ]


def reasons(report: Report) -> list[str]:
    """Why engines did not run models: one line for each reason, with what it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in report.cases:
        for name, result in case.engines.items():
            if result.reason is not None:
                what = f"{case.model} ({count_threads(case.threads)})"
                found.setdefault((ENGINES[name].title, result.reason), []).append(what)
    return [f"{title}, {', '.join(what)}: {reason}" for (title, reason), what in found.items()]


def grids(report: Report) -> list[Grid]:
    """All tables."""
    return [*(times_grid(report, threads) for threads in report.threads), *loading_grids(report)]


def print_report(report: Report, console: Console) -> None:
    """Prints the tables."""
    for grid in grids(report):
        table = Table(*grid.header, title=grid.title, title_justify="left")
        for column in table.columns:
            column.overflow = "fold"
        for column in table.columns[1:]:
            column.justify = "right"
        for row in grid.rows:
            table.add_row(*map(escape, row))
        console.print(table)
    for line in reasons(report):
        console.print(f"n/a: {escape(line)}", highlight=False)


def report_json(report: Report) -> str:
    """Everything, with medians, minima and ratios worked out."""
    return json.dumps(
        asdict(report)
        | {
            "cases": [_case_fields(case) for case in report.cases],
            "mean_ratios": {str(threads): report.mean_ratio(threads) for threads in report.threads},
        },
        indent=2,
        allow_nan=True,
    )


def _case_fields(case: Case) -> dict[str, Any]:
    engines: dict[str, Any] = {}
    for name, result in case.engines.items():
        timing = result.timing
        engines[name] = asdict(result) | {
            "median_ms": timing and timing.median,
            "minimum_ms": timing and timing.minimum,
            "gflops": case.gflops(name),
            "xrelay_ratio": case.ratio_to(name),
        }
    return asdict(case) | {"ratio": case.ratio, "engines": engines}


def markdown_table(grid: Grid) -> str:
    """A table in Markdown, numbers to the right."""
    rule = ["---", *("---:" for _ in grid.header[1:])]
    rows = (grid.header, rule, *grid.rows)
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    )


def machine_lines(machine: MachineDescription) -> list[str]:
    """The machine, as list items."""
    cache = machine.cache
    caches = f"L1d {cache.l1 >> 10} KiB, L2 {cache.l2 >> 10} KiB, L3 {cache.l3 >> 20} MiB"
    lines = [
        f"{machine.cpu}, {machine.cores} cores, {machine.vector_bits}-bit vectors",
        f"caches: {caches}; memory: {machine.memory / 2**30:.1f} GiB",
        f"load average before the run: {machine.load:.2f}",
        f"{machine.system}; "
        + ", ".join(f"{name} {found}" for name, found in machine.versions.items()),
    ]
    if machine.low_precision:
        units = ", ".join(machine.low_precision)
        lines.append(f"has {units}, which engines that compute in float32 do not use")
    return [f"- {line}" for line in lines]


def peak_grid(machine: MachineDescription) -> Grid:
    """The measured peaks."""
    rows = (
        (
            str(peak.threads),
            *(number(value, 1) for value in (peak.gflops, peak.l2, peak.l3, peak.dram)),
        )
        for peak in machine.peaks
    )
    header = ("threads", "float32 GFLOP/s", "L2 GB/s", "L3 GB/s", "DRAM GB/s")
    return Grid("Measured peak", header, tuple(rows))


def report_markdown(report: Report, chart: str | None) -> str:
    """The page; `chart` is the path of the chart, from the page."""
    default = ENGINES["openvino-default"].title
    types = TYPES if report.precision == FLOAT32 else FEWER_BITS
    parts = [
        "# Performance",
        WRITTEN.format(command=report.command, date=report.date),
        "## How it is measured",
        METHOD.format(
            rivals=" and ".join(ENGINES[name].title for name in RIVALS),
            types=types.format(default=default, precision=report.precision),
            precision=report.precision,
            reference=ENGINES[REFERENCE].title,
            tolerance=TOLERANCE,
        ),
        "## Machine",
        "\n".join(machine_lines(report.machine)),
        *([BUSY] if report.machine.load > BUSY_LOAD else []),
        "Peaks are the best of several tries of kernels that only multiply and add, or only read.",
        markdown_table(peak_grid(report.machine)),
        "## Times",
    ]
    if chart is not None:
        parts.append(f"![Speed relative to {ENGINES[REFERENCE].title}]({chart})")
    times, loading = grids(report)[: len(report.threads)], loading_grids(report)
    parts += _sections(times)
    parts += ["## Other types", OTHER_TYPES.format(precision=report.precision)]
    parts.append("## Loading and memory")
    parts += _sections(loading)
    missing = reasons(report)
    if missing:
        parts += ["## What did not run", "\n".join(f"- {line}" for line in missing)]
    return "\n\n".join(parts) + "\n"


def _sections(tables: Sequence[Grid]) -> list[str]:
    return [part for grid in tables for part in (f"### {grid.title}", markdown_table(grid))]


def write_text(path: Path, text: str) -> None:
    """Writes a file and the folder it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
