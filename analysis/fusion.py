"""
Which operators of a block become one kernel: Relay's operator fusion, as a decision only.

    x ──►┌─────────────────────────────────────────┐
    w ──►│ conv2d ──┬──► add ──► relu ──┐          │     a group: one root, at most one anchor;
    b ──►│ (anchor) │    (b)            ├──► add ──┼──►  what comes from outside is a parameter,
         │          └──► multiply ──────┘   (root) │     scalar constants are inside
         │               (0.5)                     │
         └─────────────────────────────────────────┘

Algorithm (the numbers are those of the rules that `Refusal.rule` names)
- Forward graph (1-11): a node per operation in program order, an edge per use inside the block.
  Every node has a kind. A value that something other than dataflow uses is *extern*.
- Post-dominators (12, 13): one sweep backwards. The dominator of a node is the lowest common
  ancestor of its users; the path kind is the highest kind on the way to it.
- Groups (14-19): union-find. A group keeps the root it ends in, the anchor (its one operator of
  kind out_ewise_fusable, if any) and the number of its nodes.
- Three sweeps in program order (20-25). A node is merged into its dominator together with all
  that lies between, if the kinds on the way allow it:
    sweep 0: complex operators take the elementwise ones after them, elementwise ones go forward;
    sweep 1: injective ones and tuples too;
    sweep 2: what feeds a tuple that has become interior.

Invariants
- Nothing is rewritten, and the answer depends on the block and the options only.
- Every group has one root, which post-dominates its members: only the root is used outside.
- A group has at most one anchor. Opaque nodes are alone in their groups.
- A node that is not in the group of its dominator says why (`FusionNode.refusal`).
- The work per node is bounded by `max_depth`: counting stops there, paths are no longer than it.
  The climb to a common ancestor is as long as the longest skip connection.
- Block arguments are opaque and never fuse, so that they need no nodes.

Source: Relay's FuseOps (TVM 0.10), except that operators with side effects, regions or several
results are opaque, and that calls of non-operators cover operations of other dialects.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, TupleType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.scopes import UNFUSED_FUNCTIONS, has_flag
from xrelay.dialects.annotation import StopFusionOp
from xrelay.dialects.core import (
    CORE_OPS,
    CalledBodyOp,
    ConstantOp,
    FusedOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    TupleGetItemOp,
    TupleOp,
)
from xrelay.dialects.shapes import is_dynamic
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


@dataclass(frozen=True)
class FusionOptions:
    """
    What a fusion plan depends on besides the block.

    Numbers out of range raise PassFailedException.
    """

    opt_level: int
    """At level 0 every operator is a function of its own; from level 1 on operators fuse."""
    max_depth: int = 256
    """The largest number of nodes in a group. Constants, tuples and projections count."""
    link_params: bool = False
    """Whether constants of all shapes move into the functions that use them."""

    def __post_init__(self) -> None:
        if self.opt_level < 0:
            raise PassFailedException(f"'opt-level' is {self.opt_level}, expected at least 0")
        if self.max_depth < 1:
            raise PassFailedException(f"'max-depth' is {self.max_depth}, expected at least 1")


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


@dataclass(eq=False, repr=False)
class FusionNode:
    """An operation of the block and what fusion knows about it."""

    op: Operation
    """The operation."""
    index: int
    """Its place in program order, which decides ties."""
    kind: OpPatternKind
    """Its own kind, before any merge."""
    opaque: Refusal | None
    """Why the node is opaque; None if it is not."""
    extern: Refusal | None = None
    """The use that is not fusible dataflow; None if there is none."""
    edges: list["FusionEdge"] = field(default_factory=list["FusionEdge"])
    """Its uses by other nodes, in program order."""
    dominator: "FusionNode | None" = None
    """The immediate post-dominator, the parent in the post-dominator tree."""
    depth: int = 1
    """The depth in the post-dominator tree."""
    path_kind: OpPatternKind = ELEMWISE
    """The highest kind on the paths to the dominator; opaque for extern nodes."""
    refusal: Refusal | None = None
    """Why the node is not in the dominator's group; None if it is."""


