"""Operators that move, repeat or select elements."""

from abc import ABC
from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    TupleType,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import (
    RelayOp,
    Value,
    tensor_operand_def,
    tensor_result_def,
    tuple_operand_def,
    tuple_type,
)
from xrelay.dialects.shapes import (
    boolean,
    broadcast_shapes,
    element_count,
    int_array,
    integer,
    is_integer_type,
    normalize_axes,
    normalize_axis,
    same_dimension,
    shape_text,
    string,
    tuple_fields,
    with_shape,
)
from xrelay.dialects.slicing import SLICE_TO_END, Slice, resolve_slices
from xrelay.dialects.traits import (
    HasPatternKind,
    OpPatternKind,
    ReshapeOnly,
    ShapeDataDependent,
)


class TransformOp(RelayOp, ABC):
    """Moves or repeats elements of one tensor. Leaves add their kind: traits accumulate."""

    data = tensor_operand_def()
    result = tensor_result_def()
    traits = traits_def(Pure())
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"


class ReshapeFamilyOp(TransformOp, ABC):
    """Keeps the elements in row-major order and changes the shape only."""

    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE), ReshapeOnly())


@irdl_op_definition
class ReshapeOp(ReshapeFamilyOp):
    """
    `data` with the shape `newshape`, in which 0 copies a dimension (unless `allowzero`), -1 is
    inferred, -2 copies all that remain, -3 merges two, and -4 splits one into the two numbers
    that follow.

    Source: Relay's `reshape`, ONNX's Reshape.
    """

    name = "relay.reshape"

    newshape = prop_def(DenseArrayBase.constr(i64))
    allowzero = prop_def(BoolAttr, default_value=boolean(False))

    def __init__(self, data: Value, newshape: Sequence[int], *, allowzero: bool = False):
        super().__init__([data], {"newshape": int_array(newshape), "allowzero": boolean(allowzero)})

    def infer_type(self) -> Attribute:
        old = self.data.type.get_shape()
        new = apply_reshape(old, self.newshape.get_values(), bool(self.allowzero.value.data))
        if not same_dimension(element_count(old), element_count(new)):
            raise VerifyException(
                f"'newshape' {list(self.newshape.get_values())} gives {shape_text(new)} with "
                f"{element_count(new)} elements, 'data' {shape_text(old)} has {element_count(old)}"
            )
        return with_shape(self.data.type, new)


def apply_reshape(old: Sequence[int], codes: Sequence[int], allowzero: bool) -> list[int]:
    """The new shape that Relay's reshape codes describe for the old one."""
    new: list[int] = []
    inferred: int | None = None
    position = 0  # in `old`
    i = 0
    while i < len(codes):
        code = codes[i]
        needed = {0: 0 if allowzero else 1, -3: 2, -4: 1}.get(code, 0)
        if needed and position + needed > len(old):
            raise VerifyException(
                f"code {code} of 'newshape' {list(codes)} needs more dimensions than 'data' "
                f"{shape_text(old)} has"
            )
        if code > 0 or (code == 0 and allowzero):
            new.append(code)
            position += 1
        elif code == 0:
            new.append(old[position])
            position += 1
        elif code == -1:
            if inferred is not None:
                raise VerifyException(f"'newshape' {list(codes)} has more than one -1")
            inferred = len(new)
            new.append(DYNAMIC_INDEX)
            position += 1
        elif code == -2:
            new.extend(old[position:])
            position = len(old)
        elif code == -3:
            new.append(_product(old[position : position + 2]))
            position += 2
        elif code == -4:
            if i + 2 >= len(codes):
                raise VerifyException(f"-4 in 'newshape' {list(codes)} needs two numbers after it")
            new.extend(_split_dimension(old[position], codes[i + 1], codes[i + 2]))
            position += 1
            i += 2
        else:
            raise VerifyException(f"'newshape' {list(codes)} has the unknown code {code}")
        i += 1
    if inferred is not None:
        others = _product([dim for axis, dim in enumerate(new) if axis != inferred])
        total = _product(old)
        if others == 0:
            raise VerifyException(f"-1 in 'newshape' {list(codes)} stands beside a dimension of 0")
        if DYNAMIC_INDEX not in (others, total):
            if total % others:
                raise VerifyException(
                    f"{total} elements of 'data' do not divide into 'newshape' {list(codes)}"
                )
            new[inferred] = total // others
    return new


