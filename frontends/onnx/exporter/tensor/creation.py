"""Emitters of filled tensors, sequences of numbers and one-hot tensors."""

from functools import partial

from xrelay.dialects.tensor import creation
from xrelay.frontends.onnx.exporter.graph import (
    INT64,
    EmitterTable,
    OutputGraph,
    Tensor,
    accepts,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.numbers import as_i64, computing_dtype, converted
from xrelay.frontends.onnx.exporter.tensor.like import filled_like


def zeros_or_ones(number: int, graph: OutputGraph, op: creation.FilledOp) -> Tensor:
    """A tensor of one number."""
    dtype = dtype_of(op.result.type, "the result")
    return graph.filled(graph.scalar(number, dtype), op.shape.get_values())


def zeros_or_ones_like(number: int, graph: OutputGraph, op: creation.FilledLikeOp) -> Tensor:
    """A tensor of one number with the type of another one."""
    return filled_like(graph, graph.scalar(number, graph.tensor(op.data).dtype), op.data)


def full(graph: OutputGraph, op: creation.FullOp) -> Tensor:
    """Expand of a scalar that is converted first."""
    number = converted(graph, graph.tensor(op.fill_value), dtype_of(op.result.type, "the result"))
    return graph.filled(number, op.shape.get_values())


def arange(graph: OutputGraph, op: creation.ArangeOp) -> Tensor:
    """Range; of dtypes that it does not take, in a wider one."""
    numbers = list(map(graph.tensor, op.operands))
    dtype = numbers[0].dtype
    if not accepts("Range", dtype):
        wide = INT64 if dtype.kind in "iu" and dtype.itemsize < 8 else computing_dtype(dtype)
        numbers = [graph.cast(number, wide) for number in numbers]
    made = graph.cast(graph.node("Range", *numbers), dtype)
    return graph.cast(made, dtype_of(op.result.type, "the result"))


def one_hot(graph: OutputGraph, op: creation.OneHotOp) -> Tensor:
    """OneHot, for which negative indices would count from the end."""
    depth, dtype = op.depth.value.data, dtype_of(op.result.type, "the result")
    indices = graph.tensor(op.indices)
    if not depth:
        return graph.zeros(op, dtype)
    indices = as_i64(graph, indices, depth)
    if not op.indices.type.get_num_dims():  # OneHot takes no scalars
        indices = graph.reshape(indices, [1])
    negative = graph.node("Less", indices, graph.scalar(0, INT64))
    indices = graph.node("Where", negative, graph.scalar(depth, INT64), indices)
    values = [
        graph.reshape(converted(graph, graph.tensor(value), dtype), [1])
        for value in (op.off_value, op.on_value)
    ]
    both = graph.node("Concat", *values, axis=0)
    inputs = indices, graph.scalar(depth, INT64), both
    if not op.indices.type.get_num_dims():
        return graph.reshape(graph.node("OneHot", *inputs, axis=-1), [depth])
    return graph.node("OneHot", *inputs, axis=op.normalized_axis)


EMITTERS: EmitterTable = {
    creation.ArangeOp: arange,
    creation.FullOp: full,
    creation.OnesLikeOp: partial(zeros_or_ones_like, 1),
    creation.OnesOp: partial(zeros_or_ones, 1),
    creation.ZerosLikeOp: partial(zeros_or_ones_like, 0),
    creation.ZerosOp: partial(zeros_or_ones, 0),
    creation.OneHotOp: one_hot,
}
