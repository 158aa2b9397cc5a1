"""Matrices of a few bits a number, in NumPy."""

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.qnn import blocks as qnn
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.nn.dense import product


def unpacked(packed: Array, bits: int, count: int) -> Array:
    """The first `count` numbers of `bits` bits in each row of bytes, the lowest bits first."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    numbers = (packed[..., None] >> shifts) & (2**bits - 1)
    return numbers.reshape(*packed.shape[:-1], packed.shape[-1] * len(shifts))[..., :count]


def packed(numbers: Array, bits: int) -> Array:
    """Numbers of `bits` bits in rows of whole bytes, the lowest bits first: what `unpacked` undoes."""
    each = 8 // bits
    *outer, count = numbers.shape
    gap = [(0, 0)] * len(outer) + [(0, -count % each)]
    parted = np.pad(numbers.astype(np.uint8), gap).reshape(*outer, -1, each)
    shifts = np.arange(each, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(parted << shifts, axis=-1)


def _dequantized(
    op: qnn.BlocksOp, matrix: Array, scale: Array, zero_point: Array, length: int
) -> Array:
    """The numbers of f32 that a matrix stands for."""
    scale, zero_point = (
        each.astype(np.float32) if each.ndim == 0 else _for_each(each, op.size, length)
        for each in (scale, zero_point)
    )
    return (unpacked(matrix, op.width, length).astype(np.float32) - zero_point) * scale


def rounded_data(data: Array, size: int) -> Array:
    """Data [..., K] of f32, of which each block of `size` neighbours in a row has numbers of 8 bits with a scale."""
    *outer, length = data.shape
    size = max(1, min(size, length))
    count = -(-length // size)
    gap = [(0, 0)] * len(outer) + [(0, count * size - length)]
    parted = np.pad(data, gap).reshape(*outer, count, size)
    with np.errstate(all="ignore"):
        peak = np.abs(parted).max(axis=-1, keepdims=True, initial=0)
        # Smaller scales would not be normal numbers.
        peak = np.where(peak < qnn.LEAST_PEAK, np.float32(0), peak)
        inverse = np.where(peak == 0, np.float32(0), np.float32(127) / peak)
        # Beside an infinity the others are 0, and times an infinite scale they are NaN as it is.
        numbers = np.rint(parted * inverse) * (peak / np.float32(127))
    return numbers.reshape(*outer, count * size)[..., :length]


def _for_each(parameter: Array, size: int, length: int) -> Array:
    """A parameter of blocks as one of numbers."""
    return parameter.astype(np.float32).repeat(size, axis=1)[:, :length]


@register_impls
class QnnBlocksFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.qnn.blocks`."""

    @meaning
    def run_dequantize_blocks(
        self, op: qnn.QnnDequantizeBlocksOp, data: Array, scale: Array, zero_point: Array
    ) -> Array:
        return _dequantized(op, data, scale, zero_point, op.length.value.data)

    @meaning
    def run_dense_blocks(
        self, op: qnn.QnnDenseBlocksOp, data: Array, weight: Array, scale: Array, zero_point: Array
    ) -> Array:
        if op.rounds_data:
            data = rounded_data(data, op.size)
        matrix = _dequantized(op, weight, scale, zero_point, data.shape[-1])
        return product(data, matrix.T, f32)
