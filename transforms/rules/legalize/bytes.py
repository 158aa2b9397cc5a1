"""
Products of quantised tensors by products of bytes, for targets that multiply bytes into sums of 32 bits.

With zero points a of the data x and b of the weight w,

    Σ (x - a) (w - b)  =  Σ x w  -  a Σ w  -  b Σ x  +  n a b

so that only Σ x w depends on both; integers of 32 bits wrap around in every order. A weight that is known loses its
zero point where bytes hold what remains, and a Σ w is a bias then. Σ x, of windows or of rows, is computed where b is
neither 0 nor lost. Images are padded with their zero point.

Source: Relay's `qnn.conv2d` and `qnn.dense`, which are rewritten likewise.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.conv.windows import expand_padding
from xrelay.dialects.lengths import is_open
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.qnn.parameters import is_scalar
from xrelay.dialects.qnn.products import (
    QnnBatchMatmulOp,
    QnnConv2DOp,
    QnnConv2DTransposeOp,
    QnnDenseOp,
    QnnProductOp,
)
from xrelay.dialects.shapes import element_type_of, shape_of
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.creation import OnesOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import RepeatOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.folding import folded
from xrelay.transforms.rules.rewriting import Emitter, has_static_type


def product_of_bytes(op: QnnProductOp, emit: Emitter) -> SSAValue | None:
    """A product of bytes, and what zero points add to it. None where that would be wrong, or no better."""
    if op.sum_dtype != i32 or not all(has_static_type(each) for each in op.operands):
        return None
    match op:
        case QnnConv2DOp():
            return _convolution(op, emit)
        case QnnDenseOp():
            return _dense(op, emit)
        case QnnBatchMatmulOp():
            return _batch_matmul(op, emit)
        case QnnConv2DTransposeOp() if _is_zero(op.operands[2]) and _is_zero(op.operands[3]):
            return emit(op.integer_product(*op.operands[:2]))
        case _:
            return None


def _is_zero(value: SSAValue) -> bool:
    known = known_array(value)
    return known is not None and not known.any()


def _without_zero_point(
    emit: Emitter, weight: SSAValue, zero: SSAValue, axis: int | None
) -> tuple[SSAValue, SSAValue | None]:
    """A weight and its zero point; None for 0, which it is where bytes hold their difference."""
    if _is_zero(zero):
        return weight, None
    known, shift = known_array(weight), known_array(zero)
    if known is None or shift is None:
        return weight, zero
    if shift.size > 1:
        assert axis is not None
        shift = shift.reshape([-1 if each == axis else 1 for each in range(known.ndim)])
    moved = known.astype(np.int64) - shift.reshape(shift.shape if shift.size > 1 else ())
    limits = np.iinfo(np.int8)
    if np.any((moved < limits.min) | (moved > limits.max)):
        return weight, zero
    return emit.constant(moved.astype(np.int8)), None


def _sums_of_filters(emit: Emitter, weight: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The sum of the bytes of each row of a weight, in a shape that broadcasts with the result."""
    axes, known = list(range(1, len(shape_of(weight)))), known_array(weight)
    if known is not None:
        return emit.constant(known.sum(tuple(axes), dtype=np.int32).reshape(shape))
    return emit(ReshapeOp(emit(SumOp(emit(CastOp(weight, i32)), axes)), shape))


