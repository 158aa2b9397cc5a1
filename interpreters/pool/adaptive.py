"""Pooling into a stated number of windows, in NumPy: one axis after the other."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.pool import adaptive as adaptive_pool
from xrelay.dialects.pool.adaptive import AdaptivePoolOp, adaptive_windows
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import by
from xrelay.interpreters.numerics import lowest
from xrelay.interpreters.pool.pool import as_stated, images, mean_of, sum_dtype


def _reduced(op: AdaptivePoolOp, data: Array, ufunc: np.ufunc, initial: object) -> Array:
    """The elements of each window of `data` [N, C, …] combined, and how many windows there are."""
    result = data
    for axis, count in enumerate(_counts(op, data), start=2):
        length = data.shape[axis]
        parts = [
            ufunc.reduce(
                result.take(range(start, stop), axis), axis=axis, keepdims=True, initial=initial
            )
            for start, stop in adaptive_windows(length, count)
        ]
        result = np.concatenate(parts, axis)
    return result


def _counts(op: AdaptivePoolOp, data: Array) -> tuple[int, ...]:
    return tuple(op.output_size.get_values()) or data.shape[2:]


def _largest(op: AdaptivePoolOp, x: Array) -> Array:
    data = images(op, x)
    if 0 in _counts(op, data):
        return x
    return as_stated(op, _reduced(op, data, np.maximum, lowest(data.dtype)))


def _mean(op: AdaptivePoolOp, x: Array) -> Array:
    data = images(op, x)
    if 0 in _counts(op, data):
        return x
    total = _reduced(op, data.astype(sum_dtype(data.dtype)), np.add, 0)
    count: Array = np.ones((), np.int64)
    for length, windows in zip(data.shape[2:], _counts(op, data), strict=True):
        sizes = [stop - start for start, stop in adaptive_windows(length, windows)]
        count = np.multiply.outer(count, np.array(sizes, np.int64))
    return as_stated(op, mean_of(total, count, data.dtype))


@register_impls
class AdaptivePoolFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.pool.adaptive`."""

    run_adaptive_avg_pool1d = by(adaptive_pool.AdaptiveAvgPool1DOp, _mean)
    run_adaptive_max_pool1d = by(adaptive_pool.AdaptiveMaxPool1DOp, _largest)
    run_adaptive_avg_pool2d = by(adaptive_pool.AdaptiveAvgPool2DOp, _mean)
    run_adaptive_max_pool2d = by(adaptive_pool.AdaptiveMaxPool2DOp, _largest)
    run_adaptive_avg_pool3d = by(adaptive_pool.AdaptiveAvgPool3DOp, _mean)
    run_adaptive_max_pool3d = by(adaptive_pool.AdaptiveMaxPool3DOp, _largest)
