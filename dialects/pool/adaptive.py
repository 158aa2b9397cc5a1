"""Pooling into a stated number of windows of nearly equal size."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.pool.pool import pooled_layout
from xrelay.dialects.shapes import int_array, string, with_shape
from xrelay.dialects.tensor.layout import Layout, canonical_shape, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class AdaptivePoolOp(RelayOp, ABC):
    """
    Combines the elements of each of `output_size` windows along every spatial axis of `data`:
    window i of n on an axis of length L reaches from i * L / n, rounded down, up to
    (i + 1) * L / n, rounded up. Without `output_size` every element is a window of its own.
    `layout` may state another order of the axes and blocks of channels, which the result has, too.
    """

    IMAGE_LAYOUT: ClassVar[str]
    """The order of axes that images are described in."""

    data = tensor_operand_def()
    output_size = prop_def(DenseArrayBase.constr(i64), default_value=int_array(()))
    layout = prop_def(StringAttr)
    out_layout = prop_def(StringAttr, default_value=string(""))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, output_size: Sequence[int] = (), *, layout: str | None = None):
        super().__init__(
            [data],
            {
                "output_size": int_array(output_size),
                "layout": None if layout is None else string(layout),
            },
        )

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

    layout = prop_def(StringAttr, default_value=string("NCW"))


class AdaptivePool2DOp(AdaptivePoolOp, ABC):
    """Windows on images `data` [N, C, H, W]."""

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"

    layout = prop_def(StringAttr, default_value=string("NCHW"))


class AdaptivePool3DOp(AdaptivePoolOp, ABC):
    """Windows on volumes `data` [N, C, D, H, W]."""

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"

    layout = prop_def(StringAttr, default_value=string("NCDHW"))


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
ADAPTIVE_POOL_OPS = (*ADAPTIVE_AVG_OPS, *ADAPTIVE_MAX_OPS)
