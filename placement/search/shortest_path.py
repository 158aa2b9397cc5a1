"""
The cheapest cover without borders: states are sets of covered nodes, and the next choice is one that has the first
uncovered node inside.

Safe for choices with one exit only: others might need each other's results.

Source: the search of TVM's `collage`.
"""

from heapq import heappop, heappush
from math import inf

from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.index_set import first_outside, members
from xrelay.placement.search.problem import Outcome, Plan, Problem


def shortest_path(problem: Problem) -> Outcome:
    """
    The cheapest plan, ties decided by sets; what borders cost is added at the end. Memory is not looked at.

    Raises PlacementError for choices with several exits.
    """
    for place, choice in enumerate(problem.choices):
        if problem.exits[place].bit_count() > 1:
            nodes = ", ".join(problem.name(index) for index in members(choice.inside))
            raise PlacementError(
                f"the choice of {nodes} has several exits, expected one for a shortest path"
            )
    best: dict[int, tuple[float, int]] = {problem.given: (0.0, 0)}
    queue = [(0.0, problem.given)]
    done: set[int] = set()
    steps = 0
    while queue:
        cost, covered = heappop(queue)
        if covered in done:
            continue
        done.add(covered)
        steps += 1
        if covered == problem.everything:
            chosen = tuple(members(best[covered][1]))
            memory = sum(problem.choices[place].memory for place in chosen)
            plan = Plan(chosen, problem.cost(chosen), memory)
            return Outcome((plan,), cost, not problem.has_borders, steps)
        for place in problem.containing[first_outside(covered)]:
            choice = problem.choices[place]
            if choice.inside & covered:
                continue
            after, total = covered | choice.inside, cost + choice.cost
            if after not in best or total < best[after][0]:
                best[after] = total, best[covered][1] | 1 << place
                heappush(queue, (total, after))
    return Outcome((), inf, True, steps)
