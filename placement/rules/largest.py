"""
The largest regions of an engine, and what pruning keeps of candidates.

`Largest` merges what a rule finds, greedily in the order of the graph, as `merge-compiler-regions` does for the one
engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import first_inside, members
from xrelay.placement.graph.sub_graph import SubGraph, union
from xrelay.placement.rules.candidate import Candidate
from xrelay.placement.rules.rule import Rule, listed


@dataclass(frozen=True)
class Largest(Rule):
    """The regions that come of merging the candidates of a rule for as long as none needs its own results."""

    rule: Rule

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        taken = 0
        units: list[SubGraph] = []
        for each in self.rule.candidates(graph, engine):
            if not each.part.flow & taken:
                taken |= each.part.flow
                units.append(each.part)
        calls = taken
        for node in graph.nodes:
            if isinstance(node.op, TupleOp | TupleGetItemOp) and not taken >> node.index & 1:
                units.append(SubGraph(graph, 1 << node.index))
        units.sort(key=lambda unit: first_inside(unit.flow))
        regions = merged(units)
        return [Candidate("largest", region, engine) for region in regions if region.flow & calls]

    def __str__(self) -> str:
        return listed("Largest", [self.rule])


@dataclass
class _Group:
    """A region that grows."""

    parts: list[SubGraph]
    inside: int
    outputs: int

    def joined(self, other: "_Group", downstream: list[int]) -> "_Group | None":
        """Both as one; None when that would need its own results."""
        inside = self.inside | other.inside
        outputs = (self.outputs | other.outputs) & ~inside
        if any(downstream[index] & inside for index in members(outputs)):
            return None
        larger, smaller = sorted((self, other), key=lambda group: -len(group.parts))
        larger.parts.extend(smaller.parts)
        return _Group(larger.parts, inside, outputs)


def merged(units: Sequence[SubGraph]) -> list[SubGraph]:
    """Disjoint sub-graphs, in the order of the graph, merged with those that they use where this is possible."""
    groups: dict[int, _Group] = {}
    into: dict[int, int] = {}
    home: dict[int, int] = {}
    taken = 0
    for number, unit in enumerate(units):
        if unit.flow & taken:
            continue
        taken |= unit.flow
        home.update(dict.fromkeys(members(unit.flow), number))
        group = _Group([unit], unit.flow, unit.outputs)
        above = dict.fromkeys(root(into, home[i]) for i in members(unit.inputs) if i in home)
        for other in above:
            joined = groups[other].joined(group, unit.graph.downstream)
            if joined is not None:
                group = joined
                del groups[other]
                into[other] = number
        groups[number] = group
    return [union(group.parts) for group in groups.values()]


def root(into: dict[int, int], number: int) -> int:
    """The group that one has become part of."""
    path: list[int] = []
    while number in into:
        path.append(number)
        number = into[number]
    into.update(dict.fromkeys(path, number))
    return number


def largest_of(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that no other one of the same engine contains."""
    return [
        each
        for each in candidates
        if not any(
            other.engine == each.engine
            and other.inside != each.inside
            and each.inside & ~other.inside == 0
            for other in candidates
        )
    ]


def pruned(candidates: Sequence[Candidate]) -> list[Candidate]:
    """
    The largest candidates of each engine; while some of these overlap without being equal, these go, and the
    largest ones of the rest come. It may lose the best plan.

    Source: TVM's `PruneCandidates`.
    """
    kept: list[Candidate] = []
    rest = list(candidates)
    while True:
        fresh = largest_of(rest)
        rest = [each for each in rest if each not in fresh]
        kept += fresh
        clashing = {
            each
            for each in kept
            for other in kept
            if each.inside & other.inside and each.inside != other.inside
        }
        if not clashing or not rest:
            return kept
        kept = [each for each in kept if each not in clashing]
