"""
Which operators of a block become one kernel: Relay's operator fusion, as a decision only.

    x ──►┌─────────────────────────────────────────┐
    w ──►│ conv2d ──┬──► add ──► relu ──┐          │     a group: one root, at most one anchor;
    b ──►│ (anchor) │    (b)            ├──► add ──┼──►  what comes from outside is a parameter,
         │          └──► multiply ──────┘   (root) │     scalar constants are inside
         │               (0.5)                     │
         └─────────────────────────────────────────┘

Algorithm (the numbers are those of the rules that `Refusal.rule` names, see docs/fusion.md)
- Forward graph (1-11, `graph`): a node per operation in program order, an edge per use.
- Post-dominators (12, 13, `post_dominators`): one sweep backwards. The dominator of a node is the
  lowest common ancestor of its users; the path kind is the highest kind on the way to it.
- Groups (14-25, `groups`): union-find in three sweeps in program order.
- Only when asked for: rules beyond Relay's (37-42, `extended`), in one more sweep backwards; 43
  gives operators a kind before all others; 44 (`narrow_ends`) lets some groups end earlier.

Nothing is rewritten, and the answer depends on the block and the options only.

Source: Relay's FuseOps (TVM 0.10), except that operators with side effects, regions or several
results are opaque, and that calls of non-operators cover operations of other dialects.
"""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from xrelay.analysis.facts.scopes import UNFUSED_FUNCTIONS, has_flag
from xrelay.analysis.facts.walking import blocks_in
from xrelay.analysis.fusion.extended import Extension, Join
from xrelay.analysis.fusion.graph import (
    FusionNode,
    Kinds,
    Refusal,
    forward_graph,
    is_operator,
    may_fuse,
)
from xrelay.analysis.fusion.groups import RULE_SETS, Attempt, FusionOptions, Partition
from xrelay.analysis.fusion.narrow_ends import narrowed
from xrelay.analysis.fusion.post_dominators import find_post_dominators
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.functional import ClosureOp
from xrelay.dialects.core.values import FusedOp, TupleGetItemOp
from xrelay.dialects.nn.norm import StandardizingOp
from xrelay.dialects.traits import OpPatternKind


