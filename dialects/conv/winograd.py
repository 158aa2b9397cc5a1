"""Winograd's convolution in two steps: the weight is transformed by an operator of its own."""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.conv.conv import ConvolutionOp, ImageConvolutionOp, VolumeConvolutionOp
from xrelay.dialects.conv.windows import window_output
from xrelay.dialects.fields import Integer, Tensor, operand, prop
from xrelay.dialects.shapes import ranked, require_float, same_dimension, shape_text, with_shape
from xrelay.dialects.tensor.layout import Layout, canonical_shape, layout_of, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

TILE_SIZES = range(2, 9)
"""Outputs along an axis that a tile computes at once."""
TRANSFORMED_TAPS = range(3, 8)
"""Taps along an axis of filters that are transformed."""


def tile_outputs(tile_size: IntegerAttr) -> int:
    """The property `tile_size`."""
    size = tile_size.value.data
    if size not in TILE_SIZES:
        raise VerifyException(
            f"'tile_size' is {size}, accepted range is [{TILE_SIZES[0]}, {TILE_SIZES[-1]}]"
        )
    return size


def _require_square(kernel: Sequence[int]) -> int:
    """The taps along each axis that is transformed."""
    if len(set(kernel)) > 1 or kernel[0] not in TRANSFORMED_TAPS:
        raise VerifyException(
            f"'weight' has {shape_text(kernel)} taps, expected as many along each axis, from "
            f"{TRANSFORMED_TAPS[0]} to {TRANSFORMED_TAPS[-1]}"
        )
    return kernel[0]


def transforms_depth(kernel: Sequence[int]) -> bool:
    """Whether the first axis of filters of a volume is transformed like the others."""
    depth, height, _ = kernel
    return depth in TRANSFORMED_TAPS and depth == height


class WinogradWeightTransformOp(RelayOp, ABC):
    """
    The filters `weight` multiplied by the matrix G of Winograd's F(m, r) along each axis, with m =
    `tile_size` and r the number of taps: r taps become m + r - 1 numbers. G is that of the points
    0, -1, 1, 1/2, -2, … that `xrelay.interpreters.conv.winograd` lists.
    """

    weight: Tensor = operand()
    tile_size: Integer = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))


@irdl_op_definition
class ContribConv2DWinogradWeightTransformOp(WinogradWeightTransformOp):
    """
    result[e, f, o, c] = sum over i, j of G[e, i] * G[f, j] * weight[o, c, i, j] for `weight`
    [O, C, r, r]: a tensor [m + r - 1, m + r - 1, O, C], where m is `tile_size`, from 2 to 8, and G
    the matrix of F(m, r) for the points that `xrelay.interpreters.conv.winograd` lists.

    Source: Relay's `nn.contrib_conv2d_winograd_weight_transform`; Lavin and Gray, 2015.
    """

    name = "relay.nn.contrib_conv2d_winograd_weight_transform"

    def infer_type(self) -> Attribute:
        weight = ranked(self.weight, "'weight'", 4)
        require_float(weight, "weight")
        outputs, inputs, *kernel = weight.get_shape()
        alpha = tile_outputs(self.tile_size) + _require_square(kernel) - 1
        return with_shape(weight, [alpha, alpha, outputs, inputs])


@irdl_op_definition
class ContribConv3DWinogradWeightTransformOp(WinogradWeightTransformOp):
    """
    As `relay.nn.contrib_conv2d_winograd_weight_transform` for `weight` [O, C, D, r, r]: where D is
    r, all three axes are transformed, into [m + r - 1, m + r - 1, m + r - 1, O, C]. Otherwise the
    depth is not, and the result is [m + r - 1, m + r - 1, D, O, C].

    Source: Relay's `nn.contrib_conv3d_winograd_weight_transform`.
    """

    name = "relay.nn.contrib_conv3d_winograd_weight_transform"

    def infer_type(self) -> Attribute:
        weight = ranked(self.weight, "'weight'", 5)
        require_float(weight, "weight")
        outputs, inputs, *kernel = weight.get_shape()
        alpha = tile_outputs(self.tile_size) + _require_square(kernel[1:]) - 1
        first = [alpha, alpha, alpha if transforms_depth(kernel) else kernel[0]]
        return with_shape(weight, [*first, outputs, inputs])


