"""Operators that order elements, search among ordered ones, or accumulate along an axis."""

from abc import ABC

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    TupleType,
    i32,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import (
    RelayOp,
    Value,
    tensor_operand_def,
    tensor_result_def,
    tuple_type,
)
from xrelay.dialects.shapes import (
    boolean,
    dimension_product,
    element_type,
    integer,
    normalize_axis,
    same_dimension,
    string,
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

    axis = prop_def(IntegerAttr.constr(i64), default_value=integer(-1))
    is_ascend = prop_def(BoolAttr, default_value=boolean(True))
    dtype = opt_prop_def(TypeAttribute)
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    def __init__(
        self,
        data: Value,
        *,
        axis: int = -1,
        is_ascend: bool = True,
        dtype: TypeAttribute | None = None,
    ):
        super().__init__(
            [data], {"axis": integer(axis), "is_ascend": boolean(is_ascend), "dtype": dtype}
        )

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
    if ret_type not in ("both", "values", "indices"):
        raise VerifyException(
            f'\'ret_type\' is "{ret_type}", accepted are "both", "values" and "indices"'
        )
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

    data = tensor_operand_def()
    k = opt_prop_def(IntegerAttr.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64), default_value=integer(-1))
    ret_type = prop_def(StringAttr, default_value=string("both"))
    is_ascend = prop_def(BoolAttr, default_value=boolean(False))
    dtype = opt_prop_def(TypeAttribute)
    result = result_def(TensorType | TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: Value,
        k: int | None = None,
        *,
        axis: int = -1,
        ret_type: str = "both",
        is_ascend: bool = False,
        dtype: TypeAttribute | None = None,
    ):
        super().__init__(
            [data],
            {
                "k": None if k is None else integer(k),
                "axis": integer(axis),
                "ret_type": string(ret_type),
                "is_ascend": boolean(is_ascend),
                "dtype": dtype,
            },
        )

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

    sorted_sequence = tensor_operand_def()
    values = tensor_operand_def()
    right = prop_def(BoolAttr, default_value=boolean(False))
    dtype = prop_def(TypeAttribute, default_value=i32)
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))
    assembly_format = (
        "$sorted_sequence `,` $values attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        sorted_sequence: Value,
        values: Value,
        *,
        right: bool = False,
        dtype: TypeAttribute = i32,
    ):
        super().__init__([sorted_sequence, values], {"right": boolean(right), "dtype": dtype})

    def infer_type(self) -> Attribute:
        sequence, values = self.sorted_sequence.type, self.values.type
        if sequence.element_type != values.element_type:
            raise VerifyException(
                f"'sorted_sequence' has elements of type {sequence.element_type}, 'values' of "
                f"{values.element_type}"
            )
        outer, others = sequence.get_shape()[:-1], values.get_shape()[:-1]
        if not sequence.get_shape() or (
            outer and not (len(outer) == len(others) and all(map(same_dimension, outer, others)))
        ):
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

    data = tensor_operand_def()
    sorted = prop_def(BoolAttr, default_value=boolean(True))
    return_counts = prop_def(BoolAttr, default_value=boolean(False))
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))
    assembly_format = "$data attr-dict `:` functional-type(operands, results)"

    def __init__(self, data: Value, *, sorted: bool = True, return_counts: bool = False):
        super().__init__(
            [data], {"sorted": boolean(sorted), "return_counts": boolean(return_counts)}
        )

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

    condition = tensor_operand_def()
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), ShapeDataDependent())
    assembly_format = "$condition attr-dict `:` functional-type(operands, results)"

    def __init__(self, condition: Value):
        super().__init__([condition])

    def infer_type(self) -> Attribute:
        return TensorType(i32, [DYNAMIC_INDEX, self.condition.type.get_num_dims()])


class ScanOp(TransformOp, ABC):
    """
    Results of all beginnings along `axis`, each with its own last element, or without it when
    `exclusive`: result[i] combines data[0] to data[i], one after the other. Without `axis`, `data`
    is seen as one row and the result has rank 1. Elements are converted to `dtype` first.
    """

    axis = opt_prop_def(IntegerAttr.constr(i64))
    dtype = opt_prop_def(TypeAttribute)
    exclusive = prop_def(BoolAttr, default_value=boolean(False))
    traits = traits_def(HasPatternKind(OpPatternKind.OPAQUE))

    def __init__(
        self,
        data: Value,
        axis: int | None = None,
        *,
        dtype: TypeAttribute | None = None,
        exclusive: bool = False,
    ):
        super().__init__(
            [data],
            {
                "axis": None if axis is None else integer(axis),
                "dtype": dtype,
                "exclusive": boolean(exclusive),
            },
        )

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


SORT_OPS = (
    ArgsortOp,
    ArgwhereOp,
    CumprodOp,
    CumsumOp,
    SearchsortedOp,
    SortOp,
    TopkOp,
    UniqueOp,
)
