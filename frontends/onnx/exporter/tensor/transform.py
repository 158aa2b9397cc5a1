"""Emitters of operators that move, repeat or join elements."""

from xdsl.dialects.builtin import DYNAMIC_INDEX

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor import transform
from xrelay.frontends.onnx.exporter.graph import BOOL, EmitterTable, Exported, OutputGraph, Tensor


def broadcast_to(graph: OutputGraph, op: transform.BroadcastToOp) -> Tensor:
    """Expand, in which a length of 1 keeps that of the data."""
    shape = [max(dim, 1) if dim < 0 else dim for dim in op.shape.get_values()]
    return graph.node("Expand", graph.tensor(op.data), graph.integers(shape))


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


def where(graph: OutputGraph, op: transform.WhereOp) -> Tensor:
    """Where, whose condition is made of bools."""
    condition, x, y = map(graph.tensor, op.operands)
    return graph.node("Where", graph.cast(condition, BOOL), x, y)


EMITTERS: EmitterTable = {
    transform.BroadcastToOp: broadcast_to,
    transform.ConcatenateOp: concatenate,
    transform.RepeatOp: repeat,
    transform.SplitOp: split,
    transform.StackOp: stack,
    transform.StridedSliceOp: strided_slice,
    transform.TileOp: tile,
    transform.TransposeOp: transpose,
    transform.WhereOp: where,
}
