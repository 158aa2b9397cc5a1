"""Searches: exact ones find what trying everything finds, and bounds never exceed it."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from math import inf
from multiprocessing import get_context
from random import Random

import pytest
from random_problems import MOST_NODES, all_plans, cheapest, random_problem

from xrelay.placement.costs.borders import AT_HOST, Place
from xrelay.placement.errors import PlacementError
from xrelay.placement.search.evolution import Evolution, Genes
from xrelay.placement.search.exact import beam, exact, pareto
from xrelay.placement.search.integer_program import integer_program, relaxation
from xrelay.placement.search.operator_level import operator_level
from xrelay.placement.search.problem import Choice, Outcome, Problem
from xrelay.placement.search.shortest_path import shortest_path

A, B, C = Place("a"), Place("b"), Place("c")
GRAPHS = 60
MOST = 2000
MOST_PLANS = 1500
"""Of a problem: all are tried, one after the other."""


def graphs(count: int, **options: bool) -> list[tuple[Problem, list[float]]]:
    """Random problems that have choices for all nodes, and the costs of their plans in ascending order."""
    found: list[tuple[Problem, list[float]]] = []
    seed = 0
    while len(found) < count:
        seed += 1
        try:
            problem = random_problem(Random(seed), **options)
        except PlacementError:
            continue  # A pin left a node without a choice.
        plans = list(islice(all_plans(problem), MOST_PLANS))
        if len(plans) < MOST_PLANS:
            found.append((problem, sorted(plan.cost for plan in plans)))
    return found


@pytest.mark.parametrize(
    "count", [GRAPHS, pytest.param(MOST, marks=[pytest.mark.extensive, pytest.mark.slow])]
)
def test_exact_methods_equal_brute_force(count: int) -> None:
    for problem, costs in graphs(count):
        least = costs[0] if costs else inf
        outcome = exact(problem, plans=3)
        assert [plan.cost for plan in outcome.plans] == costs[:3]
        assert outcome.is_complete and outcome.bound == least
        for plan in outcome.plans:
            assert problem.plan(plan.chosen) == plan
        assert problem.bound(problem.everything) <= least
        narrow = beam(problem, 1)
        assert narrow.steps <= 1 + (problem.everything & ~problem.given).bit_count()
        assert narrow.bound <= least and (narrow.best is None or narrow.best.cost >= least)
        stopped = exact(problem, most_states=3)
        assert stopped.bound <= least and (stopped.best is None or stopped.best.cost >= least)


@pytest.mark.parametrize(
    "count", [GRAPHS, pytest.param(MOST, marks=[pytest.mark.extensive, pytest.mark.slow])]
)
def test_integer_programs_equal_brute_force(count: int) -> None:
    for problem, costs in graphs(count):
        least = costs[0] if costs else inf
        outcome = integer_program(problem)
        found = inf if outcome.best is None else outcome.best.cost
        assert found == pytest.approx(least)
        assert outcome.bound <= least * (1 + 1e-6) + 1e-9
        assert relaxation(problem) <= least * (1 + 1e-6) + 1e-9


def test_pareto_fronts_are_those_of_all_plans() -> None:
    for problem, _ in graphs(30):
        points = sorted({(plan.cost, plan.memory) for plan in all_plans(problem)})
        front: list[tuple[float, int]] = []
        for point in points:
            if not front or point[1] < front[-1][1]:
                front.append(point)
        assert [(plan.cost, plan.memory) for plan in pareto(problem).plans] == front


def test_shortest_path_is_exact_without_borders() -> None:
    tried = 0
    for problem, costs in graphs(60, single_exits=True):
        found = shortest_path(problem)
        if problem.has_borders:
            assert found.bound <= costs[0]
        else:
            tried += 1
            assert found.best is not None and found.best.cost == costs[0] == found.bound
    assert tried > 5


def test_operator_level_is_that_without_switches() -> None:
    for problem, costs in graphs(60, single_exits=True):
        found = operator_level(problem, 0.0)
        assert found.best is not None and found.best.cost >= costs[0]
        if not problem.has_borders:
            assert found.best.cost == costs[0]


def test_operator_level_pays_for_switches() -> None:
    choices = [Choice(0b10, A, 1.0), Choice(0b100, B, 1.0), Choice(0b110, A, 2.5)]
    problem = Problem([0, 1, 2], choices, given=1)
    assert operator_level(problem, 0.0).plans[0].chosen == (0, 1)
    assert operator_level(problem, 1.0).plans[0].chosen == (2,)


@pytest.mark.extensive
@pytest.mark.slow
def test_the_exact_search_and_the_integer_program_agree_with_cp_sat() -> None:
    """On graphs that are too large for brute force."""
    if find_spec("ortools") is None:
        pytest.skip("OR-Tools is not installed")
    problems = {}
    for seed in range(1000, 1120):
        with suppress(PlacementError):  # A pin may leave a node without a choice.
            problems[seed] = random_problem(Random(seed), most_nodes=MOST_NODES)
    # Both solvers bring a HiGHS of their own, which do not go together in one process.
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        costs = dict(zip(problems, other.map(cheapest, problems), strict=True))
    for seed, problem in problems.items():
        for outcome in (exact(problem), integer_program(problem)):
            assert outcome.is_complete, seed
            found = None if outcome.best is None else outcome.best.cost
            assert found == pytest.approx(costs[seed], abs=1e-6), seed
    assert sum(cost is not None for cost in costs.values()) > 50


# -- small cases of the specification ---------------------------------------------------------------


def chain(*choices: Choice, border: Callable[[Place, Place, int], float] | None = None) -> Problem:
    """Nodes in a row behind a parameter."""
    count = max(choice.inside.bit_length() for choice in choices)
    inputs = [0, *(1 << index for index in range(count - 1))]
    return Problem(inputs, choices, given=1, border=border or (lambda a, b, size: 0.0))


def best(problem: Problem) -> list[Choice]:
    outcome = exact(problem)
    assert outcome.best is not None and outcome.gap == 0
    return [problem.choices[place] for place in outcome.best.chosen]


def test_one_operator_to_either_engine() -> None:
    one, other = Choice(0b10, A, 2.0), Choice(0b10, B, 1.0)
    assert best(chain(one, other)) == [other]
    assert best(chain(one, Choice(0b10, B, 3.0))) == [one]


def test_diamonds_at_each_depth() -> None:
    """Two branches of equal length, each cheaper on another engine, then joined."""
    for depth in range(1, 6):
        inputs, left, right = [0, 0b1], [1], [1]
        for _ in range(depth):
            for branch in (left, right):
                inputs.append(1 << branch[-1])
                branch.append(len(inputs) - 1)
        inputs.append(1 << left[-1] | 1 << right[-1])
        choices: list[Choice] = []
        for index in range(1, len(inputs)):
            cheap = B if index in left[1:] else A
            choices += [Choice(1 << index, at, 1.0 if at == cheap else 5.0) for at in (A, B)]
        problem = Problem(inputs, choices, given=1)
        outcome = exact(problem)
        assert outcome.best is not None and outcome.best.cost == 2 * depth + 2
        wanted = {1 << index: B if index in left[1:] else A for index in range(1, len(inputs))}
        assert {c.inside: c.place for c in best(problem)} == wanted


def test_a_saving_that_only_fusion_gives() -> None:
    singles = [Choice(0b10, A, 1.0), Choice(0b100, A, 1.0)]
    fused = Choice(0b110, B, 1.5)
    assert best(chain(*singles, Choice(0b10, B, 2.0), fused)) == [fused]


def test_borders_reverse_a_choice() -> None:
    apart = [Choice(0b10, A, 1.0), Choice(0b100, B, 1.0)]
    together = [Choice(0b10, B, 2.0), Choice(0b100, A, 3.0)]

    def border(one: Place, other: Place, size: int) -> float:
        return 2.0 if {one, other} == {A, B} else 0.0

    assert best(chain(*apart, *together)) == apart
    assert best(chain(*apart, *together, border=border)) == [apart[1], together[0]]


def test_a_value_is_brought_to_a_place_once() -> None:
    """Two users on another engine pay one border; the fault of counting pairs of nodes."""
    inputs = [0, 0b1, 0b10, 0b10]
    choices = [Choice(0b10, A, 0.0), Choice(0b100, B, 1.0), Choice(0b1000, B, 1.0)]
    choices += [Choice(0b100, A, 3.5), Choice(0b1000, A, 3.5)]
    problem = Problem(
        inputs, choices, given=1, border=lambda a, b, n: 4.0 if (a, b) == (A, B) else 0.0
    )
    outcome = exact(problem)
    assert outcome.best is not None and outcome.best.cost == 6.0
    assert problem.cost(outcome.best.chosen) == 6.0


def test_two_residual_blocks() -> None:
    """conv, relu, add with what went in; twice. The first engine is good at the one, the second at the other."""
    inputs = [0, 0b1, 0b10, 0b101, 0b1000, 0b10000, 0b101000]
    choices = [Choice(1 << i, at, 3.0) for i in range(1, 7) for at in (A, B)]
    first, second = Choice(0b1110, A, 4.0), Choice(0b1110000, B, 4.0)
    choices += [first, second, Choice(0b1110, B, 6.0), Choice(0b1110000, A, 6.0)]

    def problem(cost: float) -> Problem:
        return Problem(
            inputs, choices, given=1, border=lambda a, b, n: cost if {a, b} == {A, B} else 0.0
        )

    assert best(problem(1.0)) == [first, second]
    assert len({choice.place for choice in best(problem(3.0))}) == 1


def test_regions_that_need_each_other_are_never_a_plan() -> None:
    """a→c, a→d, b→c, b→d: a with d on one engine and b with c on another cannot both be regions."""
    inputs = [0, 0b1, 0b1, 0b110, 0b110]
    crossed = [Choice(0b10010, A, 1.0), Choice(0b1100, B, 1.0)]
    singles = [Choice(1 << i, A, 9.0) for i in range(1, 5)]
    problem = Problem(inputs, [*crossed, *singles], given=1)
    assert problem.order([0, 1]) is None
    with pytest.raises(PlacementError, match="some regions need each other's results"):
        problem.plan([0, 1])
    found = exact(problem)
    assert found.best is not None and found.best.cost == 19.0
    assert integer_program(problem).plans[0].cost == pytest.approx(19.0)


def test_memory_limits() -> None:
    choices = [Choice(0b10, A, 1.0, 100), Choice(0b10, B, 2.0, 10)]

    def limited(limit: int | None) -> Outcome:
        return exact(Problem([0, 1], choices, given=1, memory_limit=limit))

    assert [limited(limit).plans[0].cost for limit in (None, 100, 99, 10)] == [1, 1, 2, 2]
    assert limited(9).best is None and limited(9).bound == inf


def test_what_nothing_covers_is_named() -> None:
    with pytest.raises(PlacementError, match="no engine runs conv1: the rules leave it uncovered"):
        Problem([0, 1], [Choice(0b10, A, inf)], given=1, names=["x", "conv1"])


def test_plans_are_checked() -> None:
    problem = chain(Choice(0b10, A, 1.0), Choice(0b110, A, 1.0), Choice(0b100, A, 1.0))
    with pytest.raises(PlacementError, match="node 1 is covered twice"):
        problem.plan([0, 1])
    with pytest.raises(PlacementError, match="node 2 is not covered"):
        problem.plan([0])


def test_a_long_chain_has_few_states() -> None:
    """Twenty alternatives a node, and yet as many states as nodes: it does not matter in which order."""
    nodes = 200
    choices = [Choice(1 << i, at, 1.0) for i in range(1, nodes) for at in (A, B, C)]
    choices += [Choice(0b11 << i, at, 1.5) for i in range(1, nodes - 1) for at in (A, B)]
    problem = Problem(
        [0, *(1 << i for i in range(nodes - 1))],
        choices,
        given=1,
        border=lambda a, b, n: float(a != b),
    )
    outcome = exact(problem)
    assert outcome.is_complete and outcome.steps < 20 * nodes


def test_branches_do_not_multiply() -> None:
    """Eight branches of six nodes: sets of covered nodes would be 7**8 without closed families."""
    inputs, ends = [0], list[int]()
    for _ in range(8):
        last = 0
        for _ in range(6):
            inputs.append(1 << last)
            last = len(inputs) - 1
        ends.append(last)
    inputs.append(sum(1 << end for end in ends))
    choices = [Choice(1 << i, at, 1.0 + (at == B)) for i in range(1, len(inputs)) for at in (A, B)]
    problem = Problem(inputs, choices, given=1)
    outcome = exact(problem)
    assert outcome.best is not None and outcome.best.cost == 49 and outcome.steps < 200


def test_outcomes_tell_the_gap() -> None:
    problem = chain(Choice(0b10, A, 4.0))
    plan = problem.plan([0])
    assert Outcome((plan,), 3.0).gap == 0.25
    assert Outcome((plan,), 4.0).gap == Outcome((), inf).gap == 0


def test_evolution_improves_what_it_starts_from() -> None:
    measured: list[Genes] = []

    def seconds(genes: Genes) -> float:
        measured.append(genes)
        return 10.0 - sum(gene == place % 3 for place, gene in enumerate(genes))

    start = (0,) * 8
    evolution = Evolution([3] * 8, seconds)
    found, cost = evolution.run(start, generations=40)
    assert cost < seconds(start) - 3 and seconds(found) == cost
    assert len(set(measured)) >= len(measured) - 2, "nothing is measured twice"
    again, _ = Evolution([3] * 8, seconds).run(start, generations=40)
    assert again == found
    assert Evolution([3] * 8, seconds).run(start, generations=40, seconds=0.0)[0] == start
    assert all(0 <= gene < 3 for genes in islice(measured, 500) for gene in genes)
    assert AT_HOST.engine == "host"
