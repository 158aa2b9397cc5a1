"""The forms of sequences that are one tensor: the value is a tuple that holds it."""

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Rows:
    """Tensors of one shape, which are the rows of a tensor."""

    tensor: SSAValue


@dataclass(frozen=True)
class Parts:
    """The parts of one size along an axis of a tensor, of which the last may be shorter."""

    tensor: SSAValue
    axis: int
    size: int


Form: TypeAlias = Rows | Parts
