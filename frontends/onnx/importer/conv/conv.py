"""Convolution and its transpose."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp, Conv2DTransposeOp, Conv3DOp
from xrelay.dialects.conv.transpose import Conv3DTransposeOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.windows import Window, halves
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import MAX_ELEMENTS


def spatial(node: Node, data: SSAValue, weight: SSAValue) -> tuple[Sequence[int], Sequence[int]]:
    """The spatial lengths of lines, images or volumes, and of the windows of a weight."""
    shape, kernel = node.shape_of(data), node.shape_of(weight)
    if len(shape) not in (3, 4, 5):
        raise UnsupportedNode(
            f"its input has the shape {list(shape)}: only lines, images and volumes, of rank 3 to "
            "5, are supported"
        )
    if len(kernel) != len(shape):
        raise OnnxImportError(
            f"its input has the shape {list(shape)}, its weight {list(kernel)} of another rank"
        )
    stated = node.integers("kernel_shape")
    if stated is not None and tuple(stated) != kernel[2:]:
        raise OnnxImportError(f"'kernel_shape' is {stated}, the weight has {list(kernel[2:])}")
    return shape[2:], kernel[2:]


def _with_bias(node: Node, result: SSAValue, bias: SSAValue | None) -> SSAValue:
    return result if bias is None else node.emit(BiasAddOp(result, bias))


_CONVOLUTIONS = {1: Conv1DOp, 2: Conv2DOp, 3: Conv3DOp}


def convolution(node: Node) -> SSAValue:
    """Conv of lines, images and volumes, with an optional bias."""
    data, weight, bias = node.input(0), node.input(1), node.optional(2)
    image, kernel = spatial(node, data, weight)
    window = Window.of(node, len(image))
    result = node.emit(
        _CONVOLUTIONS[len(image)](
            data,
            weight,
            strides=window.strides,
            padding=window.padding(image, kernel),
            dilation=window.dilations,
            groups=node.integer("group", 1),
        )
    )
    return _with_bias(node, result, bias)


def transposed_convolution(node: Node) -> SSAValue:
    """ConvTranspose of lines, which are taken for images of height 1, images and volumes."""
    data, weight, bias = node.input(0), node.input(1), node.optional(2)
    image, kernel = spatial(node, data, weight)
    axes = len(image)
    window = Window.of(node, axes)
    extra = node.integers("output_padding") or [0] * axes
    shape = node.integers("output_shape")
    for name, numbers in (("output_padding", extra), ("output_shape", shape or [0] * axes)):
        if len(numbers) != axes or min(numbers) < 0 or max(numbers) > MAX_ELEMENTS:
            raise OnnxImportError(
                f"'{name}' is {numbers}, expected a number in [0, {MAX_ELEMENTS}] for each of "
                f"{axes} axes"
            )
    reach = [
        (size - 1) * stride + (taps - 1) * dilation + 1 + more
        for size, taps, stride, dilation, more in zip(
            image, kernel, window.strides, window.dilations, extra, strict=True
        )
    ]
    if shape is None and window.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        shape = [size * stride for size, stride in zip(image, window.strides, strict=True)]
    if shape is None:
        pads = window.padding(image, kernel)
    else:
        totals = [whole - size for whole, size in zip(reach, shape, strict=True)]
        # What is missing to a larger shape is added at the end.
        extra = [more + max(-total, 0) for more, total in zip(extra, totals, strict=True)]
        totals = [max(total, 0) for total in totals]
        pads = halves(totals, more_at_end=window.auto_pad == "SAME_UPPER")
    strides, dilations = window.strides, window.dilations
    if axes == 1:
        data, weight = (node.emit(ExpandDimsOp(value, 2)) for value in (data, weight))
        strides, dilations, extra = [1, *strides], [1, *dilations], [0, *extra]
        pads = [0, pads[0], 0, pads[1]]
    operator = Conv3DTransposeOp if axes == 3 else Conv2DTransposeOp
    result = node.emit(
        operator(
            data,
            weight,
            strides=strides,
            output_padding=extra,
            padding=pads,
            dilation=dilations,
            groups=node.integer("group", 1),
            # Relay calls the axis of the channels of the data O for volumes.
            kernel_layout="OIDHW" if axes == 3 else "IOHW",
        )
    )
    if axes == 1:
        result = node.emit(SqueezeOp(result, (2,)))
    return _with_bias(node, result, bias)


CONVERTERS: ConverterTable = {
    "Conv": {1: convolution},
    "ConvTranspose": {1: transposed_convolution},
}
