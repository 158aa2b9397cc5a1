"""How Resize changes axes, and how it computes elements."""

from dataclasses import dataclass, replace

from xrelay.dialects.lengths import certainly, is_open


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
    """None where it is a quotient of lengths: target / length, or what `ratio` says."""
    ratio: tuple[int, int] | None = None
    """Two lengths whose quotient is the inverse of the scale."""
    start: float = 0.0
    end: float = 1.0

    @property
    def stays(self) -> bool:
        """Whether nothing changes, whatever the lengths are."""
        same = self.scale in (1.0, None) and certainly(self.length, self.target)
        by_one = self.ratio is None or certainly(*self.ratio)
        return same and by_one and (self.start, self.end) == (0.0, 1.0)

    @property
    def varies(self) -> bool:
        """Whether a length is known when the program runs only."""
        return any(map(is_open, (self.length, self.target, *(self.ratio or ()))))

    def at_numbers(self) -> "Axis":
        """The axis, of which lengths that are known when the program runs only become numbers."""
        ratio = None if self.ratio is None else (int(self.ratio[0]), int(self.ratio[1]))
        return replace(self, length=int(self.length), target=int(self.target), ratio=ratio)

    @property
    def known_scale(self) -> float:
        """The scale as a number."""
        if self.scale is not None:
            return self.scale
        under, over = self.ratio or (self.length, self.target)
        return over / under
