"""
Fusion beyond Relay's rules: how the groups that three sweeps made grow further (rules 37-42).

    %m = max %x ───────┐                 rule 39: a reduction joins what it is broadcast to
    %d = subtract %x, %m
    %e = exp %d ───────┤                 rule 38: what is injective joins the reduction after it
    %s = sum %e ───────┤                 rule 39
    %r = divide %e, %s ┴► one group

One more sweep visits the groups from the last to the first; then groups that nothing connects may
join. A group joins the *first* group that uses it, and only when everything else that uses it
stands behind that one. So a value never goes back to an earlier group, whatever joins what: groups
stay in the order of their roots, and no cycle can arise.

A group is visited once, and looks at its users once: the time is linear, but for the sets of values
that groups take (`fusion_arguments`). What is copied counts in the groups that it is copied into.

Source: the rules are our own; XLA's instruction fusion, which also copies cheap producers and makes
outputs of siblings and of producers, has the same aims.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.reduction_loops import Domain, domain_of, meets_what_it_reduced
from xrelay.analysis.fusion.arguments import Arguments
from xrelay.analysis.fusion.graph import (
    BROADCAST,
    COMM_REDUCE,
    INJECTIVE,
    TUPLE,
    FusionNode,
    Refusal,
    may_fuse,
)
from xrelay.analysis.fusion.groups import SWEEPS, Partition
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.elementwise import LIGHT_OPS
from xrelay.dialects.lengths import likely
from xrelay.dialects.nn.norm import SoftmaxFamilyOp
from xrelay.dialects.shapes import element_count, is_dynamic, is_tensor_type, same_shape, shape_of
from xrelay.dialects.tensor.reduce import ReductionOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.traits import OpPatternKind, ReshapeOnly

MAX_REDUCTIONS = 2
"""
So many reductions may share a group: what comes before a reduction is computed again for each that
follows, and two are enough for softmax and for normalisations.
"""
SMALL = 64
"""Computing tensors of at most this many elements again costs less than keeping the result."""


class Join(NamedTuple):
    """What a rule beyond Relay's has brought into a group."""

    rule: int
    node: FusionNode
    """The root of the group that joined, or the node that was copied."""
    into: FusionNode
    """The root of the group that it joined."""
    sentence: str
    """The reason, for people."""