def _product(shape: Sequence[int]) -> int:
    return DYNAMIC_INDEX if DYNAMIC_INDEX in shape else prod(shape)


def _split_dimension(dim: int, first: int, second: int) -> tuple[int, int]:
    if first == -1 and second == -1:
        raise VerifyException("-4 in 'newshape' is followed by two -1")
    if any(part < 1 and part != -1 for part in (first, second)):
        raise VerifyException(
            f"-4 in 'newshape' is followed by {first} and {second}, expected positive numbers or -1"
        )
    if dim != DYNAMIC_INDEX and first == -1:
        first = dim // second
    if dim != DYNAMIC_INDEX and second == -1:
        second = dim // first
    if dim != DYNAMIC_INDEX and first * second != dim:
        raise VerifyException(f"-4 in 'newshape' splits {dim} into {first} times {second}")
    return (
        DYNAMIC_INDEX if first == -1 else first,
        DYNAMIC_INDEX if second == -1 else second,
    )


@irdl_op_definition
class BatchFlattenOp(ReshapeFamilyOp):
    """
    `data` [N, ...] as a matrix [N, product of the rest].

    Source: Relay's `nn.batch_flatten`, ONNX's Flatten.
    """

    name = "relay.nn.batch_flatten"

    def __init__(self, data: Value):
        super().__init__([data])

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        if not shape:
            raise VerifyException(f"'data' is {self.data.type}, expected at least rank 1")
        return with_shape(self.data.type, [shape[0], _product(shape[1:])])


@irdl_op_definition
class SqueezeOp(ReshapeFamilyOp):
    """
    `data` without the axes of length 1 named by `axis`; without all of them when absent.

    Source: Relay's `squeeze`, ONNX's Squeeze.
    """

    name = "relay.squeeze"

    axis = opt_prop_def(DenseArrayBase.constr(i64))

    def __init__(self, data: Value, axis: Sequence[int] | None = None):
        super().__init__([data], {"axis": None if axis is None else int_array(axis)})

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        if self.axis is None:
            if DYNAMIC_INDEX in shape:
                raise VerifyException(
                    f"'axis' is absent and 'data' {shape_text(shape)} has an unknown dimension"
                )
            return with_shape(self.data.type, [dim for dim in shape if dim != 1])
        axes = normalize_axes(self.axis.get_values(), len(shape))
        for axis in axes:
            if not same_dimension(shape[axis], 1):
                raise VerifyException(f"'axis' names dimension {axis} of length {shape[axis]}")
        return with_shape(
            self.data.type, [dim for axis, dim in enumerate(shape) if axis not in axes]
        )


@irdl_op_definition
class ExpandDimsOp(TransformOp):
    """
    `data` with `num_newaxis` axes of length 1 inserted at `axis`.

    Source: Relay's `expand_dims`, ONNX's Unsqueeze.
    """

    name = "relay.expand_dims"

    axis = prop_def(IntegerAttr.constr(i64))
    num_newaxis = prop_def(IntegerAttr.constr(i64), default_value=integer(1))
    # Relay registers it as a broadcast, and as reshape-only.
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST), ReshapeOnly())

    def __init__(self, data: Value, axis: int, *, num_newaxis: int = 1):
        super().__init__([data], {"axis": integer(axis), "num_newaxis": integer(num_newaxis)})

    def infer_type(self) -> Attribute:
        shape = list(self.data.type.get_shape())
        count = self.num_newaxis.value.data
        if count < 0:
            raise VerifyException(f"'num_newaxis' is {count}, expected at least 0")
        axis = normalize_axis(self.axis.value.data, len(shape) + 1)
        return with_shape(self.data.type, [*shape[:axis], *[1] * count, *shape[axis:]])


