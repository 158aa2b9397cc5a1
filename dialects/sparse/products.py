"""
Products and sums with sparse matrices, in rows of elements (CSR) or of blocks (BSR).

A sparse matrix is `data`, `indices` and `indptr`: row (of blocks) i has the elements
`data`[`indptr`[i]] up to `data`[`indptr`[i + 1]], and element e stands in the column (of blocks)
`indices`[e]. In CSR `data` is [E], in BSR [E, r, c] with blocks of r x c elements. Numbers out of
range are clamped: pointers to the elements that exist, indices to the columns that exist.
"""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.fields import Flag, Integers, Tensor, Text, operand, prop
from xrelay.dialects.shapes import (
    dimension_product,
    is_integer_type,
    ranked,
    require_one_of,
    require_same_dtype,
    same_dimension,
    tensor_type,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


def sparse_shape(
    names: Sequence[str], operands: Sequence[SSAValue], ranks: Sequence[int]
) -> tuple[int, int, int]:
    """
    The rows of blocks of a sparse matrix, and the rows and columns of a block, checked: `operands`
    are its data, which has one of `ranks`, its indices and its pointers, named for errors.
    """
    data_type = tensor_type(operands[0], f"'{names[0]}'")
    count, *block = data_type.get_shape() or (0,)
    if data_type.get_num_dims() not in ranks:
        accepted = " or ".join(map(str, ranks))
        raise VerifyException(f"'{names[0]}' is {data_type}, expected rank {accepted}")
    for name, value in zip(names[1:], operands[1:], strict=True):
        type_ = ranked(value, f"'{name}'", 1)
        if not is_integer_type(type_.element_type) or type_.element_type == i1:
            raise VerifyException(f"'{name}' is {type_}, expected integers")
    (indices,), (pointers,) = (tensor_type(value, "").get_shape() for value in operands[1:])
    if not same_dimension(indices, count):
        raise VerifyException(
            f"'{names[1]}' has {indices} elements, '{names[0]}' {count} along axis 0"
        )
    if pointers == 0:
        raise VerifyException(f"'{names[2]}' has no elements, expected at least 1")
    rows = pointers if pointers == DYNAMIC_INDEX else pointers - 1
    height, width = (*block, 1, 1)[:2]
    return rows, height, width


def _require_columns(columns: int, width: int, what: str) -> None:
    if DYNAMIC_INDEX not in (columns, width) and (width == 0 or columns % width):
        raise VerifyException(f"{what} is {columns}, not a multiple of blocks of {width} columns")


class SparseProductOp(RelayOp, ABC):
    """The product of a dense matrix [M, K] and the transpose of a sparse one [N, K], or back."""

    sparse_lhs: Flag = prop(default=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_type(self) -> Attribute:
        names = [name for name, _ in self.get_irdl_definition().operands]
        dense = ranked(self.operands[0], f"'{names[0]}'", 2)
        rows, height, width = sparse_shape(names[1:], self.operands[1:], (1, 3))
        require_same_dtype(dense, names[0], tensor_type(self.operands[1], ""), names[1])
        others, columns = dense.get_shape()
        _require_columns(columns, width, f"the length of axis 1 of '{names[0]}'")
        products = dimension_product((rows, height))
        shape = [products, others] if self.sparse_lhs.value.data else [others, products]
        return TensorType(dense.element_type, shape)


@irdl_op_definition
class SparseDenseOp(SparseProductOp):
    """
    `dense_data` [M, K] times the transpose of a sparse matrix [N, K]: [M, N]. With `sparse_lhs` the
    sparse matrix times the transpose of `dense_data`: [N, M]. The sparse matrix is in CSR or BSR
    (see `xrelay.dialects.sparse.products`).

    Source: Relay's `nn.sparse_dense`.
    """

    name = "relay.nn.sparse_dense"

    dense_data: Tensor = operand()
    sparse_data: Tensor = operand()
    sparse_indices: Tensor = operand()
    sparse_indptr: Tensor = operand()


@irdl_op_definition
class InternalSparseDensePaddedOp(SparseProductOp):
    """
    As `relay.nn.sparse_dense`, of a sparse matrix whose rows were filled up with zeros to whole
    multiples of some length.

    Source: Relay's `nn.internal.sparse_dense_padded`.
    """

    name = "relay.nn.internal.sparse_dense_padded"

    data: Tensor = operand()
    weight_data: Tensor = operand()
    weight_indices: Tensor = operand()
    weight_indptr: Tensor = operand()


class SparseOperandOp(RelayOp, ABC):
    """An operator on a dense tensor and a sparse matrix."""

    dense_data: Tensor = operand()
    sparse_data: Tensor = operand()
    sparse_indices: Tensor = operand()
    sparse_indptr: Tensor = operand()


@irdl_op_definition
class SparseConv2DOp(SparseOperandOp):
    """
    A convolution of windows of one element: the vector of the channels K of every pixel of
    `dense_data` times the transpose of a sparse matrix [N, K], as N channels. The sparse matrix is
    in BSR (see `xrelay.dialects.sparse.products`); `sparse_data` may be [E, r], for blocks of one column.
    `layout` is NHWC or NCHW, `kernel_size` must be [1, 1].

    Source: Relay's `nn.sparse_conv2d`.
    """

    name = "relay.nn.sparse_conv2d"

    layout: Text = prop(default="NHWC")
    kernel_size: Integers = prop(default=(1, 1))
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def channel_axis(self) -> int:
        """Where the channels stand."""
        require_one_of("layout", self.layout, "NHWC", "NCHW")
        return 3 if self.layout.data == "NHWC" else 1

    def infer_type(self) -> Attribute:
        names = ("sparse_data", "sparse_indices", "sparse_indptr")
        dense = ranked(self.dense_data, "'dense_data'", 4)
        rows, height, width = sparse_shape(names, self.operands[1:], (2, 3))
        require_same_dtype(dense, "dense_data", self.sparse_data.type, "sparse_data")
        taps = positive_numbers(self.kernel_size, "kernel_size", 2)
        if taps != (1, 1):
            raise VerifyException(f"'kernel_size' is {list(taps)}, expected [1, 1]")
        shape = list(dense.get_shape())
        _require_columns(shape[self.channel_axis], width, "the number of channels of 'dense_data'")
        shape[self.channel_axis] = dimension_product((rows, height))
        return TensorType(dense.element_type, shape)


@irdl_op_definition
class SparseAddOp(SparseOperandOp):
    """
    `dense_data` [M, N] plus a sparse matrix [M, N] in CSR (see `xrelay.dialects.sparse.products`). Elements
    that stand at the same place are added up.

    Source: Relay's `nn.sparse_add`.
    """

    name = "relay.nn.sparse_add"

    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        names = ("sparse_data", "sparse_indices", "sparse_indptr")
        dense = ranked(self.dense_data, "'dense_data'", 2)
        rows, _, _ = sparse_shape(names, self.operands[1:], (1,))
        require_same_dtype(dense, "dense_data", self.sparse_data.type, "sparse_data")
        if not same_dimension(rows, dense.get_shape()[0]):
            raise VerifyException(
                f"'sparse_indptr' is for {rows} rows, 'dense_data' has {dense.get_shape()[0]}"
            )
        return dense


@irdl_op_definition
class SparseTransposeOp(RelayOp):
    """
    The transpose of a square sparse matrix in CSR (see `xrelay.dialects.sparse.products`), as a tuple of its
    data, indices and pointers. Elements of a row keep the order of the rows they were in.

    Source: Relay's `nn.sparse_transpose`.
    """

    name = "relay.nn.sparse_transpose"

    sparse_data: Tensor = operand()
    sparse_indices: Tensor = operand()
    sparse_indptr: Tensor = operand()
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_type(self) -> Attribute:
        sparse_shape(("sparse_data", "sparse_indices", "sparse_indptr"), self.operands, (1,))
        return tuple_type([value.type for value in self.operands])
