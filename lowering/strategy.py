"""
Strategies: how the operators that are more than one element at a time become loops.

An operator has a list of implementations, each with a condition and a priority level (`plevel`).
Of those whose condition holds, the one of the highest level is used. An implementation emits its
loops into the kernel and hands every finished piece of the result to a *sink*, which runs the
rest of the group on it while it is in registers.

Source: Relay's `OpStrategy`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue

from xrelay.lowering.builder import Index, KernelBuilder
from xrelay.lowering.elements import Element
from xrelay.lowering.evaluate import Buffer, Evaluator, Leaf, leaf_element, leaf_shape
from xrelay.lowering.memory_plan import ALIGNMENT
from xrelay.lowering.position import Position, linear
from xrelay.lowering.target import Target

Sink: TypeAlias = Callable[[Position, SSAValue], None]
"""Takes finished elements of the operator's result, each exactly once."""


@dataclass(eq=False)
class KernelContext:
    """What an implementation works with."""

    b: KernelBuilder
    ev: Evaluator
    workspace: SSAValue
    """Pointer to the kernel's scratch memory."""
    scratch_bytes: int = field(default=0)
    """How much scratch memory the kernel uses so far."""

    @property
    def target(self) -> Target:
        """The CPU."""
        return self.b.target

    def scratch(self, kind: Element, shape: Sequence[int], slack: int = 0) -> Buffer:
        """Scratch memory for a tensor, and `slack` elements after it that may be read."""
        offset = self.scratch_bytes
        size = (prod(shape) + slack) * kind.bytes
        self.scratch_bytes = offset + -(-size // ALIGNMENT) * ALIGNMENT
        with self.b.inside(self.b.entry):
            pointer = self.b.address(self.workspace, offset, i8)
        return Buffer(pointer, tuple(shape), kind)

    def in_memory(self, value: SSAValue) -> Buffer:
        """A tensor operand in memory: as it is, or computed into scratch memory."""
        leaf = (value, 0)
        if leaf not in self.ev.buffers:
            self.materialize(leaf)
        return self.ev.buffers[leaf]

    def materialize(self, leaf: Leaf) -> Buffer:
        """Computes a tensor into scratch memory, where later demands find it."""
        shape = leaf_shape(leaf)
        buffer = self.scratch(leaf_element(leaf), shape)
        with self.b.loop(0, prod(shape)) as offset:
            value = self.ev.get(leaf, linear(shape, offset))
            self.b.store(buffer.pointer, offset, buffer.element, value)
        self.ev.buffers[leaf] = buffer
        return buffer

    def vectors(
        self, length: int, lanes: int, body: Callable[[Index, int], None], start: Index = 0
    ) -> None:
        """Covers `length` elements in vectors of `lanes`, and what is left in a shorter one."""
        whole = length - length % lanes
        if whole:
            with self.b.loop(0, whole, lanes) as i:
                body(self.b.add(start, i), lanes)
        if length > whole:
            body(self.b.add(start, whole), length - whole)


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operator."""

    name: str
    emit: Callable[[KernelContext, Operation, Sink], None]
    plevel: int = 10
    condition: Callable[[Operation, Target], bool] = field(default=lambda op, target: True)


Strategy: TypeAlias = tuple[Implementation, ...]


def select_implementation(strategy: Strategy, op: Operation, target: Target) -> Implementation:
    """The implementation of the highest level whose condition holds; the first among equals."""
    valid = [choice for choice in strategy if choice.condition(op, target)]
    return max(valid, key=lambda choice: choice.plevel)