@irdl_op_definition
class TransposeOp(TransformOp):
    """
    `data` with its axes permuted: axis i of the result is axis `axes`[i] of `data`. All axes are
    reversed when `axes` is absent.

    Source: Relay's `transpose`, ONNX's Transpose.
    """

    name = "relay.transpose"

    axes = opt_prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def __init__(self, data: Value, axes: Sequence[int] | None = None):
        super().__init__([data], {"axes": None if axes is None else int_array(axes)})

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

    shape = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST), ShapeDataDependent())

    def __init__(self, data: Value, shape: Sequence[int]):
        super().__init__([data], {"shape": int_array(shape)})

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

    reps = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST))

    def __init__(self, data: Value, reps: Sequence[int]):
        super().__init__([data], {"reps": int_array(reps)})

    def infer_type(self) -> Attribute:
        reps, shape = list(self.reps.get_values()), list(self.data.type.get_shape())
        if any(rep < 0 for rep in reps):
            raise VerifyException(f"'reps' is {reps}, expected no negative number")
        rank = max(len(reps), len(shape))
        reps = [1] * (rank - len(reps)) + reps
        shape = [1] * (rank - len(shape)) + shape
        return with_shape(
            self.data.type, [_product(pair) for pair in zip(shape, reps, strict=True)]
        )


@irdl_op_definition
class RepeatOp(TransformOp):
    """
    `data` with each element along `axis` repeated `repeats` times in place.

    Source: Relay's `repeat`.
    """

    name = "relay.repeat"

    repeats = prop_def(IntegerAttr.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST))

    def __init__(self, data: Value, repeats: int, axis: int):
        super().__init__([data], {"repeats": integer(repeats), "axis": integer(axis)})

    def infer_type(self) -> Attribute:
        shape = list(self.data.type.get_shape())
        repeats = self.repeats.value.data
        if repeats < 0:
            raise VerifyException(f"'repeats' is {repeats}, expected at least 0")
        axis = normalize_axis(self.axis.value.data, len(shape))
        shape[axis] = _product((shape[axis], repeats))
        return with_shape(self.data.type, shape)


@irdl_op_definition
class StridedSliceOp(TransformOp):
    """
    The elements of `data` from `begin` to `end` in steps of `strides` along `axes` (the first
    ones when absent), with negative indices and clamping as in Python. With `slice_mode` "size",
    `end` holds lengths (-1: to the end) and the strides are 1.

    Source: Relay's `strided_slice`, ONNX's Slice.
    """

    name = "relay.strided_slice"

    begin = prop_def(DenseArrayBase.constr(i64))
    end = prop_def(DenseArrayBase.constr(i64))
    strides = opt_prop_def(DenseArrayBase.constr(i64))
    slice_mode = prop_def(StringAttr, default_value=string(SLICE_TO_END))
    axes = opt_prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def __init__(
        self,
        data: Value,
        begin: Sequence[int],
        end: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        axes: Sequence[int] | None = None,
        slice_mode: str = SLICE_TO_END,
    ):
        super().__init__(
            [data],
            {
                "begin": int_array(begin),
                "end": int_array(end),
                "strides": None if strides is None else int_array(strides),
                "axes": None if axes is None else int_array(axes),
                "slice_mode": string(slice_mode),
            },
        )

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


