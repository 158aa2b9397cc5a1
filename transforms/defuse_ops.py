"""
`defuse-ops`: puts the bodies of `relay.fused` back in place, the opposite of `fuse-ops`.

    %1 = relay.fused %x, %w {
    ^bb0(%p0, %p1):
      %2 = relay.nn.dense %p0, %p1        %0 = relay.nn.dense %x, %w
      %3 = relay.nn.relu %2         ──►   %1 = relay.nn.relu %0
      relay.yield %3
    }

Passes that rewrite across the borders of kernels work on the result; `fuse-ops` follows again.
Operators that `fuse-ops` moved to the root of their group stay there, so that the order of independent
operators, and with it a tie in the next fusion, may differ from the original.

Leaves alone: functions with `Extern` or `SkipOptimization`, and what a compiler has claimed,
`relay.composite` and functions with `Compiler`, unless `include-composite` is given.

Source: Relay's DefuseOps, which matches parameters by name and inlines all function literals.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import has_flag
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import CalledBodyOp, CompositeOp, FusedOp, TupleGetItemOp, TupleOp


def inline_body(op: CalledBodyOp, rewriter: PatternRewriter) -> None:
    """
    Puts the body of a function literal in the place of its call. Projections out of the tuple that
    a `relay.fused` with several outputs yields become what was projected.
    """
    end = op.block.last_op
    assert end is not None
    for parameter in op.block.args:
        parameter.name_hint = None  # Inlining would pass it on to the argument.
    rewriter.inline_block(op.block, InsertPoint.before(op), op.args)
    (value,) = end.operands
    outputs = value.owner if isinstance(op, FusedOp) else None
    if isinstance(outputs, TupleOp):
        for use in list(op.results[0].uses):
            if isinstance(use.operation, TupleGetItemOp):
                field = outputs.fields[use.operation.index.value.data]
                rewriter.replace(use.operation, (), (field,))
    rewriter.replace(op, (), (value,))
    rewriter.erase(end)
    if isinstance(outputs, TupleOp) and not outputs.result.uses:
        rewriter.erase(outputs)


@dataclass(frozen=True)
class InlineBody(RewritePattern):
    """A call of a function literal is the literal's body, with arguments for parameters."""

    include_composite: bool
    """Whether `relay.composite` and the functions of other compilers are inlined too."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, FusedOp | CompositeOp if self.include_composite else FusedOp):
            inline_body(op, rewriter)

    def keeps_body(self, op: Operation) -> bool:
        """Whether this pass leaves `op` alone."""
        kept = ("Extern", "SkipOptimization", *(() if self.include_composite else ("Compiler",)))
        return isinstance(op, func.FuncOp) and has_flag(op, kept)


@dataclass(frozen=True)
class DefuseOpsPass(RelayPass):
    """Inlines the bodies of `relay.fused`."""

    name = "defuse-ops"

    include_composite: bool = False
    """Also inline `relay.composite`, and enter functions with `Compiler`."""

    def rewrite(self, op: ModuleOp) -> None:
        pattern = InlineBody(self.include_composite)
        PatternWalker(Outside(pattern.keeps_body, pattern), apply_recursively=False).rewrite_module(
            op
        )
