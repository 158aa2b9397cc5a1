"""The gradients of pooling with respect to what is pooled."""

from abc import ABC
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import Pads, expand_padding, positive_pair, window_output
from xrelay.dialects.fields import Flag, Integers, Tensor, Text, operand, prop
from xrelay.dialects.pool.pool import pooled_layout
from xrelay.dialects.shapes import require_same_dtype, same_dimension, shape_text
from xrelay.dialects.tensor.layout import Layout, canonical_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class Pool2DGradOp(RelayOp, ABC):
    """
    The gradient of a pool with respect to its operand `data` [N, C, H, W], given the gradient
    `grad` [N, C, OH, OW] with respect to its result: a tensor like `data`. The properties are
    those of the pool; `layout` is that of both operands and of the result.
    """

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"

    grad: Tensor = operand()
    data: Tensor = operand()
    pool_size: Integers = prop()
    strides: Integers = prop(default=(1, 1))
    dilation: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    ceil_mode: Flag = prop(default=False)
    layout: Text = prop(default="NCHW")
    out_layout: Text = prop(default="")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def data_layout(self) -> Layout:
        """The layout of the operands and of the result."""
        return pooled_layout(self.layout, self.out_layout, self.IMAGE_LAYOUT)

    @property
    def pads(self) -> Pads:
        """The padding of each side."""
        return expand_padding(self.padding.get_values())

    def window_numbers(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """The size of windows, their strides and dilation."""
        return (
            positive_pair(self.pool_size, "pool_size"),
            positive_pair(self.strides, "strides"),
            positive_pair(self.dilation, "dilation"),
        )

    def infer_type(self) -> Attribute:
        require_same_dtype(self.data.type, "data", self.grad.type, "grad")
        layout = self.data_layout
        batch, channels, *image = canonical_shape(self.data, "'data'", layout, self.IMAGE_LAYOUT)
        found = canonical_shape(self.grad, "'grad'", layout, self.IMAGE_LAYOUT)
        counts = window_output(
            image, *self.window_numbers(), self.pads, ceil_mode=bool(self.ceil_mode.value.data)
        )
        pooled = [batch, channels, *counts]
        if not all(map(same_dimension, found, pooled)):
            raise VerifyException(
                f"'grad' is {shape_text(found)} in the layout {self.IMAGE_LAYOUT}, pooling 'data' "
                f"gives {shape_text(pooled)}"
            )
        return self.data.type


@irdl_op_definition
class AvgPool2DGradOp(Pool2DGradOp):
    """
    Each element of `grad`, divided by the number of elements of `data` in its window (1 if there is
    none), is added to every one of them. Quotients of integers are rounded towards zero.

    Relay registers the operands as (data, grad), but its calls pass the gradient first.

    Source: Relay's `nn.avg_pool2d_grad`.
    """

    name = "relay.nn.avg_pool2d_grad"


@irdl_op_definition
class MaxPool2DGradOp(Pool2DGradOp):
    """
    Each element of `grad` is added to the largest element of `data` in its window: the first NaN,
    if there is one, else the first of several. A window of padding alone adds nothing.

    Relay registers the operands as (data, grad), but its calls pass the gradient first.

    Source: Relay's `nn.max_pool2d_grad`.
    """

    name = "relay.nn.max_pool2d_grad"
