"""
Parts of a graph: sets of nodes, and what follows from them.

               0   1             inside {2, 3, 4}
               │   │             entries {2, 3}: inside, with an input from outside
             ┌ 2   3 ┐           inputs  {0, 1}: outside, used inside
             │  \\ / \\│           exits   {3, 4}: inside, used outside
             └   4   ┼┘          outputs {5, 6}: outside, with an input from inside
                 │   │           3 is a tap: an exit that is also used inside
                 5   6

A sub-graph may have nested ones with attributes, each of which is to become a function:

    Composite = "dnnl.conv_relu"     one operator of an engine
    Compiler = "dnnl", Primitive = 1 the function of an engine

Source: sub-graphs of TVM's `collage`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush

from xrelay.dialects.traits import OpPatternKind
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import first_inside, index_set, members, union_of

Attributes = tuple[tuple[str, str | int], ...]
"""Names and values of attributes, sorted by name."""


@dataclass(frozen=True)
class Limits:
    """What sub-graphs must keep to. 0 is no limit."""

    max_exits: int = 1
    """The most nodes that are used outside."""
    allow_taps: bool = False
    """Whether a node that is used outside may be used inside too."""
    max_depth: int = 0
    """The most nodes on the longest way from an entry to an exit."""

    def __str__(self) -> str:
        return f"exits={self.max_exits}, taps={self.allow_taps}, depth={self.max_depth}"


ONE_RESULT = Limits()
"""What most engines keep to: one exit, and no taps."""
ANY_RESULTS = Limits(max_exits=0, allow_taps=True)
"""What all keep to: none needs its own results."""


@dataclass(frozen=True)
class Nested:
    """A part of a sub-graph that is to become a function of its own."""

    sub_graph: "SubGraph"
    attributes: Attributes

    @property
    def composite(self) -> str | None:
        """The name of the composite that it is, if it is one."""
        name = dict(self.attributes).get("Composite")
        return name if isinstance(name, str) else None

    def __str__(self) -> str:
        attributes = ", ".join(f"{name}={value}" for name, value in self.attributes)
        return f"{self.sub_graph}<{attributes}>"


@dataclass(frozen=True)
class SubGraph:
    """A part of a graph."""

    graph: Graph = field(repr=False)
    inside: int
    """The set of its nodes."""
    nested: tuple[Nested, ...] = ()
    """In the order of their first nodes."""

    @property
    def flow(self) -> int:
        """Its nodes without constants. Of these others have their own copies, so that they are no results."""
        return self.inside & ~self.graph.constants

    @cached_property
    def inputs(self) -> int:
        """The nodes outside that are used inside."""
        inputs = map(self.graph.inputs.__getitem__, members(self.inside))
        return union_of(inputs) & ~self.inside

    @cached_property
    def outputs(self) -> int:
        """The nodes outside that use nodes inside."""
        users = map(self.graph.users.__getitem__, members(self.flow))
        return union_of(users) & ~self.inside

    @cached_property
    def entries(self) -> int:
        """The nodes inside that use nodes outside."""
        inputs = self.graph.inputs
        return index_set(i for i in members(self.inside) if inputs[i] & ~self.inside)

    @cached_property
    def exits(self) -> int:
        """The nodes inside that are used outside, or are ends of the function."""
        users, ends = self.graph.users, 1 << len(self.graph) >> 1
        outside = ~self.inside
        return index_set(i for i in members(self.flow) if users[i] & outside or ends >> i & 1)

    @cached_property
    def depth(self) -> int:
        """The nodes on the longest way from an entry to an exit, within; without entries, from any node."""
        starts = self.entries or self.inside
        depths: dict[int, int] = {}
        for index in members(self.inside):
            before = (depths.get(i, 0) for i in self.graph[index].inputs)
            longest = max(before, default=0)
            if longest or starts >> index & 1:
                depths[index] = longest + 1
        return max((depth for i, depth in depths.items() if self.exits >> i & 1), default=0)

    @cached_property
    def kind(self) -> OpPatternKind:
        """The highest kind of its nodes."""
        return max(self.graph[i].kind for i in members(self.inside))

    @cached_property
    def label(self) -> str:
        """The names of its operators."""
        nodes = [self.graph[i] for i in members(self.inside)]
        named = [node for node in nodes if not node.is_constant] or nodes
        return "+".join(node.label for node in named)

    def __str__(self) -> str:
        listed = ",".join(map(str, members(self.inside)))
        nested = "".join(f" {each}" for each in self.nested)
        return f"{{{listed}}}{nested}"

    def with_nodes(self, nodes: int) -> "SubGraph":
        """The sub-graph with some more nodes."""
        return SubGraph(self.graph, self.inside | nodes, self.nested)

    def wrapped(self, attributes: Mapping[str, str | int]) -> "SubGraph":
        """The same nodes, to become a function with some attributes."""
        named = tuple(sorted(attributes.items()))
        return SubGraph(self.graph, self.inside, (Nested(self, named),))

    def substituted(self, graph: Graph, numbers: Mapping[int, int]) -> "SubGraph":
        """The same part of another graph, in which nodes have other numbers."""
        inside = index_set(numbers[i] for i in members(self.inside))
        nested = (
            Nested(each.sub_graph.substituted(graph, numbers), each.attributes)
            for each in self.nested
        )
        return SubGraph(graph, inside, in_order(nested))

    def problem(self, limits: Limits) -> str | None:
        """Why it may not become a function, None when it may."""
        if not self.inside:
            return "it has no node"
        exits = self.exits.bit_count()
        if limits.max_exits and exits > limits.max_exits:
            return f"it has {exits} exits, at most {limits.max_exits} are allowed"
        if limits.max_depth and self.depth > limits.max_depth:
            return f"its depth is {self.depth}, at most {limits.max_depth} is allowed"
        home = self.graph[next(members(self.inside))].block
        if self.inside & ~self.graph.blocks[home]:
            return "its nodes are in several blocks"
        seen = 0
        for each in self.nested:
            part = each.sub_graph
            if part.inside & ~self.inside or part.flow & seen:
                return "its nested parts overlap, or are not inside"
            seen |= part.flow
        if not limits.allow_taps:
            for index in members(self.exits):
                if self.graph.users[index] & self.inside:
                    return f"node {index} is used inside and outside"
        for index in members(self.outputs):
            if self.graph.downstream[index] & self.inside:
                return f"node {index} needs its results and is needed by it"
        return None


def in_order(nested: Iterable[Nested]) -> tuple[Nested, ...]:
    """Nested sub-graphs in the order of their nodes."""
    return tuple(sorted(nested, key=lambda each: (each.sub_graph.inside, each.attributes)))


def joined(nested: Iterable[Nested]) -> tuple[Nested, ...]:
    """
    Nested sub-graphs of parts that become one: those with equal attributes become one as well, unless
    they are composites.
    """
    kept: list[Nested] = []
    together: dict[Attributes, list[SubGraph]] = {}
    for each in nested:
        if each.composite is not None:
            kept.append(each)
        else:
            together.setdefault(each.attributes, []).append(each.sub_graph)
    made = (Nested(union(parts), attributes) for attributes, parts in together.items())
    return in_order((*kept, *made))


def union(parts: Sequence[SubGraph]) -> SubGraph:
    """The sub-graph of the nodes of several, of which no two share one but constants."""
    if len(parts) == 1:
        return parts[0]
    inside = 0
    for part in parts:
        if inside & part.flow:
            raise ValueError("the parts of a union overlap")
        inside |= part.inside
    nested = joined(each for part in parts for each in part.nested)
    return SubGraph(parts[0].graph, inside, nested)


def are_touching(up: SubGraph, down: SubGraph) -> bool:
    """
    Whether an output of `up` is an entry of `down`, while no way leads from either through a third
    node into the other.
    """
    if up.flow & down.flow or not up.outputs & down.entries:
        return False
    downstream = up.graph.downstream
    others = up.outputs & ~down.inside
    back = down.outputs & ~up.inside
    return not any(downstream[index] & down.inside for index in members(others)) and not any(
        downstream[index] & up.inside for index in members(back)
    )


def in_dependence_order(units: Sequence[SubGraph]) -> list[int] | None:
    """
    The places of disjoint sub-graphs in an order in which each comes after those whose results it uses, the first
    node deciding where the order is free; None when some need each other.
    """
    if not units:
        return []
    graph = units[0].graph
    unit_of = {
        index: place
        for place, unit in enumerate(units)
        for index in members(unit.flow or unit.inside)
    }
    users: list[set[int]] = [set() for _ in units]
    waits = [0] * len(units)
    for place, unit in enumerate(units):
        before = {unit_of[index] for index in members(unit.inputs) if index in unit_of}
        waits[place] = len(before)
        for each in before:
            users[each].add(place)
    ready = [(first_inside(units[i].inside), i) for i, count in enumerate(waits) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, place = heappop(ready)
        order.append(place)
        for user in users[place]:
            waits[user] -= 1
            if not waits[user]:
                heappush(ready, (first_inside(units[user].inside), user))
    assert all(unit.graph is graph for unit in units)
    return order if len(order) == len(units) else None
