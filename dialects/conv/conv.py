"""Convolution of lines, images and volumes."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import (
    Pads,
    expand_padding,
    positive_numbers,
    transposed_window_output,
    window_output,
)
from xrelay.dialects.fields import (
    Integer,
    Integers,
    OptionalDtype,
    OptionalInteger,
    OptionalIntegers,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import dimension_product, element_type, same_dimension, shape_text
from xrelay.dialects.tensor.layout import (
    Layout,
    block_count,
    canonical_shape,
    layout_of,
    padded_shape,
    shape_in_layout,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class ConvolutionOp(RelayOp, ABC):
    """
    What the convolutions share: `data` and `weight`, whose channels are divided into `groups`.
    `channels` and `kernel_size`, when given, must agree with `weight`. Both operands, which may
    differ in dtype, are converted to `out_dtype` (by default the dtype of `data`) by the rules of
    `relay.cast`, and products are summed in it. Where a weight is not finite, its product with an
    element outside of `data` is not specified: 0 or NaN.
    """

    IMAGE_LAYOUT: ClassVar[str]
    """The order of axes that images are described in: NCHW."""
    KERNEL_LAYOUT: ClassVar[str]
    """The order of axes that weights are described in: OIHW, or IOHW."""

    data: Tensor = operand()
    weight: Tensor = operand()
    strides: Integers = prop()
    padding: Integers = prop()
    dilation: Integers = prop()
    groups: Integer = prop(default=1)
    channels: OptionalInteger = prop(default=None)
    kernel_size: OptionalIntegers = prop(default=None)
    data_layout: Text = prop(kw_only=True)
    kernel_layout: Text = prop(kw_only=True)
    out_layout: Text = prop(default="")
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def spatial_axes(self) -> int:
        """How many axes a window has."""
        return len(self.IMAGE_LAYOUT) - 2

    @property
    def window_strides(self) -> tuple[int, ...]:
        """`strides`, a number for each spatial axis."""
        return positive_numbers(self.strides, "strides", self.spatial_axes)

    @property
    def window_dilation(self) -> tuple[int, ...]:
        """`dilation`, a number for each spatial axis."""
        return positive_numbers(self.dilation, "dilation", self.spatial_axes)

    @property
    def pads(self) -> Pads:
        """The padding of each side of each spatial axis."""
        return expand_padding(self.padding.get_values(), self.spatial_axes)

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """The layouts of `data`, `weight` and the result: their axes in any order."""
        out_layout = self.out_layout if self.out_layout.data else self.data_layout
        return (
            layout_of(self.data_layout, "data_layout", self.IMAGE_LAYOUT, splits="NC"),
            layout_of(self.kernel_layout, "kernel_layout", self.KERNEL_LAYOUT, splits="OI"),
            layout_of(out_layout, "out_layout", self.IMAGE_LAYOUT, splits="NC"),
        )

    def group_count(self) -> int:
        """The number of groups."""
        groups = self.groups.value.data
        if groups < 1:
            raise VerifyException(f"'groups' is {groups}, expected at least 1")
        return groups

    def sum_type(self) -> Attribute:
        """The element type of the result."""
        return element_type(self.out_dtype or self.data.type.element_type, "out_dtype")

    def require_weight(self, out_channels: int, kernel: Sequence[int]) -> None:
        """Raises unless `channels` and `kernel_size` agree with what `weight` has."""
        if self.channels is not None and not same_dimension(self.channels.value.data, out_channels):
            raise VerifyException(
                f"'channels' is {self.channels.value.data}, 'weight' has {out_channels}"
            )
        if self.kernel_size is not None:
            stated = self.kernel_size.get_values()
            if len(stated) != len(kernel) or not all(map(same_dimension, stated, kernel)):
                raise VerifyException(
                    f"'kernel_size' is {list(stated)}, 'weight' has {shape_text(kernel)}"
                )

    def correlated_channels(
        self, weight: Sequence[int], in_channels: int, lanes: int | None = None
    ) -> int:
        """
        The output channels of a cross-correlation with a weight of the shape [O, C / groups, …].

        Raises VerifyException unless the `in_channels`, which fill blocks of `lanes`, fit.
        """
        out_channels, group_channels, *kernel = weight
        groups = self.group_count()
        taken = block_count(dimension_product((group_channels, groups)), lanes)
        if not same_dimension(block_count(in_channels, lanes), taken):
            unit = "channels" if lanes is None else f"blocks of {lanes} channels"
            raise VerifyException(
                f"'data' has {block_count(in_channels, lanes)} {unit}, 'weight' takes "
                f"{group_channels} in each of {groups} groups"
            )
        if out_channels != DYNAMIC_INDEX and out_channels % groups:
            raise VerifyException(
                f"'weight' has {out_channels} output channels, not a multiple of {groups} groups"
            )
        self.require_weight(out_channels, kernel)
        return out_channels


class ImageConvolutionOp(ConvolutionOp, ABC):
    """The properties of convolutions of images, whose weights are OIHW unless `kernel_layout` says otherwise."""

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"
    KERNEL_LAYOUT: ClassVar[str] = "OIHW"

    strides: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    dilation: Integers = prop(default=(1, 1))
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="OIHW")


class VolumeConvolutionOp(ConvolutionOp, ABC):
    """The properties of convolutions of volumes, whose weights are OIDHW unless `kernel_layout` says otherwise."""

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"
    KERNEL_LAYOUT: ClassVar[str] = "OIDHW"

    strides: Integers = prop(default=(1, 1, 1))
    padding: Integers = prop(default=(0, 0, 0))
    dilation: Integers = prop(default=(1, 1, 1))
    data_layout: Text = prop(default="NCDHW")
    kernel_layout: Text = prop(default="OIDHW")


class LaidOutConvolutionOp(ConvolutionOp, ABC):
    """
    A cross-correlation whose tensors have their axes in any order, and channels in blocks or not:
    `data_layout`, `kernel_layout` and `out_layout` (by default that of `data`).

    In blocks of x channels, as in NCHW{x}c, images are [N, C / x rounded up, H, W, x]. Lanes after
    the last channel of `data` are never read; those of the result are not specified (the
    interpreter gives 0).

    Where every channel is a group and `channels` is C * M, `weight` may also be [C, M, …], the M
    filters of each channel, in place of [C * M, 1, …].
    """

    def filter_shape(self, weight: Sequence[int]) -> list[int]:
        """The shape [O, C / groups, …] of a weight whose axes in this order have some lengths."""
        first, second, *kernel = weight
        groups = self.group_count()
        channels = 0 if self.channels is None else self.channels.value.data
        if (
            channels <= groups
            or channels % groups
            or not same_dimension(first, groups)
            or not same_dimension(second, channels // groups)
        ):
            return list(weight)
        # An axis of unknown length may be that of C channels or that of C * M filters.
        return [channels, DYNAMIC_INDEX if first == DYNAMIC_INDEX else 1, *kernel]

    @property
    def weight_shape(self) -> list[int]:
        """The shape of `weight` as [O, C / groups, …]."""
        return self.filter_shape(self._stated_weight())

    @property
    def multiplies_depth(self) -> bool:
        """Whether `weight` is [C, M, …]."""
        return certainly(self.weight_shape[1], 1) and not certainly(self._stated_weight()[1], 1)

    @property
    def is_plain(self) -> bool:
        """
        Whether `weight` is [O, C / groups, …], and `data` and the result are [N, C, …] or have
        blocks of channels after these axes.
        """
        images, kernels, results = map(str, self.layouts)
        return (
            images.startswith(self.IMAGE_LAYOUT)
            and results.startswith(self.IMAGE_LAYOUT)
            and kernels == self.KERNEL_LAYOUT
            and not self.multiplies_depth
        )

    def infer_type(self) -> Attribute:
        images, _, results = self.layouts
        batch, channels, *image = canonical_shape(self.data, "'data'", images, self.IMAGE_LAYOUT)
        weight = self.weight_shape
        out_channels = self.correlated_channels(weight, channels, images.blocks.get("C"))
        positions = window_output(
            image, weight[2:], self.window_strides, self.window_dilation, self.pads
        )
        shape = padded_shape([batch, out_channels, *positions], results, self.IMAGE_LAYOUT)
        return TensorType(self.sum_type(), shape)

    def _stated_weight(self) -> list[int]:
        _, kernels, _ = self.layouts
        return canonical_shape(self.weight, "'weight'", kernels, self.KERNEL_LAYOUT)


@irdl_op_definition
class Conv1DOp(LaidOutConvolutionOp):
    """
    Cross-correlation of `data` [N, C, W] with `weight` [O, C / groups, KW]:
    result[n, o, x] = sum over c, j of
    data[n, g * C / groups + c, x * stride + j * dilation - left] * weight[o, c, j],
    where g is the group of o, and elements outside of `data` are 0.

    `padding` holds one number, or two: (left, right). `channels` and `kernel_size`, when given,
    must agree with `weight`. Products are summed in `out_dtype`, by default the dtype of `data`.
    Layouts may state other orders of the axes, and blocks of channels: NWC, WIO.

    Source: Relay's `nn.conv1d`, ONNX's Conv.
    """

    name = "relay.nn.conv1d"

    IMAGE_LAYOUT: ClassVar[str] = "NCW"
    KERNEL_LAYOUT: ClassVar[str] = "OIW"

    strides: Integers = prop(default=(1,))
    padding: Integers = prop(default=(0, 0))
    dilation: Integers = prop(default=(1,))
    data_layout: Text = prop(default="NCW")
    kernel_layout: Text = prop(default="OIW")


@irdl_op_definition
class Conv2DOp(ImageConvolutionOp, LaidOutConvolutionOp):
    """
    Cross-correlation of `data` [N, C, H, W] with `weight` [O, C / groups, KH, KW]:
    result[n, o, y, x] = sum over c, i, j of
    data[n, g * C / groups + c, y * sh + i * dh - top, x * sw + j * dw - left] * weight[o, c, i, j],
    where g is the group of o, and elements outside of `data` are 0.

    `padding` holds one, two (vertical, horizontal) or four (top, left, bottom, right) numbers.
    `channels` and `kernel_size`, when given, must agree with `weight`. Products are summed in
    `out_dtype`, by default the dtype of `data`. Layouts may state other orders of the axes, and
    blocks of channels: NHWC, HWIO; NCHW16c, OIHW4i16o.

    Source: Relay's `nn.conv2d` and `nn.contrib_conv2d_NCHWc`, ONNX's Conv.
    """

    name = "relay.nn.conv2d"


@irdl_op_definition
class Conv3DOp(VolumeConvolutionOp, LaidOutConvolutionOp):
    """
    Cross-correlation of `data` [N, C, D, H, W] with `weight` [O, C / groups, KD, KH, KW]:
    result[n, o, z, y, x] = sum over c, h, i, j of
    data[n, g * C / groups + c, z * sd + h * dd - front, y * sh + i * dh - top,
    x * sw + j * dw - left] * weight[o, c, h, i, j], where g is the group of o, and elements outside
    of `data` are 0.

    `padding` holds one, three or six (front, top, left, back, bottom, right) numbers. `channels`
    and `kernel_size`, when given, must agree with `weight`. Products are summed in `out_dtype`, by
    default the dtype of `data`. Layouts may state other orders of the axes, and blocks of
    channels: NDHWC, DHWIO.

    Source: Relay's `nn.conv3d`, ONNX's Conv.
    """

    name = "relay.nn.conv3d"


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
    the axes. `KERNEL_LAYOUT` names those of the weight in the order of the formula.
    """

    PLAIN_KERNELS: ClassVar[tuple[str, ...]]
    """The layouts of weights that are not changed before the operator is computed."""

    output_padding: Integers = prop()

    @property
    def is_plain(self) -> bool:
        """Whether `data` and the result are [N, C, …], and `weight` is in a plain layout, too."""
        images, kernels, results = map(str, self.layouts)
        return images == results == self.IMAGE_LAYOUT and kernels in self.PLAIN_KERNELS

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
class Conv2DTransposeOp(TransposedConvolutionOp):
    """
    The transpose of a convolution, as its gradient with respect to its input: every element of
    `data` [N, C, H, W], times `weight`, is added to a window of the result. With the weight as
    [C, O / groups, KH, KW], the result before `padding` is cut off its borders is
    full[n, g * O / groups + o, y * sh + i * dh, x * sw + j * dw] +=
    data[n, c, y, x] * weight[c, o, i, j], where g is the group of c.

    `kernel_layout` "IOHW" states the weight in that order, "OIHW" as [O / groups, C, KH, KW], and
    other layouts likewise.
    The result has (H - 1) * sh + (KH - 1) * dh + 1 - top - bottom + `output_padding`[0] rows, and
    columns likewise: `output_padding` is added at the end, or cut off less there. `channels` is O.
    `padding` holds one, two (vertical, horizontal) or four (top, left, bottom, right) numbers.

    Source: Relay's `nn.conv2d_transpose`, ONNX's ConvTranspose.
    """

    name = "relay.nn.conv2d_transpose"

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"
    KERNEL_LAYOUT: ClassVar[str] = "IOHW"
    PLAIN_KERNELS: ClassVar[tuple[str, ...]] = ("IOHW", "OIHW")

    strides: Integers = prop(default=(1, 1))
    output_padding: Integers = prop(default=(0, 0))
    padding: Integers = prop(default=(0, 0))
    dilation: Integers = prop(default=(1, 1))
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="OIHW")
