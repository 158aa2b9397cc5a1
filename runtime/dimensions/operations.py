"""
What programs compute from lengths that they find out when they are called, beside sums and products: quotients, minima and
maxima, and lengths times numbers with a fraction, which are rounded as floating-point arithmetic rounds them.

    floor(float32 * 0x1.4cccccp+0)      the name of an operation: a length in f32 times 1.3, rounded down
"""

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, isfinite
from operator import eq, ge, gt, le, lt, ne
from typing import Literal, TypeAlias

Operation: TypeAlias = Callable[[int, int], int]

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
MOST_NUMBER = 2**62
"""Numbers of the code are less than this."""


def _div(left: int, right: int) -> int:
    return left // right


def _min(left: int, right: int) -> int:
    return min(left, right)


def _max(left: int, right: int) -> int:
    return max(left, right)


_OPERATIONS: Mapping[str, Operation] = {"div": _div, "min": _min, "max": _max}
_SCALING = re.compile(r"(floor|ceil)\((float32|float64) ([*/]) (0x[01]\.[0-9a-f]+p[+-]\d+)\)")


@dataclass(frozen=True)
class Scaling:
    """A length that is 0 or more times a number, or divided by one, as floating-point arithmetic has it, and rounded."""

    number: float
    """A positive number of the type."""
    dtype: Literal["float32", "float64"]
    divides: bool = False
    upwards: bool = False

    @property
    def name(self) -> str:
        """The operation that it is, for `operation`."""
        rounding, sign = "ceil" if self.upwards else "floor", "/" if self.divides else "*"
        return f"{rounding}({self.dtype} {sign} {self.number.hex()})"

    @staticmethod
    def of(name: str) -> "Scaling | None":
        """What the name of an operation stands for; None for one that is no scaling."""
        found = _SCALING.fullmatch(name)
        if found is None:
            return None
        rounding, dtype, sign, digits = found.groups()
        number = float.fromhex(digits)
        if not 0 < number or not isfinite(number) or number != _rounded(number, dtype):
            return None
        kind = "float32" if dtype == "float32" else "float64"
        return Scaling(number, kind, sign == "/", rounding == "ceil")

    def __call__(self, length: int, _: int = 0) -> int:
        """
        The number, and no more than MOST_NUMBER. Products and quotients of f32 are rounded twice, from f64, which gives the
        same: that has more than twice as many digits.
        """
        real = _rounded(float(length), self.dtype)
        result = real / self.number if self.divides else real * self.number
        result = min(_rounded(result, self.dtype), float(MOST_NUMBER))
        return ceil(result) if self.upwards else floor(result)

    def text(self, length: str) -> str:
        """The number that becomes of a length, for people."""
        sign = "/" if self.divides else "*"
        return f"{'ceil' if self.upwards else 'floor'}({length}{sign}{self.number:.7g})"


def _rounded(number: float, dtype: str) -> float:
    """A number of a type."""
    if dtype == "float64":
        return number
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf")


@lru_cache
def operation(name: str) -> Operation | None:
    """The operation of a name: "div" (rounded down), "min", "max" or that of a scaling; None for other names."""
    return _OPERATIONS.get(name) or Scaling.of(name)
