"""The gradients of pooling in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, PythonValues, register_impls

from xrelay.dialects.pool import gradient as pool_gradient
from xrelay.dialects.pool.gradient import Pool2DGradOp
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.conv.windows import Windows
from xrelay.interpreters.numerics import narrow, widen
from xrelay.interpreters.pool.pool import mean_of
from xrelay.interpreters.tensor.layout import change_layout


def _operands(op: Pool2DGradOp, args: PythonValues) -> tuple[Array, Array, Windows]:
    canonical = Layout.parse(op.IMAGE_LAYOUT, "layout")
    grad, data = (change_layout(array, op.data_layout, canonical) for array in args)
    windows = Windows(*op.window_numbers(), op.pads, bool(op.ceil_mode.value.data))
    return grad, data, windows


def _inside(op: Pool2DGradOp, padded: Array, data: Array) -> Array:
    """What `padded` holds of the images, in the layout of the operator."""
    (top, left, *_), (height, width) = op.pads, data.shape[2:]
    result = narrow(padded[:, :, top : top + height, left : left + width], data.dtype)
    return change_layout(result, Layout.parse(op.IMAGE_LAYOUT, "layout"), op.data_layout)


@register_impls
class PoolGradientFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.pool.gradient`."""

    @meaning
    def run_avg_pool2d_grad(self, op: pool_gradient.AvgPool2DGradOp, *args: Array) -> Array:
        grad, data, windows = _operands(op, args)
        image = windows.image(data)
        share = mean_of(widen(grad).copy(), windows.inside(image, include_pads=False), grad.dtype)
        padded = np.zeros_like(windows.pad(widen(data), 0))
        for place in windows.places(image):
            padded[(..., *place)] += widen(share)
        return _inside(op, padded, data)

    @meaning
    def run_max_pool2d_grad(self, op: pool_gradient.MaxPool2DGradOp, *args: Array) -> Array:
        grad, data, windows = _operands(op, args)
        image = windows.image(data)
        values = windows.pad(data, 0)
        exists = windows.pad(np.ones(data.shape, bool), False)
        best = np.zeros(grad.shape, data.dtype)
        chosen = np.full(grad.shape, -1)
        for number, place in enumerate(windows.places(image)):
            value, there = values[(..., *place)], exists[(..., *place)]
            # Of equal elements the first one stays; NaN is not equal to itself.
            first_nan = np.not_equal(value, value) & np.equal(best, best)
            wins = there & ((value > best) | first_nan | (chosen < 0))
            best, chosen = np.where(wins, value, best), np.where(wins, number, chosen)
        padded = np.zeros_like(widen(values))
        for number, place in enumerate(windows.places(image)):
            padded[(..., *place)] += np.where(chosen == number, widen(grad), 0)
        return _inside(op, padded, data)
