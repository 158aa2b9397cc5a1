"""Sparse matrices in NumPy: they are written out as dense ones."""

from itertools import pairwise

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.sparse import products as sparse
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import by, meaning
from xrelay.interpreters.numerics import narrow, widen


def _row_limits(indptr: Array, count: int) -> list[tuple[int, int]]:
    """The elements of each row, of `count` in all."""
    places = [min(max(int(place), 0), count) for place in indptr]
    return [(start, max(start, stop)) for start, stop in pairwise(places)]


def _dense(columns: int, data: Array, indices: Array, indptr: Array) -> Array:
    """A sparse matrix with `columns` columns, in the type in which operators compute."""
    height, width = (*data.shape[1:], 1, 1)[:2]
    blocks = widen(data).reshape(len(data), height, width)
    limits = _row_limits(indptr, len(data))
    result = np.zeros((len(limits), columns // width, height, width), blocks.dtype)
    for row, (start, stop) in enumerate(limits):
        for e in range(start, stop) if columns else ():
            result[row, min(max(int(indices[e]), 0), columns // width - 1)] += blocks[e]
    return result.transpose(0, 2, 1, 3).reshape(len(limits) * height, columns)


def _product(op: sparse.SparseProductOp, dense_data: Array, *sparse_matrix: Array) -> Array:
    dense = widen(dense_data)
    product = np.matmul(dense, _dense(dense.shape[1], *sparse_matrix).T)
    return narrow(product.T if op.sparse_lhs.value.data else product, dense_data.dtype)


@register_impls
class SparseFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.sparse.products`."""

    run_sparse_dense = by(sparse.SparseDenseOp, _product)
    run_sparse_dense_padded = by(sparse.InternalSparseDensePaddedOp, _product)

    @meaning
    def run_sparse_conv2d(
        self, op: sparse.SparseConv2DOp, dense_data: Array, *sparse_matrix: Array
    ) -> Array:
        pixels = np.moveaxis(widen(dense_data), op.channel_axis, -1)
        matrix = _dense(pixels.shape[-1], *sparse_matrix)
        result = np.moveaxis(np.matmul(pixels, matrix.T), -1, op.channel_axis)
        return narrow(result, dense_data.dtype)

    @meaning
    def run_sparse_add(
        self, op: sparse.SparseAddOp, dense_data: Array, *sparse_matrix: Array
    ) -> Array:
        dense = widen(dense_data)
        return narrow(dense + _dense(dense.shape[1], *sparse_matrix), dense_data.dtype)

    @meaning
    def run_sparse_transpose(
        self, op: sparse.SparseTransposeOp, data: Array, indices: Array, indptr: Array
    ) -> tuple[Array, ...]:
        size, count = len(indptr) - 1, len(data)
        results = np.zeros_like(data), np.zeros_like(indices), np.zeros_like(indptr)
        columns = np.clip(indices.astype(np.int64), 0, max(size - 1, 0))
        if size:
            ends = np.cumsum(np.bincount(columns, minlength=size)[:size])
            results[2][1:] = ends
            following = np.concatenate([[0], ends[:-1]])
            for row, (start, stop) in enumerate(_row_limits(indptr, count)):
                for e in range(start, stop):
                    place = min(int(following[columns[e]]), count - 1)
                    following[columns[e]] += 1
                    results[0][place], results[1][place] = data[e], row
        return results
