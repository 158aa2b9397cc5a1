"""
Which regions of one compiler become one.

        O1                O1 and O2 can be one region, or O1 and O3, but not all of them: X would
       /  \\               need a result of the region that needs X's own result.
      O2   X
       \\  /               What is above: X needs O1. When O3 comes up, O2 has O1 in it, which is
        O3                above X, so that O2 and O3 stay apart.

- Regions, and operations that are in none, are nodes of a graph without cycles. They are visited
  from the inputs on. A region takes in the regions of its compiler that it gets its inputs from, in the
  order of its inputs, if no other node lies between the two.
- Each node knows the regions above it, as a set of bits. A merged region is above all that one of its
  parts is above, and below all that one of them is below. Nodes that nothing needs any more are
  forgotten.
- Control flow is a node like any other, which needs what its branches need.
- A region within a branch can be merged with one outside, by computing it before it is known
  whether it is needed: if it has no effects and all its inputs are there, as those are that other regions
  compute there already.

The cost is that of the edges and, for each merge that joins separate paths, of the nodes
that wait for a user; sets of bits count as one.

Source: Relay's MergeCompilerRegions, with the rule for `if` of apache/tvm#15211. There, restrictions
look through `if` only, and regions below a merged one do not learn what is above its new
parts: both can make a region depend on itself.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush, heapreplace
from itertools import accumulate
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.names import described
from xrelay.analysis.facts.nesting import Nesting, block_of
from xrelay.analysis.partition.compiler_regions import (
    CompilerRegion,
    CompilerRegionSet,
    compiler_regions,
    source_of,
)
from xrelay.dialects.core.annotation import CompilerAnnotationOp, CompilerBeginOp, CompilerEndOp


@dataclass(frozen=True)
class Decision:
    """What was decided of a region and one of those that it gets its inputs from."""

    producer: int
    user: int
    """Numbers of regions."""
    refusal: str = ""
    """Why they stay apart, empty when they merge."""

    def __str__(self) -> str:
        if self.refusal:
            return f"regions {self.producer} and {self.user} stay apart: {self.refusal}"
        return f"region {self.producer} becomes part of region {self.user}"


@dataclass(frozen=True)
class MergePlan:
    """The regions of a function, and which of them merge."""

    regions: CompilerRegionSet
    merged: dict[CompilerRegion, CompilerRegion]
    """For each region the one that it is part of in the end."""
    decisions: tuple[Decision, ...]
    """In the order in which they were made."""

    def in_front(self, border: CompilerAnnotationOp) -> SSAValue | None:
        """The value before the end in front of a begin between two parts of one region, else None."""
        end = border.data.owner
        if not isinstance(border, CompilerBeginOp) or not isinstance(end, CompilerEndOp):
            return None
        of = self.regions.of
        if border not in of or self.merged[of[border]] is not self.merged[of[end]]:
            return None
        return end.data


class _Input(NamedTuple):
    """What enters a region. Those from inner blocks are less than those from blocks around them."""

    height: int
    """How many blocks are around the value, as a negative number; it may have come further out since."""
    number: int
    """Which of all inputs it is."""
    begin: CompilerBeginOp
    source: SSAValue


@dataclass(eq=False)
class _Node:
    """A region or an operation that is in none."""

    name: str
    region: CompilerRegion | None = None
    home: Block | None = None
    """The block where a region is to be computed."""
    fixed: Operation | None = None
    """An operation of a region that has effects."""
    inputs: list[_Input] = field(default_factory=list[_Input])
    """A heap of what enters a region, from the innermost blocks first. What no longer enters is dropped when it is met."""
    needs: list["_Node"] = field(default_factory=list["_Node"])
    waiting: int = 0
    """How many users are to be visited."""
    users: int = 0
    """How many users outside of it were visited."""
    bits: int = 0
    """The regions that are part of this one."""
    above: int = 0
    """The regions from which a path leads here."""
    into: "_Node | None" = None
    """The region that has taken in this one."""
    state: int = 0


def _found(node: _Node) -> _Node:
    while node.into is not None:
        if node.into.into is not None:
            node.into = node.into.into
        node = node.into
    return node


@dataclass
class _Needs:
    """The regions and operations that one region needs."""

    nodes: Sequence[_Node]

    @cached_property
    def above(self) -> list[int]:
        """For each what is above it or one of those before it."""
        return list(accumulate((node.above for node in self.nodes), lambda one, other: one | other))

    def below(self, bits: int) -> _Node:
        """The first that is below some regions."""
        return self.nodes[bisect_left(self.above, True, key=lambda above: above & bits != 0)]


@dataclass
class _Merger:
    """The decisions for one function."""

    regions: CompilerRegionSet
    nesting: Nesting
    speculate: bool
    nodes: dict[Operation, _Node] = field(default_factory=dict[Operation, _Node])
    waiting: dict[_Node, None] = field(default_factory=dict[_Node, None])
    decisions: list[Decision] = field(default_factory=list[Decision])
    count: int = 0
    """How many regions have a bit."""
    inputs: int = 0
    """How many inputs regions have."""

    def build(self) -> None:
        """The graph: nodes in the order of the program, and what each needs."""
        dependencies = self.regions.dependencies
        for region in self.regions.regions:
            self.nodes.update(dict.fromkeys(region.ops, self.node_of(region)))
        order = dependencies.visited()
        for op in order:
            if op not in self.nodes:
                self.nodes[op] = _Node(described(op))
        needs: dict[_Node, dict[_Node, None]] = {node: {} for node in self.nodes.values()}
        for region in self.regions.regions:
            node = self.nodes[region.ops[0]]
            for begin in region.inputs:
                if isinstance(begin.data, OpResult):
                    needs[node][self.nodes[begin.data.op]] = None
        for op in order:
            node = self.nodes[op]
            for other in dependencies.direct(op):
                if self.nodes[other] is not node:
                    needs[node][self.nodes[other]] = None
        for node, others in needs.items():
            node.needs = list(others)
            for other in others:
                other.waiting += 1

    def node_of(self, region: CompilerRegion) -> _Node:
        node = _Node(str(region), region, region.home(self.nesting))
        effects = self.regions.dependencies.effects
        node.fixed = next((op for op in region.ops if effects.keeps_place(op)), None)
        for number, begin in enumerate(region.inputs):
            height = -self.nesting.depths[block_of(begin.data)]
            node.inputs.append(_Input(height, self.inputs + number, begin, source_of(begin.data)))
        self.inputs += len(region.inputs)
        heapify(node.inputs)
        return node

    def run(self) -> MergePlan:
        self.build()
        for op, node in self.nodes.items():
            if node.region is None or isinstance(op, CompilerEndOp):
                self.visit(node)
        nodes = [self.nodes[region.ops[0]] for region in self.regions.regions]
        merged: dict[CompilerRegion, CompilerRegion] = {}
        for node in nodes:
            into = _found(node).region
            assert node.region is not None and into is not None
            merged[node.region] = into
        return MergePlan(self.regions, merged, tuple(self.decisions))

    def visit(self, start: _Node) -> None:
        """Decides about a node, after all that it needs."""
        if start.state:
            return
        path: list[tuple[_Node, Iterator[_Node]]] = [(start, iter(start.needs))]
        start.state = 1
        while path:
            node, needs = path[-1]
            for other in needs:
                if other.state == 0:
                    other.state = 1
                    path.append((other, iter(other.needs)))
                    break
                if other.state == 1:
                    circle = [each.name for each, _ in path]
                    raise DiagnosticException(
                        f"{other.name} needs its own results, through "
                        + ", ".join(circle[circle.index(other.name) + 1 :])
                    )
            else:
                path.pop()
                node.state = 2
                self.decide(node)

    def decide(self, node: _Node) -> None:
        needs = list(dict.fromkeys(_found(other) for other in node.needs))
        for other in needs:
            node.above |= other.above
        parts: list[_Node] = []
        if node.region is not None:
            around = _Needs(needs)
            for other in self.from_inner_blocks(needs):
                if self.merges(node, other, around):
                    self.take_in(node, other)
                    parts.append(other)
            if not parts:
                node.bits = 1 << self.count
                self.count += 1
        for other in needs:
            if other.into is None:
                node.above |= other.bits
                other.users += 1
        # What is below one part is now below all of them.
        if node.users and (len(parts) > 1 or parts[0].above != node.above):
            for other in self.waiting:
                if other.above & node.bits:
                    other.above |= node.above | node.bits
        if node.waiting:
            self.waiting[node] = None
        for other in node.needs:
            group = _found(other)
            group.waiting -= 1
            if not group.waiting:
                self.waiting.pop(group, None)
                if group is not node:
                    group.above = 0

    def from_inner_blocks(self, needs: Sequence[_Node]) -> list[_Node]:
        """
        The regions among some nodes, those in inner blocks first: what is merged with a region further out is
        computed there, and could no longer be merged with them.
        """
        regions = [node for node in needs if node.home is not None]
        return sorted(regions, key=lambda node: -self.depth(node))

    def depth(self, node: _Node) -> int:
        """How many blocks are around the place of a region."""
        assert node.home is not None
        return self.nesting.depths[node.home]

    def take_in(self, node: _Node, part: _Node) -> None:
        """Makes a region a part of another one, in time that grows with the smaller number of inputs only."""
        part.into = node
        node.home = part.home
        node.fixed = part.fixed if node.fixed is None else node.fixed
        node.bits |= part.bits
        node.waiting += part.waiting
        node.users += part.users
        self.waiting.pop(part, None)
        few, many = sorted((node.inputs, part.inputs), key=len)
        for each in few:
            heappush(many, each)
        node.inputs, part.inputs = many, []

    def merges(self, node: _Node, other: _Node, needs: _Needs) -> bool:
        """Whether `other` becomes part of `node`, one of whose inputs it is."""
        user, producer = node.region, other.region
        assert user is not None and producer is not None
        if user.compiler != producer.compiler:
            return False
        refusal = ""
        if other.bits & node.above:
            refusal = f"{needs.below(other.bits).name} lies between them"
        elif node.home is not other.home:
            refusal = self.speculation_refusal(node, other)
        self.decisions.append(Decision(producer.id, user.id, refusal))
        return not refusal

    def speculation_refusal(self, node: _Node, other: _Node) -> str:
        """Why the inner region `node` cannot be computed where the outer one `other` is."""
        if not self.speculate:
            return "one is in a branch, and speculation is not allowed"
        assert node.home is not None and other.home is not None
        if not self.nesting.encloses(other.home, node.home):
            return "they are in different blocks"
        if node.fixed is not None:
            return f"one is in a branch, and {described(node.fixed)} has effects"
        innermost = self.innermost_input(node)
        # All that reaches a region comes from the block where it is computed, one around that, or one within.
        if innermost is not None and -innermost.height > self.depth(other):
            return (
                f"one is in a branch, where the operand of {described(innermost.begin)} is computed"
            )
        return ""

    def innermost_input(self, node: _Node) -> _Input | None:
        """What enters a region from the innermost block."""
        while node.inputs:
            entry = node.inputs[0]
            maker = (
                _found(self.nodes[entry.source.op]) if isinstance(entry.source, OpResult) else None
            )
            if maker is node:
                heappop(node.inputs)
                continue
            # A region that has merged with one further out is computed there.
            place = block_of(entry.source) if maker is None or maker.home is None else maker.home
            height = -self.nesting.depths[place]
            if height == entry.height:
                return entry
            heapreplace(node.inputs, entry._replace(height=height))
        return None


def plan_merge(function: func.FuncOp, effects: Effects, *, speculate: bool = True) -> MergePlan:
    """
    The merges in a function of a program whose `effects` are known.

    Raises DiagnosticException for malformed annotations (see `compiler_regions`) and for regions that
    need their own results.
    """
    regions = compiler_regions(function, effects)
    return _Merger(regions, Nesting.of(function), speculate).run()