class FusionEdge(NamedTuple):
    """A use of a node by another one of the same block."""

    consumer: FusionNode
    """The node that uses the value."""
    kind: OpPatternKind
    """How it uses the value."""


@dataclass(frozen=True, eq=False)
class FusionGroup:
    """Operations that stay together."""

    members: tuple[Operation, ...]
    """The operations, in program order."""
    root: Operation
    """The operation whose result leaves the group: the last member."""
    anchor: Operation | None
    """The operation of kind out_ewise_fusable that decides how the group is computed, if any."""
    kind: OpPatternKind
    """The kind of the group as a whole."""
    fused: bool
    """Whether the group becomes a `relay.fused`. Otherwise it is one operation that stays."""


class Attempt(NamedTuple):
    """What a sweep makes of a node and its post-dominator, which are in different groups."""

    sweep: int
    """The number of the sweep."""
    node: FusionNode
    """The node that may merge forward."""
    between: tuple[FusionNode, ...]
    """The nodes that merge with it: those on the paths to its dominator. None without a merge."""
    merged: bool
    """Whether node and dominator are in one group from now on."""
    refusal: Refusal | None
    """Why not; None after a merge, and when another sweep decides."""


class Boundary(NamedTuple):
    """A value that goes from one group to another."""

    producer: Operation
    """The operation that computes the value."""
    consumer: Operation
    """The operation that uses it."""
    refusal: Refusal
    """Why the producer is not in the consumer's group."""


@dataclass(frozen=True, eq=False)
class FusionPlan:
    """The groups of one block, with the facts that led to them."""

    block: Block
    """The block."""
    options: FusionOptions
    """The options."""
    nodes: dict[Operation, FusionNode]
    """The node of each operation of the block, in program order."""
    groups: tuple[FusionGroup, ...]
    """All groups, in the program order of their roots."""
    group_of: dict[Operation, FusionGroup]
    """The group of each operation of the block."""
    attempts: tuple[Attempt, ...]
    """What the sweeps did, in order."""

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """All uses between groups, by producer, then consumer, in program order."""
        result: list[Boundary] = []
        for op, node in self.nodes.items():
            consumers = dict.fromkeys(edge.consumer.op for edge in node.edges)
            for consumer in consumers:
                if self.group_of[op] is not self.group_of[consumer]:
                    assert node.refusal is not None
                    result.append(Boundary(op, consumer, node.refusal))
        return tuple(result)


def plan_fusion(block: Block, options: FusionOptions) -> FusionPlan:
    """
    Decides which operations of `block` fuse. Nested blocks are graphs of their own.

    Rewrites nothing. Source: Relay's FuseOps, rules A to D.
    """
    nodes = forward_graph(block)
    find_post_dominators(nodes)
    partition = _Partition(nodes, options)
    partition.sweep()
    groups, group_of = partition.groups()
    by_op = {node.op: node for node in nodes}
    return FusionPlan(block, options, by_op, groups, group_of, tuple(partition.attempts))


def fusion_blocks(op: Operation) -> Iterator[Block]:
    """
    The blocks in `op` that fusion plans, each on its own, outer ones first. Left out are
    `relay.fused` and functions with one of the UNFUSED_FUNCTIONS attributes.
    """
    pending = [op]
    while pending:
        op = pending.pop()
        if isinstance(op, FusedOp):
            continue
        if isinstance(op, func.FuncOp) and has_flag(op, UNFUSED_FUNCTIONS):
            continue
        nested: list[Operation] = []
        for region in op.regions:
            for block in region.blocks:
                yield block
                nested.extend(child for child in block.ops if child.regions)
        pending.extend(reversed(nested))


