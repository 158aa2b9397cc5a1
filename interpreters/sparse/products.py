"""Sparse matrices in NumPy: they are written out as dense ones."""

from itertools import pairwise

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.sparse import products as sparse
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.numerics import narrow, quiet, widen


def _row_limits(indptr: Array, count: int) -> list[tuple[int, int]]:
    """The elements of each row, of `count` in all."""
    places = [min(max(int(place), 0), count) for place in indptr]
    return [(start, max(start, stop)) for start, stop in pairwise(places)]


def _dense(data: Array, indices: Array, indptr: Array, columns: int) -> Array:
    """A sparse matrix with `columns` columns, in the type in which operators compute."""
    height, width = (*data.shape[1:], 1, 1)[:2]
    blocks = widen(data).reshape(len(data), height, width)
    limits = _row_limits(indptr, len(data))
    result = np.zeros((len(limits), columns // width, height, width), blocks.dtype)
    for row, (start, stop) in enumerate(limits):
        for e in range(start, stop) if columns else ():
            result[row, min(max(int(indices[e]), 0), columns // width - 1)] += blocks[e]
    return result.transpose(0, 2, 1, 3).reshape(len(limits) * height, columns)


def _product(op: sparse.SparseProductOp, args: PythonValues) -> PythonValues:
    dense = widen(args[0])
    matrix = _dense(args[1], args[2], args[3], dense.shape[1])
    product = np.matmul(dense, matrix.T)
    return (narrow(product.T if op.sparse_lhs.value.data else product, args[0].dtype),)


@register_impls
class SparseFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.sparse.products`."""

    @impl(sparse.SparseDenseOp)
    @quiet
    def run_sparse_dense(
        self, interpreter: Interpreter, op: sparse.SparseDenseOp, args: PythonValues
    ) -> PythonValues:
        return _product(op, args)

    @impl(sparse.InternalSparseDensePaddedOp)
    @quiet
    def run_sparse_dense_padded(
        self,
        interpreter: Interpreter,
        op: sparse.InternalSparseDensePaddedOp,
        args: PythonValues,
    ) -> PythonValues:
        return _product(op, args)

    @impl(sparse.SparseConv2DOp)
    @quiet
    def run_sparse_conv2d(
        self, interpreter: Interpreter, op: sparse.SparseConv2DOp, args: PythonValues
    ) -> PythonValues:
        pixels = np.moveaxis(widen(args[0]), op.channel_axis, -1)
        matrix = _dense(args[1], args[2], args[3], pixels.shape[-1])
        result = np.moveaxis(np.matmul(pixels, matrix.T), -1, op.channel_axis)
        return (narrow(result, args[0].dtype),)

    @impl(sparse.SparseAddOp)
    @quiet
    def run_sparse_add(
        self, interpreter: Interpreter, op: sparse.SparseAddOp, args: PythonValues
    ) -> PythonValues:
        dense = widen(args[0])
        matrix = _dense(args[1], args[2], args[3], dense.shape[1])
        return (narrow(dense + matrix, args[0].dtype),)

    @impl(sparse.SparseTransposeOp)
    def run_sparse_transpose(
        self, interpreter: Interpreter, op: sparse.SparseTransposeOp, args: PythonValues
    ) -> PythonValues:
        data, indices, indptr = args
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
        return (results,)
