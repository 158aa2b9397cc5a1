"""What a fuzzer is: a source of inputs, and a check of one of them."""

import re
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar, TypeAlias

from xdsl.utils.exceptions import DiagnosticException

Reductions: TypeAlias = Generator[bytes, bool, bytes]
"""
Smaller inputs to try; it is sent whether the last one still shows the finding, and returns the
smallest that does.
"""


class Difference(Exception):
    """A result is not what it has to be."""


class Fuzzer:
    """
    Random inputs of one kind. `generate` is a pure function of its random source, so that the name
    of the fuzzer, a seed and a number make any case again.
    """

    name: ClassVar[str]
    """In commands, and the folder of its findings and seeds."""
    suffix: ClassVar[str]
    """Of the files that hold its inputs."""
    refusals: ClassVar[tuple[type[Exception], ...]] = (DiagnosticException,)
    """What `check` may raise when it refuses an input."""
    seconds: ClassVar[float] = 5
    """The processor time of a case, from which on it hangs."""
    idle: ClassVar[float] = 10
    """The time that a case may wait for something, by the clock."""
    megabytes: ClassVar[int] = 2048
    """The address space that a case may take."""

    quick: ClassVar[int] = 120
    """The cases that `make test` runs."""
    passes: Sequence[str] = ()
    """The passes that programs go through, one each, where somebody chooses them; all if there are none."""

    def prepare(self) -> None:
        """Imports what is needed, and reads what inputs are made of. Runs once, before all cases."""

    def generate(self, random: Random) -> bytes:
        """An input."""
        raise NotImplementedError

    def check(self, payload: bytes, folder: Path) -> None:
        """
        Uses an input as a user would. `folder` is empty, and the case's own.

        Raises one of `refusals` when the input is refused, Difference when a result is wrong. Any
        other exception is a finding.
        """
        raise NotImplementedError

    def reductions(self, payload: bytes) -> Reductions:
        """Smaller inputs, large steps first."""
        payload = yield from without_parts(payload, splitter(rb"[^\n]*\n?"))
        return (yield from without_parts(payload, bytes_of))


def case_random(name: str, seed: int, number: int) -> Random:
    """The random source of a case: the same on every machine."""
    return Random(f"{name}/{seed}/{number}")


Splitter: TypeAlias = Callable[[bytes], Sequence[bytes]]
"""Splits an input into parts, which together are the input."""


def bytes_of(payload: bytes) -> list[bytes]:
    """Every byte is a part."""
    return [bytes([byte]) for byte in payload]


def splitter(part: bytes) -> Splitter:
    """Splits where a regular expression matches, which has to match everything."""
    return re.compile(part, re.DOTALL).findall


def without_parts(payload: bytes, split: Splitter) -> Reductions:
    """
    The input without some of its parts: halves first, then ever smaller pieces.
    Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).
    """
    parts = [part for part in split(payload) if part]
    size = len(parts) // 2
    while size:
        start = 0
        while start < len(parts):
            fewer = parts[:start] + parts[start + size :]
            if (yield b"".join(fewer)):
                parts = fewer
            else:
                start += size
        size //= 2
    return b"".join(parts)
