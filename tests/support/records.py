"""Records of TVM's passes: files of them, and the families that share texts."""

import json
import lzma
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

DATA = Path(__file__).parents[1] / "conformance" / "data"

Options = dict[str, Any]


class BadInput(Exception):
    """A file or a record in it is damaged; the message says where."""


@dataclass(frozen=True, eq=False)
class Record:
    """What a pass made of a module, both as Relay text, and where that is written."""

    path: Path
    line: int
    """Counted from 1."""
    name: str
    """The pass."""
    source: str
    options: Options
    before: str
    after: str

    @property
    def place(self) -> str:
        """Where to find it, and what it is about: `FILE:LINE SOURCE`."""
        return f"{self.path.name}:{self.line} {self.source}"

    @staticmethod
    def parse(path: Path, number: int, text: str) -> "Record":
        """The record in a line. Raises BadInput when it is none."""
        place = f"{path}:{number}"
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{place}: not JSON: {error}") from error
        if not isinstance(found, dict):
            raise BadInput(f"{place}: a record is a {_kind(found)}, expected an object")
        record = cast(dict[str, Any], found)
        for key, expected in FIELDS.items():
            if key not in record:
                raise BadInput(f"{place}: the record has no '{key}'")
            if not isinstance(record[key], expected):
                raise BadInput(
                    f"{place}: '{key}' is a {_kind(record[key])}, expected a {JSON_KINDS[expected]}"
                )
        return Record(path, number, *(record[key] for key in FIELDS))


FIELDS: dict[str, type] = {"pass": str, "source": str, "options": dict, "before": str, "after": str}
"""What a record must have."""
JSON_KINDS: dict[type, str] = {
    dict: "object",
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _kind(value: object) -> str:
    return JSON_KINDS[type(value)]


def records(path: Path) -> Iterator[Record]:
    """The records of a file. Raises BadInput for what cannot be read."""
    opener = lzma.open if path.suffix == ".xz" else open
    number, empty = 0, True
    try:
        with opener(path, "rb") as file:
            for number, content in enumerate(file, 1):
                text = content.decode()
                if text.strip():
                    empty = False
                    yield Record.parse(path, number, text)
    except (EOFError, lzma.LZMAError) as error:
        raise BadInput(f"{path}:{number + 1}: cannot decompress: {error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}:{number}: not text in UTF-8: {error.reason}") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot read it: {error.strerror or error}") from error
    if empty:
        raise BadInput(f"{path}: there are no records in it")


def all_records() -> list[Record]:
    """All of the project's records."""
    return [record for path in sorted(DATA.glob("*.jsonl.xz")) for record in records(path)]


def families(found: Iterable[Record]) -> list[list[Record]]:
    """
    Records in groups, such that those with a text in common are in one: it need be read only once.
    """
    family_of: dict[str, list[Record]] = {}
    for record in found:
        one = family_of.setdefault(record.before, [])
        other = family_of.setdefault(record.after, one)
        if one is not other:
            if len(one) < len(other):
                one, other = other, one
            one.extend(other)
            for member in other:
                family_of[member.before] = family_of[member.after] = one
            family_of[record.before] = family_of[record.after] = one
        one.append(record)
    return list({id(family): family for family in family_of.values()}.values())


PER_TEXT = 500
"""As how many characters each text counts, however short it is."""


def parts(found: Iterable[Record], characters: int) -> list[list[list[Record]]]:
    """Families in groups that take about as long as so many characters do, or one family."""
    made: list[list[list[Record]]] = []
    room = 0
    for family in families(found):
        if room <= 0:
            made.append([])
            room = characters
        made[-1].append(family)
        texts = {text for record in family for text in (record.before, record.after)}
        room -= sum(map(len, texts)) + PER_TEXT * len(texts)
    return made
