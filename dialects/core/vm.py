"""Operators of programs for Relay's virtual machine."""

from xdsl.dialects.builtin import TensorType, TupleType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators, tuple_type
from xrelay.dialects.core.functional import FnType
from xrelay.dialects.fields import AnyValue, Integers, OptionalDtype, Tensor, operand, prop
from xrelay.dialects.shapes import (
    compatible,
    element_count,
    element_type,
    same_dimension,
    types_within,
    with_shape,
)
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


@irdl_op_definition
class VmInvokeTvmOp(RelayOp):
    """
    Calls the function `op` with the fields of `ins` and writes its result to `outs`, allocated tensors: a field for
    each tensor of the result, from the left. The result is the empty tuple.

    Source: Relay's `vm.invoke_tvm_op`.
    """

    name = "relay.vm.invoke_tvm_op"

    op: AnyValue = operand()
    ins: AnyValue = operand()
    outs: AnyValue = operand()
    result = result_def(TupleType)
    traits = traits_def(
        MemoryReadEffect(),
        MemoryWriteEffect(),
        HasPatternKind(OpPatternKind.OPAQUE),
        NonComputational(),
    )

    def infer_type(self) -> Attribute:
        function = self.op.type
        if not isinstance(function, FnType):
            raise VerifyException(f"'op' is {function}, expected a function")
        for name, given, stated in (
            ("ins", self.ins.type, function.inputs),
            ("outs", self.outs.type, tuple(types_within(function.output))),
        ):
            if not compatible(given, tuple_type(stated)):
                raise VerifyException(
                    f"'{name}' is {given}, expected {tuple_type(stated)} for {function}"
                )
        return tuple_type([])


VM_OPS = operators(__name__)
