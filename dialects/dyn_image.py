"""Resizing of images and volumes, with the sizes of the results as operands."""

from collections.abc import Sequence
from math import isfinite

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.dyn_base import UNKNOWN, Number
from xrelay.dialects.shapes import (
    element_type,
    integer,
    ranked,
    real,
    string,
    tensor_type,
    with_dtype,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ShapeDataDependent
from xrelay.dialects.windows import require_layout


def spatial_axes(layout: StringAttr, letters: str) -> tuple[int, ...]:
    """Where the spatial axes of a layout, an order of `letters`, stand: all but N and C."""
    if sorted(layout.data) != sorted(letters):
        raise VerifyException(
            f"'layout' is \"{layout.data}\", expected an order of the letters {letters}"
        )
    return tuple(layout.data.index(letter) for letter in letters[2:])


@irdl_op_definition
class DynResize2DOp(RelayOp):
    """
    Images with another height and width, `size` (two numbers). An element of the result stands at a
    coordinate of the image, which the index x of T on an axis of length L has by
    `coordinate_transformation_mode`:

    - "half_pixel": (x + 0.5) * L / T - 0.5; "pytorch_half_pixel": the same, 0 for T = 1;
    - "tf_half_pixel_for_nn": (x + 0.5) * L / T; "asymmetric": x * L / T;
    - "align_corners": x * (L - 1) / (T - 1), 0 for T = 1;
    - "tf_crop_and_resize": start * (L - 1) + x * (end - start) * (L - 1) / (T - 1), for T = 1
      0.5 * (start + end) * (L - 1), where `roi` holds the starts of both axes, then the ends. What
      lies outside of the image is `extrapolation_value`.

    `method` is "nearest_neighbor", "linear", or "cubic" (convolution with `cubic_alpha`); elements
    outside of the image are those of its border, or have no weight with `cubic_exclude` other than
    0. The nearest element is at the coordinate rounded by `rounding_method`: "round" and
    "round_prefer_ceil" (halves up), "round_prefer_floor", "floor" or "ceil" (1e-5 beyond the
    coordinate); "" is "round" for align_corners, else "floor". All is computed in f64 and converted
    to `out_dtype`, by default the dtype of `data`, by the rules of `relay.cast`.

    Source: Relay's `dyn.image.resize2d`, ONNX's Resize.
    """

    name = "relay.dyn.image.resize2d"

    data = tensor_operand_def()
    size = tensor_operand_def()
    roi = tensor_operand_def()
    layout = prop_def(StringAttr, default_value=string("NCHW"))
    method = prop_def(StringAttr, default_value=string("linear"))
    coordinate_transformation_mode = prop_def(StringAttr, default_value=string("half_pixel"))
    rounding_method = prop_def(StringAttr, default_value=string("round"))
    cubic_alpha = prop_def(FloatAttr.constr(f64), default_value=real(-0.5))
    cubic_exclude = prop_def(IntegerAttr.constr(i64), default_value=integer(0))
    extrapolation_value = prop_def(FloatAttr.constr(f64), default_value=real(0.0))
    out_dtype = opt_prop_def(TypeAttribute)
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE), ShapeDataDependent())
    assembly_format = "$data `,` $size `,` $roi attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: Value,
        size: Value,
        roi: Value,
        *,
        layout: str = "NCHW",
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "round",
        cubic_alpha: float = -0.5,
        cubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: TypeAttribute | None = None,
    ):
        super().__init__(
            [data, size, roi],
            {
                "layout": string(layout),
                "method": string(method),
                "coordinate_transformation_mode": string(coordinate_transformation_mode),
                "rounding_method": string(rounding_method),
                "cubic_alpha": real(cubic_alpha),
                "cubic_exclude": integer(cubic_exclude),
                "extrapolation_value": real(extrapolation_value),
                "out_dtype": out_dtype,
            },
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of height and width."""
        return spatial_axes(self.layout, "NCHW")

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", 4)
        require_layout("method", self.method, "nearest_neighbor", "linear", "cubic")
        require_layout(
            "coordinate_transformation_mode",
            self.coordinate_transformation_mode,
            *("half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn", "asymmetric"),
            *("align_corners", "tf_crop_and_resize"),
        )
        require_layout(
            "rounding_method",
            self.rounding_method,
            *("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        )
        for name, value, count in (("size", self.size, 2), ("roi", self.roi, 4)):
            type_ = tensor_type(value, f"'{name}'")
            if type_.get_shape() != (count,) or type_.element_type == i1:
                raise VerifyException(f"'{name}' is {type_}, expected {count} numbers")
        shape = list(data.get_shape())
        known = constant_numbers(self.size)
        sizes = [UNKNOWN] * 2 if known is None else resized(known)
        for axis, size in zip(self.axes, sizes, strict=True):
            shape[axis] = size
        result = with_shape(data, shape)
        if self.out_dtype is None:
            return result
        return with_dtype(result, element_type(self.out_dtype, "out_dtype"))


def resized(numbers: Sequence[Number]) -> list[int]:
    """Numbers as new lengths of axes."""
    if not all(isfinite(number) and number >= 1 for number in numbers):
        raise VerifyException(f"'size' is {list(numbers)}, expected positive numbers")
    return [int(number) for number in numbers]


@irdl_op_definition
class DynUpsampling3DOp(RelayOp):
    """
    Volumes `data` resized to round(D * `scale_d`) slices, round(H * `scale_h`) rows and
    round(W * `scale_w`) columns (halves to even); the scales are floating-point scalars. Element x
    of T on an axis stands, by `coordinate_transformation_mode`, at this place on the axis of length
    L of `data`: "half_pixel" (x + 0.5) * L / T - 0.5, "align_corners" x * (L - 1) / (T - 1), 0 for
    T = 1, or "asymmetric" x * L / T. `method` "nearest_neighbor" takes the element at the place
    rounded down, with align_corners to the nearest (halves up); "trilinear" interpolates between the
    neighbours in f64. Places outside of the volume count as its border.

    Source: Relay's `dyn.nn.upsampling3d`.
    """

    name = "relay.dyn.nn.upsampling3d"

    data = tensor_operand_def()
    scale_d = tensor_operand_def()
    scale_h = tensor_operand_def()
    scale_w = tensor_operand_def()
    layout = prop_def(StringAttr, default_value=string("NCDHW"))
    method = prop_def(StringAttr, default_value=string("nearest_neighbor"))
    coordinate_transformation_mode = prop_def(StringAttr, default_value=string("half_pixel"))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE), ShapeDataDependent())
    assembly_format = (
        "$data `,` $scale_d `,` $scale_h `,` $scale_w attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self,
        data: Value,
        scale_d: Value,
        scale_h: Value,
        scale_w: Value,
        *,
        layout: str = "NCDHW",
        method: str = "nearest_neighbor",
        coordinate_transformation_mode: str = "half_pixel",
    ):
        super().__init__(
            [data, scale_d, scale_h, scale_w],
            {
                "layout": string(layout),
                "method": string(method),
                "coordinate_transformation_mode": string(coordinate_transformation_mode),
            },
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of depth, height and width."""
        return spatial_axes(self.layout, "NCDHW")

    @property
    def scales(self) -> tuple[SSAValue, ...]:
        """The operands that are scales."""
        return self.scale_d, self.scale_h, self.scale_w

    def infer_type(self) -> Attribute:
        data = ranked(self.data, "'data'", 5)
        require_layout("method", self.method, "nearest_neighbor", "trilinear")
        require_layout(
            "coordinate_transformation_mode",
            self.coordinate_transformation_mode,
            *("half_pixel", "align_corners", "asymmetric"),
        )
        shape = list(data.get_shape())
        axes = self.axes
        for axis, name, value in zip(
            axes, ("scale_d", "scale_h", "scale_w"), self.scales, strict=True
        ):
            type_ = tensor_type(value, f"'{name}'")
            if type_.get_num_dims() != 0:
                raise VerifyException(f"'{name}' is {type_}, expected a scalar")
            known = constant_numbers(value)
            if known is None or shape[axis] == UNKNOWN:
                shape[axis] = UNKNOWN
            else:
                shape[axis] = scaled_length(shape[axis], known[0])
        return with_shape(data, shape)


def scaled_length(length: int, scale: float) -> int:
    """The new length of an axis."""
    if not (isfinite(scale) and scale > 0):
        raise VerifyException(f"the scale of an axis is {scale}, expected a positive finite number")
    return round(length * scale)


DYN_IMAGE_OPS = (DynResize2DOp, DynUpsampling3DOp)
