"""
What the entry function of a program does: steps in order, branches, and loops.

    Call      a step: the threads share its work, and wait for one another before the next one
    Scalar    arithmetic on numbers in registers, which every thread does for itself
    Load      a number from a tensor, which every thread reads once all have written it
    Branch    an `scf.if`
    Loop      an `scf.for` or `scf.while`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.model_names import model_names
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.strategy import Selection
from xrelay.lowering.program.kernel import Kernel
from xrelay.lowering.program.operations import LoopOp
from xrelay.lowering.program.selection import Choice
from xrelay.lowering.program.storage import Storage

COPY = "copy"
"""The name of the steps that copy tensors. Those of kernels begin with `fused`."""


@dataclass(frozen=True)
class Step:
    """A kernel call or a copy."""

    name: str
    """The kernel's, or `copy`."""
    choices: tuple[Choice, ...]
    """What computes the operators that have strategies."""
    flops: int
    """Additions and multiplications of convolutions and matrix products; other operators count
    one operation for each element of their result."""
    bytes: int
    """Bytes of the tensors that are read and written."""
    op: Operation | None = None
    """The operation of the program that the kernel computes, None for a copy."""

    @property
    def is_kernel(self) -> bool:
        """Whether it calls a kernel."""
        return self.name != COPY

    @property
    def implementations(self) -> tuple[str, ...]:
        """The names of what computes the operators that have strategies."""
        return tuple(choice.implementation.name for choice in self.choices)

    @cached_property
    def selections(self) -> tuple[Selection, ...]:
        """The choices beside the other implementations, which are judged for this."""
        return tuple(choice.selection for choice in self.choices)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes of the model that it computes."""
        return () if self.op is None else model_names(self.op)


@dataclass(frozen=True)
class Rows:
    """Equal parts of a tensor, one of which is written: number `index`, or the nearest there is."""

    index: SSAValue
    count: int


@dataclass(frozen=True)
class Call:
    """
    One call of a kernel (`kernel` None: a copy of `size` bytes) on tensors.

    A copy may write one of the rows of a tensor, and what is copied may be a number.
    """

    kernel: Kernel | None
    reads: tuple[Storage, ...]
    writes: tuple[Storage, ...]
    step: Step
    size: int = 0
    rows: Rows | None = None
    number: SSAValue | None = None


@dataclass(frozen=True)
class Scalar:
    """Arithmetic on numbers in registers."""

    op: Operation


@dataclass(frozen=True)
class Load:
    """A number becomes an element of a tensor, which lies some bytes behind the start of this."""

    result: SSAValue
    place: Storage
    before: int
    kind: Element


@dataclass(frozen=True)
class Branch:
    """One of two sequences, by a number in a register."""

    op: scf.IfOp
    sides: "tuple[Sequence[Node], ...]"


@dataclass(frozen=True)
class Loop:
    """Rounds: what decides whether there is another one, empty where the loop counts; and the round."""

    op: LoopOp
    test: "Sequence[Node]"
    body: "Sequence[Node]"


Node: TypeAlias = Call | Scalar | Load | Branch | Loop
