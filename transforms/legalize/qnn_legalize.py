"""
`qnn-legalize`: operators on quantised tensors, by what a target has for them.

    %0 = relay.qnn.dense %x, %w, %1, %1, …     %2 = relay.cast (relay.cast %x to i32) + 128 to ui8
         (x86-vnni, both i8)            ──►    %0 = relay.qnn.dense %2, %w, %129, %1, …

    %0 = relay.qnn.dense %x, %w, %1, %1, …     %2 = relay.cast %x to i16 - %1
         (x86)                          ──►    %3 = relay.cast %w to i16 - %1
                                               %0 = relay.nn.dense %2, %3 {out_dtype = i32}

    %0 = relay.qnn.sigmoid %x, …        ──►    %0 = relay.take %table, relay.cast %x to i32 + 128

`transforms/rules/legalize/integers.py` has the tables of `arm`, `arm-dotprod`, `cuda`, `generic`, `x86` and `x86-vnni`;
`TARGETS` takes those of others. Results stay the same to the last bit. What stays: operators of which the target has no
rule, functions and products whose zero points (or scales, for functions) are not known, products of 16 bits whose zero points 8 bits do not
hold, `relay.composite` and functions for other compilers.

`legalize-quantized-products` replaces the products that are left by those of 32-bit integers.

Source: Relay's qnn.Legalize.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.rules.legalize.integers import INTEGER_TABLES
from xrelay.transforms.rules.legalize.tables import TargetTables

TARGETS = TargetTables(INTEGER_TABLES)
"""The tables of targets. Whoever has another one registers it."""


@dataclass(frozen=True)
class QnnLegalizePass(RelayPass):
    """Replaces operators on quantised tensors by what a target has for them."""

    name = "qnn-legalize"

    target: str = "generic"
    """Whose table is used."""

    def rewrite(self, op: ModuleOp) -> None:
        TARGETS.rewrite(op, self.target)
