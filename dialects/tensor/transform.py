"""Operators that move, repeat or select elements."""

from abc import ABC
from collections.abc import Sequence
from typing import Annotated, TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    TensorType,
    TupleType,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import (
    Field,
    Integer,
    Integers,
    OptionalIntegers,
    PropertyKind,
    Tensor,
    TensorTuple,
    Text,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    broadcast_shapes,
    dimension_product,
    int_array,
    integer,
    joined_shape,
    normalize_axes,
    normalize_axis,
    require_same_dtype,
    same_dimension,
    shape_text,
    tuple_fields,
    with_shape,
)
from xrelay.dialects.slicing import SLICE_TO_END, Slice, resolve_slices
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ShapeDataDependent


class TransformOp(RelayOp, ABC):
    """Moves or repeats elements of one tensor. Leaves add their kind: traits accumulate."""

    data: Tensor = operand()
    traits = traits_def(Pure())


@irdl_op_definition
class TransposeOp(TransformOp):
    """
    `data` with its axes permuted: axis i of the result is axis `axes`[i] of `data`. All axes are
    reversed when `axes` is absent.

    Source: Relay's `transpose`, ONNX's Transpose.
    """

    name = "relay.transpose"

    axes: OptionalIntegers = prop(default=None, kw_only=False)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def permutation(self) -> tuple[int, ...]:
        """The axis of `data` that each axis of the result is."""
        rank = self.data.type.get_num_dims()
        if self.axes is None:
            return tuple(reversed(range(rank)))
        axes = normalize_axes(self.axes.get_values(), rank, "axes")
        if len(axes) != rank:
            raise VerifyException(f"'axes' is {list(axes)}, expected all {rank} dimensions")
        return axes

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        return with_shape(self.data.type, [shape[axis] for axis in self.permutation])


@irdl_op_definition
class BroadcastToOp(TransformOp):
    """
    `data` repeated to `shape` by the rules of broadcasting; -1 in `shape` is an unknown length.

    Source: Relay's `broadcast_to`, ONNX's Expand.
    """

    name = "relay.broadcast_to"

    shape: Integers = prop()
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST), ShapeDataDependent())

    def infer_type(self) -> Attribute:
        old = self.data.type.get_shape()
        new = [DYNAMIC_INDEX if dim == -1 else dim for dim in self.shape.get_values()]
        if any(dim < 0 and dim != DYNAMIC_INDEX for dim in new):
            raise VerifyException(f"'shape' is {shape_text(new)}, expected no number below -1")
        if len(new) < len(old):
            raise VerifyException(f"'shape' {shape_text(new)} has fewer dimensions than 'data'")
        broadcast = broadcast_shapes(old, new, ("data", "shape"))
        if not all(map(same_dimension, broadcast, new)):
            raise VerifyException(
                f"'data' {shape_text(old)} does not broadcast to 'shape' {shape_text(new)}"
            )
        return with_shape(self.data.type, broadcast)


@irdl_op_definition
class TileOp(TransformOp):
    """
    `data` repeated `reps`[i] times along axis i, aligned at the last axes.

    Source: Relay's `tile`, ONNX's Tile.
    """

    name = "relay.tile"

    reps: Integers = prop()
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        reps, shape = list(self.reps.get_values()), list(self.data.type.get_shape())
        if any(rep < 0 for rep in reps):
            raise VerifyException(f"'reps' is {reps}, expected no negative number")
        rank = max(len(reps), len(shape))
        reps = [1] * (rank - len(reps)) + reps
        shape = [1] * (rank - len(shape)) + shape
        return with_shape(
            self.data.type, [dimension_product(pair) for pair in zip(shape, reps, strict=True)]
        )


@irdl_op_definition
class RepeatOp(TransformOp):
    """
    `data` with each element along `axis` repeated `repeats` times in place.

    Source: Relay's `repeat`.
    """

    name = "relay.repeat"

    repeats: Integer = prop()
    axis: Integer = prop()
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        shape = list(self.data.type.get_shape())
        repeats = self.repeats.value.data
        if repeats < 0:
            raise VerifyException(f"'repeats' is {repeats}, expected at least 0")
        axis = normalize_axis(self.axis.value.data, len(shape))
        shape[axis] = dimension_product((shape[axis], repeats))
        return with_shape(self.data.type, shape)


@irdl_op_definition
class StridedSliceOp(TransformOp):
    """
    The elements of `data` from `begin` to `end` in steps of `strides` along `axes` (the first
    ones when absent), with negative indices and clamping as in Python. With `slice_mode` "size",
    `end` holds lengths (-1: to the end) and the strides are 1.

    `strides` may be shorter than `axes`, and without `axes` the lists may differ in length: strides
    that they lack are 1, begins and ends those of the axis, but 0 is the end of a negative stride.

    Source: Relay's `strided_slice`, ONNX's Slice.
    """

    name = "relay.strided_slice"

    begin: Integers = prop()
    end: Integers = prop()
    strides: OptionalIntegers = prop(default=None, kw_only=False)
    slice_mode: Text = prop(default=SLICE_TO_END)
    axes: OptionalIntegers = prop(default=None)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def slices(self) -> tuple[Slice, ...]:
        """What is taken of each axis of `data`."""
        return resolve_slices(
            self.data.type.get_shape(),
            self.begin.get_values(),
            self.end.get_values(),
            None if self.strides is None else self.strides.get_values(),
            None if self.axes is None else self.axes.get_values(),
            self.slice_mode.data,
        )

    def infer_type(self) -> Attribute:
        return with_shape(self.data.type, [taken.length for taken in self.slices])


