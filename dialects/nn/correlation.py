"""Correlation of two images, and convolution with windows that data deforms."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value
from xrelay.dialects.conv.conv import ConvolutionOp
from xrelay.dialects.conv.windows import Pads, expand_padding, window_output
from xrelay.dialects.fields import Flag, Integer, Integers, Tensor, Text, operand, prop
from xrelay.dialects.shapes import (
    compatible,
    dimension_product,
    int_array,
    integer,
    ranked,
    require_float,
    require_one_of,
    same_dimension,
    shape_text,
    string,
    with_shape,
)
from xrelay.dialects.tensor.layout import canonical_shape, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class CorrelationOp(RelayOp):
    """
    Compares patches of two images [N, C, H, W]. With K = `kernel_size`, m = `max_displacement`,
    r = m // `stride2` and G = 2 r + 1, channel q of the result compares the patch of `data1` at a
    place with that of `data2` ((q // G - r) * `stride2`, (q % G - r) * `stride2`) further:

    result[n, q, y, x] = sum over c, i, j of
    f(padded1[n, c, y1 + i, x1 + j], padded2[n, c, y1 + (q // G - r) * `stride2` + i,
    x1 + (q % G - r) * `stride2` + j]) / (K * K * C)
    with y1 = y * `stride1` + m, x1 = x * `stride1` + m, and f(a, b) = a * b, or |a - b| when not
    `is_multiply`. Both are padded with 0; `padding` holds one, two or four numbers.

    Source: Relay's `nn.correlation`; FlowNet (Dosovitskiy et al., 2015).
    """

    name = "relay.nn.correlation"

    data1: Tensor = operand()
    data2: Tensor = operand()
    kernel_size: Integer = prop(default=1)
    max_displacement: Integer = prop(default=1)
    stride1: Integer = prop(default=1)
    stride2: Integer = prop(default=1)
    padding: Integers = prop(default=(0, 0))
    is_multiply: Flag = prop(default=True)
    layout: Text = prop(default="NCHW")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def pads(self) -> Pads:
        """The padding of each side."""
        return expand_padding(self.padding.get_values())

    @property
    def reach(self) -> int:
        """By how many steps of `stride2` patches of `data2` are displaced at most."""
        return self.max_displacement.value.data // self.stride2.value.data

    def infer_type(self) -> Attribute:
        require_one_of("layout", self.layout, "NCHW")
        first, second = ranked(self.data1, "'data1'", 4), ranked(self.data2, "'data2'", 4)
        require_float(first, "data1")
        if not compatible(first, second):
            raise VerifyException(f"'data1' is {first}, 'data2' is {second}, expected the same")
        kernel, most = self.kernel_size.value.data, self.max_displacement.value.data
        if kernel < 1 or kernel % 2 == 0:
            raise VerifyException(f"'kernel_size' is {kernel}, expected an odd number")
        if most < 0:
            raise VerifyException(f"'max_displacement' is {most}, expected at least 0")
        for name, stride in (("stride1", self.stride1), ("stride2", self.stride2)):
            if stride.value.data < 1:
                raise VerifyException(f"'{name}' is {stride.value.data}, expected at least 1")
        batch, _, *image = first.get_shape()
        window = 2 * most + kernel
        stride = self.stride1.value.data
        positions = window_output(image, (window, window), (stride, stride), (1, 1), self.pads)
        return with_shape(first, [batch, (2 * self.reach + 1) ** 2, *positions])


@irdl_op_definition
class DeformableConv2DOp(ConvolutionOp):
    """
    Cross-correlation of `data` [N, C, H, W] with `weight` [O, C / groups, KH, KW], whose taps are
    displaced by `offset` [N, G * KH * KW * 2, OH, OW], G being `deformable_groups`:
    result[n, o, y, x] = sum over c, i, j of s(n, g * C / groups + c, i, j, y, x) *
    weight[o, c, i, j], where g is the group of o, and s is `data` at the row
    y * sh + i * dh - top + offset[n, ((d * KH + i) * KW + j) * 2, y, x] and the column
    x * sw + j * dw - left + offset[n, ((d * KH + i) * KW + j) * 2 + 1, y, x], d being the
    deformable group of the channel. Between elements s is interpolated in both directions, taking
    those after the last row and column as 0; where row < 0, row >= H, column < 0 or column >= W, s
    is 0.

    `data_layout` is that of `data` and `offset`, `kernel_layout` that of `weight`, `out_layout` by
    default that of `data`. The result has the dtype `out_dtype`, by default that of `data`, in
    which products are summed.

    Source: Relay's `nn.deformable_conv2d`; Dai et al., Deformable Convolutional Networks, 2017.
    """

    name = "relay.nn.deformable_conv2d"

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"
    KERNEL_LAYOUT: ClassVar[str] = "OIHW"

    data: Tensor = operand()
    offset: Tensor = operand()
    weight: Tensor = operand()
    strides: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    dilation: Integers = prop(default=(1, 1))
    deformable_groups: Integer = prop(default=1)
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="OIHW")

    def __init__(
        self,
        data: Value,
        offset: Value,
        weight: Value,
        *,
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        deformable_groups: int = 1,
        groups: int = 1,
        data_layout: str = "NCHW",
        kernel_layout: str = "OIHW",
        out_layout: str = "",
        out_dtype: TypeAttribute | None = None,
    ):
        self.initialize(
            [data, offset, weight],
            {
                "strides": int_array(strides),
                "padding": int_array(padding),
                "dilation": int_array(dilation),
                "deformable_groups": integer(deformable_groups),
                "groups": integer(groups),
                "data_layout": string(data_layout),
                "kernel_layout": string(kernel_layout),
                "out_layout": string(out_layout),
                "out_dtype": out_dtype,
            },
        )

    def infer_type(self) -> Attribute:
        for name, type_ in (("data", self.data.type), ("offset", self.offset.type)):
            require_float(type_, name)
        images, kernels, results = self.layouts
        batch, channels, *image = canonical_shape(self.data, "'data'", images, self.IMAGE_LAYOUT)
        weight = canonical_shape(self.weight, "'weight'", kernels, self.KERNEL_LAYOUT)
        out_channels = self.correlated_channels(weight, channels)
        parts = self.deformable_groups.value.data
        if parts < 1 or (channels != DYNAMIC_INDEX and channels % parts):
            raise VerifyException(
                f"'deformable_groups' is {parts}, expected a divisor of the {channels} channels "
                "of 'data'"
            )
        positions = window_output(
            image, weight[2:], self.window_strides, self.window_dilation, self.pads
        )
        offset = canonical_shape(self.offset, "'offset'", images, self.IMAGE_LAYOUT)
        expected = [batch, dimension_product((parts, 2, *weight[2:])), *positions]
        if not all(map(same_dimension, offset, expected)):
            raise VerifyException(
                f"'offset' is {shape_text(offset)} in the layout {self.IMAGE_LAYOUT}, expected "
                f"{shape_text(expected)}"
            )
        shape = [batch, out_channels, *positions]
        out_shape = shape_in_layout(shape, "out_layout", results, self.IMAGE_LAYOUT)
        return TensorType(self.sum_type(), out_shape)
