"""What programs of a theme are: values to begin with, and steps that go on from them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from corner_programs import CornerProgram
from xdsl.ir import SSAValue

Steps: TypeAlias = tuple[Callable[[SSAValue], SSAValue | None], ...]


class ThemeProgram(CornerProgram, ABC):
    """A program under construction."""

    @abstractmethod
    def start(self) -> None:
        """Adds the first value."""

    @abstractmethod
    def steps(self) -> Steps:
        """What may be done with a value, as often as it should occur."""
