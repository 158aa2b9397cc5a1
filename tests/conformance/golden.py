"""
Recorded passes of TVM v0.10.0, compared with the project's.

    python tests/conformance/golden.py FILE… [--roundtrip] [--pass NAME …] [--jobs N] [-v]
    python tests/conformance/golden.py FILE… --known [--update]

A FILE (`.jsonl` or `.jsonl.xz`) has one record a line: {"pass", "source", "options", "before",
"after"}, where the last two are modules in Relay text; blank lines are skipped. A record agrees when the project's pass makes
of `before` what `after` is, up to names of values. With --roundtrip a record agrees when both
modules are the same after they were printed and read again.

Prints a line for each record that does not agree, with its source, for each pass `PASS: N of M agree`
and last `N of M agree`. The exit code is 0 only when all agree. Records in exceptions.toml, where
the original is wrong, are counted apart, and so are passes that the project does not have, with which
the exit code is 1. With --known it is
0 when the records that do not agree are those of known.txt, which --update writes anew. It is 2 for
files that are damaged, of which `FILE:LINE: what is wrong` is said on standard error, and for --pass
of which there are no records.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from recorded_passes import (
    CRASH,
    EXCEPTIONS,
    KNOWN,
    PASSES,
    Family,
    exceptions,
    known_differences,
    surprise,
    update_known_differences,
    without_collection,
)
from records import BadInput, Record, parts, records

PART = 200_000
"""Characters of text that a process takes at a time."""
BAD_INPUT = 2
"""Exit code for damaged files and wrong arguments, as argparse has it."""


@dataclass
class Outcome:
    """What became of one record; `problem` is None when it agrees."""

    record: Record
    problem: str | None = None


@dataclass
class Check:
    """What to do with each record."""

    roundtrip: bool

    def outcomes(self, part: Sequence[Sequence[Record]]) -> list[Outcome]:
        """The outcomes of the records of some families."""
        found: list[Outcome] = []
        with without_collection():
            for members in part:
                family = Family(members)
                check = family.roundtrip_difference if self.roundtrip else family.pass_difference
                found.extend(Outcome(record, check(record)) for record in members)
        return found


def main() -> int:
    """Runs the checker."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n")[0])
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--roundtrip", action="store_true", help="print and read again")
    parser.add_argument("--pass", dest="passes", metavar="NAME", action="append", default=[],
                        help="only records of this pass (`all` for all)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--known", action="store_true", help=f"expect what {KNOWN.name} lists")
    parser.add_argument("--update", action="store_true", help=f"write {KNOWN.name} anew")
    parser.add_argument("-v", "--verbose", action="store_true", help="whole messages")
    args = parser.parse_args()
    if args.jobs < 1:
        parser.error(f"--jobs is {args.jobs}, expected at least 1")
    if args.update and (args.roundtrip or args.passes):
        parser.error("--update needs the passes of all records: no --roundtrip and no --pass")
    files: list[Path] = args.files
    for path in files:
        if path.is_dir():
            parser.error(f"'{path}' is a directory, expected a file")
        if not path.exists():
            parser.error(f"there is no file '{path}'")
    named = frozenset[str](args.passes) - {"all"}
    check = Check(args.roundtrip)
    try:
        found = [record for path in files for record in records(path)]
        chosen = [record for record in found if not named or record.name in named]
        checked = [record for record in chosen if args.roundtrip or record.name in PASSES]
        work = parts(checked, PART)
        if args.jobs > 1:
            with ProcessPoolExecutor(args.jobs) as pool:
                outcomes = [o for some in pool.map(check.outcomes, work) for o in some]
        else:
            outcomes = [o for part in work for o in check.outcomes(part)]
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    absent = sorted(named - {record.name for record in found})
    if absent:
        names = ", ".join(f"'{name}'" for name in absent)
        print(f"there are no records of {names} in the files", file=sys.stderr)
        return BAD_INPUT
    outcomes.sort(key=lambda o: (files.index(o.record.path), o.record.line))
    missing = Counter(record.name for record in chosen) - Counter(r.name for r in checked)
    report = Report(outcomes, known_differences() if args.known else frozenset(), check)
    code = report.print(missing, args.verbose)
    if args.update:
        update_known_differences(found, {o.record for o in report.differing})
        return 0
    if missing:
        names = ", ".join(f"'{name}'" for name in sorted(missing))
        print(f"nothing stands for the recorded passes {names}", file=sys.stderr)
        return 1
    return code


class Report:
    """What was found, for people."""

    def __init__(self, outcomes: Sequence[Outcome], known: frozenset[str], check: Check):
        excuses = exceptions()
        self.known = known
        self.excused = Counter[str]()
        self.counted: list[Outcome] = []
        for outcome in outcomes:
            excuse = excuses.get(outcome.record.place)
            is_excused = excuse is not None and not (check.roundtrip and excuse.is_read)
            wrong = surprise(outcome.problem, (EXCEPTIONS, is_excused))
            if is_excused and wrong is None:
                self.excused[outcome.record.name] += 1
            else:
                self.counted.append(Outcome(outcome.record, wrong))
        self.differing = [outcome for outcome in self.counted if outcome.problem is not None]

    def print(self, missing: Counter[str], verbose: bool) -> int:
        """Prints all of it; returns the exit code."""
        surprises = 0
        operators = Counter[str]()
        for outcome in self.counted:
            record = outcome.record
            wrong = surprise(outcome.problem, (KNOWN, record.place in self.known))
            surprises += wrong is not None
            if outcome.problem is None:
                if wrong is not None:
                    print(f"{record.place}: {wrong}")
                continue
            lines = outcome.problem.strip().splitlines()
            brief = lines[-1 if lines[0].startswith(CRASH) else 0]
            print(f"{record.name} {record.source}: {outcome.problem if verbose else brief}")
            _, unknown, rest = outcome.problem.partition("unknown operator or constructor '")
            if unknown:
                operators[rest.partition("'")[0]] += 1
        if operators:
            counts = ", ".join(f"{name} {count}" for name, count in operators.most_common())
            print(f"records with unknown operators: {counts}")
        total = Counter(outcome.record.name for outcome in self.counted)
        differing = Counter(outcome.record.name for outcome in self.differing)
        for name in sorted({*total, *self.excused}):
            print(f"{name}: {total[name] - differing[name]} of {total[name]} agree")
            if self.excused[name]:
                reasons = f"for the reasons in {EXCEPTIONS.name}"
                print(f"{name}: {self.excused[name]} disagree {reasons}")
        for name, count in sorted(missing.items()):
            print(f"{name}: no such pass yet ({count} records)")
        print(f"{total.total() - differing.total()} of {total.total()} agree")
        return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
