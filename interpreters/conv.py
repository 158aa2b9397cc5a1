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
from xrelay.dialects.windows import (
    expand_padding,
    line_padding,
    positive_numbers,
    positive_pair,
    transposed_window_output,
)
from xrelay.interpreters.arrays import Array, DType, dtype_of
from xrelay.interpreters.layout import block_channels, join_channels
from xrelay.interpreters.numerics import convert, narrow, quiet, widen
from xrelay.interpreters.windows import Windows


def _operands(op: conv.ConvolutionOp, args: PythonValues) -> tuple[DType, Array, Array]:
    """The dtype of the result, and images and weight in the type that sums are computed in."""
    dtype = args[0].dtype if op.out_dtype is None else dtype_of(op.out_dtype)
    images, weight = (widen(convert(array, dtype)) for array in args)
    return dtype, images, weight


def _convolve(images: Array, weight: Array, windows: Windows, groups: int) -> Array:
    """The convolution of images [N, C, H, W] with `weight` [O, C / groups, KH, KW]."""
    shape = (images.shape[0], weight.shape[0], *windows.counts(images.shape[2:]))
    # One image at a time bounds the memory that the columns take.
    result = np.empty(shape, weight.dtype)
    for i, image in enumerate(images):
        result[i] = _convolve_image(image, weight, windows, groups)
    return result


def _convolve_image(image: Array, weight: Array, windows: Windows, groups: int) -> Array:
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


def _transposed_convolve(
    images: Array, weight: Array, windows: Windows, groups: int, size: tuple[int, int]
) -> Array:
    """
    The images of `size` in which windows at the positions of `images` [N, C, H, W] hold the sums
    of their elements times `weight` [C, O / groups, KH, KW].
    """
    count, channels, height, width = images.shape
    _, group_channels, *taps = weight.shape
    columns = np.matmul(
        weight.reshape(groups, channels // groups, -1).transpose(0, 2, 1),
        images.reshape(count, groups, channels // groups, height * width),
    ).reshape(count, groups * group_channels, *taps, height, width)
    top, left, bottom, right = windows.pads
    padded = (top + size[0] + bottom, left + size[1] + right)
    result = np.zeros((count, groups * group_channels, *padded), columns.dtype)
    (step_y, step_x), (gap_y, gap_x) = windows.strides, windows.dilation
    for i, j in np.ndindex(*taps):
        rows = slice(i * gap_y, i * gap_y + (height - 1) * step_y + 1, step_y)
        cols = slice(j * gap_x, j * gap_x + (width - 1) * step_x + 1, step_x)
        result[:, :, rows, cols] += columns[:, :, i, j]
    return result[:, :, top : top + size[0], left : left + size[1]]


@register_impls
class ConvFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv`."""

    @impl(conv.Conv1DOp)
    @quiet
    def run_conv1d(
        self, interpreter: Interpreter, op: conv.Conv1DOp, args: PythonValues
    ) -> PythonValues:
        dtype, lines, weight = _operands(op, args)
        (stride,), (dilation,) = (
            positive_numbers(value, "", 1) for value in (op.strides, op.dilation)
        )
        left, right = line_padding(op.padding.get_values())
        # A line is an image of height 1.
        windows = Windows(
            size=(1, weight.shape[2]),
            strides=(1, stride),
            dilation=(1, dilation),
            pads=(0, left, 0, right),
        )
        result = _convolve(lines[:, :, None], weight[:, :, None], windows, op.groups.value.data)
        return (narrow(result[:, :, 0], dtype),)

    @impl(conv.Conv2DOp)
    @quiet
    def run_conv2d(
        self, interpreter: Interpreter, op: conv.Conv2DOp, args: PythonValues
    ) -> PythonValues:
        dtype, images, weight = _operands(op, args)
        groups = op.groups.value.data
        windows = Windows(
            size=weight.shape[2:],
            strides=positive_pair(op.strides, "strides"),
            dilation=positive_pair(op.dilation, "dilation"),
            pads=expand_padding(op.padding.get_values()),
        )
        images = join_channels(images, op.data_lanes, groups * weight.shape[1])
        result = narrow(_convolve(images, weight, windows, groups), dtype)
        return (block_channels(result, op.out_lanes),)

    @impl(conv.Conv2DTransposeOp)
    @quiet
    def run_conv2d_transpose(
        self, interpreter: Interpreter, op: conv.Conv2DTransposeOp, args: PythonValues
    ) -> PythonValues:
        dtype, images, weight = _operands(op, args)
        if op.kernel_layout.data == "OIHW":
            weight = weight.swapaxes(0, 1)
        windows = Windows(
            size=weight.shape[2:],
            strides=positive_pair(op.strides, "strides"),
            dilation=positive_pair(op.dilation, "dilation"),
            pads=expand_padding(op.padding.get_values()),
        )
        height, width = transposed_window_output(
            images.shape[2:],
            windows.size,
            windows.strides,
            windows.dilation,
            windows.pads,
            op.output_padding.get_values(),
        )
        groups = op.groups.value.data
        result = _transposed_convolve(images, weight, windows, groups, (height, width))
        return (narrow(result, dtype),)
