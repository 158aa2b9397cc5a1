"""
Cases of one implementation, compiled and compared with the interpreter.

Code for one thread and code for several, run by teams of every size up to that, must give the same
bits: what a thread computes does not depend on how many there are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from graphs import Graph
from raw_calls import RawCode
from strategy_cases import Case, Convolution, others

from xrelay.interpreters.arrays import Array
from xrelay.tools.verify import largest_difference


@dataclass(frozen=True)
class Outcome:
    """What a case gave."""

    error: float
    """The largest error relative to the largest expected value."""
    problem: str | None
    """What is wrong, if anything is."""


def forced_code(
    graph: Graph, implementation: str, count: int, target: str, threads: int
) -> RawCode:
    """The code of a graph whose `count` cases are all computed by an implementation."""
    code = graph.code(target, threads, others(implementation))
    used = Counter(
        name for step in code.signature.steps for name in step.implementation.split(", ")
    )
    assert used[implementation] == count, f"'{implementation}' computes {used} of {count} cases"
    return RawCode(code)


def outcomes(cases: Sequence[Case], target: str, threads: int, seed: int = 0) -> list[Outcome]:
    """Compiles cases of one implementation together, runs them, and judges each."""
    graph = Graph(seed)
    for case in cases:
        graph.returns(case.build(graph))
    expected = [array for _, array in graph.expected()]
    implementation = cases[0].implementation
    alone = forced_code(graph, implementation, len(cases), target, 1).run(graph.inputs, 1)
    team = forced_code(graph, implementation, len(cases), target, threads)
    together = [team.run(graph.inputs, size) for size in range(1, threads + 1)]
    result: list[Outcome] = []
    for i, (case, wanted) in enumerate(zip(cases, expected, strict=True)):
        error = largest_difference(alone[i], wanted)
        problem = None
        if not error <= case.bound:
            problem = f"the error is {error:.2g}, at most {case.bound:.2g} is right"
        for size, found in enumerate(together, 1):
            if found[i].tobytes() != alone[i].tobytes():
                problem = f"other bits by a team of {size}, compiled for {threads}"
        result.append(Outcome(error, problem and f"{target} {case}: {problem}"))
    return result


def problems(cases: Sequence[Case], target: str, threads: int, seed: int = 0) -> str:
    """What is wrong with some cases, a line each."""
    found = outcomes(cases, target, threads, seed)
    return "\n".join(outcome.problem for outcome in found if outcome.problem)


# -- elements that are not finite ------------------------------------------------------------------


def spoil(graph: Graph, number: int, value: float) -> tuple[int, ...]:
    """Gives a finite element of an input, drawn by the graph's numbers, a value that is not."""
    array = graph.inputs[number]
    places = np.argwhere(np.isfinite(array))
    place = tuple(int(i) for i in places[graph.rng.integers(len(places))])
    array[place] = value
    return place


def leak(case: Case, number: int, value: float, target: str, seed: int) -> str | None:
    """
    What is wrong with a case one element of whose input `number` is `value`: the elements of the
    result that are not finite must be those that the interpreter says, and the others right.
    """
    graph = Graph(seed)
    graph.returns(case.build(graph))
    place = spoil(graph, number, value)
    ((_, wanted),) = graph.expected()
    (found,) = forced_code(graph, case.implementation, 1, target, 1).run(graph.inputs, 1)
    spread = np.argwhere(np.isfinite(found) != np.isfinite(wanted))
    if len(spread):
        return (
            f"{target} {case}: {value} at {place} of input {number} makes element "
            f"{spread[0].tolist()} {found[tuple(spread[0])]}, not {wanted[tuple(spread[0])]}"
        )
    finite = np.isfinite(wanted)
    error = largest_difference(found[finite], wanted[finite])
    return None if error <= case.bound else f"{target} {case}: the error is {error:.2g}"


def winograd_leak(conv: Convolution, tile: int, value: float, target: str, seed: int) -> str | None:
    """
    What is wrong with a convolution by Winograd's algorithm one element of whose input is
    `value`: tiles of `tile` x `tile` results that do not read it must be right.
    """
    assert conv.data_lanes is not None
    graph = Graph(seed)
    graph.returns(conv.build(graph))
    place = spoil(graph, 0, value)
    ((_, wanted),) = graph.expected()
    (found,) = forced_code(graph, f"winograd-{tile}", 1, target, 1).run(graph.inputs, 1)
    (top, left, _, _) = conv.window.pads
    rows, columns = (
        _tiles_that_read(place[2 + axis], (top, left)[axis], tile, wanted.shape[2 + axis])
        for axis in (0, 1)
    )
    clean = np.ones(wanted.shape, bool)
    clean[place[0]] = ~(rows[:, None] & columns[None, :])
    error = largest_difference(found[clean], wanted[clean])
    what = f"{target} {conv} winograd-{tile}: {value} at {place}"
    if not np.isfinite(found[clean]).all():
        return f"{what} spoils other tiles"
    return None if error <= 2e-5 else f"{what}, and the error elsewhere is {error:.2g}"


def _tiles_that_read(place: int, pad: int, tile: int, positions: int) -> Array:
    """Which positions of the result lie in a tile that reads row or column `place`."""
    first = np.arange(positions) // tile * tile - pad
    return (first <= place) & (place < first + tile + 2)
