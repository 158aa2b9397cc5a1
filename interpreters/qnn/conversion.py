"""Operators on quantised tensors in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.qnn import conversion as qnn
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.numerics import narrow, quiet, widen
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

    @impl(qnn.QnnConcatenateOp)
    def run_concatenate(
        self, interpreter: Interpreter, op: qnn.QnnConcatenateOp, args: PythonValues
    ) -> PythonValues:
        data, scales, zero_points, new_scale, new_zero_point = args
        with np.errstate(all="ignore"):
            parts = [
                _moved(*each, new_scale, new_zero_point)
                for each in zip(data, scales, zero_points, strict=True)
            ]
        return (np.concatenate(parts, op.normalized_axis),)

    @impl(qnn.QnnQuantizeOp)
    def run_quantize(
        self, interpreter: Interpreter, op: qnn.QnnQuantizeOp, args: PythonValues
    ) -> PythonValues:
        data, *parameters = args
        scale, zero_point = (along(each, op.channel_axis, data.ndim) for each in parameters)
        return (quantized(data, scale, zero_point, dtype_of(op.out_dtype)),)

    @impl(qnn.QnnDequantizeOp)
    def run_dequantize(
        self, interpreter: Interpreter, op: qnn.QnnDequantizeOp, args: PythonValues
    ) -> PythonValues:
        data, *parameters = args
        return (
            dequantized(data, *(along(each, op.channel_axis, data.ndim) for each in parameters)),
        )

    @impl(qnn.QnnRequantizeOp)
    def run_requantize(
        self, interpreter: Interpreter, op: qnn.QnnRequantizeOp, args: PythonValues
    ) -> PythonValues:
        data, scale, zero_point, *new = args
        scale, zero_point = (
            along(each, op.channel_axis, data.ndim) for each in (scale, zero_point)
        )
        dtype = data.dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        compute = None if op.float_dtype is None else dtype_of(op.float_dtype)
        result = requantized(
            data, scale, zero_point, *new, dtype=dtype, rounds_up=op.rounds_up, compute=compute
        )
        return (result,)

    @impl(qnn.QnnSimulatedQuantizeOp)
    @quiet
    def run_simulated_quantize(
        self, interpreter: Interpreter, op: qnn.QnnSimulatedQuantizeOp, args: PythonValues
    ) -> PythonValues:
        data, code, *parameters = args
        dtype = qnn.SIMULATED.get(int(code))
        if dtype is None:
            return (data,)
        x, scale, zero_point = _simulated(op, data, parameters)
        limits = np.iinfo(dtype_of(dtype))
        low, high = x.dtype.type(limits.min), x.dtype.type(limits.max)
        result = np.maximum(np.minimum(np.rint(x / scale) + zero_point, high), low)
        return (narrow(result, data.dtype),)

    @impl(qnn.QnnSimulatedDequantizeOp)
    @quiet
    def run_simulated_dequantize(
        self, interpreter: Interpreter, op: qnn.QnnSimulatedDequantizeOp, args: PythonValues
    ) -> PythonValues:
        data, code, *parameters = args
        if int(code) not in qnn.SIMULATED:
            return (data,)
        q, scale, zero_point = _simulated(op, data, parameters)
        return (narrow((q - zero_point) * scale, data.dtype),)


def _simulated(op: qnn.QnnSimulatedOp, data: Array, parameters: Sequence[Array]) -> list[Array]:
    """Data, scale and zero point in the type that is computed in."""
    wide = widen(data)
    return [
        wide,
        *(along(each, op.channel_axis, data.ndim).astype(wide.dtype) for each in parameters),
    ]
