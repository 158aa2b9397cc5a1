"""How the tables of the commands get to the screen, or into a file or pipe."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar

from rich.console import Console

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.tools.errors import BAD_INPUT, CommandFailed

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


class Named(Protocol):
    """A row that has a name."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


def named_rows(rows: Sequence[Row], patterns: Sequence[str], kind: str) -> list[Row]:
    """
    The rows whose name one of the patterns (`nn.conv2d`, `dyn.*`) matches; all without patterns.

    Raises CommandFailed for patterns that are the name of none; `kind` says what they should name.
    """
    for pattern in patterns:
        if not any(fnmatchcase(row.name, pattern) for row in rows):
            suggestion = did_you_mean(pattern, (row.name for row in rows))
            raise CommandFailed(f"no {kind} is called '{pattern}'{suggestion}", BAD_INPUT)
    return [
        row
        for row in rows
        if not patterns or any(fnmatchcase(row.name, pattern) for pattern in patterns)
    ]
