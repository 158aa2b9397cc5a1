"""Searches at their edges: what nothing covers, what is refused, and which choices a state looks at."""

from math import inf

import pytest

from xrelay.placement.costs.borders import Place
from xrelay.placement.errors import PlacementError
from xrelay.placement.search.exact import beam, exact, pareto
from xrelay.placement.search.operator_level import operator_level
from xrelay.placement.search.problem import Choice, Outcome, Plan, Problem
from xrelay.placement.search.shortest_path import shortest_path
from xrelay.placement.search.states import Space

A, B = Place("a"), Place("b")


def nodes(*indices: int) -> int:
    return sum(1 << index for index in indices)


def overlapping() -> Problem:
    """A chain of three nodes of which the middle one is in both choices."""
    choices = [Choice(nodes(1, 2), A, 1.0), Choice(nodes(2, 3), A, 1.0)]
    return Problem([0, nodes(0), nodes(1), nodes(2)], choices, given=nodes(0))


def test_choices_that_cover_all_nodes_and_make_no_plan() -> None:
    """No search finds one, and each says that it looked at everything."""
    problem = overlapping()
    assert exact(problem) == Outcome((), inf, True, 2)
    assert shortest_path(problem) == Outcome((), inf, True, 2)
    assert operator_level(problem) == Outcome((), inf, True, 1)
    assert pareto(problem).plans == () and beam(problem, 5).plans == ()


def test_shortest_paths_have_choices_of_one_exit() -> None:
    """Others might need each other's results."""
    inputs = [0, nodes(0), nodes(0), nodes(1, 2), nodes(1, 2)]
    choices = [Choice(nodes(3), A, 1.0), Choice(nodes(4), A, 1.0), Choice(nodes(1, 2), A, 1.0)]
    problem = Problem(inputs, choices, given=1, names=["x", "left", "right", "y", "z"])
    with pytest.raises(PlacementError) as caught:
        shortest_path(problem)
    assert str(caught.value) == (
        "the choice of left, right has several exits, expected one for a shortest path"
    )
    single = [*choices[:2], Choice(nodes(1), A, 1.0), Choice(nodes(2), B, 2.0)]
    found = shortest_path(Problem(inputs, single, given=1))
    assert found == Outcome((Plan((0, 1, 2, 3), 5.0, 0),), 5.0, True, found.steps)


def test_families_have_one_missing_node_for_each_choice() -> None:
    """
    A choice that misses a node of the family adds no other one: {1, 5} misses 2 and 3, of which 3 is looked at
    because {1, 4} misses it.
    """
    inputs = [0, nodes(0), nodes(0), nodes(0), nodes(1, 3), nodes(1, 2, 3)]
    sets = [(1, 4), (1, 5), (1,), (2,), (3,), (4,), (5,)]
    problem = Problem(inputs, [Choice(nodes(*each), A, 1.0) for each in sets], given=1)
    space = Space(problem)
    found = space.family(nodes(0))
    assert [sets[place] for place in found] == [(1,), (3,)]
    assert space.family(nodes(0)) is found, "it is kept"
    assert [sets[place] for place in space.family(nodes(0, 1, 3))] == [(2,)]
    assert space.family(problem.everything) == []


def test_next_best_plans_are_left_when_they_take_long() -> None:
    """The best plan was found within the states that were allowed: the outcome is complete."""
    problem = Problem([0, 1], [Choice(2, A, 1.0), Choice(2, B, 2.0)], given=1)
    best, next_best = Plan((0,), 1.0, 0), Plan((1,), 2.0, 0)
    assert exact(problem, plans=2) == Outcome((best, next_best), 1.0, True, 3)
    assert exact(problem, plans=2, most_states=2) == Outcome((best,), 1.0, True, 2)
    stopped = exact(problem, plans=2, most_states=1)
    assert stopped.plans[0] == best and not stopped.is_complete
