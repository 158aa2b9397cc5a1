"""
What the rules of derivatives are written in: formulas of tensors that emit operators, and gradients.

    ExpOp: lambda g, x, y: g * y

The rule of an operator y = f(a, b, …) takes the operator and g, the gradient of what is differentiated with respect to y, and
gives that with respect to a, b, …: what a sum of y weighted with g grows by as each of their elements does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    LessOp,
    MultiplyOp,
    NotEqualOp,
    SubtractOp,
)
from xrelay.dialects.tensor.like import CollapseSumLikeOp, ReshapeLikeOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.rewriting import Emitter, has_static_type


@dataclass(frozen=True, eq=False)
class Term:
    """A tensor in a formula. Numbers beside it get its dtype."""

    value: SSAValue
    emit: Emitter

    def of(self, value: SSAValue) -> "Term":
        """Another tensor in the same formula."""
        return Term(value, self.emit)

    def new(self, op: Operation) -> "Term":
        """What a new operation computes."""
        return Term(self.emit(op), self.emit)

    def field(self, index: int) -> "Term":
        """A field of a tuple."""
        return self.new(TupleGetItemOp(self.value, index))

    @property
    def type(self) -> TensorType[Attribute]:
        """The type of the tensor."""
        assert is_tensor_type(self.value.type)
        return self.value.type

    def __add__(self, other: "Term | float") -> "Term":
        return self.new(AddOp(self.value, self._other(other)))

    def __sub__(self, other: "Term | float") -> "Term":
        return self.new(SubtractOp(self.value, self._other(other)))

    def __mul__(self, other: "Term | float") -> "Term":
        return self.new(MultiplyOp(self.value, self._other(other)))

    def __truediv__(self, other: "Term | float") -> "Term":
        return self.new(DivideOp(self.value, self._other(other)))

    def __neg__(self) -> "Term":
        return self.new(NegativeOp(self.value))

    def __lt__(self, other: "Term | float") -> "Term":
        return self.new(LessOp(self.value, self._other(other)))

    def differs(self, other: "Term") -> "Term":
        """Where two tensors have other elements."""
        return self.new(NotEqualOp(self.value, other.value))

    def otherwise(self, condition: "Term", other: "Term | float") -> "Term":
        """`other` where a condition holds."""
        return self.new(WhereOp(condition.value, self._other(other), self.value))

    def shaped_as(self, other: SSAValue) -> "Term":
        """The same elements in the shape of another tensor."""
        return (
            self if _same_shape(self.value, other) else self.new(ReshapeLikeOp(self.value, other))
        )

    def summed_to(self, other: SSAValue) -> "Term":
        """The sums over what was repeated of another tensor by broadcasting."""
        if _same_shape(self.value, other):
            return self
        return self.new(CollapseSumLikeOp(self.value, other))

    def typed_as(self, other: SSAValue) -> "Term":
        """The same numbers in the dtype of another tensor."""
        assert is_tensor_type(other.type)
        return self.of(cast(self.emit, self.value, other.type.element_type))

    def _other(self, other: "Term | float") -> SSAValue:
        return other.value if isinstance(other, Term) else self.emit.scalar(other, self.value)


def _same_shape(one: SSAValue, other: SSAValue) -> bool:
    """Whether two tensors are known to have one shape."""
    assert is_tensor_type(one.type) and is_tensor_type(other.type)
    known = has_static_type(one) and has_static_type(other)
    return known and one.type.get_shape() == other.type.get_shape()


Gradient: TypeAlias = Term | tuple["Gradient", ...] | None
"""Of a tensor, or of the fields of a tuple; None is one of zeros."""
Rule: TypeAlias = Callable[[Any, Term], Sequence[Gradient]]
"""The gradients of an operator's operands, by that of its result."""


def static_shape(op: Operation, value: SSAValue) -> tuple[int, ...]:
    """
    The shape of an operand.

    Raises PassFailedException when a dimension is not known.
    """
    assert is_tensor_type(value.type)
    if not has_static_type(value):
        raise PassFailedException(
            f"{operation_text(op)}: its gradient needs the dimensions of {value.type}"
        )
    return value.type.get_shape()


def require(condition: bool, op: Operation, why: str) -> None:
    """Raises PassFailedException unless the rule of an operator knows how it is used."""
    if not condition:
        raise PassFailedException(f"{operation_text(op)}: it has no gradient where {why}")
