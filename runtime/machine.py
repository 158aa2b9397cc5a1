"""What machine code is made for, and where it lies."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Address: TypeAlias = Callable[[str], int]
"""The address of a symbol of machine code, which stays valid as long as this function lives."""


@dataclass(frozen=True)
class Machine:
    """The processor that code is generated for, in LLVM's words."""

    triple: str
    cpu: str
    features: str
