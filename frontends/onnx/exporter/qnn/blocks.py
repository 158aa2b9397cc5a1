"""Emitters of matrices of a few bits a number, which are bytes in ONNX here: this opset packs 4 bits, but not 2."""

from xdsl.ir import SSAValue

from xrelay.dialects.qnn.blocks import BlocksOp, QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import FLOAT32, EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.qnn.conversion import elements_of
from xrelay.interpreters.qnn.blocks import unpacked


def _matrix(
    graph: OutputGraph,
    op: BlocksOp,
    operands: tuple[SSAValue, SSAValue, SSAValue],
    length: int,
) -> Tensor:
    """DequantizeLinear of the numbers as bytes."""
    matrix, scale, zero_point = operands
    numbers = unpacked(elements_of(graph, matrix, "matrix"), op.width, length)
    zeros = elements_of(graph, zero_point, "zero point")
    if zeros.dtype != numbers.dtype:
        raise NotExpressible(
            f"its zero points are of type {zeros.dtype}, and its numbers are bytes"
        )
    if 0 in numbers.shape:
        raise NotExpressible("its matrix has no elements")
    shape = graph.shape(scale, "scale")
    return graph.node(
        "DequantizeLinear",
        graph.constant(numbers),
        graph.cast(graph.tensor(scale), FLOAT32),
        graph.filled(graph.constant(zeros), shape),
        axis=1,
        block_size=op.size,
    )


def dequantize_blocks(graph: OutputGraph, op: QnnDequantizeBlocksOp) -> Tensor:
    """DequantizeLinear with blocks."""
    operands = op.data, op.scale, op.zero_point
    return _matrix(graph, op, operands, op.length.value.data)


def dense_blocks(graph: OutputGraph, op: QnnDenseBlocksOp) -> Tensor:
    """MatMul with the transpose of the matrix."""
    operands = op.weight, op.weight_scale, op.weight_zero_point
    matrix = _matrix(graph, op, operands, graph.shape(op.data)[-1])
    return graph.node("MatMul", graph.tensor(op.data), graph.transpose(matrix, (1, 0)))


EMITTERS: EmitterTable = {
    QnnDenseBlocksOp: dense_blocks,
    QnnDequantizeBlocksOp: dequantize_blocks,
}
