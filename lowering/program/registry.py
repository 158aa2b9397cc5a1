"""The rules and strategies of all operators."""

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.conv.conv import Conv1DOp, Conv2DTransposeOp
from xrelay.dialects.conv.packed import CONV_PACKED_OPS
from xrelay.dialects.conv.transpose import CONV_TRANSPOSE_OPS
from xrelay.dialects.conv.winograd import WINOGRAD_OPS
from xrelay.dialects.core.adt import ADT_OPS
from xrelay.dialects.core.device import DeviceCopyOp, OnDeviceOp
from xrelay.dialects.core.failure import FailOp
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, GlobalVarOp, InstantiateOp, LetOp
from xrelay.dialects.core.memory import MEMORY_OPS
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CompositeOp, FusedOp, YieldOp
from xrelay.dialects.core.vm import VM_OPS
from xrelay.dialects.dyn.image import DYN_IMAGE_OPS
from xrelay.dialects.dyn.select import DYN_SELECT_OPS
from xrelay.dialects.dyn.tensor import DYN_OPS
from xrelay.dialects.nn.bitserial import BitSerialConv2DOp, BitSerialDenseOp
from xrelay.dialects.nn.dense import ContribDensePackOp
from xrelay.dialects.nn.loss import LOSS_OPS
from xrelay.dialects.nn.norm import L2NormalizeOp
from xrelay.dialects.qnn.products import QNN_PRODUCT_OPS
from xrelay.dialects.sparse.coordinates import SparseFillEmptyRowsOp
from xrelay.dialects.tensor.sort import ArgwhereOp
from xrelay.lowering.emit.evaluate import EachLane, RuleFunction
from xrelay.lowering.emit.position import Rows
from xrelay.lowering.emit.strategy import Selection, Site, Strategy, select
from xrelay.lowering.operators.attention import code as attention_code
from xrelay.lowering.operators.conv import conv
from xrelay.lowering.operators.conv import gradient as conv_gradient
from xrelay.lowering.operators.core import values as core
from xrelay.lowering.operators.image import resize as image
from xrelay.lowering.operators.image import sampling
from xrelay.lowering.operators.nn import (
    bitserial,
    correlation,
    dense,
    dilate,
    norm,
    space,
    upsampling,
)
from xrelay.lowering.operators.pool import adaptive as adaptive_pool
from xrelay.lowering.operators.pool import gradient as pool_gradient
from xrelay.lowering.operators.pool import pool
from xrelay.lowering.operators.qnn import arithmetic as qnn_arithmetic
from xrelay.lowering.operators.qnn import blocks as qnn_blocks
from xrelay.lowering.operators.qnn import conversion as qnn
from xrelay.lowering.operators.qnn import simulate as quantize
from xrelay.lowering.operators.sparse import coordinates as sparse_coordinates
from xrelay.lowering.operators.sparse import products as sparse
from xrelay.lowering.operators.tensor import (
    arg_reduce,
    binary,
    bits,
    creation,
    einsum,
    indexing,
    joining,
    layout,
    like,
    random,
    reorder,
    reshape,
    scan,
    sort,
    stft,
    transcendental,
    transform,
    transpose,
    unary,
)
from xrelay.lowering.operators.tensor import reduce as reduction
from xrelay.lowering.operators.vision import all_classes, regions
from xrelay.lowering.operators.vision import nms as vision

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
    **qnn_blocks.RULES,
    **sampling.RULES,
    **regions.RULES,
    **space.RULES,
    **upsampling.RULES,
    **transcendental.RULES,
    **bits.RULES,
    **creation.RULES,
    **like.RULES,
    **reorder.RULES,
    **indexing.RULES,
    **sparse_coordinates.RULES,
    **quantize.RULES,
}
"""Operators that are evaluated on demand, element by element."""


def breaks_rows(op: Operation) -> bool:
    """
    Whether neighbouring elements of the result come from places that are not neighbours, so that
    vectors would have to be put together lane by lane.
    """
    families = (transform, indexing, reorder, space)
    return isinstance(RULES.get(type(op)), EachLane) or any(
        each.breaks_rows(op) for each in families
    )


def rows_of(op: Operation) -> Rows | None:
    """What the rows of a result are made of; None where neighbours are kept together, or nowhere."""
    return transform.rows_of(op) or space.rows_of(op)


