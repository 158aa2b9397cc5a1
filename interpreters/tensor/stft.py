"""The short-time Fourier transform in NumPy."""

from math import pi

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import stft
from xrelay.interpreters.arrays import Array, counting
from xrelay.interpreters.base import meaning


@register_impls
class StftFunctions(InterpreterFunctions):
    """The operator of `xrelay.dialects.tensor.stft`."""

    @meaning
    def run_stft(self, op: stft.StftOp, *args: Array) -> Array:
        data: Array = args[0].astype(np.float64)
        window: Array = args[1].astype(np.float64)
        size, hop, length = op.lengths
        starts = counting((data.shape[1] - size) // hop + 1) * hop
        frames: Array = data[:, starts[:, None] + counting(length)] * window
        bins = size // 2 + 1 if op.onesided.value.data else size
        # The angle is reduced in integers.
        angles = (np.outer(counting(length), counting(bins)) % length) * (2 * pi / length)
        parts = [frames @ np.cos(angles), -(frames @ np.sin(angles))]
        result = np.stack(parts, -1).transpose(0, 2, 1, 3)
        if op.normalized.value.data:
            result = result / np.sqrt(size)
        return result.astype(args[0].dtype)
