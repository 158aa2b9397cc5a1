"""Well-formed Relay text: accepted, the same when printed, and of the same meaning after a pass."""

from itertools import islice
from pathlib import Path
from random import Random
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from tests.fuzz.pass_pipelines import (
    FIRST_LINE,
    compare,
    passes_of,
    random_inputs,
    random_pass,
    register_compilers,
)
from tests.fuzz.relay_grammar import relay_program
from tests.fuzz.relay_text import same_as_text, text_reductions
from xrelay.compiler import context, read_relay
from xrelay.deep import with_deep_stack


class RelayGrammarFuzzer(Fuzzer):
    """Programs of a grammar, with the pass that each goes through."""

    name: ClassVar[str] = "relay-grammar"
    suffix: ClassVar[str] = ".relay"
    seconds: ClassVar[float] = 20
    quick: ClassVar[int] = 10

    def prepare(self) -> None:
        register_compilers()

    def generate(self, random: Random) -> bytes:
        return f"{FIRST_LINE}{random_pass(random)}\n{relay_program(random)}".encode()

    def check(self, payload: bytes, folder: Path) -> None:
        path = folder / "case.relay"
        path.write_bytes(payload)
        # As the commands do: in Relay text regions nest as deep as expressions do.
        with_deep_stack(lambda: self.use(path, payload))

    def use(self, path: Path, payload: bytes) -> None:
        """Reads, prints, runs a program and what a pass makes of it."""
        module = well_formed(path)
        same_as_text(module)
        inputs = list(islice(random_inputs(module), 3))
        for each in passes_of(payload):
            before = module.clone()
            each.apply(context(), module)
            compare(each, before, module, inputs)

    def reductions(self, payload: bytes) -> Reductions:
        return text_reductions(payload)


def well_formed(path: Path) -> ModuleOp:
    """The program in a file. Raises Difference when it is refused, but for its depth."""
    try:
        return read_relay(path)
    except DiagnosticException as error:
        if "nests too deeply" in str(error):
            raise
        raise Difference(f"a well-formed program is refused: {error}") from error
