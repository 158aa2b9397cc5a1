"""Operators that read or write elements at indices that are elements of other tensors, in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import InterpreterFunctions, PythonValues, register_impls

from xrelay.dialects.tensor import indexing
from xrelay.interpreters.arrays import Array, along, counting
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert, narrow, quiet, widen

COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def positions_on_axis(indices: Array, length: int, mode: str) -> Array:
    """`indices` as positions on an axis of `length` elements."""
    if indices.dtype == np.uint64:
        indices = indices % np.uint64(length) if mode == "wrap" else np.minimum(indices, length)
    indices = indices.astype(np.int64)
    return indices % length if mode == "wrap" else np.clip(indices, 0, length - 1)


def _take(data: Array, indices: Array, axis: int, batch: int, mode: str) -> Array:
    """`relay.take` with an axis."""
    shape = data.shape[:axis] + indices.shape[batch:] + data.shape[axis + 1 :]
    if 0 in shape:
        return np.empty(shape, data.dtype)
    positions = positions_on_axis(indices, data.shape[axis], mode)
    # The taken axes come to stand after the batch, before the axes of `data` that precede `axis`.
    grid = _batch_grid(indices.shape, batch)
    taken = np.asarray(np.moveaxis(data, axis, batch)[(*grid, positions)])
    rank = indices.ndim
    return np.moveaxis(taken, range(batch, rank), range(axis, axis + rank - batch))


def _gather_nd(data: Array, indices: Array, batch: int) -> Array:
    count, *positions = indices.shape
    shape = (*positions, *data.shape[count + batch :])
    if 0 in shape:
        return np.empty(shape, data.dtype)
    index = [positions_on_axis(indices[i], data.shape[batch + i], "clip") for i in range(count)]
    return np.broadcast_to(data[(*_batch_grid(positions, batch), *index)], shape)


def _batch_grid(shape: tuple[int, ...] | list[int], batch: int) -> tuple[Array, ...]:
    """For each of the first `batch` axes of `shape`, its positions, broadcastable to `shape`."""
    return tuple(along(np.arange(shape[axis]), axis, len(shape)) for axis in range(batch))


def from_the_end(indices: Array, length: int) -> tuple[Array, Array]:
    """Indices of which negative ones count from the end, and which of them are in range."""
    unsigned = indices.dtype == np.uint64
    small = np.minimum(indices, length).astype(np.int64) if unsigned else indices.astype(np.int64)
    places = np.where(small < 0, small + length, small)
    return places, (places >= 0) & (places < length)


@quiet
def scatter(
    data: Array, places: Sequence[Array], inside: Array, updates: Array, mode: str
) -> Array:
    """
    `data` with `updates` [N..., X...] at places [N...] of its first axes, as far as they are inside,
    combined one after the other. 16-bit floating point is rounded after each.
    """
    result = np.array(data)
    rows = np.argwhere(inside)
    for row in rows.tolist():
        at = tuple(int(place[tuple(row)]) for place in places)
        update = updates[tuple(row)]
        if mode != "update":
            update = narrow(COMBINE[mode](widen(result[at]), widen(np.asarray(update))), data.dtype)
        result[at] = update
    return result


def _scatter_elements(op: indexing.ElementScatterOp, args: PythonValues, mode: str) -> Array:
    data, indices, updates = args
    if 0 in indices.shape:
        return np.array(data)
    axis = op.normalized_axis
    places, inside = from_the_end(indices, data.shape[axis])
    grid = [np.broadcast_to(g, indices.shape) for g in np.ogrid[tuple(map(slice, indices.shape))]]
    grid[axis] = places
    return scatter(data, grid, inside, updates, mode)


@register_impls
class IndexingFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.indexing`."""

    @meaning
    def run_gather(self, op: indexing.GatherOp, data: Array, indices: Array) -> Array:
        if 0 in indices.shape:
            return np.empty(indices.shape, data.dtype)
        axis = op.normalized_axis
        grid: list[Array] = list(np.ogrid[tuple(slice(dim) for dim in indices.shape)])
        grid[axis] = positions_on_axis(indices, data.shape[axis], "clip")
        return data[tuple(grid)]

    @meaning
    def run_adv_index(self, op: indexing.AdvIndexOp, inputs: Sequence[Array]) -> Array:
        data, *indices = inputs
        shape = (*np.broadcast_shapes(*(i.shape for i in indices)), *data.shape[len(indices) :])
        if 0 in shape:
            return np.empty(shape, data.dtype)
        pairs = zip(indices, data.shape, strict=False)
        return data[tuple(positions_on_axis(i, dim, "clip") for i, dim in pairs)]

    @meaning
    def run_scatter(self, op: indexing.ScatterOp, *args: Array) -> Array:
        return _scatter_elements(op, args, "update")

    @meaning
    def run_scatter_add(self, op: indexing.ScatterAddOp, *args: Array) -> Array:
        return _scatter_elements(op, args, "add")

    @meaning
    def run_scatter_nd(
        self, op: indexing.ScatterNDOp, data: Array, indices: Array, updates: Array
    ) -> Array:
        found = [from_the_end(i, dim) for i, dim in zip(indices, data.shape, strict=False)]
        inside = np.ones(indices.shape[1:], bool)
        for _, own in found:
            inside = inside & own
        places = [place for place, _ in found]
        return scatter(data, places, inside, updates, op.mode.data)

    @meaning
    def run_strided_set(
        self,
        op: indexing.StridedSetOp,
        data: Array,
        v: Array,
        begin: Array,
        end: Array,
        strides: Array,
    ) -> Array:
        result = np.array(data)
        grid: list[Array] = []
        source: list[Array] = []
        for axis, dim in enumerate(data.shape):
            first, last, step = (
                int(numbers[axis]) if axis < len(numbers) else None
                for numbers in (begin, end, strides)
            )
            taken = counting(dim)
            taken = taken[:0] if step == 0 else taken[first:last:step]
            grid.append(taken)
            source.append(np.minimum(counting(len(taken)), v.shape[axis] - 1))
        if v.size:
            result[np.ix_(*grid)] = v[np.ix_(*source)]
        return result

    @meaning
    def run_sparse_to_dense(
        self, op: indexing.SparseToDenseOp, indices: Array, values: Array, default: Array
    ) -> Array:
        shape = op.output_shape.get_values()
        result = np.full(shape, convert(default, values.dtype), values.dtype)
        count = indices.shape[0] if indices.ndim else 1
        rows = indices.reshape(count, len(shape))
        values = np.broadcast_to(values, (len(rows),))
        for row, value in zip(rows.tolist(), values, strict=True):
            if all(0 <= i < dim for i, dim in zip(row, shape, strict=True)):
                result[tuple(row)] = value
        return result

    @meaning
    def run_take(self, op: indexing.TakeOp, data: Array, indices: Array) -> Array:
        axis = op.normalized_axis
        if axis is None:
            data, axis = data.reshape(-1), 0
        return _take(data, indices, axis, op.batch_dims.value.data, op.mode.data)

    @meaning
    def run_gather_nd(self, op: indexing.GatherNDOp, data: Array, indices: Array) -> Array:
        return _gather_nd(data, indices, op.batch_dims.value.data)
