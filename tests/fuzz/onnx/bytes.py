"""ONNX files with damaged bytes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from google.protobuf.message import DecodeError
from onnx import ModelProto

from tests.fuzz.fuzzer import Fuzzer, Reductions, bytes_of, without_parts
from tests.fuzz.onnx.models import corpus, smaller_models, use

Change = Callable[[Random, bytearray, Sequence[bytes]], None]


class OnnxBytesFuzzer(Fuzzer):
    """Small models, flipped, cut, repeated, joined."""

    name: ClassVar[str] = "onnx-bytes"
    suffix: ClassVar[str] = ".onnx"

    def prepare(self) -> None:
        self.models = corpus()

    def generate(self, random: Random) -> bytes:
        content = b""
        # Most damaged files are refused by protobuf, which does not need that many cases.
        for _ in range(4):
            content = self.damaged(random)
            try:
                ModelProto.FromString(content)
            except DecodeError:
                continue
            break
        return content

    def damaged(self, random: Random) -> bytes:
        """A model with a few changes."""
        content = bytearray(random.choice(self.models))
        for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
            if content:
                random.choice(CHANGES)(random, content, self.models)
        return bytes(content)

    def check(self, payload: bytes, folder: Path) -> None:
        use(payload, folder)

    def reductions(self, payload: bytes) -> Reductions:
        payload = yield from smaller_models(payload)
        return (yield from without_parts(payload, bytes_of))


def flip(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """One bit."""
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)


def overwrite(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """One byte, often one that ends or lengthens a number or a length."""
    value = random.choice((0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)))
    content[random.randrange(len(content))] = value


def cut(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """The end is missing."""
    del content[random.randrange(len(content)) :]


def piece(random: Random, content: bytes | bytearray) -> tuple[int, int]:
    """The ends of a piece."""
    start = random.randrange(len(content))
    return start, min(len(content), start + random.randint(1, 60))


def delete(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """A piece is missing."""
    start, end = piece(random, content)
    del content[start:end]


def repeat(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """A piece comes twice."""
    start, end = piece(random, content)
    content[end:end] = content[start:end]


def insert(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Random bytes."""
    place = random.randrange(len(content))
    content[place:place] = random.randbytes(random.randint(1, 9))


def splice(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """A piece of another model."""
    other = random.choice(others)
    start, end = piece(random, content)
    first, last = piece(random, other)
    content[start:end] = other[first:last]


def join(random: Random, content: bytearray, others: Sequence[bytes]) -> None:
    """Another model after this one: protobuf merges them."""
    content += random.choice(others)


CHANGES: Sequence[Change] = (
    *(flip, flip, flip, overwrite, overwrite, overwrite),
    *(cut, delete, repeat, insert, splice, join),
)
"""All, the smallest more often."""
