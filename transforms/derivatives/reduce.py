"""The derivatives of reductions."""

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation

from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import EqualOp
from xrelay.dialects.tensor.creation import OnesLikeOp
from xrelay.dialects.tensor.like import BroadcastToLikeOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, ReductionOp, SumOp, VarianceOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term
from xrelay.transforms.rules.rewriting import has_static_type


def kept(op: ReductionOp, reduced: Term) -> Term:
    """A tensor like the result of a reduction with the reduced axes, of length 1."""
    if not op.keepdims.value.data:
        for axis in op.reduced_axes:
            reduced = reduced.new(ExpandDimsOp(reduced.value, axis))
    return reduced


def repeated(op: ReductionOp, reduced: Term) -> Term:
    """A tensor like the result of a reduction, repeated along the reduced axes."""
    return reduced.new(BroadcastToLikeOp(kept(op, reduced).value, op.data))


def reduced_count(op: ReductionOp, g: Term) -> Term | float:
    """How many elements each element of the result stands for."""
    if has_static_type(op.data):
        return prod(shape_of(op.data)[axis] for axis in op.reduced_axes)
    ones = g.new(OnesLikeOp(op.data))
    return g.new(SumOp(ones.value, op.reduced_axes, keepdims=True))


def sum_rule(op: SumOp, g: Term) -> Sequence[Gradient]:
    """Each element is one summand."""
    return [repeated(op, g)]


def mean_rule(op: MeanOp, g: Term) -> Sequence[Gradient]:
    """Each element is one of n summands."""
    return [repeated(op, g) / reduced_count(op, g)]


def variance_rule(op: VarianceOp, g: Term) -> Sequence[Gradient]:
    """
    (x - mean)² is divided by the count. The original gives each operand the part of 2 (x - mean) with its name, which is
    the same in sum if the mean is that of the data.
    """
    count = reduced_count(op, g)
    if op.unbiased.value.data:
        count = count - 1
    slope = repeated(op, g) * ((g.of(op.data) - g.of(op.mean)) * 2) / count
    return [slope, (-slope).summed_to(op.mean)]


def max_rule(op: MaxOp, g: Term) -> Sequence[Gradient]:
    """Elements that are the largest share the gradient."""
    largest = g.new(EqualOp(op.data, kept(op, g.of(op.result)).value)).typed_as(op.data)
    count = g.new(SumOp(largest.value, op.reduced_axes, keepdims=True))
    return [largest * kept(op, g) / count]


RULES: Mapping[type[Operation], Rule] = {
    MaxOp: max_rule,
    MeanOp: mean_rule,
    SumOp: sum_rule,
    VarianceOp: variance_rule,
}
