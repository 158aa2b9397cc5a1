"""
Well-formed Relay text: accepted, the same and of the same meaning when printed, and of the same meaning
after a pass.
"""

from itertools import islice
from pathlib import Path
from random import Random
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from tests.fuzz.meaning import Meaning, results_of, same_program
from tests.fuzz.pass_pipelines import FIRST_LINE, passes_of, random_inputs, random_pass
from tests.fuzz.pass_rows import register_compilers
from tests.fuzz.relay_grammar import relay_program
from tests.fuzz.relay_text import same_as_text, text_reductions
from xrelay.compiler import context, parse_relay, read_relay
from xrelay.deep import with_deep_stack

PRINTED = 0.2
"""The share of cases that print a program; the others apply a pass."""


class RelayGrammarFuzzer(Fuzzer):
    """Programs of a grammar, with the pass that each goes through; without one, it is printed."""

    name: ClassVar[str] = "relay-grammar"
    suffix: ClassVar[str] = ".relay"
    seconds: ClassVar[float] = 20
    quick: ClassVar[int] = 40

    def prepare(self) -> None:
        register_compilers()

    def generate(self, random: Random) -> bytes:
        passes = "" if random.random() < PRINTED else random_pass(random)
        return f"{FIRST_LINE}{passes}\n{relay_program(random)}".encode()

    def check(self, payload: bytes, folder: Path) -> None:
        path = folder / "case.relay"
        path.write_bytes(payload)
        # As the commands do: in Relay text regions nest as deep as expressions do.
        with_deep_stack(lambda: self.use(path, payload))

    def use(self, path: Path, payload: bytes) -> None:
        """Prints and reads a program, or applies a pass; the results stay as they are."""
        passes = passes_of(payload)
        if not passes:
            printed_as_read(well_formed(path))
            return
        module = parse_relay(payload, str(path))
        inputs = list(islice(random_inputs(module), 3))
        for each in passes:
            before = module.clone()
            each.apply(context(), module)
            if not same_program(before, module):
                Meaning(before, inputs).require_same(each, module)

    def reductions(self, payload: bytes) -> Reductions:
        return text_reductions(payload)


def printed_as_read(module: ModuleOp) -> None:
    """Raises Difference unless the text of a program is that of the same program."""
    read = same_as_text(module)
    inputs = next(random_inputs(module))
    for expected, found in zip(results_of(module, inputs), results_of(read, inputs), strict=True):
        if (found.dtype, found.shape) != (expected.dtype, expected.shape) or (
            found.tobytes() != expected.tobytes()
        ):
            raise Difference(f"printing changes a result\n{found!r}, before {expected!r}")


def well_formed(path: Path) -> ModuleOp:
    """The program in a file. Raises Difference when it is refused, but for its depth."""
    try:
        return read_relay(path)
    except DiagnosticException as error:
        if "nests too deeply" in str(error):
            raise
        raise Difference(f"a well-formed program is refused: {error}") from error
