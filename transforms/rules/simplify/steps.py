"""Values that are rounded to whole numbers, or compared: what differs in the last place may be a step apart there."""

from xdsl.ir import SSAValue

from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import (
    ComparisonOp,
    FloorDivideOp,
    FloorModOp,
    ModOp,
    TruncDivideOp,
    TruncModOp,
)
from xrelay.dialects.tensor.unary import CastOp, CeilOp, FloorOp, RoundOp, SignOp, TruncOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.transforms.rules.rewriting import is_floating

STEPS = (
    CeilOp,
    ComparisonOp,
    FloorDivideOp,
    FloorModOp,
    FloorOp,
    ModOp,
    RoundOp,
    SignOp,
    TruncDivideOp,
    TruncModOp,
    TruncOp,
)
"""Operators whose results jump where those of their operands hardly change."""
MOST_USES = 32
"""So many uses are looked at: steps are made close to what is rounded."""


def makes_steps(value: SSAValue) -> bool:
    """Whether elements of floating point are rounded to whole numbers, or compared, by what is computed of each."""
    if not is_floating(value):
        return False
    waiting, seen = [value], {value}
    looked_at = 0
    while waiting:
        for use in waiting.pop().uses:
            looked_at += 1
            if looked_at > MOST_USES:
                return False
            op = use.operation
            if isinstance(op, STEPS) or isinstance(op, CastOp) and not is_float(op.dtype):
                return True
            if pattern_kind(op) > OpPatternKind.INJECTIVE:
                continue
            following = [each for each in op.results if each not in seen and is_floating(each)]
            seen.update(following)
            waiting += following
    return False
