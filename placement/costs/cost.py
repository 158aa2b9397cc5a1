"""
What candidates cost: unknown, seconds, or infinite with a reason; and who knows.

Estimators answer for many candidates at once, so that those that measure may do so side by side.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import cast

from xdsl.dialects import func

from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.extraction import extract
from xrelay.placement.rules.candidate import HOST, Candidate


@dataclass(frozen=True)
class Cost:
    """The cost of a candidate."""

    seconds: float | None = None
    """Infinite for what cannot run; None when nobody knows."""
    source: str = ""
    """Who says so."""
    reason: str = ""
    """Why it is infinite or unknown."""

    @property
    def is_known(self) -> bool:
        """Whether it is a number, or infinite."""
        return self.seconds is not None

    @property
    def is_valid(self) -> bool:
        """Whether the candidate can run, for all that is known."""
        return self.seconds != inf

    @property
    def is_guess(self) -> bool:
        """Whether a model says so, and the candidate may never have run."""
        return self.source == MODEL

    def __str__(self) -> str:
        if self.seconds is None:
            return f"unknown ({self.reason})" if self.reason else "unknown"
        return f"invalid: {self.reason}" if self.seconds == inf else f"{1e6 * self.seconds:.2f} µs"


MODEL = "model"
"""The source of costs that a model says."""
MEASURED = "measured"
"""The source of costs that were measured, each region by itself."""
UNKNOWN = Cost()
FREE = Cost(0.0, "host")
"""What needs no kernel costs nothing."""


def invalid(reason: str, source: str = "") -> Cost:
    """The cost of what cannot run."""
    return Cost(inf, source, reason)


class Estimator(ABC):
    """Says what candidates cost."""

    def estimates(self, candidates: Sequence[Candidate]) -> list[Cost]:
        """The cost of each of some candidates."""
        return [FREE if each.engine == HOST else self.estimate(each) for each in candidates]

    @abstractmethod
    def estimate(self, candidate: Candidate) -> Cost:
        """The cost of one candidate."""


@dataclass(frozen=True)
class TableCosts(Estimator):
    """Costs by engine and label, for tests and for people who know them."""

    seconds: Mapping[tuple[str, str], float]
    """By the name of the engine, and the operators joined by `+`."""

    def estimate(self, candidate: Candidate) -> Cost:
        label = candidate.part.label
        found = self.seconds.get((candidate.engine, label))
        if found is None:
            return invalid(f"the table has no '{label}' for {candidate.engine}", "table")
        return Cost(checked_seconds(found, f"the table, for '{label}'"), "table")


MOST_SECONDS = 1e12
"""What is more is a mistake: beside such numbers those of other parts would not count."""

CostFunction = Callable[[func.FuncOp, str], float | None]
"""The seconds that the function of a candidate takes on an engine: infinite if it cannot run, None if unknown."""


@dataclass(frozen=True)
class FunctionCosts(Estimator):
    """Costs that a Python function knows."""

    function: CostFunction

    def estimate(self, candidate: Candidate) -> Cost:
        extracted = extract(candidate.part, "candidate").function
        found = self.function(extracted, candidate.engine)
        if found is None:
            return UNKNOWN
        where = f"the cost function, for '{candidate.part.label}' on {candidate.engine}"
        seconds = checked_seconds(found, where)
        return (
            invalid("the cost function says so", "function")
            if seconds == inf
            else Cost(seconds, "function")
        )


@dataclass(frozen=True)
class FirstKnown(Estimator):
    """The answers of the first of several estimators that knows one."""

    estimators: Sequence[Estimator]

    def estimates(self, candidates: Sequence[Candidate]) -> list[Cost]:
        costs = [UNKNOWN] * len(candidates)
        for estimator in self.estimators:
            left = [i for i, cost in enumerate(costs) if not cost.is_known]
            answers = estimator.estimates([candidates[i] for i in left])
            for i, cost in zip(left, answers, strict=True):
                costs[i] = cost
        return costs

    def estimate(self, candidate: Candidate) -> Cost:
        return self.estimates([candidate])[0]


def checked_seconds(found: object, where: str) -> float:
    """
    A number of seconds.

    Raises PlacementError for what is none, NaN, or negative.
    """
    if isinstance(found, bool) or not isinstance(found, Real):
        raise PlacementError(f"{where}: the cost is {found!r}, expected a number of seconds")
    seconds = cast(float, found)
    if not (0 <= seconds <= MOST_SECONDS or seconds == inf):
        raise PlacementError(
            f"{where}: the cost is {seconds}, expected 0 to {MOST_SECONDS:g} seconds, or infinity"
        )
    return float(seconds)
