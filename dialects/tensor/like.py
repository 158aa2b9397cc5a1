"""Operators that take the dtype or the shape of another tensor, and those that return a shape."""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.constants import constant_integers
from xrelay.dialects.fields import (
    Integer,
    OptionalDtype,
    OptionalInteger,
    OptionalIntegers,
    Tensor,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    broadcast_shapes,
    element_count,
    element_type,
    integer_vector,
    normalize_axes,
    same_dimension,
    shape_text,
    with_dtype,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class CastLikeOp(RelayOp):
    """
    `data` converted to the dtype of `dtype_like`, by the rules of `relay.cast`. The elements of
    `dtype_like` are not used.

    Source: Relay's `cast_like`, ONNX's CastLike.
    """

    name = "relay.cast_like"

    data: Tensor = operand()
    dtype_like: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        dtype = element_type(self.dtype_like.type.element_type, "dtype_like")
        return with_dtype(self.data.type, dtype)


@irdl_op_definition
class FullLikeOp(RelayOp):
    """
    A tensor with the type of `data` whose elements are the scalar `fill_value`, converted to the
    dtype of `data` by the rules of `relay.cast`.

    Source: Relay's `full_like`.
    """

    name = "relay.full_like"

    data: Tensor = operand()
    fill_value: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        if self.fill_value.type.get_num_dims() != 0:
            raise VerifyException(f"'fill_value' is {self.fill_value.type}, expected a scalar")
        return self.data.type


def _broadcasts_to(small: Sequence[int], large: Sequence[int], names: tuple[str, str]) -> list[int]:
    """`large`, knowing more of its dimensions, when broadcasting takes `small` to it."""
    if len(small) <= len(large):
        result = broadcast_shapes(small, large, names)
        if all(map(same_dimension, result, large)):
            return result
    raise VerifyException(
        f"'{names[0]}' {shape_text(small)} does not broadcast to '{names[1]}' {shape_text(large)}"
    )


@irdl_op_definition
class BroadcastToLikeOp(RelayOp):
    """
    `data` repeated to the shape of `broadcast_type` by the rules of broadcasting.

    Source: Relay's `broadcast_to_like`.
    """

    name = "relay.broadcast_to_like"

    data: Tensor = operand()
    broadcast_type: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        names = "data", "broadcast_type"
        shapes = self.data.type.get_shape(), self.broadcast_type.type.get_shape()
        return with_shape(self.data.type, _broadcasts_to(*shapes, names))


class CollapseSumOp(RelayOp, ABC):
    """
    The elements of `data` added up to a smaller shape, which broadcasting takes to that of `data`:
    leading axes and those of length 1 are sums. Integers wrap around.
    """

    # Leaves define the operands: those of a base would come after theirs.
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.COMM_REDUCE))

    def summed_axes(self, shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
        """The axes of `shape` that are added up for a result of shape `target`."""
        leading = len(shape) - len(target)
        return tuple(
            axis
            for axis, dim in enumerate(shape)
            if axis < leading or (target[axis - leading] == 1 and dim != 1)
        )


@irdl_op_definition
class CollapseSumLikeOp(CollapseSumOp):
    """
    The sums of `data` with the shape of `collapse_type`.

    Source: Relay's `collapse_sum_like`.
    """

    name = "relay.collapse_sum_like"

    data: Tensor = operand()
    collapse_type: Tensor = operand()

    def infer_type(self) -> Attribute:
        shape = self.collapse_type.type.get_shape()
        _broadcasts_to(shape, self.data.type.get_shape(), ("collapse_type", "data"))
        return with_shape(self.data.type, shape)


@irdl_op_definition
class CollapseSumToOp(CollapseSumOp):
    """
    The sums of `data` with the shape that the integers of `shape` are. Their number is the rank of
    the result, whose dimensions are known when `shape` is a constant.

    Source: Relay's `collapse_sum_to`.
    """

    name = "relay.collapse_sum_to"

    data: Tensor = operand()
    shape: Tensor = operand()

    def infer_type(self) -> Attribute:
        rank = integer_vector(self.shape, "shape")
        if rank == DYNAMIC_INDEX:
            raise VerifyException(f"'shape' is {self.shape.type}, expected a known length")
        known = constant_integers(self.shape)
        shape = [DYNAMIC_INDEX] * rank if known is None else list(known)
        _broadcasts_to(shape, self.data.type.get_shape(), ("shape", "data"))
        return with_shape(self.data.type, shape)

    def verify_(self) -> None:
        super().verify_()
        # Code relies on the stated shape where `shape` is no constant.
        _broadcasts_to(self.result.type.get_shape(), self.data.type.get_shape(), ("result", "data"))


@irdl_op_definition
class ReshapeLikeOp(RelayOp):
    """
    `data` with its axes from `lhs_begin` to before `lhs_end` replaced by the axes of `shape_like`
    from `rhs_begin` to before `rhs_end`; absent ends are the ranks. Elements keep their row-major
    order.

    Source: Relay's `reshape_like`.
    """

    name = "relay.reshape_like"

    data: Tensor = operand()
    shape_like: Tensor = operand()
    lhs_begin: Integer = prop(default=0)
    lhs_end: OptionalInteger = prop(default=None)
    rhs_begin: Integer = prop(default=0)
    rhs_end: OptionalInteger = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def replaced_shape(self, old: Sequence[int], like: Sequence[int]) -> list[int]:
        """The shape of the result for operands of the given shapes."""
        first, last = _axis_range(self.lhs_begin, self.lhs_end, len(old), "lhs")
        start, stop = _axis_range(self.rhs_begin, self.rhs_end, len(like), "rhs")
        return [*old[:first], *like[start:stop], *old[last:]]

    def infer_type(self) -> Attribute:
        old = self.data.type.get_shape()
        new = self.replaced_shape(old, self.shape_like.type.get_shape())
        if not same_dimension(element_count(old), element_count(new)):
            raise VerifyException(
                f"'data' {shape_text(old)} has {element_count(old)} elements, the new shape "
                f"{shape_text(new)} has {element_count(new)}"
            )
        return with_shape(self.data.type, new)


def _axis_range(
    begin: IntegerAttr, end: IntegerAttr | None, rank: int, side: str
) -> tuple[int, int]:
    first = begin.value.data
    last = rank if end is None else end.value.data
    for value, what in ((first, "begin"), (last, "end")):
        if not -rank <= value <= rank:
            raise VerifyException(
                f"'{side}_{what}' is {value}, accepted range is [{-rank}, {rank}]"
            )
    first, last = first + rank * (first < 0), last + rank * (last < 0)
    if first > last:
        raise VerifyException(f"'{side}_begin' {first} lies behind '{side}_end' {last}")
    return first, last


@irdl_op_definition
class SliceLikeOp(RelayOp):
    """
    The first elements of `data` along `axes`, as many as `shape_like` has there; along all axes of
    `shape_like` when `axes` is absent or empty.

    Source: Relay's `slice_like`.
    """

    name = "relay.slice_like"

    data: Tensor = operand()
    shape_like: Tensor = operand()
    axes: OptionalIntegers = prop(default=None, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        shape, like = list(self.data.type.get_shape()), self.shape_like.type.get_shape()
        named = () if self.axes is None else self.axes.get_values()
        axes = normalize_axes(named or range(len(like)), len(shape), "axes")
        for axis in axes:
            if axis >= len(like):
                raise VerifyException(
                    f"'axes' names dimension {axis}, 'shape_like' has rank {len(like)}"
                )
            if DYNAMIC_INDEX not in (shape[axis], like[axis]) and like[axis] > shape[axis]:
                raise VerifyException(
                    f"'shape_like' has length {like[axis]} in dimension {axis}, "
                    f"'data' only {shape[axis]}"
                )
            shape[axis] = like[axis]
        return with_shape(self.data.type, shape)


@irdl_op_definition
class ShapeOfOp(RelayOp):
    """
    The lengths of the axes of `data` as a tensor [rank] of `dtype`, i32 when absent.

    Source: Relay's `shape_of`, ONNX's Shape.
    """

    name = "relay.shape_of"

    data: Tensor = operand()
    dtype: OptionalDtype = prop(default=None, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        dtype = i32 if self.dtype is None else element_type(self.dtype, "dtype")
        return TensorType(dtype, [self.data.type.get_num_dims()])


@irdl_op_definition
class NdarraySizeOp(RelayOp):
    """
    The number of elements of `data` as a scalar of `dtype`, i32 when absent.

    Source: Relay's `ndarray_size`, ONNX's Size.
    """

    name = "relay.ndarray_size"

    data: Tensor = operand()
    dtype: OptionalDtype = prop(default=None, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        return TensorType(i32 if self.dtype is None else element_type(self.dtype, "dtype"), [])


LIKE_OPS = operators(__name__)
