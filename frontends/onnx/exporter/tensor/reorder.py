"""Emitters of operators whose elements come from other places of one tensor."""

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from xrelay.dialects.shapes import tuple_fields
from xrelay.dialects.tensor import reorder
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import INT64, EmitterTable, Exported, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.numbers import as_i64, rounded


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


def reverse(graph: OutputGraph, op: reorder.ReverseOp) -> Tensor:
    """Slice from the end."""
    axes = op.reversed_axes
    if not axes:
        return graph.tensor(op.data)
    count, low = len(axes), np.iinfo(np.int64).min
    numbers = [-1] * count, [low] * count, axes, [-1] * count
    return graph.node("Slice", graph.tensor(op.data), *map(graph.integers, numbers))


def trilu(graph: OutputGraph, op: reorder.TriluOp) -> Tensor:
    """Trilu."""
    diagonal = as_i64(graph, graph.tensor(op.k), 2**31)
    return graph.node(
        "Trilu", graph.tensor(op.data), diagonal, upper=int(bool(op.upper.value.data))
    )


def sliding_window(graph: OutputGraph, op: reorder.SlidingWindowOp) -> Tensor:
    """Gather of the windows of each axis, then the axes of the windows last."""
    shape, first, data = graph.shape(op.data), op.normalized_axis, graph.tensor(op.data)
    axes = len(shape) - first
    numbers = zip(op.window_shape.get_values(), op.strides.get_values(), strict=True)
    for i, (window, stride) in enumerate(numbers):
        starts = np.arange((shape[first + i] - window) // stride + 1, dtype=np.int64) * stride
        places = starts[:, None] + np.arange(window, dtype=np.int64)
        data = graph.node("Gather", data, graph.constant(places), axis=first + 2 * i)
    ends = range(first, first + 2 * axes)
    return graph.transpose(data, [*range(first), *ends[::2], *ends[1::2]])


def reverse_sequence(graph: OutputGraph, op: reorder.ReverseSequenceOp) -> Tensor:
    """ReverseSequence, whose axes are the first two."""
    sequence, batch = op.axes
    shape = graph.shape(op.data)
    if sequence == batch:
        raise NotExpressible(f"'seq_axis' and 'batch_axis' are both {batch}")
    if 0 in shape:
        return graph.tensor(op.data)
    lengths = as_i64(graph, graph.tensor(op.seq_lengths), shape[sequence])
    # A sequence of one element is reversed as one of none is.
    lengths = graph.node(
        "Clip", lengths, graph.scalar(1, INT64), graph.scalar(shape[sequence], INT64)
    )
    data, order = graph.tensor(op.data), list(range(len(shape)))
    if {sequence, batch} != {0, 1}:
        order = [sequence, batch, *(axis for axis in order if axis not in (sequence, batch))]
        sequence, batch = 0, 1
    moved = graph.node(
        "ReverseSequence",
        graph.transpose(data, order),
        lengths,
        time_axis=sequence,
        batch_axis=batch,
    )
    return graph.transpose(moved, [order.index(axis) for axis in range(len(order))])


def sequence_mask(graph: OutputGraph, op: reorder.SequenceMaskOp) -> Tensor:
    """Where, with places that are compared with the lengths."""
    data, lengths = graph.tensor(op.data), graph.tensor(op.valid_length)
    shape, axis = graph.shape(op.data), op.axis.value.data
    rank = len(shape)
    places = graph.cast(graph.constant(np.arange(shape[axis])), lengths.dtype)
    inside = graph.node(
        "Less", graph.along(places, axis, rank), graph.along(lengths, 1 - axis, rank)
    )
    number = graph.scalar(rounded(op.mask_value.value.data, data.dtype), data.dtype)
    return graph.node("Where", inside, data, number)


EMITTERS: EmitterTable = {
    reorder.MeshgridOp: meshgrid,
    reorder.ReverseOp: reverse,
    reorder.TriluOp: trilu,
    reorder.ReverseSequenceOp: reverse_sequence,
    reorder.SequenceMaskOp: sequence_mask,
    reorder.SlidingWindowOp: sliding_window,
}
