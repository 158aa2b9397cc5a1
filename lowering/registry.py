"""The rules and strategies of all operators."""

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.bitserial import BitSerialConv2DOp, BitSerialDenseOp
from xrelay.dialects.conv import Conv1DOp, Conv2DTransposeOp
from xrelay.dialects.conv_packed import CONV_PACKED_OPS
from xrelay.dialects.conv_transpose import CONV_TRANSPOSE_OPS
from xrelay.dialects.core import (
    CompositeOp,
    FusedOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    YieldOp,
)
from xrelay.dialects.dense import ContribDensePackOp
from xrelay.dialects.loss import LOSS_OPS
from xrelay.dialects.norm import L2NormalizeOp
from xrelay.dialects.winograd import WINOGRAD_OPS
from xrelay.lowering import (
    adaptive_pool,
    attention_code,
    binary,
    bitserial,
    conv,
    conv_gradient,
    core,
    correlation,
    dense,
    dilate,
    image,
    layout,
    norm,
    pool,
    pool_gradient,
    qnn,
    qnn_arithmetic,
    random,
    rearrange,
    reduction,
    regions,
    reshape,
    sampling,
    sparse,
    transform,
    transpose,
    unary,
    upsampling,
    vision,
)
from xrelay.lowering.evaluate import RuleFunction
from xrelay.lowering.strategy import Selection, Site, Strategy, select

RULES: dict[type[Operation], RuleFunction] = {
    **core.RULES,
    **unary.RULES,
    **binary.RULES,
    **reshape.RULES,
    **transform.RULES,
    **layout.RULES,
    **dilate.RULES,
    **norm.RULES,
    **qnn.RULES,
    **qnn_arithmetic.RULES,
    **sampling.RULES,
    **regions.RULES,
    **rearrange.RULES,
    **upsampling.RULES,
}
"""Operators that are evaluated on demand, element by element."""

STRATEGIES: dict[type[Operation], Strategy] = {
    **reduction.STRATEGIES,
    **conv.STRATEGIES,
    **dense.STRATEGIES,
    **pool.STRATEGIES,
    **adaptive_pool.STRATEGIES,
    **pool_gradient.STRATEGIES,
    **conv_gradient.STRATEGIES,
    **correlation.STRATEGIES,
    **bitserial.STRATEGIES,
    **sparse.STRATEGIES,
    **layout.STRATEGIES,
    **norm.STRATEGIES,
    **attention_code.STRATEGIES,
    **transpose.STRATEGIES,
    **random.STRATEGIES,
    **image.STRATEGIES,
    **sampling.STRATEGIES,
    **vision.STRATEGIES,
    **regions.STRATEGIES,
}
"""Operators with loops of their own."""

STRUCTURE: frozenset[type[Operation]] = frozenset({CompositeOp, FusedOp, YieldOp})
"""Operators that hold a part of a program together."""

REWRITTEN: dict[type[Operation], str] = {
    Conv1DOp: "legalize-convolutions",
    Conv2DTransposeOp: "legalize-convolutions",
    **dict.fromkeys(
        (
            *CONV_PACKED_OPS,
            *CONV_TRANSPOSE_OPS,
            *LOSS_OPS,
            *WINOGRAD_OPS,
            BitSerialConv2DOp,
            BitSerialDenseOp,
            ContribDensePackOp,
            L2NormalizeOp,
        ),
        "legalize",
    ),
}
"""Operators that a pass of the CPU pipeline replaces by others, and its name."""

INTERPRETER_ONLY: dict[type[Operation], str] = dict.fromkeys(
    (RefCreateOp, RefReadOp, RefWriteOp), "a cell that changes is no tensor"
)
"""Operators without code, and why."""


@dataclass(frozen=True)
class Lowering:
    """How the code generator computes an operator."""

    text: str
    has_code: bool = True


def how_lowered(op: type[Operation]) -> Lowering:
    """How the code generator computes an operator, or why it does not."""
    if op in INTERPRETER_ONLY:
        return Lowering(f"none: {INTERPRETER_ONLY[op]}", has_code=False)
    if op in STRUCTURE:
        return Lowering("structure")
    if op in REWRITTEN:
        return Lowering(f"replaced by {REWRITTEN[op]}")
    ways = ["on demand"] if op in RULES else []
    if op in STRATEGIES:
        names = ", ".join(dict.fromkeys(each.name for each in STRATEGIES[op]))
        ways.append(f"loops: {names}")
    return Lowering("; ".join(ways)) if ways else Lowering("none", has_code=False)


def explain_selection(site: Site) -> Selection:
    """
    How an operator with loops of its own is computed, and what else could compute it or why not.

    Raises DiagnosticException when nothing can, and for operators of other kinds.
    """
    if type(site.op) not in STRATEGIES:
        raise DiagnosticException(
            f"{site.op.name} has no loops of its own, there is nothing to choose"
        )
    return select(STRATEGIES[type(site.op)], site)
