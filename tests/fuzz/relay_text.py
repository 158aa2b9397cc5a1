"""Relay text: mutated by tokens, read, verified, and printed again."""

import json
import lzma
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions, bytes_of, splitter, without_parts
from tests.fuzz.relay_grammar import relay_programs
from tests.fuzz.tokens import TOKEN, Texts
from tests.fuzz.worker import TESTS
from xrelay.compiler import read_relay
from xrelay.frontends.relay_text import print_relay_text, read_relay_text

LONGEST = 4000
"""Texts of more characters make few cases a second."""
RECORDS_APART = 16
"""Of so many records of a pass one is enough to start from."""


class RelayTextFuzzer(Fuzzer):
    """Texts of the tests and of TVM's recorded passes, mutated."""

    name: ClassVar[str] = "relay-text"
    suffix: ClassVar[str] = ".relay"

    def prepare(self) -> None:
        self.texts = Texts.of(corpus())

    def generate(self, random: Random) -> bytes:
        return self.texts.draw(random).encode(errors="replace")

    def check(self, payload: bytes, folder: Path) -> None:
        path = folder / "case.relay"
        path.write_bytes(payload)
        same_as_text(read_relay(path))

    def reductions(self, payload: bytes) -> Reductions:
        return text_reductions(payload)


def same_as_text(module: ModuleOp) -> ModuleOp:
    """
    The program in the text of a program. Raises Difference when a text of a program is another one
    after it was read.
    """
    printed = print_relay_text(module)
    read = read_relay_text(printed)
    again = print_relay_text(read)
    if again != printed:
        # What is not used has no place in a text, and can change how the rest is written.
        printed, again = again, print_relay_text(read_relay_text(again))
    if again != printed:
        raise Difference(f"printing changes what was read\n{printed}\n{again}")
    return read


def text_reductions(payload: bytes) -> Reductions:
    """Smaller texts: without lines, without tokens, without characters."""
    for part in (rb"[^\n]*\n?", TOKEN.pattern.encode()):
        payload = yield from without_parts(payload, splitter(part))
    return (yield from without_parts(payload, bytes_of))


def corpus() -> Sequence[str]:
    """Texts to start from."""
    texts: set[str] = set()
    for path in sorted((TESTS / "conformance" / "data").glob("*.jsonl.xz")):
        with lzma.open(path, "rt") as lines:
            records = [json.loads(line) for line in islice(lines, 0, None, RECORDS_APART)]
        texts.update(record[side] for record in records for side in ("before", "after"))
    for path in (TESTS / "filecheck").rglob("*.relay"):
        texts.add(path.read_text())
    texts.update(relay_programs(LONGEST))
    return sorted(text for text in texts if len(text) <= LONGEST)
