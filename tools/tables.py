"""How the tables of the commands get to the screen, or into a file or pipe."""

from collections.abc import Sequence

from rich.console import Console

WIDTH = 160
"""Of a table that goes into a file or a pipe."""
LONGEST_NAMES = 72
"""Characters of names from a model that are shown in one place."""


def table_console() -> Console:
    """A console on standard output that is wide enough for tables."""
    console = Console(soft_wrap=True, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def shown_names(names: Sequence[str]) -> str:
    """
    Names from a model in a line: as many as have room, and how many more there are. A model may
    name its nodes as it likes; what would not print as itself is a question mark.
    """
    shown = ""
    for count, name in enumerate(names):
        text = "".join(c if c.isprintable() else "?" for c in name)
        if len(text) > LONGEST_NAMES:
            text = f"{text[: LONGEST_NAMES - 1]}…"
        longer = f"{shown}, {text}" if count else text
        if count and len(longer) > LONGEST_NAMES:
            return f"{shown} … and {len(names) - count} more"
        shown = longer
    return shown