def is_operator(op: Operation) -> bool:
    """Whether `op` is what Relay knows as a call to an operator with a kernel of its own."""
    return (
        op.has_trait(HasPatternKind)
        and not isinstance(op, CORE_OPS)
        and not op.has_trait(NonComputational)
        and len(op.results) == 1
        and not op.regions
    )


# A. The forward graph


def forward_graph(block: Block) -> list[FusionNode]:
    """The nodes of a block with their kinds, edges and extern uses (rules 1-11)."""
    nodes: list[FusionNode] = []
    by_op: dict[Operation, FusionNode] = {}
    for op in block.ops:
        opaque = _opaque_reason(op)
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


def _opaque_reason(op: Operation) -> Refusal | None:
    """Why `op` never fuses, with the rule that says so; None if it may fuse."""
    if isinstance(op, ConstantOp):
        if _is_simple_scalar(op.result.type):
            return None
        return Refusal(4, "of the constants only scalars of type i1, i32, i64, f32 and f64 fuse")
    if isinstance(op, TupleOp):
        return None
    if isinstance(op, TupleGetItemOp):
        if _has_tensor_fields(op.tuple_value.type):
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
    elif kind is BROADCAST and _same_shape(value.type, op.results[0].type):
        kind = ELEMWISE
    if why is None:
        producer.edges.append(FusionEdge(consumer, kind))
    elif producer.extern is None:
        producer.extern = _extern_use(op, why)


def _extern_use(op: Operation, why: str) -> Refusal:
    return Refusal(3, f"the value is used by {op.name}, {why}", culprit=op)


def _same_shape(operand: Attribute, result: Attribute) -> bool:
    return (
        isinstance(operand, TensorType)
        and isinstance(result, TensorType)
        and operand.get_shape() == result.get_shape()
    )


# B. Post-dominators


def find_post_dominators(nodes: Sequence[FusionNode]) -> None:
    """Sets `dominator`, `depth` and `path_kind` of every node (rules 12, 13)."""
    for node in reversed(nodes):
        if node.extern is not None:
            node.path_kind = OPAQUE
            continue
        if not node.edges:
            continue
        dominator: FusionNode | None = node.edges[0].consumer
        path_kind = ELEMWISE
        for consumer, kind in node.edges:
            dominator, climbed = _common_ancestor(dominator, consumer)
            path_kind = max(path_kind, kind, climbed)
        node.dominator = dominator
        node.path_kind = path_kind
        node.depth = 1 if dominator is None else dominator.depth + 1


def _common_ancestor(
    lhs: FusionNode | None, rhs: FusionNode | None
) -> tuple[FusionNode | None, OpPatternKind]:
    """The lowest common ancestor in the tree, and the highest kind of the steps up to it."""
    kind = ELEMWISE
    while lhs is not rhs:
        if lhs is None or rhs is None:
            return None, kind
        up_left, up_right = lhs.depth >= rhs.depth, rhs.depth >= lhs.depth
        if up_left:
            kind = max(kind, lhs.path_kind)
            lhs = lhs.dominator
        if up_right:
            kind = max(kind, rhs.path_kind)
            rhs = rhs.dominator
    return lhs, kind


# C. Groups, and D. the three sweeps


