"""Emitters of matrix products and sums of products."""

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.nn import dense
from xrelay.dialects.shapes import tuple_fields
from xrelay.dialects.tensor import einsum
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    INT32,
    EmitterTable,
    OutputGraph,
    Tensor,
    accepts,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.numbers import converted

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
"""The dtypes that MatMulInteger and ConvInteger take."""


def product(graph: OutputGraph, lhs: Tensor, rhs: Tensor, dtype: np.dtype) -> Tensor:
    """The product of (batches of) matrices, converted to a dtype and summed in it."""
    if dtype.kind in "iu":
        lhs, rhs = (integers(graph, factor, dtype) for factor in (lhs, rhs))
        # Integers of a narrow sum are the last bits of those of a wide one.
        if lhs.dtype in BYTES and rhs.dtype in BYTES and dtype.itemsize <= 4:
            return graph.cast(graph.node("MatMulInteger", lhs, rhs), dtype)
        wide = dtype if accepts("MatMul", dtype) else INT32
        return graph.cast(graph.node("MatMul", graph.cast(lhs, wide), graph.cast(rhs, wide)), dtype)
    return graph.node("MatMul", graph.cast(lhs, dtype), graph.cast(rhs, dtype))


def integers(graph: OutputGraph, factor: Tensor, dtype: np.dtype) -> Tensor:
    """A factor of products that are summed in an integer dtype; integers stay as they are."""
    return factor if factor.dtype.kind in "iu" else converted(graph, factor, dtype)


def dense_product(graph: OutputGraph, op: dense.DenseOp) -> Tensor:
    """Gemm for floating-point matrices, MatMul with the transposed weight for others."""
    data, weight = graph.tensor(op.data), graph.tensor(op.weight)
    dtype = dtype_of(op.result.type, "the result")
    if op.data.type.get_num_dims() == 2 and dtype.kind not in "iub":
        factors = graph.cast(data, dtype), graph.cast(weight, dtype)
        return graph.node("Gemm", *factors, transB=1)
    return product(graph, data, graph.transpose(weight, (1, 0)), dtype)


def matrix_product(graph: OutputGraph, op: dense.MatrixProductOp) -> Tensor:
    """MatMul, after a Transpose where a factor is transposed."""
    lhs, rhs = (
        _swapped(graph, factor) if flag.value.data else graph.tensor(factor)
        for factor, flag in ((op.tensor_a, op.transpose_a), (op.tensor_b, op.transpose_b))
    )
    return product(graph, lhs, rhs, dtype_of(op.result.type, "the result"))


def _swapped(graph: OutputGraph, factor: SSAValue[TensorType[Attribute]]) -> Tensor:
    """(Batches of) matrices with their last two axes swapped."""
    rank = factor.type.get_num_dims()
    return graph.transpose(graph.tensor(factor), (*range(rank - 2), rank - 1, rank - 2))


def packed_product(graph: OutputGraph, op: dense.ContribDensePackOp) -> Tensor:
    """MatMul with the weight out of its blocks."""
    blocks, depth, lanes = graph.shape(op.weight, "weight")
    columns = graph.transpose(graph.tensor(op.weight), (1, 0, 2))
    columns = graph.reshape(columns, (depth, blocks * lanes))
    return product(graph, graph.tensor(op.data), columns, dtype_of(op.result.type, "the result"))


def sum_of_products(graph: OutputGraph, op: einsum.EinsumOp) -> Tensor:
    """Einsum."""
    equation = op.equation.data.replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    ranks = [field.get_num_dims() for field in tuple_fields(op.data, "'data'")]
    dots = {rank - len(term) + 3 for term, rank in zip(terms, ranks, strict=True) if "..." in term}
    if len(dots) > 1:
        raise NotExpressible(f"'...' in 'equation' \"{equation}\" stands for {sorted(dots)} axes")
    return graph.node("Einsum", *graph.tensors(op.data), equation=equation)


EMITTERS: EmitterTable = {
    dense.BatchMatmulOp: matrix_product,
    dense.ContribDensePackOp: packed_product,
    dense.DenseOp: dense_product,
    dense.MatmulOp: matrix_product,
    einsum.EinsumOp: sum_of_products,
}
