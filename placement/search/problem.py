"""
What searches decide: which choices, each a set of nodes with a place and a cost, cover all nodes, each once.

    cost of a plan = costs of its choices
                   + for each value, and each other place in which some choice wants it: the border, once

A plan is one that can run: the choices, taken as steps, do not need each other's results. Parameters and constants
are given; constants cross borders for nothing, since they go along.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xrelay.placement.costs.borders import AT_HOST, NoBorders, Place
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.index_set import index_set, members, union_of, up_to
from xrelay.placement.rules.candidate import Candidate


@dataclass(frozen=True)
class Choice:
    """A set of nodes that runs as one step."""

    inside: int
    place: Place
    """The engine, and the layout in which it takes and leaves tensors."""
    cost: float
    """In seconds."""
    memory: int = 0
    """The bytes that it keeps."""
    candidate: Candidate | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Plan:
    """Choices that cover all nodes."""

    chosen: tuple[int, ...]
    """The places of the choices in the problem, in ascending order."""
    cost: float
    memory: int


@dataclass(frozen=True)
class Outcome:
    """What a search found."""

    plans: tuple[Plan, ...]
    """The best plan, and the next best ones if they were asked for; empty when none was found."""
    bound: float
    """No plan costs less."""
    is_complete: bool = True
    """Whether the search looked at all that could be better."""
    steps: int = 0
    """How many states, or nodes of a tree, were looked at."""

    @property
    def best(self) -> Plan | None:
        """The best plan."""
        return self.plans[0] if self.plans else None

    @property
    def gap(self) -> float:
        """How much cheaper a plan could be at most, as a part of the cost of the best one."""
        if self.best is None or self.best.cost <= self.bound:
            return 0.0
        return (self.best.cost - self.bound) / self.best.cost


BorderCost = Callable[[Place, Place, int], float]
"""The cost of a value of so many bytes between two places."""


PIECE = 64
"""How many nodes `Problem.bound` adds up at once: its calls differ in few of them."""


@dataclass(eq=False)
class Problem:
    """A graph, choices, and what borders cost."""

    inputs: Sequence[int]
    """The set of the inputs of each node, all of which have lower numbers."""
    choices: Sequence[Choice]
    sizes: Sequence[int] = ()
    """The bytes of the value of each node; 1 each when not given."""
    given: int = 0
    """The nodes that are there from the start, at the host."""
    constants: int = 0
    """Those of them that cross borders for nothing."""
    border: BorderCost = NoBorders().seconds
    memory_limit: int | None = None
    """The most bytes that a plan may keep."""
    names: Sequence[str] = ()
    """What the nodes are called in messages."""

    def __post_init__(self) -> None:
        self.sizes = self.sizes or [1] * len(self.inputs)
        self.choices = self._useful()
        for index in members(self.everything & ~self.given):
            if not self.containing[index]:
                raise PlacementError(
                    f"no engine runs {self.name(index)}: the rules leave it uncovered, or none of its "
                    "candidates can run"
                )

    def name(self, index: int) -> str:
        """A node in messages."""
        return self.names[index] if self.names else f"node {index}"

    def _useful(self) -> list[Choice]:
        """The choices without what is given, each set at each place once, unless less memory costs more."""
        kept: dict[tuple[int, Place], list[Choice]] = {}
        for each in self.choices:
            inside = each.inside & ~self.given
            if not inside or each.cost == float("inf"):
                continue
            made = (
                each
                if inside == each.inside
                else Choice(inside, each.place, each.cost, each.memory, each.candidate)
            )
            others = kept.setdefault((inside, each.place), [])
            if any(o.cost <= made.cost and o.memory <= made.memory for o in others):
                continue
            others[:] = [o for o in others if o.cost < made.cost or o.memory < made.memory]
            others.append(made)
        return [each for others in kept.values() for each in others]

    @cached_property
    def everything(self) -> int:
        """The set of all nodes."""
        return up_to(len(self.inputs))

    @cached_property
    def users(self) -> list[int]:
        """The set of the users of each node."""
        found = [0] * len(self.inputs)
        for index, inputs in enumerate(self.inputs):
            for each in members(inputs):
                found[each] |= 1 << index
        return found

    @cached_property
    def needs(self) -> list[int]:
        """The nodes outside that each choice uses."""
        return [
            union_of(map(self.inputs.__getitem__, members(choice.inside))) & ~choice.inside
            for choice in self.choices
        ]

    @cached_property
    def exits(self) -> list[int]:
        """The nodes of each choice that are used outside."""
        return [
            index_set(i for i in members(choice.inside) if self.users[i] & ~choice.inside)
            for choice in self.choices
        ]

    @cached_property
    def containing(self) -> list[list[int]]:
        """The choices that have each node inside."""
        found: list[list[int]] = [[] for _ in self.inputs]
        for place, choice in enumerate(self.choices):
            for index in members(choice.inside):
                found[index].append(place)
        return found

    @cached_property
    def places(self) -> list[Place]:
        """The places that values may be in; the host is the first."""
        return list(dict.fromkeys([AT_HOST, *(choice.place for choice in self.choices)]))

    @cached_property
    def place_of(self) -> list[int]:
        """The number of the place of each choice."""
        numbers = {place: number for number, place in enumerate(self.places)}
        return [numbers[choice.place] for choice in self.choices]

    @cached_property
    def crossing(self) -> list[list[list[float]]]:
        """What it costs that the value of each node goes from one place to another."""
        by_size: dict[int, list[list[float]]] = {}
        for size in dict.fromkeys(self.sizes):
            by_size[size] = [[self.border(a, b, size) for b in self.places] for a in self.places]
        free = [[0.0] * len(self.places) for _ in self.places]
        return [
            free if self.constants >> index & 1 else by_size[size]
            for index, size in enumerate(self.sizes)
        ]

    @cached_property
    def has_borders(self) -> bool:
        """Whether some border costs something."""
        return any(cost for table in self.crossing for row in table for cost in row)

    def plan(self, chosen: Iterable[int]) -> Plan:
        """
        A plan of some choices.

        Raises PlacementError when they leave something uncovered, overlap, or need each other.
        """
        listed = tuple(sorted(chosen))
        covered = self.given
        for place in listed:
            inside = self.choices[place].inside
            if covered & inside:
                raise PlacementError(
                    f"{self.name(next(members(covered & inside)))} is covered twice"
                )
            covered |= inside
        if covered != self.everything:
            left = next(members(self.everything & ~covered))
            raise PlacementError(f"{self.name(left)} is not covered")
        if self.order(listed) is None:
            raise PlacementError("some regions need each other's results")
        memory = sum(self.choices[place].memory for place in listed)
        return Plan(listed, self.cost(listed), memory)

    def order(self, chosen: Sequence[int]) -> list[int] | None:
        """Choices in an order in which they can run; None when they need each other."""
        covered = self.given
        left = list(chosen)
        order: list[int] = []
        while left:
            ready = [place for place in left if not self.needs[place] & ~covered]
            if not ready:
                return None
            for place in ready:
                covered |= self.choices[place].inside
            order += ready
            left = [place for place in left if place not in ready]
        return order

    def cost(self, chosen: Sequence[int]) -> float:
        """What choices that cover all cost, borders included."""
        total = sum(self.choices[place].cost for place in chosen)
        made = {
            index: self.place_of[place]
            for place in chosen
            for index in members(self.choices[place].inside)
        }
        crossed: dict[tuple[int, int], None] = {}
        for place in chosen:
            for index in members(self.needs[place]):
                crossed[index, self.place_of[place]] = None
        return total + sum(self.crossing[i][made.get(i, 0)][to] for i, to in sorted(crossed))

    @cached_property
    def shares(self) -> list[float]:
        """
        A part of the cost of plans for each node: those of the nodes in a choice never add up to more than it
        costs. At least as good as the least cost by size: from these, the part of each node grows by what all its
        choices still allow.
        """
        found = [0.0] * len(self.inputs)
        for index in members(self.everything & ~self.given):
            found[index] = min(
                self.choices[c].cost / self.choices[c].inside.bit_count()
                for c in self.containing[index]
            )
        slack = [
            choice.cost - sum(found[i] for i in members(choice.inside)) for choice in self.choices
        ]
        for index in sorted(members(self.everything & ~self.given), key=lambda i: -found[i]):
            room = max(min(slack[c] for c in self.containing[index]), 0.0)
            found[index] += room
            for c in self.containing[index]:
                slack[c] -= room
        # Sums in another order may come out larger by roundings.
        return [max(share - 1e-12 * abs(share), 0.0) for share in found]

    @cached_property
    def _piece_shares(self) -> dict[tuple[int, int], float]:
        """The sums of shares of some of PIECE nodes in a row, by the first one's number and their set."""
        return {}

    def bound(self, uncovered: int) -> float:
        """What it costs at least to cover some nodes."""
        rest, start, total = uncovered & ~self.given, 0, 0.0
        while rest:
            piece = rest & up_to(PIECE)
            if piece:
                found = self._piece_shares.get((start, piece))
                if found is None:
                    found = sum(self.shares[start + index] for index in members(piece))
                    self._piece_shares[start, piece] = found
                total += found
            rest >>= PIECE
            start += PIECE
        return total
