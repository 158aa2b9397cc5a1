"""
What it costs when a value goes from one engine to another: the start of the user's region, and a copy or another layout.

    seconds = start + bytes / bandwidth        for each (engine, layout) → (engine, layout)

A value that several users of one engine take in one layout is converted once.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from xrelay.placement.costs.cost import checked_seconds
from xrelay.placement.rules.candidate import HOST

ROW_MAJOR = "row-major"
IMAGES = "images"
"""The layout of own code's images, which lie in blocks of channels."""


@dataclass(frozen=True, order=True)
class Place:
    """Where a value is, or is wanted: at an engine, in a layout."""

    engine: str
    layout: str = ROW_MAJOR

    def __str__(self) -> str:
        return self.engine if self.layout == ROW_MAJOR else f"{self.engine}:{self.layout}"


AT_HOST = Place(HOST)


class Borders(ABC):
    """Says what borders cost."""

    @abstractmethod
    def seconds(self, producer: Place, user: Place, bytes_: int) -> float:
        """What it costs that a value of so many bytes goes from one place to another."""


@dataclass(frozen=True)
class NoBorders(Borders):
    """Borders that cost nothing, as Collage has them."""

    def seconds(self, producer: Place, user: Place, bytes_: int) -> float:
        return 0.0


@dataclass(frozen=True)
class Line:
    """A cost that grows with size."""

    start: float = 0.0
    bandwidth: float = float("inf")

    def seconds(self, bytes_: int) -> float:
        """What so many bytes cost."""
        return self.start + bytes_ / self.bandwidth


def fitted_line(samples: Sequence[tuple[int, float]]) -> Line:
    """The line through measurements of several sizes, in least squares; it never falls, and starts at 0 at least."""
    sizes = np.array([size for size, _ in samples], np.float64)
    taken = np.array([seconds for _, seconds in samples], np.float64)
    spread = sizes - sizes.mean()
    slope = max(float(spread @ taken / max(float(spread @ spread), 1e-30)), 0.0)
    start = max(float(taken.mean() - slope * sizes.mean()), 0.0)
    return Line(start, 1 / slope if slope > 0 else float("inf"))


@dataclass(frozen=True)
class BorderTable(Borders):
    """Lines for pairs of places; what has none crosses at the cost of `usual`, within one place at none."""

    lines: Mapping[tuple[Place, Place], Line] = field(
        default_factory=dict[tuple[Place, Place], Line]
    )
    usual: Line = Line()
    begun: float = 0.0
    """What of the lines to own code its regions begin with, in seconds: the run of one that does next to nothing."""

    def seconds(self, producer: Place, user: Place, bytes_: int) -> float:
        line = self.lines.get((producer, user))
        if line is None and (producer == user or user == AT_HOST):
            return 0.0
        line = self.usual if line is None else line
        return checked_seconds(line.seconds(bytes_), f"the border from {producer} to {user}")
