"""
`check-exhaustiveness`: a `relay.match` that says that it is complete has a clause for every value.

    relay.match %l [@List::@Nil] attributes {complete} { … }              error: found no clause for Cons(_, _),
                                                                   ──►    expected one for every value: without
                                                                          'complete' it does without

    relay.match %l [@List::@Nil] { … }                             ──►    relay.match %l [@List::@Nil] { … }

Changes nothing: a program leaves the pass as it was, or is refused. The values that have no clause are told by an example; whether
a clause can be reached is not asked. Relay text with such a match is refused when it is read.

Source: Relay's UnmatchedCases, which its InferType asks.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.exhaustiveness import unmatched_value
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import MatchOp


@dataclass(frozen=True)
class CheckExhaustivenessPass(RelayPass):
    """Refuses a complete match that has no clause for some value."""

    name = "check-exhaustiveness"

    def rewrite(self, op: ModuleOp) -> None:
        symbols = Symbols()
        for each in walk(op):
            if not isinstance(each, MatchOp) or not each.complete:
                continue
            value = unmatched_value(each, symbols)
            if value is not None:
                raise PassFailedException(
                    f"{operation_text(each)}: found no clause for {value}, expected one for every value: "
                    "without 'complete' it does without"
                )