def _shaped(emit: Emitter, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return folded(emit, ReshapeOp(value, list(shape)))


def _corrected(
    emit: Emitter,
    total: SSAValue,
    terms: tuple[SSAValue | None, SSAValue | None],
    zeros: tuple[SSAValue | None, SSAValue | None],
    count: int,
) -> SSAValue:
    """
    Σ x w with what zero points `zeros` add to it; `terms` are Σ w and Σ x, in shapes that broadcast with the result, as
    is the second zero point. `count` numbers are summed. A zero point of None is 0, and so is that of which there is
    no term.
    """
    (weights, rows), (left, right) = terms, zeros
    if left is not None and weights is not None:
        if right is not None:
            # What remains of the last two terms.
            every = folded(emit, MultiplyOp(right, _number(emit, count)))
            weights = folded(emit, SubtractOp(weights, every))
        moved = folded(emit, MultiplyOp(weights, left))
        total = _minus(emit, total, moved)
    if right is not None and rows is not None:
        total = _minus(emit, total, folded(emit, MultiplyOp(rows, right)))
    return total


def _number(emit: Emitter, count: int) -> SSAValue:
    """A count as a scalar of 32 bits; one that is not known is the sum of as many ones."""
    if not is_open(count):
        return emit.constant(np.array(count, np.int32))
    return emit(SumOp(emit(OnesOp([count], i32)), [0]))


def _minus(emit: Emitter, total: SSAValue, term: SSAValue) -> SSAValue:
    """A difference; what is known becomes a bias."""
    known = known_array(term)
    if known is None:
        return emit(SubtractOp(total, term))
    if not known.any():
        return total
    axes = [axis for axis, length in enumerate(known.shape) if length != 1]
    negative = -known
    if len(axes) <= 1 and known.ndim == len(shape_of(total)):
        axis = axes[0] if axes else known.ndim - 1
        if shape_of(total)[axis] == known.size:
            return emit(BiasAddOp(total, emit.constant(negative.reshape(-1)), axis=axis))
    return emit(AddOp(total, emit.constant(negative)))


# -- convolutions ---------------------------------------------------------------------------------


def _convolution(op: QnnConv2DOp, emit: Emitter) -> SSAValue | None:
    stated = (op.data_layout.data, op.kernel_layout.data, op.out_layout.data or "NCHW")
    if stated != ("NCHW", "OIHW", "NCHW"):
        return None
    weight, zero_weight = _without_zero_point(emit, op.weight, op.weight_zero_point, 0)
    groups = op.groups.value.data
    zero_data = None if _is_zero(op.input_zero_point) else op.input_zero_point
    data, padding = op.data, expand_padding(op.padding.get_values(), 2)
    if zero_data is not None and any(padding):
        if not _is_byte(zero_data, data):
            return None
        top, left, bottom, right = padding
        data = emit(
            PadOp(data, zero_data, pad_width=[(0, 0), (0, 0), (top, bottom), (left, right)])
        )
        padding = (0, 0, 0, 0)
    count, *window = shape_of(weight)[1:]

    def convolved(kernel: SSAValue) -> SSAValue:
        return emit(
            Conv2DOp(
                data,
                kernel,
                strides=op.strides.get_values(),
                padding=list(padding),
                dilation=op.dilation.get_values(),
                groups=groups,
                out_dtype=i32,
            )
        )

    total, sums, windows = convolved(weight), None, None
    if zero_data is not None:
        sums = _sums_of_filters(emit, weight, (1, -1, 1, 1))
    if zero_weight is not None:
        windows = convolved(_ones(emit, (groups, count, *window), weight))
        filters = shape_of(weight)[0] // groups
        if groups > 1 and filters > 1:
            windows = emit(RepeatOp(windows, filters, axis=1))
        single = is_scalar(zero_weight)
        zero_weight = _shaped(emit, zero_weight, (1, 1, 1, 1) if single else (1, -1, 1, 1))
    zeros = (zero_data, zero_weight)
    return _corrected(emit, total, (sums, windows), zeros, count * prod(window))


def _is_byte(zero: SSAValue, data: SSAValue) -> bool:
    """Whether a zero point is known to be one of the integers of the data."""
    known, dtype = known_array(zero), element_type_of(data)
    if known is not None:
        limits = np.iinfo(dtype_of(dtype))
        return bool(np.all((limits.min <= known) & (known <= limits.max)))
    source = zero.owner
    return isinstance(source, CastOp) and element_type_of(source.data) == dtype


# -- matrices -------------------------------------------------------------------------------------


def _dense(op: QnnDenseOp, emit: Emitter) -> SSAValue:
    weight, zero_weight = _without_zero_point(emit, op.weight, op.weight_zero_point, 0)
    zero_data = None if _is_zero(op.input_zero_point) else op.input_zero_point
    rank, depth = len(shape_of(op.data)), shape_of(op.data)[-1]
    total, sums, rows = emit(op.integer_product(op.data, weight)), None, None
    if zero_data is not None:
        sums = _sums_of_filters(emit, weight, [1] * (rank - 1) + [-1])
    if zero_weight is not None:
        rows = emit(op.integer_product(op.data, _ones(emit, (1, depth), weight)))
        shape = [1] * rank if is_scalar(zero_weight) else [1] * (rank - 1) + [-1]
        zero_weight = _shaped(emit, zero_weight, shape)
    return _corrected(emit, total, (sums, rows), (zero_data, zero_weight), depth)


def _batch_matmul(op: QnnBatchMatmulOp, emit: Emitter) -> SSAValue:
    y, zero_y = _without_zero_point(emit, op.y, op.y_zero_point, None)
    zero_x = None if _is_zero(op.x_zero_point) else op.x_zero_point
    depth = shape_of(op.x)[1 if op.transpose_a.value.data else 2]
    sums, rows = None, None
    if zero_x is not None:
        shape = (1, depth, 1) if op.transpose_a.value.data else (1, 1, depth)
        sums = folded(emit, op.integer_product(_ones(emit, shape, op.x), y))
    if zero_y is not None:
        shape = (1, 1, depth) if op.transpose_b.value.data else (1, depth, 1)
        rows = folded(emit, op.integer_product(op.x, _ones(emit, shape, y)))
    total = emit(op.integer_product(op.x, y))
    return _corrected(emit, total, (sums, rows), (zero_x, zero_y), depth)


def _ones(emit: Emitter, shape: Sequence[int], like: SSAValue) -> SSAValue:
    """Bytes whose product with others are sums of these: kernels of products add bytes faster than reductions do."""
    dtype = element_type_of(like)
    if any(map(is_open, shape)):
        return emit(OnesOp(list(shape), dtype))
    return emit.constant(np.ones(shape, dtype_of(dtype)))
