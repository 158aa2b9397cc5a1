"""Emitters of products of quantised tensors."""

import numpy as np

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.qnn import products as qnn_products
from xrelay.frontends.onnx.exporter.conv.conv import convolution
from xrelay.frontends.onnx.exporter.graph import DType, EmitterTable, OutputGraph, Tensor, dtype_of
from xrelay.frontends.onnx.exporter.qnn.conversion import zero_point_of


def quantized_convolution(graph: OutputGraph, op: qnn_products.QnnConv2DOp) -> Tensor:
    """ConvInteger, whose padding stands for the zero point, too."""
    data, weight = graph.tensor(op.data), graph.tensor(op.weight)
    zeros = _factors_zero_points(graph, op, data.dtype, weight.dtype)
    plain = op.integer_product(op.data, op.weight)
    assert isinstance(plain, Conv2DOp)
    try:
        return convolution(graph, plain, zeros)
    finally:
        plain.drop_all_references()


def _factors_zero_points(
    graph: OutputGraph, op: qnn_products.QnnProductOp, lhs: DType, rhs: DType
) -> tuple[Tensor, Tensor]:
    """Equal zero points of all channels are one number: onnxruntime takes no others of a ConvInteger."""
    _, _, prefix, other = op.NAMES
    first = zero_point_of(graph, op.operands[2], lhs, f"{prefix}_zero_point").reshape(())
    second = zero_point_of(graph, op.operands[3], rhs, f"{other}_zero_point")
    if second.size and np.all(second == second.flat[0]):
        second = second.flat[0].reshape(())
    return graph.constant(first), graph.constant(second)


def dense(graph: OutputGraph, op: qnn_products.QnnDenseOp) -> Tensor:
    """MatMulInteger with the transposed weight."""
    data, weight = graph.tensor(op.data), graph.tensor(op.weight)
    zeros = _factors_zero_points(graph, op, data.dtype, weight.dtype)
    result = graph.node("MatMulInteger", data, graph.transpose(weight, (1, 0)), *zeros)
    return graph.cast(result, dtype_of(op.result.type, "the result"))


def batch_matmul(graph: OutputGraph, op: qnn_products.QnnBatchMatmulOp) -> Tensor:
    """MatMulInteger."""
    factors = [
        graph.transpose(graph.tensor(factor), (0, 2, 1) if flag.value.data else (0, 1, 2))
        for factor, flag in ((op.x, op.transpose_a), (op.y, op.transpose_b))
    ]
    zeros = _factors_zero_points(graph, op, factors[0].dtype, factors[1].dtype)
    result = graph.node("MatMulInteger", *factors, *zeros)
    return graph.cast(result, dtype_of(op.result.type, "the result"))


EMITTERS: EmitterTable = {
    qnn_products.QnnBatchMatmulOp: batch_matmul,
    qnn_products.QnnConv2DOp: quantized_convolution,
    qnn_products.QnnDenseOp: dense,
}
