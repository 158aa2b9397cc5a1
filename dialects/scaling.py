"""Lengths times numbers with a fraction, as floating-point arithmetic rounds them."""

import struct
from dataclasses import dataclass
from math import ceil, floor
from typing import Literal

MOST_SCALED = 2.0**62
"""What is more counts as this, which no program takes for a length."""


@dataclass(frozen=True)
class Scaling:
    """A length that is 0 or more times a number, or divided by one, which is rounded to a whole number."""

    number: float
    """A positive number of the type."""
    dtype: Literal["float32", "float64"]
    divides: bool = False
    upwards: bool = False

    @property
    def name(self) -> str:
        """As programs have it: `floor(float32 * 0x1.4cccccp+0)`."""
        rounding, sign = "ceil" if self.upwards else "floor", "/" if self.divides else "*"
        return f"{rounding}({self.dtype} {sign} {self.number.hex()})"

    def __call__(self, length: float, _: float = 0) -> int:
        """
        The whole number. Products and quotients of f32 are rounded twice, from f64, which gives the same: that has more than
        twice as many digits.
        """
        real = self._rounded(min(max(length, 0), MOST_SCALED))
        result = self._rounded(real / self.number if self.divides else real * self.number)
        result = min(result, MOST_SCALED)
        return ceil(result) if self.upwards else floor(result)

    def _rounded(self, number: float) -> float:
        """A number of the type."""
        if self.dtype == "float64":
            return float(number)
        try:
            return struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            return MOST_SCALED

    def text(self, length: str) -> str:
        """What becomes of a length, for people."""
        sign = "/" if self.divides else "*"
        return f"{'ceil' if self.upwards else 'floor'}({length}{sign}{self.number:.7g})"
