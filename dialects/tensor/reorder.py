"""Operators whose elements come from other places of one tensor, or are replaced at known places."""

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import (
    Flag,
    Integer,
    Integers,
    OptionalInteger,
    Real,
    Tensor,
    TensorTuple,
    Text,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    compatible,
    integer_tensor,
    integer_vector,
    normalize_axis,
    require_one_of,
    require_same_dtype,
    same_dimension,
    shape_text,
    tuple_fields,
    with_shape,
)
from xrelay.dialects.tensor.transform import TransformOp
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class ReverseOp(TransformOp):
    """
    `data` with the order of its elements along `axis` reversed; along all axes when it is absent.

    Source: Relay's `reverse`.
    """

    name = "relay.reverse"

    axis: OptionalInteger = prop(default=None, kw_only=False)
    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def reversed_axes(self) -> tuple[int, ...]:
        """The axes that are reversed, counted from the front."""
        rank = self.data.type.get_num_dims()
        if self.axis is None:
            return tuple(range(rank))
        return (normalize_axis(self.axis.value.data, rank),)

    def infer_type(self) -> Attribute:
        if self.axis is not None:
            normalize_axis(self.axis.value.data, self.data.type.get_num_dims())
        return self.data.type


@irdl_op_definition
class ReverseSequenceOp(RelayOp):
    """
    `data` with the first `seq_lengths`[b] elements along `seq_axis` in reverse order, in slice b
    along `batch_axis`. `seq_lengths` [length of the batch axis] are integers; lengths are clamped
    to those that are possible.

    Source: Relay's `reverse_sequence`, ONNX's ReverseSequence.
    """

    name = "relay.reverse_sequence"

    data: Tensor = operand()
    seq_lengths: Tensor = operand()
    seq_axis: Integer = prop(default=1)
    batch_axis: Integer = prop(default=0)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def axes(self) -> tuple[int, int]:
        """The sequence axis and the batch axis, counted from the front."""
        rank = self.data.type.get_num_dims()
        return (
            normalize_axis(self.seq_axis.value.data, rank, "seq_axis"),
            normalize_axis(self.batch_axis.value.data, rank, "batch_axis"),
        )

    def infer_type(self) -> Attribute:
        _, batch = self.axes
        length, dim = integer_vector(self.seq_lengths, "seq_lengths"), self.data.type.get_shape()
        if not same_dimension(length, dim[batch]):
            raise VerifyException(
                f"'seq_lengths' has {length} elements, axis {batch} of 'data' {dim[batch]}"
            )
        return self.data.type


@irdl_op_definition
class SequenceMaskOp(RelayOp):
    """
    An element of `data` where its index along `axis` (0 or 1) is below `valid_length`[b], and
    `mask_value`, rounded to the dtype, elsewhere; b is the index along the other one of the first
    two axes.

    Source: Relay's `sequence_mask`.
    """

    name = "relay.sequence_mask"

    data: Tensor = operand()
    valid_length: Tensor = operand()
    mask_value: Real = prop(default=0.0)
    axis: Integer = prop(default=0)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        shape, axis = self.data.type.get_shape(), self.axis.value.data
        if len(shape) < 2:
            raise VerifyException(f"'data' is {self.data.type}, expected at least rank 2")
        if axis not in (0, 1):
            raise VerifyException(f"'axis' is {axis}, accepted are 0 and 1")
        lengths = self.valid_length.type.get_shape()
        if len(lengths) != 1 or not same_dimension(lengths[0], shape[1 - axis]):
            raise VerifyException(
                f"'valid_length' is {self.valid_length.type}, expected one number for each of "
                f"{shape_text(shape[1 - axis : 2 - axis])}"
            )
        return self.data.type


@irdl_op_definition
class MeshgridOp(RelayOp):
    """
    For n tensors of rank 1 (or 0, seen as one element), n tensors of rank n: field i holds element
    x_i of field i of `data` at [x_0, …, x_n-1]. With `indexing` "xy", the first two axes are
    exchanged.

    Source: Relay's `meshgrid`.
    """

    name = "relay.meshgrid"

    data: TensorTuple = operand()
    indexing: Text = prop(default="ij")
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def axis_of(self, field: int) -> int:
        """The axis of the results along which a field runs."""
        swapped = self.indexing.data == "xy" and len(tuple_fields(self.data, "'data'")) > 1
        return 1 - field if swapped and field < 2 else field

    def infer_type(self) -> Attribute:
        require_one_of("indexing", self.indexing, "ij", "xy")
        fields = tuple_fields(self.data, "'data'")
        if not fields:
            raise VerifyException("'data' is the empty tuple, expected at least one tensor")
        shape = [1] * len(fields)
        for i, field in enumerate(fields):
            if field.get_num_dims() > 1 or field.element_type != fields[0].element_type:
                raise VerifyException(
                    f"field {i} of 'data' is {field}, expected rank 0 or 1 and the dtype of field 0"
                )
            if field.get_num_dims():
                shape[self.axis_of(i)] = field.get_shape()[0]
        return tuple_type([with_shape(field, shape) for field in fields])


