"""How Resize changes axes, and how it computes elements."""

from dataclasses import dataclass
from functools import reduce
from itertools import chain

from xrelay.dialects.lengths import certainly, is_open, larger, smaller


@dataclass(frozen=True)
class Interpolation:
    """The attributes that say how elements are computed; the defaults are those of Upsample."""

    mode: str
    coordinates: str = "asymmetric"
    rounding: str = "floor"
    alpha: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    extrapolation_value: float = 0.0


@dataclass(frozen=True)
class Fit:
    """The scale that axes share where their aspect ratio is kept: the least of some, or the greatest."""

    pairs: tuple[tuple[int, int], ...]
    """Lengths and sizes of axes; the scales are size / length."""
    is_least: bool

    @property
    def is_one(self) -> bool:
        """Whether the scale is 1, whatever the lengths are."""
        return all(certainly(*pair) for pair in self.pairs)

    def whole(self, length: int) -> int:
        """A length scaled and rounded, halves up."""
        found = (
            size if certainly(each, length) else (2 * length * size + each) // (2 * each)
            for each, size in self.pairs
        )
        return reduce(smaller if self.is_least else larger, found)


@dataclass(frozen=True)
class Axis:
    """How the length of an axis changes, with the part of it that is cut out for cropping."""

    length: int
    target: int
    scale: float | None
    """None where it is a quotient of lengths: target / length, or what `fit` says."""
    fit: Fit | None = None
    start: float = 0.0
    end: float = 1.0

    @property
    def stays(self) -> bool:
        """Whether nothing changes, whatever the lengths are."""
        same = self.scale in (1.0, None) and certainly(self.length, self.target)
        by_one = self.fit is None or self.fit.is_one
        return same and by_one and (self.start, self.end) == (0.0, 1.0)

    @property
    def varies(self) -> bool:
        """Whether a length is known when the program runs only."""
        return any(map(is_open, (self.length, self.target, *chain(*self.pairs))))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Lengths and sizes whose quotients are the scale, of which it is the least or greatest one."""
        return ((self.length, self.target),) if self.fit is None else self.fit.pairs

    @property
    def known_scale(self) -> float:
        """The scale as a number."""
        if self.scale is not None:
            return self.scale
        ((length, size),) = self.pairs
        return size / length
