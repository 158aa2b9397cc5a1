"""
Rows of a page that is measured piece by piece: a file keeps them, one JSON object a line, for the runs that follow on the same
machine.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchmarks.machine import cpu_name
from xrelay.runtime.files import write_files

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROWS_HELP = "keep the rows here, beside those of earlier runs, which are on the page, too"
RowT = TypeVar("RowT", bound="DataclassInstance")


class WrongRows(Exception):
    """A file has lines that are no rows of a benchmark, or rows of another machine."""


@dataclass
class KeptRows(Generic[RowT]):
    """The rows of a page, by what they are about."""

    key: Callable[[RowT], tuple[str, int]]
    """The network of a row, and the number of threads."""
    rows: dict[tuple[str, int], RowT]
    days: dict[tuple[str, int], str]
    """When each row was measured, as YYYY-MM-DD."""
    machine: str
    """The processor that all were measured on."""
    path: Path | None = None

    @staticmethod
    def of(
        path: Path | None,
        key: Callable[[RowT], tuple[str, int]],
        made: Callable[[Mapping[str, Any]], RowT],
        machine: str | None = None,
    ) -> "KeptRows[RowT]":
        """
        Those of a file, which may not exist yet; none without a file. A row is made of the fields of its object. `machine` is this
        processor.

        Raises WrongRows.
        """
        found = KeptRows(key, {}, {}, machine or cpu_name(), path)
        lines = path.read_bytes().splitlines() if path is not None and path.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                fields = json.loads(line)
                day, measured = fields.pop("day"), fields.pop("machine")
                found._set(made(fields), str(day))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise WrongRows(f"{path}:{number}: no row of this benchmark: {error}") from error
            if measured != found.machine:
                raise WrongRows(f"{path}:{number}: measured on {measured}, this is {found.machine}")
        return found

    def add(self, row: RowT) -> None:
        """Takes a row that was measured today in the place of an earlier one, and writes the file."""
        self._set(row, date.today().isoformat())
        if self.path is not None:
            objects = (
                {**asdict(each), "day": self.days[key], "machine": self.machine}
                for key, each in self.rows.items()
            )
            text = "".join(json.dumps(each) + "\n" for each in objects)
            write_files({self.path: text.encode()})

    def ordered(self, names: Sequence[str]) -> list[RowT]:
        """The rows in the order of the names of networks, and by threads; behind them those of other names."""
        places = {name: place for place, name in enumerate(names)}
        order = sorted(self.rows, key=lambda key: (places.get(key[0], len(places)), key))
        return [self.rows[key] for key in order]

    def when(self) -> str:
        """The days on which rows were measured, as a line of a list in Markdown."""
        days = sorted(set(self.days.values()))
        return (
            f"- measured on {days[0]}"
            if len(days) == 1
            else f"- measured from {days[0]} to {days[-1]}"
        )

    def _set(self, row: RowT, day: str) -> None:
        self.rows[self.key(row)] = row
        self.days[self.key(row)] = day
