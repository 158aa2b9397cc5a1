"""The gradients of pooling with respect to what is pooled."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.conv.windows import Pads, expand_padding, positive_pair, window_output
from xrelay.dialects.pool.pool import pooled_layout
from xrelay.dialects.shapes import boolean, int_array, same_dimension, shape_text, string
from xrelay.dialects.tensor.layout import Layout, canonical_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class Pool2DGradOp(RelayOp, ABC):
    """
    The gradient of a pool with respect to its operand `data` [N, C, H, W], given the gradient
    `grad` [N, C, OH, OW] with respect to its result: a tensor like `data`. The properties are
    those of the pool; `layout` is that of both operands and of the result.
    """

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"

    grad = tensor_operand_def()
    data = tensor_operand_def()
    pool_size = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0)))
    layout = prop_def(StringAttr, default_value=string("NCHW"))
    out_layout = prop_def(StringAttr, default_value=string(""))
    ceil_mode = prop_def(BoolAttr, default_value=boolean(False))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))
    assembly_format = "$grad `,` $data attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        grad: Value,
        data: Value,
        pool_size: Sequence[int],
        *,
        strides: Sequence[int] = (1, 1),
        dilation: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        ceil_mode: bool = False,
        layout: str = "NCHW",
    ):
        super().__init__(
            [grad, data],
            {
                "pool_size": int_array(pool_size),
                "strides": int_array(strides),
                "dilation": int_array(dilation),
                "padding": int_array(padding),
                "ceil_mode": boolean(ceil_mode),
                "layout": string(layout),
            },
        )

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
        if self.grad.type.element_type != self.data.type.element_type:
            raise VerifyException(
                f"'data' has elements of type {self.data.type.element_type}, 'grad' of "
                f"{self.grad.type.element_type}"
            )
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


POOL_GRADIENT_OPS = (AvgPool2DGradOp, MaxPool2DGradOp)
