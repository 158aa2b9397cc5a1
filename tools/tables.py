"""How the tables and the data of the commands get to the screen, or into a file or pipe."""

import json
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.runtime.files import write_files
from xrelay.tools.errors import BAD_INPUT, CommandFailed

WIDTH = 160
"""Of a table that goes into a file or a pipe."""
LONGEST_NAMES = 72
"""Characters of names from a model that are shown in one place."""
SHOWN_OPERATORS = 5
"""How many operators of a region a table lists."""


def table_console(*, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error, that is wide enough for tables."""
    console = Console(stderr=stderr, soft_wrap=True, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]], remark: str) -> None:
    """A table and a remark on a terminal; elsewhere a line for each row, with tabs between its cells."""
    console = table_console()
    if not console.is_terminal:
        for cells in (header, *rows):
            print("\t".join(cells))
        return
    table = Table(*header)
    for cells in rows:
        table.add_row(*map(escape, cells))
    console.print(table)
    console.print(remark)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of the documentation, in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def write_json(path: Path, data: object) -> None:
    """Writes data for other programs."""
    write_files({path: f"{json.dumps(data, indent=1)}\n".encode()})


def shown_operators(names: Sequence[str]) -> str:
    """How many operators a region has, and the first of them."""
    more = ", …" if len(names) > SHOWN_OPERATORS else ""
    return f"{len(names)}: {', '.join(names[:SHOWN_OPERATORS])}{more}"


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
