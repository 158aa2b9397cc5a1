"""Operators that read or write elements at indices that are elements of other tensors."""

from abc import ABC

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import (
    Integer,
    Integers,
    OptionalInteger,
    Tensor,
    TensorTuple,
    Text,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    broadcast_shapes,
    dimension_product,
    element_count,
    integer_tensor,
    integer_vector,
    is_integer_type,
    normalize_axis,
    require_one_of,
    require_same_dtype,
    same_dimension,
    shape_text,
    shapes_agree,
    tuple_fields,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

SCATTER_MODES = ("update", "add", "mul", "min", "max")


@irdl_op_definition
class GatherOp(RelayOp):
    """
    result[..., i, ...] = data[..., indices[..., i, ...], ...] along `axis` (0 when absent). `data`
    and `indices` have the same rank, and `indices` is nowhere longer than `data` on other axes.
    Indices are clamped to the range of the axis.

    Source: Relay's `gather`, ONNX's GatherElements.
    """

    name = "relay.gather"

    data: Tensor = operand()
    indices: Tensor = operand()
    axis: OptionalInteger = prop(default=None, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        axis = 0 if self.axis is None else self.axis.value.data
        return normalize_axis(axis, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        indices = integer_tensor(self.indices, "indices")
        _require_inside(self.data.type, indices, self.normalized_axis, "indices")
        axis = self.normalized_axis
        if self.data.type.get_shape()[axis] == 0 and element_count(indices.get_shape()) > 0:
            raise VerifyException("'indices' takes elements of an axis of length 0")
        return with_shape(self.data.type, indices.get_shape())


def _require_inside(
    data: TensorType[Attribute], inner: TensorType[Attribute], axis: int, what: str
) -> None:
    """Whether `inner` has the rank of `data` and is not longer on axes other than `axis`."""
    outer, shape = data.get_shape(), inner.get_shape()
    fits = len(outer) == len(shape) and all(
        d == axis or DYNAMIC_INDEX in (own, dim) or own <= dim
        for d, (own, dim) in enumerate(zip(shape, outer, strict=True))
    )
    if not fits:
        raise VerifyException(
            f"'{what}' is {inner}, expected the rank of 'data' {shape_text(outer)} and at most its "
            f"lengths on axes other than {axis}"
        )


@irdl_op_definition
class AdvIndexOp(RelayOp):
    """
    Elements of the first field of `inputs` at the indices that the other fields are for its first
    axes: result[y..., x...] = data[i_0[y...], …, i_n-1[y...], x...], where the index tensors
    broadcast to one shape. Indices are clamped to the range of their axis.

    Source: Relay's `adv_index`, NumPy's indexing with arrays.
    """

    name = "relay.adv_index"

    inputs: TensorTuple = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def index_shape(self) -> list[int]:
        """The shape to which the index tensors broadcast."""
        shape: list[int] = []
        for i, field in enumerate(tuple_fields(self.inputs, "'inputs'")[1:], 1):
            names = "the fields of 'inputs' before", f"field {i}"
            shape = broadcast_shapes(shape, field.get_shape(), names)
        return shape

    def infer_type(self) -> Attribute:
        fields = tuple_fields(self.inputs, "'inputs'")
        if len(fields) < 2:
            raise VerifyException(f"'inputs' has {len(fields)} fields, expected at least 2")
        data, *indices = fields
        if len(indices) > data.get_num_dims():
            raise VerifyException(
                f"'inputs' has {len(indices)} index tensors for {data.get_num_dims()} axes"
            )
        for i, field in enumerate(indices, 1):
            if not is_integer_type(field.element_type) or field.element_type.width.data == 1:
                raise VerifyException(f"field {i} of 'inputs' is {field}, expected integers")
        result = [*self.index_shape(), *data.get_shape()[len(indices) :]]
        if 0 in data.get_shape()[: len(indices)] and element_count(result) > 0:
            raise VerifyException("'inputs' takes elements of an axis of length 0")
        return with_shape(data, result)


class ScatterFamilyOp(RelayOp, ABC):
    """
    `data` with elements replaced or changed by `updates` at `indices`, one after the other in
    row-major order. Negative indices count from the end; what lies out of range is left out.
    """

    data: Tensor = operand()
    indices: Tensor = operand()
    updates: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def require_dtypes(self) -> TensorType[Attribute]:
        """The type of `indices`; refuses updates of another dtype than the data's."""
        data, updates = self.data.type, self.updates.type
        require_same_dtype(data, "data", updates, "updates")
        return integer_tensor(self.indices, "indices")


class ElementScatterOp(ScatterFamilyOp, ABC):
    """Indices along one axis, for each element of `updates`."""

    axis: Integer = prop(default=0)

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        indices, axis = self.require_dtypes(), self.normalized_axis
        _require_inside(self.data.type, indices, axis, "indices")
        if not shapes_agree(self.updates.type.get_shape(), indices.get_shape()):
            raise VerifyException(
                f"'updates' is {self.updates.type}, expected the shape of 'indices' "
                f"{shape_text(indices.get_shape())}"
            )
        return self.data.type


@irdl_op_definition
class ScatterOp(ElementScatterOp):
    """
    result[..., indices[..., i, ...], ...] = updates[..., i, ...] along `axis`, `data` elsewhere. Of
    several updates of one element the last counts.

    Source: Relay's `scatter`, ONNX's ScatterElements.
    """

    name = "relay.scatter"


@irdl_op_definition
class ScatterAddOp(ElementScatterOp):
    """
    result[..., indices[..., i, ...], ...] += updates[..., i, ...] along `axis`, beginning with
    `data`. Integers wrap around.

    Source: Relay's `scatter_add`, ONNX's ScatterElements with the reduction "add".
    """

    name = "relay.scatter_add"


@irdl_op_definition
class ScatterNDOp(ScatterFamilyOp):
    """
    `updates` [Y..., X...] combined with the elements of `data` that `indices` [M, Y...] names:
    result[indices[0, y], …, indices[M - 1, y], x] = f(result[…], updates[y, x]), where `mode` says
    what f is: "update" (the update), "add", "mul", "min" or "max".

    Source: Relay's `scatter_nd`, ONNX's ScatterND (whose indices are transposed).
    """

    name = "relay.scatter_nd"

    mode: Text = prop()

    def infer_type(self) -> Attribute:
        indices, shape = self.require_dtypes(), self.data.type.get_shape()
        require_one_of("mode", self.mode, *SCATTER_MODES)
        if not indices.get_shape():
            raise VerifyException(f"'indices' is {indices}, expected at least rank 1")
        count, *places = indices.get_shape()
        if count == DYNAMIC_INDEX:
            raise VerifyException("the first dimension of 'indices' is unknown")
        if count > len(shape):
            raise VerifyException(f"'indices' names {count} axes, 'data' has {len(shape)}")
        expected, given = [*places, *shape[count:]], self.updates.type.get_shape()
        if not shapes_agree(expected, given):
            raise VerifyException(
                f"'updates' has the shape {shape_text(given)}, expected {shape_text(expected)}"
            )
        return self.data.type


@irdl_op_definition
class StridedSetOp(RelayOp):
    """
    `data` with the elements from `begin` to `end` in steps of `strides`, one integer for each of
    the first axes, replaced by those of `v`: as data[begin:end:strides, …] = v in Python, with
    negative indices and clamping. Numbers that one of the lists lacks are left out as in Python, and
    strides are 1. A stride of 0 takes nothing. On axes on which `v` has fewer elements than are
    replaced, its last one is repeated.

    Source: Relay's `strided_set`.
    """

    name = "relay.strided_set"

    data: Tensor = operand()
    v: Tensor = operand()
    begin: Tensor = operand()
    end: Tensor = operand()
    strides: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        data, v = self.data.type, self.v.type
        if v.element_type != data.element_type or v.get_num_dims() != data.get_num_dims():
            raise VerifyException(f"'v' is {v}, expected the dtype and the rank of 'data' {data}")
        for name, value in (("begin", self.begin), ("end", self.end), ("strides", self.strides)):
            length = integer_vector(value, name)
            if length > data.get_num_dims():
                raise VerifyException(
                    f"'{name}' has {length} elements, 'data' {data.get_num_dims()} axes"
                )
        return data


@irdl_op_definition
class SparseToDenseOp(RelayOp):
    """
    A tensor of `output_shape` with `sparse_values` at `sparse_indices` and the scalar
    `default_value` elsewhere, converted to the dtype of the values by the rules of `relay.cast`. The
    indices are [n, rank]; [n] or a scalar for rank 1, and the values
    [n], or a scalar for all. The last one of several values for an element counts, and what lies
    out of range is left out.

    Source: Relay's `sparse_to_dense`.
    """

    name = "relay.sparse_to_dense"

    sparse_indices: Tensor = operand()
    sparse_values: Tensor = operand()
    default_value: Tensor = operand()
    output_shape: Integers = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        shape = self.output_shape.get_values()
        if any(dim < 0 for dim in shape):
            raise VerifyException(f"'output_shape' is {list(shape)}, expected no negative number")
        require_sparse(self.sparse_indices, self.sparse_values, self.default_value, len(shape))
        return TensorType(self.sparse_values.type.element_type, shape)


def require_sparse(
    indices: SSAValue,
    values: SSAValue[TensorType[Attribute]],
    default: SSAValue[TensorType[Attribute]],
    rank: int,
) -> None:
    """Refuses operands that do not describe a sparse tensor of a rank."""
    index_type, type_ = integer_tensor(indices, "sparse_indices"), values.type
    shape, held = index_type.get_shape(), type_.get_shape()
    if len(shape) > 2 or (len(shape) < 2 and rank != 1):
        raise VerifyException(
            f"'sparse_indices' is {index_type}, expected {rank} numbers for each element"
        )
    if len(shape) == 2 and not same_dimension(shape[1], rank):
        raise VerifyException(
            f"'sparse_indices' has {shape[1]} numbers for each element, the result {rank} axes"
        )
    count = shape[0] if shape else 1
    if len(held) > 1 or (held and not same_dimension(held[0], count)):
        raise VerifyException(f"'sparse_values' is {type_}, expected one for each index")
    if default.type.get_num_dims() != 0:
        raise VerifyException(f"'default_value' is {default.type}, expected a scalar")


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

    data: Tensor = operand()
    indices: Tensor = operand()
    axis: OptionalInteger = prop(default=None)
    batch_dims: Integer = prop(default=0)
    mode: Text = prop(default="clip")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def normalized_axis(self) -> int | None:
        """`axis`, counted from the front."""
        if self.axis is None:
            return None
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        data, indices = self.data.type, integer_tensor(self.indices, "indices")
        require_one_of("mode", self.mode, "clip", "wrap", "fast")
        axis, batch = self.normalized_axis, self.batch_dims.value.data
        shape, index_shape = list(data.get_shape()), list(indices.get_shape())
        if axis is None:
            if batch:
                raise VerifyException(f"'batch_dims' is {batch}, but 'axis' is absent")
            taken, result = dimension_product(shape), index_shape
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

    data: Tensor = operand()
    indices: Tensor = operand()
    batch_dims: Integer = prop(default=0)
    index_rank: OptionalInteger = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        data, indices = self.data.type, integer_tensor(self.indices, "indices")
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