class Extension:
    """The last sweep over the groups of a partition, which must have the arguments of its groups."""

    def __init__(self, partition: Partition, rules: Collection[int]):
        assert partition.arguments is not None
        self.partition = partition
        self.rules = rules
        self.nodes = partition.nodes
        self.arguments: Arguments = partition.arguments
        self.joins: list[Join] = []
        """What was done, in order."""
        self.holders: dict[int, list[int]] = {}
        """The groups that each copied node was copied into, by indices of members."""
        self.gone: set[int] = set()
        """The nodes that are computed in these groups only."""
        count = len(self.nodes)
        self.highest = [_kind(node) for node in self.nodes]
        """The highest kind of a group's members."""
        self.moves = [kind is INJECTIVE for kind in self.highest]
        """Whether a group has members that move elements."""
        self.domains: list[Domain | None] = [None] * count
        self.reductions = [0] * count
        """How many reductions each group has."""
        self.inner_outputs: dict[int, list[int]] = {}
        """The outputs of each group besides its root."""
        self.users = [self._user_indices(node) for node in self.nodes]
        """The indices of the nodes that use each node; None for another block."""
        for node in self.nodes:
            self._add_facts(node, partition.root(node.index))

    def _user_indices(self, node: FusionNode) -> list[int | None]:
        block, index = node.op.parent, self.arguments.index
        found: dict[int | None, None] = {}
        for use in (use for result in node.op.results for use in result.uses):
            op = block.find_ancestor_op_in_block(use.operation) if block is not None else None
            found[None if op is None else index[op]] = None
        return list(found)

    def _add_facts(self, node: FusionNode, root: int) -> None:
        if node.index != root:
            self.highest[root] = max(self.highest[root], self.highest[node.index])
            self.moves[root] |= self.moves[node.index]
        if node.kind is COMM_REDUCE:
            self.reductions[root] += 1
            self.domains[root] = domain_of(node.op)

    def run(self) -> None:
        """Joins groups, the last ones first, and then those that nothing connects (rule 42)."""
        root = self.partition.root
        for node in reversed(self.nodes):
            if root(node.index) == node.index and not (41 in self.rules and self.copy(node)):
                self.join(node)
        if 42 not in self.rules:
            return
        siblings: dict[Loops, int] = {}
        for node in reversed(self.nodes):
            if root(node.index) == node.index and node.index not in self.gone:
                self.join_sibling(node, siblings)

    # -- who uses what ------------------------------------------------------------------------

    def homes(self, index: int) -> Iterable[int]:
        """The roots of the groups that compute a node."""
        root = self.partition.root
        held = [root(each) for each in self.holders.get(index, ())]
        return held if index in self.gone else [*held, root(index)]

    def is_computed(self, op: Operation, root: int) -> bool:
        """Whether a group computes an operation."""
        index = self.arguments.index.get(op)
        return index is not None and root in self.homes(index)

    def user_groups(self, index: int) -> dict[int, None]:
        """The roots of the groups that use a node and do not compute it; -1 for another block."""
        own = set(self.homes(index))
        groups: dict[int, None] = {}
        for user in self.users[index]:
            groups.update(dict.fromkeys((-1,) if user is None else self.homes(user)))
        return {group: None for group in groups if group not in own}

    def takes_part(self, root: int) -> bool:
        """Whether a group becomes a function with one tensor as its result."""
        node = self.nodes[root]
        return (
            node.opaque is None
            and may_fuse(node.op)
            and isinstance(node.op.results[0].type, TensorType)
        )

    # -- rules 37-40 --------------------------------------------------------------------------

    def join(self, node: FusionNode) -> None:
        """A group joins the first of those that use it, or says why not."""
        index = node.index
        if not self.takes_part(index) or self.highest[index] > COMM_REDUCE:
            return
        users = self.user_groups(index)
        first = min((user for user in users if user >= 0), default=None)
        if first is None or not self.takes_part(first):
            return
        outcome = self.rule_of(index, first, alone=len(users) == 1)
        if outcome is None or isinstance(outcome, Refusal):
            node.refusal = outcome or node.refusal
            return
        rule, sentence = outcome
        returned = 0 if len(users) == 1 else self.arguments.returned[index]
        refusal = self.why_too_large(index, first, returned)
        if refusal is not None:
            node.refusal = refusal
            return
        self.merge(node, first, rule, sentence)
        if len(users) == 1:
            node.refusal = None
        else:
            node.refusal = Refusal(40, "the value is an output of its group, others use it, too")

    def rule_of(self, part: int, sink: int, *, alone: bool) -> Refusal | tuple[int, str] | None:
        """
        The rule by which a group joins the first one that uses it, with the reason, or what speaks
        against it; None where no rule is about such groups. `alone` if no other group uses it.
        """
        name, root = self.nodes[part].op.name, self.nodes[sink].op
        reduces, anchored = self.highest[part] is COMM_REDUCE, self.highest[sink] > COMM_REDUCE
        if (40 if not alone else 39 if reduces else 38) not in self.rules:
            return None
        if not alone:
            if reduces or anchored:
                return None
            if self.moves[part]:
                sentence = f"others than {root.name} use the value, whose group moves elements"
                return self.refused(40, sentence, root)
            if self.moves[sink] or self.reductions[sink] or not self.same_loops(part, sink):
                sentence = f"others than {root.name} use the value, which has other loops"
                return self.refused(40, sentence, root)
            return 40, f"{name} and {root.name} have the same loops and are both results"
        if reduces:
            why_not = self.why_no_epilogue(part, sink)
            if why_not is not None:
                return self.refused(39, why_not, root)
            return 39, f"{root.name} works on the elements that {name} reduces"
        if anchored:
            anchor = self.partition.anchors[sink]
            if anchor is None or not self.feeds_rows(part, sink, anchor):
                return None
            return 38, f"{anchor.op.name} reads each row that {name} computes"
        if self.reductions[sink]:
            return 38, f"{name} is computed where it is reduced"
        return None

    def refused(self, rule: int, sentence: str, culprit: Operation) -> Refusal:
        return Refusal(rule, sentence, SWEEPS, culprit)

    def feeds_rows(self, part: int, sink: int, anchor: FusionNode) -> bool:
        """Whether the one use of a group is as the data of a softmax."""
        return (
            isinstance(anchor.op, SoftmaxFamilyOp)
            and self.users[part] == [anchor.index]
            and self.partition.root(anchor.index) == sink
            and anchor.op.data.owner is self.nodes[part].op
        )

    def why_no_epilogue(self, part: int, sink: int) -> str | None:
        """What keeps a reduction out of the group that uses it; None if one nest of loops does both."""
        op, domain, other = self.nodes[part].op, self.domains[part], self.domains[sink]
        if not isinstance(op, ReductionOp) or domain is None:
            return f"{op.name} does not end with a reduction whose loops are known"
        if self.highest[sink] > COMM_REDUCE:
            return f"the group of {self.nodes[sink].op.name} has loops of its own"
        if self.reductions[part] + self.reductions[sink] > MAX_REDUCTIONS:
            return f"the group would have more than {MAX_REDUCTIONS} reductions"
        if self.moves[sink]:
            return f"the group of {self.nodes[sink].op.name} moves elements"
        if self.reductions[sink]:
            if other != domain:
                return "the reductions run over other elements or axes"
        elif _shape(self.nodes[sink].op) not in (_shape(op), domain.shape):
            return f"{self.nodes[sink].op.name} has another shape than what is reduced"
        if meets_what_it_reduced(op, lambda user: self.is_computed(user, sink)):
            return None
        return "the result of the reduction does not line up with what is reduced"

    def same_loops(self, part: int, sink: int) -> bool:
        """Whether two groups have results of the same known shape."""
        types = [self.nodes[each].op.results[0].type for each in (part, sink)]
        shapes = [_shape(self.nodes[each].op) for each in (part, sink)]
        return same_shape(*shapes) and not any(map(is_dynamic, types))

    def why_too_large(self, part: int, sink: int, returned: int) -> Refusal | None:
        """What rules 17 and 36 have against a group that would join `sink`."""
        counts, limit = self.partition.counts, self.partition.options.max_depth
        if counts[part] + counts[sink] > limit:
            name = self.nodes[sink].op.name
            sentence = f"the group of {name} would have more than {limit} nodes"
            return self.refused(17, sentence, self.nodes[sink].op)
        return self.partition.excess([part], sink, SWEEPS, returned)

    def merge(self, node: FusionNode, sink: int, rule: int, sentence: str) -> None:
        """A group joins another one, with what is known of it."""
        part, returned = node.index, self.arguments.returned
        self.partition.merge(part, sink)
        if rule in (40, 42):
            returned[sink] += returned[part]
            outputs = self.inner_outputs.setdefault(sink, [])
            outputs.extend([part, *self.inner_outputs.pop(part, ())])
        self.highest[sink] = max(self.highest[sink], self.highest[part])
        self.partition.kinds[sink] = max(self.partition.kinds[sink], self.partition.kinds[part])
        self.moves[sink] |= self.moves[part]
        self.reductions[sink] += self.reductions[part]
        self.domains[sink] = self.domains[sink] or self.domains[part]
        self.joins.append(Join(rule, node, self.nodes[sink], sentence))

    # -- rule 41 ------------------------------------------------------------------------------

    def copy(self, node: FusionNode) -> bool:
        """
        Rule 41: computes what is cheap again in each group that uses it. Returns whether that leaves
        no need for the node itself.
        """
        op, index = node.op, node.index
        is_constant = isinstance(op, ConstantOp)
        if node.opaque is not None or self.partition.counts[index] > 1 or not is_cheap(node):
            return False
        users = self.user_groups(index)
        if not is_constant and len(users) < 2:
            return False
        # Copies of copies would be as many as there are ways to use them: too many.
        if not is_constant and any(user in self.holders for user in self.users[index]):
            return False
        reading = [user for user in self.users[index] if user is not None and user not in self.gone]
        complex_users = {
            self.partition.root(user) for user in reading if _kind(self.nodes[user]) > COMM_REDUCE
        }
        homes = [user for user in users if user not in complex_users and self.can_hold(node, user)]
        if not homes or (len(homes) < len(users) and not is_constant):
            return False
        for home in homes:
            self.arguments.copy(index, home)
            self.partition.counts[home] += 1
            what = "a constant" if is_constant else "cheap"
            self.joins.append(
                Join(41, node, self.nodes[home], f"{op.name} is {what}: it is copied")
            )
        self.holders[index] = homes
        if len(homes) == len(users):
            self.gone.add(index)
        return index in self.gone

    def can_hold(self, node: FusionNode, home: int) -> bool:
        """Whether a group has room for a cheap node; -1 for another block."""
        limit = self.partition.options.max_function_args
        return (
            home >= 0
            and self.takes_part(home)
            and self.partition.counts[home] < self.partition.options.max_depth
            and not (limit and self.arguments.after_merge([node.index], home) > limit)
        )

    def copies(self) -> dict[int, list[FusionNode]]:
        """The nodes that each group computes again, by its root, in program order."""
        root = self.partition.root
        copies: dict[int, list[FusionNode]] = {}
        for index in sorted(self.holders):
            for home in dict.fromkeys(map(root, self.holders[index])):
                copies.setdefault(home, []).append(self.nodes[index])
        return copies

    # -- rule 42 ------------------------------------------------------------------------------

    def join_sibling(self, node: FusionNode, siblings: dict["Loops", int]) -> None:
        """A group joins the nearest one behind it that takes the same tensors and has equal loops."""
        index = node.index
        if not self.takes_part(index) or self.highest[index] > BROADCAST:
            return
        values = self.arguments.inputs[index]
        inputs = frozenset(each for each in values if not isinstance(each.owner, ConstantOp))
        if not inputs or is_dynamic(node.op.results[0].type):
            return
        loops = Loops(_shape(node.op), inputs)
        other = siblings.get(loops)
        siblings[loops] = index
        if other is None:
            return
        outputs = [index, *self.inner_outputs.get(index, ())]
        if any(0 <= user <= other for each in outputs for user in self.user_groups(each)):
            return
        if self.why_too_large(index, other, self.arguments.returned[index]) is not None:
            return
        name = self.nodes[other].op.name
        self.merge(node, other, 42, f"{node.op.name} and {name} take the same and have equal loops")
        siblings[loops] = other


class Loops(NamedTuple):
    """What groups that may be siblings have in common."""

    shape: tuple[int, ...]
    """The shape of the results."""
    inputs: frozenset[SSAValue]
    """The values that they take, without constants."""


def is_cheap(node: FusionNode) -> bool:
    """Whether computing a value takes no more than reading it from memory."""
    op = node.op
    if isinstance(op, ConstantOp):
        return True
    if not may_fuse(op):
        return False
    return (
        isinstance(op, CastOp)
        or op.has_trait(ReshapeOnly)
        or (
            isinstance(op, LIGHT_OPS)
            and all(
                is_tensor_type(each.type)
                and 0 <= likely(element_count(each.type.get_shape())) <= SMALL
                for each in op.operands
            )
        )
    )


def _kind(node: FusionNode) -> OpPatternKind:
    """The kind of a node; a tuple only moves values, as what is injective."""
    return INJECTIVE if node.kind is TUPLE else node.kind


def _shape(op: Operation) -> tuple[int, ...]:
    return shape_of(op.results[0])
