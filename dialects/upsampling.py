"""Upsampling of volumes."""

from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, StringAttr, f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.layout import Layout, canonical_shape, layout_of, shape_in_layout
from xrelay.dialects.shapes import real, string, with_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind
from xrelay.dialects.windows import require_layout


@irdl_op_definition
class Upsampling3DOp(RelayOp):
    """
    `data` [N, C, D, H, W] resized to round(D * `scale_d`) slices, round(H * `scale_h`) rows and
    round(W * `scale_w`) columns; halves are rounded to even. Element i of n on an axis stands at
    this place on the axis of length L of `data`, by `coordinate_transformation_mode`:

        half_pixel      (i + 1/2) * L / n - 1/2
        align_corners   i * (L - 1) / (n - 1), 0 when n is 1
        asymmetric      i * L / n

    `method` "nearest_neighbor" takes the element at the place rounded down, with align_corners
    rounded to the nearest (halves up); "trilinear" interpolates between the two neighbours on each
    axis, in f32 (f64 for f64), and converts to the dtype of `data`. Places before the first element
    and after the last one count as these.

    Source: Relay's `nn.upsampling3d`.
    """

    name = "relay.nn.upsampling3d"

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"

    data = tensor_operand_def()
    scale_d = prop_def(FloatAttr.constr(f64))
    scale_h = prop_def(FloatAttr.constr(f64))
    scale_w = prop_def(FloatAttr.constr(f64))
    layout = prop_def(StringAttr, default_value=string("NCDHW"))
    method = prop_def(StringAttr, default_value=string("nearest_neighbor"))
    coordinate_transformation_mode = prop_def(StringAttr, default_value=string("half_pixel"))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: Value,
        scale_d: float,
        scale_h: float,
        scale_w: float,
        *,
        layout: str = "NCDHW",
        method: str = "nearest_neighbor",
        coordinate_transformation_mode: str = "half_pixel",
    ):
        super().__init__(
            [data],
            {
                "scale_d": real(scale_d),
                "scale_h": real(scale_h),
                "scale_w": real(scale_w),
                "layout": string(layout),
                "method": string(method),
                "coordinate_transformation_mode": string(coordinate_transformation_mode),
            },
        )

    @property
    def data_layout(self) -> Layout:
        """The layout of `data` and of the result."""
        return layout_of(self.layout, "layout", self.IMAGE_LAYOUT, splits="C")

    @property
    def interpolates(self) -> bool:
        """Whether elements are interpolated, not repeated."""
        require_layout("method", self.method, "nearest_neighbor", "trilinear")
        return self.method.data == "trilinear"

    def place_factors(self, old: int, new: int) -> tuple[int, int, int]:
        """(a, b, c) such that element i of `new` stands at (a * i + b) / c on `old` elements."""
        match self.coordinate_transformation_mode.data:
            case "half_pixel":
                return 2 * old, old - new, 2 * new
            case "align_corners":
                return (old - 1, 0, new - 1) if new > 1 else (0, 0, 1)
            case _:
                return old, 0, new

    def infer_type(self) -> Attribute:
        require_layout(
            "coordinate_transformation_mode",
            self.coordinate_transformation_mode,
            "half_pixel",
            "align_corners",
            "asymmetric",
        )
        _ = self.interpolates
        layout = self.data_layout
        batch, channels, *image = canonical_shape(self.data, "'data'", layout, self.IMAGE_LAYOUT)
        scales = tuple(scale.value.data for scale in (self.scale_d, self.scale_h, self.scale_w))
        if not all(0 < scale < inf for scale in scales):
            raise VerifyException(
                f"'scale_d', 'scale_h' and 'scale_w' are {scales}, expected positive finite numbers"
            )
        sizes = [
            size if size == DYNAMIC_INDEX else round(size * scale)
            for size, scale in zip(image, scales, strict=True)
        ]
        shape = shape_in_layout([batch, channels, *sizes], "layout", layout, self.IMAGE_LAYOUT)
        return with_shape(self.data.type, shape)


UPSAMPLING_OPS = (Upsampling3DOp,)
