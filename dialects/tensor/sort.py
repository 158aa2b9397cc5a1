"""Operators that order elements, search among ordered ones, or accumulate along an axis."""

from abc import ABC

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import (
    Dtype,
    Flag,
    Integer,
    OptionalDtype,
    OptionalInteger,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    dimension_product,
    element_type,
    normalize_axis,
    require_one_of,
    require_same_dtype,
    shapes_agree,
    with_dtype,
    with_shape,
)
from xrelay.dialects.tensor.transform import TransformOp
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ShapeDataDependent


class SortFamilyOp(TransformOp, ABC):
    """
    Orders the elements along `axis`: ascending, or descending without `is_ascend`. Equal elements
    keep their order, and NaN counts as larger than every number.
    """

    axis: Integer = prop(default=-1)
    is_ascend: Flag = prop(default=True)
    dtype: OptionalDtype = prop(default=None)
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())


@irdl_op_definition
class SortOp(SortFamilyOp):
    """
    The elements of `data` in order. `dtype` has no meaning, as in Relay.

    Source: Relay's `sort`.
    """

    name = "relay.sort"

    def infer_type(self) -> Attribute:
        normalize_axis(self.axis.value.data, self.data.type.get_num_dims())
        return self.data.type


@irdl_op_definition
class ArgsortOp(SortFamilyOp):
    """
    The indices along `axis` of the elements in order, as `dtype` (i32 when absent).

    Source: Relay's `argsort`.
    """

    name = "relay.argsort"

    def infer_type(self) -> Attribute:
        normalize_axis(self.axis.value.data, self.data.type.get_num_dims())
        dtype = i32 if self.dtype is None else element_type(self.dtype, "dtype")
        return with_dtype(self.data.type, dtype)


def top_type(
    data: TensorType[Attribute], k: int, axis: int, ret_type: str, dtype: Attribute | None
) -> Attribute:
    """The type of the `k` first elements along an axis (DYNAMIC_INDEX: unknown; below 1: all)."""
    require_one_of("ret_type", ret_type, "both", "values", "indices")
    shape = list(data.get_shape())
    axis = normalize_axis(axis, len(shape))
    if k == DYNAMIC_INDEX or k >= 1:
        if DYNAMIC_INDEX not in (k, shape[axis]) and k > shape[axis]:
            raise VerifyException(f"'k' is {k}, axis {axis} of 'data' has length {shape[axis]}")
        shape[axis] = k
    values = with_shape(data, shape)
    indices = TensorType(i32 if dtype is None else element_type(dtype, "dtype"), shape)
    match ret_type:
        case "values":
            return values
        case "indices":
            return indices
        case _:
            return tuple_type([values, indices])


