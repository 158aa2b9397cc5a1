"""
`to-graph-normal-form`: what `let` binds is the value itself.

    %0 = relay.exp %x
    %y = relay.let %0           ──►   %0 = relay.exp %x
    %1 = relay.add %y, %y             %1 = relay.add %0, %0

Leaves alone: the `let` of a recursive function, which Relay text needs to state the recursion.

Source: Relay's ToGraphNormalForm. Values are computed in the order of operations here, so that there is
no question of what may be computed later.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ClosureOp, LetOp


@dataclass(frozen=True)
class ToGraphNormalFormPass(RelayPass):
    """Replaces the results of `relay.let` by their operands."""

    name = "to-graph-normal-form"

    def rewrite(self, op: ModuleOp) -> None:
        pending: list[Operation] = [op]
        while pending:
            for region in pending.pop().regions:
                for block in region.blocks:
                    for inner in tuple(block.ops):
                        if inner.regions:
                            pending.append(inner)
                        elif isinstance(inner, LetOp) and not _binds_recursion(inner):
                            inner.result.replace_all_uses_with(inner.value)
                            inner.detach()
                            inner.erase()


def _binds_recursion(op: LetOp) -> bool:
    owner = op.value.owner
    return isinstance(owner, ClosureOp) and owner.recursive is not None
