"""Traits of relay operators that graph passes decide by."""

from dataclasses import dataclass
from enum import IntEnum

from xdsl.ir import Operation
from xdsl.traits import OpTrait


class OpPatternKind(IntEnum):
    """
    How an operator may be fused. The order is meaningful: fusion compares kinds with `<=`.

    Source: Relay's `TOpPattern`.
    """

    ELEMWISE = 0
    """One output element depends on the input elements at the same index."""
    BROADCAST = 1
    """As elementwise, after repeating axes of the inputs."""
    INJECTIVE = 2
    """Every output element is one input element, at another index."""
    COMM_REDUCE = 3
    """A commutative reduction over axes."""
    OUT_EWISE_FUSABLE = 4
    """A complex operator whose output accepts elementwise operators (convolution, dense)."""
    TUPLE = 7
    """A tuple: no computation, but fusion has rules of its own for it."""
    OPAQUE = 8
    """Never fused."""

    @property
    def label(self) -> str:
        """The name in lower case, as the documentation and explanations print it."""
        return self.name.lower()


@dataclass(frozen=True)
class HasPatternKind(OpTrait):
    """States the fusion kind of an operator."""

    kind: OpPatternKind


@dataclass(frozen=True)
class ReshapeOnly(OpTrait):
    """The operator never moves or changes an element, only the shape (Relay's `TReshapeOp`)."""


@dataclass(frozen=True)
class ShapeDataDependent(OpTrait):
    """
    The result's shape depends on the *values* of some operands (Relay's `TShapeDataDependent`).
    Such an operator is opaque to fusion while its result type is dynamic.
    """


@dataclass(frozen=True)
class NonComputational(OpTrait):
    """The operator has no kernel (Relay's `TNonComputational`): fusion copies it unchanged."""


def pattern_kind(op: Operation) -> OpPatternKind:
    """The fusion kind of `op`. Operators without one, of any dialect, are opaque."""
    trait = op.get_trait(HasPatternKind)
    return OpPatternKind.OPAQUE if trait is None else trait.kind
