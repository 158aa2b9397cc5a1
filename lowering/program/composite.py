"""The composites that have strategies, and whether these are worth it."""

from dataclasses import replace

from xdsl.ir import Operation

from xrelay.dialects.core.values import CompositeOp
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.operators.attention.code import ATTENTION
from xrelay.lowering.operators.attention.cost import attention_of, inlined_seconds, team_seconds
from xrelay.lowering.operators.attention.parts import NAME, cut_of


def is_known(op: Operation) -> bool:
    """Whether an operator is a composite of a name that has strategies."""
    return isinstance(op, CompositeOp) and op.composite.data == NAME


def is_better_inlined(site: Site) -> bool:
    """Whether the operators of a composite do better on their own, which is decided for likely lengths."""
    if all(each.refusal(site) is not None for each in ATTENTION):
        return True
    site = site.likely
    if cut_of(attention_of(site), site.target, site.threads).key_blocks > 1:
        # Blocks of keys round otherwise: bits must not depend on the number of threads.
        site = replace(site, threads=1)
    return inlined_seconds(site) < team_seconds(site)
