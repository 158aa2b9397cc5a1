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
from xrelay.dialects.pool import GlobalPool2DOp, Pool2DOp, pooled_lanes
from xrelay.dialects.windows import expand_padding, positive_pair
from xrelay.interpreters.arrays import Array, DType
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


def _image(data: Array) -> tuple[int, int]:
    height, width = data.shape[-2:]
    return height, width


def _windows(op: Pool2DOp) -> Windows:
    return Windows(
        size=positive_pair(op.pool_size, "pool_size"),
        strides=positive_pair(op.strides, "strides"),
        dilation=positive_pair(op.dilation, "dilation"),
        pads=expand_padding(op.padding.get_values()),
        ceil_mode=bool(op.ceil_mode.value.data),
    )


def _sum_dtype(dtype: DType) -> DType:
    """Sums of integers take 64 bits, so that means are exact."""
    if is_float(dtype):
        return wide_dtype(dtype)
    return np.dtype(np.uint64) if dtype == np.uint64 else np.dtype(np.int64)


def _mean(total: Array, count: Array | int, dtype: DType) -> Array:
    """`total` / `count`: for integers rounded towards zero, and 0 where nothing counts."""
    divisor = np.maximum(count, 1).astype(total.dtype)
    if not is_float(dtype):
        total -= np.fmod(total, divisor)
        return narrow(total // divisor, dtype)
    return narrow(total / divisor, dtype)


@register_impls
class PoolFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.pool`."""

    @impl(pool.MaxPool2DOp)
    @quiet
    def run_max_pool2d(
        self, interpreter: Interpreter, op: pool.MaxPool2DOp, args: PythonValues
    ) -> PythonValues:
        data = _lanes_first(op, args[0])
        windows, image = _windows(op), _image(data)
        smallest = lowest(data.dtype)
        result = np.full((*data.shape[:-2], *windows.counts(image)), smallest, data.dtype)
        for tap in windows.taps(windows.pad(data, smallest), image):
            np.maximum(result, tap, out=result)
        return (_lanes_last(op, result),)

    @impl(pool.AvgPool2DOp)
    @quiet
    def run_avg_pool2d(
        self, interpreter: Interpreter, op: pool.AvgPool2DOp, args: PythonValues
    ) -> PythonValues:
        data = _lanes_first(op, args[0])
        windows, image = _windows(op), _image(data)
        padded = windows.pad(data.astype(_sum_dtype(data.dtype), copy=False), 0)
        total = np.zeros((*data.shape[:-2], *windows.counts(image)), padded.dtype)
        for tap in windows.taps(padded, image):
            total += tap
        count = windows.inside(image, include_pads=bool(op.count_include_pad.value.data))
        return (_lanes_last(op, _mean(total, count, data.dtype)),)

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
        total = np.sum(data, axis=(-2, -1), keepdims=True, dtype=_sum_dtype(data.dtype))
        height, width = _image(data)
        return (_lanes_last(op, _mean(total, height * width, data.dtype)),)

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
