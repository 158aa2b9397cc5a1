"""Progress of long work, on the standard error of a terminal."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console

from xrelay.options import Progress


@contextmanager
def stage_progress() -> Generator[Progress]:
    """A function that shows the stage it is told. Shows nothing when stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda stage: None
        return
    with console.status("") as status:
        yield lambda stage: status.update(f"{stage} …")
