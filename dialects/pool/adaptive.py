"""Pooling into a stated number of windows of nearly equal size."""

from abc import ABC
from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.fields import Integers, Tensor, Text, operand, prop
from xrelay.dialects.pool.pool import pooled_layout
from xrelay.dialects.shapes import with_shape
from xrelay.dialects.tensor.layout import Layout, canonical_shape, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


def adaptive_windows(length: int, count: int) -> list[tuple[int, int]]:
    """Where each of `count` windows on an axis begins and ends."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


class AdaptivePoolOp(RelayOp, ABC):
    """
    Combines the elements of each of `output_size` windows along every spatial axis of `data`:
    window i of n on an axis of length L reaches from i * L / n, rounded down, up to
    (i + 1) * L / n, rounded up. Without `output_size` every element is a window of its own.
    `layout` may state another order of the axes and blocks of channels, which the result has, too.
    """

    IMAGE_LAYOUT: ClassVar[str]
    """The order of axes that images are described in."""

    data: Tensor = operand()
    output_size: Integers = prop(default=(), kw_only=False)
    layout: Text = prop(kw_only=True)
    out_layout: Text = prop(default="")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def data_layout(self) -> Layout:
        """The layout of `data` and of the result."""
        return pooled_layout(self.layout, self.out_layout, self.IMAGE_LAYOUT)

    def infer_type(self) -> Attribute:
        layout = self.data_layout
        batch, channels, *image = canonical_shape(self.data, "'data'", layout, self.IMAGE_LAYOUT)
        if self.output_size.get_values():
            image = positive_numbers(self.output_size, "output_size", len(image))
        shape = [batch, channels, *image]
        return with_shape(
            self.data.type, shape_in_layout(shape, "layout", layout, self.IMAGE_LAYOUT)
        )


class AdaptivePool1DOp(AdaptivePoolOp, ABC):
    """Windows on lines `data` [N, C, W]."""

    IMAGE_LAYOUT: ClassVar[str] = "NCW"

    layout: Text = prop(default="NCW")


class AdaptivePool2DOp(AdaptivePoolOp, ABC):
    """Windows on images `data` [N, C, H, W]."""

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"

    layout: Text = prop(default="NCHW")


class AdaptivePool3DOp(AdaptivePoolOp, ABC):
    """Windows on volumes `data` [N, C, D, H, W]."""

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"

    layout: Text = prop(default="NCDHW")


@irdl_op_definition
class AdaptiveAvgPool1DOp(AdaptivePool1DOp):
    """
    The mean of each window of a line, 0 for one without elements. The mean of integers is exact,
    rounded towards zero.

    Source: Relay's `nn.adaptive_avg_pool1d`.
    """

    name = "relay.nn.adaptive_avg_pool1d"


@irdl_op_definition
class AdaptiveAvgPool2DOp(AdaptivePool2DOp):
    """
    The mean of each window of an image, 0 for one without elements. The mean of integers is exact,
    rounded towards zero.

    Source: Relay's `nn.adaptive_avg_pool2d`.
    """

    name = "relay.nn.adaptive_avg_pool2d"


@irdl_op_definition
class AdaptiveAvgPool3DOp(AdaptivePool3DOp):
    """
    The mean of each window of a volume, 0 for one without elements. The mean of integers is exact,
    rounded towards zero.

    Source: Relay's `nn.adaptive_avg_pool3d`.
    """

    name = "relay.nn.adaptive_avg_pool3d"


@irdl_op_definition
class AdaptiveMaxPool1DOp(AdaptivePool1DOp):
    """
    The largest element of each window of a line, NaN if one is; the smallest value of the dtype
    for one without elements.

    Source: Relay's `nn.adaptive_max_pool1d`.
    """

    name = "relay.nn.adaptive_max_pool1d"


@irdl_op_definition
class AdaptiveMaxPool2DOp(AdaptivePool2DOp):
    """
    The largest element of each window of an image, NaN if one is; the smallest value of the dtype
    for one without elements.

    Source: Relay's `nn.adaptive_max_pool2d`.
    """

    name = "relay.nn.adaptive_max_pool2d"


@irdl_op_definition
class AdaptiveMaxPool3DOp(AdaptivePool3DOp):
    """
    The largest element of each window of a volume, NaN if one is; the smallest value of the dtype
    for one without elements.

    Source: Relay's `nn.adaptive_max_pool3d`.
    """

    name = "relay.nn.adaptive_max_pool3d"


ADAPTIVE_AVG_OPS = (AdaptiveAvgPool1DOp, AdaptiveAvgPool2DOp, AdaptiveAvgPool3DOp)
ADAPTIVE_MAX_OPS = (AdaptiveMaxPool1DOp, AdaptiveMaxPool2DOp, AdaptiveMaxPool3DOp)
