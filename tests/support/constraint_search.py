"""Placement problems as constraints, solved by CP-SAT of OR-Tools: places in time exclude regions that need each other."""

from importlib import import_module
from random import Random
from typing import Any

from random_problems import random_problem

from xrelay.placement.costs.borders import AT_HOST, Place
from xrelay.placement.graph.index_set import members

MOST_NODES = 26
"""Of a random problem."""


def cheapest(seed: int) -> float | None:
    """The cost of the best plan of a random problem; None when there is none."""
    cp_model = import_module("ortools.sat.python.cp_model")
    problem = random_problem(Random(seed), most_nodes=MOST_NODES)
    model = cp_model.CpModel()
    count = len(problem.choices)
    taken = [model.new_bool_var(f"take {c}") for c in range(count)]
    time = [model.new_int_var(0, count, f"time {c}") for c in range(count)]
    cost: list[Any] = [int(each.cost) * taken[c] for c, each in enumerate(problem.choices)]
    for index in members(problem.everything & ~problem.given):
        model.add_exactly_one(taken[c] for c in problem.containing[index])
    crossings: dict[tuple[int, Place, Place], Any] = {}
    for c, user in enumerate(problem.choices):
        for index in members(problem.needs[c]):
            makers = [m for m in problem.containing[index] if m != c]
            for m in makers:
                model.add(time[c] > time[m]).only_enforce_if(taken[c], taken[m])
            if problem.constants >> index & 1:
                continue
            is_given = problem.given >> index & 1
            pairs = (
                [(AT_HOST, [])]
                if is_given
                else [(problem.choices[m].place, [taken[m]]) for m in makers]
            )
            for place, conditions in pairs:
                key = (index, place, user.place)
                if key not in crossings:
                    crossings[key] = model.new_bool_var(str(key))
                    cost.append(
                        int(problem.border(place, user.place, problem.sizes[index]))
                        * crossings[key]
                    )
                model.add_implication(taken[c], crossings[key]) if is_given else model.add_bool_or(
                    [crossings[key], taken[c].negated(), *(each.negated() for each in conditions)]
                )
    if problem.memory_limit is not None:
        memory = (each.memory * taken[c] for c, each in enumerate(problem.choices))
        model.add(sum(memory) <= problem.memory_limit)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return solver.objective_value if status == cp_model.OPTIMAL else None
