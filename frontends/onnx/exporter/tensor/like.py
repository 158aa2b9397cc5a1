"""Emitters of operators that take the dtype or the shape of another tensor."""

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor import like
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor, dtype_of
from xrelay.frontends.onnx.exporter.numbers import converted


def shape_of(graph: OutputGraph, op: like.ShapeOfOp) -> Tensor:
    """A constant; Shape where a dimension is unknown."""
    shape, dtype = op.data.type.get_shape(), dtype_of(op.result.type, "the result")
    if DYNAMIC_INDEX in shape:
        return graph.cast(graph.node("Shape", graph.tensor(op.data)), dtype)
    return graph.constant(np.array(shape, np.int64).astype(dtype))


def size_of(graph: OutputGraph, op: like.NdarraySizeOp) -> Tensor:
    """Size."""
    size = graph.node("Size", graph.tensor(op.data))
    return graph.cast(size, dtype_of(op.result.type, "the result"))


def filled_like(graph: OutputGraph, number: Tensor, value: SSAValue) -> Tensor:
    """A tensor with the shape of a value that repeats a scalar."""
    assert is_tensor_type(value.type)
    shape = value.type.get_shape()
    if DYNAMIC_INDEX in shape:
        return graph.node("Expand", number, graph.node("Shape", graph.tensor(value)))
    return graph.filled(number, shape)


def broadcast_to_like(graph: OutputGraph, op: like.BroadcastToLikeOp) -> Tensor:
    """Expand."""
    return filled_like(graph, graph.tensor(op.data), op.broadcast_type)


def full_like(graph: OutputGraph, op: like.FullLikeOp) -> Tensor:
    """Expand of a scalar that is converted first."""
    number = converted(graph, graph.tensor(op.fill_value), graph.tensor(op.data).dtype)
    return filled_like(graph, number, op.data)


def slice_like(graph: OutputGraph, op: like.SliceLikeOp) -> Tensor:
    """Slice of the first elements."""
    result, shape = graph.result_shape(op), op.data.type.get_shape()
    axes = [axis for axis, dim in enumerate(shape) if dim != result[axis]]
    if not axes:
        return graph.tensor(op.data)
    ends = [result[axis] for axis in axes]
    return graph.slice(graph.tensor(op.data), [0] * len(axes), ends, axes)


EMITTERS: EmitterTable = {
    like.BroadcastToLikeOp: broadcast_to_like,
    like.FullLikeOp: full_like,
    like.NdarraySizeOp: size_of,
    like.ShapeOfOp: shape_of,
    like.SliceLikeOp: slice_like,
}
