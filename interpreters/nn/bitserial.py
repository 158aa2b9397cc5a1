"""Arithmetic on the bits of small integers in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv.windows import positive_pair
from xrelay.dialects.nn import bitserial
from xrelay.dialects.nn.bitserial import BitSerialConv2DOp, BitSerialDenseOp, packed_type
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.arrays import Array, DType, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.conv.conv import convolve
from xrelay.interpreters.conv.windows import Windows


def _low_bits(array: Array, bits: int, dtype: DType) -> Array:
    """The numbers that the lowest bits make, in a dtype."""
    return array.astype(dtype) & np.array((1 << bits) - 1).astype(dtype)


def _unpacked(words: Array, axis: int, bit_axis: int, dtype: DType) -> Array:
    """The integers whose bits `words` hold, neighbours along `axis`, their bits on `bit_axis`."""
    width = 8 * words.itemsize
    shifts = np.arange(width - 1, -1, -1).astype(words.dtype)
    planes = np.moveaxis(words, bit_axis, 0)
    own = axis - (bit_axis < axis)
    digits = (
        np.expand_dims(planes, own + 2) >> shifts.reshape(-1, *(1,) * (words.ndim - own - 2))
    ) & 1
    joined = digits.reshape(*planes.shape[: own + 1], -1, *planes.shape[own + 2 :]).astype(dtype)
    weights = [np.array(1 << b).astype(dtype) for b in range(len(joined))]
    total = np.zeros(joined.shape[1:], dtype)
    for plane, weight in zip(joined, weights, strict=True):
        total += plane * weight
    return total


def _factors(op: BitSerialConv2DOp | BitSerialDenseOp, weight: Array, dtype: DType) -> Array:
    """What the data is multiplied by."""
    bits = op.weight_bits.value.data
    low = _low_bits(weight, bits, dtype)
    if not op.unipolar.value.data:
        return low
    return low + low - np.array((1 << bits) - 1).astype(dtype)


def _result_dtype(op: BitSerialConv2DOp | BitSerialDenseOp) -> DType:
    type_ = op.infer_type()
    assert is_tensor_type(type_)
    return dtype_of(type_.element_type)


@register_impls
class BitSerialFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.bitserial`."""

    @meaning
    def run_bitpack(self, op: bitserial.BitPackOp, *args: Array) -> Array:
        data: Array = args[0]
        pack_axis, bit_axis = op.axes
        dtype = dtype_of(packed_type(op.pack_type, "pack_type"))
        width = 8 * dtype.itemsize
        words = np.moveaxis(data, pack_axis, -1)
        words = words.reshape(*words.shape[:-1], words.shape[-1] // width, width)
        shifts = np.arange(width - 1, -1, -1).astype(dtype)
        planes = [
            (((words >> b) & 1).astype(dtype) << shifts).sum(axis=-1, dtype=dtype)
            for b in range(op.bits.value.data)
        ]
        packed = [np.moveaxis(plane, -1, pack_axis) for plane in planes]
        return np.stack(packed, axis=bit_axis)

    @meaning
    def run_bitserial_conv2d(
        self, op: bitserial.BitSerialConv2DOp, data: Array, weight: Array
    ) -> Array:
        dtype = _result_dtype(op)
        if op.is_packed:
            weight = _unpacked(weight, 2 if op.channels_last else 1, 4, dtype)
        if op.channels_last:
            data, weight = data.transpose(0, 3, 1, 2), weight.transpose(3, 2, 0, 1)
        windows = Windows(weight.shape[2:], positive_pair(op.strides, "strides"), (1, 1), op.pads)
        images = _low_bits(data, op.activation_bits.value.data, dtype)
        result = convolve(images, _factors(op, weight, dtype), windows, 1)
        return result.transpose(0, 2, 3, 1) if op.channels_last else result

    @meaning
    def run_bitserial_dense(
        self, op: bitserial.BitSerialDenseOp, data: Array, weight: Array
    ) -> Array:
        dtype = _result_dtype(op)
        if op.is_packed:
            weight = _unpacked(weight, 2, 1, dtype)
        rows = _low_bits(data, op.data_bits.value.data, dtype)
        return np.matmul(rows, _factors(op, weight, dtype).T)
