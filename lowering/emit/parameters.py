"""
The numbers that the loops of an implementation are made with: sizes of tiles and blocks.

One function of an implementation asks for each by name, with the number that it would take itself
and those that it can take. So the same function chooses them, checks what a program states, and
gives the code generator what holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from xdsl.utils.exceptions import DiagnosticException

Numbers: TypeAlias = Mapping[str, int]

NO_NUMBERS: Numbers = MappingProxyType({})


class ParameterError(DiagnosticException):
    """A parameter of an implementation has a value that it cannot have."""


@dataclass(frozen=True)
class Divisors:
    """The numbers that divide another one."""

    whole: int

    def __contains__(self, number: int) -> bool:
        return number > 0 and self.whole % number == 0


class Parameters:
    """What is asked for by name: the number that is stated, or the one that is usual."""

    def __init__(self, stated: Numbers = NO_NUMBERS):
        self.stated = stated
        self.values: dict[str, int] = {}
        """What was asked for so far."""

    def number(self, name: str, usual: int, allowed: range | Divisors) -> int:
        """
        The parameter called `name`.

        Raises ParameterError for a stated one that is not allowed.
        """
        value = self.stated.get(name, usual)
        if name in self.stated and value not in allowed:
            raise ParameterError(f"'{name}' is {value}, expected {_described(allowed)}")
        self.values[name] = value
        return value

    def require_known(self) -> None:
        """Raises ParameterError when something is stated that was not asked for."""
        unknown = [name for name in self.stated if name not in self.values]
        if unknown:
            known = ", ".join(self.values) or "none"
            raise ParameterError(f"'{unknown[0]}' is none of its parameters, which are: {known}")


def _described(allowed: range | Divisors) -> str:
    if isinstance(allowed, Divisors):
        return f"a divisor of {allowed.whole}"
    if len(allowed) == 1:
        return str(allowed[0])
    step = "" if allowed.step == 1 else f" in steps of {allowed.step}"
    return f"{allowed[0]} to {allowed[-1]}{step}"
