"""Convolution with deformed windows."""

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.image.sampling import GridSampleOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.reorder import ReverseOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.conv import spatial
from xrelay.frontends.onnx.importer.conv.windows import Window
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table


def deformable_convolution(node: Node) -> SSAValue:
    """
    DeformConv of images: the image is sampled where each tap of the kernel lies, and the taps are
    channels of a convolution of size 1.
    """
    data, weight, offset = node.input(0), node.input(1), node.input(2)
    image, kernel = spatial(node, data, weight)
    if len(image) != 2:
        raise UnsupportedNode(f"its input has {len(image)} spatial axes: only images are supported")
    node.shaped(2, "offset", (node.shape_of(data)[0], None, None, None))
    window = Window.of(node)
    top, left, *_ = window.padding(image, kernel)
    groups, parts = node.integer("group", 1), node.integer("offset_group", 1)
    batch, channels = node.shape_of(data)[:2]
    height, width = node.shape_of(offset)[2:]
    taps = prod(kernel)
    if parts < 1 or channels % parts or node.shape_of(offset)[1] != parts * taps * 2:
        raise OnnxImportError(
            f"'offset_group' is {parts}, the data have {channels} channels and the offsets "
            f"{node.shape_of(offset)[1]} for {taps} taps"
        )
    places = reshaped(node, offset, (batch * parts, taps, 2, height, width))
    places = node.emit(TransposeOp(places, (0, 2, 1, 3, 4)))
    places = reshaped(node, places, (batch * parts, 2, taps * height, width))
    full = (*kernel, height, width)
    require_table((2, *full), "the array of places of the taps")
    dtype = node.element_dtype(offset)
    rows, columns = (
        np.arange(count) * step for count, step in zip((height, width), window.strides, strict=True)
    )
    taps_down, taps_right = (
        np.arange(count) * step for count, step in zip(kernel, window.dilations, strict=True)
    )
    down = np.broadcast_to(taps_down[:, None, None, None] + rows[:, None] - top, full)
    right = np.broadcast_to(taps_right[:, None, None] + columns - left, full)
    base = np.stack([down, right]).reshape(1, 2, taps * height, width)
    places = node.emit(AddOp(places, node.constant(base.astype(dtype))))
    lengths = np.array(image).reshape(1, 2, 1, 1)
    places = node.emit(MultiplyOp(places, node.constant((2 / lengths).astype(dtype))))
    places = node.emit(AddOp(places, node.constant((1 / lengths - 1).astype(dtype))))
    grid = node.emit(ReverseOp(places, 1))
    own = reshaped(node, data, (batch * parts, channels // parts, *image))
    found = node.emit(GridSampleOp(own, grid, align_corners=False))
    if node.has_input(4):
        mask = node.shaped(4, "mask", (batch, parts * taps, height, width))
        mask = reshaped(node, mask, (batch * parts, 1, taps * height, width))
        found = node.emit(MultiplyOp(found, mask))
    found = reshaped(node, found, (batch, channels * taps, height, width))
    outputs, inputs = node.shape_of(weight)[:2]
    weight = reshaped(node, weight, (outputs, inputs * taps, 1, 1))
    result = node.emit(Conv2DOp(found, weight, groups=groups))
    return node.emit(BiasAddOp(result, node.input(3))) if node.has_input(3) else result


CONVERTERS: ConverterTable = {
    "DeformConv": {19: deformable_convolution},
}
