"""Operators on quantised tensors in NumPy."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects import qnn
from xrelay.interpreters.arrays import Array


def requantize(
    data: Array, scale: Array, zero_point: Array, new_scale: Array, new_zero_point: Array
) -> Array:
    """Quantised numbers with another scale and zero point: halves round up, ends clamp."""
    if scale == new_scale and zero_point == new_zero_point:
        return data
    limits = np.iinfo(data.dtype)
    ratio = np.float64(scale) / np.float64(new_scale)
    moved = np.floor((data.astype(np.float64) - zero_point) * ratio + 0.5) + new_zero_point
    return np.clip(moved, limits.min, limits.max).astype(data.dtype)


@register_impls
class QnnFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.qnn`."""

    @impl(qnn.QnnConcatenateOp)
    def run_concatenate(
        self, interpreter: Interpreter, op: qnn.QnnConcatenateOp, args: PythonValues
    ) -> PythonValues:
        data, scales, zero_points, new_scale, new_zero_point = args
        with np.errstate(all="ignore"):
            parts = [
                requantize(*each, new_scale, new_zero_point)
                for each in zip(data, scales, zero_points, strict=True)
            ]
        return (np.concatenate(parts, op.normalized_axis),)
