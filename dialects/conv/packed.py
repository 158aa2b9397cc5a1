"""Convolution of images and weights in blocks of channels."""

from abc import ABC

from xdsl.irdl import irdl_op_definition

from xrelay.dialects.base import operators
from xrelay.dialects.conv.conv import ImageConvolutionOp, LaidOutConvolutionOp
from xrelay.dialects.tensor.layout import Layout


class PackedConv2DOp(ImageConvolutionOp, LaidOutConvolutionOp, ABC):
    """
    The convolution of `relay.nn.conv2d` for images and weights whose layouts have blocks of
    channels: with the layouts NCHW8c and OIHW8i16o, `data` is [N, C / 8, H, W, 8] and `weight`
    [O / 16, C / groups / 8, KH, KW, 8, 16]. `out_layout` is by default that of `data`.
    As in Relay, a weight of six axes may go without its blocks in `kernel_layout`: they are those of
    the inputs, then those of the outputs.
    """

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        images, kernels, results = super().layouts
        shape = self.weight.type.get_shape()
        if not kernels.blocks and len(shape) == 6 and min(shape[4:]) > 0:
            kernels = Layout.parse(f"{kernels}{shape[4]}i{shape[5]}o", "kernel_layout")
        return images, kernels, results


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


CONV_PACKED_OPS = operators(__name__)
