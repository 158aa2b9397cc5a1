"""Tensors with gaps between their elements, in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv.windows import positive_numbers
from xrelay.dialects.nn import dilate
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import rounded


@register_impls
class DilateFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.nn.dilate`."""

    @meaning
    def run_dilate(self, op: dilate.DilateOp, x: Array) -> Array:
        data: Array = x
        strides = positive_numbers(op.strides, "strides", data.ndim)
        shape = [
            max((length - 1) * stride + 1, 0)
            for length, stride in zip(data.shape, strides, strict=True)
        ]
        fill = rounded(op.dilation_value.value.data, data.dtype)
        result = np.full(shape, fill, data.dtype)
        result[tuple(slice(None, None, stride) for stride in strides)] = data
        return result
