"""`-t relay-text`: a module as Relay text."""

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xrelay.frontends.relay_text.printer import print_relay_text


@dataclass(frozen=True)
class RelayTextTarget(Target):
    """Writes TVM's Relay text format 0.0.5."""

    name = "relay-text"

    tvm_compatible: bool = False
    """Six significant digits, as TVM prints numbers, and attributes as TVM's reader needs them."""
    types: bool = False
    """Comments that state the types of results."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        print_relay_text(module, output, tvm_compatible=self.tvm_compatible, types=self.types)
