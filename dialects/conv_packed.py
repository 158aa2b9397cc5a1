"""Convolution of images and weights in blocks of channels."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import TypeAttribute
from xdsl.irdl import irdl_op_definition, prop_def

from xrelay.dialects.base import Value
from xrelay.dialects.conv import LaidOutConvolutionOp
from xrelay.dialects.shapes import int_array, integer, string


class PackedConv2DOp(LaidOutConvolutionOp, ABC):
    """
    The convolution of `relay.nn.conv2d` for images and weights whose layouts have blocks of
    channels: with the layouts NCHW8c and OIHW8i16o, `data` is [N, C / 8, H, W, 8] and `weight`
    [O / 16, C / groups / 8, KH, KW, 8, 16]. Blocks must divide the channels. `out_layout` is by
    default that of `data`.
    """

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"
    KERNEL_LAYOUT: ClassVar[str] = "OIHW"

    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    data_layout = prop_def(StringAttr, default_value=string("NCHW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIHW"))

    def __init__(
        self,
        data: Value,
        weight: Value,
        *,
        data_layout: str,
        kernel_layout: str,
        out_layout: str = "",
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        out_dtype: TypeAttribute | None = None,
    ):
        super().__init__(
            [data, weight],
            {
                "strides": int_array(strides),
                "padding": int_array(padding),
                "dilation": int_array(dilation),
                "groups": integer(groups),
                "data_layout": string(data_layout),
                "kernel_layout": string(kernel_layout),
                "out_layout": string(out_layout),
                "out_dtype": out_dtype,
            },
        )


@irdl_op_definition
class ContribConv2DNCHWcOp(PackedConv2DOp):
    """
    `relay.nn.conv2d` of images [N, C / x, H, W, x] with a weight
    [O / y, C / groups / x, KH, KW, x, y].

    Source: Relay's `nn.contrib_conv2d_NCHWc`.
    """

    name = "relay.nn.contrib_conv2d_NCHWc"


@irdl_op_definition
class ContribDepthwiseConv2DNCHWcOp(PackedConv2DOp):
    """
    `relay.nn.conv2d` of images [N, C / x, H, W, x] with a filter of its own for every channel: a
    weight [C / x, 1, KH, KW, 1, x] in the layout OIHW1i{x}o, and `groups` C.

    Source: Relay's `nn.contrib_depthwise_conv2d_NCHWc`.
    """

    name = "relay.nn.contrib_depthwise_conv2d_NCHWc"


CONV_PACKED_OPS = (ContribConv2DNCHWcOp, ContribDepthwiseConv2DNCHWcOp)