class WinogradConvolutionOp(ConvolutionOp, ABC):
    """
    A convolution with a weight that was transformed before. Tiles of m = `tile_size` outputs along
    each axis are computed together: m + r - 1 elements are multiplied by B^T, then by the weight,
    summed over the channels, and multiplied by A^T. `strides`, `dilation` and `groups` must be 1;
    `kernel_layout` has no meaning. `kernel_size`, when given, must be that of the weight before it
    was transformed.
    """

    tile_size: Integer = prop()

    @property
    def image_layouts(self) -> tuple[Layout, Layout]:
        """The layouts of `data` and of the result."""
        out_layout = self.out_layout if self.out_layout.data else self.data_layout
        return (
            layout_of(self.data_layout, "data_layout", self.IMAGE_LAYOUT, splits="C"),
            layout_of(out_layout, "out_layout", self.IMAGE_LAYOUT, splits="C"),
        )

    def _taps(self, name: str, length: int) -> int:
        """The taps along an axis that the transformed weight has `length` numbers for."""
        taps = length - tile_outputs(self.tile_size) + 1
        if taps not in TRANSFORMED_TAPS:
            raise VerifyException(
                f"'weight' has {length} numbers along the {name}, which with 'tile_size' "
                f"{self.tile_size.value.data} are {taps} taps, expected "
                f"{TRANSFORMED_TAPS[0]} to {TRANSFORMED_TAPS[-1]}"
            )
        return taps

    def infer_convolution(self, kernel: Sequence[int], inputs: int, outputs: int) -> Attribute:
        """The type of the result for filters of some taps."""
        require_float(self.data.type, "data")
        ones = (1,) * self.spatial_axes
        for name, found in (("strides", self.window_strides), ("dilation", self.window_dilation)):
            if found != ones:
                raise VerifyException(f"'{name}' is {list(found)}, expected {list(ones)}")
        if self.groups.value.data != 1:
            raise VerifyException(f"'groups' is {self.groups.value.data}, expected 1")
        images, results = self.image_layouts
        batch, channels, *image = canonical_shape(self.data, "'data'", images, self.IMAGE_LAYOUT)
        if not same_dimension(channels, inputs):
            raise VerifyException(f"'data' has {channels} channels, 'weight' takes {inputs}")
        self.require_weight(outputs, kernel)
        positions = window_output(image, kernel, ones, ones, self.pads)
        shape = shape_in_layout(
            [batch, outputs, *positions], "out_layout", results, self.IMAGE_LAYOUT
        )
        return TensorType(self.sum_type(), shape)


@irdl_op_definition
class ContribConv2DWinogradWithoutWeightTransformOp(ImageConvolutionOp, WinogradConvolutionOp):
    """
    The convolution of `data` [N, C, H, W] with a `weight` [a, a, C, O] that
    `relay.nn.contrib_conv2d_winograd_weight_transform` made with the same `tile_size` m, its last
    two axes swapped; it has a - m + 1 taps along each axis. `data_layout` may be NHWC, too, and
    `out_layout` is by default the same. `strides`, `dilation` and `groups` must be 1.

    Source: Relay's `nn.contrib_conv2d_winograd_without_weight_transform`.
    """

    name = "relay.nn.contrib_conv2d_winograd_without_weight_transform"

    def taps(self) -> tuple[int, ...]:
        """The taps of the filters before they were transformed."""
        rows, columns, _, _ = ranked(self.weight, "'weight'", 4).get_shape()
        if rows != columns or rows == DYNAMIC_INDEX:
            raise VerifyException(f"'weight' is {self.weight.type}, expected [a, a, C, O]")
        taps = self._taps("rows", rows)
        return taps, taps

    def infer_type(self) -> Attribute:
        taps = self.taps()
        _, _, inputs, outputs = self.weight.type.get_shape()
        return self.infer_convolution(taps, inputs, outputs)


@irdl_op_definition
class ContribConv3DWinogradWithoutWeightTransformOp(VolumeConvolutionOp, WinogradConvolutionOp):
    """
    The convolution of `data` [N, C, D, H, W] with a `weight` that
    `relay.nn.contrib_conv3d_winograd_weight_transform` made with the same `tile_size` m:
    [a, a, a, O, C] for filters of a - m + 1 taps along each axis, or [a, a, KD, O, C] for filters
    of KD taps along the depth, which are not transformed. A weight [a, a, a, O, C] is taken for the
    former. `data_layout` may be NDHWC, too, and `out_layout` is by default the same. `strides`,
    `dilation` and `groups` must be 1.

    Source: Relay's `nn.contrib_conv3d_winograd_without_weight_transform`.
    """

    name = "relay.nn.contrib_conv3d_winograd_without_weight_transform"

    @property
    def with_depth(self) -> bool:
        """Whether the depth is transformed."""
        rows, _, third, _, _ = ranked(self.weight, "'weight'", 5).get_shape()
        return rows == third

    def taps(self) -> tuple[int, ...]:
        """The taps of the filters before they were transformed."""
        first, second, third, _, _ = ranked(self.weight, "'weight'", 5).get_shape()
        if first != second or DYNAMIC_INDEX in (first, third) or third < 1:
            raise VerifyException(
                f"'weight' is {self.weight.type}, expected [a, a, a, O, C] or [a, a, KD, O, C]"
            )
        taps = self._taps("rows", first)
        return (taps if self.with_depth else third), taps, taps

    def infer_type(self) -> Attribute:
        taps = self.taps()
        _, _, _, outputs, inputs = self.weight.type.get_shape()
        return self.infer_convolution(taps, inputs, outputs)


WINOGRAD_OPS = operators(__name__)
