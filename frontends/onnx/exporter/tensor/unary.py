"""Emitters of arithmetic, logic and conversion of one operand."""

from collections.abc import Callable
from math import isnan

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from xrelay.dialects.tensor import like, unary
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    BOOL,
    Emitter,
    EmitterTable,
    OutputGraph,
    Tensor,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.numbers import rounded


def unary_node(op_type: str) -> Emitter:
    """An operator with the meaning of an ONNX operator of one input."""

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        return graph.node(op_type, graph.tensor(op.operands[0]))

    return emit


def identity(graph: OutputGraph, op: unary.CopyOp) -> Tensor:
    """The same tensor."""
    return graph.tensor(op.data)


def negative(graph: OutputGraph, op: unary.NegativeOp) -> Tensor:
    """Neg, which does not take unsigned integers; bools, as integers of one bit, stay as they are."""
    data = graph.tensor(op.data)
    if data.dtype == BOOL:
        return data
    if data.dtype.kind == "u":
        return graph.node("Sub", graph.scalar(0, data.dtype), data)
    return graph.node("Neg", data)


def sign(graph: OutputGraph, op: unary.SignOp) -> Tensor:
    """Sign; bools stay as they are."""
    data = graph.tensor(op.data)
    return data if data.dtype == BOOL else graph.node("Sign", data)


def absolute(graph: OutputGraph, op: unary.AbsOp) -> Tensor:
    """Abs."""
    data = graph.tensor(op.data)
    return data if data.dtype.kind in "ub" else graph.node("Abs", data)


def reciprocal_root(graph: OutputGraph, op: unary.RsqrtOp) -> Tensor:
    """1 / sqrt(x)."""
    return graph.node("Reciprocal", graph.node("Sqrt", graph.tensor(op.data)))


def truncated(graph: OutputGraph, data: Tensor) -> Tensor:
    """Floating-point numbers rounded towards zero."""
    below = graph.node("Less", data, graph.scalar(0, data.dtype))
    return graph.node("Where", below, graph.node("Ceil", data), graph.node("Floor", data))


def rounding(round_data: Callable[[OutputGraph, Tensor], Tensor]) -> Emitter:
    """Rounding of floating-point numbers; integers stay as they are."""

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        data = graph.tensor(op.operands[0])
        return data if data.dtype.kind in "iub" else round_data(graph, data)

    return emit


def rounding_node(op_type: str) -> Emitter:
    """Rounding with the meaning of an ONNX operator."""
    return rounding(lambda graph, data: graph.node(op_type, data))


def clip(graph: OutputGraph, op: unary.ClipOp) -> Tensor:
    """Clip."""
    data, bounds = graph.tensor(op.data), (op.a_min.value.data, op.a_max.value.data)
    if data.dtype.kind not in "iub" and any(map(isnan, bounds)):
        raise NotExpressible(f"'a_min' and 'a_max' are {bounds}, of which ONNX's Clip takes no NaN")
    limits = (graph.scalar(rounded(bound, data.dtype), data.dtype) for bound in bounds)
    return graph.node("Clip", data, *limits)


def cast(graph: OutputGraph, op: unary.CastOp | like.CastLikeOp) -> Tensor:
    """Cast. What numbers out of the range of an integer type give is left open by ONNX."""
    return graph.cast(graph.tensor(op.operands[0]), dtype_of(op.results[0].type, "the result"))


_UNARY: dict[type[IRDLOperation], str] = {
    unary.CosOp: "Cos",
    unary.ErfOp: "Erf",
    unary.ExpOp: "Exp",
    unary.LogOp: "Log",
    unary.LogicalNotOp: "Not",
    unary.SigmoidOp: "Sigmoid",
    unary.SinOp: "Sin",
    unary.SqrtOp: "Sqrt",
    unary.TanhOp: "Tanh",
}

EMITTERS: EmitterTable = {
    **{op: unary_node(op_type) for op, op_type in _UNARY.items()},
    like.CastLikeOp: cast,
    unary.AbsOp: absolute,
    unary.CastOp: cast,
    unary.CeilOp: rounding_node("Ceil"),
    unary.ClipOp: clip,
    unary.CopyOp: identity,
    unary.FloorOp: rounding_node("Floor"),
    unary.NegativeOp: negative,
    unary.RoundOp: rounding_node("Round"),
    unary.RsqrtOp: reciprocal_root,
    unary.SignOp: sign,
    unary.TruncOp: rounding(truncated),
}
