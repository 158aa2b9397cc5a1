"""Emitters of operators that change shapes, and that move or repeat elements."""

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn import space
from xrelay.dialects.shapes import is_tensor_type, normalize_axes, normalize_axis, tuple_fields
from xrelay.dialects.tensor import creation, like, reorder, reshape, transform
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    INT64,
    Emitter,
    EmitterTable,
    Exported,
    OutputGraph,
    Tensor,
    accepts,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.numbers import (
    as_i64,
    computing_dtype,
    converted,
)

# Shapes


def reshaped(graph: OutputGraph, op: Operation) -> Tensor:
    """Reshape to the shape of the result, in which one dimension may be unknown."""
    type_ = op.results[0].type
    assert is_tensor_type(type_)
    shape = list(type_.get_shape())
    if shape.count(DYNAMIC_INDEX) == 1 and 0 not in shape:
        shape[shape.index(DYNAMIC_INDEX)] = -1
    else:
        graph.result_shape(op)
    return graph.reshape(graph.tensor(op.operands[0]), shape)


def batch_flatten(graph: OutputGraph, op: reshape.BatchFlattenOp) -> Tensor:
    """Flatten."""
    return graph.node("Flatten", graph.tensor(op.data), axis=1)


def squeeze(graph: OutputGraph, op: reshape.SqueezeOp) -> Tensor:
    """Squeeze; the axes are stated."""
    shape = op.data.type.get_shape()
    if op.axis is None:
        axes = [axis for axis, dim in enumerate(shape) if dim == 1]
    else:
        axes = list(normalize_axes(op.axis.get_values(), len(shape)))
    data = graph.tensor(op.data)
    return graph.node("Squeeze", data, graph.integers(axes)) if axes else data


def expand_dims(graph: OutputGraph, op: reshape.ExpandDimsOp) -> Tensor:
    """Unsqueeze."""
    axis = normalize_axis(op.axis.value.data, op.data.type.get_num_dims() + 1)
    return graph.unsqueeze(graph.tensor(op.data), range(axis, axis + op.num_newaxis.value.data))


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


# Repetition


def filled_like(graph: OutputGraph, number: Tensor, value: SSAValue) -> Tensor:
    """A tensor with the shape of a value that repeats a scalar."""
    assert is_tensor_type(value.type)
    shape = value.type.get_shape()
    if DYNAMIC_INDEX in shape:
        return graph.node("Expand", number, graph.node("Shape", graph.tensor(value)))
    return graph.filled(number, shape)


def broadcast_to(graph: OutputGraph, op: transform.BroadcastToOp) -> Tensor:
    """Expand, in which a length of 1 keeps that of the data."""
    shape = [max(dim, 1) if dim < 0 else dim for dim in op.shape.get_values()]
    return graph.node("Expand", graph.tensor(op.data), graph.integers(shape))


def broadcast_to_like(graph: OutputGraph, op: like.BroadcastToLikeOp) -> Tensor:
    """Expand."""
    return filled_like(graph, graph.tensor(op.data), op.broadcast_type)


def tile(graph: OutputGraph, op: transform.TileOp) -> Tensor:
    """Tile, for which data and numbers have the same rank."""
    reps, rank = list(op.reps.get_values()), op.data.type.get_num_dims()
    data = graph.unsqueeze(graph.tensor(op.data), range(len(reps) - rank))
    reps = [1] * (rank - len(reps)) + reps
    return graph.node("Tile", data, graph.integers(reps)) if reps else data


def repeat(graph: OutputGraph, op: transform.RepeatOp) -> Tensor:
    """A new axis after the repeated one, tiled and merged."""
    shape, result = graph.shape(op.data), graph.result_shape(op)
    axis = normalize_axis(op.axis.value.data, len(shape))
    data = graph.unsqueeze(graph.tensor(op.data), [axis + 1])
    reps = [1] * (len(shape) + 1)
    reps[axis + 1] = op.repeats.value.data
    return graph.reshape(graph.node("Tile", data, graph.integers(reps)), result)


