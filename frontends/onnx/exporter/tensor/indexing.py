"""
Emitters of operators with indices. Relay moves the indices that it reads at into the range of their
axis; ONNX leaves others open, so they are moved before, unless they are constants in range.
"""

from functools import partial

import numpy as np

from xrelay.dialects.shapes import element_count, tuple_fields
from xrelay.dialects.tensor import indexing
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import BOOL, INT64, EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.numbers import as_i64, converted


def in_range(graph: OutputGraph, indices: Tensor, length: int, mode: str = "clip") -> Tensor:
    """Indices of i64 on an axis: the nearest ones in range, or taken modulo the length ("wrap")."""
    known = graph.known(indices)
    if known is not None and bool(np.all((known >= 0) & (known < length))):
        return graph.cast(indices, INT64)
    if mode == "wrap":
        wide = indices if indices.dtype == np.uint64 else graph.cast(indices, INT64)
        return graph.cast(graph.node("Mod", wide, graph.scalar(length, wide.dtype)), INT64)
    indices = as_i64(graph, indices, length)
    return graph.node("Clip", indices, graph.scalar(0, INT64), graph.scalar(length - 1, INT64))


def take(graph: OutputGraph, op: indexing.TakeOp) -> Tensor:
    """Gather; with batches, GatherND."""
    data, indices = graph.tensor(op.data), graph.tensor(op.indices)
    axis, batch, shape = op.normalized_axis, op.batch_dims.value.data, op.data.type.get_shape()
    if axis is None:
        shape = (element_count(graph.shape(op.data)),)
        data, axis = graph.reshape(data, shape), 0
    if shape[axis] < 0:
        graph.shape(op.data)
    if shape[axis] == 0 or 0 in op.result.type.get_shape():
        return graph.zeros(op, data.dtype)
    indices = in_range(graph, indices, shape[axis], op.mode.data)
    if not batch:
        return graph.node("Gather", data, indices, axis=axis)
    # The taken axis goes behind the batch, and the axes that take its place back from there.
    rank, count = len(shape), op.indices.type.get_num_dims() - batch
    others = range(batch, axis)
    data = graph.transpose(data, [*range(batch), axis, *others, *range(axis + 1, rank)])
    taken = graph.node(
        "GatherND", data, graph.unsqueeze(indices, [batch + count]), batch_dims=batch
    )
    moved = range(batch, batch + count)
    place = batch + count
    order = [*range(batch), *range(place, place + len(others)), *moved]
    return graph.transpose(taken, [*order, *range(place + len(others), rank - 1 + count)])


def gather(graph: OutputGraph, op: indexing.GatherOp) -> Tensor:
    """GatherElements."""
    data, axis = graph.tensor(op.data), op.normalized_axis
    if 0 in graph.result_shape(op):
        # No index is read.
        return graph.zeros(op, data.dtype)
    indices = in_range(graph, graph.tensor(op.indices), graph.shape(op.data)[axis])
    return graph.node("GatherElements", data, indices, axis=axis)


def _numbers_last(graph: OutputGraph, indices: Tensor, rank: int) -> Tensor:
    """Indices [M, Y...] as ONNX has them: [Y..., M]."""
    return graph.transpose(as_i64(graph, indices, 2**62), [*range(1, rank), 0])


def gather_nd(graph: OutputGraph, op: indexing.GatherNDOp) -> Tensor:
    """GatherND, whose indices have the numbers of an element last."""
    data, shape, batch = graph.tensor(op.data), graph.shape(op.data), op.batch_dims.value.data
    count, *_ = graph.shape(op.indices, "indices")
    if not count:
        raise NotExpressible("'indices' names no axis")
    if 0 in graph.result_shape(op):
        # No index is read.
        return graph.zeros(op, data.dtype)
    indices = _numbers_last(graph, graph.tensor(op.indices), op.indices.type.get_num_dims())
    last = [length - 1 for length in shape[batch : batch + count]]
    indices = graph.node("Max", indices, graph.scalar(0, INT64))
    indices = graph.node("Min", indices, graph.integers(last))
    return graph.node("GatherND", data, indices, batch_dims=batch or None)


