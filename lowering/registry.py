"""The rules and strategies of all operators."""

from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.dyn import DYN_OPS
from xrelay.dialects.dyn_image import DYN_IMAGE_OPS
from xrelay.dialects.dyn_select import DYN_SELECT_OPS
from xrelay.dialects.sort import ArgwhereOp
from xrelay.dialects.sparse import SparseFillEmptyRowsOp
from xrelay.lowering import (
    binary,
    bits,
    conv,
    core,
    creation,
    dense,
    dilate,
    einsum,
    indexing,
    layout,
    like,
    norm,
    pool,
    qnn,
    quantize,
    reduction,
    reorder,
    reshape,
    sort,
    sparse,
    stft,
    transcendental,
    transform,
    unary,
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
    **transcendental.RULES,
    **bits.RULES,
    **creation.RULES,
    **like.RULES,
    **reorder.RULES,
    **indexing.RULES,
    **sparse.RULES,
    **quantize.RULES,
}
"""Operators that are evaluated on demand, element by element."""

STRATEGIES: dict[type[Operation], Strategy] = {
    **reduction.STRATEGIES,
    **conv.STRATEGIES,
    **dense.STRATEGIES,
    **pool.STRATEGIES,
    **layout.STRATEGIES,
    **norm.STRATEGIES,
    **like.STRATEGIES,
    **reorder.STRATEGIES,
    **indexing.STRATEGIES,
    **sort.STRATEGIES,
    **einsum.STRATEGIES,
    **stft.STRATEGIES,
}
"""Operators with loops of their own."""

DATA_DEPENDENT = "the shape of the result depends on data"

INTERPRETER_ONLY: dict[type[Operation], str] = {
    ArgwhereOp: DATA_DEPENDENT,
    SparseFillEmptyRowsOp: DATA_DEPENDENT,
    **dict.fromkeys((*DYN_OPS, *DYN_IMAGE_OPS, *DYN_SELECT_OPS), DATA_DEPENDENT),
}
"""Operators without kernel code, and why."""


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
