"""
The search as an integer program, solved by HiGHS (the package `highspy`).

    x[c]          1 if choice c is taken; of those that contain a node, exactly one
    y[u, p, q]    1 if the value of node u lies at place p and is wanted at place q:
                  y[u, p, q] >= sum of x[c] over the choices at p that contain u + x[d] - 1,
                  for each choice d at q that needs u

Choices that need each other are excluded when a solution has some: of those on a circle, not all may be taken.
"""

from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from typing import Any

from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.index_set import members
from xrelay.placement.search.problem import Outcome, Problem


def solver() -> Any:
    """
    A silent HiGHS.

    Raises PlacementError when it is not installed, or does not go with what else is loaded.
    """
    try:
        base: Any = import_module("highspy").Highs
    except ImportError as error:
        raise PlacementError(
            f"the integer program needs the package highspy (pip install highspy), which does not load: {error}"
        ) from error

    class Silent(base):
        def enableCallbacks(self) -> None:
            # What the constructor ends with; it would print who made the solver.
            self.setOptionValue("output_flag", False)
            base.enableCallbacks(self)

    made: Any = Silent()
    made.setOptionValue("output_flag", False)
    made.setOptionValue("threads", 1)
    made.setOptionValue("random_seed", 0)
    made.setOptionValue("mip_rel_gap", 0.0)
    made.setOptionValue("mip_abs_gap", 0.0)
    return made


@dataclass
class _Program:
    """The program in the solver. Columns are the choices, then the crossings."""

    problem: Problem
    unit: float
    """The seconds that count as 1 in the objective: solvers have absolute tolerances."""
    highs: Any = field(default_factory=solver)
    crossings: dict[tuple[int, int, int], int] = field(
        default_factory=dict[tuple[int, int, int], int]
    )

    def build(self, *, whole: bool) -> None:
        """Adds all columns and rows; `whole` asks for whole numbers."""
        for choice in self.problem.choices:
            self.highs.addCol(choice.cost / self.unit, 0.0, 1.0, 0, [], [])
        if whole:
            kind = import_module("highspy").HighsVarType.kInteger
            for column in range(len(self.problem.choices)):
                self.highs.changeColIntegrality(column, kind)
        for index in members(self.problem.everything & ~self.problem.given):
            self.row(1.0, 1.0, dict.fromkeys(self.problem.containing[index], 1.0))
        for place in range(len(self.problem.choices)):
            for index in members(self.problem.needs[place] & ~self.problem.constants):
                self.add_borders(place, index)
        if self.problem.memory_limit is not None:
            memory = {c: float(each.memory) for c, each in enumerate(self.problem.choices)}
            self.row(-inf, float(self.problem.memory_limit), memory)

    def row(self, low: float, high: float, terms: dict[int, float]) -> None:
        """Adds a constraint."""
        used = {column: factor for column, factor in terms.items() if factor}
        self.highs.addRow(low, high, len(used), list(used), list(used.values()))

    def add_borders(self, place: int, index: int) -> None:
        """Adds what a choice pays for a value that it needs."""
        problem, to = self.problem, self.problem.place_of[place]
        makers: dict[int, list[int]] = {}
        for maker in problem.containing[index]:
            if not problem.choices[maker].inside & problem.choices[place].inside:
                makers.setdefault(problem.place_of[maker], []).append(maker)
        if problem.given >> index & 1:
            makers = {0: []}
        for at, choices in makers.items():
            cost = problem.crossing[index][at][to]
            if not cost:
                continue
            key = index, at, to
            if key not in self.crossings:
                self.crossings[key] = len(problem.choices) + len(self.crossings)
                self.highs.addCol(cost / self.unit, 0.0, 1.0, 0, [], [])
            is_given = problem.given >> index & 1
            terms = {self.crossings[key]: 1.0, place: -1.0, **dict.fromkeys(choices, -1.0)}
            self.row(0.0 if is_given else -1.0, inf, terms)

    def solve(self) -> bool:
        """Whether there is a solution, as far as the solver came."""
        self.highs.run()
        status = self.highs.getModelStatus()
        known = import_module("highspy").HighsModelStatus
        return status in (known.kOptimal, known.kTimeLimit) and bool(
            self.highs.getSolution().col_value
        )

    def chosen(self) -> list[int]:
        """The choices of the solution."""
        values = self.highs.getSolution().col_value
        return [c for c in range(len(self.problem.choices)) if values[c] > 0.5]


def unit_of(problem: Problem) -> float:
    """The greatest cost of a choice; 1 when all are free."""
    return max((choice.cost for choice in problem.choices), default=0.0) or 1.0


def integer_program(problem: Problem, *, seconds: float = inf) -> Outcome:
    """The cheapest plan by HiGHS; not complete when the time was over before that was proven."""
    program = _Program(problem, unit_of(problem))
    if seconds != inf:
        program.highs.setOptionValue("time_limit", seconds)
    program.build(whole=True)
    steps = 0
    while program.solve():
        info = program.highs.getInfo()
        steps += max(int(info.mip_node_count), 0)
        bound = max(info.mip_dual_bound * program.unit, 0.0)
        chosen = program.chosen()
        circle = circle_of(problem, chosen)
        if circle:
            program.row(-inf, len(circle) - 1.0, dict.fromkeys(circle, 1.0))
            continue
        plan = problem.plan(chosen)
        is_optimal = plan.cost <= bound * (1 + 1e-6) + 1e-15
        return Outcome((plan,), min(bound, plan.cost), is_optimal, steps)
    return Outcome((), inf, True, steps)


def relaxation(problem: Problem) -> float:
    """What the program costs when choices may be taken in part: a bound. Infinite when nothing covers all."""
    program = _Program(problem, unit_of(problem))
    program.build(whole=False)
    if not program.solve():
        return inf
    return max(float(program.highs.getInfo().objective_function_value) * program.unit, 0.0)


def circle_of(problem: Problem, chosen: list[int]) -> list[int]:
    """Choices that need each other in a circle; none when all can run."""
    left = dict.fromkeys(chosen)
    covered = problem.given
    progress = True
    while progress:
        ready = [place for place in left if not problem.needs[place] & ~covered]
        progress = bool(ready)
        for place in ready:
            covered |= problem.choices[place].inside
            del left[place]
    if not left:
        return []
    # Each that is left needs another one that is left.
    way = [next(iter(left))]
    while True:
        missing = problem.needs[way[-1]] & ~covered
        maker = next(c for c in left if problem.choices[c].inside & missing)
        if maker in way:
            return way[way.index(maker) :]
        way.append(maker)
