"""The gradients of pooling in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, PythonValues, register_impls

from xrelay.dialects.pool import gradient as pool_gradient
from xrelay.dialects.pool.gradient import Pool2DGradOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.conv.windows import Windows
from xrelay.interpreters.numerics import narrow, widen
from xrelay.interpreters.pool.pool import as_stated, images, mean_of, windows_of


def _operands(op: Pool2DGradOp, args: PythonValues) -> tuple[Array, Array, Windows]:
    grad, data = (images(op, array) for array in args)
    return grad, data, windows_of(op)


def _inside(op: Pool2DGradOp, padded: Array, data: Array) -> Array:
    """What `padded` holds of the images, in the layout of the operator."""
    (top, left, *_), (height, width) = op.pads, data.shape[2:]
    return as_stated(op, narrow(padded[:, :, top : top + height, left : left + width], data.dtype))


@register_impls
class PoolGradientFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.pool.gradient`."""

    @meaning
    def run_avg_pool2d_grad(self, op: pool_gradient.AvgPool2DGradOp, *args: Array) -> Array:
        grad, data, windows = _operands(op, args)
        image = windows.image(data)
        share = mean_of(widen(grad).copy(), windows.inside(image, include_pads=False), grad.dtype)
        padded = np.zeros_like(windows.pad(widen(data), 0))
        for place in windows.places(windows.counts(image)):
            padded[(..., *place)] += widen(share)
        return _inside(op, padded, data)

    @meaning
    def run_max_pool2d_grad(self, op: pool_gradient.MaxPool2DGradOp, *args: Array) -> Array:
        grad, data, windows = _operands(op, args)
        places = list(windows.places(windows.counts(windows.image(data))))
        values = windows.pad(data, 0)
        exists = windows.pad(np.ones(data.shape, bool), False)
        best = np.zeros(grad.shape, data.dtype)
        chosen = np.full(grad.shape, -1)
        for number, place in enumerate(places):
            value, there = values[(..., *place)], exists[(..., *place)]
            # Of equal elements the first one stays; NaN is not equal to itself.
            first_nan = np.not_equal(value, value) & np.equal(best, best)
            wins = there & ((value > best) | first_nan | (chosen < 0))
            best, chosen = np.where(wins, value, best), np.where(wins, number, chosen)
        padded = np.zeros_like(widen(values))
        for number, place in enumerate(places):
            padded[(..., *place)] += np.where(chosen == number, widen(grad), 0)
        return _inside(op, padded, data)
