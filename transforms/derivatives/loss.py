"""The derivatives of loss functions."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from xrelay.dialects.nn.loss import CrossEntropyFamilyOp, CrossEntropyOp, CrossEntropyWithLogitsOp
from xrelay.dialects.tensor.unary import LogOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, static_shape


def _shared(op: CrossEntropyFamilyOp, g: Term) -> Term:
    """The negative share of the gradient that each example has."""
    return -g / static_shape(op, op.x)[0]


def cross_entropy_rule(op: CrossEntropyOp, g: Term) -> Sequence[Gradient]:
    """- y / x and - log(x), by the number of examples"""
    x, y, each = g.of(op.x), g.of(op.y), _shared(op, g)
    return [each * y / x, each * x.new(LogOp(x.value))]


def cross_entropy_with_logits_rule(op: CrossEntropyWithLogitsOp, g: Term) -> Sequence[Gradient]:
    """- y and - x, by the number of examples"""
    each = _shared(op, g)
    return [each * g.of(op.y), each * g.of(op.x)]


RULES: Mapping[type[Operation], Rule] = {
    CrossEntropyOp: cross_entropy_rule,
    CrossEntropyWithLogitsOp: cross_entropy_with_logits_rule,
}
