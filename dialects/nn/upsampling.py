"""Upsampling of images and volumes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value
from xrelay.dialects.fields import Flag, Real, Tensor, Text, operand, prop
from xrelay.dialects.image.resize import CUBIC, Resize2DOp
from xrelay.dialects.lengths import larger
from xrelay.dialects.shapes import require_one_of, with_shape
from xrelay.dialects.tensor.layout import Layout, canonical_shape, layout_of, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class UpsamplingFamilyOp(RelayOp, ABC):
    """
    `data` [N, C, …] with round(length * scale) elements on every spatial axis; halves are rounded to
    even. Element i of n on an axis stands at this place on the axis of length L of `data`:

        half_pixel      (i + 1/2) * L / n - 1/2
        align_corners   i * (L - 1) / (n - 1), 0 when n is 1
        asymmetric      i * L / n

    `method` "nearest_neighbor" takes the element at the place rounded down, with align_corners
    rounded to the nearest (halves up); "bilinear" and "trilinear" interpolate between the two
    neighbours on each axis, in f32 (f64 for f64), and convert to the dtype of `data`. Places before
    the first element and after the last one count as these. `layout` may state another order of the
    axes and blocks of channels, which the result has, too.
    """

    IMAGE_LAYOUT: ClassVar[str]
    """The order of axes that images are described in."""
    INTERPOLATIONS: ClassVar[tuple[str, ...]]
    """The methods that interpolate."""

    data: Tensor = operand()
    layout: Text = prop()
    method: Text = prop(default="nearest_neighbor")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    @abstractmethod
    def scales(self) -> dict[str, float]:
        """The scale of each spatial axis, by the name of its property."""

    @property
    @abstractmethod
    def mode(self) -> str:
        """Where elements stand: half_pixel, align_corners or asymmetric."""

    @property
    def data_layout(self) -> Layout:
        """The layout of `data` and of the result."""
        return layout_of(self.layout, "layout", self.IMAGE_LAYOUT, splits="C")

    @property
    def interpolates(self) -> bool:
        """Whether elements are interpolated, not repeated."""
        require_one_of("method", self.method, "nearest_neighbor", *self.INTERPOLATIONS)
        return self.method.data in self.INTERPOLATIONS

    def place_factors(self, old: int, new: int) -> tuple[int, int, int]:
        """(a, b, c) such that element i of `new` stands at (a * i + b) / c on `old` elements."""
        match self.mode:
            case "half_pixel":
                return 2 * old, old - new, 2 * new
            case "align_corners":
                # One element is at the start.
                return old - 1, 0, larger(new - 1, 1)
            case _:
                return old, 0, new

    def infer_type(self) -> Attribute:
        _ = self.interpolates
        layout = self.data_layout
        batch, channels, *image = canonical_shape(self.data, "'data'", layout, self.IMAGE_LAYOUT)
        *names, last = (f"'{name}'" for name in self.scales)
        scales = tuple(self.scales.values())
        if not all(0 < scale < inf for scale in scales):
            raise VerifyException(
                f"{', '.join(names)} and {last} are {scales}, expected positive finite numbers"
            )
        sizes = [
            size if size == DYNAMIC_INDEX else round(size * scale)
            for size, scale in zip(image, scales, strict=True)
        ]
        shape = shape_in_layout([batch, channels, *sizes], "layout", layout, self.IMAGE_LAYOUT)
        return with_shape(self.data.type, shape)


@irdl_op_definition
class UpsamplingOp(UpsamplingFamilyOp):
    """
    Images `data` [N, C, H, W] of round(H * `scale_h`) rows and round(W * `scale_w`) columns.
    `method` is "nearest_neighbor", "bilinear" or "bicubic". Elements stand at the places of
    align_corners with `align_corners`, else of asymmetric: result[n, c, y, x] =
    data[n, c, floor(y * H / H'), floor(x * W / W')] for the nearest ones. See `UpsamplingFamilyOp`;
    "bicubic" is `relay.image.resize2d` with the method "cubic" and its default `cubic_alpha`, -0.5.

    Source: Relay's `nn.upsampling`.
    """

    name = "relay.nn.upsampling"

    IMAGE_LAYOUT: ClassVar[str] = "NCHW"
    INTERPOLATIONS: ClassVar[tuple[str, ...]] = ("bilinear", "bicubic")

    scale_h: Real = prop()
    scale_w: Real = prop()
    layout: Text = prop(default="NCHW")
    align_corners: Flag = prop(default=False)

    @property
    def scales(self) -> dict[str, float]:
        return {"scale_h": self.scale_h.value.data, "scale_w": self.scale_w.value.data}

    @property
    def mode(self) -> str:
        return "align_corners" if self.align_corners.value.data else "asymmetric"

    @property
    def is_cubic(self) -> bool:
        """Whether `resize` computes the same."""
        return self.method.data == "bicubic"

    def resize(self, image: Value, size: Sequence[int]) -> Resize2DOp:
        """The cubic convolution of an image [N, C, H, W] at the places of `size` elements."""
        mode = self.mode
        return Resize2DOp(image, size, method=CUBIC, coordinate_transformation_mode=mode)


@irdl_op_definition
class Upsampling3DOp(UpsamplingFamilyOp):
    """
    Volumes `data` [N, C, D, H, W] of round(D * `scale_d`) slices, round(H * `scale_h`) rows and
    round(W * `scale_w`) columns. `method` is "nearest_neighbor" or "trilinear", and
    `coordinate_transformation_mode` names the places. See `UpsamplingFamilyOp`.

    Source: Relay's `nn.upsampling3d`.
    """

    name = "relay.nn.upsampling3d"

    IMAGE_LAYOUT: ClassVar[str] = "NCDHW"
    INTERPOLATIONS: ClassVar[tuple[str, ...]] = ("trilinear",)

    scale_d: Real = prop()
    scale_h: Real = prop()
    scale_w: Real = prop()
    layout: Text = prop(default="NCDHW")
    coordinate_transformation_mode: Text = prop(default="half_pixel")

    @property
    def scales(self) -> dict[str, float]:
        numbers = {"scale_d": self.scale_d, "scale_h": self.scale_h, "scale_w": self.scale_w}
        return {name: number.value.data for name, number in numbers.items()}

    @property
    def mode(self) -> str:
        require_one_of(
            "coordinate_transformation_mode",
            self.coordinate_transformation_mode,
            "half_pixel",
            "align_corners",
            "asymmetric",
        )
        return self.coordinate_transformation_mode.data

    def infer_type(self) -> Attribute:
        _ = self.mode
        return super().infer_type()
