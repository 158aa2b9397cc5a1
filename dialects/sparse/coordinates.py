"""Operators on the coordinates of sparse tensors."""

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import Tensor, operand
from xrelay.dialects.shapes import (
    integer_tensor,
    integer_vector,
    require_same_dtype,
    same_dimension,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ShapeDataDependent


def _coordinates(value: SSAValue, rank: int, what: str) -> TensorType[Attribute]:
    """The type of coordinates [n, rank]."""
    type_ = integer_tensor(value, "sparse_indices")
    shape = type_.get_shape()
    if len(shape) != 2 or not same_dimension(shape[1], rank):
        raise VerifyException(
            f"'sparse_indices' is {type_}, expected one column for each element of '{what}'"
        )
    return type_


@irdl_op_definition
class SparseFillEmptyRowsOp(RelayOp):
    """
    A sparse matrix or tensor with an element at column 0 of every row (index of the first axis) that
    had none. `sparse_indices` is [n, rank], `sparse_values` [n], `dense_shape` [rank] and
    `default_value` [1], the value of new elements. The result is a tuple of i64, whatever the dtypes
    of the operands: the new indices [m, rank], the new values [m], in order of rows, and a flag for
    each row ([rows]), 1 if it was empty. Values are converted by the rules of `relay.cast`. m depends
    on the indices, the number of rows on `dense_shape`. Elements keep their order within a row.

    Source: Relay's `sparse_fill_empty_rows`.
    """

    name = "relay.sparse_fill_empty_rows"

    sparse_indices: Tensor = operand()
    sparse_values: Tensor = operand()
    dense_shape: Tensor = operand()
    default_value: Tensor = operand()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), ShapeDataDependent())

    def infer_type(self) -> Attribute:
        rank = integer_vector(self.dense_shape, "dense_shape")
        indices = _coordinates(self.sparse_indices, rank, "dense_shape")
        values, default = self.sparse_values.type, self.default_value.type
        if values.get_num_dims() != 1 or not same_dimension(
            values.get_shape()[0], indices.get_shape()[0]
        ):
            raise VerifyException(f"'sparse_values' is {values}, expected one for each index")
        if default.element_type != values.element_type or default.get_num_dims() != 1:
            raise VerifyException(
                f"'default_value' is {default}, expected one {values.element_type}, of rank 1"
            )
        unknown = DYNAMIC_INDEX
        return tuple_type(
            [
                TensorType(i64, [unknown, indices.get_shape()[1]]),
                TensorType(i64, [unknown]),
                TensorType(i64, [unknown]),
            ]
        )


@irdl_op_definition
class SparseReshapeOp(RelayOp):
    """
    The coordinates `sparse_indices` [n, r] of elements of a tensor of shape `prev_shape` [r] in the
    same tensor seen with the shape `new_shape` [s], in which one -1 is inferred: a tuple of the
    new coordinates [n, s] and of the new shape [s] without -1. Division rounds towards zero, and by
    0 gives 0.

    Source: Relay's `sparse_reshape`.
    """

    name = "relay.sparse_reshape"

    sparse_indices: Tensor = operand()
    prev_shape: Tensor = operand()
    new_shape: Tensor = operand()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    def infer_type(self) -> Attribute:
        rank = integer_vector(self.prev_shape, "prev_shape")
        indices = _coordinates(self.sparse_indices, rank, "prev_shape")
        new_rank = integer_vector(self.new_shape, "new_shape")
        for name, value in (("prev_shape", self.prev_shape), ("new_shape", self.new_shape)):
            require_same_dtype(value.type, name, indices, "sparse_indices")
        return tuple_type(
            [
                with_shape(indices, [indices.get_shape()[0], new_rank]),
                with_shape(indices, [new_rank]),
            ]
        )