class _Partition:
    """
    The union-find over nodes. Each node keeps a *record* (kind, count, anchor). The record of a
    group's root describes the group; those of the others stay as they were when they merged.
    """

    def __init__(self, nodes: Sequence[FusionNode], options: FusionOptions):
        self.nodes = nodes
        self.options = options
        self.parents = list(range(len(nodes)))
        self.kinds = [node.kind for node in nodes]
        self.counts = [1] * len(nodes)
        self.anchors = [node if node.kind is OUT_EWISE_FUSABLE else None for node in nodes]
        self.attempts: list[Attempt] = []

    def root(self, node: FusionNode) -> int:
        """The index of the root of the node's group."""
        parents, index = self.parents, node.index
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]
        return index

    def merge(self, child: FusionNode, sink: FusionNode) -> None:
        """Rule 16: the group of `child` joins that of `sink`, which keeps its root."""
        lower, upper = self.root(child), self.root(sink)
        if lower == upper:
            return
        self.counts[upper] += self.counts[lower]
        self.parents[lower] = upper
        if self.anchors[lower] is not None:
            assert self.anchors[upper] is None, "a group has one anchor"
            self.anchors[upper] = self.anchors[lower]
            self.kinds[upper] = max(self.kinds[lower], self.kinds[upper])

    def sweep(self) -> None:
        """Rules 20-25 on all nodes, and `refusal` of those that stay out."""
        candidates: list[FusionNode] = []
        for node in self.nodes:
            node.refusal = self.standing_refusal(node)
            if node.refusal is None:
                candidates.append(node)
        for number in range(3):
            for node in candidates:
                assert node.dominator is not None
                if self.root(node) != self.root(node.dominator):
                    refusal = self.attempt(node, node.dominator, number)
                    node.refusal = node.refusal or refusal
        for node in candidates:
            if node.dominator is not None and self.root(node) == self.root(node.dominator):
                node.refusal = None

    def standing_refusal(self, node: FusionNode) -> Refusal | None:
        """The reasons that hold before the first sweep."""
        if node.opaque is not None:
            return node.opaque
        if self.options.opt_level == 0:
            return Refusal(15, "nothing fuses at level 0")
        if node.extern is not None:
            return node.extern
        if not node.edges:
            return Refusal(12, "the value is not used")
        if node.dominator is None:
            return Refusal(13, "the users come together nowhere")
        return None

    def attempt(self, node: FusionNode, sink: FusionNode, sweep: int) -> Refusal | None:
        """
        Rule 19: merges `node`, and all between, into its dominator `sink` if this sweep may.
        Returns the refusal, if the rule that has to decide about the node is of this sweep.
        """
        between = self.between(node, sink)
        decision = self.consider(node, sink, between, sweep)
        merged: tuple[FusionNode, ...] = ()
        if decision == "merge":
            assert between is not None
            merged = tuple(between)
            for member in (node, *merged):
                self.merge(member, sink)
        refusal = decision if isinstance(decision, Refusal) else None
        self.attempts.append(Attempt(sweep, node, merged, decision == "merge", refusal))
        return refusal

    def consider(
        self, node: FusionNode, sink: FusionNode, between: Sequence[FusionNode] | None, sweep: int
    ) -> "_Decision":
        """Rules 17 and 24, then those of the sweep."""
        if self.kinds[node.index] is COMM_REDUCE:
            return Refusal(24, "nothing fuses after a reduction", sweep, node.op)
        if between is None:
            limit = self.options.max_depth
            sentence = f"the group of {sink.op.name} would have more than {limit} nodes"
            return Refusal(17, sentence, sweep, sink.op)
        return self.decide(node, sink, between, sweep)

    def decide(
        self, node: FusionNode, sink: FusionNode, between: Sequence[FusionNode], sweep: int
    ) -> "_Decision":
        """Rules 20-23 and 25, by the record of the node itself."""
        own, path = self.kinds[node.index], (node, sink, between)
        if self.kinds[sink.index] is TUPLE:
            if own > INJECTIVE:
                sentence = f"{sink.op.name} takes only what is injective or simpler"
                return Refusal(20, sentence, sweep, sink.op)
            if sweep < 2:
                return "later"
            return self.check_kinds(25, path, sweep, _up_to_injective)
        if sweep == 2:
            return "later"
        if own is OUT_EWISE_FUSABLE:
            if sweep == 1:
                return "later"
            if node.path_kind is not ELEMWISE:
                return self.refuse_path(21, path, sweep)
            return self.check_kinds(21, path, sweep, _up_to_broadcast)
        if own <= BROADCAST:
            if node.path_kind > COMM_REDUCE:
                return self.refuse_path(22, path, sweep)
            return self.check_kinds(22, path, sweep, _injective_then_complex)
        return "later" if sweep == 0 else self.check_kinds(23, path, sweep, _up_to_injective)

    def between(self, node: FusionNode, sink: FusionNode) -> list[FusionNode] | None:
        """
        The nodes on the paths from `node` to its dominator, both excluded, in program order.
        None when the merged group would be too large (rule 17).
        """
        room = self.options.max_depth - self.counts[self.root(sink)] - self.counts[node.index]
        inner: list[FusionNode] = []
        seen = {node.index, sink.index}
        pending = [node]
        while pending and room >= 0:
            for consumer, _ in pending.pop().edges:
                if consumer.index not in seen:
                    seen.add(consumer.index)
                    inner.append(consumer)
                    pending.append(consumer)
                    room -= self.counts[consumer.index]
                    if room < 0:
                        break
        return sorted(inner, key=lambda inner_node: inner_node.index) if room >= 0 else None

    def check_kinds(self, rule: int, path: "_Path", sweep: int, accepts: "_Accepts") -> "_Decision":
        """Rule 18: whether the groups on the way, and that of the sink, have accepted kinds."""
        _, sink, between = path
        for node in (*between, sink):
            kind = self.kinds[self.root(node)]
            if not accepts(kind, node is sink):
                way = "" if node is sink else f" on the way to {sink.op.name}"
                sentence = f"{node.op.name}{way} is in a group of kind {kind.label}"
                return Refusal(rule, sentence, sweep, node.op)
        return "merge"

    def refuse_path(self, rule: int, path: "_Path", sweep: int) -> Refusal:
        """The refusal because of the kind of the path, naming the first edge of that kind."""
        node, sink, between = path
        culprit = next(
            edge.consumer.op
            for source in (node, *between)
            for edge in source.edges
            if edge.kind is node.path_kind
        )
        cause = "" if culprit is sink.op else f" because of {culprit.name}"
        sentence = f"the path to {sink.op.name} is {node.path_kind.label}{cause}"
        return Refusal(rule, sentence, sweep, culprit)

    def groups(self) -> tuple[tuple[FusionGroup, ...], dict[Operation, FusionGroup]]:
        """All groups by program order of their roots, and the group of each operation."""
        members: list[list[Operation]] = [[] for _ in self.nodes]
        for node in self.nodes:
            members[self.root(node)].append(node.op)
        groups: list[FusionGroup] = []
        for node, ops in zip(self.nodes, members, strict=True):
            if ops:
                anchor = self.anchors[node.index]
                groups.append(
                    FusionGroup(
                        tuple(ops),
                        node.op,
                        None if anchor is None else anchor.op,
                        self.kinds[node.index],
                        _becomes_function(node.op, len(ops)),
                    )
                )
        return tuple(groups), {op: group for group in groups for op in group.members}


_Decision: TypeAlias = "Refusal | Literal['merge', 'later']"
_Path: TypeAlias = tuple[FusionNode, FusionNode, Sequence[FusionNode]]
_Accepts: TypeAlias = Callable[[OpPatternKind, bool], bool]


def _up_to_broadcast(kind: OpPatternKind, is_sink: bool) -> bool:
    return kind <= BROADCAST


def _up_to_injective(kind: OpPatternKind, is_sink: bool) -> bool:
    return kind <= INJECTIVE


def _injective_then_complex(kind: OpPatternKind, is_sink: bool) -> bool:
    return kind <= INJECTIVE or (is_sink and kind <= OUT_EWISE_FUSABLE)


def _becomes_function(root: Operation, size: int) -> bool:
    """
    Whether a group of `size` operations becomes a `relay.fused` (rules 26, 27, 30-32). A
    projection does when its tuple is in the group, and then the group has more than one member.
    """
    if isinstance(root, TupleGetItemOp):
        return size > 1
    return is_operator(root) and not isinstance(root, StopFusionOp)
