"""Casts of constants become constants of another size, which `fold-constant` leaves where they are large."""

from collections.abc import Collection

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.fold_constant import FoldOperator
from xrelay.transforms.rules.evaluating import MOST_BYTES, Evaluator


def fold_casts(
    module: ModuleOp, sources: Collection[Attribute], limits: Limits = DEFAULT_LIMITS
) -> None:
    """
    Computes the casts of constants of some element types, outside the bodies of `relay.fused` and `relay.composite`.
    Raises PassFailedException for results beyond the limits.
    """
    fold, is_kept = FoldOperator(Evaluator(MOST_BYTES, limits)), Within(keeps_body)
    for op in list(walk(module)):
        if (
            isinstance(op, CastOp)
            and isinstance(op.data.owner, ConstantOp)
            and op.data.type.element_type in sources
            and not is_kept(op)
        ):
            fold.match_and_rewrite(op, PatternRewriter(op))
