"""Which test runs which code: noted once, kept on disk, and noted anew for test files that change."""

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.mutants.recording import Ran

SCHEMA = """
create table if not exists files (path text primary key, digest text, imports blob, problem text);
create table if not exists tests (
  name text primary key, file text, outcome text, seconds real, blocks blob);
create table if not exists blocks (number integer primary key, name text unique);
"""
LIT = "tests/filecheck"
"""Where each file is a test, if pytest collects it."""
TOGETHER = 10
"""As many of these are noted in one process."""
IMPORTED = re.compile(r"^\s*(?:from|import) ([\w.]+)(?: import ([\w, ]+|\([^)]*))?", re.MULTILINE)
NAMED = re.compile(r"""["'](\w[\w./-]*)""")
"""What may be the name of a file or folder."""
MADE = ("build", "__pycache__")
"""Folders of files that nobody writes."""


@dataclass(frozen=True)
class Test:
    """A test that passes."""

    name: str
    file: str
    seconds: float
    """Processor time while it is watched."""
    blocks: bytes


class Coverage:
    """What is on disk."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.database = sqlite3.connect(path)
        self.database.executescript(SCHEMA)
        self.numbers = dict(self.database.execute("select name, number from blocks"))
        """The number of each block that was ever seen: what tests have run is noted by these."""

    def close(self) -> None:
        """Leaves the file."""
        self.database.close()

    def number(self, block: str) -> int:
        """The number of a block, which is a new one for a new block."""
        return self.numbers.setdefault(block, len(self.numbers))

    def stale(self, root: Path, files: Iterable[str]) -> list[str]:
        """The test files that have changed since, or are new."""
        known = dict(self.database.execute("select path, digest from files where problem = ''"))
        return [file for file in files if known.get(file) != digest(root, file)]

    def store(self, root: Path, files: Sequence[str], ran: Ran) -> None:
        """Keeps what the tests of some files run."""
        with self.database as transaction:
            for file in files:
                transaction.execute("delete from tests where file = ?", (file,))
                transaction.execute(
                    "insert or replace into files values (?, ?, ?, ?)",
                    (file, digest(root, file), ran.imports, ran.problems.get(file, "")),
                )
            transaction.executemany(
                "insert or replace into tests values (?, ?, ?, ?, ?)",
                (
                    (name, file_of(name), noted.outcome, noted.seconds, noted.blocks)
                    for name, noted in ran.tests.items()
                ),
            )
            transaction.executemany(
                "insert or ignore into blocks (name, number) values (?, ?)", self.numbers.items()
            )

    def known(self, files: Sequence[str]) -> "Known":
        """What the tests of some files run."""
        wanted = set(files)
        tests: list[Test] = []
        broken: list[str] = []
        with closing(
            self.database.execute("select name, file, outcome, seconds, blocks from tests")
        ) as rows:
            for name, file, outcome, seconds, blocks in rows:
                if file in wanted and outcome == "passed":
                    tests.append(Test(name, file, seconds, blocks))
                elif file in wanted and outcome == "failed":
                    broken.append(name)
        imports: list[bytes] = []
        for file, ran, problem in self.database.execute("select path, imports, problem from files"):
            if file in wanted:
                imports.append(ran)
                if problem:
                    broken.append(file)
        return Known(self.numbers, tests, sorted(broken), imports)


@dataclass
class Known:
    """What tests run."""

    numbers: dict[str, int]
    """Of blocks."""
    tests: list[Test]
    broken: list[str]
    """The tests that fail without any change, and the files that cannot be imported."""
    imports: list[bytes]

    @cached_property
    def table(self) -> npt.NDArray[np.uint8]:
        """The blocks of each test: a row each, packed."""
        return self._rows([test.blocks for test in self.tests])

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many blocks each test runs."""
        return np.bitwise_count(self.table).sum(axis=1, dtype=np.int64)

    @cached_property
    def importing(self) -> npt.NDArray[np.uint8]:
        """The blocks that run when modules are imported, packed."""
        return np.bitwise_or.reduce(self._rows(self.imports), axis=0, initial=0)

    def _rows(self, packed: Sequence[bytes]) -> npt.NDArray[np.uint8]:
        width = len(self.numbers) // 8 + 1
        rows = [np.frombuffer(each, np.uint8) for each in packed]
        table = np.zeros((len(rows), width), np.uint8)
        for number, row in enumerate(rows):
            table[number, : len(row)] = row[:width]
        return table

    def runs(self, block: str) -> npt.NDArray[np.bool_]:
        """Whether each test runs a block that was seen."""
        number = self.numbers[block]
        return np.bitwise_and(self.table[:, number // 8], 128 >> number % 8) != 0

    def is_imported(self, block: str) -> bool:
        """Whether a block runs when modules are imported."""
        number = self.numbers.get(block)
        return number is not None and bool(self.importing[number // 8] & 128 >> number % 8)

    def runs_any(self, *places: str) -> npt.NDArray[np.bool_]:
        """Whether each test runs anything of some files, or of functions: `file:function`."""
        mask = np.zeros(self.table.shape[1] * 8, np.uint8)
        starts = tuple(f"{place}:" for place in places)
        mask[[number for name, number in self.numbers.items() if name.startswith(starts)]] = 1
        return np.asarray((self.table & np.packbits(mask)).any(axis=1))


def digest(root: Path, file: str) -> str:
    """Stands for a test file, all that it imports of the tests, and the other files that these name."""
    found = hashlib.sha256()
    for path in sorted(used_files(root, root / file)):
        found.update(str(path.relative_to(root)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def used_files(root: Path, file: Path) -> set[Path]:
    """A test file and the files that it uses, by their names in it and in these."""
    pending = [file, *files(file.parent / "inputs")]
    pending += [folder / "conftest.py" for folder in file.parents if folder.is_relative_to(root)]
    found: set[Path] = set()
    while pending:
        path = pending.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".py":
            # Of a folder that the test itself lies in, it uses what is named further down.
            named = references(root, path, file)
            pending.extend(
                each for place in named if place not in file.parents for each in files(place)
            )
    return found


def references(root: Path, path: Path, test: Path) -> Iterator[Path]:
    """The files and folders that a program of a test may mean: what it imports, and its strings."""
    text = path.read_text()
    folders = (path.parent, test.parent, root / "tests" / "support", root / "tests")
    for module, names in IMPORTED.findall(text):
        place = module.replace(".", "/")
        members = (f"{place}/{name}" for name in re.findall(r"\w+", names))
        for stem in (place, f"{place}/__init__", *members):
            yield from (folder / f"{stem}.py" for folder in (*folders, root))
    for name in NAMED.findall(text):
        for folder in (*folders, root):
            yield from (folder / f"{name}.py", folder / name)


def files(path: Path) -> Iterator[Path]:
    """A file, or all files in a folder but programs."""
    if path.is_file():
        yield path
    elif path.name not in MADE and ".." not in path.parts and path.is_dir():
        for each in path.rglob("*"):
            if each.suffix != ".py" and not set(MADE) & set(each.parts):
                yield each


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]


def files_of_tests(root: Path, chosen: Sequence[str]) -> list[str]:
    """The test files below some folders, or which some names are; raises LookupError for others."""
    found: set[Path] = set()
    for name in chosen:
        path = root / name
        if not path.exists():
            raise LookupError(f"there is no '{name}' to take tests from")
        inside = [path] if path.is_file() else path.rglob("*")
        found.update(each for each in inside if path.is_file() or is_test_file(root, each))
    return sorted(str(path.relative_to(root)) for path in found)


def is_test_file(root: Path, path: Path) -> bool:
    """Whether pytest looks for tests in a file."""
    folder = path.relative_to(root).parent
    if folder.is_relative_to(LIT):
        is_collected = (root / LIT / "conftest.py").is_file()
        is_program = path.suffix in (".mlir", ".relay")
        return is_collected and is_program and folder.name not in ("inputs", "Output")
    return path.match("test_*.py") and not folder.is_relative_to("tests/mutants")


def batches(files: Iterable[str]) -> Iterator[list[str]]:
    """Files whose tests are noted in one process: small ones together."""
    for is_lit, group in groupby(files, lambda file: Path(file).is_relative_to(LIT)):
        left = list(group)
        size = TOGETHER if is_lit else 1
        yield from (left[first : first + size] for first in range(0, len(left), size))
