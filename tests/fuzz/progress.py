"""How a run of a fuzzer goes: a line that changes on a terminal, one every ten seconds elsewhere."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.fuzz.findings import Report

OFTEN, RARELY = 0.2, 10.0
"""The seconds between two lines on a terminal, and elsewhere."""


@contextmanager
def shown(report: Report, total: int | None, console: Console) -> Generator[Callable[[], None]]:
    """Gives what is to be called after each case. None stands for as many cases as time allows."""
    # Nothing is drawn by a thread: workers are forked meanwhile.
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
    task = progress.add_task(report.fuzzer.name, total=total)
    told_at = time.monotonic()

    def tell() -> None:
        nonlocal told_at
        if time.monotonic() - told_at < (OFTEN if console.is_terminal else RARELY):
            return
        told_at = time.monotonic()
        if console.is_terminal:
            progress.update(task, description=line(report), completed=report.cases, refresh=True)
        else:
            console.print(line(report))

    if not console.is_terminal:
        yield tell
        return
    with progress:
        yield tell


def line(report: Report) -> str:
    """What has happened so far."""
    return (
        f"{report.fuzzer.name}: {report.cases} cases, {report.accepted} accepted, "
        f"{report.refused} refused, {len(report.findings)} findings, {rate(report)} cases/s"
    )


def rate(report: Report) -> str:
    """Cases per second."""
    return f"{report.cases / report.seconds:.0f}" if report.seconds else "-"
