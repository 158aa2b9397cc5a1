"""Emitters of convolution and its transpose, in any layout."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xrelay.dialects.conv import conv
from xrelay.dialects.conv import packed as conv_packed
from xrelay.dialects.conv import transpose as conv_transpose
from xrelay.dialects.tensor.layout import Layout
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import INT32, EmitterTable, OutputGraph, Tensor, dtype_of
from xrelay.frontends.onnx.exporter.nn.dense import BYTES, integers
from xrelay.frontends.onnx.exporter.tensor.layout import change_layout


def _operand(
    graph: OutputGraph, op: conv.ConvolutionOp, which: int, channels: int | None
) -> tuple[Tensor, list[int] | None]:
    """
    Images (0) or the weight (1) in the layout of ONNX, and their shape if it is known. Images in
    blocks keep the stated number of channels.
    """
    value, what = ((op.data, "data"), (op.weight, "weight"))[which]
    source = op.layouts[which]
    target = Layout.parse((op.IMAGE_LAYOUT, op.KERNEL_LAYOUT)[which], what)
    tensor = graph.tensor(value)
    if source == target:
        shape = list(value.type.get_shape())
        return tensor, None if min(shape, default=0) < 0 else shape
    shape = graph.shape(value, what)
    tensor, shape = change_layout(graph, tensor, shape, source, target)
    if channels is not None and channels < shape[1]:
        tensor = graph.slice(tensor, [0], [channels], [1])
        shape[1] = channels
    return tensor, shape


def _in_out_layout(
    graph: OutputGraph, op: conv.ConvolutionOp, result: Tensor, channels: int
) -> Tensor:
    """A result in the layout that is asked for."""
    source, target = Layout.parse(op.IMAGE_LAYOUT, "out_layout"), op.layouts[2]
    if source == target:
        return result
    lengths = target.lengths(graph.result_shape(op))
    lengths["C"] = channels
    shape = [lengths[name] for name in source.names]
    return change_layout(graph, result, shape, source, target)[0]


def convolution(
    graph: OutputGraph, op: conv.LaidOutConvolutionOp, zero_points: Sequence[Tensor] = ()
) -> Tensor:
    """Conv; ConvInteger of bytes, from which zero points of both operands may be subtracted."""
    groups = op.group_count()
    weight, kernel = _operand(graph, op, 1, None)
    if kernel is None:
        raise NotExpressible("'weight' has an unknown dimension")
    if op.multiplies_depth:
        kernel = op.filter_shape(kernel)
        weight = graph.reshape(weight, kernel)
    data, _ = _operand(graph, op, 0, kernel[1] * groups)
    dtype = dtype_of(op.result.type, "the result")
    attributes: dict[str, Any] = {
        "kernel_shape": kernel[2:],
        "strides": op.window_strides,
        "pads": op.pads,
        "dilations": op.window_dilation,
        "group": groups,
    }
    if dtype.kind in "iu":
        data, weight = (integers(graph, factor, dtype) for factor in (data, weight))
    if data.dtype in BYTES and weight.dtype in BYTES and dtype.kind in "iu" and dtype.itemsize <= 4:
        # Integers of a narrow sum are the last bits of those of a wide one.
        result = graph.cast(
            _integer_sums(graph, data, weight, kernel, zero_points, attributes), dtype
        )
    else:
        result = graph.node(
            "Conv", graph.cast(data, dtype), graph.cast(weight, dtype), **attributes
        )
    return _in_out_layout(graph, op, result, kernel[0])


def _integer_sums(
    graph: OutputGraph,
    data: Tensor,
    weight: Tensor,
    kernel: Sequence[int],
    zero_points: Sequence[Tensor],
    attributes: Mapping[str, Any],
) -> Tensor:
    """
    ConvInteger. Zero points of single output channels, which onnxruntime refuses there, are subtracted from its result: each
    times the sum of what its channel reads.
    """
    known = [graph.known(each) for each in zero_points]
    if not any(array is not None and array.ndim for array in known):
        return graph.node("ConvInteger", data, weight, *zero_points, **attributes)
    zero, channel_zeros = zero_points
    sums, read = (
        graph.node("ConvInteger", data, factor, zero, **attributes)
        for factor in (weight, graph.constant(np.ones(kernel, weight.dtype)))
    )
    each = graph.along(graph.cast(channel_zeros, INT32), 1, len(kernel))
    return graph.node("Sub", sums, graph.node("Mul", read, each))


def transposed_convolution(graph: OutputGraph, op: conv.TransposedConvolutionOp) -> Tensor:
    """ConvTranspose."""
    groups = op.group_count()
    weight, kernel = _operand(graph, op, 1, None)
    if kernel is None:
        raise NotExpressible("'weight' has an unknown dimension")
    data, _ = _operand(graph, op, 0, None)
    dtype = dtype_of(op.result.type, "the result")
    output_padding = op.output_padding.get_values()
    result = graph.node(
        "ConvTranspose",
        graph.cast(data, dtype),
        graph.cast(weight, dtype),
        kernel_shape=kernel[2:],
        strides=op.window_strides,
        pads=op.pads,
        dilations=op.window_dilation,
        output_padding=output_padding if any(output_padding) else None,
        group=groups,
    )
    return _in_out_layout(graph, op, result, kernel[1] * groups)


EMITTERS: EmitterTable = {
    conv.Conv1DOp: convolution,
    conv.Conv2DOp: convolution,
    conv.Conv2DTransposeOp: transposed_convolution,
    conv.Conv3DOp: convolution,
    conv_packed.ContribConv2DNCHWcOp: convolution,
    conv_packed.ContribDepthwiseConv2DNCHWcOp: convolution,
    conv_transpose.Conv1DTransposeOp: transposed_convolution,
    conv_transpose.Conv3DTransposeOp: transposed_convolution,
}
