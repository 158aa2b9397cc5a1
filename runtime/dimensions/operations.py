"""
What programs compute from lengths, beside sums and products: quotients, minima and maxima, and lengths times numbers with a
fraction, rounded as floating-point arithmetic rounds them.

    floor(float32 * 0x1.4cccccp+0)      the name of an operation: a length in f32 times 1.3, rounded down
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

Operation: TypeAlias = Callable[[int, int], int]

MOST_NUMBER = 2**62
"""Numbers of the code are less than this."""
_SCALING = re.compile(r"(floor|ceil)\((float32|float64) ([*/]) (0x[01]\.[0-9a-f]+p[+-]\d+)\)")


@dataclass(frozen=True)
class Scaling:
    """A length that is not negative times a number, or divided by one, in floating point, and rounded."""

    number: float
    dtype: str
    """"float32" or "float64"."""
    divides: bool
    upwards: bool

    def __call__(self, length: int, _: int = 0) -> int:
        """The whole number, and no more than MOST_NUMBER."""
        kind = np.dtype(self.dtype).type
        with np.errstate(over="ignore"):
            real = kind(length)
            product = real / kind(self.number) if self.divides else real * kind(self.number)
            whole = np.ceil(product) if self.upwards else np.floor(product)
        return int(min(whole, MOST_NUMBER))


def scaling_of(name: str) -> Scaling | None:
    """What the name of an operation stands for; None for one that is no scaling."""
    found = _SCALING.fullmatch(name)
    if found is None:
        return None
    rounding, dtype, sign, digits = found.groups()
    number = float.fromhex(digits)
    with np.errstate(over="ignore", under="ignore"):
        is_of_type = float(np.dtype(dtype).type(number)) == number
    if not 0 < number < np.inf or not is_of_type:
        return None
    return Scaling(number, dtype, sign == "/", rounding == "ceil")


_OPERATIONS: Mapping[str, Operation] = {"div": lambda a, b: a // b, "min": min, "max": max}


@lru_cache
def operation(name: str) -> Operation | None:
    """The operation of a name: "div" (rounded down), "min", "max" or that of a scaling; None for other names."""
    return _OPERATIONS.get(name) or scaling_of(name)
