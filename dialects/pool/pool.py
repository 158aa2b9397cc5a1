"""Pooling over windows of lines, images and volumes."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import Pads, expand_padding, positive_numbers, window_output
from xrelay.dialects.fields import Flag, Integers, Tensor, Text, operand, prop
from xrelay.dialects.shapes import require_one_of, with_shape
from xrelay.dialects.tensor.layout import Layout, canonical_shape, layout_of, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


def pooled_layout(layout: StringAttr, out_layout: StringAttr, canonical: str) -> Layout:
    """The layout of images, whose channels may be in blocks; the result has it, too."""
    found = layout_of(layout, "layout", canonical, splits="C")
    require_one_of("out_layout", out_layout, layout.data, "")
    return found


class PoolOp(RelayOp, ABC):
    """
    What the pools of every number of spatial axes share: each result element combines the elements
    of a window of `pool_size` elements in steps of `dilation`; windows lie `strides` apart.
    `padding` holds one number, one for each spatial axis, or those before each axis and then those
    after each; with `ceil_mode` the last windows may reach beyond the padded image. `layout` may
    state another order of the axes and blocks of channels, which the result has, too.
    """

    IMAGE_LAYOUT: ClassVar[str]
    """The order of axes that images are described in."""

    data: Tensor = operand()
    pool_size: Integers = prop()
    strides: Integers = prop()
    dilation: Integers = prop()
    padding: Integers = prop()
    layout: Text = prop()
    out_layout: Text = prop(default="")
    ceil_mode: Flag = prop(default=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def spatial_axes(self) -> int:
        """How many axes a window has."""
        return len(self.IMAGE_LAYOUT) - 2

    @property
    def pads(self) -> Pads:
        """The padding of each side of each spatial axis."""
        return expand_padding(self.padding.get_values(), self.spatial_axes)

    def window_numbers(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The size of windows, their strides and dilation, a number for each spatial axis."""
        axes = self.spatial_axes
        return (
            positive_numbers(self.pool_size, "pool_size", axes),
            positive_numbers(self.strides, "strides", axes),
            positive_numbers(self.dilation, "dilation", axes),
        )

    def window_counts(self, image: Sequence[int]) -> list[int]:
        """How many windows there are on each spatial axis."""
        return window_output(
            image, *self.window_numbers(), self.pads, ceil_mode=bool(self.ceil_mode.value.data)
        )

    @property
    def data_layout(self) -> Layout:
        """The layout of `data` and of the result."""
        return pooled_layout(self.layout, self.out_layout, self.IMAGE_LAYOUT)

    def infer_type(self) -> Attribute:
        layout = self.data_layout
        batch, channels, *image = canonical_shape(self.data, "'data'", layout, self.IMAGE_LAYOUT)
        shape = [batch, channels, *self.window_counts(image)]
        return with_shape(
            self.data.type, shape_in_layout(shape, "layout", layout, self.IMAGE_LAYOUT)
        )


class Pool1DOp(PoolOp, ABC):
    """A pool of lines `data` [N, C, W]; other layouts are NWC and NCW8c."""

    IMAGE_LAYOUT: ClassVar[str] = "NCW"

    strides: Integers = prop(default=(1,))
    dilation: Integers = prop(default=(1,))
    padding: Integers = prop(default=(0,))
    layout: Text = prop(default="NCW")


class Pool2DOp(PoolOp, ABC):
    """
    A pool of images `data` [N, C, H, W]; other layouts are NHWC and NCHW8c. `padding` holds one,
    two (vertical, horizontal) or four (top, left, bottom, right) numbers.
    """

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"

    strides: Integers = prop(default=(1, 1))
    dilation: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    layout: Text = prop(default="NCHW")


class Pool3DOp(PoolOp, ABC):
    """A pool of volumes `data` [N, C, D, H, W]; other layouts are NDHWC and NCDHW8c."""

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"

    strides: Integers = prop(default=(1, 1, 1))
    dilation: Integers = prop(default=(1, 1, 1))
    padding: Integers = prop(default=(0, 0, 0))
    layout: Text = prop(default="NCDHW")