def zeros_or_ones(number: int) -> Emitter:
    """A tensor of one number."""

    def emit(graph: OutputGraph, op: creation.FilledOp) -> Tensor:
        dtype = dtype_of(op.result.type, "the result")
        return graph.filled(graph.scalar(number, dtype), op.shape.get_values())

    return emit


def zeros_or_ones_like(number: int) -> Emitter:
    """A tensor of one number with the type of another one."""

    def emit(graph: OutputGraph, op: creation.FilledLikeOp) -> Tensor:
        return filled_like(graph, graph.scalar(number, graph.tensor(op.data).dtype), op.data)

    return emit


def full(graph: OutputGraph, op: creation.FullOp) -> Tensor:
    """Expand of a scalar that is converted first."""
    number = converted(graph, graph.tensor(op.fill_value), dtype_of(op.result.type, "the result"))
    return graph.filled(number, op.shape.get_values())


def full_like(graph: OutputGraph, op: like.FullLikeOp) -> Tensor:
    """Expand of a scalar that is converted first."""
    number = converted(graph, graph.tensor(op.fill_value), graph.tensor(op.data).dtype)
    return filled_like(graph, number, op.data)


def arange(graph: OutputGraph, op: creation.ArangeOp) -> Tensor:
    """Range; of dtypes that it does not take, in a wider one."""
    numbers = list(map(graph.tensor, op.operands))
    dtype = numbers[0].dtype
    if not accepts("Range", dtype):
        wide = INT64 if dtype.kind in "iu" and dtype.itemsize < 8 else computing_dtype(dtype)
        numbers = [graph.cast(number, wide) for number in numbers]
    made = graph.cast(graph.node("Range", *numbers), dtype)
    return graph.cast(made, dtype_of(op.result.type, "the result"))


def meshgrid(graph: OutputGraph, op: reorder.MeshgridOp) -> Exported:
    """Each field as an axis of its own, expanded along the others."""
    fields = tuple_fields(op.data, "'data'")
    shape = [1] * len(fields)
    for i, field in enumerate(fields):
        if field.get_num_dims():
            shape[op.axis_of(i)] = field.get_shape()[0]
    if DYNAMIC_INDEX in shape:
        raise NotExpressible("a field of 'data' has an unknown length")
    result: list[Tensor] = []
    for i, tensor in enumerate(graph.tensors(op.data)):
        own = [shape[axis] if axis == op.axis_of(i) else 1 for axis in range(len(shape))]
        result.append(graph.node("Expand", graph.reshape(tensor, own), graph.integers(shape)))
    return tuple(result)


# Order and selection


def transpose(graph: OutputGraph, op: transform.TransposeOp) -> Tensor:
    """Transpose."""
    return graph.transpose(graph.tensor(op.data), op.permutation)


def concatenate(graph: OutputGraph, op: transform.ConcatenateOp) -> Tensor:
    """Concat."""
    return graph.node("Concat", *graph.tensors(op.data), axis=op.normalized_axis)


def stack(graph: OutputGraph, op: transform.StackOp) -> Tensor:
    """Concat of the fields with a new axis."""
    axis = op.normalized_axis
    fields = [graph.unsqueeze(field, [axis]) for field in graph.tensors(op.data)]
    return graph.node("Concat", *fields, axis=axis)


def split(graph: OutputGraph, op: transform.SplitOp) -> Exported:
    """Split into parts of stated lengths."""
    shape, axis, starts = graph.shape(op.data), op.normalized_axis, op.part_starts()
    lengths = [end - start for start, end in zip(starts, (*starts[1:], shape[axis]), strict=True)]
    inputs = graph.tensor(op.data), graph.integers(lengths)
    return graph.nodes_outputs("Split", *inputs, count=len(lengths), axis=axis)


