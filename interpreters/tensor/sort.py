"""Sorting, searching and accumulating in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import sort
from xrelay.interpreters.arrays import Array, DType, counting, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert, is_float, narrow, quiet, wide_dtype, widen

INDEX: DType = np.dtype(np.int32)


def order_keys(data: Array) -> Array:
    """Integers with the order of the elements: NaN above all numbers, zeros of both signs equal."""
    if not is_float(data.dtype):
        return data.astype(np.uint8) if data.dtype == np.bool_ else data
    wide: Array = np.where(data == 0, 0, widen(data)).astype(wide_dtype(data.dtype))
    bits = wide.view(f"i{wide.itemsize}")
    flipped: Array = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
    return np.where(np.isnan(wide), np.iinfo(bits.dtype).max, flipped)


def _sorted_order(op: sort.SortOp | sort.ArgsortOp | sort.TopkOp, data: Array) -> Array:
    """Indices along an axis that put the elements in order; equal ones keep theirs."""
    keys = order_keys(data)
    if not op.is_ascend.value.data:
        keys = np.invert(keys)  # The complement of an integer has the opposite order.
    return np.argsort(keys, axis=op.normalized_axis, kind="stable")


def _searchsorted(op: sort.SearchsortedOp, sequence: Array, values: Array) -> Array:
    side = "right" if op.right.value.data else "left"
    keys, wanted = order_keys(sequence), order_keys(values)
    if keys.ndim == 1:
        return np.searchsorted(keys, wanted, side)
    rows = keys.reshape(-1, keys.shape[-1]) if keys.shape[-1] else np.empty((0, 0))
    result = np.zeros(values.shape, np.int64)
    flat = result.reshape(-1, values.shape[-1]) if values.size else result
    for i, row in enumerate(rows if values.size else rows[:0]):
        flat[i] = np.searchsorted(row, wanted.reshape(flat.shape)[i], side)
    return result


def _places(condition: Array) -> Array:
    """The coordinates of the elements that are not 0."""
    found = np.argwhere(np.atleast_1d(condition != 0))
    return found[:, : condition.ndim].astype(INDEX)


@quiet
def _scan(
    op: sort.ScanOp, function: Callable[[Array, Array], Array], start: int, x: Array
) -> Array:
    dtype = x.dtype if op.dtype is None else dtype_of(op.dtype)
    axis = 0 if op.axis is None else op.axis.value.data
    data = convert(x if op.axis is not None else x.reshape(-1), dtype)
    rows = np.moveaxis(data, axis, 0)
    result = np.empty(rows.shape, dtype)
    total = widen(np.full(rows.shape[1:], start, dtype))
    for i, row in enumerate(rows):
        following = function(total, widen(row)).astype(total.dtype)
        result[i] = narrow(total if op.exclusive.value.data else following, dtype)
        total = following
    return np.moveaxis(result, 0, axis)


@register_impls
class SortFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.sort`."""

    @meaning
    def run_sort(self, op: sort.SortOp, data: Array) -> Array:
        return np.take_along_axis(data, _sorted_order(op, data), op.normalized_axis)

    @meaning
    def run_argsort(self, op: sort.ArgsortOp, data: Array) -> Array:
        dtype = INDEX if op.dtype is None else dtype_of(op.dtype)
        return convert(_sorted_order(op, data), dtype)

    @meaning
    def run_topk(self, op: sort.TopkOp, data: Array) -> Any:
        dtype = INDEX if op.dtype is None else dtype_of(op.dtype)
        order = _sorted_order(op, data)
        # A `k` below 1 takes all elements.
        if op.k is not None and op.k.value.data >= 1:
            order = order.take(range(op.k.value.data), op.normalized_axis)
        values, indices = np.take_along_axis(data, order, op.normalized_axis), convert(order, dtype)
        match op.ret_type.data:
            case "values":
                return values
            case "indices":
                return indices
            case _:
                return values, indices

    @meaning
    def run_searchsorted(self, op: sort.SearchsortedOp, sequence: Array, values: Array) -> Array:
        found: Array = np.asarray(_searchsorted(op, sequence, values))
        return convert(found, dtype_of(op.dtype))

    @meaning
    def run_unique(self, op: sort.UniqueOp, data: Array) -> tuple[Array, ...]:
        _, first, inverse, count = np.unique(
            order_keys(data), return_index=True, return_inverse=True, return_counts=True
        )
        inverse = inverse.reshape(-1)
        if not op.sorted.value.data:
            order = np.argsort(first)
            rank = np.empty_like(order)
            rank[order] = counting(len(order))
            first, count, inverse = first[order], count[order], rank[inverse]

        def padded(values: Array, dtype: DType) -> Array:
            result = np.zeros(len(data), dtype)
            result[: len(first)] = values
            return result

        fields = [padded(data[first], data.dtype), padded(first, INDEX), inverse.astype(INDEX)]
        fields.append(np.array([len(first)], INDEX))
        return (*fields, padded(count, INDEX)) if op.return_counts.value.data else tuple(fields)

    @meaning
    def run_argwhere(self, op: sort.ArgwhereOp, *args: Array) -> Array:
        condition: Array = args[0]
        return _places(condition)

    @meaning
    def run_bounded_argwhere(self, op: sort.BoundedArgwhereOp, *args: Array) -> tuple[Array, Array]:
        condition: Array = args[0]
        places = _places(condition)
        rows = np.zeros((condition.size, condition.ndim), INDEX)
        rows[: len(places)] = places
        return rows, np.array([len(places)], INDEX)

    @meaning
    def run_cumsum(self, op: sort.CumsumOp, data: Array) -> Array:
        return _scan(op, np.add, 0, data)

    @meaning
    def run_cumprod(self, op: sort.CumprodOp, data: Array) -> Array:
        return _scan(op, np.multiply, 1, data)
