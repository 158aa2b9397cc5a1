"""
Which nodes of a forward graph stay together: union-find in three sweeps (rules 14-25).

- A group keeps the root it ends in, the anchor (its one operator of kind out_ewise_fusable, if any)
  and the number of its nodes.
- A node is merged into its post-dominator together with all that lies between, if the kinds on the
  way allow it:
    sweep 0: complex operators take the elementwise ones after them, elementwise ones go forward;
    sweep 1: injective ones and tuples too;
    sweep 2: what feeds a tuple that has become interior.

Invariants
- Every group has one root, which post-dominates its members: only the root is used outside.
- A group has at most one anchor. Opaque nodes are alone in their groups.
- A node that is not in the group of its dominator says why (`FusionNode.refusal`).
- Kinds of paths are compared before anything is counted, and nodes are counted only where the
  longest way is short enough: a refusal costs little, and what a merge visits stays merged. A node
  looks at `max_depth` others at most.
- A refusal is final, unless a tuple caused it: kinds and sizes of groups only grow.
- What is stated to be an end is the last of its group: nothing merges across it.

Source: Relay's FuseOps (TVM 0.10), GraphPartitioner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xrelay.analysis.facts.suggestions import PassOptionError, require_at_least, unknown_choice
from xrelay.analysis.fusion.arguments import Arguments
from xrelay.analysis.fusion.graph import (
    BROADCAST,
    COMM_REDUCE,
    ELEMWISE,
    INJECTIVE,
    OUT_EWISE_FUSABLE,
    TUPLE,
    FusionNode,
    Refusal,
)
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.traits import OpPatternKind

SWEEPS = 3
"""The number of sweeps over all nodes."""
RULE_SETS: dict[str, frozenset[int]] = {
    "relay": frozenset(),
    "cpu": frozenset((40, 41, 42, 43, 44)),
    "extended": frozenset((38, 39, 40, 41, 42, 43, 44)),
}
"""
The sets of rules by which operators fuse: Relay's, which are in all of them, and the rules beyond
them that each adds. `cpu` are those that make programs on the CPU faster.
"""


@dataclass(frozen=True)
class FusionOptions:
    """
    What a fusion plan depends on besides the block.

    Values out of range raise PassOptionError.
    """

    opt_level: int = 2
    """At level 0 every operator is a function of its own; from level 1 on operators fuse."""
    max_depth: int = 256
    """The largest number of nodes in a group. Constants, tuples and projections count."""
    link_params: bool = False
    """Whether constants of all shapes move into the functions that use them."""
    max_function_args: int = 0
    """The largest number of parameters and results of a function that is fused; 0 for no limit."""
    rules: str = "relay"
    """One of RULE_SETS."""

    def __post_init__(self) -> None:
        require_at_least(0, opt_level=self.opt_level, max_function_args=self.max_function_args)
        require_at_least(1, max_depth=self.max_depth)
        if self.rules not in RULE_SETS:
            raise PassOptionError(unknown_choice("rules", self.rules, RULE_SETS))


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


class Partition:
    """
    The union-find over nodes. Each node keeps a *record* (kind, count, anchor). The record of a
    group's root describes the group; those of the others stay as they were when they merged.
    """

    def __init__(
        self,
        nodes: Sequence[FusionNode],
        options: FusionOptions,
        ends: Mapping[int, Refusal] | None = None,
    ):
        self.nodes = nodes
        self.options = options
        self.ends = ends or {}
        """The nodes with which groups end, and why."""
        self.parents = list(range(len(nodes)))
        self.kinds = [node.kind for node in nodes]
        self.counts = [1] * len(nodes)
        self.anchors = [node if node.kind is OUT_EWISE_FUSABLE else None for node in nodes]
        self.attempts: list[Attempt] = []
        """What the sweeps did, in order."""
        self.arguments: Arguments | None = None
        """What the groups take from outside, where that decides something."""
        if options.max_function_args or RULE_SETS[options.rules]:
            self.arguments = Arguments(nodes, options.link_params, self.root)
        self.consumers = [
            tuple(dict.fromkeys(edge.consumer.index for edge in node.edges)) for node in nodes
        ]
        self.lengths = self.path_lengths()
        """A lower bound of the number of nodes between each node and its dominator."""

    def path_lengths(self) -> list[int]:
        """The length of the longest chain of post-dominators from a user to the dominator."""
        lengths = [0] * len(self.nodes)
        heights = [0] * len(self.nodes)
        for node in reversed(self.nodes):
            if node.dominator is not None:
                base = heights[node.dominator.index]
                length = max(heights[consumer] for consumer in self.consumers[node.index]) - base
                lengths[node.index] = length
                heights[node.index] = base + 1 + length
        return lengths

    def root(self, index: int) -> int:
        """The index of the root of a node's group."""
        parents = self.parents
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]
        return index

    def merge(self, child: int, sink: int) -> None:
        """Rule 16: the group of `child` joins that of `sink`, which keeps its root."""
        lower, upper = self.root(child), self.root(sink)
        if lower == upper:
            return
        if self.arguments is not None:
            self.arguments.merge(lower, upper)
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
        undecided = candidates
        for number in range(SWEEPS):
            undecided = [node for node in undecided if self.attempt(node, number)]
        for node in candidates:
            if self.is_merged(node):
                node.refusal = None

    def is_merged(self, node: FusionNode) -> bool:
        """Whether a node is in the group of its dominator."""
        dominator = node.dominator
        return dominator is not None and self.root(node.index) == self.root(dominator.index)

    def standing_refusal(self, node: FusionNode) -> Refusal | None:
        """The reasons that hold before the first sweep."""
        if node.opaque is not None:
            return node.opaque
        if self.options.opt_level == 0:
            return Refusal(15, "nothing fuses at level 0")
        if node.extern is not None:
            return node.extern
        if node.index in self.ends:
            return self.ends[node.index]
        if not node.edges:
            return Refusal(12, "the value is not used")
        if node.dominator is None:
            return Refusal(13, "the users come together nowhere")
        return None

    def attempt(self, node: FusionNode, sweep: int) -> bool:
        """
        Rule 19: merges `node`, and all between, into its dominator if this sweep may. Notes the
        first refusal. Returns whether a later sweep may decide otherwise.
        """
        sink = node.dominator
        assert sink is not None
        if self.root(node.index) == self.root(sink.index):
            return False
        test = self.test_of(node, sink, sweep)
        if test is None:
            self.attempts.append(Attempt(sweep, node, (), False, None))
            return True
        outcome = test if isinstance(test, Refusal) else self.merge_if(node, sink, sweep, test)
        if not isinstance(outcome, Refusal):
            between = tuple(self.nodes[index] for index in outcome)
            self.attempts.append(Attempt(sweep, node, between, True, None))
            return False
        self.attempts.append(Attempt(sweep, node, (), False, outcome))
        node.refusal = node.refusal or outcome
        return isinstance(test, Test) and isinstance(outcome.culprit, TupleOp)

    def merge_if(
        self, node: FusionNode, sink: FusionNode, sweep: int, test: "Test"
    ) -> Refusal | list[int]:
        """
        Merges `node` and all between, which are returned, into `sink` if rules 17, 18 and 36 accept
        that.
        """
        between = self.between(node, sink)
        if between is None:
            limit = self.options.max_depth
            sentence = f"the group of {sink.op.name} would have more than {limit} nodes"
            return Refusal(17, sentence, sweep, sink.op)
        for index in between:
            if index in self.ends:
                return self.ends[index]
        for index in (*between, sink.index):
            kind = self.kinds[self.root(index)]
            if kind > (test.end if index == sink.index else test.way):
                culprit = self.nodes[index]
                way = "" if culprit is sink else f" on the way to {sink.op.name}"
                sentence = f"{culprit.op.name}{way} is in a group of kind {kind.label}"
                return Refusal(test.rule, sentence, sweep, culprit.op)
        joining = [*reversed(between), node.index]
        upper = self.root(sink.index)
        parts = [part for part in dict.fromkeys(map(self.root, joining)) if part != upper]
        excess = self.excess(parts, upper, sweep)
        if excess is not None:
            return excess
        for index in joining:
            self.merge(index, sink.index)
        return between

    def excess(
        self, parts: Sequence[int], sink: int, sweep: int, returned: int = 0
    ) -> Refusal | None:
        """
        Rule 36: the refusal when the group `sink` with the groups `parts` in it has too many
        arguments; `returned` is what it returns then besides its own result.
        """
        limit = self.options.max_function_args
        if not limit or self.arguments is None:
            return None
        count = self.arguments.after_merge(parts, sink, returned=returned)
        if count <= limit:
            return None
        root = self.nodes[sink].op
        sentence = f"the function of {root.name} would have {count} arguments, more than {limit}"
        return Refusal(36, sentence, sweep, root)

    def test_of(self, node: FusionNode, sink: FusionNode, sweep: int) -> "Test | Refusal | None":
        """
        The test that decides in this sweep, by the record of the node itself (rules 20-25); a
        refusal if that is clear already, None if another sweep decides.
        """
        own = self.kinds[node.index]
        if own is COMM_REDUCE:
            return Refusal(24, "nothing fuses after a reduction", sweep, node.op)
        if self.kinds[sink.index] is TUPLE:
            if own > INJECTIVE:
                sentence = f"{sink.op.name} takes only what is injective or simpler"
                return Refusal(20, sentence, sweep, sink.op)
            return Test(25, INJECTIVE, INJECTIVE) if sweep == 2 else None
        if sweep == 2:
            return None
        if own is OUT_EWISE_FUSABLE:
            if node.path_kind is not ELEMWISE:
                return refused_path(21, node, sink, sweep)
            return Test(21, BROADCAST, BROADCAST) if sweep == 0 else None
        if own <= BROADCAST:
            if node.path_kind > COMM_REDUCE:
                return refused_path(22, node, sink, sweep)
            return Test(22, INJECTIVE, OUT_EWISE_FUSABLE)
        return Test(23, INJECTIVE, INJECTIVE) if sweep == 1 else None

    def between(self, node: FusionNode, sink: FusionNode) -> list[int] | None:
        """
        The nodes on the paths from `node` to its dominator, both excluded, in program order.
        None when the merged group would be too large (rule 17).
        """
        counts, consumers = self.counts, self.consumers
        room = self.options.max_depth - counts[self.root(sink.index)] - counts[node.index]
        if self.lengths[node.index] > room:
            return None
        seen = {node.index, sink.index}
        inner: list[int] = []
        pending = [node.index]
        while pending and room >= 0:
            for consumer in consumers[pending.pop()]:
                if consumer not in seen:
                    seen.add(consumer)
                    inner.append(consumer)
                    pending.append(consumer)
                    room -= counts[consumer]
        if room < 0:
            return None
        inner.sort()
        return inner


def refused_path(rule: int, node: FusionNode, sink: FusionNode, sweep: int) -> Refusal:
    """The refusal because of the kind of the path, naming what is entered by that kind."""
    culprit = node.path_culprit
    assert culprit is not None
    cause = "" if culprit is sink else f" because of {culprit.op.name}"
    sentence = f"the path to {sink.op.name} is {node.path_kind.label}{cause}"
    return Refusal(rule, sentence, sweep, culprit.op)


class Test(NamedTuple):
    """What rule 18 asks of the groups on the way."""

    rule: int
    """The rule that applies."""
    way: OpPatternKind
    """The highest kind that may stand on the way."""
    end: OpPatternKind
    """The highest kind that may stand at its end."""