def strided_slice(graph: OutputGraph, op: transform.StridedSliceOp) -> Tensor:
    """Slice of the axes of which a part is taken."""
    shape = op.data.type.get_shape()
    parts = [
        (axis, taken)
        for axis, (taken, dim) in enumerate(zip(op.slices, shape, strict=True))
        if (taken.start, taken.step, taken.length) != (0, 1, dim)
    ]
    if any(shape[axis] == DYNAMIC_INDEX for axis, _ in parts):
        graph.shape(op.data)
    starts = [taken.start if taken.length else 0 for _, taken in parts]
    ends = [taken.start + taken.step * taken.length if taken.length else 0 for _, taken in parts]
    # An end before the first element: negative numbers count from the end.
    ends = [
        -shape[axis] - 1 if end < 0 else end for end, (axis, _) in zip(ends, parts, strict=True)
    ]
    steps = [taken.step if taken.length else 1 for _, taken in parts]
    if not parts:
        return graph.tensor(op.data)
    numbers = starts, ends, [axis for axis, _ in parts], steps
    return graph.node("Slice", graph.tensor(op.data), *map(graph.integers, numbers))


def slice_like(graph: OutputGraph, op: like.SliceLikeOp) -> Tensor:
    """Slice of the first elements."""
    result, shape = graph.result_shape(op), op.data.type.get_shape()
    axes = [axis for axis, dim in enumerate(shape) if dim != result[axis]]
    if not axes:
        return graph.tensor(op.data)
    ends = [result[axis] for axis in axes]
    return graph.slice(graph.tensor(op.data), [0] * len(axes), ends, axes)


def reverse(graph: OutputGraph, op: reorder.ReverseOp) -> Tensor:
    """Slice from the end."""
    axes = op.reversed_axes
    if not axes:
        return graph.tensor(op.data)
    count, low = len(axes), np.iinfo(np.int64).min
    numbers = [-1] * count, [low] * count, axes, [-1] * count
    return graph.node("Slice", graph.tensor(op.data), *map(graph.integers, numbers))


def fifo_buffer(graph: OutputGraph, op: space.FifoBufferOp) -> Tensor:
    """The last elements of the buffer and the data together."""
    axis = op.normalized_axis
    length = graph.shape(op.buffer, "buffer")[axis]
    both = graph.node("Concat", graph.tensor(op.buffer), graph.tensor(op.data), axis=axis)
    pushed = graph.shape(op.data)[axis]
    return graph.slice(both, [pushed], [pushed + length], [axis])


def trilu(graph: OutputGraph, op: reorder.TriluOp) -> Tensor:
    """Trilu."""
    diagonal = as_i64(graph, graph.tensor(op.k), 2**31)
    return graph.node(
        "Trilu", graph.tensor(op.data), diagonal, upper=int(bool(op.upper.value.data))
    )


SHAPE_EMITTERS: EmitterTable = {
    creation.ArangeOp: arange,
    creation.FullOp: full,
    creation.OnesLikeOp: zeros_or_ones_like(1),
    creation.OnesOp: zeros_or_ones(1),
    creation.ZerosLikeOp: zeros_or_ones_like(0),
    creation.ZerosOp: zeros_or_ones(0),
    like.BroadcastToLikeOp: broadcast_to_like,
    like.FullLikeOp: full_like,
    like.NdarraySizeOp: size_of,
    like.ReshapeLikeOp: reshaped,
    like.ShapeOfOp: shape_of,
    like.SliceLikeOp: slice_like,
    space.FifoBufferOp: fifo_buffer,
    reorder.MeshgridOp: meshgrid,
    reorder.ReverseOp: reverse,
    reorder.TriluOp: trilu,
    reshape.BatchFlattenOp: batch_flatten,
    reshape.ExpandDimsOp: expand_dims,
    reshape.ReshapeOp: reshaped,
    reshape.ReverseReshapeOp: reshaped,
    reshape.SqueezeOp: squeeze,
    transform.BroadcastToOp: broadcast_to,
    transform.ConcatenateOp: concatenate,
    transform.RepeatOp: repeat,
    transform.SplitOp: split,
    transform.StackOp: stack,
    transform.StridedSliceOp: strided_slice,
    transform.TileOp: tile,
    transform.TransposeOp: transpose,
}
