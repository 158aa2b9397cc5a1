"""Operators on images, indices and orders, with the sizes of their results as operands."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.dyn.base import (
    UNKNOWN,
    DynamicOp,
    Number,
    integers,
    known_length,
    one_integer,
    resized,
    type_of_result,
)
from xrelay.dialects.fields import Flag, Integer, OptionalDtype, Tensor, Text, operand, prop
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.shapes import (
    integer_tensor,
    normalize_axis,
    ranked,
    require_one_of,
    with_shape,
)
from xrelay.dialects.tensor.creation import OneHotOp, one_hot_dtype
from xrelay.dialects.tensor.indexing import SparseToDenseOp, require_sparse
from xrelay.dialects.tensor.sort import TopkOp, top_type
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class DynPadOp(DynamicOp):
    """
    `relay.nn.pad` with the widths as an operand: integers [rank, 2], before and after each axis.

    Source: Relay's `dyn.nn.pad`.
    """

    name = "relay.dyn.nn.pad"
    DECIDING: ClassVar[tuple[str, ...]] = ("pad_width",)

    data: Tensor = operand()
    pad_width: Tensor = operand()
    pad_val: Tensor = operand()
    pad_mode: Text = prop(default="constant")
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        widths = integers(numbers[0])
        pairs = list(zip(widths[::2], widths[1::2], strict=True))
        return PadOp(kept[0], kept[1], pairs, pad_mode=self.pad_mode.data)

    def unknown_type(self) -> Attribute:
        data, widths = self.data.type, integer_tensor(self.pad_width, "pad_width")
        if list(widths.get_shape()) != [data.get_num_dims(), 2]:
            raise VerifyException(
                f"'pad_width' is {widths}, expected two integers for each of "
                f"{data.get_num_dims()} axes"
            )
        require_one_of("pad_mode", self.pad_mode, "constant", "edge", "reflect")
        if self.pad_val.type.get_num_dims() != 0:
            raise VerifyException(f"'pad_val' is {self.pad_val.type}, expected a scalar")
        return with_shape(data, [UNKNOWN] * data.get_num_dims())


@irdl_op_definition
class DynUpsamplingOp(DynamicOp):
    """
    `relay.nn.upsampling` with the scales as operands: scalars, numbers of any dtype.

    Source: Relay's `dyn.nn.upsampling`.
    """

    name = "relay.dyn.nn.upsampling"
    DECIDING: ClassVar[tuple[str, ...]] = ("scale_h", "scale_w")

    data: Tensor = operand()
    scale_h: Tensor = operand()
    scale_w: Tensor = operand()
    layout: Text = prop(default="NCHW")
    method: Text = prop(default="nearest_neighbor")
    align_corners: Flag = prop(default=False)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        height, width = (float(scale[0]) for scale in numbers)
        return self._static(kept[0], height, width)

    def _static(self, data: SSAValue, height: float, width: float) -> UpsamplingOp:
        return UpsamplingOp(
            data,
            height,
            width,
            layout=self.layout.data,
            method=self.method.data,
            align_corners=bool(self.align_corners.value.data),
        )

    def unknown_type(self) -> Attribute:
        for name, value in (("scale_h", self.scale_h), ("scale_w", self.scale_w)):
            if value.type.get_num_dims() != 0:
                raise VerifyException(f"'{name}' is {value.type}, expected a scalar")
        ranked(self.data, "'data'", 4)
        # Refuses layouts and methods that the operator has not.
        static = type_of_result(partial(self._static, height=1.0, width=1.0), [self.data])
        return resized(static, self.layout, "HW")


@irdl_op_definition
class DynOneHotOp(DynamicOp):
    """
    `relay.one_hot` with the depth as an operand: one integer.

    Source: Relay's `dyn.one_hot`.
    """

    name = "relay.dyn.one_hot"
    DECIDING: ClassVar[tuple[str, ...]] = ("depth",)

    indices: Tensor = operand()
    on_value: Tensor = operand()
    off_value: Tensor = operand()
    depth: Tensor = operand()
    axis: Integer = prop(default=-1)
    dtype: OptionalDtype = prop(default=None)
    traits = traits_def(HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        depth = int(numbers[0][0])
        indices, on, off = kept
        return OneHotOp(indices, on, off, depth, axis=self.axis.value.data, dtype=self.dtype)

    def unknown_type(self) -> Attribute:
        one_integer(self.depth, "depth")
        shape = list(integer_tensor(self.indices, "indices").get_shape())
        dtype = one_hot_dtype(self.on_value, self.off_value, self.dtype)
        shape.insert(normalize_axis(self.axis.value.data, len(shape) + 1), UNKNOWN)
        return TensorType(dtype, shape)


@irdl_op_definition
class DynSparseToDenseOp(DynamicOp):
    """
    `relay.sparse_to_dense` with the shape of the result as an operand.

    Source: Relay's `dyn.sparse_to_dense`.
    """

    name = "relay.dyn.sparse_to_dense"
    DECIDING: ClassVar[tuple[str, ...]] = ("output_shape",)

    sparse_indices: Tensor = operand()
    sparse_values: Tensor = operand()
    default_value: Tensor = operand()
    output_shape: Tensor = operand()
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        indices, values, default = kept
        return SparseToDenseOp(indices, values, default, integers(numbers[0]))

    def unknown_type(self) -> Attribute:
        rank = known_length(self.output_shape, "output_shape")
        require_sparse(self.sparse_indices, self.sparse_values, self.default_value, rank)
        return TensorType(self.sparse_values.type.element_type, [UNKNOWN] * rank)


@irdl_op_definition
class DynTopkOp(DynamicOp):
    """
    `relay.topk` with the number of elements as an operand: one integer.

    Source: Relay's `dyn.topk`.
    """

    name = "relay.dyn.topk"
    DECIDING: ClassVar[tuple[str, ...]] = ("k",)

    data: Tensor = operand()
    k: Tensor = operand()
    axis: Integer = prop(default=-1)
    ret_type: Text = prop(default="both")
    is_ascend: Flag = prop(default=False)
    dtype: OptionalDtype = prop(default=None)
    result = result_def(TensorType | TupleType)
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    def specialised(self, kept: Sequence[SSAValue], numbers: Sequence[Sequence[Number]]) -> RelayOp:
        return TopkOp(
            kept[0],
            int(numbers[0][0]),
            axis=self.axis.value.data,
            ret_type=self.ret_type.data,
            is_ascend=bool(self.is_ascend.value.data),
            dtype=self.dtype,
        )

    def unknown_type(self) -> Attribute:
        one_integer(self.k, "k")
        axis, kind = self.axis.value.data, self.ret_type.data
        return top_type(self.data.type, UNKNOWN, axis, kind, self.dtype)


DYN_SELECT_OPS = operators(__name__)
