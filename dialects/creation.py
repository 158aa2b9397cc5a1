"""Operators that create tensors filled with one value."""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, i64
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.shapes import element_type, int_array, shape_text
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


def _static_shape(shape: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    values = shape.get_values()
    if any(dim < 0 for dim in values):
        raise VerifyException(f"'shape' is {shape_text(values)}, expected no negative number")
    return values


class FilledOp(RelayOp, ABC):
    """A tensor of `shape` and `dtype` without operands."""

    shape = prop_def(DenseArrayBase.constr(i64))
    dtype = prop_def(TypeAttribute)
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, shape: Sequence[int], dtype: TypeAttribute):
        super().__init__([], {"shape": int_array(shape), "dtype": dtype})

    def infer_type(self) -> Attribute:
        return TensorType(element_type(self.dtype, "dtype"), _static_shape(self.shape))


@irdl_op_definition
class ZerosOp(FilledOp):
    """
    A tensor of zeros.

    Source: Relay's `zeros`.
    """

    name = "relay.zeros"


@irdl_op_definition
class OnesOp(FilledOp):
    """
    A tensor of ones.

    Source: Relay's `ones`.
    """

    name = "relay.ones"


@irdl_op_definition
class FullOp(RelayOp):
    """
    A tensor of `shape` whose elements are the scalar `fill_value`.

    Source: Relay's `full`, ONNX's ConstantOfShape.
    """

    name = "relay.full"

    fill_value = tensor_operand_def()
    shape = prop_def(DenseArrayBase.constr(i64))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))
    assembly_format = "$fill_value attr-dict `:` functional-type(operands, results)"

    def __init__(self, fill_value: Value, shape: Sequence[int]):
        super().__init__([fill_value], {"shape": int_array(shape)})

    def infer_type(self) -> Attribute:
        if self.fill_value.type.get_num_dims() != 0:
            raise VerifyException(f"'fill_value' is {self.fill_value.type}, expected a scalar")
        return TensorType(self.fill_value.type.element_type, _static_shape(self.shape))


class FilledLikeOp(RelayOp, ABC):
    """A tensor with the type of `data`."""

    data = tensor_operand_def()
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value):
        super().__init__([data])

    def infer_type(self) -> Attribute:
        return self.data.type


@irdl_op_definition
class ZerosLikeOp(FilledLikeOp):
    """
    Zeros with the type of `data`.

    Source: Relay's `zeros_like`.
    """

    name = "relay.zeros_like"


@irdl_op_definition
class OnesLikeOp(FilledLikeOp):
    """
    Ones with the type of `data`.

    Source: Relay's `ones_like`.
    """

    name = "relay.ones_like"


CREATION_OPS = (FullOp, OnesLikeOp, OnesOp, ZerosLikeOp, ZerosOp)