@irdl_op_definition
class TopkOp(RelayOp):
    """
    The `k` largest elements along `axis` (the smallest with `is_ascend`) in order, and their indices
    as `dtype` (i32 when absent): both as a tuple, or one of them, as `ret_type` says. All elements
    when `k` is absent or below 1. Of equal elements those at lower indices come first; NaN counts
    as larger than every number.

    Source: Relay's `topk`, ONNX's TopK.
    """

    name = "relay.topk"

    data: Tensor = operand()
    k: OptionalInteger = prop(default=None, kw_only=False)
    axis: Integer = prop(default=-1)
    ret_type: Text = prop(default="both")
    is_ascend: Flag = prop(default=False)
    dtype: OptionalDtype = prop(default=None)
    result = result_def(TensorType | TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        k = 0 if self.k is None else max(self.k.value.data, 0)
        return top_type(self.data.type, k, self.axis.value.data, self.ret_type.data, self.dtype)


@irdl_op_definition
class SearchsortedOp(RelayOp):
    """
    For each element of `values`, the first index before which it could be inserted into
    `sorted_sequence` keeping this in ascending order; the last such index with `right`.
    `sorted_sequence` has rank 1, or it is [..., n] for `values` [..., m] and each row is searched for
    the values of the same row. NaN counts as larger than every number.

    Source: Relay's `searchsorted`.
    """

    name = "relay.searchsorted"

    sorted_sequence: Tensor = operand()
    values: Tensor = operand()
    right: Flag = prop(default=False)
    dtype: Dtype = prop(default=i32)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        sequence, values = self.sorted_sequence.type, self.values.type
        require_same_dtype(sequence, "sorted_sequence", values, "values")
        outer, others = sequence.get_shape()[:-1], values.get_shape()[:-1]
        if not sequence.get_shape() or (outer and not shapes_agree(outer, others)):
            raise VerifyException(
                f"'sorted_sequence' is {sequence}, expected rank 1 or the rows of 'values' {values}"
            )
        return with_dtype(values, element_type(self.dtype, "dtype"))


@irdl_op_definition
class UniqueOp(RelayOp):
    """
    The different elements of `data` [n], as a tuple of tensors [n] of which only the first parts
    are used (the rest is 0): the elements, in ascending order or, without `sorted`, in order of
    their first occurrence; the indices (i32) of their first occurrences; for every element of
    `data` its index among the different ones (i32); how many there are (i32, of shape [1]); and
    with `return_counts` how often each occurs (i32). All NaN are one element, larger than numbers.

    Source: Relay's `unique`, ONNX's Unique.
    """

    name = "relay.unique"

    data: Tensor = operand()
    sorted: Flag = prop(default=True)
    return_counts: Flag = prop(default=False)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        data = self.data.type
        if data.get_num_dims() != 1:
            raise VerifyException(f"'data' is {data}, expected rank 1")
        indices = with_dtype(data, i32)
        counts = [indices] if self.return_counts.value.data else []
        return tuple_type([data, indices, indices, TensorType(i32, [1]), *counts])


@irdl_op_definition
class ArgwhereOp(RelayOp):
    """
    The coordinates (i32) of all elements of `condition` that are not 0, in row-major order: [m, rank]
    with a number m that depends on the elements.

    Source: Relay's `argwhere`, ONNX's NonZero (transposed).
    """

    name = "relay.argwhere"

    condition: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), ShapeDataDependent())

    def infer_type(self) -> Attribute:
        return TensorType(i32, [DYNAMIC_INDEX, self.condition.type.get_num_dims()])


@irdl_op_definition
class BoundedArgwhereOp(RelayOp):
    """
    What `relay.argwhere` finds, in a tensor for as many as there could be: a tuple of the coordinates (i32) of all elements of
    `condition` that are not 0, in row-major order, [n, rank] for n elements, of which the rows after them are not used and may hold
    anything; and of how many there are (i32, of shape [1]).

    Source: ONNX's NonZero (transposed), with the bound of its size in place of the size.
    """

    name = "relay.bounded_argwhere"

    condition: Tensor = operand()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        condition = self.condition.type
        bound = dimension_product(condition.get_shape())
        return tuple_type(
            [TensorType(i32, [bound, condition.get_num_dims()]), TensorType(i32, [1])]
        )


class ScanOp(TransformOp, ABC):
    """
    Results of all beginnings along `axis`, each with its own last element, or without it when
    `exclusive`: result[i] combines data[0] to data[i], one after the other. Without `axis`, `data`
    is seen as one row and the result has rank 1. Elements are converted to `dtype` first.
    """

    axis: OptionalInteger = prop(default=None, kw_only=False)
    dtype: OptionalDtype = prop(default=None)
    exclusive: Flag = prop(default=False)
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        data = self.data.type
        own = data.element_type if self.dtype is None else element_type(self.dtype, "dtype")
        if self.axis is None:
            return TensorType(own, [dimension_product(data.get_shape())])
        normalize_axis(self.axis.value.data, data.get_num_dims())
        return with_dtype(data, own)


@irdl_op_definition
class CumsumOp(ScanOp):
    """
    The sums of all beginnings, 0 for none. Integers wrap around.

    Source: Relay's `cumsum`, ONNX's CumSum.
    """

    name = "relay.cumsum"


@irdl_op_definition
class CumprodOp(ScanOp):
    """
    The products of all beginnings, 1 for none. Integers wrap around.

    Source: Relay's `cumprod`.
    """

    name = "relay.cumprod"
