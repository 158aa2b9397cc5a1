"""
Arithmetic whose last place shows: what is rounded to whole numbers or compared may be a step apart then.

A sum of products is rounded on the way, as those of convolutions, matrix products and reductions are: there the last place
says nothing.
"""

from xdsl.dialects.builtin import TupleType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.image.sampling import GridSampleOp
from xrelay.dialects.pool.adaptive import (
    AdaptiveMaxPool1DOp,
    AdaptiveMaxPool2DOp,
    AdaptiveMaxPool3DOp,
)
from xrelay.dialects.pool.pool import GlobalMaxPool2DOp, MaxPool1DOp, MaxPool2DOp, MaxPool3DOp
from xrelay.dialects.qnn.conversion import QnnQuantizeOp
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import (
    ComparisonOp,
    FloorDivideOp,
    FloorModOp,
    ModOp,
    TruncDivideOp,
    TruncModOp,
)
from xrelay.dialects.tensor.indexing import ScatterNDOp, ScatterOp
from xrelay.dialects.tensor.reduce import MaxOp, MinOp
from xrelay.dialects.tensor.sort import SortOp, TopkOp
from xrelay.dialects.tensor.unary import CastOp, CeilOp, FloorOp, RoundOp, SignOp, TruncOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.transforms.rules.rewriting import is_floating

STEPS = (
    CeilOp,
    ComparisonOp,
    FloorDivideOp,
    FloorModOp,
    FloorOp,
    GridSampleOp,
    ModOp,
    QnnQuantizeOp,
    RoundOp,
    SignOp,
    TruncDivideOp,
    TruncModOp,
    TruncOp,
)
"""Operators whose results jump where those of their operands hardly change."""
CHOOSING = (
    AdaptiveMaxPool1DOp,
    AdaptiveMaxPool2DOp,
    AdaptiveMaxPool3DOp,
    GlobalMaxPool2DOp,
    MaxOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
    MinOp,
    ScatterNDOp,
    ScatterOp,
    SortOp,
    TopkOp,
    TupleGetItemOp,
    TupleOp,
)
"""Operators beside elementwise and injective ones whose results are elements of their operands."""
MOST_USES = 256
"""What has more uses, and uses of these, is taken for something whose last place shows."""
MOST_OPERATORS = 64
"""So many operators in front of a value are looked at for a sum of products."""


def last_place_shows(value: SSAValue, operand: SSAValue) -> bool:
    """
    Whether the last place of a number of floating point, computed of an operand, may be seen: elements of it are rounded to
    whole numbers or compared, or handed over to a region or function, and the operand is no sum of products.
    """
    return is_floating(value) and not _is_summed(operand) and _makes_steps(value)


def _makes_steps(value: SSAValue) -> bool:
    waiting, seen = [value], {value}
    looked_at = 0
    while waiting:
        for use in waiting.pop().uses:
            looked_at += 1
            if looked_at > MOST_USES or _is_step(use.operation):
                return True
            if not _keeps_elements(use.operation):
                continue
            for each in use.operation.results:
                if each not in seen and (is_floating(each) or isinstance(each.type, TupleType)):
                    seen.add(each)
                    waiting.append(each)
    return False


def _is_step(op: Operation) -> bool:
    if not isinstance(op, RelayOp):
        # What is handed over to a region or another function may be rounded there.
        return not isinstance(op, ReturnOp)
    return isinstance(op, STEPS) or isinstance(op, CastOp) and not is_float(op.dtype)


def _keeps_elements(op: Operation) -> bool:
    return isinstance(op, CHOOSING) or pattern_kind(op) <= OpPatternKind.INJECTIVE


def _is_summed(value: SSAValue) -> bool:
    """Whether elements are sums of products, or computed of such."""
    for _ in range(MOST_OPERATORS):
        op = value.owner
        if not isinstance(op, RelayOp) or not op.operands:
            return False
        if not _keeps_elements(op):
            return pattern_kind(op) in (OpPatternKind.COMM_REDUCE, OpPatternKind.OUT_EWISE_FUSABLE)
        value = op.operands[0]
    return False
