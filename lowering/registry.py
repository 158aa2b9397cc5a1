"""The rules and strategies of all operators."""

from xdsl.ir import Operation

from xrelay.lowering import (
    binary,
    conv,
    core,
    dense,
    norm,
    pool,
    qnn,
    reduction,
    reshape,
    transform,
    unary,
)
from xrelay.lowering.evaluate import RuleFunction
from xrelay.lowering.strategy import Strategy

RULES: dict[type[Operation], RuleFunction] = {
    **core.RULES,
    **unary.RULES,
    **binary.RULES,
    **reshape.RULES,
    **transform.RULES,
    **norm.RULES,
    **qnn.RULES,
}
"""Operators that are evaluated on demand, element by element."""

STRATEGIES: dict[type[Operation], Strategy] = {
    **reduction.STRATEGIES,
    **conv.STRATEGIES,
    **dense.STRATEGIES,
    **pool.STRATEGIES,
    **norm.STRATEGIES,
}
"""Operators with loops of their own."""
