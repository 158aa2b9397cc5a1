"""How Resize changes axes, and how it computes elements."""

from dataclasses import dataclass

from xrelay.dialects.lengths import certainly


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
class Axis:
    """How the length of an axis changes, with the part of it that is cut out for cropping."""

    length: int
    target: int
    scale: float | None
    """None for target / length, of which either is known when the program runs only, or what `ratio` says."""
    ratio: tuple[int, int] | None = None
    """Two lengths whose quotient is the inverse of the scale."""
    start: float = 0.0
    end: float = 1.0

    @property
    def stays(self) -> bool:
        """Whether nothing changes, whatever the lengths are."""
        same = self.scale in (1.0, None) and certainly(self.length, self.target) and not self.ratio
        return same and (self.start, self.end) == (0.0, 1.0)

    def at_numbers(self) -> tuple[int, int, float]:
        """Length, target and scale. Those that are known when the program runs only become numbers."""
        length, target = int(self.length), int(self.target)
        if self.scale is not None:
            return length, target, self.scale
        under, over = map(int, self.ratio or (length, target))
        return length, target, over / under
