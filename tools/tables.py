"""How the tables of the commands get to the screen, or into a file or pipe."""

from rich.console import Console

WIDTH = 160
"""Of a table that goes into a file or a pipe."""


def table_console() -> Console:
    """A console on standard output that is wide enough for tables."""
    console = Console(soft_wrap=True, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console
