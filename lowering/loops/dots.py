"""
Dot products: what one step of the inner loop of convolutions and matrix products computes.

    sums [lanes] += weights [lanes, group] * elements of the image [group]       for each lane

A step consumes `group` neighbours along the depth. They lie next to each other in the image, and in
packed weights for every lane.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import Index, KernelBuilder
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.math.arithmetic import multiply_add


@dataclass(frozen=True)
class Dot(ABC):
    """The step, and the elements that it works on."""

    image: Element
    """Of the image, or the left operand, in memory."""
    weight: Element
    """Of the weights, or the right operand, in memory."""
    total: Element
    """Of the sums in registers."""

    @property
    @abstractmethod
    def group(self) -> int:
        """How many neighbours along the depth a step consumes."""

    @abstractmethod
    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        """The weights of a step for some lanes; offsets count elements."""

    @abstractmethod
    def factor(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        """A group of the image in every lane."""

    @abstractmethod
    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        """The sums with the products of a step added."""


@dataclass(frozen=True)
class MultiplyAdd(Dot):
    """One product a step."""

    @staticmethod
    def of(kind: Element) -> "MultiplyAdd":
        """All elements are of one type."""
        return MultiplyAdd(kind, kind, kind)

    @property
    def group(self) -> int:
        return 1

    def weights(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        return b.load(pointer, offset, self.weight, lanes)

    def factor(self, b: KernelBuilder, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        return b.splat(b.load(pointer, offset, self.image, 1), lanes)

    def step(
        self, b: KernelBuilder, weights: SSAValue, factor: SSAValue, total: SSAValue
    ) -> SSAValue:
        return multiply_add(b, weights, factor, total, self.total)
