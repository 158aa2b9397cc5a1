"""Emitters of operators that change the shape only."""

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from xrelay.dialects.shapes import is_tensor_type, normalize_axes, normalize_axis
from xrelay.dialects.tensor import like, reshape
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor


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


EMITTERS: EmitterTable = {
    like.ReshapeLikeOp: reshaped,
    reshape.BatchFlattenOp: batch_flatten,
    reshape.ExpandDimsOp: expand_dims,
    reshape.ReshapeOp: reshaped,
    reshape.ReverseReshapeOp: reshaped,
    reshape.SqueezeOp: squeeze,
}
