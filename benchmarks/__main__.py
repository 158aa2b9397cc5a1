"""
Side by side with other inference engines.

    python -m benchmarks [--models A,B] [--threads 1,2] [--engines A,B] [--precision TYPE]
                         [--seconds S | --runs N]
                         [--json FILE] [--markdown FILE] [--chart FILE.png|FILE.svg]

The first run makes the models, which takes minutes; they are kept in a cache folder.
"""

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_cache_path
from rich.console import Console

from benchmarks.chart import SUFFIXES, draw
from benchmarks.engines import ENGINES, FLOAT32, REFERENCE, RIVALS, TOLERANCE, XRELAY, Job
from benchmarks.machine import describe_machine, measure_peaks
from benchmarks.report import print_report, report_json, report_markdown, write_text
from benchmarks.results import Case, EngineResult, Report
from benchmarks.suite import MODELS, Progress
from benchmarks.worker import WorkerFailed, Workers
from xrelay.analysis.facts.operation_count import operator_uses
from xrelay.compiler import read_model
from xrelay.tools.progress import stage_progress

TOLERANCES = {FLOAT32: TOLERANCE, "bf16": 1e-1, "f16": 1e-2}
"""
How far outputs may be from the reference's, by the type in which values are multiplied: what networks of random
weights have, some times over (`python -m benchmarks.precision` measures it).
"""


def names_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Reads names that are separated by commas."""

    def read(text: str) -> list[str]:
        names = list(dict.fromkeys(text.split(",")))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"unknown name '{name}', expected some of {', '.join(known)}"
                )
        return names

    return read


def positive(text: str) -> int:
    """Reads a number from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of at least 1")
    return int(text)


def add_cache_option(parser: argparse.ArgumentParser) -> None:
    """`--cache`."""
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FOLDER",
        default=user_cache_path("xrelay", appauthor=False) / "benchmarks",
        help="where the models are kept (default %(default)s)",
    )


def thread_counts(text: str) -> tuple[int, ...]:
    """Reads numbers of threads that are separated by commas."""
    return tuple(dict.fromkeys(positive(part) for part in text.split(",")))


def chart_file(text: str) -> Path:
    """Reads the name of a picture."""
    path = Path(text)
    if path.suffix not in SUFFIXES:
        raise argparse.ArgumentTypeError(
            f"the suffix of '{text}' is '{path.suffix}', expected {' or '.join(SUFFIXES)}"
        )
    return path


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Measures xrelay side by side with other engines."
    )
    parser.add_argument(
        "--models",
        type=names_of(MODELS),
        default=list(MODELS),
        help=f"default all: {', '.join(MODELS)}",
    )
    parser.add_argument("--threads", type=thread_counts, default=(1, 2), help="default 1,2")
    parser.add_argument(
        "--engines",
        type=names_of(ENGINES),
        help=f"default those that are installed of {', '.join(ENGINES)}",
    )
    parser.add_argument(
        "--precision",
        choices=list(TOLERANCES),
        default=FLOAT32,
        help="the type in which xrelay and OpenVINO multiply values of float32 (default %(default)s); "
        "the others keep to float32",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds",
        type=positive,
        default=10,
        help="how long all engines together run a model on a number of threads (default 10)",
    )
    length.add_argument("--runs", type=positive, help="counted runs of each engine instead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    parser.add_argument("--chart", type=chart_file, metavar="FILE", help="write a .png or .svg")
    add_cache_option(parser)
    return parser


def command_of(args: argparse.Namespace) -> str:
    """The command that measures the same again. Where files are is left out."""
    words = ["python", "-m", "benchmarks"]
    if args.models != list(MODELS):
        words += ["--models", ",".join(args.models)]
    words += ["--threads", ",".join(map(str, args.threads)), "--engines", ",".join(args.engines)]
    if args.precision != FLOAT32:
        words += ["--precision", args.precision]
    words += ["--runs", str(args.runs)] if args.runs else ["--seconds", str(args.seconds)]
    return shlex.join(words)


def measure_case(
    job: Job, flops: int, workers: Workers, args: argparse.Namespace, progress: Progress
) -> Case:
    """Everything about a model on a number of threads."""
    case = Case(job.model, job.threads, flops)
    for name in args.engines:
        progress(f"{job.model}, threads: {job.threads}: load with {ENGINES[name].title}")
        result = case.engines[name] = EngineResult()
        try:
            result.cold = workers.load(name, job)
            if name == XRELAY:
                result.warm = workers.load(name, job)
        except WorkerFailed as failure:
            result.reason = str(failure)
    running = [name for name, result in case.engines.items() if result.reason is None]
    titles = ", ".join(ENGINES[name].title for name in running)
    progress(f"{job.model}, threads: {job.threads}: run with {titles}")
    try:
        for name, result in workers.race(running, job, args.seconds, args.runs).items():
            loaded = case.engines[name]
            case.engines[name] = replace(
                result, cold=loaded.cold, warm=loaded.warm, tolerance=job.tolerance
            )
    except WorkerFailed as failure:
        for name in running:
            case.engines[name].reason = f"side by side: {failure}"
    return case


def product_flops(path: Path) -> int:
    """
    The operations of a model's convolutions and matrix products, a multiply-add being two: the rest of a
    network is small beside them.
    """
    module, _ = read_model(path)
    counts = [use.multiply_adds for use in operator_uses(module)]
    return 2 * sum(count for count in counts if count is not None)


def measure_all(args: argparse.Namespace, progress: Progress) -> Report:
    """The whole run."""
    machine = describe_machine(args.threads, progress)
    cases: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="xrelay-bench-") as folder:
        # Compiled models of a run are its own: the first load of each is cold.
        os.environ["XRELAY_CACHE_DIR"] = str(Path(folder, "compiled"))
        workers = Workers(Path(folder))
        for name in args.models:
            model = MODELS[name]
            path = model.onnx_file(args.cache, progress)
            flops, inputs = product_flops(path), model.input_values()
            for threads in args.threads:
                tolerance = max(model.tolerance, TOLERANCES[args.precision])
                job = Job(name, path, threads, inputs, tolerance, args.precision)
                cases.append(measure_case(job, flops, workers, args, progress))
    # Others may have kept the machine busy the first time.
    machine = replace(machine, peaks=measure_peaks(args.threads, progress, machine.peaks))
    return Report(
        datetime.now(UTC).strftime("%Y-%m-%d"),
        command_of(args),
        machine,
        {name: ENGINES[name].version for name in args.engines},
        tuple(cases),
        args.precision,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 1 when xrelay's results are wrong, 2 when it cannot start."""
    parser = argument_parser()
    args = parser.parse_args(arguments)
    given = args.engines
    args.engines = [name for name in given or ENGINES if ENGINES[name].installed]
    missing = [name for name in given or (XRELAY, *RIVALS) if name not in args.engines]
    if missing:
        parser.error(f"not installed: {', '.join(missing)}; try `pip install -e .[bench]`")
    # Tables are not cut in files and pipes, whose width nobody knows.
    console = Console() if sys.stdout.isatty() else Console(width=200)
    with stage_progress() as progress:
        report = measure_all(args, progress)
    print_report(report, console)
    if args.json:
        write_text(args.json, report_json(report))
    if args.chart:
        draw(report, args.chart)
    if args.markdown:
        chart: Path | None = args.chart
        place = chart and Path(os.path.relpath(chart, Path(args.markdown).parent)).as_posix()
        write_text(args.markdown, report_markdown(report, place))
    for line in report.wrong:
        print(f"error: {line} from {ENGINES[REFERENCE].title}", file=sys.stderr)
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
