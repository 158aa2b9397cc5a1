"""Emitters of reductions."""

from collections.abc import Sequence
from functools import partial
from math import prod

from xrelay.dialects.tensor import like
from xrelay.dialects.tensor import reduce as reduction
from xrelay.frontends.onnx.exporter.graph import (
    INT32,
    INT64,
    UINT64,
    Emitter,
    EmitterTable,
    OutputGraph,
    Tensor,
    accepts,
)
from xrelay.frontends.onnx.exporter.numbers import computing_dtype


def reduce(
    graph: OutputGraph, op_type: str, data: Tensor, axes: Sequence[int], *, keepdims: bool
) -> Tensor:
    """
    A reduction along some axes; along none, the data. Integers of few bits are reduced as i32, or
    u32: sums and products have the same last bits.
    """
    if not axes:
        return data
    wide = data
    if data.dtype.kind in "iu" and not accepts(op_type, data.dtype):
        wide = graph.cast(data, INT32)
    result = graph.node(op_type, wide, graph.integers(axes), keepdims=int(keepdims))
    return graph.cast(result, data.dtype)


def reduction_node(op_type: str) -> Emitter:
    """A reduction with the meaning of an ONNX operator."""

    def emit(graph: OutputGraph, op: reduction.ReductionOp) -> Tensor:
        data, keepdims = graph.tensor(op.data), bool(op.keepdims.value.data)
        return reduce(graph, op_type, data, op.reduced_axes, keepdims=keepdims)

    return emit


def mean(graph: OutputGraph, op: reduction.MeanOp) -> Tensor:
    """ReduceMean; of integers the sum, which may wrap around, divided in 64 bits."""
    data, axes, keepdims = graph.tensor(op.data), op.reduced_axes, bool(op.keepdims.value.data)
    if data.dtype.kind not in "iu":
        return reduce(graph, "ReduceMean", data, axes, keepdims=keepdims)
    count = prod(graph.shape(op.data)[axis] for axis in axes)
    if not count:
        return graph.zeros(op, data.dtype)
    total = reduce(graph, "ReduceSum", data, axes, keepdims=keepdims)
    wide = UINT64 if data.dtype.kind == "u" else INT64
    quotient = graph.node("Div", graph.cast(total, wide), graph.scalar(count, wide))
    return graph.cast(quotient, data.dtype)


def variance(graph: OutputGraph, op: reduction.VarianceOp) -> Tensor:
    """The sum of squares of what the given mean leaves, divided by the number of elements."""
    shape, data, mean = graph.shape(op.data), graph.tensor(op.data), graph.tensor(op.mean)
    dtype = computing_dtype(data.dtype)
    centred = graph.node("Sub", graph.cast(data, dtype), graph.cast(mean, dtype))
    squares = graph.node("Mul", centred, centred)
    keepdims = bool(op.keepdims.value.data)
    total = reduce(graph, "ReduceSum", squares, op.reduced_axes, keepdims=keepdims)
    count = prod(shape[axis] for axis in op.reduced_axes) - bool(op.unbiased.value.data)
    return graph.cast(graph.node("Div", total, graph.scalar(count, dtype)), data.dtype)


def extreme_index(op_type: str, graph: OutputGraph, op: reduction.ArgReductionOp) -> Tensor:
    """ArgMax or ArgMin; several axes are made one."""
    data, axes, keepdims = graph.tensor(op.data), op.reduced_axes, op.keepdims.value.data
    last = 1 if op.select_last_index.value.data else None
    if len(axes) == 1:
        flag = 1 if keepdims else 0
        index = graph.node(op_type, data, axis=axes[0], keepdims=flag, select_last_index=last)
        return graph.cast(index, INT32)
    shape, result = graph.shape(op.data), graph.result_shape(op)
    if not axes:
        return graph.zeros(op, INT32)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    moved = graph.transpose(data, [*kept, *axes])
    # Without elements, -1 would not tell how many there are.
    count = prod(shape[axis] for axis in axes)
    rows = graph.reshape(moved, [*(shape[axis] for axis in kept), count])
    index = graph.node(op_type, rows, axis=len(kept), keepdims=0, select_last_index=last)
    return graph.reshape(graph.cast(index, INT32), result)


def collapse_sum(graph: OutputGraph, op: like.CollapseSumOp) -> Tensor:
    """ReduceSum of the axes that broadcasting would repeat."""
    data, source = graph.tensor(op.operands[0]), graph.shape(op.operands[0])
    target = graph.result_shape(op)
    total = reduce(graph, "ReduceSum", data, op.summed_axes(source, target), keepdims=True)
    return graph.reshape(total, target) if len(target) < len(source) else total


EMITTERS: EmitterTable = {
    like.CollapseSumLikeOp: collapse_sum,
    like.CollapseSumToOp: collapse_sum,
    reduction.AllOp: reduction_node("ReduceMin"),
    reduction.AnyOp: reduction_node("ReduceMax"),
    reduction.ArgmaxOp: partial(extreme_index, "ArgMax"),
    reduction.ArgminOp: partial(extreme_index, "ArgMin"),
    reduction.MaxOp: reduction_node("ReduceMax"),
    reduction.MeanOp: mean,
    reduction.MinOp: reduction_node("ReduceMin"),
    reduction.ProdOp: reduction_node("ReduceProd"),
    reduction.SumOp: reduction_node("ReduceSum"),
    reduction.VarianceOp: variance,
}
