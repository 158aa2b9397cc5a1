"""Pooling of lines, images and volumes."""

from collections.abc import Callable
from math import prod

from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import window_output
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.pool.pool import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.indexing import ScatterOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.windows import Window, kernel_shape
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.tensor.reduce import norm, root_of_powers

_MAX = {1: MaxPool1DOp, 2: MaxPool2DOp, 3: MaxPool3DOp}
_AVERAGE = {1: AvgPool1DOp, 2: AvgPool2DOp, 3: AvgPool3DOp}


def _pool(node: Node) -> tuple[list[int], Window, tuple[int, ...]]:
    """The lengths of the windows, their places, and the lengths of the axes that they lie on."""
    kernel = kernel_shape(node)
    window = Window.of(node, len(kernel))
    shape = node.shape_of(node.input(0))
    if not 1 <= len(kernel) <= 3:
        raise UnsupportedNode(f"'kernel_shape' is {kernel}, expected one to three numbers")
    if len(shape) != len(kernel) + 2:
        raise OnnxImportError(
            f"its input has the shape {list(shape)}, expected rank {len(kernel) + 2}"
        )
    return kernel, window, shape[2:]


def max_pool(node: Node) -> SSAValue:
    """MaxPool; the indices of the elements are not supported."""
    node.ignore("storage_order")  # orders the indices
    kernel, window, image = _pool(node)
    return node.emit(
        _MAX[len(kernel)](
            node.input(0),
            kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding(image, kernel),
            ceil_mode=node.flag("ceil_mode"),
        )
    )


def average_pool(node: Node) -> SSAValue:
    """AveragePool."""
    kernel, window, image = _pool(node)
    return node.emit(
        _AVERAGE[len(kernel)](
            node.input(0),
            kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding(image, kernel),
            ceil_mode=node.flag("ceil_mode"),
            count_include_pad=node.flag("count_include_pad"),
        )
    )


def norm_pool(node: Node) -> SSAValue:
    """
    LpPool: the p-norms of windows. Elements outside are 0: they are added, so that each mean of a
    window is one of as many elements.
    """
    kernel, window, image = _pool(node)
    p, ceil_mode = _order(node), node.flag("ceil_mode")
    axes = len(kernel)
    pads = window.padding(image, kernel)
    widths = [(0, 0), (0, 0)]
    counts = window_output(
        image, kernel, window.strides, window.dilations, tuple(pads), ceil_mode=ceil_mode
    )
    for i, (length, count) in enumerate(zip(image, counts, strict=True)):
        reach = (count - 1) * window.strides[i] + (kernel[i] - 1) * window.dilations[i] + 1
        widths.append((pads[i], max(reach - length - pads[i], 0)))

    def total(powers: SSAValue) -> SSAValue:
        if any(before or after for before, after in widths):
            zero = node.scalar(0, powers)
            powers = node.emit(PadOp(powers, zero, widths, pad_mode="constant"))
        pool = _AVERAGE[axes](powers, kernel, strides=window.strides, dilation=window.dilations)
        means = node.emit(pool)
        return node.emit(MultiplyOp(means, node.scalar(prod(kernel), means)))

    return root_of_powers(node, node.input(0), p, total)


def global_pool(
    pool: Callable[[SSAValue], RelayOp], other: type[MeanOp] | type[MaxOp]
) -> Converter:
    """Converts a pool over whole images, and a reduction where the input is not an image."""

    def convert(node: Node) -> SSAValue:
        data = node.input(0)
        rank = len(node.shape_of(data))
        if rank == 4:
            return node.emit(pool(data))
        return node.emit(other(data, range(2, rank), keepdims=True))

    return convert


def global_norm_pool(node: Node) -> SSAValue:
    """GlobalLpPool: the p-norms of whole images."""
    data = node.input(0)
    return norm(node, data, _order(node), range(2, len(node.shape_of(data))))


def _order(node: Node) -> int:
    """The attribute `p`."""
    p = node.integer("p", 2)
    if p < 1:
        raise OnnxImportError(f"'p' is {p}, expected a positive number")
    return p


def max_unpool(node: Node) -> SSAValue:
    """MaxUnpool: elements at the places, in the whole tensor, that MaxPool took them from."""
    kernel = kernel_shape(node)
    axes = len(kernel)
    window = Window.of(node, axes)
    data, indices = node.input(0), node.input(1)
    shape = node.shape_of(data)
    if len(shape) != axes + 2:
        raise OnnxImportError(f"'kernel_shape' is {kernel}, its input has rank {len(shape)}")
    pads = window.pads or [0] * 2 * axes
    lengths = [
        (shape[2 + i] - 1) * window.strides[i] - pads[i] - pads[axes + i] + kernel[i]
        for i in range(axes)
    ]
    inferred = [*shape[:2], *lengths]
    stated = node.known_lengths(2, "output_shape") if node.has_input(2) else inferred
    if min(inferred) < 0 or len(stated) != len(shape):
        raise OnnxImportError(f"its result would have the shape {inferred}, stated is {stated}")
    more = [outer - inner for outer, inner in zip(stated, inferred, strict=True)]
    if min(more) < 0:
        raise OnnxImportError(f"'output_shape' is {stated}, expected at least {inferred}")
    zero = node.scalar(0, data)
    nothing = node.zeros((prod(inferred),), data)
    flat = [reshaped(node, value, (prod(shape),)) for value in (indices, data)]
    result = reshaped(node, node.emit(ScatterOp(nothing, *flat)), tuple(inferred))
    if not any(more):
        return result
    return node.emit(PadOp(result, zero, [(0, each) for each in more], pad_mode="constant"))


CONVERTERS: ConverterTable = {
    "AveragePool": {1: average_pool},
    "GlobalAveragePool": {1: global_pool(GlobalAvgPool2DOp, MeanOp)},
    "GlobalLpPool": {2: global_norm_pool},
    "GlobalMaxPool": {1: global_pool(GlobalMaxPool2DOp, MaxOp)},
    "LpPool": {2: norm_pool},
    "MaxPool": {1: max_pool},
    "MaxUnpool": {9: max_unpool},
}
