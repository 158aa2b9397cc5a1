"""Emitters of matrices of a few bits a number, which are bytes in ONNX here: this opset packs 4 bits, but not 2."""

from xdsl.ir import SSAValue

from xrelay.dialects.qnn.blocks import LEAST_PEAK, BlocksOp, QnnDenseBlocksOp, QnnDequantizeBlocksOp
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
    """MatMul with the transpose of the matrix. What MatMulNBits rounds, with 8 bits of data, is rounded here as the operator says."""
    operands = op.weight, op.weight_scale, op.weight_zero_point
    matrix = _matrix(graph, op, operands, graph.shape(op.data)[-1])
    data = _rounded(graph, op) if op.rounds_data else graph.tensor(op.data)
    return graph.node("MatMul", data, graph.transpose(matrix, (1, 0)))


def _rounded(graph: OutputGraph, op: QnnDenseBlocksOp) -> Tensor:
    """The data in 8 bits, times their scales."""
    data, (*outer, length) = graph.tensor(op.data), graph.shape(op.data)
    size = min(op.size, length)
    count = -(-length // size)
    gap = count * size - length
    if gap:
        widths = [0] * (2 * len(outer) + 1) + [gap]
        data = graph.node("Pad", data, graph.integers(widths))
    parted = graph.reshape(data, (*outer, count, size))

    def number(value: float) -> Tensor:
        return graph.scalar(value, FLOAT32)

    axes = graph.integers([-1])
    peak = graph.node("ReduceMax", graph.node("Abs", parted), axes, keepdims=1)
    is_small, zero, largest = graph.node("Less", peak, number(LEAST_PEAK)), number(0), number(127)
    inverse = graph.node("Where", is_small, zero, graph.node("Div", largest, peak))
    scale = graph.node("Where", is_small, zero, graph.node("Div", peak, largest))
    whole = graph.node("Round", graph.node("Mul", parted, inverse))
    result = graph.reshape(graph.node("Mul", whole, scale), (*outer, count * size))
    return graph.slice(result, [0], [length], [len(outer)]) if gap else result


EMITTERS: EmitterTable = {
    QnnDenseBlocksOp: dense_blocks,
    QnnDequantizeBlocksOp: dequantize_blocks,
}
