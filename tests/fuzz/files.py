"""Damaged files: each is refused, or gives the right result."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np

from tests.fuzz.artefacts import ARTEFACTS, all_artefacts
from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions

Change = list[Any]
"""The name of a way to damage a file, and numbers."""


class FilesFuzzer(Fuzzer):
    """Which file, and what happens to it, as JSON: the file itself is another on every machine."""

    name: ClassVar[str] = "files"
    suffix: ClassVar[str] = ".json"
    seconds: ClassVar[float] = 20
    quick: ClassVar[int] = 100

    def prepare(self) -> None:
        self.files, self.wanted = all_artefacts()

    def generate(self, random: Random) -> bytes:
        chosen = random.choice([*ARTEFACTS, "library", "entry"])
        if random.random() < 0.05:
            usual = [name for name in REPLACEMENTS if name not in ENDLESS]
            others = usual if ARTEFACTS[chosen].is_named else REPLACEMENTS
            changes: list[Change] = [["replace", random.choice(sorted(others))]]
        else:
            changes = [change(random) for _ in range(random.choice((1, 1, 1, 2, 4)))]
        return json.dumps({"file": chosen, "changes": changes}).encode()

    def check(self, payload: bytes, folder: Path) -> None:
        recipe = json.loads(payload)
        artefact = ARTEFACTS[recipe["file"]]
        for name, content in self.files.items():
            path = folder / name
            path.write_bytes(content)
            path.chmod(0o600)
        damage(folder / artefact.name, recipe["changes"])
        result = artefact.read(folder)
        if result is None or not artefact.is_checked:
            return
        if result.shape != self.wanted.shape or not np.allclose(result, self.wanted, 1e-4, 1e-5):
            raise Difference(f"a damaged {artefact.name} gives another result")

    def reductions(self, payload: bytes) -> Reductions:
        recipe = json.loads(payload)
        number = 0
        while number < len(recipe["changes"]):
            fewer = {**recipe, "changes": [*recipe["changes"]]}
            del fewer["changes"][number]
            if (yield json.dumps(fewer).encode()):
                recipe = fewer
            else:
                number += 1
        return json.dumps(recipe).encode()


def change(random: Random) -> Change:
    """Something that happens to a file. Places count from its start, negative ones from its end."""
    place = random.choice(
        (
            random.randrange(2**20),
            random.randrange(200),
            random.randrange(4000),
            -random.randrange(4000),
        )
    )
    name = random.choice(("flip", "flip", "flip", *WAYS))
    return [name, place, random.choice((1, 2, 8, 64, 500, 4096)), random.randrange(2**31)]


def damage(path: Path, changes: Sequence[Change]) -> None:
    """Does to a file what a recipe says."""
    content = bytearray(path.read_bytes())
    for name, *numbers in changes:
        if name == "replace":
            path.unlink()
            REPLACEMENTS[numbers[0]](path)
            return
        if content:
            place, length, value = numbers
            WAYS[name](content, place % len(content), length, value)
    path.write_bytes(content)


def flip(content: bytearray, place: int, length: int, value: int) -> None:
    content[place] ^= 1 << value % 8


def zero(content: bytearray, place: int, length: int, value: int) -> None:
    content[place : place + length] = bytes(len(content[place : place + length]))


def noise(content: bytearray, place: int, length: int, value: int) -> None:
    count = len(content[place : place + length])
    content[place : place + length] = Random(value).randbytes(count)


def cut(content: bytearray, place: int, length: int, value: int) -> None:
    del content[place:]


def delete(content: bytearray, place: int, length: int, value: int) -> None:
    del content[place : place + length]


def append(content: bytearray, place: int, length: int, value: int) -> None:
    content += Random(value).randbytes(length)


def swap(content: bytearray, place: int, length: int, value: int) -> None:
    other = value % len(content)
    length = min(length, abs(place - other), len(content) - max(place, other))
    first, second = content[place : place + length], content[other : other + length]
    content[place : place + length], content[other : other + length] = second, first


def digit(content: bytearray, place: int, length: int, value: int) -> None:
    """In text, another number."""
    digits = [at for at, byte in enumerate(content[:20_000]) if chr(byte).isdigit()]
    if digits:
        content[digits[place % len(digits)]] = ord("0") + value % 10


WAYS: dict[str, Callable[[bytearray, int, int, int], None]] = {
    each.__name__: each for each in (flip, zero, noise, cut, delete, append, swap, digit)
}


def nothing(path: Path) -> None:
    """The file is gone."""


REPLACEMENTS: dict[str, Callable[[Path], None]] = {
    "nothing": nothing,
    "empty": lambda path: path.touch(0o600),
    "folder": lambda path: path.mkdir(),
    "fifo": lambda path: os.mkfifo(path),
    "loop": lambda path: path.symlink_to(path),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "unreadable": lambda path: path.touch(0),
}
"""What can be in the place of a file."""
ENDLESS = ("fifo", "endless")
"""Those of which no reader sees the end."""
