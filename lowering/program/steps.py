"""
What the entry function of a program does: steps in order, branches, and loops.

    Call      a step: the threads share its work, and wait for one another before the next one
    Scalar    arithmetic on numbers in registers, which every thread does for itself
    Load      a number from a tensor, which every thread reads once all have written it
    Branch    an `scf.if`
    Loop      an `scf.for` or `scf.while`
    Fail      the end of the program, without results
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.model_names import model_names
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.strategy import Selection
from xrelay.lowering.program.kernel import Kernel
from xrelay.lowering.program.operations import LoopOp, constant_number
from xrelay.lowering.program.selection import Choice
from xrelay.lowering.program.storage import Storage

COPY = "copy"
"""The name of the steps that copy tensors. Those of kernels begin with `fused`."""
CALL = "call"
"""The name of the steps that call functions, whose own steps are listed behind all others."""


@dataclass(frozen=True)
class Step:
    """A kernel call, a copy, or the call of a function."""

    name: str
    """The kernel's, `copy`, or `call`."""
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
        return self.name not in (COPY, CALL)

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
    One call of a kernel on tensors, or of a function (`function`); with neither a copy of `size` bytes.

    A copy may write one of the rows of a tensor, and what is copied may be a number.
    """

    kernel: Kernel | None
    reads: tuple[Storage, ...]
    writes: tuple[Storage, ...]
    step: Step
    size: int = 0
    rows: Rows | None = None
    number: SSAValue | None = None
    function: str | None = None
    is_alone: bool = False
    """Whether the first thread does it alone."""


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


@dataclass(frozen=True)
class Fail:
    """The program ends without results. What follows is done nevertheless, but for loops that may last and calls."""

    number: int
    """Which of the messages of the program says why."""


Node: TypeAlias = Call | Scalar | Load | Branch | Loop | Fail

MOST_UNASKED = 4096
"""Loops of as many rounds, and no loops within, just end."""


def within(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes and those in them."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Branch):
            pending.extend(inner for side in node.sides for inner in side)
        elif isinstance(node, Loop):
            pending.extend((*node.test, *node.body))


def may_last(node: Node) -> bool:
    """
    Whether a node is a loop that is asked after each round whether to end: all but short ones. So is a function that is called.
    """
    if not isinstance(node, Loop):
        return is_call(node)
    if isinstance(node.op, scf.WhileOp) or any(
        isinstance(each, Loop) for each in within(node.body)
    ):
        return True
    first, end = constant_number(node.op.lb), constant_number(node.op.ub)
    if first is None or end is None or is_open(end - first):
        return True
    return end - first > MOST_UNASKED


def is_call(node: Node) -> bool:
    """Whether a node calls a function."""
    return isinstance(node, Call) and node.function is not None


def may_fail(node: Node) -> bool:
    """Whether a node may end the program without results, by itself or as a call that is too deep."""
    return isinstance(node, Fail) or is_call(node)


def runs_alone(loop: Loop) -> bool:
    """Whether all steps of a loop that ends by itself are small, and no thread reads what another one wrote."""
    inner = within([loop])
    return not may_last(loop) and all(
        node.is_alone if isinstance(node, Call) else not isinstance(node, Load) for node in inner
    )