@dataclass(frozen=True, eq=False, repr=False)
class FusionGroup:
    """Operations that stay together."""

    members: tuple[Operation, ...]
    """The operations, in program order."""
    root: Operation
    """The last member, at whose place the group is computed. Its result leaves the group."""
    anchor: Operation | None
    """The operation of kind out_ewise_fusable that decides how the group is computed, if any."""
    kind: OpPatternKind
    """The kind of the group as a whole."""
    fused: bool
    """Whether the group becomes a `relay.fused`. Otherwise it is one operation that stays."""
    outputs: tuple[Operation, ...]
    """
    The members whose results leave the group, in program order: the root, and perhaps others. None
    when the group is an operation that only other groups compute, by their `copies`.
    """
    copies: tuple[Operation, ...] = ()
    """Operations of other groups that this one computes again (rule 41), in program order."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(op.name for op in self.members)}>"


class Boundary(NamedTuple):
    """A value that goes from one group to another."""

    producer: Operation
    """The operation that computes the value."""
    consumer: Operation
    """The operation that uses it."""
    refusal: Refusal
    """Why the producer is not in the consumer's group."""

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.producer.name} -> {self.consumer.name}: {self.refusal}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class FusionPlan:
    """The groups of one block, with the facts that led to them."""

    block: Block
    options: FusionOptions
    nodes: dict[Operation, FusionNode]
    """The node of each operation of the block, in program order."""
    groups: tuple[FusionGroup, ...]
    """All groups, in the program order of their roots."""
    group_of: dict[Operation, FusionGroup]
    """The group of each operation of the block."""
    attempts: tuple[Attempt, ...] = ()
    """What the sweeps did, in order; none in a plan that somebody else made."""
    joins: tuple[Join, ...] = ()
    """What the rules beyond Relay's did then, in order."""

    def __repr__(self) -> str:
        fused = sum(group.fused for group in self.groups)
        return f"<{type(self).__name__} of {len(self.nodes)} operations with {fused} fused groups>"

    @cached_property
    def holders(self) -> dict[Operation, dict[FusionGroup, None]]:
        """The groups that compute each operation that is copied."""
        holders: dict[Operation, dict[FusionGroup, None]] = {}
        for group in self.groups:
            for op in group.copies:
                holders.setdefault(op, {})[group] = None
        for op, groups in holders.items():
            if self.group_of[op].outputs:
                groups[self.group_of[op]] = None
        return holders

    def homes(self, op: Operation) -> Collection[FusionGroup]:
        """The groups that compute an operation: one, or several where it is copied."""
        return self.holders.get(op) or (self.group_of[op],)

    def computed(self, group: FusionGroup) -> tuple[Operation, ...]:
        """What a group computes, its copies included, in program order."""
        if not group.copies:
            return group.members
        ops = (*group.members, *group.copies)
        return tuple(sorted(ops, key=lambda op: self.nodes[op].index))

    def _is_border(self, producer: Operation, consumer: Operation) -> bool:
        """Whether a value of `producer` enters a group of `consumer` from outside."""
        own = self.homes(producer)
        return any(group not in own for group in self.homes(consumer))

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """All uses between groups, by producer, then consumer, in program order."""
        result: list[Boundary] = []
        for op, node in self.nodes.items():
            consumers = dict.fromkeys(edge.consumer.op for edge in node.edges)
            for consumer in consumers:
                if self._is_border(op, consumer):
                    assert node.refusal is not None
                    result.append(Boundary(op, consumer, node.refusal))
        return tuple(result)

    def why_not_fused(
        self, producer: Operation | SSAValue, consumer: Operation | SSAValue
    ) -> Boundary | None:
        """
        What keeps two operations apart: the first border on a shortest way from `producer` to
        `consumer`, None when they are in one group. Where no value goes from one to the other there
        is no border to name: the refusal is rule 19's then.

        ValueError when one of them is not in this block, or a block argument (rule 5), which no
        operation computes.
        """
        first, last = self._operation(producer), self._operation(consumer)
        if any(group in self.homes(last) for group in self.homes(first)):
            return None
        way = self._way(first, last)
        for source, target in pairwise(way):
            if self._is_border(source, target):
                refusal = self.nodes[source].refusal
                assert refusal is not None, "what is not fused says why"
                return Boundary(source, target, refusal)
        sentence = f"no value goes from {first.name} to {last.name}, and groups grow along uses"
        if 42 in RULE_SETS[self.options.rules]:
            sentence += ", or between the nearest siblings that limits allow (rule 42)"
        return Boundary(first, last, Refusal(19, sentence))

    def _operation(self, value: Operation | SSAValue) -> Operation:
        op = value if isinstance(value, Operation) else value.owner
        if isinstance(op, Operation) and op in self.nodes:
            return op
        name = op.name if isinstance(op, Operation) else "a block argument"
        raise ValueError(f"expected an operation of the block of the plan, found {name}")

    def _way(self, first: Operation, last: Operation) -> list[Operation]:
        """A shortest way along uses, ends included; empty when there is none."""
        came_from: dict[Operation, Operation] = {first: first}
        pending = deque([first])
        while pending and last not in came_from:
            op = pending.popleft()
            for use in (use.operation for result in op.results for use in result.uses):
                if use not in came_from and use in self.nodes:
                    came_from[use] = op
                    pending.append(use)
        if last not in came_from:
            return []
        way = [last]
        while way[-1] is not first:
            way.append(came_from[way[-1]])
        return way[::-1]


