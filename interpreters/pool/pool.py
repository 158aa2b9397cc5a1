"""Pooling in NumPy."""

from typing import TypeAlias

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.pool import pool
from xrelay.dialects.pool.adaptive import AdaptivePoolOp
from xrelay.dialects.pool.gradient import Pool2DGradOp
from xrelay.dialects.pool.pool import AvgPoolOp, GlobalPool2DOp, PoolOp
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array, DType
from xrelay.interpreters.base import by, meaning
from xrelay.interpreters.conv.windows import Windows
from xrelay.interpreters.numerics import is_float, lowest, narrow, wide_dtype
from xrelay.interpreters.tensor.layout import change_layout

LaidOutOp: TypeAlias = PoolOp | GlobalPool2DOp | AdaptivePoolOp | Pool2DGradOp


def images(op: LaidOutOp, data: Array) -> Array:
    """`data` with the spatial axes last."""
    return change_layout(data, op.data_layout, Layout.parse(op.IMAGE_LAYOUT, "layout"))


def as_stated(op: LaidOutOp, result: Array) -> Array:
    """The opposite of `images`."""
    return change_layout(result, Layout.parse(op.IMAGE_LAYOUT, "layout"), op.data_layout)


def windows_of(op: PoolOp | Pool2DGradOp) -> Windows:
    """The windows of a pool."""
    return Windows(*op.window_numbers(), op.pads, bool(op.ceil_mode.value.data))


def _max_pool(op: PoolOp, x: Array) -> Array:
    data, windows = images(op, x), windows_of(op)
    image, smallest = windows.image(data), lowest(data.dtype)
    shape = (*data.shape[: data.ndim - windows.axes], *windows.counts(image))
    result = np.full(shape, smallest, data.dtype)
    for tap in windows.taps(windows.pad(data, smallest), image):
        np.maximum(result, tap, out=result)
    return as_stated(op, result)


def _avg_pool(op: AvgPoolOp, x: Array) -> Array:
    data, windows = images(op, x), windows_of(op)
    image = windows.image(data)
    padded = windows.pad(data.astype(sum_dtype(data.dtype), copy=False), 0)
    shape = (*data.shape[: data.ndim - windows.axes], *windows.counts(image))
    total = np.zeros(shape, padded.dtype)
    for tap in windows.taps(padded, image):
        total += tap
    count = windows.inside(image, include_pads=bool(op.count_include_pad.value.data))
    return as_stated(op, mean_of(total, count, data.dtype))


def sum_dtype(dtype: DType) -> DType:
    """Sums of integers take 64 bits, so that means are exact."""
    if is_float(dtype):
        return wide_dtype(dtype)
    return np.dtype(np.uint64) if dtype == np.uint64 else np.dtype(np.int64)


def mean_of(total: Array, count: Array | int, dtype: DType) -> Array:
    """`total` / `count`: for integers rounded towards zero, and 0 where nothing counts."""
    divisor = np.maximum(count, 1).astype(total.dtype)
    if not is_float(dtype):
        total -= np.fmod(total, divisor)
        return narrow(total // divisor, dtype)
    return narrow(total / divisor, dtype)


@register_impls
class PoolFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.pool.pool`."""

    run_max_pool1d = by(pool.MaxPool1DOp, _max_pool)
    run_max_pool2d = by(pool.MaxPool2DOp, _max_pool)
    run_max_pool3d = by(pool.MaxPool3DOp, _max_pool)
    run_avg_pool1d = by(pool.AvgPool1DOp, _avg_pool)
    run_avg_pool2d = by(pool.AvgPool2DOp, _avg_pool)
    run_avg_pool3d = by(pool.AvgPool3DOp, _avg_pool)

    @meaning
    def run_global_max_pool2d(self, op: pool.GlobalMaxPool2DOp, *args: Array) -> Array:
        data = images(op, args[0])
        smallest = lowest(data.dtype)
        result = np.maximum.reduce(data, axis=(-2, -1), keepdims=True, initial=smallest)
        return as_stated(op, result)

    @meaning
    def run_global_avg_pool2d(self, op: pool.GlobalAvgPool2DOp, *args: Array) -> Array:
        data = images(op, args[0])
        total = np.sum(data, axis=(-2, -1), keepdims=True, dtype=sum_dtype(data.dtype))
        height, width = data.shape[-2:]
        return as_stated(op, mean_of(total, height * width, data.dtype))
