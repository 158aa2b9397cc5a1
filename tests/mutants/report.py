"""What became of mutants: a table by folder, the survivors, and all of it as JSON."""

import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.mutants.engine import EQUIVALENT, SURVIVED, Verdict
from tests.mutants.worker import BUDGET, CRASHED, FAILED, TIMEOUT, TYPES

OFTEN, RARELY = 0.2, 30.0
"""The seconds between two lines on a terminal, and elsewhere."""
KINDS = {
    "caught": (FAILED, CRASHED, TIMEOUT, TYPES),
    "by time": (TIMEOUT,),
    "by types": (TYPES,),
    "survived": (SURVIVED,),
    "budget": (BUDGET,),
    "equivalent": (EQUIVALENT,),
}
"""The columns of the table: what is caught by time or by types is also counted as caught."""


@dataclass
class Report:
    """What became of each mutant."""

    by_identity: dict[str, Verdict] = field(default_factory=dict[str, Verdict])

    @property
    def verdicts(self) -> list[Verdict]:
        """All of them."""
        return list(self.by_identity.values())

    def add(self, verdict: Verdict) -> None:
        """Takes a verdict, in place of an earlier one of the same mutant."""
        self.by_identity[verdict.mutant.identity] = verdict

    def of(self, column: str) -> list[Verdict]:
        """Those that a column of the table counts, in the order of the files."""
        found = [each for each in self.verdicts if each.ending.kind in KINDS[column]]
        return sorted(found, key=lambda each: (each.mutant.source.path, each.mutant.edit.start))

    def table(self) -> Table:
        """The counts of each folder and of all."""
        # As wide as a terminal is at least.
        result = Table("folder", title="mutants", box=SIMPLE, padding=(0, 1, 0, 0))
        for heading in ("mutants", *KINDS, "share"):
            result.add_column(heading, justify="right")
        folders = sorted({each.mutant.folder for each in self.verdicts})
        for folder in folders:
            result.add_row(
                folder, *row([each for each in self.verdicts if each.mutant.folder == folder])
            )
        result.add_section()
        result.add_row("all", *row(self.verdicts))
        return result

    def survivors(self) -> str:
        """What was not noticed, with the change of each."""
        texts: list[str] = []
        for column in ("survived", "budget"):
            for each in self.of(column):
                tests = f"{each.tests} tests run it" if each.tests else "no test runs it"
                texts.append(f"{each.mutant.identity}: {column}, {tests}\n{each.mutant.diff}\n")
        return "\n".join(texts)

    def write(self, path: Path, options: dict[str, object]) -> None:
        """Writes everything as JSON."""
        mutants = [
            {
                "id": each.mutant.identity,
                "outcome": each.ending.kind,
                "test": each.test,
                "tests": each.tests,
                "reason": each.reason,
                "diff": each.mutant.diff,
            }
            for each in sorted(self.verdicts, key=lambda each: each.mutant.identity)
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"options": options, "mutants": mutants}, indent=1) + "\n")


def row(verdicts: Sequence[Verdict]) -> list[str]:
    """The numbers of a row. The share is of those that can be noticed."""
    counts = Counter(each.ending.kind for each in verdicts)
    numbers = [sum(counts[kind] for kind in kinds) for kinds in KINDS.values()]
    caught, *_, equivalent = numbers
    visible = len(verdicts) - equivalent
    share = f"{100 * caught / visible:.0f} %" if visible else "-"
    return [str(len(verdicts)), *map(str, numbers), share]


@contextmanager
def shown(name: str, total: int, console: Console) -> Generator[Callable[[int, str], None]]:
    """Gives what is to be called after each step, with how many are done and what there is to say."""
    # Nothing is drawn by a thread: processes are forked meanwhile.
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
    task = progress.add_task(name, total=total)
    told_at = time.monotonic()

    def tell(done: int, text: str) -> None:
        nonlocal told_at
        line = f"{name}: {done} of {total}{text}"
        if time.monotonic() - told_at < (OFTEN if console.is_terminal else RARELY):
            return
        told_at = time.monotonic()
        if console.is_terminal:
            progress.update(task, description=line, completed=done, refresh=True)
        else:
            console.print(line)

    if not console.is_terminal:
        yield tell
        return
    with progress:
        yield tell
