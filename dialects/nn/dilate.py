"""Tensors with gaps between their elements."""

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.fields import Integers, Real, Tensor, operand, prop
from xrelay.dialects.shapes import with_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class DilateOp(RelayOp):
    """
    `x` with `strides`[i] - 1 elements of `dilation_value` between neighbours along axis i:
    result[s * i, …] = x[i, …]. An axis of length n > 0 gets the length (n - 1) * stride + 1.

    Source: Relay's `nn.dilate`.
    """

    name = "relay.nn.dilate"

    x: Tensor = operand()
    strides: Integers = prop(default=(1, 1), kw_only=False)
    dilation_value: Real = prop(default=0.0, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        shape = self.x.type.get_shape()
        strides = positive_numbers(self.strides, "strides", len(shape))
        lengths = [
            length if length in (0, DYNAMIC_INDEX) else (length - 1) * stride + 1
            for length, stride in zip(shape, strides, strict=True)
        ]
        return with_shape(self.x.type, lengths)
