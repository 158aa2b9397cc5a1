"""
Means of quantised tensors as sums of integers, which stand for numbers with a smaller scale.

    mean(dequantize(x, scale, zero))  ──►  dequantize(sum(x) - n * zero, scale / n, 0)

Of windows, the sums are those of a depthwise convolution by ones.
"""

from math import prod

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xrelay.dialects.conv.windows import may_pad
from xrelay.dialects.lengths import is_open
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp
from xrelay.dialects.qnn.parameters import BYTES
from xrelay.dialects.qnn.products import QnnConv2DOp
from xrelay.dialects.shapes import same_shape, shape_of
from xrelay.dialects.tensor.binary import DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MeanOp, SumOp
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.quantize.values import Affine, Kept, Quantized, Site

MOST_ELEMENTS = 2**23
"""Sums of fewer bytes fit into 32 bits."""
IMAGE = "NCHW"


def sums_of_means(
    op: AvgPool2DOp | GlobalAvgPool2DOp | MeanOp, data: Quantized, site: Site
) -> Quantized:
    """The sums of what an operator averages. Raises Kept where they do not give the means."""
    kind = data.affine
    if kind.dtype not in BYTES or not kind.is_whole:
        raise Kept(f"{op.name} averages other integers than bytes with one scale")
    if isinstance(op, MeanOp):
        return _sums(data, op.reduced_axes, keepdims=bool(op.keepdims.value.data), site=site)
    if op.layout.data != IMAGE:
        raise Kept(f"{op.name} has the layout {op.layout.data}")
    if isinstance(op, GlobalAvgPool2DOp):
        return _sums(data, (2, 3), keepdims=True, site=site)
    _require_equal_counts(op)
    if same_shape(op.pool_size.get_values(), shape_of(op.data)[2:]) and not may_pad(op.pads):
        return _sums(data, (2, 3), keepdims=True, site=site)
    return _window_sums(op, data, site)


def _sums(data: Quantized, axes: tuple[int, ...], *, keepdims: bool, site: Site) -> Quantized:
    """The sums along some axes."""
    emit, kind, shape = site.emit, data.affine, shape_of(data.value)
    count = prod(shape[axis] for axis in axes)
    if is_open(count):
        raise Kept("a mean of a number of elements that is not known, of which the scale is a part")
    if not 0 < count < MOST_ELEMENTS:
        raise Kept(f"a mean of {count} elements")
    total = emit(SumOp(cast(emit, data.value, i32), axes, keepdims=keepdims))
    if not kind.is_centred:
        number = emit.constant(np.array(count, np.int32))
        zeros = site.folded(MultiplyOp(cast(emit, kind.zero_point, i32), number))
        total = emit(SubtractOp(total, zeros))
    return _mean(total, count, kind, site)


def _require_equal_counts(op: AvgPool2DOp) -> None:
    """Raises Kept where the means of some windows are of fewer elements than those of others."""
    taps, strides, dilation = op.window_numbers()
    top, left, bottom, right = op.pads
    height, width = shape_of(op.data)[2:]
    sizes = height + top + bottom, width + left + right
    axes = zip(shape_of(op.result)[2:], taps, strides, dilation, sizes, strict=True)
    beyond = any((n - 1) * step + (k - 1) * far >= size for n, k, step, far, size in axes)
    if beyond or (may_pad(op.pads) and not op.count_include_pad.value.data):
        raise Kept(f"windows of {op.name} at the borders have fewer elements")


def _window_sums(op: AvgPool2DOp, data: Quantized, site: Site) -> Quantized:
    """The sums of the elements of each window."""
    emit, kind, channels = site.emit, data.affine, shape_of(data.value)[1]
    taps, strides, dilation = op.window_numbers()
    if 0 in shape_of(op.result):
        raise Kept("means of no windows")
    total = emit(
        QnnConv2DOp(
            data.value,
            emit.constant(np.ones((channels, 1, *taps), np.int8)),
            kind.zero_point,
            emit.constant(np.array(0, np.int32)),
            kind.scale,
            emit.constant(np.array(1, np.float32)),
            strides=strides,
            padding=op.pads,
            dilation=dilation,
            groups=channels,
            out_dtype=i32,
        )
    )
    return _mean(total, prod(taps), kind, site)


def _mean(total: SSAValue, count: int, kind: Affine, site: Site) -> Quantized:
    """What sums of so many elements, without their zero points, stand for."""
    number = site.emit.constant(np.array(count, np.float32))
    zero = site.emit.constant(np.array(0, np.int32))
    return Quantized(total, Affine(site.folded(DivideOp(kind.scale, number)), zero, 0, i32))
