"""
`remove-unused-functions`: functions that no entry needs disappear.

    func.func @main(%x) { func.call @f(%x) … }          func.func @main(%x) { func.call @f(%x) … }
    func.func private @f(%x) { … }               ──►    func.func private @f(%x) { … }
    func.func private @g(%x) { … }

A function is needed when an entry, a function that is needed, or an operation of the module that is no
function names it: by a call, as a value, or in any attribute.

Leaves alone: all that is no function.

Source: Relay's RemoveUnusedFunctions.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.relay_pass import RelayPass


@dataclass(frozen=True)
class RemoveUnusedFunctionsPass(RelayPass):
    """
    Removes the functions that no entry needs.

    An entry that the module does not have raises PassOptionError.
    """

    name = "remove-unused-functions"

    entry_functions: tuple[str, ...] = ("main",)
    """The functions that are called from outside."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        graph.require(self.entry_functions)
        needed = graph.reachable((*self.entry_functions, *graph.used_elsewhere))
        for name, function in graph.functions.items():
            if name not in needed:
                Rewriter.erase_op(function, safe_erase=False)