@irdl_op_definition
class PadOp(RelayOp):
    """
    `data` with `pad_width`[i] = [before, after] elements added to axis i: `pad_val` in mode
    "constant", the nearest element in mode "edge", a mirror image without the border in
    mode "reflect".

    Source: Relay's `nn.pad`, ONNX's Pad.
    """

    name = "relay.nn.pad"

    data = tensor_operand_def()
    pad_val = tensor_operand_def()
    pad_width = prop_def(ArrayAttr[DenseArrayBase[IntegerType]])
    pad_mode = prop_def(StringAttr, default_value=string("constant"))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$data `,` $pad_val attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: Value,
        pad_val: Value,
        pad_width: Sequence[tuple[int, int]],
        *,
        pad_mode: str = "constant",
    ):
        super().__init__(
            [data, pad_val],
            {
                "pad_width": ArrayAttr([int_array(pair) for pair in pad_width]),
                "pad_mode": string(pad_mode),
            },
        )

    @property
    def widths(self) -> tuple[tuple[int, ...], ...]:
        """(before, after) for each axis."""
        return tuple(pair.get_values() for pair in self.pad_width.data)

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        widths = self.widths
        if self.pad_mode.data not in ("constant", "edge", "reflect"):
            raise VerifyException(
                f"'pad_mode' is \"{self.pad_mode.data}\", accepted are "
                '"constant", "edge" and "reflect"'
            )
        if self.pad_val.type != TensorType(self.data.type.element_type, []):
            raise VerifyException(
                f"'pad_val' is {self.pad_val.type}, expected a scalar with the dtype of 'data'"
            )
        if len(widths) != len(shape) or any(len(pair) != 2 or min(pair) < 0 for pair in widths):
            raise VerifyException(
                f"'pad_width' is {[list(pair) for pair in widths]}, expected two numbers that are "
                f"not negative for each of {len(shape)} axes"
            )
        for dim, pair in zip(shape, widths, strict=True):
            limit = {"edge": 0, "reflect": 1}.get(self.pad_mode.data)
            if limit is None or dim == DYNAMIC_INDEX or not any(pair):
                continue
            if dim <= limit - 1 or (limit and max(pair) >= dim) or dim == 0:
                raise VerifyException(
                    f"'pad_width' {list(pair)} is too wide for mode \"{self.pad_mode.data}\" on "
                    f"an axis of length {dim}"
                )
        return with_shape(
            self.data.type,
            [
                dim if dim == DYNAMIC_INDEX else dim + sum(pair)
                for dim, pair in zip(shape, widths, strict=True)
            ],
        )


class TupleOperandOp(RelayOp, ABC):
    """Joins the fields of a tuple of tensors of one dtype."""

    data = tuple_operand_def()
    axis = prop_def(IntegerAttr.constr(i64), default_value=integer(0))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, *, axis: int = 0):
        super().__init__([data], {"axis": integer(axis)})

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
        axis = self.normalized_axis
        shape = list(fields[0].get_shape())
        for i, field in enumerate(fields[1:], 1):
            for d, (dim, known) in enumerate(zip(field.get_shape(), shape, strict=True)):
                if d == axis:
                    shape[d] = DYNAMIC_INDEX if DYNAMIC_INDEX in (dim, known) else dim + known
                elif not same_dimension(dim, known):
                    raise VerifyException(
                        f"field {i} of 'data' has length {dim} in dimension {d}, others {known}"
                    )
                elif known == DYNAMIC_INDEX:
                    shape[d] = dim
        return with_shape(fields[0], shape)


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
        shape = list(fields[0].get_shape())
        for i, field in enumerate(fields):
            if not all(map(same_dimension, field.get_shape(), shape)):
                raise VerifyException(f"field {i} of 'data' is {field}, field 0 is {fields[0]}")
        axis = self.normalized_axis
        return with_shape(fields[0], [*shape[:axis], len(fields), *shape[axis:]])


