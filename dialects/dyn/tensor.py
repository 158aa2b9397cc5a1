"""Operators that create and reshape tensors, with shapes, axes or slices as operands."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.dyn.base import UNKNOWN, DynamicOp, Number, integers, known_length, one_integer
from xrelay.dialects.fields import (
    Dtype,
    Flag,
    Integer,
    OptionalDtype,
    OptionalIntegers,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    element_count,
    element_type,
    integer_vector,
    is_tensor_type,
    normalize_axes,
    require_one_of,
    same_dimension,
    with_shape,
)
from xrelay.dialects.slicing import SLICE_BY_SIZE, SLICE_TO_END
from xrelay.dialects.tensor.creation import FullOp, OnesOp, ZerosOp, filled_dtype
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp, new_axes
from xrelay.dialects.tensor.transform import BroadcastToOp, StridedSliceOp, TileOp
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ReshapeOnly


@irdl_op_definition
class DynBroadcastToOp(DynamicOp):
    """
    `relay.broadcast_to` with the shape as an operand: integers, as many as the result has axes.

    Source: Relay's `dyn.broadcast_to`.
    """

    name = "relay.dyn.broadcast_to"
    DECIDING: ClassVar[tuple[str, ...]] = ("shape",)

    data: Tensor = operand()
    shape: Tensor = operand()
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return BroadcastToOp(kept[0], integers(numbers[0]))

    def unknown_type(self) -> Attribute:
        return with_shape(self.data.type, [UNKNOWN] * known_length(self.shape, "shape"))


@irdl_op_definition
class DynExpandDimsOp(DynamicOp):
    """
    `relay.expand_dims` with the axis as an operand: one integer.

    Source: Relay's `dyn.expand_dims`.
    """

    name = "relay.dyn.expand_dims"
    DECIDING: ClassVar[tuple[str, ...]] = ("axis",)

    data: Tensor = operand()
    axis: Tensor = operand()
    num_newaxis: Integer = prop(default=1)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        count = self.num_newaxis.value.data
        return ExpandDimsOp(kept[0], int(numbers[0][0]), num_newaxis=count)

    def unknown_type(self) -> Attribute:
        one_integer(self.axis, "axis")
        count = new_axes(self.num_newaxis)
        return with_shape(self.data.type, [UNKNOWN] * (self.data.type.get_num_dims() + count))


@irdl_op_definition
class DynFullOp(DynamicOp):
    """
    `relay.full` with the shape as an operand.

    Source: Relay's `dyn.full`.
    """

    name = "relay.dyn.full"
    DECIDING: ClassVar[tuple[str, ...]] = ("shape",)

    fill_value: Tensor = operand()
    shape: Tensor = operand()
    dtype: OptionalDtype = prop(default=None, kw_only=False)
    traits = traits_def(HasPatternKind(OpPatternKind.ELEMWISE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return FullOp(kept[0], integers(numbers[0]), self.dtype)

    def unknown_type(self) -> Attribute:
        dtype = filled_dtype(self.fill_value, self.dtype)
        return TensorType(dtype, [UNKNOWN] * known_length(self.shape, "shape"))


class DynFilledOp(DynamicOp, ABC):
    """A tensor of `dtype` with the shape that an operand is."""

    DECIDING: ClassVar[tuple[str, ...]] = ("shape",)

    shape: Tensor = operand()
    dtype: Dtype = prop()
    traits = traits_def(HasPatternKind(OpPatternKind.ELEMWISE))

    def unknown_type(self) -> Attribute:
        dtype = element_type(self.dtype, "dtype")
        return TensorType(dtype, [UNKNOWN] * known_length(self.shape, "shape"))


@irdl_op_definition
class DynOnesOp(DynFilledOp):
    """
    `relay.ones` with the shape as an operand.

    Source: Relay's `dyn.ones`.
    """

    name = "relay.dyn.ones"

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return OnesOp(integers(numbers[0]), self.dtype)


@irdl_op_definition
class DynZerosOp(DynFilledOp):
    """
    `relay.zeros` with the shape as an operand.

    Source: Relay's `dyn.zeros`.
    """

    name = "relay.dyn.zeros"

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return ZerosOp(integers(numbers[0]), self.dtype)


class DynReshapeFamilyOp(DynamicOp, ABC):
    """Keeps the elements of the first operand in row-major order, so that code can share memory."""

    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE), ReshapeOnly())

    def verify_(self) -> None:
        super().verify_()
        data, result = self.operands[0].type, self.results[0].type
        assert is_tensor_type(data) and is_tensor_type(result)
        counts = element_count(data.get_shape()), element_count(result.get_shape())
        if not same_dimension(*counts):
            raise VerifyException(
                f"{self.name}: result type is {result}, but 'data' {data} has {counts[0]} elements"
            )


@irdl_op_definition
class DynReshapeOp(DynReshapeFamilyOp):
    """
    `relay.reshape` with the new shape as an operand. Unless its elements are known, none of them may
    be one of the codes that stand for another number of axes than one.

    Source: Relay's `dyn.reshape`.
    """

    name = "relay.dyn.reshape"
    DECIDING: ClassVar[tuple[str, ...]] = ("newshape",)

    data: Tensor = operand()
    newshape: Tensor = operand()
    allowzero: Flag = prop(default=False)

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        allowzero = bool(self.allowzero.value.data)
        return ReshapeOp(kept[0], integers(numbers[0]), allowzero=allowzero)

    def unknown_type(self) -> Attribute:
        return with_shape(self.data.type, [UNKNOWN] * known_length(self.newshape, "newshape"))


@irdl_op_definition
class DynSqueezeOp(DynReshapeFamilyOp):
    """
    `relay.squeeze` with the axes as an operand, whose number is known.

    Source: Relay's `dyn.squeeze`.
    """

    name = "relay.dyn.squeeze"
    DECIDING: ClassVar[tuple[str, ...]] = ("axes",)

    data: Tensor = operand()
    axes: Tensor = operand()

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return SqueezeOp(kept[0], integers(numbers[0]))

    def unknown_type(self) -> Attribute:
        count, rank = known_length(self.axes, "axes"), self.data.type.get_num_dims()
        if count > rank:
            raise VerifyException(f"'axes' names {count} dimensions, 'data' has {rank}")
        return with_shape(self.data.type, [UNKNOWN] * (rank - count))


@irdl_op_definition
class DynStridedSliceOp(DynamicOp):
    """
    `relay.strided_slice` with begins, ends and strides as operands: integers, one for each of `axes`
    (the first ones when absent).

    Source: Relay's `dyn.strided_slice`.
    """

    name = "relay.dyn.strided_slice"
    DECIDING: ClassVar[tuple[str, ...]] = ("begin", "end", "strides")

    data: Tensor = operand()
    begin: Tensor = operand()
    end: Tensor = operand()
    strides: Tensor = operand()
    slice_mode: Text = prop(default="end")
    axes: OptionalIntegers = prop(default=None)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        begin, end, strides = map(integers, numbers)
        axes = None if self.axes is None else self.axes.get_values()
        mode = self.slice_mode.data
        return StridedSliceOp(kept[0], begin, end, strides, axes=axes, slice_mode=mode)

    def unknown_type(self) -> Attribute:
        count = known_length(self.begin, "begin")
        for name, value in (("end", self.end), ("strides", self.strides)):
            if integer_vector(value, name) not in (count, UNKNOWN):
                raise VerifyException(f"'{name}' is {value.type}, 'begin' has {count} elements")
        require_one_of("slice_mode", self.slice_mode, SLICE_TO_END, SLICE_BY_SIZE)
        shape = list(self.data.type.get_shape())
        named = range(count) if self.axes is None else self.axes.get_values()
        axes = normalize_axes(named, len(shape), "axes")
        if len(axes) != count:
            raise VerifyException(f"'axes' is {list(axes)}, 'begin' has {count} elements")
        known = [UNKNOWN if axis in axes else dim for axis, dim in enumerate(shape)]
        return with_shape(self.data.type, known)


@irdl_op_definition
class DynTileOp(DynamicOp):
    """
    `relay.tile` with the repetitions as an operand.

    Source: Relay's `dyn.tile`.
    """

    name = "relay.dyn.tile"
    DECIDING: ClassVar[tuple[str, ...]] = ("reps",)

    data: Tensor = operand()
    reps: Tensor = operand()
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return TileOp(kept[0], integers(numbers[0]))

    def unknown_type(self) -> Attribute:
        shape, count = self.data.type.get_shape(), known_length(self.reps, "reps")
        # Axes before those that are repeated stay as they are.
        return with_shape(
            self.data.type, [*shape[: max(len(shape) - count, 0)], *[UNKNOWN] * count]
        )


DYN_OPS = operators(__name__)
