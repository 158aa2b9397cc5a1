"""Transposed convolution in NumPy: matrix products whose results are added up in windows."""

from math import prod

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects import conv_transpose
from xrelay.dialects.conv_transpose import TransposedConvolutionOp
from xrelay.dialects.windows import transposed_window_output
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.conv import (
    canonical_operands,
    in_out_layout,
    sum_operands,
    windows_of,
)
from xrelay.interpreters.numerics import narrow, quiet
from xrelay.interpreters.windows import Windows


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
    for tap in np.ndindex(*taps):
        places = [
            slice(i * gap, i * gap + (length - 1) * step + 1, step)
            for i, gap, length, step in zip(
                tap, windows.dilation, positions, windows.strides, strict=True
            )
        ]
        result[(..., *places)] += columns[(slice(None), slice(None), *tap)]
    inside = [slice(start, start + length) for start, length in zip(before, size, strict=True)]
    return result[(..., *inside)]


def _run(op: TransposedConvolutionOp, args: PythonValues) -> PythonValues:
    dtype, images, weight = sum_operands(op, args)
    images, weight = canonical_operands(op, images, weight)
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
    return (in_out_layout(op, narrow(result, dtype)),)


@register_impls
class ConvTransposeFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv_transpose`."""

    @impl(conv_transpose.Conv1DTransposeOp)
    @quiet
    def run_conv1d_transpose(
        self,
        interpreter: Interpreter,
        op: conv_transpose.Conv1DTransposeOp,
        args: PythonValues,
    ) -> PythonValues:
        return _run(op, args)

    @impl(conv_transpose.Conv2DTransposeOp)
    @quiet
    def run_conv2d_transpose(
        self,
        interpreter: Interpreter,
        op: conv_transpose.Conv2DTransposeOp,
        args: PythonValues,
    ) -> PythonValues:
        return _run(op, args)

    @impl(conv_transpose.Conv3DTransposeOp)
    @quiet
    def run_conv3d_transpose(
        self,
        interpreter: Interpreter,
        op: conv_transpose.Conv3DTransposeOp,
        args: PythonValues,
    ) -> PythonValues:
        return _run(op, args)