@irdl_op_definition
class SlidingWindowOp(TransformOp):
    """
    All windows of `window_shape` over the axes of `data` from `axis` on, one for each step of
    `strides`: result[a..., o..., w...] = data[a..., o * strides + w], where a are the axes before.

    Source: Relay's `sliding_window`.
    """

    name = "relay.sliding_window"

    axis: Integer = prop()
    window_shape: Integers = prop()
    strides: Integers = prop()
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        shape, axis = self.data.type.get_shape(), self.normalized_axis
        windows, strides = self.window_shape.get_values(), self.strides.get_values()
        for name, numbers in (("window_shape", windows), ("strides", strides)):
            if len(numbers) != len(shape) - axis or any(number < 1 for number in numbers):
                raise VerifyException(
                    f"'{name}' is {list(numbers)}, expected a positive number for each of the "
                    f"{len(shape) - axis} axes from {axis} on"
                )
        counts: list[int] = []
        for dim, window, stride in zip(shape[axis:], windows, strides, strict=True):
            if dim != DYNAMIC_INDEX and window > dim:
                raise VerifyException(
                    f"'window_shape' {list(windows)} does not fit into 'data' {shape_text(shape)}"
                )
            counts.append(DYNAMIC_INDEX if dim == DYNAMIC_INDEX else (dim - window) // stride + 1)
        return with_shape(self.data.type, [*shape[:axis], *counts, *windows])


@irdl_op_definition
class TriluOp(RelayOp):
    """
    The upper triangle of the matrices [..., M, N] in `data`, with `upper`, or the lower one: an
    element in row i and column j stays where j - i >= k (upper) or j - i <= k (lower), others
    become 0. `k` is an integer scalar.

    Source: Relay's `trilu`, ONNX's Trilu.
    """

    name = "relay.trilu"

    data: Tensor = operand()
    k: Tensor = operand()
    upper: Flag = prop(default=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        if self.data.type.get_num_dims() < 2:
            raise VerifyException(f"'data' is {self.data.type}, expected at least rank 2")
        if integer_tensor(self.k, "k").get_num_dims() != 0:
            raise VerifyException(f"'k' is {self.k.type}, expected a scalar")
        return self.data.type


@irdl_op_definition
class MatrixSetDiagOp(RelayOp):
    """
    The matrices [..., M, N] in `input` with their diagonals `k1` to `k2` (0 is the main one, 1 the
    one above) replaced. `diagonal` is [..., L] for one diagonal; for more it is
    [..., k2 - k1 + 1, L], diagonal k2 first, L being the length of the longest. Shorter ones lie
    at the end of their row where `super_diag_right_align` (for diagonals from 0 up) or
    `sub_diag_right_align` (from 0 down) is set, and at its beginning otherwise.

    Source: Relay's `matrix_set_diag`.
    """

    name = "relay.matrix_set_diag"

    input: Tensor = operand()
    diagonal: Tensor = operand()
    k1: Integer = prop(default=0)
    k2: Integer = prop(default=0)
    super_diag_right_align: Flag = prop(default=True)
    sub_diag_right_align: Flag = prop(default=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def range(self) -> tuple[int, int]:
        """The numbers of the lowest and of the highest diagonal."""
        return self.k1.value.data, self.k2.value.data

    def offset(self, k: int, rows: int, columns: int) -> int:
        """Where diagonal `k` begins in its row of `diagonal`."""
        low, high = self.range
        longest = diagonal_length(rows, columns, low, high)
        upper = k >= 0 and bool(self.super_diag_right_align.value.data)
        lower = k <= 0 and bool(self.sub_diag_right_align.value.data)
        return longest - diagonal_length(rows, columns, k, k) if upper or lower else 0

    def infer_type(self) -> Attribute:
        type_, low, high = self.input.type, *self.range
        shape, given = type_.get_shape(), self.diagonal.type
        if len(shape) < 2:
            raise VerifyException(f"'input' is {type_}, expected at least rank 2")
        if low > high:
            raise VerifyException(f"'k1' is {low}, expected at most 'k2' {high}")
        *outer, rows, columns = shape
        known = DYNAMIC_INDEX not in (rows, columns)
        if known and not (-rows < low and high < columns):
            raise VerifyException(
                f"'k1' {low} and 'k2' {high} name no diagonals of {rows} times {columns}"
            )
        length = diagonal_length(rows, columns, low, high) if known else DYNAMIC_INDEX
        several = [high - low + 1] if low != high else []
        expected = TensorType(type_.element_type, [*outer, *several, length])
        if not compatible(given, expected):
            raise VerifyException(f"'diagonal' is {given}, expected {expected}")
        return type_


def diagonal_length(rows: int, columns: int, low: int, high: int) -> int:
    """The length of the longest of the diagonals `low` to `high` of a matrix."""
    return min(rows + min(high, 0), columns - max(low, 0))


@irdl_op_definition
class UnravelIndexOp(RelayOp):
    """
    The coordinates, in a tensor of the shape `shape` [n], of the elements with the row-major
    offsets `data`: the result is [n, shape of data...]. Division rounds towards zero, and by 0
    gives 0.

    Source: Relay's `unravel_index`.
    """

    name = "relay.unravel_index"

    data: Tensor = operand()
    shape: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        data, rank = integer_tensor(self.data, "data"), integer_vector(self.shape, "shape")
        require_same_dtype(data, "data", self.shape.type, "shape")
        return with_shape(data, [rank, *data.get_shape()])


@irdl_op_definition
class InvertPermutationOp(TransformOp):
    """
    The inverse of a permutation `data` [n]: result[data[i]] = i. For data that is none, the last
    one of equal elements counts, elements out of range do not, and places that none names are 0.

    Source: Relay's `invert_permutation`.
    """

    name = "relay.invert_permutation"

    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        integer_vector(self.data, "data")
        return self.data.type
