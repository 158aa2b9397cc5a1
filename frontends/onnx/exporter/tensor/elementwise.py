"""Emitters of arithmetic, comparison, logic and conversion, element by element."""

from collections.abc import Callable
from math import isnan, log

import numpy as np
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from xrelay.dialects.tensor import binary, bits, like, transcendental, transform, unary
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    BOOL,
    Emitter,
    EmitterTable,
    OutputGraph,
    Tensor,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.numbers import computing_dtype, rounded
from xrelay.frontends.onnx.exporter.tensor.transform import filled_like


def unary_node(op_type: str) -> Emitter:
    """An operator with the meaning of an ONNX operator of one input."""

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        return graph.node(op_type, graph.tensor(op.operands[0]))

    return emit


def binary_node(op_type: str, for_bools: str | None = None) -> Emitter:
    """
    An operator with the meaning of an ONNX operator of two inputs; of bools, which are integers of
    one bit, of another one.
    """

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        lhs, rhs = map(graph.tensor, op.operands)
        chosen = for_bools if for_bools is not None and lhs.dtype == BOOL else op_type
        return graph.node(chosen, lhs, rhs)

    return emit


def comparison(op_type: str) -> Emitter:
    """A comparison; bools are compared as numbers."""

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        lhs, rhs = map(graph.tensor, op.operands)
        if lhs.dtype == BOOL:
            lhs, rhs = (graph.cast(side, np.dtype(np.uint8)) for side in (lhs, rhs))
        return graph.node(op_type, lhs, rhs)

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


def logarithm(base: int) -> Emitter:
    """log(x) / log(base)."""

    def emit(graph: OutputGraph, op: Operation) -> Tensor:
        data = graph.tensor(op.operands[0])
        wide = graph.cast(data, computing_dtype(data.dtype))
        divided = graph.node("Div", graph.node("Log", wide), graph.scalar(log(base), wide.dtype))
        return graph.cast(divided, data.dtype)

    return emit


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


def bitwise_not(graph: OutputGraph, op: bits.BitwiseNotOp) -> Tensor:
    """BitwiseNot; Not for bools."""
    data = graph.tensor(op.data)
    return graph.node("Not" if data.dtype == BOOL else "BitwiseNot", data)


def number_test(graph: OutputGraph, op: bits.NumberTestOp) -> Tensor:
    """IsNaN, IsInf or neither of them. Integers are finite."""
    data = graph.tensor(op.data)
    if data.dtype.kind in "iub":
        return filled_like(graph, graph.scalar(isinstance(op, bits.IsFiniteOp), BOOL), op.data)
    match op:
        case bits.IsNanOp():
            return graph.node("IsNaN", data)
        case bits.IsInfOp():
            return graph.node("IsInf", data)
        case _:
            either = graph.node("Or", graph.node("IsNaN", data), graph.node("IsInf", data))
            return graph.node("Not", either)


def reinterpret(graph: OutputGraph, op: bits.ReinterpretOp) -> Tensor:
    """Bits as they are, where only the sign of integers changes: Cast keeps these."""
    data, dtype = graph.tensor(op.data), dtype_of(op.result.type, "the result")
    if data.dtype == dtype or {data.dtype.kind, dtype.kind} <= {"i", "u"}:
        return graph.cast(data, dtype)
    raise NotExpressible(f"operator set 21 does not read {data.dtype} as {dtype}")


def not_equal(graph: OutputGraph, op: binary.NotEqualOp) -> Tensor:
    """The opposite of Equal."""
    return graph.node("Not", graph.node("Equal", graph.tensor(op.lhs), graph.tensor(op.rhs)))


def where(graph: OutputGraph, op: transform.WhereOp) -> Tensor:
    """Where, whose condition is made of bools."""
    condition, x, y = map(graph.tensor, op.operands)
    return graph.node("Where", graph.cast(condition, BOOL), x, y)


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

ELEMENTWISE_EMITTERS: EmitterTable = {
    **{op: unary_node(op_type) for op, op_type in _UNARY.items()},
    binary.AddOp: binary_node("Add", "Xor"),
    binary.BitwiseAndOp: binary_node("BitwiseAnd", "And"),
    binary.BitwiseOrOp: binary_node("BitwiseOr", "Or"),
    binary.BitwiseXorOp: binary_node("BitwiseXor", "Xor"),
    binary.EqualOp: binary_node("Equal"),
    binary.GreaterEqualOp: comparison("GreaterOrEqual"),
    binary.GreaterOp: comparison("Greater"),
    binary.LessEqualOp: comparison("LessOrEqual"),
    binary.LessOp: comparison("Less"),
    binary.LogicalAndOp: binary_node("And"),
    binary.LogicalOrOp: binary_node("Or"),
    binary.LogicalXorOp: binary_node("Xor"),
    binary.MaximumOp: binary_node("Max", "Or"),
    binary.MinimumOp: binary_node("Min", "And"),
    binary.MultiplyOp: binary_node("Mul", "And"),
    binary.NotEqualOp: not_equal,
    binary.PowerOp: binary_node("Pow"),
    binary.SubtractOp: binary_node("Sub", "Xor"),
    bits.BitwiseNotOp: bitwise_not,
    bits.IsFiniteOp: number_test,
    bits.IsInfOp: number_test,
    bits.IsNanOp: number_test,
    bits.ReinterpretOp: reinterpret,
    like.CastLikeOp: cast,
    transcendental.Log10Op: logarithm(10),
    transcendental.Log2Op: logarithm(2),
    transform.WhereOp: where,
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
