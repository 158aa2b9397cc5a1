"""Operators whose elements come from other places of one tensor, in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import reorder
from xrelay.dialects.tensor.reorder import diagonal_length
from xrelay.interpreters.arrays import Array, along, counting
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import rounded
from xrelay.interpreters.tensor.binary import truncated_quotient, truncated_remainder


@register_impls
class ReorderFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.reorder`."""

    @meaning
    def run_reverse(self, op: reorder.ReverseOp, data: Array) -> Array:
        return np.asarray(np.flip(data, op.reversed_axes))

    @meaning
    def run_reverse_sequence(
        self, op: reorder.ReverseSequenceOp, data: Array, lengths: Array
    ) -> Array:
        axis, batch = op.axes
        dim = data.shape[axis]
        lengths = np.minimum(np.maximum(lengths, 0), dim).astype(np.int64)
        places, lengths = along(counting(dim), axis, data.ndim), along(lengths, batch, data.ndim)
        source = np.where(places < lengths, lengths - 1 - places, places)
        return np.take_along_axis(data, np.broadcast_to(source, data.shape), axis)

    @meaning
    def run_sequence_mask(self, op: reorder.SequenceMaskOp, data: Array, lengths: Array) -> Array:
        axis = op.axis.value.data
        # float64 has every number that a comparison of lengths with indices depends on.
        numbers = lengths.astype(np.float64)
        places = along(counting(data.shape[axis]), axis, data.ndim)
        valid = places < along(numbers, 1 - axis, data.ndim)
        return np.where(valid, data, rounded(op.mask_value.value.data, data.dtype))

    @meaning
    def run_meshgrid(self, op: reorder.MeshgridOp, data: Sequence[Array]) -> tuple[Array, ...]:
        rank = len(data)
        spread = [along(field, op.axis_of(i), rank) for i, field in enumerate(data)]
        shape = np.broadcast_shapes(*(field.shape for field in spread))
        return tuple(np.broadcast_to(field, shape) for field in spread)

    @meaning
    def run_sliding_window(self, op: reorder.SlidingWindowOp, data: Array) -> Array:
        axis = op.normalized_axis
        axes = tuple(range(axis, data.ndim))
        windows = np.lib.stride_tricks.sliding_window_view(data, op.window_shape.get_values(), axes)
        steps = [slice(None, None, stride) for stride in op.strides.get_values()]
        return windows[(*[slice(None)] * axis, *steps, ...)]

    @meaning
    def run_trilu(self, op: reorder.TriluOp, *args: Array) -> Array:
        data: Array = args[0]
        k = args[1]
        rows, columns = data.shape[-2:]
        number = along(counting(columns), 1, 2) - along(counting(rows), 0, 2)
        # Python's integers: k may have any dtype.
        bound = min(max(int(k), -rows - 1), columns + 1)
        kept = number >= bound if op.upper.value.data else number <= bound
        return np.where(kept, data, data.dtype.type(0))

    @meaning
    def run_matrix_set_diag(
        self, op: reorder.MatrixSetDiagOp, data: Array, diagonal: Array
    ) -> Array:
        result = data.copy()
        rows, columns = data.shape[-2:]
        low, high = op.range
        for k in range(low, high + 1):
            length, start = diagonal_length(rows, columns, k, k), op.offset(k, rows, columns)
            source = diagonal if low == high else diagonal[..., high - k, :]
            steps = counting(length)
            place = (..., steps + max(-k, 0), steps + max(k, 0))
            result[place] = source[..., start : start + length]
        return result

    @meaning
    def run_unravel_index(self, op: reorder.UnravelIndexOp, data: Array, shape: Array) -> Array:
        result = np.empty((len(shape), *data.shape), data.dtype)
        for axis in reversed(range(len(shape))):
            result[axis] = truncated_remainder(data, shape[axis])
            data = truncated_quotient(data, shape[axis])
        return result

    @meaning
    def run_invert_permutation(self, op: reorder.InvertPermutationOp, *args: Array) -> Array:
        data: Array = args[0]
        result = np.zeros(data.shape, data.dtype)
        for i, place in enumerate(data.tolist()):
            if 0 <= place < len(data):
                # Numbers of places that the dtype has not wrap around.
                result[place] = np.int64(i).astype(data.dtype)
        return result