def adv_index(graph: OutputGraph, op: indexing.AdvIndexOp) -> Tensor:
    """GatherND at the index tensors, side by side."""
    data, *indices = graph.tensors(op.inputs)
    type_, *_ = tuple_fields(op.inputs, "'inputs'")
    if -1 in type_.get_shape() or any(dim < 0 for dim in type_.get_shape()):
        raise NotExpressible("a field of 'inputs' has an unknown dimension")
    if 0 in graph.result_shape(op):
        # No index is read.
        return graph.zeros(op, data.dtype)
    shape = op.index_shape()
    columns = [
        graph.unsqueeze(
            graph.node("Expand", in_range(graph, each, length), graph.integers(shape)),
            [len(shape)],
        )
        for each, length in zip(indices, type_.get_shape(), strict=False)
    ]
    return graph.node("GatherND", data, graph.node("Concat", *columns, axis=len(shape)))


def _require_reduction(data: Tensor, reduction: str | None) -> None:
    if data.dtype == BOOL and reduction == "add":
        raise NotExpressible("its elements are bools, whose sums modulo 2 ONNX does not have")


def scatter(reduction: str | None, graph: OutputGraph, op: indexing.ElementScatterOp) -> Tensor:
    """ScatterElements."""
    data, updates = graph.tensor(op.data), graph.tensor(op.updates)
    _require_reduction(data, reduction)
    indices = as_i64(graph, graph.tensor(op.indices), 2**62)
    if 0 in op.indices.type.get_shape():
        return data
    axis = op.normalized_axis
    return graph.node("ScatterElements", data, indices, updates, axis=axis, reduction=reduction)


def scatter_nd(graph: OutputGraph, op: indexing.ScatterNDOp) -> Tensor:
    """ScatterND, whose indices have the numbers of an element last."""
    count, *places = graph.shape(op.indices, "indices")
    if not count:
        raise NotExpressible("'indices' names no axis")
    data = graph.tensor(op.data)
    mode = None if op.mode.data == "update" else op.mode.data
    _require_reduction(data, mode)
    if not element_count(graph.shape(op.updates, "updates")):
        return data
    indices = _numbers_last(graph, graph.tensor(op.indices), len(places) + 1)
    return graph.node("ScatterND", data, indices, graph.tensor(op.updates), reduction=mode)


def sparse_to_dense(graph: OutputGraph, op: indexing.SparseToDenseOp) -> Tensor:
    """ScatterND into a tensor of the default value."""
    shape = op.output_shape.get_values()
    indices = graph.shape(op.sparse_indices, "sparse_indices")
    count = indices[0] if indices else 1
    values = graph.tensor(op.sparse_values)
    whole = graph.filled(converted(graph, graph.tensor(op.default_value), values.dtype), shape)
    if not count:
        return whole
    known = graph.known(graph.tensor(op.sparse_indices))
    if known is None or not bool(np.all((known >= 0) & (known < np.array(shape)))):
        raise NotExpressible(
            "'sparse_indices' is not a constant in range: ONNX has no such scatter"
        )
    places = graph.reshape(graph.cast(graph.tensor(op.sparse_indices), INT64), [count, len(shape)])
    updates = graph.node("Expand", values, graph.integers([count]))
    return graph.node("ScatterND", whole, places, updates)


EMITTERS: EmitterTable = {
    indexing.AdvIndexOp: adv_index,
    indexing.GatherOp: gather,
    indexing.ScatterAddOp: partial(scatter, "add"),
    indexing.ScatterNDOp: scatter_nd,
    indexing.ScatterOp: partial(scatter, None),
    indexing.SparseToDenseOp: sparse_to_dense,
    indexing.GatherNDOp: gather_nd,
    indexing.TakeOp: take,
}
