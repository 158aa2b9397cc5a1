"""The transposes of convolutions of lines and volumes."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.irdl import irdl_op_definition, prop_def

from xrelay.dialects.conv.conv import TransposedConvolutionOp
from xrelay.dialects.shapes import int_array, string


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

    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1,)))
    output_padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0,)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0,)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1,)))
    data_layout = prop_def(StringAttr, default_value=string("NCW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIW"))


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

    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1, 1)))
    output_padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0, 0)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0, 0)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1, 1)))
    data_layout = prop_def(StringAttr, default_value=string("NCDHW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIDHW"))


CONV_TRANSPOSE_OPS = (Conv1DTransposeOp, Conv3DTransposeOp)
