"""Operators on the coordinates of sparse tensors in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.sparse import coordinates as sparse_coordinates
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert
from xrelay.interpreters.tensor.binary import truncated_quotient, truncated_remainder

INT64 = np.dtype(np.int64)


@register_impls
class SparseCoordinateFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.sparse.coordinates`."""

    @meaning
    def run_sparse_fill_empty_rows(
        self,
        op: sparse_coordinates.SparseFillEmptyRowsOp,
        indices: Array,
        values: Array,
        shape: Array,
        default: Array,
    ) -> tuple[Array, ...]:
        count = int(shape[0])
        indices, values = indices.astype(np.int64), convert(values, INT64)
        rows = indices[:, 0]
        if np.any((rows < 0) | (rows >= count)):
            raise InterpretationError(
                f"'sparse_indices' names row {rows.max()} of {count} rows (or a negative one)"
            )
        empty = np.bincount(rows, minlength=count) == 0
        new = np.zeros((int(empty.sum()), indices.shape[1]), indices.dtype)
        new[:, 0] = np.flatnonzero(empty)
        order = np.argsort(np.concatenate([rows, np.flatnonzero(empty)]), kind="stable")
        all_values = np.concatenate([values, np.full(len(new), convert(default[0], INT64), INT64)])
        return np.concatenate([indices, new])[order], all_values[order], empty.astype(np.int64)

    @meaning
    def run_sparse_reshape(
        self, op: sparse_coordinates.SparseReshapeOp, indices: Array, old: Array, new: Array
    ) -> tuple[Array, ...]:
        signed = new.dtype.kind == "i"
        known = np.where(new == -1, 1, new).astype(new.dtype) if signed else new
        total, rest = np.prod(old, dtype=old.dtype), np.prod(known, dtype=new.dtype)
        inferred = truncated_quotient(np.asarray(total), np.asarray(rest))
        shape = np.where(new == -1, inferred, new).astype(new.dtype) if signed else new
        offsets = np.zeros(len(indices), indices.dtype)
        for axis, dim in enumerate(old):
            offsets = offsets * dim + indices[:, axis]
        result = np.empty((len(indices), len(shape)), indices.dtype)
        for axis in reversed(range(len(shape))):
            result[:, axis] = truncated_remainder(offsets, shape[axis])
            offsets = truncated_quotient(offsets, shape[axis]).astype(indices.dtype)
        return result, shape
