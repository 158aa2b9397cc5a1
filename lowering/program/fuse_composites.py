"""
`fuse-composites`: composites that the code generator has a strategy for become kernels of their own.

    %0 = relay.composite "attention" %q, %k, %v { … }
        ──►
    %0 = relay.fused %q, %k, %v {
    ^bb0(%p0, %p1, %p2):
      %1 = relay.composite "attention" %p0, %p1, %p2 { … }
      relay.yield %1
    }

A composite of a name that has strategies, of which each refuses it or which would take longer than the
operators on their own, is inlined, so that `fuse-ops` sees its operators. Run it before `fuse-ops`.

Leaves alone: composites of other names, what is within `relay.fused` or another composite, and
functions for other compilers.
"""

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import CompositeOp, FusedOp, YieldOp
from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.emit.target import NATIVE, Target, named_target
from xrelay.lowering.operators.attention.code import ATTENTION
from xrelay.lowering.operators.attention.cost import attention_of, inlined_seconds, team_seconds
from xrelay.lowering.operators.attention.parts import NAME, cut_of


@dataclass(frozen=True)
class FuseOrInline(RewritePattern):
    """Decides about a composite."""

    target: Target
    threads: int

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, CompositeOp) or op.composite.data != NAME:
            return
        if is_better_inlined(Site(op, self.target, self.threads)):
            inline(op, rewriter)
            return
        args = tuple(dict.fromkeys(op.args))
        block = Block(arg_types=[arg.type for arg in args])
        for i, parameter in enumerate(block.args):
            parameter.name_hint = f"p{i}"
        inner = op.clone(dict(zip(args, block.args, strict=True)))
        block.add_ops([inner, YieldOp(inner.result)])
        fused = FusedOp(args, Region(block), op.result.type)
        fused.location = op.location
        fused.result.name_hint = op.result.name_hint
        rewriter.replace(op, fused)


def is_better_inlined(site: Site) -> bool:
    """
    Whether the operators of a composite do better on their own, which is decided for likely lengths: never where blocks of
    keys may be hidden of which it is not known how many there are.
    """
    if all(each.refusal(site) is not None for each in ATTENTION):
        return True
    parts = attention_of(site)
    if parts.hides_blocks and is_open(parts.first.columns):
        return False  # There may be more keys than are likely, most of which the kernel leaves out.
    site = site.likely
    if cut_of(attention_of(site), site.target, site.threads).key_blocks > 1:
        # Blocks of keys round otherwise: bits must not depend on the number of threads.
        site = replace(site, threads=1)
    return inlined_seconds(site) < team_seconds(site)


def inline(op: CompositeOp, rewriter: PatternRewriter) -> None:
    """Puts the operators of a composite in its place."""
    end = op.block.last_op
    assert end is not None
    for parameter in op.block.args:
        parameter.name_hint = None  # Inlining would pass it on to the argument.
    rewriter.inline_block(op.block, InsertPoint.before(op), op.args)
    (value,) = end.operands
    rewriter.replace(op, (), (value,))
    rewriter.erase(end)


@dataclass(frozen=True)
class FuseCompositesPass(RelayPass):
    """Makes kernels of composites, or inlines them."""

    name = "fuse-composites"

    target: str = NATIVE
    """The CPU: native, or a named one such as x86-64-v4."""
    threads: int = 1
    """How many threads run the program."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(1, threads=self.threads)
        pattern = FuseOrInline(named_target(self.target), self.threads)
        PatternWalker(Outside(keeps_body, pattern), apply_recursively=False).rewrite_module(op)
