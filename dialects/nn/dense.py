"""
Matrix products. The operands may differ in dtype: both are converted to `out_dtype`, by default the
dtype of the first one, by the rules of `relay.cast`, and products are summed in it.
"""

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import (
    Flag,
    Integer,
    OptionalDtype,
    OptionalInteger,
    Tensor,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    broadcast_shapes,
    dimension_product,
    element_type,
    ranked,
    same_dimension,
    tensor_type,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


def _require_same_length(lhs: int, rhs: int, names: tuple[str, str]) -> None:
    if not same_dimension(lhs, rhs):
        raise VerifyException(
            f"the reduced axis has {lhs} elements in '{names[0]}' and {rhs} in '{names[1]}'"
        )


@irdl_op_definition
class DenseOp(RelayOp):
    """
    `data` [..., K] times the transpose of `weight` [N, K]: a tensor [..., N]. Products are summed
    in `out_dtype`, by default the dtype of `data`. `units`, when given, must be N.

    Source: Relay's `nn.dense`, ONNX's Gemm with transB.
    """

    name = "relay.nn.dense"

    data: Tensor = operand()
    weight: Tensor = operand()
    units: OptionalInteger = prop(default=None)
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_type(self) -> Attribute:
        names = ("data", "weight")
        data = tensor_type(self.data, "'data'")
        weight = ranked(self.weight, "'weight'", 2)
        if data.get_num_dims() < 1:
            raise VerifyException(f"'data' is {data}, expected at least rank 1")
        *outer, depth = data.get_shape()
        rows, weight_depth = weight.get_shape()
        _require_same_length(depth, weight_depth, names)
        if self.units is not None and not same_dimension(self.units.value.data, rows):
            raise VerifyException(f"'units' is {self.units.value.data}, 'weight' has {rows} rows")
        dtype = element_type(self.out_dtype or data.element_type, "out_dtype")
        return TensorType(dtype, [*outer, rows])


@irdl_op_definition
class ContribDensePackOp(RelayOp):
    """
    `relay.nn.dense` of `data` [M, K] with a weight whose rows are in blocks of x: `weight`
    [N / x, K, x] holds weight[n, k] at [n // x, k, n % x]. The result is [M, N]; `units` must be N.

    Source: Relay's `nn.contrib_dense_pack`.
    """

    name = "relay.nn.contrib_dense_pack"

    data: Tensor = operand()
    weight: Tensor = operand()
    units: Integer = prop()
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_type(self) -> Attribute:
        names = ("data", "weight")
        data, weight = ranked(self.data, "'data'", 2), ranked(self.weight, "'weight'", 3)
        (examples, depth), (blocks, weight_depth, lanes) = data.get_shape(), weight.get_shape()
        _require_same_length(depth, weight_depth, names)
        units, rows = self.units.value.data, dimension_product((blocks, lanes))
        if not same_dimension(units, rows):
            raise VerifyException(f"'units' is {units}, 'weight' has {rows} rows")
        dtype = element_type(self.out_dtype or data.element_type, "out_dtype")
        return TensorType(dtype, [examples, units])


class MatrixProductOp(RelayOp, ABC):
    """
    The product of `tensor_a` [M, K] ([K, M] with `transpose_a`) and `tensor_b` [K, N] ([N, K]
    with `transpose_b`). Products are summed in `out_dtype`, by default the dtype of `tensor_a`.
    """

    tensor_a: Tensor = operand()
    tensor_b: Tensor = operand()
    transpose_a: Flag = prop(default=False)
    transpose_b: Flag = prop(default=False)
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_product(
        self, a: TensorType[Attribute], b: TensorType[Attribute]
    ) -> TensorType[Attribute]:
        """The result type for operands of these types, batches first."""
        names = ("tensor_a", "tensor_b")
        *batch_a, rows, depth_a = a.get_shape()
        *batch_b, depth_b, columns = b.get_shape()
        if self.transpose_a.value.data:
            rows, depth_a = depth_a, rows
        if self.transpose_b.value.data:
            depth_b, columns = columns, depth_b
        _require_same_length(depth_a, depth_b, names)
        batch = broadcast_shapes(batch_a, batch_b, names)
        dtype = element_type(self.out_dtype or a.element_type, "out_dtype")
        return TensorType(dtype, [*batch, rows, columns])


@irdl_op_definition
class MatmulOp(MatrixProductOp):
    """
    The product of a matrix, or of each of a batch of matrices [..., M, K], and the matrix `tensor_b`.
    `units`, when given, must be the number of columns.

    Source: Relay's `nn.matmul`.
    """

    name = "relay.nn.matmul"

    units: OptionalInteger = prop(default=None)

    def infer_type(self) -> Attribute:
        a = tensor_type(self.tensor_a, "'tensor_a'")
        if a.get_num_dims() < 2:
            raise VerifyException(f"'tensor_a' is {a}, expected at least rank 2")
        result = self.infer_product(a, ranked(self.tensor_b, "'tensor_b'", 2))
        columns = result.get_shape()[-1]
        if self.units is not None and not same_dimension(self.units.value.data, columns):
            raise VerifyException(
                f"'units' is {self.units.value.data}, 'tensor_b' has {columns} columns"
            )
        return result


@irdl_op_definition
class BatchMatmulOp(MatrixProductOp):
    """
    The products of two batches of matrices; a batch of 1 is used for every other one.

    Source: Relay's `nn.batch_matmul`, ONNX's MatMul.
    """

    name = "relay.nn.batch_matmul"

    def infer_type(self) -> Attribute:
        a, b = ranked(self.tensor_a, "'tensor_a'", 3), ranked(self.tensor_b, "'tensor_b'", 3)
        return self.infer_product(a, b)
