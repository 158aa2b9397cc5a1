"""Emitters of operators on bits, and of tests of numbers."""

from xrelay.dialects.tensor import bits
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    BOOL,
    INT32,
    INT64,
    EmitterTable,
    OutputGraph,
    Tensor,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.tensor.binary import divided_by
from xrelay.frontends.onnx.exporter.tensor.like import filled_like


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


def fixed_point_multiply(graph: OutputGraph, op: bits.FixedPointMultiplyOp) -> Tensor:
    """The product in i64, rounded and shifted, of which the last 32 bits are kept."""
    left, right = op.shifts
    wide = graph.cast(graph.tensor(op.data), INT64)
    shifted = graph.node("Mul", wide, graph.scalar(2**left, INT64))
    product = graph.node("Mul", shifted, graph.scalar(op.multiplier.value.data, INT64))
    half = graph.node("Add", product, graph.scalar(2 ** (right - 1), INT64))
    return graph.cast(divided_by(graph, half, graph.scalar(2**right, INT64)), INT32)


EMITTERS: EmitterTable = {
    bits.BitwiseNotOp: bitwise_not,
    bits.IsFiniteOp: number_test,
    bits.IsInfOp: number_test,
    bits.IsNanOp: number_test,
    bits.ReinterpretOp: reinterpret,
    bits.FixedPointMultiplyOp: fixed_point_multiply,
}
