"""Operators of programs for Relay's virtual machine."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.shapes import (
    element_count,
    element_type,
    int_array,
    same_dimension,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


class VmOp(RelayOp):
    """An operator that the virtual machine has as an instruction."""

    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())


@irdl_op_definition
class VmShapeOfOp(VmOp):
    """
    The shape of `tensor`, a list with elements of `dtype`, by default i64.

    Source: Relay's `vm.shape_of`.
    """

    name = "relay.vm.shape_of"

    tensor = tensor_operand_def()
    dtype = opt_prop_def(TypeAttribute)
    assembly_format = "$tensor attr-dict `:` functional-type(operands, results)"

    def __init__(self, tensor: Value, *, dtype: TypeAttribute | None = None):
        super().__init__([tensor], {"dtype": dtype})

    def infer_type(self) -> Attribute:
        return TensorType(
            element_type(self.dtype or i64, "dtype"), [self.tensor.type.get_num_dims()]
        )


@irdl_op_definition
class VmReshapeTensorOp(VmOp):
    """
    The elements of `data` as a tensor of `newshape`, which the operand `shape` holds too.

    Source: Relay's `vm.reshape_tensor`.
    """

    name = "relay.vm.reshape_tensor"

    data = tensor_operand_def()
    shape = tensor_operand_def()
    newshape = prop_def(DenseArrayBase.constr(i64))
    assembly_format = "$data `,` $shape attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, shape: Value, newshape: Sequence[int]):
        super().__init__([data, shape], {"newshape": int_array(newshape)})

    def infer_type(self) -> Attribute:
        dims = self.newshape.get_values()
        if any(dim < 0 for dim in dims):
            raise VerifyException(f"'newshape' is {list(dims)}, expected no negative number")
        if not same_dimension(element_count(self.data.type.get_shape()), element_count(dims)):
            raise VerifyException(f"'newshape' is {list(dims)}, 'data' is {self.data.type}")
        return with_shape(self.data.type, dims)


VM_OPS = (VmReshapeTensorOp, VmShapeOfOp)
