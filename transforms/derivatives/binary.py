"""The derivatives of arithmetic on two operands. What broadcasting repeats is the sum of its repetitions."""

from collections.abc import Callable, Mapping

from xdsl.ir import Operation

from xrelay.dialects.tensor.binary import AddOp, BroadcastBinaryOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.transforms.derivatives.terms import Rule, Term

FORMULAS: Mapping[
    type[BroadcastBinaryOp], Callable[[Term, Term, Term, Term], tuple[Term, Term]]
] = {
    AddOp: lambda g, a, b, y: (g, g),
    DivideOp: lambda g, a, b, y: (g / b, -(g * y) / b),
    MultiplyOp: lambda g, a, b, y: (g * b, g * a),
    SubtractOp: lambda g, a, b, y: (g, -g),
}
"""The gradients with respect to a and b where y = f(a, b)."""


def _rule(formula: Callable[[Term, Term, Term, Term], tuple[Term, Term]]) -> Rule:
    def rule(op: BroadcastBinaryOp, g: Term) -> list[Term]:
        a, b = formula(g, g.of(op.lhs), g.of(op.rhs), g.of(op.result))
        return [a.summed_to(op.lhs), b.summed_to(op.rhs)]

    return rule


RULES: Mapping[type[Operation], Rule] = {op: _rule(formula) for op, formula in FORMULAS.items()}
