"""Emitters of arithmetic, logic and conversion of one operand."""

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


def unary_node(op_type: str, unchanged: str = "") -> Emitter:
    """
    An operator with the meaning of an ONNX operator of one input. Elements whose dtype is of a kind
    in `unchanged` stay as they are: "i", "u" and "b" are signed and unsigned integers and bools.
    """

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        data = graph.tensor(op.operands[0])
        return data if data.dtype.kind in unchanged else graph.node(op_type, data)

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


def reciprocal_root(graph: OutputGraph, op: unary.RsqrtOp) -> Tensor:
    """1 / sqrt(x)."""
    return graph.node("Reciprocal", graph.node("Sqrt", graph.tensor(op.data)))


def truncated(graph: OutputGraph, data: Tensor) -> Tensor:
    """Floating-point numbers rounded towards zero."""
    below = graph.node("Less", data, graph.scalar(0, data.dtype))
    return graph.node("Where", below, graph.node("Ceil", data), graph.node("Floor", data))


def truncate(graph: OutputGraph, op: unary.TruncOp) -> Tensor:
    """Rounding towards zero; integers stay as they are."""
    data = graph.tensor(op.data)
    return data if data.dtype.kind in "iub" else truncated(graph, data)


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
    unary.AbsOp: unary_node("Abs", unchanged="ub"),
    unary.CastOp: cast,
    unary.CeilOp: unary_node("Ceil", unchanged="iub"),
    unary.ClipOp: clip,
    unary.CopyOp: identity,
    unary.FloorOp: unary_node("Floor", unchanged="iub"),
    unary.NegativeOp: negative,
    unary.RoundOp: unary_node("Round", unchanged="iub"),
    unary.RsqrtOp: reciprocal_root,
    unary.SignOp: unary_node("Sign", unchanged="b"),
    unary.TruncOp: truncate,
}