@irdl_op_definition
class SplitOp(RelayOp):
    """
    `data` cut along `axis` into a tuple: into equal parts when `indices_or_sections` is a number,
    before the named positions (ascending) when it is an array.

    Source: Relay's `split`, ONNX's Split.
    """

    name = "relay.split"

    data = tensor_operand_def()
    indices_or_sections = prop_def(IntegerAttr.constr(i64) | DenseArrayBase.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64), default_value=integer(0))
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, indices_or_sections: int | Sequence[int], *, axis: int = 0):
        super().__init__(
            [data],
            {
                "indices_or_sections": integer(indices_or_sections)
                if isinstance(indices_or_sections, int)
                else int_array(indices_or_sections),
                "axis": integer(axis),
            },
        )

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def part_starts(self) -> tuple[int, ...]:
        """The position along the axis at which each part begins; its length must be known."""
        sections = self.indices_or_sections
        if isinstance(sections, DenseArrayBase):
            return (0, *sections.get_values())
        length = self.data.type.get_shape()[self.normalized_axis]
        count = sections.value.data
        if count < 1 or length % count:
            raise VerifyException(
                f"'indices_or_sections' is {count}, which does not divide the length {length}"
            )
        return tuple(range(0, length, length // count)) if length else (0,) * count

    def infer_type(self) -> Attribute:
        shape = list(self.data.type.get_shape())
        axis = self.normalized_axis
        length = shape[axis]
        if length == DYNAMIC_INDEX and isinstance(self.indices_or_sections, IntegerAttr):
            count = self.indices_or_sections.value.data
            if count < 1:
                raise VerifyException(f"'indices_or_sections' is {count}, expected at least 1")
            lengths = [DYNAMIC_INDEX] * count
        else:
            starts = self.part_starts()
            ends = [*starts[1:], length]
            lengths = [
                DYNAMIC_INDEX if end == DYNAMIC_INDEX else end - start
                for start, end in zip(starts, ends, strict=True)
            ]
            if any(part < 0 and part != DYNAMIC_INDEX for part in lengths) or (
                length != DYNAMIC_INDEX and max(starts) > length
            ):
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
class TakeOp(RelayOp):
    """
    The slices of `data` along `axis` that integer `indices` name; of the flattened `data` when
    `axis` is absent. The first `batch_dims` axes of both are matched. Indices out of range are
    clamped in mode "clip", taken modulo the length in mode "wrap"; mode "fast" is treated as
    "clip".

    Source: Relay's `take`, ONNX's Gather.
    """

    name = "relay.take"

    data = tensor_operand_def()
    indices = tensor_operand_def()
    batch_dims = prop_def(IntegerAttr.constr(i64), default_value=integer(0))
    axis = opt_prop_def(IntegerAttr.constr(i64))
    mode = prop_def(StringAttr, default_value=string("clip"))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$data `,` $indices attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: Value,
        indices: Value,
        *,
        axis: int | None = None,
        batch_dims: int = 0,
        mode: str = "clip",
    ):
        super().__init__(
            [data, indices],
            {
                "axis": None if axis is None else integer(axis),
                "batch_dims": integer(batch_dims),
                "mode": string(mode),
            },
        )

    @property
    def normalized_axis(self) -> int | None:
        """`axis`, counted from the front."""
        if self.axis is None:
            return None
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        data, indices = self.data.type, self.indices.type
        if not is_integer_type(indices.element_type) or indices.element_type == i1:
            raise VerifyException(f"'indices' is {indices}, expected integers")
        if self.mode.data not in ("clip", "wrap", "fast"):
            raise VerifyException(
                f'\'mode\' is "{self.mode.data}", accepted are "clip", "wrap" and "fast"'
            )
        axis, batch = self.normalized_axis, self.batch_dims.value.data
        shape, index_shape = list(data.get_shape()), list(indices.get_shape())
        if axis is None:
            if batch:
                raise VerifyException(f"'batch_dims' is {batch}, but 'axis' is absent")
            taken, result = _product(shape), index_shape
        else:
            if not 0 <= batch <= min(axis, len(index_shape)):
                raise VerifyException(
                    f"'batch_dims' is {batch}, accepted range is [0, {min(axis, len(index_shape))}]"
                )
            if not all(map(same_dimension, shape[:batch], index_shape[:batch])):
                raise VerifyException(
                    f"the first {batch} dimensions of 'data' {shape_text(shape)} and 'indices' "
                    f"{shape_text(index_shape)} differ"
                )
            taken, result = shape[axis], [*shape[:axis], *index_shape[batch:], *shape[axis + 1 :]]
        if taken == 0 and element_count(result) > 0:
            raise VerifyException("'indices' takes elements of an axis of length 0")
        return with_shape(data, result)


@irdl_op_definition
class GatherNDOp(RelayOp):
    """
    result[y..., x...] = data[y[:batch_dims]..., indices[0, y...], ..., indices[M - 1, y...], x...]
    for `indices` of shape [M, Y...]. Indices are clamped to the range of their axis.

    Source: Relay's `gather_nd`.
    """

    name = "relay.gather_nd"

    data = tensor_operand_def()
    indices = tensor_operand_def()
    batch_dims = prop_def(IntegerAttr.constr(i64), default_value=integer(0))
    index_rank = opt_prop_def(IntegerAttr.constr(i64))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))
    assembly_format = "$data `,` $indices attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, indices: Value, *, batch_dims: int = 0):
        super().__init__([data, indices], {"batch_dims": integer(batch_dims)})

    def infer_type(self) -> Attribute:
        data, indices = self.data.type, self.indices.type
        if not is_integer_type(indices.element_type) or indices.element_type == i1:
            raise VerifyException(f"'indices' is {indices}, expected integers")
        if not indices.get_shape():
            raise VerifyException(f"'indices' is {indices}, expected at least rank 1")
        count, *positions = indices.get_shape()
        batch, shape = self.batch_dims.value.data, data.get_shape()
        if count == DYNAMIC_INDEX:
            raise VerifyException("the first dimension of 'indices' is unknown")
        if batch < 0 or batch > len(positions) or count + batch > len(shape):
            raise VerifyException(
                f"'indices' {shape_text(indices.get_shape())} with 'batch_dims' {batch} names "
                f"{count + batch} axes, 'data' has {len(shape)}"
            )
        if not all(map(same_dimension, shape[:batch], positions[:batch])):
            raise VerifyException(f"the first {batch} dimensions of 'data' and 'indices' differ")
        result = [*positions, *shape[count + batch :]]
        if 0 in shape[: count + batch] and element_count(result) > 0:
            raise VerifyException("'indices' takes elements of an axis of length 0")
        return with_shape(data, result)


