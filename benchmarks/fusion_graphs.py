"""
Graphs of any size to measure fusion with. Each is a list of steps, so that engines build the same:
a step is an operator's name and the numbers of the values that it takes; value 0 is the input.
"""

from collections.abc import Callable

Steps = list[tuple[str, tuple[int, ...]]]


class _Graph:
    """Steps under construction."""

    def __init__(self) -> None:
        self.steps: Steps = []

    def add(self, name: str, *operands: int) -> int:
        """Adds a step; returns the number of its value."""
        self.steps.append((name, operands))
        return len(self.steps)


def chain(size: int) -> Steps:
    """Every operator takes the one before."""
    graph = _Graph()
    for number in range(size):
        graph.add("exp", number)
    return graph.steps


def diamonds(size: int) -> Steps:
    """A ladder: two operators of one value meet in a third, and so on."""
    graph, value = _Graph(), 0
    while len(graph.steps) + 3 <= size:
        value = graph.add("add", graph.add("exp", value), graph.add("tanh", value))
    return graph.steps


def wide_concat(size: int) -> Steps:
    """Operators on the input, a thousand of which are concatenated at a time, and summed up."""
    graph, total = _Graph(), 0
    while len(graph.steps) < size:
        width = min(1000, max(2, size - len(graph.steps) - 2))
        parts = [graph.add("exp", 0) for _ in range(width)]
        total = graph.add("add", graph.add("concatenate", *parts), total)
    return graph.steps


def long_skips(size: int) -> Steps:
    """Half of the operators go in, the others come back, each with a skip from its counterpart."""
    graph, value = _Graph(), 0
    stack: list[int] = []
    for _ in range(size // 2):
        value = graph.add("exp", value)
        stack.append(value)
    while stack:
        value = graph.add("add", value, stack.pop())
    return graph.steps


def transformer(size: int) -> Steps:
    """Layers as in BERT: attention and a feed-forward part, each with a skip and a normalisation."""
    graph, value = _Graph(), 0
    while len(graph.steps) + 16 <= size:
        query, key, data = (graph.add("dense", value) for _ in range(3))
        scores = graph.add("softmax", graph.add("tanh", graph.add("product", query, key)))
        mixed = graph.add("dense", graph.add("product", scores, data))
        value = graph.add("layer_norm", graph.add("add", mixed, value))
        hidden = graph.add("exp", graph.add("tanh", graph.add("dense", value)))
        value = graph.add("layer_norm", graph.add("add", graph.add("dense", hidden), value))
    return graph.steps


GRAPHS: dict[str, Callable[[int], Steps]] = {
    "chain": chain,
    "diamonds": diamonds,
    "wide concat": wide_concat,
    "long skips": long_skips,
    "transformer": transformer,
}
"""The graphs by name; they have about as many operators as asked for."""
