"""Operators on quantised tensors in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.qnn import conversion as qnn
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import narrow, widen
from xrelay.interpreters.qnn.parameters import along, dequantized, quantized, requantized


def _moved(
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
    """The operators of `xrelay.dialects.qnn.conversion`."""

    @meaning
    def run_concatenate(
        self,
        op: qnn.QnnConcatenateOp,
        data: Sequence[Array],
        scales: Sequence[Array],
        zero_points: Sequence[Array],
        new_scale: Array,
        new_zero_point: Array,
    ) -> Array:
        with np.errstate(all="ignore"):
            parts = [
                _moved(*each, new_scale, new_zero_point)
                for each in zip(data, scales, zero_points, strict=True)
            ]
        return np.concatenate(parts, op.normalized_axis)

    @meaning
    def run_quantize(self, op: qnn.QnnQuantizeOp, data: Array, *parameters: Array) -> Array:
        scale, zero_point = (along(each, op.channel_axis, data.ndim) for each in parameters)
        return quantized(data, scale, zero_point, dtype_of(op.out_dtype))

    @meaning
    def run_dequantize(self, op: qnn.QnnDequantizeOp, data: Array, *parameters: Array) -> Array:
        return dequantized(data, *(along(each, op.channel_axis, data.ndim) for each in parameters))

    @meaning
    def run_requantize(
        self, op: qnn.QnnRequantizeOp, data: Array, scale: Array, zero_point: Array, *new: Array
    ) -> Array:
        scale, zero_point = (
            along(each, op.channel_axis, data.ndim) for each in (scale, zero_point)
        )
        dtype = data.dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        compute = None if op.float_dtype is None else dtype_of(op.float_dtype)
        return requantized(
            data,
            scale,
            zero_point,
            *new,
            dtype=dtype,
            rounds_up=op.rounds_up,
            to_even=op.rounds_to_even,
            compute=compute,
        )

    @meaning
    def run_simulated_quantize(
        self, op: qnn.QnnSimulatedQuantizeOp, data: Array, code: Array, *parameters: Array
    ) -> Array:
        dtype = qnn.SIMULATED.get(int(code))
        if dtype is None:
            return data
        x, scale, zero_point = _simulated(op, data, parameters)
        limits = np.iinfo(dtype_of(dtype))
        low, high = x.dtype.type(limits.min), x.dtype.type(limits.max)
        result = np.maximum(np.minimum(np.rint(x / scale) + zero_point, high), low)
        return narrow(result, data.dtype)

    @meaning
    def run_simulated_dequantize(
        self, op: qnn.QnnSimulatedDequantizeOp, data: Array, code: Array, *parameters: Array
    ) -> Array:
        if int(code) not in qnn.SIMULATED:
            return data
        q, scale, zero_point = _simulated(op, data, parameters)
        return narrow((q - zero_point) * scale, data.dtype)


def _simulated(op: qnn.QnnSimulatedOp, data: Array, parameters: Sequence[Array]) -> list[Array]:
    """Data, scale and zero point in the type that is computed in."""
    wide = widen(data)
    return [
        wide,
        *(along(each, op.channel_axis, data.ndim).astype(wide.dtype) for each in parameters),
    ]
