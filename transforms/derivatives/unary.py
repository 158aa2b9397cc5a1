"""The derivatives of functions of one element."""

from collections.abc import Callable, Mapping
from math import log, pi, sqrt

from xdsl.ir import Operation

from xrelay.dialects.tensor.transcendental import (
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    AtanhOp,
    AtanOp,
    CoshOp,
    Log2Op,
    Log10Op,
    SinhOp,
    TanOp,
)
from xrelay.dialects.tensor.unary import (
    AbsOp,
    CastOp,
    ClipOp,
    CopyOp,
    CosOp,
    ElementwiseUnaryOp,
    ErfOp,
    ExpOp,
    LogOp,
    NegativeOp,
    ReluOp,
    SigmoidOp,
    SinOp,
    SqrtOp,
    TanhOp,
)
from xrelay.transforms.derivatives.terms import Rule, Term

FORMULAS: Mapping[type[ElementwiseUnaryOp], Callable[[Term, Term, Term], Term]] = {
    AbsOp: lambda g, x, y: g.otherwise(x < 0, -g),
    AcosOp: lambda g, x, y: -g / root(-(x * x) + 1),
    AcoshOp: lambda g, x, y: g / root(x * x - 1),
    AsinOp: lambda g, x, y: g / root(-(x * x) + 1),
    AsinhOp: lambda g, x, y: g / root(x * x + 1),
    AtanOp: lambda g, x, y: g / (x * x + 1),
    AtanhOp: lambda g, x, y: g / (-(x * x) + 1),
    CastOp: lambda g, x, y: g.typed_as(x.value),
    ClipOp: lambda g, x, y: g.otherwise(x.differs(y), 0),
    CopyOp: lambda g, x, y: g,
    CosOp: lambda g, x, y: g * -x.new(SinOp(x.value)),
    CoshOp: lambda g, x, y: g * x.new(SinhOp(x.value)),
    ErfOp: lambda g, x, y: g * (x.new(ExpOp((-(x * x)).value)) * (2 / sqrt(pi))),
    ExpOp: lambda g, x, y: g * y,
    Log10Op: lambda g, x, y: g / (x * log(10)),
    Log2Op: lambda g, x, y: g / (x * log(2)),
    LogOp: lambda g, x, y: g / x,
    NegativeOp: lambda g, x, y: -g,
    ReluOp: lambda g, x, y: g.otherwise(x < 0, 0),
    SigmoidOp: lambda g, x, y: g * (y * (-y + 1)),
    SinOp: lambda g, x, y: g * x.new(CosOp(x.value)),
    SinhOp: lambda g, x, y: g * x.new(CoshOp(x.value)),
    SqrtOp: lambda g, x, y: g / (y + y),
    TanOp: lambda g, x, y: g * (y * y + 1),
    TanhOp: lambda g, x, y: g * (-(y * y) + 1),
}
"""The gradient with respect to x where y = f(x). Where f has a bend, it is that on the right; 0 beyond the ends of clip."""


def root(x: Term) -> Term:
    """The square root of a term."""
    return x.new(SqrtOp(x.value))


def _rule(formula: Callable[[Term, Term, Term], Term]) -> Rule:
    return lambda op, g: [formula(g, g.of(op.data), g.of(op.result))]


RULES: Mapping[type[Operation], Rule] = {op: _rule(formula) for op, formula in FORMULAS.items()}
