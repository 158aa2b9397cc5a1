"""
Cases of one implementation, compiled and compared with the interpreter.

Code for several threads, run by teams of every size up to that, and code for another number of
threads must give the same bits: what a thread computes does not depend on how many there are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TypeAlias

import numpy as np
from cases.strategies.case import Case
from cases.strategies.draws import others
from cases.strategies.windows import Convolution
from graphs import Graph
from guard_pages import guarded_run
from raw_calls import RawCode

from xrelay.interpreters.arrays import Array
from xrelay.tools.verify import largest_difference

Place: TypeAlias = tuple[int, ...]
"""The index of an element."""


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


class Trial:
    """Cases of one implementation in one graph, compiled for a target and numbers of threads."""

    def __init__(self, cases: Sequence[Case], target: str, *threads: int, seed: int = 0):
        self.cases, self.target = cases, target
        self.graph = Graph(seed)
        self.firsts: list[int] = []
        """The number of each case's first input."""
        for case in cases:
            self.firsts.append(len(self.graph.inputs))
            self.graph.returns(case.build(self.graph))
        implementation = cases[0].implementation
        self.codes = [
            forced_code(self.graph, implementation, len(cases), target, count) for count in threads
        ]

    def outcomes(self) -> list[Outcome]:
        """Judges each case; all runs have guarded memory."""
        inputs = self.graph.inputs
        expected = [array for _, array in self.graph.expected()]
        alone = guarded_run(self.codes[0], inputs, 1, at_end=True)
        together = [
            (size, threads, guarded_run(code, inputs, size, at_end=size % 2 == 0))
            for code in self.codes
            for threads in [code.signature.threads]
            for size in range(1, threads + 1)
        ]
        result: list[Outcome] = []
        for i, (case, wanted) in enumerate(zip(self.cases, expected, strict=True)):
            error = largest_difference(alone[i], wanted)
            problem = None
            if not error <= case.bound:
                problem = f"the error is {error:.2g}, at most {case.bound:.2g} is right"
            for size, threads, found in together:
                if found[i].tobytes() != alone[i].tobytes():
                    problem = f"other bits by a team of {size}, compiled for {threads}"
            result.append(Outcome(error, problem and f"{self.target} {case}: {problem}"))
        return result

    def spoiled(self, number: int) -> Iterator[tuple[Case, Place, Array, Array]]:
        """
        For each case, an element of whose input `number` is not finite: its place, what the
        interpreter says, and what the code computes.
        """
        self.graph.inputs = [array.copy() for array in self.graph.inputs]
        places = [
            spoil(self.graph, first + number, (inf, nan)[i % 2])
            for i, first in enumerate(self.firsts)
        ]
        expected = [array for _, array in self.graph.expected()]
        found = guarded_run(self.codes[0], self.graph.inputs, 1, at_end=False)
        return zip(self.cases, places, expected, found, strict=True)

    def leaks(self, number: int = 0) -> str:
        """
        What is wrong, a line each, with cases one element of whose input `number` is not finite: the
        elements of the result that are not finite must be those that the interpreter says, and the
        others right.
        """
        lines: list[str] = []
        for case, place, wanted, found in self.spoiled(number):
            finite = np.isfinite(wanted)
            spread = np.argwhere(np.isfinite(found) != finite)
            if len(spread):
                at = tuple(spread[0])
                lines.append(
                    f"{self.target} {case}: {place} of input {number} is not finite and makes "
                    f"element {list(map(int, at))} {found[at]}, not {wanted[at]}"
                )
            elif not largest_difference(found[finite], wanted[finite]) <= case.bound:
                lines.append(f"{self.target} {case}: errors beside {place} of input {number}")
        return "\n".join(lines)


def problems(cases: Sequence[Case], target: str, threads: int, seed: int = 0) -> str:
    """What is wrong with some cases compiled for some threads, a line each."""
    return listed(Trial(cases, target, threads, seed=seed).outcomes())


def listed(found: Sequence[Outcome]) -> str:
    """What is wrong, a line each."""
    return "\n".join(outcome.problem for outcome in found if outcome.problem)


# -- elements that are not finite ------------------------------------------------------------------


def spoil(graph: Graph, number: int, value: float) -> Place:
    """Gives a finite element of an input, drawn by the graph's numbers, a value that is not."""
    array = graph.inputs[number]
    places = np.argwhere(np.isfinite(array))
    place = tuple(int(i) for i in places[graph.rng.integers(len(places))])
    array[place] = value
    return place


def winograd_leaks(convs: Sequence[Convolution], tile: int, target: str) -> str:
    """
    What is wrong, a line each, with convolutions by Winograd's algorithm one element of whose input
    is not finite: tiles of `tile` x `tile` results that do not read it must be right.
    """
    cases = [Case(f"winograd-{tile}", str(conv), 2e-5, conv.build) for conv in convs]
    lines: list[str] = []
    spoiled = Trial(cases, target, 1, seed=tile).spoiled(0)
    for conv, (case, place, wanted, found) in zip(convs, spoiled, strict=True):
        (top, left, _, _) = conv.window.pads
        rows, columns = (
            _tiles_that_read(place[2 + axis], (top, left)[axis], tile, wanted.shape[2 + axis])
            for axis in (0, 1)
        )
        clean = np.ones(wanted.shape, bool)
        clean[place[0]] = ~(rows[:, None] & columns[None, :])
        error = largest_difference(found[clean], wanted[clean])
        what = f"{target} {case}: {place} is not finite"
        if not np.isfinite(found[clean]).all():
            lines.append(f"{what} and spoils other tiles")
        elif not error <= case.bound:
            lines.append(f"{what}, and the error elsewhere is {error:.2g}")
    return "\n".join(lines)


def _tiles_that_read(place: int, pad: int, tile: int, positions: int) -> Array:
    """Which positions of the result lie in a tile that reads row or column `place`."""
    first = np.arange(positions) // tile * tile - pad
    return (first <= place) & (place < first + tile + 2)
