"""
`to-basic-block-normal-form`: what several scopes use has a name in the scope around them.

    %0 = relay.exp %x                             %0 = relay.exp %x
    %1 = scf.if %c {                              %a = relay.let %0
      %2 = relay.add %0, %0             ──►       %1 = scf.if %c {
      scf.yield %2                                  %2 = relay.add %a, %a
    } else {                                        scf.yield %2
      scf.yield %0                                } else {
    }                                               scf.yield %a
                                                  }

A value in SSA form is computed where it stands, so that the program means the same without the names. In Relay text a
value without a name is an expression at each of its uses, and only a `let` says that branches share it.

What stays: values that one scope uses; values with a name; `relay.fused`, `relay.composite` and functions for other
compilers.

Source: Relay's ToBasicBlockNormalForm.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp
from xrelay.dialects.core.functional import GlobalVarOp, LetOp

NAMES = (ConstructorOp, GlobalVarOp, LetOp)
"""Operations whose results are names."""


def crosses_scopes(result: OpResult, scope: Block) -> bool:
    """Whether operations of other blocks, of at least two, use a result, and none of its own block before them."""
    users = [use.operation.parent for use in result.uses]
    return len(set(users)) > 1 and scope not in users


@dataclass(frozen=True)
class ToBasicBlockNormalFormPass(RelayPass):
    """Binds what several scopes share to a name."""

    name = "to-basic-block-normal-form"

    def rewrite(self, op: ModuleOp) -> None:
        pending: list[Operation] = [each for each in op.body.ops if not keeps_body(each)]
        while pending:
            for region in pending.pop().regions:
                for block in region.blocks:
                    for inner in tuple(block.ops):
                        if not keeps_body(inner):
                            pending.append(inner)
                        if isinstance(inner, NAMES):
                            continue
                        for result in inner.results:
                            if crosses_scopes(result, block):
                                let = LetOp(result)
                                let.result.name_hint = result.name_hint
                                Rewriter.insert_op(let, InsertPoint.after(inner))
                                result.replace_uses_with_if(
                                    let.result, lambda use, let=let: use.operation is not let
                                )
