"""
`expand-functions`: functions become parts of their callers, loops, and at last functions that take and give tensors.

    func.func @main(%x) {                                func.func @main(%x) {
      %f = relay.closure {                                 %0 = relay.exp %x
      ^bb0(%a: tensor<4xf32>):                 ──►         …
        %0 = func.call @g(%a)                            }
        relay.yield %0
      }
      %1 = relay.apply %f(%x)
      …
    func.func private @g(%p) {
      %0 = relay.exp %p
      …

In order: `eta-expand` of functions that are values, `recursion-to-loops`, `inline{calls=true}`, `inline-closures`, `inline` again for
what these called, and `outline-closures`. What is left calls itself elsewhere than last, or is for another compiler.

Leaves alone: what each of these passes leaves alone: functions that a branch, a parameter, or a data type gives.

Source: this project; code is generated for tensors.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ClosureOp, GlobalVarOp
from xrelay.transforms.functional.eta_expand import EtaExpandPass
from xrelay.transforms.functional.inline_closures import InlineClosuresPass
from xrelay.transforms.functional.outline_closures import OutlineClosuresPass
from xrelay.transforms.functional.recursion_to_loops import RecursionToLoopsPass
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.rules.pass_sequence import PassSequence


@dataclass(frozen=True)
class ExpandFunctionsPass(PassSequence):
    """Leaves no functions where there need be none."""

    name = "expand-functions"

    def steps(self) -> tuple[RelayPass, ...]:
        return (
            EtaExpandPass(expand_constructor=False),
            RecursionToLoopsPass(),
            InlinePass(calls=True),
            InlineClosuresPass(),
            InlinePass(calls=True),
            OutlineClosuresPass(),
        )

    def rewrite(self, op: ModuleOp) -> None:
        # Most programs are one function, in which there is nothing to do.
        if any(isinstance(each, func.CallOp | ClosureOp | GlobalVarOp) for each in walk(op)):
            super().rewrite(op)
