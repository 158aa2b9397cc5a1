"""Cells that programs write to."""

from typing import Annotated, TypeAlias

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    irdl_attr_definition,
    irdl_op_definition,
    param_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators, tuple_type
from xrelay.dialects.fields import AnyValue, Field, OperandKind, Value, operand
from xrelay.dialects.shapes import compatible
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_attr_definition
class RefType(ParametrizedAttribute, TypeAttribute):
    """A mutable cell that holds a value (Relay's `ref(T)`)."""

    name = "relay.ref"
    value: Attribute = param_def(AnyAttr())


def _held_type(ref: SSAValue) -> Attribute:
    """The type of what a cell holds. Raises VerifyException when it is none."""
    if not isinstance(ref.type, RefType):
        raise VerifyException(f"'ref' is {ref.type}, expected a cell")
    return ref.type.value


Reference: TypeAlias = Annotated[Field[SSAValue[RefType], Value], OperandKind(RefType)]


@irdl_op_definition
class RefCreateOp(RelayOp):
    """
    A new mutable cell that holds `value`.

    Source: Relay's `RefCreate`.
    """

    name = "relay.ref_create"

    value: AnyValue = operand()
    result = result_def(RefType)
    traits = traits_def(MemoryAllocEffect(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        return RefType(self.value.type)


@irdl_op_definition
class RefReadOp(RelayOp):
    """
    The value that a cell holds.

    Source: Relay's `RefRead`.
    """

    name = "relay.ref_read"

    ref: Reference = operand()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        return _held_type(self.ref)


@irdl_op_definition
class RefWriteOp(RelayOp):
    """
    Stores `value` in a cell. The result is the empty tuple.

    Source: Relay's `RefWrite`.
    """

    name = "relay.ref_write"

    ref: Reference = operand()
    value: AnyValue = operand()
    result = result_def(TupleType)
    traits = traits_def(MemoryWriteEffect(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        held = _held_type(self.ref)
        if not compatible(held, self.value.type):
            raise VerifyException(f"the cell holds {held}, 'value' is {self.value.type}")
        return tuple_type([])


REFERENCE_OPS = operators(__name__)
