"""Emitters of sorting, selection by size, and sums of beginnings."""

from xrelay.dialects.shapes import element_count, normalize_axis
from xrelay.dialects.tensor import sort
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    INT32,
    INT64,
    EmitterTable,
    Exported,
    OutputGraph,
    Tensor,
    accepts,
    dtype_of,
    element_dtype,
)


def _top(
    graph: OutputGraph, op: sort.SortFamilyOp | sort.TopkOp, count: int = 0
) -> tuple[Tensor, Tensor]:
    """
    TopK: the first elements in order and their indices, of all where `count` is below 1. Of equal
    ones the first comes first.
    """
    data, axis = graph.tensor(op.data), op.normalized_axis
    if count < 1:
        count = graph.shape(op.data)[axis]
    largest = 0 if op.is_ascend.value.data else 1
    values, indices = graph.nodes_outputs(
        "TopK", data, graph.integers([count]), count=2, axis=axis, largest=largest
    )
    return values, indices


def topk(graph: OutputGraph, op: sort.TopkOp) -> Exported:
    """TopK."""
    values, indices = _top(graph, op, 0 if op.k is None else op.k.value.data)
    indices = graph.cast(indices, INT32 if op.dtype is None else element_dtype(op.dtype, "'dtype'"))
    match op.ret_type.data:
        case "values":
            return values
        case "indices":
            return indices
        case _:
            return values, indices


def sorted_elements(graph: OutputGraph, op: sort.SortOp) -> Tensor:
    """TopK of all elements."""
    return _top(graph, op)[0]


def argsort(graph: OutputGraph, op: sort.ArgsortOp) -> Tensor:
    """The indices of TopK of all elements."""
    return graph.cast(_top(graph, op)[1], dtype_of(op.result.type, "the result"))


def argwhere(graph: OutputGraph, op: sort.ArgwhereOp) -> Tensor:
    """NonZero, transposed."""
    if not op.condition.type.get_num_dims():
        raise NotExpressible("'condition' is a scalar")
    found = graph.node("NonZero", graph.tensor(op.condition))
    return graph.cast(graph.transpose(found, (1, 0)), INT32)


def cumsum(graph: OutputGraph, op: sort.CumsumOp) -> Tensor:
    """CumSum; narrow integers are summed as wider ones, of whose sums the low bits are kept."""
    dtype = dtype_of(op.result.type, "the result")
    data, axis = graph.cast(graph.tensor(op.data), dtype), op.axis
    if axis is None:
        data, place = graph.reshape(data, [element_count(graph.shape(op.data))]), 0
    else:
        place = normalize_axis(axis.value.data, op.data.type.get_num_dims())
    narrow = dtype.kind in "iu" and not accepts("CumSum", dtype)
    wide = graph.cast(data, INT32) if narrow else data
    exclusive = 1 if op.exclusive.value.data else None
    sums = graph.node("CumSum", wide, graph.scalar(place, INT64), exclusive=exclusive)
    return graph.cast(sums, dtype)


EMITTERS: EmitterTable = {
    sort.ArgsortOp: argsort,
    sort.ArgwhereOp: argwhere,
    sort.CumsumOp: cumsum,
    sort.SortOp: sorted_elements,
    sort.TopkOp: topk,
}