@irdl_op_definition
class WhereOp(RelayOp):
    """
    An element of `x` where `condition` (i1) is true, of `y` elsewhere; all three broadcast.

    Source: Relay's `where`, ONNX's Where.
    """

    name = "relay.where"

    condition = tensor_operand_def()
    x = tensor_operand_def()
    y = tensor_operand_def()
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.BROADCAST))
    assembly_format = "$condition `,` $x `,` $y attr-dict `:` functional-type(operands, results)"

    def __init__(self, condition: Value, x: Value, y: Value):
        super().__init__([condition, x, y])

    def infer_type(self) -> Attribute:
        condition, x, y = self.condition.type, self.x.type, self.y.type
        if condition.element_type != i1:
            raise VerifyException(
                f"'condition' has elements of type {condition.element_type}, expected i1"
            )
        if x.element_type != y.element_type:
            raise VerifyException(
                f"'x' has elements of type {x.element_type}, 'y' of {y.element_type}"
            )
        shape = broadcast_shapes(x.get_shape(), y.get_shape(), ("x", "y"))
        return with_shape(
            x, broadcast_shapes(condition.get_shape(), shape, ("condition", "x and y"))
        )


TRANSFORM_OPS = (
    BatchFlattenOp,
    BroadcastToOp,
    ConcatenateOp,
    ExpandDimsOp,
    GatherNDOp,
    PadOp,
    RepeatOp,
    ReshapeOp,
    SplitOp,
    SqueezeOp,
    StackOp,
    StridedSliceOp,
    TakeOp,
    TileOp,
    TransposeOp,
    WhereOp,
)
