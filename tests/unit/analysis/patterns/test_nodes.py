"""Walks over the nodes of patterns, whose parts are shared in every way, beside naive ones."""

import random
from collections.abc import Iterator

import pytest

from xrelay.analysis.patterns.language import Pattern, is_op, wildcard
from xrelay.analysis.patterns.nodes import nodes, self_contained


def drawn(seed: int) -> Pattern:
    """A pattern of up to a dozen nodes, each a part of any number of others."""
    rng = random.Random(seed)
    made: list[Pattern] = [wildcard(), wildcard()]
    for _ in range(rng.randint(1, 10)):
        # The last ones are parts more often: patterns are deep, too.
        parts = [rng.choice(made[-rng.choice((2, 12)) :]) for _ in range(rng.randint(1, 3))]
        made.append(is_op("concatenate")(*parts))
    return made[-1]


def below(pattern: Pattern) -> set[Pattern]:
    """A node and all that it is made of."""
    found: set[Pattern] = set()

    def visit(node: Pattern) -> None:
        if node not in found:
            found.add(node)
            for part in node.parts():
                visit(part)

    visit(pattern)
    return found


def uses(pattern: Pattern) -> Iterator[tuple[Pattern, Pattern]]:
    """Nodes with each of their parts."""
    for node in below(pattern):
        for part in node.parts():
            yield node, part


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_nodes_whose_parts_nobody_else_has(first: int) -> None:
    for seed in range(first, first + 100):
        pattern = drawn(seed)
        expected = {
            node
            for node in below(pattern) - {pattern}
            if node.parts()
            and all(
                user in below(node)
                for user, part in uses(pattern)
                if part in below(node) and part is not node
            )
        }
        assert self_contained(pattern) == expected, f"seed {seed}"


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_parts_come_before_what_they_are_parts_of(first: int) -> None:
    for seed in range(first, first + 100):
        pattern = drawn(seed)
        order = nodes(pattern)
        assert len(order) == len(set(order)) and set(order) == below(pattern)
        place = {node: i for i, node in enumerate(order)}
        assert all(place[part] < place[node] for node, part in uses(pattern))
