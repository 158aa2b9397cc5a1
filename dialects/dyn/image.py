"""Resizing of images and volumes, with the sizes of the results as operands."""

from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.dyn.base import DynamicOp, Number, resized, type_of_result
from xrelay.dialects.fields import Integer, OptionalDtype, Real, Tensor, Text, operand, prop
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.upsampling import Upsampling3DOp
from xrelay.dialects.shapes import tensor_type
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class DynResize2DOp(DynamicOp):
    """
    `relay.image.resize2d` with the height and width, `size` (two numbers), and the region `roi` (four
    numbers) as operands.

    Source: Relay's `dyn.image.resize2d`, ONNX's Resize.
    """

    name = "relay.dyn.image.resize2d"
    DECIDING: ClassVar[tuple[str, ...]] = ("size", "roi")

    data: Tensor = operand()
    size: Tensor = operand()
    roi: Tensor = operand()
    layout: Text = prop(default="NCHW")
    method: Text = prop(default="linear")
    coordinate_transformation_mode: Text = prop(default="half_pixel")
    rounding_method: Text = prop(default="round")
    cubic_alpha: Real = prop(default=-0.5)
    cubic_exclude: Integer = prop(default=0)
    extrapolation_value: Real = prop(default=0.0)
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        size, roi = numbers
        return self._static(kept[0], _lengths(size), list(map(float, roi)))

    def _static(self, data: SSAValue, size: Sequence[int], roi: Sequence[float]) -> Resize2DOp:
        return Resize2DOp(
            data,
            size,
            roi=roi,
            layout=self.layout.data,
            method=self.method.data,
            coordinate_transformation_mode=self.coordinate_transformation_mode.data,
            rounding_method=self.rounding_method.data,
            cubic_alpha=self.cubic_alpha.value.data,
            cubic_exclude=self.cubic_exclude.value.data,
            extrapolation_value=self.extrapolation_value.value.data,
            out_dtype=self.out_dtype,
        )

    def unknown_type(self) -> Attribute:
        for name, value, count in (("size", self.size, 2), ("roi", self.roi, 4)):
            type_ = tensor_type(value, f"'{name}'")
            if type_.get_shape() != (count,) or type_.element_type == i1:
                raise VerifyException(f"'{name}' is {type_}, expected {count} numbers")
        known = constant_numbers(self.size)
        size = [1, 1] if known is None else _lengths(known)
        # Refuses layouts and methods that the operator has not.
        static = type_of_result(partial(self._static, size=size, roi=[0.0] * 4), [self.data])
        return static if known is not None else resized(static, self.layout, "HW")


@irdl_op_definition
class DynUpsampling3DOp(DynamicOp):
    """
    `relay.nn.upsampling3d` with the scales as operands: floating-point scalars.

    Source: Relay's `dyn.nn.upsampling3d`.
    """

    name = "relay.dyn.nn.upsampling3d"
    DECIDING: ClassVar[tuple[str, ...]] = ("scale_d", "scale_h", "scale_w")

    data: Tensor = operand()
    scale_d: Tensor = operand()
    scale_h: Tensor = operand()
    scale_w: Tensor = operand()
    layout: Text = prop(default="NCDHW")
    method: Text = prop(default="nearest_neighbor")
    coordinate_transformation_mode: Text = prop(default="half_pixel")
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return self._static(kept[0], [float(scale[0]) for scale in numbers])

    def _static(self, data: SSAValue, scales: Sequence[float]) -> Upsampling3DOp:
        return Upsampling3DOp(
            data,
            *scales,
            layout=self.layout.data,
            method=self.method.data,
            coordinate_transformation_mode=self.coordinate_transformation_mode.data,
        )

    def unknown_type(self) -> Attribute:
        for name, value in zip(self.DECIDING, self.deciding, strict=True):
            type_ = tensor_type(value, f"'{name}'")
            if type_.get_num_dims() != 0:
                raise VerifyException(f"'{name}' is {type_}, expected a scalar")
        # Refuses layouts and methods that the operator has not.
        static = type_of_result(partial(self._static, scales=[1.0] * 3), [self.data])
        return resized(static, self.layout, "DHW")


def _lengths(numbers: Sequence[Number]) -> list[int]:
    """Numbers as new lengths of axes."""
    if not all(isfinite(number) and number >= 1 for number in numbers):
        raise VerifyException(f"'size' is {list(numbers)}, expected positive numbers")
    return [int(number) for number in numbers]


DYN_IMAGE_OPS = operators(__name__)
