"""Emitters of arithmetic on quantised tensors."""

from xrelay.dialects.qnn import arithmetic as qnn_arithmetic
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.qnn.conversion import clamped, requantized


def add_or_subtract(graph: OutputGraph, op: qnn_arithmetic.QnnBinaryOp) -> Tensor:
    """Both operands with the result's scale, in i32, then the sum or the difference."""
    rank = max(op.lhs.type.get_num_dims(), op.rhs.type.get_num_dims())
    axes, new = op.channel_axes, (op.output_scale, op.output_zero_point)
    lhs = requantized(graph, op.lhs, op.lhs_scale, op.lhs_zero_point, new, axes[0], rank)
    rhs = requantized(graph, op.rhs, op.rhs_scale, op.rhs_zero_point, new, axes[1], rank)
    zero = graph.reshape(graph.tensor(op.output_zero_point), ())
    if isinstance(op, qnn_arithmetic.QnnAddOp):
        total = graph.node("Add", graph.node("Sub", lhs, zero), rhs)
    else:
        total = graph.node("Add", graph.node("Sub", lhs, rhs), zero)
    return clamped(graph, total, graph.tensor(op.lhs).dtype)


EMITTERS: EmitterTable = {
    qnn_arithmetic.QnnAddOp: add_or_subtract,
    qnn_arithmetic.QnnSubtractOp: add_or_subtract,
}
