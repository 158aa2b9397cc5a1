"""
Collage's placement of operators: dynamic programming from the result up, without borders.

A queue of nodes begins at the result. At each one every pattern is looked at that ends there, on the cheapest of the
engines that run it. The table has the cheapest way to match each set of nodes; an entry is extended only when all
nodes before it in the queue are matched. Each pattern costs a constant more, for the switch between engines.

Source: B. Jeon et al., "Collage" (2022), section 2.2.2.
"""

from math import inf

from xrelay.placement.graph.index_set import last_inside, members
from xrelay.placement.search.problem import Outcome, Plan, Problem

SWITCH_SECONDS = 1e-5
"""What each pattern costs beside its own time."""


def operator_level(problem: Problem, switch: float = SWITCH_SECONDS) -> Outcome:
    """
    The plan of the dynamic programming. Its cost is what it costs with borders; the bound is that of the sums it
    compares, without switches.
    """
    cheapest: dict[int, int] = {}
    for place, choice in enumerate(problem.choices):
        if problem.exits[place].bit_count() <= 1:
            other = cheapest.get(choice.inside)
            if other is None or choice.cost < problem.choices[other].cost:
                cheapest[choice.inside] = place
    ending: list[list[int]] = [[] for _ in problem.inputs]
    for inside, place in cheapest.items():
        ending[last_inside(inside)].append(place)
    table: dict[int, tuple[float, int]] = {problem.given: (0.0, 0)}
    steps = 0
    for node in reversed(range(len(problem.inputs))):
        if problem.given >> node & 1:
            continue
        for matched in [each for each in table if not each >> node & 1]:
            cost, chosen = table.pop(matched)
            for place in ending[node]:
                choice = problem.choices[place]
                if choice.inside & matched:
                    continue
                steps += 1
                after, total = matched | choice.inside, cost + choice.cost + switch
                if after not in table or total < table[after][0]:
                    table[after] = total, chosen | 1 << place
    if problem.everything not in table:
        return Outcome((), inf, True, steps)
    _, taken = table[problem.everything]
    listed = tuple(members(taken))
    memory = sum(problem.choices[place].memory for place in listed)
    plan = Plan(listed, problem.cost(listed), memory)
    return Outcome((plan,), sum(problem.choices[c].cost for c in listed), False, steps)
