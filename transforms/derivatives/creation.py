"""The derivatives of what makes tensors of numbers."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation

from xrelay.dialects.dyn.tensor import DynOnesOp, DynZerosOp
from xrelay.dialects.tensor.creation import (
    ArangeOp,
    OneHotOp,
    OnesLikeOp,
    OnesOp,
    ZerosLikeOp,
    ZerosOp,
)
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term


def zero_rule(op: Operation, g: Term) -> Sequence[Gradient]:
    """The result does not depend on the elements of operands."""
    return [None] * len(op.operands)


def arange_rule(op: ArangeOp, g: Term) -> Sequence[Gradient]:
    """start + i step, where the result of `relay.arange` tells i. How many numbers there are does not grow."""
    start, step = g.of(op.start), g.of(op.step)
    numbers = (g.of(op.result).typed_as(op.start) - start) / step
    of_start = total(g).typed_as(op.start)
    of_step = total(g.typed_as(op.start) * numbers)
    return [of_start, None, of_step]


def one_hot_rule(op: OneHotOp, g: Term) -> Sequence[Gradient]:
    """The sums of the gradient where each of the two values stands."""
    on, off = (g.emit.constant(np.array(each)) for each in (True, False))
    places = g.new(OneHotOp(op.indices, on, off, op.depth, axis=op.axis, dtype=i1))
    zero = g.emit.scalar(0, g.value)
    of_on = total(g.of(zero).otherwise(places, g))
    of_off = total(g.otherwise(places, g.of(zero)))
    return [None, of_on.typed_as(op.on_value), of_off.typed_as(op.off_value)]


def total(term: Term) -> Term:
    """The sum of all elements."""
    return term.new(SumOp(term.value))


RULES: Mapping[type[Operation], Rule] = {
    ArangeOp: arange_rule,
    DynOnesOp: zero_rule,
    DynZerosOp: zero_rule,
    OneHotOp: one_hot_rule,
    OnesLikeOp: zero_rule,
    OnesOp: zero_rule,
    ZerosLikeOp: zero_rule,
    ZerosOp: zero_rule,
}
