"""Convolution in NumPy: windows as columns of a matrix, then matrix products."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects import conv
from xrelay.dialects.windows import expand_padding, positive_pair
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.numerics import convert, narrow, quiet, widen
from xrelay.interpreters.windows import Windows


def _convolve(image: Array, weight: Array, windows: Windows, groups: int) -> Array:
    """The convolution of one image [C, H, W] with `weight` [O, C / groups, KH, KW]."""
    channels, height, width = image.shape
    out_channels, group_channels, *_ = weight.shape
    out_height, out_width = windows.counts((height, width))
    taps = windows.size[0] * windows.size[1]
    columns = np.empty((channels, taps, out_height, out_width), image.dtype)
    for i, tap in enumerate(windows.taps(windows.pad(image, 0), (height, width))):
        columns[:, i] = tap
    length = group_channels * taps
    products = np.matmul(
        weight.reshape(groups, out_channels // groups, length),
        columns.reshape(groups, length, out_height * out_width),
    )
    return products.reshape(out_channels, out_height, out_width)


@register_impls
class ConvFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv`."""

    @impl(conv.Conv2DOp)
    @quiet
    def run_conv2d(
        self, interpreter: Interpreter, op: conv.Conv2DOp, args: PythonValues
    ) -> PythonValues:
        dtype = args[0].dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        images, weight = (widen(convert(array, dtype)) for array in args)
        windows = Windows(
            size=weight.shape[2:],
            strides=positive_pair(op.strides, "strides"),
            dilation=positive_pair(op.dilation, "dilation"),
            pads=expand_padding(op.padding.get_values()),
        )
        shape = (images.shape[0], weight.shape[0], *windows.counts(images.shape[2:]))
        # One image at a time bounds the memory that the columns take.
        result = np.empty(shape, weight.dtype)
        for i, image in enumerate(images):
            result[i] = _convolve(image, weight, windows, op.groups.value.data)
        return (narrow(result, dtype),)
