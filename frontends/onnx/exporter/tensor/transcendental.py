"""Emitters of further functions of one element."""

from functools import partial
from math import log

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from xrelay.dialects.tensor import transcendental
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.numbers import computing_dtype
from xrelay.frontends.onnx.exporter.tensor.unary import unary_node


def logarithm(base: int, graph: OutputGraph, op: Operation) -> Tensor:
    """log(x) / log(base)."""
    data = graph.tensor(op.operands[0])
    wide = graph.cast(data, computing_dtype(data.dtype))
    divided = graph.node("Div", graph.node("Log", wide), graph.scalar(log(base), wide.dtype))
    return graph.cast(divided, data.dtype)


_UNARY: dict[type[IRDLOperation], str] = {
    transcendental.AcosOp: "Acos",
    transcendental.AcoshOp: "Acosh",
    transcendental.AsinOp: "Asin",
    transcendental.AsinhOp: "Asinh",
    transcendental.AtanOp: "Atan",
    transcendental.AtanhOp: "Atanh",
    transcendental.CoshOp: "Cosh",
    transcendental.FastErfOp: "Erf",
    transcendental.FastExpOp: "Exp",
    transcendental.FastTanhOp: "Tanh",
    transcendental.SinhOp: "Sinh",
    transcendental.TanOp: "Tan",
}

EMITTERS: EmitterTable = {
    **{op: unary_node(op_type) for op, op_type in _UNARY.items()},
    transcendental.Log10Op: partial(logarithm, 10),
    transcendental.Log2Op: partial(logarithm, 2),
}
