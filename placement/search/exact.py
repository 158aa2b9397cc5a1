"""
The cheapest plans, with borders: A* over states, whose bound is `Problem.bound`.

Of the states with the same nodes covered, those go that another one is at least as good as, even if all its values
have to be brought elsewhere. To find the next best plans as well, a state goes only when as many others are as good.

When the limit of states or of time is reached, the best plan is that of a beam, and the bound that of what is left.
"""

import time
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from xrelay.placement.graph.index_set import members
from xrelay.placement.search.problem import Outcome, Plan, Problem
from xrelay.placement.search.states import Space, State

MOST_STATES = 200_000
"""How many states are looked at before a beam takes over."""
MORE_STATES = 5_000
"""How many states are looked at for the next best plans, or as many as the best one took."""
SAME = 1e-9
"""Sums of costs that differ by less, as a part of the cost of all, are the same: roundings of sums would hide ties."""
BEAM_WIDTH = 64
"""How many states a beam keeps of those that cover as many nodes."""


@dataclass
class Frontier:
    """The states that were met, and are not worse than others."""

    space: Space
    plans: int
    """How many plans are wanted."""
    counts_memory: bool
    by_covered: dict[int, list[State]] = field(default_factory=dict[int, list[State]])

    def accepts(self, state: State) -> bool:
        """Whether a state may lead to a plan that is wanted; it is noted then."""
        others = self.by_covered.setdefault(state.covered, [])
        better = 0
        for other in others:
            if other.chosen == state.chosen:
                return False
            if self.is_as_good(other, state):
                better += 1
                if better >= self.plans:
                    return False
        others.append(state)
        return True

    def is_as_good(self, one: State, other: State) -> bool:
        """Whether whatever comes of `other` is no better than what comes of `one`."""
        if self.counts_memory and one.memory > other.memory:
            return False
        if one.cost > other.cost:
            return False
        return one.cost + self.space.extra(one.live, other.live) <= other.cost


def finished(state: State) -> Plan:
    """The plan of a state that covers all."""
    return Plan(tuple(members(state.chosen)), state.cost, state.memory)


def exact(
    problem: Problem, *, plans: int = 1, most_states: int = MOST_STATES, seconds: float = inf
) -> Outcome:
    """
    The cheapest plans; fewer than asked for when the next best ones would take long to find. The outcome is not
    complete when there are too many states or too little time for the best one.
    """
    space = Space(problem)
    frontier = Frontier(space, plans, problem.memory_limit is not None)
    end = time.monotonic() + seconds
    start = space.start()
    bounds = {start.covered: problem.bound(problem.everything & ~start.covered)}
    queue: list[tuple[float, int, int, State]] = [(0.0, 0, 0, start)]
    # Without a bound there is nothing to compare roundings with.
    unit = SAME * bounds[start.covered] or 1e-30
    found: list[Plan] = []
    count, steps, most = 0, 0, most_states
    while queue and len(found) < plans:
        units, *_, state = queue[0]
        if steps >= most or (steps % 256 == 255 and time.monotonic() > end):
            if found:
                break
            best = beam(problem, BEAM_WIDTH)
            return Outcome(best.plans, max(units * unit, best.bound), False, steps + best.steps)
        heappop(queue)
        steps += 1
        if state.covered == problem.everything:
            if not found:
                most = min(most_states, steps + max(steps, MORE_STATES))
            found.append(finished(state))
            continue
        for after in space.following(state):
            if frontier.accepts(after):
                count += 1
                rest = bounds.get(after.covered)
                if rest is None:
                    rest = problem.bound(problem.everything & ~after.covered)
                    bounds[after.covered] = rest
                # Of equal ones those that cover more come first, then those that came first.
                total = (after.cost + rest) // unit
                heappush(queue, (total, -after.covered.bit_count(), count, after))
    bound = found[0].cost if found else inf
    return Outcome(tuple(found), bound, True, steps)


def beam(problem: Problem, width: int) -> Outcome:
    """
    A plan by looking only at the most promising states of those that cover as many nodes. What was left aside gives
    the bound.
    """
    space = Space(problem)
    frontier = Frontier(space, 1, problem.memory_limit is not None)
    start = space.start()
    levels: dict[int, list[tuple[float, int, State]]] = {}
    levels[start.covered.bit_count()] = [(0.0, 0, start)]
    ended: list[State] = []
    left_aside, count, steps = inf, 0, 0
    while levels:
        level = levels.pop(min(levels))
        level.sort(key=lambda item: item[:2])
        left_aside = min([left_aside, *(item[0] for item in level[width : width + 1])])
        for _, _, state in level[:width]:
            steps += 1
            if state.covered == problem.everything:
                ended.append(state)
                continue
            for after in space.following(state):
                if frontier.accepts(after):
                    count += 1
                    total = after.cost + problem.bound(problem.everything & ~after.covered)
                    size = after.covered.bit_count()
                    levels.setdefault(size, []).append((total, count, after))
    best = min(ended, key=lambda state: state.cost, default=None)
    cost = inf if best is None else best.cost
    plans = () if best is None else (finished(best),)
    return Outcome(plans, min(cost, left_aside), left_aside >= cost, steps)


def pareto(problem: Problem, *, most_states: int = MOST_STATES) -> Outcome:
    """
    The plans of which none is better both in cost and in memory, the cheapest first. Not complete when there are
    too many states.
    """
    space = Space(problem)
    frontier = Frontier(space, 1, counts_memory=True)
    queue: list[tuple[float, int, int, State]] = [(0.0, 0, 0, space.start())]
    found: list[Plan] = []
    count = steps = 0
    while queue and steps < most_states:
        *_, state = heappop(queue)
        steps += 1
        if state.covered == problem.everything:
            if not found or state.memory < found[-1].memory:
                found.append(finished(state))
            continue
        if found and state.memory >= found[-1].memory:
            continue
        for after in space.following(state):
            if frontier.accepts(after):
                count += 1
                rest = problem.bound(problem.everything & ~after.covered)
                heappush(queue, (after.cost + rest, after.memory, count, after))
    bound = found[0].cost if found else inf
    return Outcome(tuple(found), bound, not queue, steps)
