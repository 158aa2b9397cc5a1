"""Pooling and upsampling in NumPy."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects import pool
from xrelay.dialects.layout import Layout
from xrelay.dialects.pool import (
    AvgPoolOp,
    GlobalPool2DOp,
    LaidOutPoolOp,
    Pool2DOp,
    PoolOp,
    pooled_lanes,
)
from xrelay.interpreters.arrays import Array, DType
from xrelay.interpreters.layout import change_layout
from xrelay.interpreters.numerics import is_float, lowest, narrow, quiet, wide_dtype
from xrelay.interpreters.windows import Windows


def _lanes_first(op: Pool2DOp | GlobalPool2DOp, data: Array) -> Array:
    """`data` with its last two axes rows and columns: lanes of blocks go before them."""
    if pooled_lanes(op.layout, op.out_layout) is None:
        return data
    # In a memory order of its own, so that sums have the order that they have without blocks.
    return np.ascontiguousarray(np.moveaxis(data, -1, 2))


def _lanes_last(op: Pool2DOp | GlobalPool2DOp, result: Array) -> Array:
    """The opposite of `_lanes_first`."""
    if pooled_lanes(op.layout, op.out_layout) is None:
        return result
    return np.ascontiguousarray(np.moveaxis(result, 2, -1))


def _images(op: PoolOp, data: Array) -> Array:
    """`data` with the spatial axes last."""
    if isinstance(op, LaidOutPoolOp):
        return change_layout(data, op.data_layout, Layout.parse(op.IMAGE_LAYOUT, "layout"))
    assert isinstance(op, Pool2DOp)
    return _lanes_first(op, data)


def _as_stated(op: PoolOp, result: Array) -> Array:
    """The opposite of `_images`."""
    if isinstance(op, LaidOutPoolOp):
        return change_layout(result, Layout.parse(op.IMAGE_LAYOUT, "layout"), op.data_layout)
    assert isinstance(op, Pool2DOp)
    return _lanes_last(op, result)


def windows_of(op: PoolOp) -> Windows:
    """The windows of a pool."""
    return Windows(*op.window_numbers(), op.pads, bool(op.ceil_mode.value.data))


def _max_pool(op: PoolOp, args: PythonValues) -> PythonValues:
    data, windows = _images(op, args[0]), windows_of(op)
    image, smallest = windows.image(data), lowest(data.dtype)
    shape = (*data.shape[: data.ndim - windows.axes], *windows.counts(image))
    result = np.full(shape, smallest, data.dtype)
    for tap in windows.taps(windows.pad(data, smallest), image):
        np.maximum(result, tap, out=result)
    return (_as_stated(op, result),)


def _avg_pool(op: AvgPoolOp, args: PythonValues) -> PythonValues:
    data, windows = _images(op, args[0]), windows_of(op)
    image = windows.image(data)
    padded = windows.pad(data.astype(sum_dtype(data.dtype), copy=False), 0)
    shape = (*data.shape[: data.ndim - windows.axes], *windows.counts(image))
    total = np.zeros(shape, padded.dtype)
    for tap in windows.taps(padded, image):
        total += tap
    count = windows.inside(image, include_pads=bool(op.count_include_pad.value.data))
    return (_as_stated(op, mean_of(total, count, data.dtype)),)


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
    """One method for each operator of `xrelay.dialects.pool`."""

    @impl(pool.MaxPool1DOp)
    @quiet
    def run_max_pool1d(
        self, interpreter: Interpreter, op: pool.MaxPool1DOp, args: PythonValues
    ) -> PythonValues:
        return _max_pool(op, args)

    @impl(pool.MaxPool2DOp)
    @quiet
    def run_max_pool2d(
        self, interpreter: Interpreter, op: pool.MaxPool2DOp, args: PythonValues
    ) -> PythonValues:
        return _max_pool(op, args)

    @impl(pool.MaxPool3DOp)
    @quiet
    def run_max_pool3d(
        self, interpreter: Interpreter, op: pool.MaxPool3DOp, args: PythonValues
    ) -> PythonValues:
        return _max_pool(op, args)

    @impl(pool.AvgPool1DOp)
    @quiet
    def run_avg_pool1d(
        self, interpreter: Interpreter, op: pool.AvgPool1DOp, args: PythonValues
    ) -> PythonValues:
        return _avg_pool(op, args)

    @impl(pool.AvgPool2DOp)
    @quiet
    def run_avg_pool2d(
        self, interpreter: Interpreter, op: pool.AvgPool2DOp, args: PythonValues
    ) -> PythonValues:
        return _avg_pool(op, args)

    @impl(pool.AvgPool3DOp)
    @quiet
    def run_avg_pool3d(
        self, interpreter: Interpreter, op: pool.AvgPool3DOp, args: PythonValues
    ) -> PythonValues:
        return _avg_pool(op, args)

    @impl(pool.GlobalMaxPool2DOp)
    @quiet
    def run_global_max_pool2d(
        self, interpreter: Interpreter, op: pool.GlobalMaxPool2DOp, args: PythonValues
    ) -> PythonValues:
        data = _lanes_first(op, args[0])
        smallest = lowest(data.dtype)
        result = np.maximum.reduce(data, axis=(-2, -1), keepdims=True, initial=smallest)
        return (_lanes_last(op, result),)

    @impl(pool.GlobalAvgPool2DOp)
    @quiet
    def run_global_avg_pool2d(
        self, interpreter: Interpreter, op: pool.GlobalAvgPool2DOp, args: PythonValues
    ) -> PythonValues:
        data = _lanes_first(op, args[0])
        total = np.sum(data, axis=(-2, -1), keepdims=True, dtype=sum_dtype(data.dtype))
        height, width = data.shape[-2:]
        return (_lanes_last(op, mean_of(total, height * width, data.dtype)),)

    @impl(pool.UpsamplingOp)
    def run_upsampling(
        self, interpreter: Interpreter, op: pool.UpsamplingOp, args: PythonValues
    ) -> PythonValues:
        result: Array = args[0]
        for axis, scale in ((2, op.scale_h.value.data), (3, op.scale_w.value.data)):
            old: int = result.shape[axis]
            new = round(old * scale)
            result = result.take(np.array([i * old // new for i in range(new)], np.int64), axis)
        return (result,)
