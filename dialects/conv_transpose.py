"""The transposes of convolutions of lines, images and volumes."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, StringAttr, TensorType, i64
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import Value
from xrelay.dialects.conv import ConvolutionOp
from xrelay.dialects.layout import canonical_shape, shape_in_layout
from xrelay.dialects.shapes import (
    dimension_product,
    int_array,
    integer,
    same_dimension,
    string,
)
from xrelay.dialects.windows import transposed_window_output


class TransposedConvolutionOp(ConvolutionOp, ABC):
    """
    The transpose of a convolution, as its gradient with respect to its input: every element of
    `data` [N, C, …], times `weight`, is added to a window of the result. With the weight as
    [C, O / groups, …], the result before `padding` is cut off its borders is
    full[n, g * O / groups + o, y * s + i * d] += data[n, c, y] * weight[c, o, i] along every
    spatial axis, where g is the group of c.

    The result has (H - 1) * s + (K - 1) * d + 1 - before - after + `output_padding` elements along
    each: `output_padding` is added at the end, or cut off less there. `channels` is O.

    `data_layout`, `kernel_layout` and `out_layout` (by default that of `data`) state the order of
    the axes. In `kernel_layout`, I is the axis of length C and O that of length O / groups.
    """

    output_padding = prop_def(DenseArrayBase.constr(i64))

    def __init__(
        self,
        data: Value,
        weight: Value,
        *,
        strides: Sequence[int] | None = None,
        output_padding: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        groups: int = 1,
        data_layout: str | None = None,
        kernel_layout: str | None = None,
        out_layout: str = "",
        out_dtype: TypeAttribute | None = None,
    ):
        numbers = {
            "strides": strides,
            "output_padding": output_padding,
            "padding": padding,
            "dilation": dilation,
        }
        super().__init__(
            [data, weight],
            {
                **{name: None if v is None else int_array(v) for name, v in numbers.items()},
                "groups": integer(groups),
                "data_layout": None if data_layout is None else string(data_layout),
                "kernel_layout": None if kernel_layout is None else string(kernel_layout),
                "out_layout": string(out_layout),
                "out_dtype": out_dtype,
            },
        )

    def infer_type(self) -> Attribute:
        images, kernels, results = self.layouts
        batch, channels, *image = canonical_shape(self.data, "'data'", images, self.IMAGE_LAYOUT)
        taken, group_channels, *kernel = canonical_shape(
            self.weight, "'weight'", kernels, self.KERNEL_LAYOUT
        )
        groups = self.group_count()
        if not same_dimension(channels, taken):
            raise VerifyException(
                f"'data' has {channels} channels, 'weight' takes {taken} "
                f"('kernel_layout' is \"{self.kernel_layout.data}\")"
            )
        if taken != DYNAMIC_INDEX and taken % groups:
            raise VerifyException(
                f"'weight' takes {taken} channels, not a multiple of {groups} groups"
            )
        out_channels = dimension_product((group_channels, groups))
        self.require_weight(out_channels, kernel)
        positions = transposed_window_output(
            image,
            kernel,
            self.window_strides,
            self.window_dilation,
            self.pads,
            self.output_padding.get_values(),
        )
        shape = [batch, out_channels, *positions]
        out_shape = shape_in_layout(shape, "out_layout", results, self.IMAGE_LAYOUT)
        return TensorType(self.sum_type(), out_shape)


@irdl_op_definition
class Conv1DTransposeOp(TransposedConvolutionOp):
    """
    The transpose of a convolution of lines `data` [N, C, W], as in `relay.nn.conv2d_transpose`:
    full[n, g * O / groups + o, x * stride + j * dilation] += data[n, c, x] * weight[c, o, j].
    `padding` holds one number, or two: (left, right).

    Source: Relay's `nn.conv1d_transpose`, ONNX's ConvTranspose.
    """

    name = "relay.nn.conv1d_transpose"

    IMAGE_LAYOUT: ClassVar[str] = "NCW"
    KERNEL_LAYOUT: ClassVar[str] = "IOW"

    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1,)))
    output_padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0,)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0,)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1,)))
    data_layout = prop_def(StringAttr, default_value=string("NCW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIW"))


@irdl_op_definition
class Conv2DTransposeOp(TransposedConvolutionOp):
    """
    The transpose of a convolution, as its gradient with respect to its input: every element of
    `data` [N, C, H, W], times `weight`, is added to a window of the result. With the weight as
    [C, O / groups, KH, KW], the result before `padding` is cut off its borders is
    full[n, g * O / groups + o, y * sh + i * dh, x * sw + j * dw] +=
    data[n, c, y, x] * weight[c, o, i, j], where g is the group of c.

    `kernel_layout` "IOHW" states the weight in that order, "OIHW" as [O / groups, C, KH, KW].
    The result has (H - 1) * sh + (KH - 1) * dh + 1 - top - bottom + `output_padding`[0] rows, and
    columns likewise: `output_padding` is added at the end, or cut off less there. `channels` is O.
    `padding` holds one, two (vertical, horizontal) or four (top, left, bottom, right) numbers.

    Source: Relay's `nn.conv2d_transpose`, ONNX's ConvTranspose.
    """

    name = "relay.nn.conv2d_transpose"

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"
    KERNEL_LAYOUT: ClassVar[str] = "IOHW"

    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    output_padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    data_layout = prop_def(StringAttr, default_value=string("NCHW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIHW"))


@irdl_op_definition
class Conv3DTransposeOp(TransposedConvolutionOp):
    """
    The transpose of a convolution of volumes `data` [N, C, D, H, W], as in
    `relay.nn.conv2d_transpose`: full[n, g * O / groups + o, z * sd + h * dd, y * sh + i * dh,
    x * sw + j * dw] += data[n, c, z, y, x] * weight[c, o, h, i, j]. `padding` holds one, three or
    six (front, top, left, back, bottom, right) numbers.

    Source: Relay's `nn.conv3d_transpose`, ONNX's ConvTranspose.
    """

    name = "relay.nn.conv3d_transpose"

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"
    KERNEL_LAYOUT: ClassVar[str] = "IODHW"

    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1, 1)))
    output_padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0, 0)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0, 0)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1, 1)))
    data_layout = prop_def(StringAttr, default_value=string("NCDHW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIDHW"))


CONV_TRANSPOSE_OPS = (Conv1DTransposeOp, Conv2DTransposeOp, Conv3DTransposeOp)