@irdl_op_definition
class MaxPool1DOp(Pool1DOp):
    """
    The largest element of each window of a line, as in `relay.nn.max_pool2d`.

    Source: Relay's `nn.max_pool1d`, ONNX's MaxPool.
    """

    name = "relay.nn.max_pool1d"


@irdl_op_definition
class MaxPool2DOp(Pool2DOp):
    """
    The largest element of each window, NaN if one is; padding never wins, and a window of padding
    alone gives the smallest value of the dtype (-inf).

    Source: Relay's `nn.max_pool2d`, ONNX's MaxPool.
    """

    name = "relay.nn.max_pool2d"


@irdl_op_definition
class MaxPool3DOp(Pool3DOp):
    """
    The largest element of each window of a volume, as in `relay.nn.max_pool2d`.

    Source: Relay's `nn.max_pool3d`, ONNX's MaxPool.
    """

    name = "relay.nn.max_pool3d"


class AvgPoolOp(PoolOp, ABC):
    """
    The mean of each window. The divisor counts the elements inside of the image, with
    `count_include_pad` those in the stated padding too; elements beyond the padding that
    `ceil_mode` adds never count. A window without elements that count gives 0. The mean of
    integers is exact, rounded towards zero.
    """

    count_include_pad: Flag = prop(default=False)


@irdl_op_definition
class AvgPool1DOp(AvgPoolOp, Pool1DOp):
    """
    The mean of each window of a line, as in `relay.nn.avg_pool2d`.

    Source: Relay's `nn.avg_pool1d`, ONNX's AveragePool.
    """

    name = "relay.nn.avg_pool1d"


@irdl_op_definition
class AvgPool2DOp(AvgPoolOp, Pool2DOp):
    """
    The mean of each window. The divisor counts the elements inside of the image, with
    `count_include_pad` those in the stated padding too; elements beyond the padding that
    `ceil_mode` adds never count. A window without elements that count gives 0. The mean of
    integers is exact, rounded towards zero.

    Source: Relay's `nn.avg_pool2d`, ONNX's AveragePool.
    """

    name = "relay.nn.avg_pool2d"


@irdl_op_definition
class AvgPool3DOp(AvgPoolOp, Pool3DOp):
    """
    The mean of each window of a volume, as in `relay.nn.avg_pool2d`.

    Source: Relay's `nn.avg_pool3d`, ONNX's AveragePool.
    """

    name = "relay.nn.avg_pool3d"


class GlobalPool2DOp(RelayOp, ABC):
    """
    Combines all elements of each channel of `data` [N, C, H, W] into [N, C, 1, 1]. `layout` may
    state another order of the axes and blocks of channels, which the result has, too.
    """

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"

    data: Tensor = operand()
    layout: Text = prop(default="NCHW", kw_only=False)
    out_layout: Text = prop(default="")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def data_layout(self) -> Layout:
        """The layout of `data` and of the result."""
        return pooled_layout(self.layout, self.out_layout, self.IMAGE_LAYOUT)

    def infer_type(self) -> Attribute:
        layout = self.data_layout
        batch, channels, *_ = canonical_shape(self.data, "'data'", layout, self.IMAGE_LAYOUT)
        shape = shape_in_layout([batch, channels, 1, 1], "layout", layout, self.IMAGE_LAYOUT)
        return with_shape(self.data.type, shape)


@irdl_op_definition
class GlobalAvgPool2DOp(GlobalPool2DOp):
    """
    The mean of each channel; 0 for channels without elements. The mean of integers is exact,
    rounded towards zero.

    Source: Relay's `nn.global_avg_pool2d`, ONNX's GlobalAveragePool.
    """

    name = "relay.nn.global_avg_pool2d"


@irdl_op_definition
class GlobalMaxPool2DOp(GlobalPool2DOp):
    """
    The largest element of each channel, NaN if one is; the smallest value of the dtype (-inf) for
    channels without elements.

    Source: Relay's `nn.global_max_pool2d`, ONNX's GlobalMaxPool.
    """

    name = "relay.nn.global_max_pool2d"
