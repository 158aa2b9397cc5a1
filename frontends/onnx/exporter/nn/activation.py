"""Emitters of activation functions and softmax."""

from functools import partial
from math import isfinite, trunc

from xrelay.dialects.nn import norm
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor import unary
from xrelay.frontends.onnx.exporter.graph import FLOAT64, EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.numbers import rounded
from xrelay.frontends.onnx.exporter.tensor.unary import unary_node


def leaky_relu(graph: OutputGraph, op: unary.LeakyReluOp) -> Tensor:
    """
    LeakyRelu; of f64, whose factor an attribute does not hold, and of integers, a product and a
    choice. Unsigned integers stay as they are.
    """
    data, alpha = graph.tensor(op.data), op.alpha.value.data
    if data.dtype.kind in "ub":
        return data
    if data.dtype.kind == "i":
        whole = rounded(trunc(alpha) if isfinite(alpha) else alpha, data.dtype)
        return _scaled_below_zero(graph, data, graph.scalar(whole, data.dtype))
    if data.dtype == FLOAT64:
        return _scaled_below_zero(graph, data, graph.scalar(alpha, data.dtype))
    return graph.node("LeakyRelu", data, alpha=alpha)


def _scaled_below_zero(graph: OutputGraph, data: Tensor, alpha: Tensor) -> Tensor:
    positive = graph.node("Greater", data, graph.scalar(0, data.dtype))
    return graph.node("Where", positive, data, graph.node("Mul", data, alpha))


def prelu(graph: OutputGraph, op: norm.PReluOp) -> Tensor:
    """PRelu of floating-point numbers; of integers, a product and a choice."""
    data, alpha = graph.tensor(op.data), graph.tensor(op.alpha)
    slope = graph.along(alpha, op.channel_axis, op.data.type.get_num_dims())
    if not is_float(op.data.type.element_type):
        return _scaled_below_zero(graph, data, slope)
    return graph.node("PRelu", data, slope)


def softmax(op_type: str, graph: OutputGraph, op: norm.SoftmaxFamilyOp) -> Tensor:
    """Softmax or LogSoftmax."""
    return graph.node(op_type, graph.tensor(op.data), axis=op.normalized_axis)


EMITTERS: EmitterTable = {
    norm.FastSoftmaxOp: partial(softmax, "Softmax"),
    norm.LogSoftmaxOp: partial(softmax, "LogSoftmax"),
    norm.PReluOp: prelu,
    norm.SoftmaxOp: partial(softmax, "Softmax"),
    unary.LeakyReluOp: leaky_relu,
    unary.ReluOp: unary_node("Relu", unchanged="ub"),
}
