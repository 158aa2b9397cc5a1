"""Explicit memory, as programs for Relay's virtual machine have it."""

from typing import Annotated

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    TensorType,
    TupleType,
    f32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators, tuple_type
from xrelay.dialects.core.device import Device
from xrelay.dialects.core.functional import AdtType
from xrelay.dialects.fields import (
    AnyValue,
    Dtype,
    Field,
    OperandKind,
    OptionalIntegers,
    Tensor,
    Value,
    operand,
    prop,
)
from xrelay.dialects.shapes import element_type, is_integer_type, shape_text
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind

STORAGE = "Storage"
"""The name of the data type of storage, which no text needs to define."""


def _require_scalar_integer(type_: TensorType[Attribute], what: str) -> None:
    if type_.get_shape() or not is_integer_type(type_.element_type):
        raise VerifyException(f"'{what}' is {type_}, expected a scalar integer")


@irdl_op_definition
class AllocStorageOp(RelayOp):
    """
    `size` bytes of memory on a device, at a multiple of `alignment`, for elements of `dtype`. The
    result is of the data type `Storage`.

    Source: Relay's `memory.alloc_storage`.
    """

    name = "relay.memory.alloc_storage"

    size: Tensor = operand()
    alignment: Tensor = operand()
    dtype: Dtype = prop(default=f32)
    virtual_device: Device = prop()
    result = result_def(AdtType)
    traits = traits_def(
        MemoryAllocEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )

    def infer_type(self) -> Attribute:
        _require_scalar_integer(self.size.type, "size")
        _require_scalar_integer(self.alignment.type, "alignment")
        element_type(self.dtype, "dtype")
        return AdtType(STORAGE, [])


@irdl_op_definition
class AllocTensorOp(RelayOp):
    """
    A tensor of `dtype` in `storage`, from byte `offset` on. The operand `shape` holds its shape;
    `const_shape` does too, when it is known. `assert_shape`, when not empty, states the shape that
    is used instead.

    Source: Relay's `memory.alloc_tensor`.
    """

    name = "relay.memory.alloc_tensor"

    storage: Annotated[Field[SSAValue[AdtType], Value], OperandKind(AdtType)] = operand()
    offset: Tensor = operand()
    shape: Tensor = operand()
    dtype: Dtype = prop(default=f32)
    const_shape = opt_prop_def(DenseIntOrFPElementsAttr)
    assert_shape: OptionalIntegers = prop(default=None)
    traits = traits_def(
        MemoryAllocEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )

    def infer_type(self) -> Attribute:
        _require_scalar_integer(self.offset.type, "offset")
        lengths = self.shape.type.get_shape()
        if len(lengths) != 1 or lengths[0] == DYNAMIC_INDEX:
            raise VerifyException(f"'shape' is {self.shape.type}, expected a list of known length")
        stated, dims = "shape", [DYNAMIC_INDEX] * lengths[0]
        if self.assert_shape is not None and self.assert_shape.get_values():
            stated, dims = "assert_shape", list(self.assert_shape.get_values())
        elif self.const_shape is not None:
            values = self.const_shape.get_values()
            stated = "const_shape"
            dims = [value for value in values if isinstance(value, int)]
        if any(dim < 0 and dim != DYNAMIC_INDEX for dim in dims):
            raise VerifyException(f"'{stated}' is {shape_text(dims)}, expected no negative number")
        if len(dims) != lengths[0]:
            raise VerifyException(f"'shape' has {lengths[0]} numbers, the stated shape {len(dims)}")
        return TensorType(element_type(self.dtype, "dtype"), dims)


@irdl_op_definition
class KillOp(RelayOp):
    """
    Ends the life of a tensor or of storage. The result is the empty tuple.

    Source: Relay's `memory.kill`.
    """

    name = "relay.memory.kill"

    to_free: AnyValue = operand()
    result = result_def(TupleType)
    traits = traits_def(
        MemoryWriteEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )

    def infer_type(self) -> Attribute:
        return tuple_type([])


MEMORY_OPS = operators(__name__)
