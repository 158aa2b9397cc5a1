"""
The forward graph of a block: a node for each operation, with its kind and its uses.

Rules 1-11 of docs/fusion.md: a node per operation in program order, an edge per use inside the
block. A value that something other than dataflow uses is *extern*. Block arguments are opaque and
never fuse, so that they need no nodes.

Source: Relay's FuseOps (TVM 0.10), IndexedForwardGraph.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType, TupleType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.references import REFERENCE_OPS, RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CORE_OPS, CalledBodyOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import is_dynamic, is_tensor_type, same_shape
from xrelay.dialects.traits import (
    HasPatternKind,
    NonComputational,
    OpPatternKind,
    ShapeDataDependent,
    pattern_kind,
)

ELEMWISE = OpPatternKind.ELEMWISE
BROADCAST = OpPatternKind.BROADCAST
INJECTIVE = OpPatternKind.INJECTIVE
COMM_REDUCE = OpPatternKind.COMM_REDUCE
OUT_EWISE_FUSABLE = OpPatternKind.OUT_EWISE_FUSABLE
TUPLE = OpPatternKind.TUPLE
OPAQUE = OpPatternKind.OPAQUE

Kinds = Mapping[Operation, OpPatternKind]
"""Kinds that take the place of those that operators state."""


@dataclass(frozen=True)
class Refusal:
    """Why a node is not in the group of its post-dominator."""

    rule: int
    """The number of the rule that refused first."""
    sentence: str
    """The reason, for people."""
    sweep: int | None = None
    """The sweep that came to it, None when it holds before the first one."""
    culprit: Operation | None = None
    """The operation on the way that the rule did not accept, None when it is the node itself."""

    def __str__(self) -> str:
        return f"rule {self.rule}: {self.sentence}"


@dataclass(eq=False, repr=False, slots=True)
class FusionNode:
    """An operation of the block and what fusion knows about it."""

    op: Operation
    index: int
    """Its place in program order, which decides ties."""
    kind: OpPatternKind
    """Its own kind, before any merge."""
    opaque: Refusal | None
    """Why the node is opaque; None if it is not."""
    extern: Refusal | None = None
    """The use that is not fusible dataflow; None if there is none."""
    edges: list["FusionEdge"] = field(default_factory=list["FusionEdge"])
    """Its uses by other nodes that are fusible dataflow, in program order."""
    dominator: "FusionNode | None" = None
    """The immediate post-dominator, the parent in the post-dominator tree."""
    depth: int = 1
    """The depth in the post-dominator tree."""
    path_kind: OpPatternKind = ELEMWISE
    """The highest kind on the paths to the dominator; opaque for extern nodes."""
    path_culprit: "FusionNode | None" = None
    """The first node on these paths that is entered by an edge of that kind."""
    refusal: Refusal | None = None
    """Why the node is not in the dominator's group; None if it is."""


class FusionEdge(NamedTuple):
    """A use of a node by another one of the same block."""

    consumer: FusionNode
    """The node that uses the value."""
    kind: OpPatternKind
    """How it uses the value."""


def is_operator(op: Operation) -> bool:
    """Whether `op` is what Relay knows as a call to an operator with a kernel of its own."""
    return (
        op.has_trait(HasPatternKind)
        and not isinstance(op, (*CORE_OPS, *REFERENCE_OPS))
        and not op.has_trait(NonComputational)
        and len(op.results) == 1
        and not op.regions
    )


def may_fuse(op: Operation) -> bool:
    """Whether `op` is an operator that can share a kernel, whatever its kind."""
    return is_operator(op) and not isinstance(op, StopFusionOp) and is_side_effect_free(op)


def forward_graph(block: Block, kinds: Kinds | None = None) -> list[FusionNode]:
    """
    The nodes of a block with their kinds, edges and extern uses (rules 1-11). `kinds` has the
    operators whose kind is another one than the one they state.

    Raises PassFailedException when one of these cannot be fused whatever its kind.
    """
    kinds = kinds or {}
    nodes: list[FusionNode] = []
    by_op: dict[Operation, FusionNode] = {}
    of_tensors: dict[SSAValue, bool] = {}
    for op in block.ops:
        if op in kinds:
            kind, opaque = _replaced_kind(op, kinds[op])
        else:
            opaque = _opaque_reason(op, of_tensors)
            kind = OPAQUE if opaque is not None else _kind(op)
        node = by_op[op] = FusionNode(op, len(nodes), kind, opaque)
        nodes.append(node)
        node.extern = next(
            (
                _extern_use(use.operation, "in another block")
                for result in op.results
                for use in result.uses
                if use.operation.parent is not block
            ),
            None,
        )
        for operand in op.operands:
            if isinstance(operand, OpResult) and operand.op in by_op:
                _add_use(by_op[operand.op], operand, node)
    return nodes


