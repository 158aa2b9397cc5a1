"""
Patterns that are found by looking: an engine says which operators it runs, and which may follow each other.

From each operator the generator climbs the chain of post-dominators:

    conv2d ──► add ──► relu ──► …        {conv2d}, {conv2d, add}, {conv2d, add, relu}, …

While the fusion rule accepts all ways from the last node to its post-dominator, what lies on them is a larger
candidate.

Source: Collage's pattern rules and their generator.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.traits import OpPatternKind
from xrelay.placement.graph.dataflow import Graph, Node
from xrelay.placement.graph.extraction import extract
from xrelay.placement.graph.index_set import index_set, members
from xrelay.placement.graph.structure import structure_digest
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import Candidate
from xrelay.placement.rules.rule import Rule, listed

MOST_OPERATORS = 256
"""The most operators of a pattern."""

OpRule: TypeAlias = Callable[[Node], bool]
"""Whether an engine runs an operator."""


@dataclass(frozen=True)
class Step:
    """The way from one node to its post-dominator, which a fusion rule decides on."""

    graph: Graph
    source: Node
    sink: Node
    between: int
    """The nodes on the ways from the source to the sink, without these."""
    kind: OpPatternKind
    """The highest kind of what is fused so far."""
    count: int
    """How many operators are fused so far."""

    def kinds_between(self) -> OpPatternKind:
        """The highest kind on the way."""
        kinds = (self.graph[i].kind for i in members(self.between))
        return max(kinds, default=OpPatternKind.ELEMWISE)


FusionRule: TypeAlias = Callable[[Step], int | None]
"""The nodes to fuse with what is there, out of `between` and the sink; None to stop."""
Verify: TypeAlias = Callable[[SubGraph], bool]
"""Whether a pattern is one in the end."""


def relay_like(step: Step) -> int | None:
    """What Relay's fusion allows."""
    way, sink = step.kinds_between(), step.sink.kind
    match step.kind:
        case OpPatternKind.OUT_EWISE_FUSABLE:
            accepts = way <= OpPatternKind.BROADCAST and sink <= OpPatternKind.INJECTIVE
        case OpPatternKind.ELEMWISE | OpPatternKind.BROADCAST:
            accepts = way <= OpPatternKind.INJECTIVE and sink <= OpPatternKind.COMM_REDUCE
        case OpPatternKind.INJECTIVE | OpPatternKind.TUPLE:
            accepts = way <= OpPatternKind.INJECTIVE and sink <= OpPatternKind.INJECTIVE
        case _:
            accepts = False
    return step.between | 1 << step.sink.index if accepts else None


def _accepts(part: SubGraph) -> bool:
    return True


@dataclass(frozen=True)
class PatternGenerator(Rule):
    """Each operator that an engine runs, and all that a fusion rule lets follow it."""

    name: str
    op_rule: OpRule = field(repr=False)
    fusion_rule: FusionRule = field(default=relay_like, repr=False)
    verify: Verify = field(default=_accepts, repr=False)
    most: int = MOST_OPERATORS
    """The most operators of a pattern."""

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        accepted = index_set(
            node.index
            for node in graph.nodes
            if not is_call(node.op) or (node.op is not None and self.op_rule(node))
        )
        found: dict[Candidate, None] = {}
        for node in graph.nodes:
            if is_call(node.op) and accepted >> node.index & 1:
                for part in self.climbed(graph, node, accepted):
                    if self.verify(part):
                        found[Candidate(f"{self.name}.{node.label}", part, engine)] = None
        return list(found)

    def climbed(self, graph: Graph, node: Node, accepted: int) -> list[SubGraph]:
        """The patterns that begin at a node."""
        inside, last, count, kind = 1 << node.index, node, 1, node.kind
        found = [self.with_constants(graph, inside)]
        while (above := graph.post_dominators[last.index]) is not None and above < len(graph) - 1:
            sink = graph[above]
            between = graph.downstream[last.index] & ~graph.downstream[above] & ~(1 << above)
            added = self.fusion_rule(Step(graph, last, sink, between, kind, count))
            if added is None or added & ~accepted or sink.block != node.block:
                break
            fresh = [graph[i] for i in members(added & ~inside)]
            inside, last = inside | added, sink
            count += sum(is_call(each.op) for each in fresh)
            kind = max(kind, *(each.kind for each in fresh))
            if count > self.most:
                break
            # A tuple is no end: what uses it decides.
            if not isinstance(sink.op, TupleOp):
                found.append(self.with_constants(graph, inside))
        return found

    def with_constants(self, graph: Graph, inside: int) -> SubGraph:
        """A sub-graph of some nodes and the constants that enter it."""
        part = SubGraph(graph, inside)
        return part.with_nodes(part.inputs & graph.constants)

    def __str__(self) -> str:
        return listed("PatternGenerator", [self.name])


@dataclass
class PatternRegistry:
    """The engines that run each pattern, whatever graph it occurs in: operators, shapes and attributes in order."""

    engines: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])

    def add(self, candidate: Candidate) -> str:
        """Notes a candidate, and returns the name of its pattern."""
        digest = structure_digest(extract(candidate.part, "pattern", bind_constants=False).function)
        self.engines.setdefault(digest, {})[candidate.engine] = None
        return digest

    def engines_of(self, pattern: str) -> tuple[str, ...]:
        """The engines that run a pattern, in the order in which they came."""
        return tuple(self.engines.get(pattern, ()))
