"""The command `python -m tests.mutants`."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import tests.mutants
from tests.mutants import mutant
from tests.mutants.coverage import Coverage, Known, files_of_tests
from tests.mutants.engine import Engine, Pool, Verdict, record
from tests.mutants.mutant import Mutant
from tests.mutants.project import Project
from tests.mutants.report import Report, shown
from tests.mutants.selection import Selector
from tests.mutants.type_checks import TypeChecker
from tests.mutants.worker import TYPES, Ending

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/unit",
    "tests/execution",
    "tests/properties",
    "tests/conformance",
    "tests/fuzz",
    "tests/filecheck",
)
COVERAGE = ROOT / "build" / "mutants" / "coverage.sqlite"
EQUIVALENTS = Path(__file__).with_name("equivalent.toml")
WRONG_USE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; 1 when a mutant survives."""
    if os.environ.get("PYTHONHASHSEED") is None:
        # The order of sets is the same for all processes and in all runs.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, sys.orig_argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = arguments().parse_args(argv)
    try:
        return run(options)
    except LookupError as error:
        print(f"tests.mutants: error: {error.args[0]}", file=sys.stderr)
        return WRONG_USE


def arguments() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser("python -m tests.mutants", description=tests.mutants.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--count", type=int, default=60, help="mutants that are drawn; default: 60")
    parser.add_argument("--seed", type=int, default=0, help="of the sample; default: 0")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--paths", type=names, metavar="PATH,…", help="what changes; default: all")
    parser.add_argument(
        "--tests", type=names, default=list(TESTS), metavar="PATH,…", help="what runs; default: all"
    )
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="of processor time for a mutant"
    )
    parser.add_argument(
        "--replay", nargs="+", metavar="ID", help="these mutants, and how the test failed"
    )
    parser.add_argument("--list", action="store_true", help="print the sample and run nothing")
    parser.add_argument("--record", action="store_true", help="note what tests run and stop")
    parser.add_argument(
        "--refresh", action="store_true", help="note anew what all tests run, also unchanged ones"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all verdicts")
    parser.add_argument("--survivors", type=Path, metavar="FILE", help="write what is not caught")
    return parser


def names(text: str) -> list[str]:
    """The parts of an option."""
    return text.split(",")


def run(options: argparse.Namespace) -> int:
    """Does what the options say."""
    console = Console(highlight=False, soft_wrap=True)
    project = Project(ROOT)
    drawn = sample(project, options)
    if options.list:
        for each in drawn:
            print(each.identity, each.diff, sep="\n", end="\n\n")
        return 0
    coverage = Coverage(COVERAGE)
    report = Report()
    try:
        project.import_others()
        known = noted(project, coverage, options, console)
        if not options.record:
            examine(project, known, drawn, report, options, console)
    except KeyboardInterrupt:
        console.print("interrupted")
    finally:
        coverage.close()
    return tell(report, options, console)


def sample(project: Project, options: argparse.Namespace) -> list[Mutant]:
    """The mutants of the options."""
    if options.replay:
        return [mutant.find(project.root, identity) for identity in options.replay]
    sources = project.chosen(options.paths) if options.paths else project.sources
    return mutant.draw(sources, options.count, options.seed)


def noted(
    project: Project, coverage: Coverage, options: argparse.Namespace, console: Console
) -> Known:
    """What the tests of the options run, which is noted where that is not known."""
    files = files_of_tests(project.root, options.tests)
    wanted = files if options.refresh else coverage.stale(project.root, files)
    done: list[str] = []
    with shown("what tests run", len(wanted), console) as progress, Pool(options.jobs) as pool:

        def told(files: Sequence[str]) -> None:
            done.extend(files)
            progress(len(done), f" files, {files[-1]}")

        record(project, coverage, wanted, pool, told)
    known = coverage.known(files)
    console.print(f"{len(known.tests)} tests in {len(files)} files")
    for name in known.broken:
        console.print(f"fails without a mutant, and is left out: {name}")
    return known


def examine(
    project: Project,
    known: Known,
    drawn: Sequence[Mutant],
    report: Report,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Finds out what becomes of the mutants."""
    with shown("mutants", len(drawn), console) as progress, Pool(options.jobs) as pool:

        def told(verdict: Verdict) -> None:
            report.add(verdict)
            # A run that is killed leaves what it has found.
            keep(report, options)
            if options.replay:
                ending = verdict.ending
                console.print(f"{verdict.mutant.identity}: {ending.kind} {ending.test}")
                console.print(verdict.mutant.diff, ending.detail, sep="\n", markup=False)

        def tick() -> None:
            caught, survived = (len(report.of(column)) for column in ("caught", "survived"))
            progress(len(report.verdicts), f", {caught} caught, {survived} survived")

        selector = Selector(project.root, known, project.sources, project.modules)
        equivalents = mutant.equivalents(EQUIVALENTS)
        engine = Engine(project, selector, equivalents, told, options.budget)
        engine.run(drawn, pool, tick)
        check_types(project, report, options, tick)
        for name in sorted(engine.unreliable):
            console.print(f"fails alone without a mutant, and was left out: {name}")


def check_types(
    project: Project, report: Report, options: argparse.Namespace, tick: Callable[[], None]
) -> None:
    """Looks for errors of types in what no test has noticed."""
    missed = [*report.of("survived"), *report.of("budget")]
    if not missed:
        return
    with TypeChecker.of(project.root) as checker:
        for verdict in missed:
            error = checker.error(verdict.mutant)
            if error:
                report.add(replace(verdict, ending=Ending(TYPES, detail=error), test="pyright"))
                keep(report, options)
            tick()


def tell(report: Report, options: argparse.Namespace, console: Console) -> int:
    """Prints what became of the mutants."""
    survivors = report.survivors()
    if not options.replay:
        console.print(survivors, markup=False)
    if report.verdicts:
        console.print(report.table())
    return int(bool(survivors))


def keep(report: Report, options: argparse.Namespace) -> None:
    """Writes what is known of the mutants."""
    if options.survivors:
        options.survivors.write_text(report.survivors())
    if options.json:
        stated = ("count", "seed", "paths", "tests", "budget")
        report.write(options.json, {name: getattr(options, name) for name in stated})


if __name__ == "__main__":
    sys.exit(main())
