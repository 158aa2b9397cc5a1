"""The command `python -m tests.fuzz`."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

import tests.fuzz
from tests.fuzz import findings
from tests.fuzz.findings import Report
from tests.fuzz.pass_rows import pass_names
from tests.fuzz.pool import Pool
from tests.fuzz.progress import rate, shown
from tests.fuzz.registry import FUZZERS, fuzzer
from tests.fuzz.worker import ROOT, Case, Made, Verdict
from xrelay.tools.errors import run_command

MINIMISING = 30.0
"""The seconds for making the input of a finding smaller."""
FINDINGS = ROOT / "build" / "fuzz"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; 1 when there are findings."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    # Compiled models are kept by the fuzzers that are about that.
    os.environ["XRELAY_CACHE_SIZE"] = "0"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = arguments()
    options = parser.parse_args(argv)
    if options.list:
        print(*FUZZERS, sep="\n")
        return 0
    if options.passes and options.fuzzer != ["single-passes"]:
        parser.error("--passes is for --fuzzer single-passes")
    if options.replay:
        for path in options.replay:
            if fuzzer_of(path, options.fuzzer) not in FUZZERS:
                parser.error(
                    f"'{path}' lies in the folder of no fuzzer, --fuzzer says of which it is"
                )
            if not path.is_file():
                parser.error(f"there is no file '{path}'")
        return max(replay(path, options.fuzzer) for path in options.replay)
    return run(options)


def arguments() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=tests.fuzz.__doc__)
    parser.add_argument(
        "--fuzzer", type=names, default=list(FUZZERS), metavar="NAME,…", help="default: all"
    )
    parser.add_argument(
        "--passes",
        type=passes,
        default=(),
        metavar="NAME,…",
        help="the passes of --fuzzer single-passes; default: all",
    )
    parser.add_argument("--cases", type=int, help="of each fuzzer; default: as time allows")
    parser.add_argument(
        "--seconds", type=float, help="shared by all fuzzers; default: 60, or none with --cases"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument(
        "--replay",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="run these inputs, of the fuzzer that their folder is named after, or of --fuzzer",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the fuzzers")
    return parser


def names(text: str) -> list[str]:
    """The fuzzers that an option names."""
    chosen = text.split(",")
    for name in chosen:
        if name not in FUZZERS:
            known = ", ".join(FUZZERS)
            raise argparse.ArgumentTypeError(f"unknown fuzzer '{name}', known are {known}")
    return chosen


def passes(text: str) -> list[str]:
    """The passes that an option names."""
    chosen = text.split(",")
    for name in chosen:
        if name not in pass_names():
            raise argparse.ArgumentTypeError(f"'{name}' is no pass whose meaning is compared")
    return chosen


def fuzzer_of(path: Path, chosen: Sequence[str]) -> str:
    """The name of the fuzzer that an input is for: that of its folder, if none is chosen."""
    return chosen[0] if len(chosen) == 1 else path.resolve().parent.name


def replay(path: Path, chosen: Sequence[str]) -> int:
    """Runs an input and prints how it ends."""
    each = fuzzer(fuzzer_of(path, chosen))
    each.prepare()
    with Pool(each, 1) as pool:
        verdict = pool.run_one(path.read_bytes())
    print(f"{path}: {verdict.signature}", verdict.detail, sep="\n")
    return int(verdict.is_finding)


def run(options: argparse.Namespace) -> int:
    """Runs fuzzers one after the other."""
    console = Console(highlight=False, soft_wrap=True)
    seconds = options.seconds
    if seconds is None and options.cases is None:
        seconds = 60.0
    reports: list[Report] = []
    try:
        for name in options.fuzzer:
            report = Report(fuzzer(name))
            report.fuzzer.passes = options.passes
            reports.append(report)
            report.fuzzer.prepare()
            start = time.monotonic()
            end = None if seconds is None else start + seconds / len(options.fuzzer)
            cases = islice(made(options.seed), options.cases)
            fuzz(report, cases, options.cases, end, options.jobs, console)
    except KeyboardInterrupt:
        console.print("interrupted")
    found = [path for report in reports for path in findings.write(report, FINDINGS)]
    console.print(table(reports))
    for path in found:
        console.print(f"{path.with_suffix('.txt').read_text().splitlines()[0]}\n  {path}")
    return 1 if found else 0


def made(seed: int) -> Iterator[Case]:
    """The cases of a seed."""
    return (Made(seed, number) for number in count())


def fuzz(
    report: Report,
    cases: Iterator[Case],
    total: int | None,
    end: float | None,
    jobs: int,
    console: Console,
) -> None:
    """
    Runs the cases of a fuzzer, of which there are `total` if that is known, until a time, and makes
    the inputs of what it finds smaller.
    """
    start = time.monotonic()

    def is_over() -> bool:
        return end is not None and time.monotonic() > end

    with Pool(report.fuzzer, jobs) as pool:
        with shown(report, total, console) as tell:

            def told(case: Case, verdict: Verdict) -> None:
                if report.add(case, verdict):
                    # A run that is killed leaves what it has found.
                    finding = report.findings[verdict.signature]
                    findings.write_one(report.fuzzer, verdict.signature, finding, FINDINGS)
                report.seconds = time.monotonic() - start
                tell()

            pool.run(cases, told, is_over)
        for finding in report.findings.values():
            console.print(f"{report.fuzzer.name}: making smaller: {finding.verdict.signature}")
            findings.minimise(finding, pool, MINIMISING)


def table(reports: Sequence[Report]) -> Table:
    """All fuzzers side by side."""
    result = Table("fuzzer", title="fuzzing")
    for heading in ("cases", "accepted", "refused", "findings", "cases/s"):
        result.add_column(heading, justify="right")
    for report in reports:
        counts = (report.cases, report.accepted, report.refused, len(report.findings))
        result.add_row(report.fuzzer.name, *map(str, counts), rate(report))
    return result


if __name__ == "__main__":
    # Who reads may have seen enough of it (`| head`).
    sys.exit(run_command("python -m tests.fuzz", main))
