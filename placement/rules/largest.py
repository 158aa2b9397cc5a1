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
from xrelay.placement.graph.sub_graph import ANY_RESULTS, SubGraph, union
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


def merged(units: Sequence[SubGraph]) -> list[SubGraph]:
    """Disjoint sub-graphs, in the order of the graph, merged with those that they use where this is possible."""
    groups: dict[int, SubGraph] = {}
    home: dict[int, int] = {}
    taken = 0
    for number, unit in enumerate(units):
        if unit.flow & taken:
            continue
        taken |= unit.flow
        group = unit
        above = dict.fromkeys(home[i] for i in members(unit.inputs) if i in home)
        for other in above:
            joined = union([groups[other], group])
            if joined.problem(ANY_RESULTS) is None:
                group = joined
                del groups[other]
        groups[number] = group
        home.update(dict.fromkeys(members(group.flow), number))
    return list(groups.values())


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
