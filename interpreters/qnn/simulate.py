"""Simulated quantisation in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.qnn import simulate as quantize
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import narrow, widen

ROUNDINGS = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}


@register_impls
class QuantizeFunctions(InterpreterFunctions):
    """The operator of `xrelay.dialects.qnn.simulate`."""

    @meaning
    def run_simulated_quantize(self, op: quantize.SimulatedQuantizeOp, *args: Array) -> Array:
        if op.kind.value.data == quantize.KIND_IDENTITY:
            return args[0]
        x, scale, low, high = map(widen, args)
        clipped = np.minimum(np.maximum(x / scale, low), high)
        return narrow(ROUNDINGS[op.rounding.data](clipped) * scale, args[0].dtype)
