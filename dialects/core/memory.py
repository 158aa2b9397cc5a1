"""Explicit memory, as programs for Relay's virtual machine have it."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    TensorType,
    TupleType,
    f32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import (
    RelayOp,
    Value,
    tensor_operand_def,
    tensor_result_def,
    tuple_type,
)
from xrelay.dialects.core.device import VirtualDeviceAttr
from xrelay.dialects.core.functional import AdtType
from xrelay.dialects.shapes import element_type, int_array, is_integer_type, shape_text
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

    size = tensor_operand_def()
    alignment = tensor_operand_def()
    dtype = prop_def(TypeAttribute, default_value=f32)
    virtual_device = prop_def(VirtualDeviceAttr)
    result = result_def(AdtType)
    traits = traits_def(
        MemoryAllocEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )
    assembly_format = "$size `,` $alignment attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        size: Value,
        alignment: Value,
        virtual_device: VirtualDeviceAttr,
        *,
        dtype: TypeAttribute = f32,
    ):
        super().__init__([size, alignment], {"dtype": dtype, "virtual_device": virtual_device})

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

    storage = operand_def(AdtType)
    offset = tensor_operand_def()
    shape = tensor_operand_def()
    dtype = prop_def(TypeAttribute, default_value=f32)
    const_shape = opt_prop_def(DenseIntOrFPElementsAttr)
    assert_shape = opt_prop_def(DenseArrayBase.constr(i64))
    result = tensor_result_def()
    traits = traits_def(
        MemoryAllocEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )
    assembly_format = (
        "$storage `,` $offset `,` $shape attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        storage: Value,
        offset: Value,
        shape: Value,
        *,
        dtype: TypeAttribute = f32,
        assert_shape: Sequence[int] | None = None,
    ):
        super().__init__(
            [storage, offset, shape],
            {
                "dtype": dtype,
                "assert_shape": None if assert_shape is None else int_array(assert_shape),
            },
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

    to_free = operand_def()
    result = result_def(TupleType)
    traits = traits_def(
        MemoryWriteEffect(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational()
    )
    assembly_format = "$to_free attr-dict `:` functional-type(operands, results)"

    def __init__(self, to_free: Value):
        super().__init__([to_free])

    def infer_type(self) -> Attribute:
        return tuple_type([])


MEMORY_OPS = (AllocStorageOp, AllocTensorOp, KillOp)
