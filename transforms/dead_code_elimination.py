"""
`dead-code-elimination`: operations whose results nothing uses disappear.

    %0 = relay.exp %x
    %1 = relay.add %x, %x     ──►   %1 = relay.add %x, %x
    return %1                       return %1

What is pure goes, of any dialect: calls of functions in which everything is pure too, and of function values
that are known to be such a function. Functions that call themselves are pure when the rest of them is; a call of
one that would not end goes like the others, as in Relay. Functions that are only declared may do anything, and so
may function values that are parameters or come out of tuples, cells and data types. Reads and writes of cells stay.

With `inline-once` a `relay.let` of a pure value that has one use is that value, unless a function within the scope
of the `let` uses it: that may run often. The operation stays where it stands.

    %0 = relay.exp %x
    %a = relay.let %0         ──►   %0 = relay.exp %x
    %1 = relay.add %a, %x           %1 = relay.add %0, %x

One sweep from the last operation to the first: what an erased operation used is judged after it. The bodies of
`relay.fused` and `relay.composite` and functions for other compilers stay as they are, and so do operations without
results.

Source: Relay's DeadCodeElimination, which looks at `let`s only: expressions without a name that nothing uses are no
part of its programs.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.purity import Purity
from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ClosureOp, LetOp


@dataclass(frozen=True)
class DeadCodeEliminationPass(RelayPass):
    """Erases what has no effect."""

    name = "dead-code-elimination"

    inline_once: bool = False
    """Whether a `relay.let` of a pure value that is used once goes, too."""

    ignore_impurity: bool = False
    """
    Whether what has effects counts as pure, too, so that everything goes whose results nothing uses. That
    changes the meaning of programs that read cells afterwards.
    """

    def rewrite(self, op: ModuleOp) -> None:
        purity = None if self.ignore_impurity else Purity(op)
        is_kept, function = Within(keeps_body), Within(_is_closure)
        for each in walk(op, reverse=True):
            # The parts of an operation that was erased have lost their places.
            if each.parent is None or not each.results:
                continue
            if is_kept(each) or not _may_go(each, purity):
                continue
            uses = [use for result in each.results for use in result.uses]
            if not uses:
                Rewriter.erase_op(each)
            elif (
                self.inline_once
                and isinstance(each, LetOp)
                and len(uses) == 1
                and function.around(uses[0].operation) is function.around(each)
            ):
                Rewriter.replace_op(each, [], [each.value])


def _may_go(op: Operation, purity: Purity | None) -> bool:
    """Whether `op` does nothing but give its results. The name of a value with effects marks where these are."""
    if purity is None:
        return True
    return purity.is_pure_expression(op.value) if isinstance(op, LetOp) else purity.is_pure(op)


def _is_closure(op: Operation) -> bool:
    return isinstance(op, ClosureOp)