def _kind(op: Operation) -> OpPatternKind:
    # Rule 4: `_opaque_reason` has accepted the constant, so that it is a scalar.
    return ELEMWISE if isinstance(op, ConstantOp) else pattern_kind(op)


def _replaced_kind(op: Operation, kind: OpPatternKind) -> tuple[OpPatternKind, Refusal | None]:
    if not may_fuse(op):
        raise PassFailedException(
            f"{op.name} has no kind that can be another: it is no operator with a kernel and one "
            "result (rules 4 to 9)"
        )
    return kind, Refusal(6, f"{op.name} is taken as opaque") if kind is OPAQUE else None


def _opaque_reason(op: Operation, of_tensors: dict[SSAValue, bool]) -> Refusal | None:
    """Why `op` never fuses, with the rule that says so; None if it may fuse."""
    if isinstance(op, ConstantOp):
        if _is_simple_scalar(op.result.type):
            return None
        return Refusal(4, "of the constants only scalars of type i1, i32, i64, f32 and f64 fuse")
    if isinstance(op, TupleOp):
        return None
    if isinstance(op, TupleGetItemOp):
        # Every projection of a tuple asks, which may have thousands of fields.
        if op.tuple_value not in of_tensors:
            of_tensors[op.tuple_value] = _has_tensor_fields(op.tuple_value.type)
        if of_tensors[op.tuple_value]:
            return None
        return Refusal(9, "the tuple has fields that are not tensors")
    if isinstance(op, StopFusionOp):
        return Refusal(27, "relay.annotation.stop_fusion ends fusion")
    if op.has_trait(NonComputational):
        return Refusal(26, f"{op.name} has no kernel")
    if not is_operator(op):
        return Refusal(6, f"{op.name} is not an operator that can be fused")
    if pattern_kind(op) is OPAQUE:
        return Refusal(6, f"{op.name} is opaque")
    if op.has_trait(ShapeDataDependent) and is_dynamic(op.results[0].type):
        return Refusal(6, f"the result shape of {op.name} depends on data")
    if not is_side_effect_free(op):
        return Refusal(6, f"{op.name} has side effects, which keep their place")
    return None


def _is_simple_scalar(type_: TensorType[Attribute]) -> bool:
    return not type_.get_shape() and type_.element_type in (i1, i32, i64, f32, f64)


def _has_tensor_fields(type_: Attribute) -> bool:
    return isinstance(type_, TupleType) and all(
        isinstance(field_type, TensorType) for field_type in type_.types.data
    )


def _add_use(producer: FusionNode, value: SSAValue, consumer: FusionNode) -> None:
    """Notes that `consumer` uses `value`: as an edge, or as an extern use (rules 3, 6-9)."""
    op = consumer.op
    why = None
    kind = consumer.kind
    if isinstance(op, TupleOp):
        kind = INJECTIVE
        why = None if isinstance(value.type, TensorType) else "as a field that is no tensor"
    elif isinstance(op, TupleGetItemOp):
        why = None if kind is INJECTIVE else "and not all fields are tensors"
    elif op.has_trait(IsTerminator):
        why = "at the end of the block"
    elif isinstance(op, RefCreateOp | RefReadOp | RefWriteOp):
        why = "which may change or keep it"
    elif op.regions and not isinstance(op, CalledBodyOp):
        why = "which has regions"
    elif kind is BROADCAST and have_one_shape(value.type, op.results[0].type):
        kind = ELEMWISE
    if why is None:
        producer.edges.append(FusionEdge(consumer, kind))
    elif producer.extern is None:
        producer.extern = _extern_use(op, why)


def _extern_use(op: Operation, why: str) -> Refusal:
    return Refusal(3, f"the value is used by {op.name}, {why}", culprit=op)


def have_one_shape(one: Attribute, other: Attribute) -> bool:
    """Whether two types are those of tensors of the same shape."""
    return (
        is_tensor_type(one)
        and is_tensor_type(other)
        and same_shape(one.get_shape(), other.get_shape())
    )
