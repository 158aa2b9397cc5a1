"""Operators of programs for Relay's virtual machine."""

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import Integers, OptionalDtype, Tensor, operand, prop
from xrelay.dialects.shapes import element_count, element_type, same_dimension, with_shape
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


class VmOp(RelayOp):
    """An operator that the virtual machine has as an instruction."""

    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())


@irdl_op_definition
class VmShapeOfOp(VmOp):
    """
    The shape of `tensor`, a list with elements of `dtype`, by default i64.

    Source: Relay's `vm.shape_of`.
    """

    name = "relay.vm.shape_of"

    tensor: Tensor = operand()
    dtype: OptionalDtype = prop(default=None)

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

    data: Tensor = operand()
    shape: Tensor = operand()
    newshape: Integers = prop()

    def infer_type(self) -> Attribute:
        dims = self.newshape.get_values()
        if any(dim < 0 for dim in dims):
            raise VerifyException(f"'newshape' is {list(dims)}, expected no negative number")
        if not same_dimension(element_count(self.data.type.get_shape()), element_count(dims)):
            raise VerifyException(f"'newshape' is {list(dims)}, 'data' is {self.data.type}")
        return with_shape(self.data.type, dims)


VM_OPS = (VmReshapeTensorOp, VmShapeOfOp)