def plan(function: func.FuncOp, options: FusionOptions | None = None) -> FusionPlan:
    """
    Decides which operations of a function fuse: `plan_fusion` of its body.

    ValueError when the function has no body, or one of several blocks.
    """
    return plan_fusion(function.body.block, options or FusionOptions())


def plan_fusion(block: Block, options: FusionOptions, kinds: Kinds | None = None) -> FusionPlan:
    """
    Decides which operations of `block` fuse. Nested blocks are graphs of their own. `kinds` has
    the operators of which to suppose that they have another kind than they state.

    Rewrites nothing. Raises PassFailedException when an operator in `kinds` has no kind to change.
    Source: Relay's FuseOps, rules A to D.
    """
    rules = RULE_SETS[options.rules]
    if 43 in rules:
        kinds = {**_normalisations(block), **(kinds or {})}
    nodes = forward_graph(block, kinds)
    find_post_dominators(nodes)
    partition = Partition(nodes, options)
    partition.sweep()
    if 44 in rules:
        partition = narrowed(partition)
    extension = None
    if rules and options.opt_level:
        extension = Extension(partition, rules)
        extension.run()
    groups = _groups(nodes, partition, extension)
    group_of = {op: group for group in groups for op in group.members}
    by_op = {node.op: node for node in nodes}
    joins = () if extension is None else tuple(extension.joins)
    return FusionPlan(block, options, by_op, groups, group_of, tuple(partition.attempts), joins)


def _normalisations(block: Block) -> Kinds:
    """Rule 43: the operators that Relay knows no kind of, but which hand on elements one by one."""
    return {
        op: OpPatternKind.OUT_EWISE_FUSABLE
        for op in block.ops
        if isinstance(op, StandardizingOp) and may_fuse(op)
    }


def fusion_blocks(op: Operation) -> Iterator[Block]:
    """
    The blocks in `op` that fusion plans, each on its own, outer ones first. Left out are
    `relay.fused` and functions, also as values, with one of the UNFUSED_FUNCTIONS attributes.
    """
    pending = [op]
    while pending:
        op = pending.pop()
        if isinstance(op, FusedOp):
            continue
        if isinstance(op, func.FuncOp | ClosureOp) and has_flag(op, UNFUSED_FUNCTIONS):
            continue
        nested: list[Operation] = []
        for block in blocks_in(op):
            yield block
            nested.extend(child for child in block.ops if child.regions)
        pending.extend(reversed(nested))


def _groups(
    nodes: list[FusionNode], partition: Partition, extension: Extension | None
) -> tuple[FusionGroup, ...]:
    """All groups by program order of their roots."""
    members: list[list[FusionNode]] = [[] for _ in nodes]
    for node in nodes:
        members[partition.root(node.index)].append(node)
    outputs: dict[int, list[int]] = {}
    copies: dict[int, list[FusionNode]] = {}
    gone: set[int] = set()
    if extension is not None:
        outputs, gone, copies = extension.inner_outputs, extension.gone, extension.copies()
    groups: list[FusionGroup] = []
    for root in nodes:
        own = members[root.index]
        if own:
            index = root.index
            anchor = partition.anchors[index]
            groups.append(
                FusionGroup(
                    tuple(node.op for node in own),
                    root.op,
                    None if anchor is None else anchor.op,
                    partition.kinds[index],
                    index not in gone and becomes_function(root.op, len(own)),
                    tuple(nodes[each].op for each in [*sorted(outputs.get(index, ())), index])
                    if index not in gone
                    else (),
                    tuple(node.op for node in copies.get(index, ())),
                )
            )
    return tuple(groups)


def becomes_function(root: Operation, size: int) -> bool:
    """
    Whether a group of `size` operations becomes a `relay.fused` (rules 26, 27, 30-32). A
    projection does when its tuple is in the group, and then the group has more than one member.
    """
    if isinstance(root, TupleGetItemOp):
        return size > 1
    return is_operator(root) and not isinstance(root, StopFusionOp)
