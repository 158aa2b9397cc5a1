"""MLIR of relay programs: mutated by tokens, read, verified, and given to a pass."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from tests.fuzz.relay_grammar import relay_programs
from tests.fuzz.relay_text import text_reductions
from tests.fuzz.tokens import Texts
from tests.fuzz.worker import TESTS
from xrelay.compiler import context, parse_program, read_mlir
from xrelay.deep import with_room
from xrelay.frontends.relay_text import read_relay_text
from xrelay.tools.universe import XRELAY_UNIVERSE

LONGEST = 3000
"""Texts of more characters make few cases a second."""
PASS = re.compile(r"// pass: (\S+)\n")
"""The first line of an input, which is a comment to the reader."""


class MlirFuzzer(Fuzzer):
    """Texts of the tests, mutated, with the name of a pass."""

    name: ClassVar[str] = "mlir"
    suffix: ClassVar[str] = ".mlir"

    def prepare(self) -> None:
        self.texts = Texts.of(corpus())
        self.passes: dict[str, type[ModulePass]] = {
            name: factory() for name, factory in XRELAY_UNIVERSE.all_passes.items()
        }

    def generate(self, random: Random) -> bytes:
        chosen = random.choice(list(self.passes))
        return f"// pass: {chosen}\n{self.texts.draw(random)}".encode(errors="replace")

    def check(self, payload: bytes, folder: Path) -> None:
        path = folder / "case.mlir"
        path.write_bytes(payload)
        module = with_room(lambda: read_mlir(path))
        ctx = context()
        same_when_printed(module, ctx)
        chosen = PASS.match(payload.decode())
        if chosen and (pass_type := self.passes.get(chosen.group(1))):
            run_pass(pass_type(), module, ctx)
            same_when_printed(module, ctx)

    def reductions(self, payload: bytes) -> Reductions:
        return text_reductions(payload)


def same_when_printed(module: ModuleOp, ctx: Context) -> None:
    """Raises Difference when a module is another one after printing and reading it."""
    printed = with_room(lambda: str(module))
    try:
        again = with_room(lambda: parse_program(printed.encode(), "printed.mlir", ctx))
        again.verify()
    except Exception as error:
        raise Difference(f"what is printed cannot be read: {error}\n{printed}") from error
    if with_room(lambda: str(again)) != printed:
        raise Difference(f"printing changes the program\n{printed}\n{again}")


def run_pass(chosen: ModulePass, module: ModuleOp, ctx: Context) -> None:
    """Runs a pass as `xrelay-opt` does. What it makes of a valid program is valid."""

    def verify(previous: ModulePass | None, after: ModuleOp, following: object) -> None:
        try:
            if previous is not None:
                after.verify()
        except VerifyException as error:
            raise Difference(f"{previous} leaves a program that is not valid: {error}") from error

    try:
        PassPipeline((chosen,), verify).apply(ctx, module)
    except RecursionError as error:
        # The tool says this for every pass.
        raise DiagnosticException("the program nests too deeply") from error


def corpus() -> Sequence[str]:
    """
    Texts to start from: the tests, function by function, and a part of those that say what is wrong with programs. A
    function without those that it calls is wrong, too.
    """
    right: set[str] = set()
    wrong: set[str] = set()
    for path in sorted((TESTS / "filecheck").rglob("*.mlir")):
        texts = wrong if "invalid" in path.stem else right
        # Comments say what the tests expect.
        text = re.sub(r"(?m)^\s*//(?! -----).*\n", "", path.read_text())
        for chunk in text.split("// -----"):
            texts.add(chunk)
            texts.update(part for part in re.split(r"(?m)^(?=func\.func)", chunk) if part != chunk)
    right.update(str(read_relay_text(text)) for text in relay_programs(LONGEST))
    return [*short(right), *short(wrong)[::4]]


def short(texts: Iterable[str]) -> list[str]:
    """Those texts that are neither empty nor long, in order."""
    return sorted(text.strip() + "\n" for text in texts if 20 < len(text) <= LONGEST)