def reads_again(op: Operation) -> bool:
    """Whether elements of an operand become several elements of the result."""
    return transform.reads_again(op) or space.reads_again(op)


STRATEGIES: dict[type[Operation], Strategy] = {
    **reduction.STRATEGIES,
    **arg_reduce.STRATEGIES,
    **conv.STRATEGIES,
    **dense.STRATEGIES,
    **pool.STRATEGIES,
    **adaptive_pool.STRATEGIES,
    **pool_gradient.STRATEGIES,
    **conv_gradient.STRATEGIES,
    **correlation.STRATEGIES,
    **bitserial.STRATEGIES,
    **qnn_blocks.STRATEGIES,
    **sparse.STRATEGIES,
    **layout.STRATEGIES,
    **joining.STRATEGIES,
    **norm.STRATEGIES,
    **attention_code.STRATEGIES,
    **transpose.STRATEGIES,
    **random.STRATEGIES,
    **image.STRATEGIES,
    **sampling.STRATEGIES,
    **vision.STRATEGIES,
    **all_classes.STRATEGIES,
    **regions.STRATEGIES,
    **like.STRATEGIES,
    **reorder.STRATEGIES,
    **indexing.STRATEGIES,
    **sort.STRATEGIES,
    **scan.STRATEGIES,
    **einsum.STRATEGIES,
    **stft.STRATEGIES,
}
"""Operators with loops of their own."""

STRUCTURE: frozenset[type[Operation]] = frozenset(
    {CompositeOp, FailOp, FusedOp, YieldOp, RefCreateOp, RefReadOp, RefWriteOp}
)
"""Operators that hold a part of a program together."""

REWRITTEN: dict[type[Operation], str] = {
    Conv1DOp: "legalize-convolutions",
    Conv2DTransposeOp: "legalize-convolutions{unsafe=true}",
    **dict.fromkeys(
        (
            *CONV_TRANSPOSE_OPS,
            *LOSS_OPS,
            *WINOGRAD_OPS,
            BitSerialConv2DOp,
            BitSerialDenseOp,
            ContribDensePackOp,
            L2NormalizeOp,
            OnDeviceOp,
        ),
        "legalize",
    ),
    **dict.fromkeys(CONV_PACKED_OPS, "legalize-layouts"),
    **dict.fromkeys(QNN_PRODUCT_OPS, "legalize-quantized-products"),
    LetOp: "to-graph-normal-form",
    **dict.fromkeys(
        (*DYN_OPS, *DYN_IMAGE_OPS, *DYN_SELECT_OPS),
        "dynamic-to-static where the shape operands are known",
    ),
}
"""Operators that a pass of the CPU pipeline replaces by others, and its name."""

DATA_DEPENDENT = "the shape of the result depends on data"
FUNCTIONS = "functions and data types are no tensors"
PLACEMENT = "programs for one processor have one memory, which the code generator plans"

INTERPRETER_ONLY: dict[type[Operation], str] = {
    **dict.fromkeys((ApplyOp, ClosureOp, GlobalVarOp, InstantiateOp, *ADT_OPS), FUNCTIONS),
    **dict.fromkeys((DeviceCopyOp, *MEMORY_OPS, *VM_OPS), PLACEMENT),
}
"""Operators without code, and why."""

STAGED = (ArgwhereOp, SparseFillEmptyRowsOp)
"""Operators behind which programs are cut, so that no program has them: their results have a bound."""


@dataclass(frozen=True)
class Lowering:
    """How the code generator computes an operator."""

    text: str
    has_code: bool = True


def why_no_code(op: type[Operation]) -> str | None:
    """Why there are no kernels for an operator; None for operators that no table names."""
    if op in REWRITTEN:
        return f"replaced by {REWRITTEN[op]}"
    return DATA_DEPENDENT if op in STAGED else INTERPRETER_ONLY.get(op)


def how_lowered(op: type[Operation]) -> Lowering:
    """How the code generator computes an operator, or why it does not."""
    if op in INTERPRETER_ONLY:
        return Lowering(f"none: {INTERPRETER_ONLY[op]}", has_code=False)
    if op in STAGED:
        return Lowering("by stages: the program is cut behind it")
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
