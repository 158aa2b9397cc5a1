"""
States of the search with borders: what is covered, and where each value lies that is still needed.

A step applies a choice whose inputs are all covered, so that the steps of a plan never need each other, however many
results they have. Of the steps that are possible it is enough to look at those of one *closed family*: nodes such that
each choice that has one of them inside, and cannot be applied yet, misses one of them. Whatever the plan, the first of
its steps that has a node of the family inside can be applied now, and nothing is lost by doing so first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xrelay.placement.graph.index_set import first_inside, members
from xrelay.placement.search.problem import Problem

Live: TypeAlias = tuple[tuple[int, int, int], ...]
"""For each value that is still needed: its node, its place, and the set of places that it was brought to."""


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """A part of a plan."""

    covered: int
    live: Live
    cost: float
    memory: int
    chosen: int
    """The set of the choices."""


@dataclass
class Space:
    """The states of a problem."""

    problem: Problem
    families: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """The choices to look at, by what is covered."""
    extras: dict[tuple[int, int, int, int, int], float] = field(
        default_factory=dict[tuple[int, int, int, int, int], float]
    )

    def start(self) -> State:
        """The state in which only what is given is covered."""
        given = self.problem.given
        live = self.needed(given, {index: (0, 0) for index in members(given)})
        return State(given, live, 0.0, 0, 0)

    def needed(self, covered: int, values: dict[int, tuple[int, int]]) -> Live:
        """Of some values, those that something uncovered uses, if places matter."""
        if not self.problem.has_borders:
            return ()
        users, constants = self.problem.users, self.problem.constants
        return tuple(
            (index, *values[index])
            for index in sorted(values)
            if users[index] & ~covered and not constants >> index & 1
        )

    def following(self, state: State) -> Iterator[State]:
        """The states after one more step."""
        limit = self.problem.memory_limit
        for place in self.family(state.covered):
            choice = self.problem.choices[place]
            memory = state.memory + choice.memory
            if limit is None or memory <= limit:
                yield self.after(state, place)

    def after(self, state: State, place: int) -> State:
        """The state after a choice."""
        problem = self.problem
        choice = problem.choices[place]
        covered = state.covered | choice.inside
        cost = state.cost + choice.cost
        if problem.has_borders:
            to = problem.place_of[place]
            needs = problem.needs[place]
            values = {index: (at, brought) for index, at, brought in state.live}
            for index in members(needs & ~problem.constants):
                at, brought = values[index]
                if not brought >> to & 1:
                    cost += problem.crossing[index][at][to]
                    values[index] = at, brought | 1 << to
            values.update((index, (to, 0)) for index in members(problem.exits[place]))
            live = self.needed(covered, values)
        else:
            live = ()
        memory = state.memory + choice.memory
        return State(covered, live, cost, memory, state.chosen | 1 << place)

    def family(self, covered: int) -> list[int]:
        """The choices to look at when some nodes are covered."""
        found = self.families.get(covered)
        if found is None:
            found = self.families[covered] = self._closed_family(covered)
        return found

    def _closed_family(self, covered: int) -> list[int]:
        problem = self.problem
        first = first_inside(problem.everything & ~covered)
        if first < 0:
            return []
        pending, nodes = [first], 1 << first
        found: dict[int, None] = {}
        seen: set[int] = set()
        while pending:
            for place in problem.containing[pending.pop()]:
                if place in seen:
                    continue
                seen.add(place)
                if problem.choices[place].inside & covered:
                    continue
                missing = problem.needs[place] & ~covered
                if not missing:
                    found[place] = None
                elif not missing & nodes:
                    index = first_inside(missing)
                    nodes |= 1 << index
                    pending.append(index)
        return list(found)

    def extra(self, one: Live, other: Live) -> float:
        """
        How much more the rest of a plan may cost from a state with the values `one` than from one with the values
        `other`, at most.
        """
        total = 0.0
        for (index, at, brought), (_, other_at, other_brought) in zip(one, other, strict=True):
            if (at, brought) == (other_at, other_brought):
                continue
            key = index, at, brought, other_at, other_brought
            found = self.extras.get(key)
            if found is None:
                row, other_row = (
                    self.problem.crossing[index][at],
                    self.problem.crossing[index][other_at],
                )
                found = 0.0
                for to in range(len(self.problem.places)):
                    cost = 0.0 if brought >> to & 1 else row[to]
                    spared = 0.0 if other_brought >> to & 1 else other_row[to]
                    found += max(0.0, cost - spared)
                self.extras[key] = found
            total += found
        return total
