"""Upsampling in NumPy: one axis after the other."""

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Block

from xrelay.dialects.nn import upsampling
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array, along, type_of
from xrelay.interpreters.base import by
from xrelay.interpreters.numerics import convert, is_float, quiet
from xrelay.interpreters.tensor.layout import change_layout


def _resized(op: upsampling.UpsamplingFamilyOp, data: Array, axis: int, new: int) -> Array:
    """`data` with `new` elements along an axis."""
    old: int = data.shape[axis]
    scale, shift, divisor = op.place_factors(old, new)
    numerators = scale * np.arange(new, dtype=np.int64) + shift
    if not op.interpolates:
        if op.mode == "align_corners":
            nearest = (2 * numerators + divisor) // (2 * divisor)
        else:
            nearest = numerators // divisor
        return data.take(np.clip(nearest, 0, old - 1), axis)
    places = np.clip(numerators, 0, (old - 1) * divisor)
    first = places // divisor
    second = np.minimum(first + 1, old - 1)
    parts = (places - first * divisor).astype(data.dtype) / data.dtype.type(divisor)
    part = along(parts, axis, data.ndim)
    low, high = data.take(first, axis), data.take(second, axis)
    return low * (1 - part) + high * part


def _upsampled(op: upsampling.UpsamplingFamilyOp, x: Array) -> Array:
    canonical = Layout.parse(op.IMAGE_LAYOUT, "layout")
    data, dtype = change_layout(x, op.data_layout, canonical), x.dtype
    if op.interpolates and dtype != np.float64:
        data = data.astype(np.float32)
    # From the last axis on, as the kernels interpolate.
    for axis, scale in reversed(tuple(enumerate(op.scales.values(), 2))):
        data = _resized(op, data, axis, round(data.shape[axis] * scale))
    result = convert(data, dtype) if not is_float(dtype) else data.astype(dtype, copy=False)
    return change_layout(result, canonical, op.data_layout)


@register_impls
class UpsamplingFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.nn.upsampling`."""

    @impl(upsampling.UpsamplingOp)
    @quiet
    def run_upsampling(
        self, interpreter: Interpreter, op: upsampling.UpsamplingOp, args: PythonValues
    ) -> PythonValues:
        if not op.is_cubic:
            return (_upsampled(op, *args),)
        canonical = Layout.parse(op.IMAGE_LAYOUT, "layout")
        image = change_layout(args[0], op.data_layout, canonical)
        lengths = zip(image.shape[2:], op.scales.values(), strict=True)
        (operand,) = Block(arg_types=[type_of(image)]).args
        resize = op.resize(operand, [round(length * scale) for length, scale in lengths])
        (result,) = interpreter.run_op(resize, (image,))
        return (change_layout(result, canonical, op.data_layout),)

    run_upsampling3d = by(upsampling.Upsampling3DOp, _upsampled)
