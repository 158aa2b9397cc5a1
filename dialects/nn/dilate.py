"""Tensors with gaps between their elements."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, FloatAttr, f64, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.shapes import int_array, real, with_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class DilateOp(RelayOp):
    """
    `x` with `strides`[i] - 1 elements of `dilation_value` between neighbours along axis i:
    result[s * i, …] = x[i, …]. An axis of length n > 0 gets the length (n - 1) * stride + 1.

    Source: Relay's `nn.dilate`.
    """

    name = "relay.nn.dilate"

    x = tensor_operand_def()
    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    dilation_value = prop_def(FloatAttr.constr(f64), default_value=real(0.0))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$x attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: Value, strides: Sequence[int], dilation_value: float = 0.0):
        super().__init__(
            [x], {"strides": int_array(strides), "dilation_value": real(dilation_value)}
        )

    def infer_type(self) -> Attribute:
        shape = self.x.type.get_shape()
        strides = positive_numbers(self.strides, "strides", len(shape))
        lengths = [
            length if length in (0, DYNAMIC_INDEX) else (length - 1) * stride + 1
            for length, stride in zip(shape, strides, strict=True)
        ]
        return with_shape(self.x.type, lengths)


DILATE_OPS = (DilateOp,)
