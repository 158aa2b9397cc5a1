"""Random problems of placement, and their best plans by trying everything."""

from collections.abc import Iterator
from importlib import import_module
from random import Random
from typing import Any

from xrelay.placement.costs.borders import AT_HOST, Place
from xrelay.placement.graph.index_set import index_set, members
from xrelay.placement.search.problem import Choice, Plan, Problem


def random_problem(random: Random, most_nodes: int = 12, *, single_exits: bool = False) -> Problem:
    """
    A graph of up to so many operators behind one parameter, up to three engines, overlapping candidates, some of
    several exits; often with borders, pins and a limit of memory. Costs are small whole numbers, so that there are ties.
    """
    count = random.randint(1, most_nodes)
    inputs = [0]
    for index in range(1, count + 1):
        reach = range(max(0, index - random.choice((1, 2, 4))), index)
        inputs.append(index_set(random.sample(reach, random.randint(1, min(3, len(reach))))))
    sizes = [random.randint(1, 4) for _ in inputs]
    engines = [Place(name, layout) for name in "abc" for layout in ("row-major",)]
    engines = engines[: random.randint(1, 3)]
    if random.random() < 0.3:
        engines.append(Place("a", "blocked"))
    pins = {i: random.choice(engines).engine for i in range(1, count + 1) if random.random() < 0.08}
    choices = list(_choices(random, inputs, engines))
    choices = [
        c
        for c in choices
        if all(pins.get(i, c.place.engine) == c.place.engine for i in members(c.inside))
    ]
    table = {
        (one, other): float(random.randint(0, 4)) if one != other or random.random() < 0.2 else 0.0
        for one in (AT_HOST, *engines)
        for other in (AT_HOST, *engines)
    }
    has_borders = random.random() < 0.8
    problem = Problem(
        inputs,
        choices,
        sizes,
        given=1,
        constants=int(random.random() < 0.2),
        border=(lambda a, b, size: table[a, b] * size) if has_borders else (lambda a, b, size: 0.0),
        memory_limit=random.randint(count, 6 * count) if random.random() < 0.4 else None,
    )
    if single_exits:
        kept = [
            c for c, e in zip(problem.choices, problem.exits, strict=True) if e.bit_count() <= 1
        ]
        return Problem(inputs, kept, sizes, given=1, border=problem.border)
    return problem


def _choices(random: Random, inputs: list[int], engines: list[Place]) -> Iterator[Choice]:
    for index in range(1, len(inputs)):
        for place in random.sample(engines, min(len(engines), random.choice((1, 1, 1, 2, 3)))):
            yield Choice(1 << index, place, float(random.randint(0, 9)), random.randint(0, 5))
    for _ in range(random.randint(0, 2 * len(inputs))):
        inside = 1 << random.randrange(1, len(inputs))
        for _ in range(random.randint(1, 4)):
            near = [
                i
                for i in range(1, len(inputs))
                if not inside >> i & 1
                and (inputs[i] & inside or any(inputs[j] >> i & 1 for j in members(inside)))
            ]
            if near:
                inside |= 1 << random.choice(near)
        if is_convex(inputs, inside):
            cost = float(random.randint(0, 5 * inside.bit_count()))
            yield Choice(inside, random.choice(engines), cost, random.randint(0, 5))


def is_convex(inputs: list[int], inside: int) -> bool:
    """Whether no way leads out of a set and back."""
    behind = 0
    for index in range(len(inputs)):
        if inside >> index & 1:
            if inputs[index] & behind:
                return False
        elif inputs[index] & (inside | behind):
            behind |= 1 << index
    return True


def all_plans(problem: Problem) -> Iterator[Plan]:
    """Every plan: each way to cover the nodes once, in which the choices can run."""
    pending: list[tuple[int, tuple[int, ...]]] = [(problem.given, ())]
    while pending:
        covered, chosen = pending.pop()
        left = problem.everything & ~covered
        if not left:
            if can_run(problem, chosen):
                memory = sum(problem.choices[c].memory for c in chosen)
                if problem.memory_limit is None or memory <= problem.memory_limit:
                    yield Plan(tuple(sorted(chosen)), cost_of(problem, chosen), memory)
            continue
        first = next(members(left))
        for place in range(len(problem.choices)):
            inside = problem.choices[place].inside
            if inside >> first & 1 and not inside & covered:
                pending.append((covered | inside, (*chosen, place)))


def can_run(problem: Problem, chosen: tuple[int, ...]) -> bool:
    """Whether some order of choices has the inputs of each computed before it."""
    home = {i: c for c in chosen for i in members(problem.choices[c].inside)}
    needs = {
        c: {
            home[j]
            for i in members(problem.choices[c].inside)
            for j in members(problem.inputs[i])
            if j in home
        }
        - {c}
        for c in chosen
    }
    while ready := [c for c, others in needs.items() if not others]:
        needs = {c: others - set(ready) for c, others in needs.items() if c not in ready}
    return not needs


def cost_of(problem: Problem, chosen: tuple[int, ...]) -> float:
    """What a plan costs, from its definition."""
    total = sum(problem.choices[c].cost for c in chosen)
    at = {i: problem.choices[c].place for c in chosen for i in members(problem.choices[c].inside)}
    wanted: set[tuple[int, Place]] = set()
    for c in chosen:
        choice = problem.choices[c]
        for i in members(choice.inside):
            for j in members(problem.inputs[i]):
                if not choice.inside >> j & 1 and not problem.constants >> j & 1:
                    wanted.add((j, choice.place))
    for j, place in wanted:
        total += problem.border(at.get(j, AT_HOST), place, problem.sizes[j])
    return total


MOST_NODES = 26
"""Of problems that are too large to try all plans."""


def cheapest(seed: int) -> float | None:
    """
    The cost of the best plan of a random problem by CP-SAT of OR-Tools, where places in time exclude regions that need
    each other; None when there is none.
    """
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
