"""
What `Combine` makes of candidates that it has: each combiner is asked round after round, and looks only at
choices of which at least one is new.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.traits import OpPatternKind
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import members
from xrelay.placement.graph.sub_graph import ANY_RESULTS, SubGraph, are_touching
from xrelay.placement.rules.candidate import Candidate, Pool, united
from xrelay.placement.rules.rule import listed


class Combiner(ABC):
    """Makes candidates of several others."""

    def __str__(self) -> str:
        return type(self).__name__

    @abstractmethod
    def combined(self, graph: Graph, pool: Pool, max_depth: int) -> Iterator[Candidate]:
        """What comes of those in a pool, where at least one is new."""


def by_node(pool: Pool, graph: Graph, what: str) -> list[list[int]]:
    """The places of the candidates that have each node as one of their `entries`, `exits` or the like."""
    found: list[list[int]] = [[] for _ in range(len(graph))]
    for place, candidate in pool:
        for index in members(getattr(candidate.part, what)):
            found[index].append(place)
    return found


def touching(graph: Graph, pool: Pool, max_depth: int) -> Iterator[tuple[Candidate, Candidate]]:
    """The pairs of candidates that touch, one of them new, whose depths add up to no more than allowed."""
    entries = by_node(pool, graph, "entries")
    for place, up in pool:
        below = {other: None for index in members(up.part.outputs) for other in entries[index]}
        for other in sorted(below):
            down = pool.candidates[other]
            if not pool.is_new(place, other):
                continue
            if max_depth and up.part.depth + down.part.depth > max_depth:
                continue
            if are_touching(up.part, down.part):
                yield up, down


@dataclass(frozen=True)
class ByKind(Combiner):
    """Two candidates that touch, of kinds up to `up` and `down`."""

    pairs: tuple[tuple[OpPatternKind, OpPatternKind], ...]
    """The kinds that are allowed together, above and below."""

    def combined(self, graph: Graph, pool: Pool, max_depth: int) -> Iterator[Candidate]:
        for up, down in touching(graph, pool, max_depth):
            kinds = up.part.kind, down.part.kind
            if any(kinds[0] <= high and kinds[1] <= low for high, low in self.pairs):
                yield united(f"{up.rule}+{down.rule}", (up, down))

    def __str__(self) -> str:
        return listed("ByKind", [f"{up.label}->{down.label}" for up, down in self.pairs])


@dataclass(frozen=True)
class TupleArg(Combiner):
    """
    An injective user of a tuple, the tuple, and for each of its fields an injective candidate that computes it:
    every choice of these.
    """

    def combined(self, graph: Graph, pool: Pool, max_depth: int) -> Iterator[Candidate]:
        exits = by_node(pool, graph, "exits")
        for place, user in pool:
            if user.part.kind > OpPatternKind.INJECTIVE:
                continue
            for index in members(user.part.inputs):
                if isinstance(graph[index].op, TupleOp):
                    yield from self.with_producers(graph, pool, place, index, exits)

    def with_producers(
        self, graph: Graph, pool: Pool, place: int, index: int, exits: list[list[int]]
    ) -> Iterator[Candidate]:
        """What comes of the user in one place of the pool and a tuple."""
        user = pool.candidates[place]
        choices = [
            [
                each
                for each in exits[field]
                if each != place and pool.candidates[each].part.kind <= OpPatternKind.INJECTIVE
            ]
            for field in graph[index].inputs
        ]
        tuple_ = Candidate("tuple", SubGraph(graph, 1 << index), user.engine)
        if not choices or not all(choices):
            return
        for chosen in product(*choices):
            if not pool.is_new(place, *chosen):
                continue
            producers = [pool.candidates[each] for each in sorted(set(chosen))]
            parts = [*producers, tuple_, user]
            if _are_disjoint(parts):
                yield united("+".join(each.rule for each in parts), parts)


def _are_disjoint(parts: list[Candidate]) -> bool:
    seen = 0
    for each in parts:
        if seen & each.part.flow:
            return False
        seen |= each.part.flow
    return True


@dataclass(frozen=True)
class TupleProj(Combiner):
    """A candidate and a projection of its output."""

    def combined(self, graph: Graph, pool: Pool, max_depth: int) -> Iterator[Candidate]:
        for base in pool.candidates[pool.first_new :]:
            for index in members(base.part.outputs):
                if isinstance(graph[index].op, TupleGetItemOp):
                    yield Candidate(base.rule, base.part.with_nodes(1 << index), base.engine)


@dataclass(frozen=True)
class Constant(Combiner):
    """A candidate and all constants that enter it."""

    def combined(self, graph: Graph, pool: Pool, max_depth: int) -> Iterator[Candidate]:
        for base in pool.candidates[pool.first_new :]:
            constants = base.part.inputs & graph.constants
            if constants:
                yield Candidate(base.rule, base.part.with_nodes(constants), base.engine)


@dataclass(frozen=True)
class Anchor(Combiner):
    """
    Candidates around complex operators. One above the other: those that touch, whose anchors are among
    `operators`. Side by side: those that no way connects, with anchors of the same operator and a common input.
    """

    operators: tuple[str, ...]
    """Names, without `relay.`."""

    def combined(self, graph: Graph, pool: Pool, max_depth: int) -> Iterator[Candidate]:
        anchors = [self.anchor(each) for each in pool.candidates]
        of = dict(zip(pool.candidates, anchors, strict=True))
        for up, down in touching(graph, pool, max_depth):
            if of[up] is not None and of[down] is not None:
                yield united(f"{up.rule}+{down.rule}", (up, down))
        users = by_node(pool, graph, "inputs")
        seen: set[tuple[int, int]] = set()
        for places in users:
            for left in places:
                for right in places:
                    pair = left, right
                    if left < right and pool.is_new(*pair) and pair not in seen:
                        seen.add(pair)
                        yield from self.side_by_side(pool, anchors, *pair)

    def side_by_side(
        self, pool: Pool, anchors: list[str | None], left: int, right: int
    ) -> Iterator[Candidate]:
        """The union of two candidates with a common input."""
        one, other = pool.candidates[left], pool.candidates[right]
        if anchors[left] is None or anchors[left] != anchors[right]:
            return
        if one.part.flow & other.part.flow or one.part.outputs & other.inside:
            return
        if other.part.outputs & one.inside:
            return
        made = united(f"{one.rule}|{other.rule}", (one, other))
        if made.part.problem(ANY_RESULTS) is None:
            yield made

    def anchor(self, candidate: Candidate) -> str | None:
        """The one most complex operator, if it is listed."""
        graph, kind = candidate.part.graph, candidate.part.kind
        nodes = [graph[i] for i in members(candidate.inside) if graph[i].kind == kind]
        labels = {node.label for node in nodes}
        label = nodes[0].label
        return label if len(labels) == 1 and label in self.operators else None

    def __str__(self) -> str:
        return listed("Anchor", self.operators)
