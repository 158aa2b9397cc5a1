"""
Rules of `legalize` for convolution and dense of the bits of small integers.

    data      the lowest bits, as integers of the dtype of the result
    weight    likewise, when packed out of its bits; doubled, minus the largest one, when unipolar

and then relay.nn.conv2d or relay.nn.dense of these, whose sums are exact.
"""

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.conv.windows import positive_pair
from xrelay.dialects.nn.bitserial import BitSerialConv2DOp, BitSerialDenseOp, packed_type
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.shapes import is_tensor_type, shape_of
from xrelay.dialects.tensor.binary import AddOp, BitwiseAndOp, MultiplyOp, RightShiftOp, SubtractOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.transforms.rules.emitting import cast, reshaped
from xrelay.transforms.rules.rewriting import Emitter, Rule


def _whole(emit: Emitter, number: int, like: SSAValue) -> SSAValue:
    """A whole number with the dtype of a tensor, modulo its range."""
    assert is_tensor_type(like.type)
    return emit.constant(np.asarray(number).astype(dtype_of(like.type.element_type)))


def _low_bits(emit: Emitter, value: SSAValue, bits: int, dtype: Attribute) -> SSAValue:
    """The numbers that the lowest bits make."""
    number = cast(emit, value, dtype)
    return emit(BitwiseAndOp(number, _whole(emit, (1 << bits) - 1, number)))


def _unpacked(
    emit: Emitter, words: SSAValue, bit_axis: int, dtype: Attribute, width: int
) -> SSAValue:
    """The integers whose bits words hold, on a new last axis; that of their bits disappears."""
    assert is_tensor_type(words.type)
    digits = emit(ExpandDimsOp(words, words.type.get_num_dims()))
    shifts = np.arange(width - 1, -1, -1).astype(dtype_of(words.type.element_type))
    shifted = emit(RightShiftOp(digits, emit.constant(shifts)))
    ones = cast(emit, emit(BitwiseAndOp(shifted, _whole(emit, 1, shifted))), dtype)
    rank, bits = words.type.get_num_dims() + 1, shape_of(words)[bit_axis]
    powers = np.array([1 << b for b in range(bits)]).astype(dtype_of(dtype))
    scales = powers.reshape([-1 if axis == bit_axis else 1 for axis in range(rank)])
    return emit(SumOp(emit(MultiplyOp(ones, emit.constant(scales))), [bit_axis]))


def _factors(
    emit: Emitter, op: BitSerialConv2DOp | BitSerialDenseOp, weight: SSAValue, dtype: Attribute
) -> SSAValue:
    """What the data is multiplied by."""
    bits = op.weight_bits.value.data
    low = _low_bits(emit, weight, bits, dtype)
    if not op.unipolar.value.data:
        return low
    return emit(SubtractOp(emit(AddOp(low, low)), _whole(emit, (1 << bits) - 1, low)))


def _conv2d(op: BitSerialConv2DOp, emit: Emitter) -> SSAValue:
    dtype = op.result.type.element_type
    last = op.channels_last
    weight: SSAValue = op.weight
    if op.is_packed:
        width = packed_type(op.pack_dtype, "pack_dtype").width.data
        weight = _unpacked(emit, weight, 4, dtype, width)
        # The new axis goes behind that of the packed channels.
        order = (3, 2, 4, 0, 1) if last else (0, 1, 4, 2, 3)
        apart = emit(TransposeOp(weight, order))
        outputs, words, _, *kernel = shape_of(apart)
        weight = reshaped(emit, apart, (outputs, words * width, *kernel))
    elif last:
        weight = emit(TransposeOp(weight, (3, 2, 0, 1)))
    data = _low_bits(emit, op.data, op.activation_bits.value.data, dtype)
    if last:
        data = emit(TransposeOp(data, (0, 3, 1, 2)))
    result = emit(
        Conv2DOp(
            data,
            _factors(emit, op, weight, dtype),
            strides=positive_pair(op.strides, "strides"),
            padding=op.pads,
        )
    )
    return emit(TransposeOp(result, (0, 2, 3, 1))) if last else result


def _dense(op: BitSerialDenseOp, emit: Emitter) -> SSAValue:
    dtype = op.result.type.element_type
    weight: SSAValue = op.weight
    if op.is_packed:
        width = packed_type(op.pack_dtype, "pack_dtype").width.data
        weight = _unpacked(emit, weight, 1, dtype, width)
        rows, words, _ = shape_of(weight)
        weight = reshaped(emit, weight, (rows, words * width))
    data = _low_bits(emit, op.data, op.data_bits.value.data, dtype)
    return emit(DenseOp(data, _factors(emit, op, weight, dtype)))


BITS_RULES: dict[type[Operation], Rule] = {
    BitSerialConv2DOp: _conv2d,
    BitSerialDenseOp: _dense,
}
"""What replaces arithmetic on bits."""
