"""Images in other sizes, and morphology."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, TensorType, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import expand_padding, positive_pair, window_output
from xrelay.dialects.fields import (
    Integer,
    Integers,
    OptionalDtype,
    OptionalReals,
    Real,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.lengths import is_open, smaller
from xrelay.dialects.shapes import element_type, ranked, require_one_of, same_dimension
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

NEAREST, LINEAR, CUBIC = "nearest_neighbor", "linear", "cubic"

ROUNDINGS = ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
CROPPING = "tf_crop_and_resize"


def layout_axes(what: str, layout: StringAttr, letters: str) -> tuple[int, ...]:
    """
    Where the axes that `letters` name stand in a layout.

    Raises VerifyException unless the layout is an order of the letters.
    """
    if sorted(layout.data) != sorted(letters):
        raise VerifyException(
            f'\'{what}\' is "{layout.data}", expected the letters of "{letters}" in some order'
        )
    return tuple(layout.data.index(letter) for letter in letters)


def require_elements(length: int, target: int, axis: int) -> None:
    """Raises VerifyException if elements are asked for on an axis that has none."""
    if length == 0 and target != 0:
        raise VerifyException(f"axis {axis} of 'data' is empty, {target} elements cannot be made")


@dataclass(frozen=True)
class Coordinates:
    """
    The coordinate (x + before) * (part * length / target) + (start * length + after) in the image of index x in the
    result. Lengths and targets, or what stands for them, may be known when the program runs only.
    """

    before: float
    length: int
    target: int
    after: float = 0.0
    part: float = 1.0
    start: float = 0.0
    alone: "tuple[int, Coordinates] | None" = None
    """A number that is known when the program runs only, and the coordinates where it is 0 or less."""

    @property
    def scale(self) -> float:
        """part * length / target; 0 where there is no result."""
        return self.part * self.length / self.target if self.target else 0.0

    @property
    def offset(self) -> float:
        """start * length + after"""
        return self.start * self.length + self.after


FIRST = Coordinates(0.0, 0, 1)
"""The first element of the image, for all of the result."""


def resize_coordinates(
    mode: str, length: int, target: int, region: tuple[float, float], scale: float | None = None
) -> Coordinates:
    """
    Where the `target` elements of an axis lie on one of `length`, of which `region` is cut out,
    in parts of its length, when the mode is tf_crop_and_resize. In the others, `scale` times `length` stands for
    `target`, if it is given.
    """
    start, end = region
    # A scale is a fraction of whole numbers, of which lengths that are not known yet have products.
    whole, one = (target, 1) if scale is None else scale.as_integer_ratio()
    ratio = (length, target) if scale is None else (one, whole)
    match mode:
        case "half_pixel":
            return Coordinates(0.5, *ratio, -0.5)
        case "tf_half_pixel_for_nn":
            return Coordinates(0.5, *ratio)
        case "asymmetric":
            return Coordinates(0.0, *ratio)
        case "pytorch_half_pixel":
            return _or_alone(target - 1, Coordinates(0.5, *ratio, -0.5), FIRST)
        case _ if mode == CROPPING:
            middle = Coordinates(0.0, length - 1, 1, part=0.0, start=0.5 * (start + end))
            usual = Coordinates(0.0, length - 1, target - 1, part=end - start, start=start)
            return _or_alone(target - 1, usual, middle)
        case _:
            last = target - 1 if scale is None else length * whole - one
            usual = Coordinates(0.0, (length - 1) * one, last)
            return _or_alone(smaller(target - 1, last), usual, FIRST)


def _or_alone(beside: int, usual: Coordinates, alone: Coordinates) -> Coordinates:
    """The usual coordinates, or others where there is nothing beside one element of the result."""
    if not is_open(beside):
        return usual if beside > 0 else alone
    return replace(usual, alone=(beside, alone))


class ResizeOp(RelayOp, ABC):
    """
    `data` with other lengths, `size`, of its spatial axes: elements of the result are interpolated
    at coordinates of the image, which the index x of length T on an axis of length L has:

    - "half_pixel": (x + 0.5) * L / T - 0.5;
    - "pytorch_half_pixel": the same, 0 for T = 1;
    - "tf_half_pixel_for_nn": (x + 0.5) * L / T;
    - "asymmetric": x * L / T;
    - "align_corners": x * (L - 1) / (T - 1), 0 for T = 1;
    - "tf_crop_and_resize": start * (L - 1) + x * (end - start) * (L - 1) / (T - 1), for T = 1
      0.5 * (start + end) * (L - 1), where `roi` holds the starts of all spatial axes, then the ends
      (by default 0 and 0). Coordinates outside of the image give `extrapolation_value`.

    `method` is "nearest_neighbor", "linear", or "cubic" (convolution with `cubic_alpha`); outside of
    the image, elements are those of the border, and with `cubic_exclude` other than 0 the weights of
    those are 0 and the others divided by their sum. The nearest element is the one at the coordinate
    rounded by `rounding_method`: "round" (halves up), "round_prefer_floor", "round_prefer_ceil",
    "floor" or "ceil" (1e-5 beyond the coordinate); "" is "round" for align_corners, else "floor".

    `scales`, one for each spatial axis, are what lengths were multiplied with where T is that rounded: but for
    tf_crop_and_resize, L * scale stands for T in coordinates. Relay lacks them.

    Coordinates and weights are computed in f64, elements in f32, or in f64 when they are f64 or have
    32 bits or more; integers of the result are rounded towards zero. The nearest elements keep their
    bits when `out_dtype`, by default the dtype of `data`, is theirs.
    """

    LETTERS: ClassVar[str]

    data: Tensor = operand()
    size: Integers = prop()
    roi: OptionalReals = prop(default=None)
    scales: OptionalReals = prop(default=None)
    layout: Text = prop(kw_only=True)
    method: Text = prop(default=LINEAR)
    coordinate_transformation_mode: Text = prop(default="half_pixel")
    rounding_method: Text = prop(default="round")
    cubic_alpha: Real = prop(default=-0.5)
    cubic_exclude: Integer = prop(default=0)
    extrapolation_value: Real = prop(default=0.0)
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def axes(self) -> tuple[int, ...]:
        """Where the axes N, C and the spatial ones stand."""
        return layout_axes("layout", self.layout, self.LETTERS)

    @property
    def rounding(self) -> str:
        """How coordinates are rounded to the nearest element."""
        if self.rounding_method.data:
            return self.rounding_method.data
        corners = self.coordinate_transformation_mode.data == "align_corners"
        return "round" if corners else "floor"

    def coordinates(self, lengths: Sequence[int]) -> tuple[Coordinates, ...]:
        """Those of each spatial axis of an image whose spatial axes have some lengths."""
        count = len(lengths)
        region = [0.0] * 2 * count if self.roi is None else list(self.roi.get_values())
        mode, size = self.coordinate_transformation_mode.data, self.size.get_values()
        scales = [None] * count if self.scales is None else self.scales.get_values()
        return tuple(
            resize_coordinates(mode, length, target, (region[i], region[count + i]), scale)
            for i, (length, target, scale) in enumerate(zip(lengths, size, scales, strict=True))
        )

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", len(self.LETTERS))
        spatial, size = self.axes[2:], self.size.get_values()
        if len(size) != len(spatial) or any(target < 0 for target in size):
            raise VerifyException(
                f"'size' is {list(size)}, expected {len(spatial)} numbers that are not negative"
            )
        if self.roi is not None and len(self.roi.get_values()) != 2 * len(spatial):
            raise VerifyException(
                f"'roi' is {list(self.roi.get_values())}, expected {2 * len(spatial)} numbers"
            )
        if self.scales is not None:
            scales = self.scales.get_values()
            if len(scales) != len(spatial) or not all(0 < each < inf for each in scales):
                raise VerifyException(
                    f"'scales' is {list(scales)}, expected {len(spatial)} positive numbers"
                )
        require_one_of("method", self.method, NEAREST, LINEAR, CUBIC)
        require_one_of(
            "coordinate_transformation_mode", self.coordinate_transformation_mode, *MODES
        )
        require_one_of("rounding_method", self.rounding_method, *ROUNDINGS, "")
        shape = list(data.get_shape())
        for axis, target in zip(spatial, size, strict=True):
            require_elements(shape[axis], target, axis)
            shape[axis] = target
        dtype = element_type(self.out_dtype or data.element_type, "out_dtype")
        return TensorType(dtype, shape)


@irdl_op_definition
class Resize1DOp(ResizeOp):
    """
    Lines of another length, `size`; `layout` is an order of the axes N, C and W. See `ResizeOp` for
    the interpolation.

    Source: Relay's `image.resize1d`, ONNX's Resize.
    """

    name = "relay.image.resize1d"

    LETTERS: ClassVar[str] = "NCW"

    layout: Text = prop(default="NCW")


@irdl_op_definition
class Resize2DOp(ResizeOp):
    """
    Images of another height and width, `size`; `layout` is an order of the axes N, C, H and W. See
    `ResizeOp` for the interpolation.

    Source: Relay's `image.resize2d`, ONNX's Resize.
    """

    name = "relay.image.resize2d"

    LETTERS: ClassVar[str] = "NCHW"

    layout: Text = prop(default="NCHW")


@irdl_op_definition
class Resize3DOp(ResizeOp):
    """
    Volumes of another depth, height and width, `size`; `layout` is an order of the axes N, C, D, H
    and W. See `ResizeOp` for the interpolation.

    Source: Relay's `image.resize3d`, ONNX's Resize.
    """

    name = "relay.image.resize3d"

    LETTERS: ClassVar[str] = "NCDHW"

    layout: Text = prop(default="NCDHW")


@irdl_op_definition
class CropAndResizeOp(RelayOp):
    """
    Parts of images, resized to `crop_size` (height, width): for each row (y1, x1, y2, x2) of
    `boxes` [R, 4] of f32, in parts of the height and the width, the part of the image that
    `box_indices` [R] of i32 numbers (the nearest one if there is none of that number). The
    coordinate of row y of T is y1 * (H - 1) + y * (y2 - y1) * (H - 1) / (T - 1), for T = 1
    0.5 * (y1 + y2) * (H - 1), and that of columns likewise; outside of the image, the result is
    `extrapolation_value`.

    `method` is "bilinear" or "nearest_neighbor" (halves up). `layout` is an order of the axes N, C,
    H and W. Coordinates and elements are computed as by `relay.image.resize2d`.

    Source: Relay's `image.crop_and_resize`, TensorFlow's CropAndResize.
    """

    name = "relay.image.crop_and_resize"

    data: Tensor = operand()
    boxes: Tensor = operand()
    box_indices: Tensor = operand()
    crop_size: Integers = prop()
    layout: Text = prop(default="NCHW")
    method: Text = prop(default="bilinear")
    extrapolation_value: Real = prop(default=0.0)
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def axes(self) -> tuple[int, ...]:
        """Where the axes N, C, H and W stand."""
        return layout_axes("layout", self.layout, "NCHW")

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", 4)
        batch, _, *spatial = self.axes
        boxes, indices = (
            ranked(self.boxes, "'boxes'", 2),
            ranked(self.box_indices, "'box_indices'", 1),
        )
        if boxes.element_type != f32 or not same_dimension(boxes.get_shape()[1], 4):
            raise VerifyException(f"'boxes' is {boxes}, expected rows of four numbers of f32")
        if indices.element_type != i32:
            raise VerifyException(f"'box_indices' is {indices}, expected elements of i32")
        count, other = boxes.get_shape()[0], indices.get_shape()[0]
        if not same_dimension(count, other):
            raise VerifyException(f"'boxes' has {count} rows, 'box_indices' {other} elements")
        size = self.crop_size.get_values()
        if len(size) != 2 or any(target < 0 for target in size):
            raise VerifyException(
                f"'crop_size' is {list(size)}, expected two numbers that are not negative"
            )
        require_one_of("method", self.method, "bilinear", NEAREST)
        shape = list(data.get_shape())
        if count == DYNAMIC_INDEX:
            count = other
        require_elements(shape[batch], count, batch)
        shape[batch] = count
        for axis, target in zip(spatial, size, strict=True):
            require_elements(shape[axis], target, axis)
            shape[axis] = target
        dtype = element_type(self.out_dtype or data.element_type, "out_dtype")
        return TensorType(dtype, shape)


@irdl_op_definition
class Dilation2DOp(RelayOp):
    """
    Grayscale dilation of `data` [N, C, H, W] with `weight` [C, KH, KW]: result[n, c, y, x] is the
    largest, over i and j, of data[n, c, y * sh + i * dh - top, x * sw + j * dw - left] +
    weight[c, i, j], where elements outside of `data` are 0; NaN if one is. Sums are those of
    `out_dtype`, by default the dtype of `data`.

    `padding` holds one, two (vertical, horizontal) or four (top, left, bottom, right) numbers;
    `data_layout` is an order of the axes N, C, H and W, `kernel_layout` one of I (channels), H and W.

    Source: Relay's `image.dilation2d`.
    """

    name = "relay.image.dilation2d"

    data: Tensor = operand()
    weight: Tensor = operand()
    strides: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    dilations: Integers = prop(default=(1, 1))
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="IHW")
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def data_axes(self) -> tuple[int, ...]:
        """Where the axes N, C, H and W stand in the data."""
        return layout_axes("data_layout", self.data_layout, "NCHW")

    @property
    def weight_axes(self) -> tuple[int, ...]:
        """Where the axes I, H and W stand in the weight."""
        return layout_axes("kernel_layout", self.kernel_layout, "IHW")

    def infer_type(self) -> Attribute:
        data, weight = ranked(self.data, "'data'", 4), ranked(self.weight, "'weight'", 3)
        shape = list(data.get_shape())
        _, channel, *spatial = self.data_axes
        channels, *taps = (weight.get_shape()[axis] for axis in self.weight_axes)
        if not same_dimension(shape[channel], channels):
            raise VerifyException(f"'data' has {shape[channel]} channels, 'weight' has {channels}")
        positions = window_output(
            [shape[axis] for axis in spatial],
            taps,
            positive_pair(self.strides, "strides"),
            positive_pair(self.dilations, "dilations"),
            expand_padding(self.padding.get_values()),
        )
        for axis, count in zip(spatial, positions, strict=True):
            require_elements(shape[axis], count, axis)
            shape[axis] = count
        if shape[channel] == DYNAMIC_INDEX:
            shape[channel] = channels
        dtype = element_type(self.out_dtype or data.element_type, "out_dtype")
        return TensorType(dtype, shape)