class TupleOperandOp(RelayOp, ABC):
    """Joins the fields of a tuple of tensors of one dtype."""

    data: TensorTuple = operand()
    axis: Integer = prop(default=0)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def joined_fields(self) -> tuple[TensorType[Attribute], ...]:
        """The types of the fields, which must agree in dtype and rank."""
        fields = tuple_fields(self.data, "'data'")
        if not fields:
            raise VerifyException("'data' is the empty tuple, expected at least one tensor")
        first = fields[0]
        for i, field in enumerate(fields):
            if (
                field.element_type != first.element_type
                or field.get_num_dims() != first.get_num_dims()
            ):
                raise VerifyException(f"field {i} of 'data' is {field}, field 0 is {first}")
        return fields


@irdl_op_definition
class ConcatenateOp(TupleOperandOp):
    """
    The fields of `data` one after the other along `axis`; their other dimensions agree.

    Source: Relay's `concatenate`, ONNX's Concat.
    """

    name = "relay.concatenate"

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.joined_fields()[0].get_num_dims())

    def infer_type(self) -> Attribute:
        fields = self.joined_fields()
        return with_shape(fields[0], joined_shape(fields, self.normalized_axis))


@irdl_op_definition
class StackOp(TupleOperandOp):
    """
    The fields of `data`, which have one shape, along a new axis at `axis`.

    Source: Relay's `stack`.
    """

    name = "relay.stack"

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front, in the result."""
        return normalize_axis(self.axis.value.data, self.joined_fields()[0].get_num_dims() + 1)

    def infer_type(self) -> Attribute:
        fields = self.joined_fields()
        shape = joined_shape(fields)
        axis = self.normalized_axis
        return with_shape(fields[0], [*shape[:axis], len(fields), *shape[axis:]])


def _sections(value: int | Sequence[int]) -> Attribute:
    return integer(value) if isinstance(value, int) else int_array(value)


Sections: TypeAlias = Annotated[
    Field[
        IntegerAttr[IntegerType] | DenseArrayBase[IntegerType],
        int | Sequence[int] | IntegerAttr[IntegerType] | DenseArrayBase[IntegerType],
    ],
    PropertyKind(IntegerAttr.constr(i64) | DenseArrayBase.constr(i64), _sections),
]

MOST_PARTS = 1 << 20
"""Tuples of more fields than this are taken for mistakes: their types would fill the memory."""


@irdl_op_definition
class SplitOp(RelayOp):
    """
    `data` cut along `axis` into a tuple: into equal parts when `indices_or_sections` is a number,
    before the named positions (ascending) when it is an array.

    Source: Relay's `split`, ONNX's Split.
    """

    name = "relay.split"

    data: Tensor = operand()
    indices_or_sections: Sections = prop()
    axis: Integer = prop(default=0)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    @staticmethod
    def _sections(sections: IntegerAttr) -> int:
        count = sections.value.data
        if not 1 <= count <= MOST_PARTS:
            raise VerifyException(
                f"'indices_or_sections' is {count}, accepted range is [1, {MOST_PARTS}]"
            )
        return count

    def part_starts(self) -> tuple[int, ...]:
        """The position along the axis at which each part begins; its length must be known."""
        sections = self.indices_or_sections
        if isinstance(sections, DenseArrayBase):
            return (0, *sections.get_values())
        length, count = self.data.type.get_shape()[self.normalized_axis], self._sections(sections)
        if length % count:
            raise VerifyException(
                f"'indices_or_sections' is {count}, which does not divide the length {length}"
            )
        return tuple(range(0, length, length // count)) if length else (0,) * count

    def infer_type(self) -> Attribute:
        shape = list(self.data.type.get_shape())
        axis = self.normalized_axis
        length = shape[axis]
        if length == DYNAMIC_INDEX and isinstance(self.indices_or_sections, IntegerAttr):
            lengths = [DYNAMIC_INDEX] * self._sections(self.indices_or_sections)
        else:
            starts = self.part_starts()
            ends = [*starts[1:], length]
            lengths = [
                DYNAMIC_INDEX if end == DYNAMIC_INDEX else end - start
                for start, end in zip(starts, ends, strict=True)
            ]
            if any(part < 0 and part != DYNAMIC_INDEX for part in lengths):
                raise VerifyException(
                    f"'indices_or_sections' {list(starts[1:])} is not ascending within the axis "
                    f"{shape_text([length])}"
                )
        return tuple_type(
            [
                with_shape(self.data.type, [*shape[:axis], part, *shape[axis + 1 :]])
                for part in lengths
            ]
        )


@irdl_op_definition
class WhereOp(RelayOp):
    """
    An element of `x` where `condition` is not 0 (true, or NaN), of `y` elsewhere; all three
    broadcast.

    Source: Relay's `where`, ONNX's Where.
    """

    name = "relay.where"

    condition: Tensor = operand()
    x: Tensor = operand()
    y: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        condition, x, y = self.condition.type, self.x.type, self.y.type
        require_same_dtype(x, "x", y, "y")
        shape = broadcast_shapes(x.get_shape(), y.get_shape(), ("x", "y"))
        return with_shape(
            x, broadcast_shapes(condition.get_shape(), shape, ("condition", "x and y"))
        )
