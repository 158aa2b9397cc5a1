"""Boxes on images, and what is inside of them."""

from abc import ABC
from math import floor, sqrt

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    Float64Type,
    TensorType,
    TupleType,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.conv.windows import positive_pair
from xrelay.dialects.fields import Flag, Integer, Integers, Real, Reals, Tensor, Text, operand, prop
from xrelay.dialects.image.resize import layout_axes
from xrelay.dialects.shapes import (
    compatible,
    dimension_product,
    ranked,
    require_float,
    require_one_of,
    same_dimension,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


def require_numbers(
    values: DenseArrayBase[Float64Type], what: str, count: int | None, *, positive: bool = False
) -> tuple[float, ...]:
    """
    The numbers of a property: `count` of them, at least one for None.

    Raises VerifyException for another count, and for numbers that are not above 0 if they have to.
    """
    numbers = tuple(map(float, values.get_values()))
    fits = bool(numbers) if count is None else len(numbers) == count
    if not fits or (positive and not all(number > 0 for number in numbers)):
        kind = "positive numbers" if positive else "numbers"
        expected = "at least one of" if count is None else str(count)
        raise VerifyException(f"'{what}' is {list(numbers)}, expected {expected} {kind}")
    return numbers


@irdl_op_definition
class MultiboxPriorOp(RelayOp):
    """
    Boxes around all places of an image, of which `data` [N, C, H, W] tells the height, the width and
    the dtype: a tensor [1, H * W * K, 4] of left, top, right and bottom. Around each place, row by
    row, there are K boxes: those of all `sizes` s with half the width s * H / W / 2 and half the
    height s / 2, then those of the first size with all `ratios` r but the first, half the width
    times the root of r and half the height divided by it. Places are at ((x + offset) * step), where
    `offsets` and `steps` hold a number for rows and one for columns; steps that are not positive are
    1 / H and 1 / W. `clip` moves the edges between 0 and 1. Computed in f64.

    Source: Relay's `vision.multibox_prior`.
    """

    name = "relay.vision.multibox_prior"

    data: Tensor = operand()
    sizes: Reals = prop(default=(1.0,))
    ratios: Reals = prop(default=(1.0,))
    steps: Reals = prop(default=(-1.0, -1.0))
    offsets: Reals = prop(default=(0.5, 0.5))
    clip: Flag = prop(default=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def half_sizes(self, height: int, width: int) -> list[tuple[float, float]]:
        """Half the width and the height of the boxes around a place."""
        sizes, ratios = self.sizes.get_values(), self.ratios.get_values()
        boxes = [(size * height / width / 2, size / 2) for size in sizes]
        first = sizes[0]
        for ratio in ratios[1:]:
            root = sqrt(ratio)
            boxes.append((first * height / width * root / 2, first / root / 2))
        return boxes

    def step_sizes(self, height: int, width: int) -> tuple[float, float]:
        """From one row to the next, and from one column to the next."""
        rows, columns = self.steps.get_values()
        return rows if rows > 0 else 1 / height, columns if columns > 0 else 1 / width

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", 4)
        require_float(data, "data")
        sizes = require_numbers(self.sizes, "sizes", None)
        ratios = require_numbers(self.ratios, "ratios", None, positive=True)
        require_numbers(self.steps, "steps", 2)
        require_numbers(self.offsets, "offsets", 2)
        _, _, height, width = data.get_shape()
        count = dimension_product((height, width, len(sizes) + len(ratios) - 1))
        return with_shape(data, [1, count, 4])


@irdl_op_definition
class MultiboxTransformLocOp(RelayOp):
    """
    Boxes with their classes, from probabilities `cls_prob` [B, C, N], of which those of class 0 are
    for the background, movements `loc_pred` [B, 4 * N] and boxes `anchor` [1, N, 4] (left, top,
    right, bottom). The class of a box is the first one with the largest probability; boxes whose
    largest probability is not above -1 or is below `threshold` are left out. The result is a tuple:
    rows (class - 1, probability, left, top, right, bottom) [B, N, 6] in the order of the anchors,
    -1 after the last; and how many there are [B], of i32. With `variances` v and an anchor of centre
    (x, y), width w and height h, the box that (a, b, c, d) moves has the centre (a * v0 * w + x,
    b * v1 * h + y), the width exp(c * v2) * w and the height exp(d * v3) * h; `clip` moves its edges
    between 0 and 1.

    Source: Relay's `vision.multibox_transform_loc`.
    """

    name = "relay.vision.multibox_transform_loc"

    cls_prob: Tensor = operand()
    loc_pred: Tensor = operand()
    anchor: Tensor = operand()
    clip: Flag = prop(default=True)
    threshold: Real = prop(default=0.01)
    variances: Reals = prop(default=(0.1, 0.1, 0.2, 0.2))
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        probabilities = ranked(self.cls_prob, "'cls_prob'", 3)
        moves, anchor = ranked(self.loc_pred, "'loc_pred'", 2), ranked(self.anchor, "'anchor'", 3)
        require_float(probabilities, "cls_prob")
        batch, _, count = probabilities.get_shape()
        for type_, name, shape in (
            (moves, "loc_pred", (batch, dimension_product((4, count)))),
            (anchor, "anchor", (1, count, 4)),
        ):
            expected = with_shape(probabilities, shape)
            if not compatible(type_, expected):
                raise VerifyException(f"'{name}' is {type_}, expected {expected}")
        require_numbers(self.variances, "variances", 4)
        rows = with_shape(probabilities, [batch, count, 6])
        return tuple_type((rows, TensorType(i32, [batch])))


@irdl_op_definition
class ProposalOp(RelayOp):
    """
    Regions of images that may hold objects: a tensor [B * `rpn_post_nms_top_n`, 5] of (image, left,
    top, right, bottom), from probabilities `cls_prob` [B, 2 * A, H, W], the second half of which are
    those of objects, movements `bbox_pred` [B, 4 * A, H, W] and `im_info` [B, 3], the height, the
    width and the scale of each image.

    Around every place, `feature_stride` apart, there are A boxes, one for each of `ratios` and each
    of `scales`, moved as `bbox_pred` says: their corners by it with `iou_loss`, otherwise their
    centres by it times their sizes, which are multiplied by its exponentials. Boxes are cut at the
    border of the image. Those smaller than `rpn_min_size` times the scale, which are made larger by
    this on all sides, and those at places outside of the image have the score -1. Of the
    `rpn_pre_nms_top_n` best boxes (all, if it is not positive; equal scores in the order of places,
    then of boxes) those are dropped that overlap with a better one that is not by more than
    `threshold`, the part of the area of both that they have in common. What remains is repeated in
    its order until there are enough. Boxes are computed in f64, then rounded.

    Source: Relay's `vision.proposal`.
    """

    name = "relay.vision.proposal"

    cls_prob: Tensor = operand()
    bbox_pred: Tensor = operand()
    im_info: Tensor = operand()
    scales: Reals = prop(default=(4.0, 8.0, 16.0, 32.0))
    ratios: Reals = prop(default=(0.5, 1.0, 2.0))
    feature_stride: Integer = prop(default=16)
    threshold: Real = prop(default=0.7)
    rpn_pre_nms_top_n: Integer = prop(default=6000)
    rpn_post_nms_top_n: Integer = prop(default=300)
    rpn_min_size: Integer = prop(default=16)
    iou_loss: Flag = prop(default=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def anchors(self) -> list[tuple[float, float, float, float]]:
        """The boxes around the first place: left, top, right, bottom."""
        stride = float(self.feature_stride.value.data)
        centre = 0.5 * (stride - 1)
        boxes: list[tuple[float, float, float, float]] = []
        for ratio in self.ratios.get_values():
            side = floor(sqrt(floor(stride * stride / ratio)) + 0.5)
            for scale in self.scales.get_values():
                width, height = side * scale, floor(side * ratio + 0.5) * scale
                x, y = 0.5 * (width - 1), 0.5 * (height - 1)
                boxes.append((centre - x, centre - y, centre + x, centre + y))
        return boxes

    def infer_type(self) -> Attribute:
        scores = ranked(self.cls_prob, "'cls_prob'", 4)
        moves, info = ranked(self.bbox_pred, "'bbox_pred'", 4), ranked(self.im_info, "'im_info'", 2)
        require_float(scores, "cls_prob")
        kinds = len(require_numbers(self.scales, "scales", None)) * len(
            require_numbers(self.ratios, "ratios", None, positive=True)
        )
        if self.feature_stride.value.data < 1:
            raise VerifyException(
                f"'feature_stride' is {self.feature_stride.value.data}, expected at least 1"
            )
        batch, _, height, width = scores.get_shape()
        for type_, name, shape in (
            (scores, "cls_prob", (batch, 2 * kinds, height, width)),
            (moves, "bbox_pred", (batch, 4 * kinds, height, width)),
            (info, "im_info", (batch, 3)),
        ):
            expected = with_shape(scores, shape)
            if not compatible(type_, expected):
                raise VerifyException(
                    f"'{name}' is {type_}, expected {expected} for {kinds} boxes around each place"
                )
        count = self.rpn_post_nms_top_n.value.data
        if count < 0:
            raise VerifyException(f"'rpn_post_nms_top_n' is {count}, expected no negative number")
        if 0 in (height, width):
            raise VerifyException(f"'cls_prob' is {scores}, expected images that are not empty")
        return with_shape(scores, [dimension_product((batch, count)), 5])


class RegionOp(RelayOp, ABC):
    """
    What the operators share that cut regions `rois` [R, 5] (image, left, top, right, bottom), in
    units that `spatial_scale` multiplies, out of images `data` [N, C, H, W] ([N, H, W, C] in
    `layout` "NHWC") and make images of `pooled_size` of them. The number of an image that does not
    exist stands for the nearest one. Coordinates are computed in f64.
    """

    data: Tensor = operand()
    rois: Tensor = operand()
    pooled_size: Integers = prop()
    spatial_scale: Real = prop()
    layout: Text = prop(default="NCHW")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def axes(self) -> tuple[int, ...]:
        """Where the axes N, C, H and W stand."""
        require_one_of("layout", self.layout, "NCHW", "NHWC")
        return layout_axes("layout", self.layout, "NCHW")

    def infer_type(self) -> Attribute:
        data, rois = ranked(self.data, "'data'", 4), ranked(self.rois, "'rois'", 2)
        require_float(data, "data")
        count, numbers = rois.get_shape()
        if rois.element_type != data.element_type or not same_dimension(numbers, 5):
            raise VerifyException(
                f"'rois' is {rois}, expected rows of five numbers of {data.element_type}"
            )
        batch, _, *spatial = self.axes
        size, shape = positive_pair(self.pooled_size, "pooled_size"), list(data.get_shape())
        if 0 in (shape[batch], shape[spatial[0]], shape[spatial[1]]):
            raise VerifyException(f"'data' is {data}, expected images that are not empty")
        shape[batch] = count
        for axis, length in zip(spatial, size, strict=True):
            shape[axis] = length
        return with_shape(data, shape)


@irdl_op_definition
class RoiAlignOp(RegionOp):
    """
    The means (`mode` "avg") or the largest elements ("max") of the parts of regions: each of the
    parts of a region, which is at least 1 by 1, is sampled at `sample_ratio` by `sample_ratio`
    places, as many as it is high and wide, rounded up, if the number is not positive, by
    interpolation between the nearest elements; more than one element outside of the image, it is 0.
    With `aligned`, which Relay lacks, regions begin and end half an element earlier, so that whole coordinates
    are centres of elements, and have the size that they state, also less than 1; means of no samples are 0.

    Source: Relay's `vision.roi_align`, ONNX's RoiAlign.
    """

    name = "relay.vision.roi_align"

    sample_ratio: Integer = prop(default=-1)
    mode: Text = prop(default="avg")
    aligned: Flag = prop(default=False)

    def infer_type(self) -> Attribute:
        require_one_of("mode", self.mode, "avg", "max")
        return super().infer_type()


@irdl_op_definition
class RoiPoolOp(RegionOp):
    """
    The largest elements of the parts of regions, whose edges are rounded to whole numbers (halves
    away from zero), both being inside, and which are at least one element high and wide. Parts, of
    which neighbours may share elements, are cut at the border of the image; those without elements
    give 0, those with NaN NaN.

    Source: Relay's `vision.roi_pool`, ONNX's MaxRoiPool.
    """

    name = "relay.vision.roi_pool"


@irdl_op_definition
class YoloReorgOp(RelayOp):
    """
    The elements of `data` [N, C, H, W] as [N, C * s * s, H / s, W / s] for the `stride` s, as the
    reorg layer of Darknet orders them: seen as [N, C, H, W] again, the result at (n, k, j, i) is the
    element (n, k mod C', j * s + (k / C') / s, i * s + (k / C') mod s) of `data` seen as
    [N, C', H * s, W * s], where C' is C / s / s.

    Source: Relay's `vision.yolo_reorg`.
    """

    name = "relay.vision.yolo_reorg"

    data: Tensor = operand()
    stride: Integer = prop(default=1, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", 4)
        stride = self.stride.value.data
        if stride < 1:
            raise VerifyException(f"'stride' is {stride}, expected at least 1")
        batch, channels, height, width = data.get_shape()
        for length, divisor, name in (
            (channels, stride * stride, "channels"),
            (height, stride, "rows"),
            (width, stride, "columns"),
        ):
            if length != DYNAMIC_INDEX and length % divisor:
                raise VerifyException(
                    f"'data' has {length} {name}, expected a multiple of {divisor}"
                )
        more = dimension_product((channels, stride * stride))
        rows, columns = (
            length if length == DYNAMIC_INDEX else length // stride for length in (height, width)
        )
        return with_shape(data, [batch, more, rows, columns])
