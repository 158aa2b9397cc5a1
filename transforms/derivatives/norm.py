"""The derivatives of normalisations and biases."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from xrelay.dialects.nn.norm import BiasAddOp, LogSoftmaxOp, SoftmaxOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.unary import ExpOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term


def bias_add_rule(op: BiasAddOp, g: Term) -> Sequence[Gradient]:
    """A bias is added to all elements of a channel."""
    return [g, g.new(SumOp(g.value, [op.channel_axis], exclude=True))]


def softmax_rule(op: SoftmaxOp, g: Term) -> Sequence[Gradient]:
    """y (g - sum of g y)"""
    y = g.of(op.result)
    return [(g - _row_sum(g * y, op.normalized_axis)) * y]


def log_softmax_rule(op: LogSoftmaxOp, g: Term) -> Sequence[Gradient]:
    """g - sum of g times the softmax"""
    softmax = g.new(ExpOp(op.result))
    return [g - _row_sum(g, op.normalized_axis) * softmax]


def _row_sum(term: Term, axis: int) -> Term:
    return term.new(SumOp(term.value, [axis], keepdims=True))


RULES: Mapping[type[Operation], Rule] = {
    BiasAddOp: bias_add_rule,
    LogSoftmaxOp: log_softmax_rule,
    SoftmaxOp: softmax_rule,
}
