"""The transposes of convolutions of lines and volumes."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from xrelay.dialects.base import operators
from xrelay.dialects.conv.conv import TransposedConvolutionOp
from xrelay.dialects.fields import Integers, Text, prop


@irdl_op_definition
class Conv1DTransposeOp(TransposedConvolutionOp):
    """
    The transpose of a convolution of lines `data` [N, C, W], as in `relay.nn.conv2d_transpose`:
    full[n, g * O / groups + o, x * stride + j * dilation] += data[n, c, x] * weight[c, o, j].
    `padding` holds one number, or two: (left, right). As in Relay, `kernel_layout` calls the axis of
    length C O and the one of length O / groups I, other than that of `relay.nn.conv2d_transpose`.

    Source: Relay's `nn.conv1d_transpose`, ONNX's ConvTranspose.
    """

    name = "relay.nn.conv1d_transpose"

    IMAGE_LAYOUT: ClassVar[str] = "NCW"
    KERNEL_LAYOUT: ClassVar[str] = "OIW"
    PLAIN_KERNELS: ClassVar[tuple[str, ...]] = ("OIW",)

    strides: Integers = prop(default=(1,))
    output_padding: Integers = prop(default=(0,))
    padding: Integers = prop(default=(0,))
    dilation: Integers = prop(default=(1,))
    data_layout: Text = prop(default="NCW")
    kernel_layout: Text = prop(default="OIW")


@irdl_op_definition
class Conv3DTransposeOp(TransposedConvolutionOp):
    """
    The transpose of a convolution of volumes `data` [N, C, D, H, W], as in
    `relay.nn.conv2d_transpose`: full[n, g * O / groups + o, z * sd + h * dd, y * sh + i * dh,
    x * sw + j * dw] += data[n, c, z, y, x] * weight[c, o, h, i, j]. `padding` holds one, three or
    six (front, top, left, back, bottom, right) numbers. As in Relay, `kernel_layout` calls the axis
    of length C O and the one of length O / groups I, other than that of `relay.nn.conv2d_transpose`.

    Source: Relay's `nn.conv3d_transpose`, ONNX's ConvTranspose.
    """

    name = "relay.nn.conv3d_transpose"

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"
    KERNEL_LAYOUT: ClassVar[str] = "OIDHW"
    PLAIN_KERNELS: ClassVar[tuple[str, ...]] = ("OIDHW",)

    strides: Integers = prop(default=(1, 1, 1))
    output_padding: Integers = prop(default=(0, 0, 0))
    padding: Integers = prop(default=(0, 0, 0))
    dilation: Integers = prop(default=(1, 1, 1))
    data_layout: Text = prop(default="NCDHW")
    kernel_layout: Text = prop(default="OIDHW")


CONV_TRANSPOSE_OPS = operators(__name__)
