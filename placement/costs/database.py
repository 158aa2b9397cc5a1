"""
Measurements, and failures with their reasons, in a SQLite file that several processes may use.

    measurements   key, engine, label, seconds, low, high, samples, load, key_text
    failures       key, engine, label, reason
    steps          key, number, nodes, seconds: how own code's time divides in a network
    meta           schema
"""

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from json import dumps
from math import isfinite
from pathlib import Path

from xrelay.placement.costs.cost import checked_seconds
from xrelay.placement.costs.key import Key, Machine
from xrelay.placement.errors import PlacementError

SCHEMA = 2
"""The version of the tables."""
BORDER = "a border"
"""The label of what borders cost, which no region computes."""
WAIT_SECONDS = 5.0
"""How long a process waits for another one that writes."""

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (schema INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS measurements (
    key TEXT PRIMARY KEY, engine TEXT NOT NULL, label TEXT NOT NULL, seconds REAL NOT NULL,
    low REAL NOT NULL, high REAL NOT NULL, samples INTEGER NOT NULL, load REAL NOT NULL,
    flops REAL NOT NULL, bytes REAL NOT NULL, key_text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS failures (
    key TEXT PRIMARY KEY, engine TEXT NOT NULL, label TEXT NOT NULL, reason TEXT NOT NULL,
    key_text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
    key TEXT NOT NULL, number INTEGER NOT NULL, nodes TEXT NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (key, number));
"""


@dataclass(frozen=True)
class Measurement:
    """How long something takes, in seconds."""

    seconds: float
    """The median."""
    low: float
    high: float
    """The 95 % interval of the median."""
    samples: int
    load: float = 0.0
    """How many processes the machine was running meanwhile."""
    flops: float = 0.0
    bytes: float = 0.0
    """The arithmetic that was done, and the bytes that went in and out."""


@dataclass(frozen=True)
class Failure:
    """Why something could not be measured."""

    reason: str


Record = Measurement | Failure


@dataclass(frozen=True)
class Step:
    """What own code computes of a network as one, and how many seconds that takes there."""

    nodes: int
    """The set of its nodes in the graph."""
    seconds: float


class Database:
    """The records in a file, which is made when it is not there."""

    def __init__(self, path: Path, wait: float = WAIT_SECONDS):
        """Raises PlacementError for a file that is no such database, is locked, or has a newer schema."""
        self.path = path
        self.wait = wait
        with self._connection() as connection:
            self._prepare(connection)

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=self.wait)) as connection, connection:
                yield connection
        except sqlite3.Error as error:
            raise PlacementError(
                f"the database '{self.path}' {_problem(error, self.wait)}"
            ) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        tables = {
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if not tables:
            self._make_tables(connection)
            connection.execute("INSERT INTO meta VALUES (?)", (SCHEMA,))
            return
        if not {"meta", "measurements", "failures"} <= tables:
            raise PlacementError(
                f"the database '{self.path}' has the tables {', '.join(sorted(tables))}, "
                "expected those of a database of measurements"
            )
        row = connection.execute("SELECT schema FROM meta").fetchone()
        found = None if row is None else row[0]
        if found == 1:
            self._make_tables(connection)
            connection.execute("UPDATE meta SET schema = ?", (SCHEMA,))
        elif found != SCHEMA:
            newer = isinstance(found, int) and found > SCHEMA
            raise PlacementError(
                f"the database '{self.path}' has schema {found}, expected {SCHEMA}"
                + (": a newer version of xrelay made it" if newer else "")
            )

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        """Makes those that are not there."""
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)

    def find(self, keys: Iterable[Key]) -> dict[str, Record]:
        """The records of some keys, by the texts of these."""
        found: dict[str, Record] = {}
        with self._connection() as connection:
            for text in dict.fromkeys(key.text for key in keys):
                row = connection.execute(
                    "SELECT seconds, low, high, samples, load, flops, bytes FROM measurements "
                    "WHERE key = ?",
                    (text,),
                ).fetchone()
                if row is not None:
                    found[text] = self._checked(Measurement(*row))
                    continue
                row = connection.execute(
                    "SELECT reason FROM failures WHERE key = ?", (text,)
                ).fetchone()
                if row is not None:
                    found[text] = Failure(str(row[0]))
        return found

    def _checked(self, found: Measurement) -> Measurement:
        numbers = tuple(vars(found).values())
        if not all(
            isinstance(each, int | float) and isfinite(each) and each >= 0 for each in numbers
        ):
            raise PlacementError(
                f"the database '{self.path}' has the measurement {found}, expected numbers of 0 or more"
            )
        return found

    def add(self, key: Key, label: str, record: Record) -> None:
        """Notes a record, in the place of an earlier one of the key."""
        self.add_all([(key, label, record)])

    def add_all(self, records: Iterable[tuple[Key, str, Record]]) -> None:
        """Notes records, all or none."""
        with self._connection() as connection:
            for key, label, record in records:
                text, details = key.text, key.details
                for table in ("measurements", "failures"):
                    connection.execute(f"DELETE FROM {table} WHERE key = ?", (text,))
                if isinstance(record, Failure):
                    table, values = "failures", (record.reason,)
                else:
                    table, values = "measurements", tuple(vars(record).values())
                row = (text, key.engine, label, *values, details)
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def steps(self, key: Key) -> list[Step]:
        """The steps of a network, in order; empty when they are not known."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT nodes, seconds FROM steps WHERE key = ? ORDER BY number", (key.text,)
            ).fetchall()
        try:
            found = [Step(int(nodes, 16), float(seconds)) for nodes, seconds in rows]
        except (TypeError, ValueError) as error:
            raise PlacementError(
                f"the database '{self.path}' has steps that cannot be read: {error}"
            ) from error
        for each in found:
            checked_seconds(each.seconds, f"a step in the database '{self.path}'")
        return found

    def add_steps(self, key: Key, steps: Iterable[Step]) -> None:
        """Notes the steps of a network, in the place of earlier ones."""
        with self._connection() as connection:
            connection.execute("DELETE FROM steps WHERE key = ?", (key.text,))
            rows = [(key.text, i, hex(each.nodes), each.seconds) for i, each in enumerate(steps)]
            connection.executemany("INSERT INTO steps VALUES (?, ?, ?, ?)", rows)

    def measurements(self, machine: Machine) -> list[tuple[str, Measurement]]:
        """The engine of each measurement of a region on a machine, and what was measured, in the order of keys."""
        wanted = dumps(asdict(machine), sort_keys=True)
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT engine, seconds, low, high, samples, load, flops, bytes FROM measurements "
                "WHERE label <> ? AND json_extract(key_text, '$.machine') = json(?) ORDER BY key",
                (BORDER, wanted),
            ).fetchall()
        return [(str(row[0]), self._checked(Measurement(*row[1:]))) for row in rows]


def _problem(error: sqlite3.Error, wait: float) -> str:
    """What SQLite says, in words."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"is locked by another process: it was not free within {wait:g} seconds"
    if isinstance(error, sqlite3.DatabaseError) and (
        "not a database" in text or "malformed" in text or "disk image" in text
    ):
        return f"is damaged, or no database: {text}"
    return f"cannot be used: {text}"
