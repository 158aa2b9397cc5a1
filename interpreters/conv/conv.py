"""Convolution in NumPy: windows as columns of a matrix, then matrix products."""

from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv import conv
from xrelay.dialects.conv.windows import transposed_window_output
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array, DType, dtype_of
from xrelay.interpreters.base import by
from xrelay.interpreters.conv.windows import Windows
from xrelay.interpreters.numerics import convert, narrow, widen
from xrelay.interpreters.tensor.layout import change_layout


def canonical_operands(op: conv.ConvolutionOp, images: Array, weight: Array) -> tuple[Array, Array]:
    """Images and weight with their axes in the order that their meaning is described in."""
    image_layout, kernel_layout, _ = op.layouts
    return (
        change_layout(images, image_layout, Layout.parse(op.IMAGE_LAYOUT, "data_layout")),
        change_layout(weight, kernel_layout, Layout.parse(op.KERNEL_LAYOUT, "kernel_layout")),
    )


def _sum_operands(op: conv.ConvolutionOp, data: Array, weight: Array) -> tuple[DType, Array, Array]:
    """
    The dtype of the result, and images and weight, as `canonical_operands` has them, in the type
    that sums are computed in.
    """
    dtype = data.dtype if op.out_dtype is None else dtype_of(op.out_dtype)
    operands = (widen(convert(array, dtype)) for array in (data, weight))
    return dtype, *canonical_operands(op, *operands)


def in_out_layout(op: conv.ConvolutionOp, result: Array) -> Array:
    """The result with its axes as `out_layout` states."""
    return change_layout(result, Layout.parse(op.IMAGE_LAYOUT, "out_layout"), op.layouts[2])


def windows_of(op: conv.ConvolutionOp, weight: Array) -> Windows:
    """The windows of a convolution with a weight [., ., KH, KW]."""
    return Windows(weight.shape[2:], op.window_strides, op.window_dilation, op.pads)


def convolve(images: Array, weight: Array, windows: Windows, groups: int) -> Array:
    """The convolution of images [N, C, H, W] with `weight` [O, C / groups, KH, KW]."""
    shape = (images.shape[0], weight.shape[0], *windows.counts(images.shape[2:]))
    # One image at a time bounds the memory that the columns take.
    result = np.empty(shape, weight.dtype)
    for i, image in enumerate(images):
        result[i] = _convolve_image(image, weight, windows, groups)
    return result


def _convolve_image(image: Array, weight: Array, windows: Windows, groups: int) -> Array:
    channels, *size = image.shape
    out_channels, group_channels, *_ = weight.shape
    positions, taps = windows.counts(size), prod(windows.size)
    columns = np.empty((channels, taps, *positions), image.dtype)
    for i, tap in enumerate(windows.taps(windows.pad(image, 0), size)):
        columns[:, i] = tap
    length = group_channels * taps
    products = np.matmul(
        weight.reshape(groups, out_channels // groups, length),
        columns.reshape(groups, length, prod(positions)),
    )
    return products.reshape(out_channels, *positions)


def run_laid_out(op: conv.LaidOutConvolutionOp, *args: Array) -> Array:
    """The result of a convolution whose tensors have layouts."""
    dtype, images, weight = _sum_operands(op, *args)
    weight = weight.reshape(op.filter_shape(weight.shape))
    groups = op.groups.value.data
    # The last block of channels may be padded.
    images = images[:, : groups * weight.shape[1]]
    result = convolve(images, weight, windows_of(op, weight), groups)
    return in_out_layout(op, narrow(result, dtype))


def _transposed_convolve(
    images: Array, weight: Array, windows: Windows, groups: int, size: list[int]
) -> Array:
    """
    The images of `size` in which windows at the positions of `images` [N, C, H, W] hold the sums
    of their elements times `weight` [C, O / groups, KH, KW].
    """
    count, channels, *positions = images.shape
    _, group_channels, *taps = weight.shape
    columns = np.matmul(
        weight.reshape(groups, channels // groups, group_channels * prod(taps)).swapaxes(1, 2),
        images.reshape(count, groups, channels // groups, prod(positions)),
    ).reshape(count, groups * group_channels, *taps, *positions)
    before, after = windows.pads[: windows.axes], windows.pads[windows.axes :]
    padded = [sum(lengths) for lengths in zip(before, size, after, strict=True)]
    result = np.zeros((count, groups * group_channels, *padded), columns.dtype)
    for tap, place in zip(np.ndindex(*taps), windows.places(positions), strict=True):
        result[(..., *place)] += columns[(slice(None), slice(None), *tap)]
    inside = [slice(start, start + length) for start, length in zip(before, size, strict=True)]
    return result[(..., *inside)]


def run_transposed(op: conv.TransposedConvolutionOp, *args: Array) -> Array:
    """The result of a transposed convolution."""
    dtype, images, weight = _sum_operands(op, *args)
    windows = windows_of(op, weight)
    size = transposed_window_output(
        images.shape[2:],
        windows.size,
        windows.strides,
        windows.dilation,
        windows.pads,
        op.output_padding.get_values(),
    )
    result = _transposed_convolve(images, weight, windows, op.groups.value.data, size)
    return in_out_layout(op, narrow(result, dtype))


@register_impls
class ConvFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv.conv`."""

    run_conv1d = by(conv.Conv1DOp, run_laid_out)
    run_conv2d = by(conv.Conv2DOp, run_laid_out)
    run_conv2d_transpose = by(conv.Conv2DTransposeOp, run_transposed)
    run_conv3d = by(conv.Conv3DOp, run_laid_out)
