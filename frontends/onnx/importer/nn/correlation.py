"""Convolution with deformed windows."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.image.sampling import GridSampleOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.reorder import ReverseOp
from xrelay.dialects.tensor.transform import BroadcastToOp, TransposeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.conv import spatial
from xrelay.frontends.onnx.importer.conv.windows import Window
from xrelay.frontends.onnx.importer.emitting import along, cast, joined, quotient, reshaped
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
    base = _places_of_taps(node, kernel, window, (height, width), (top, left))
    places = node.emit(AddOp(places, cast(node, base, node.element_type(offset))))
    scales, shifts = (
        joined(node, [reshaped(node, each, (1, 1, 1, 1)) for each in of_axes], 1)
        for of_axes in (
            [quotient(node, 2, length, places) for length in image],
            [quotient(node, 1 - length, length, places) for length in image],
        )
    )
    places = node.emit(AddOp(node.emit(MultiplyOp(places, scales)), shifts))
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


def _places_of_taps(
    node: Node,
    kernel: Sequence[int],
    window: Window,
    counts: tuple[int, int],
    before: tuple[int, int],
) -> SSAValue:
    """The row and the column of each tap of windows that are not deformed: [1, 2, taps * height, width]."""
    full = (*kernel, *counts)
    require_table((2, *full), "the array of places of the taps")
    axes: list[SSAValue] = []
    for axis, (count, stride) in enumerate(zip(counts, window.strides, strict=True)):
        starts = node.counting(count)
        starts = node.emit(MultiplyOp(starts, node.scalar(stride, starts)))
        starts = node.emit(AddOp(starts, node.scalar(-before[axis], starts)))
        taps = np.arange(kernel[axis]) * window.dilations[axis]
        taps = node.constant(taps.reshape((-1, 1, 1, 1) if axis == 0 else (-1, 1, 1)))
        place = node.emit(AddOp(taps, along(node, starts, 2 + axis, 4)))
        whole = node.emit(BroadcastToOp(place, full))
        axes.append(reshaped(node, whole, (1, 1, prod(kernel) * counts[0], counts[1])))
    return joined(node, axes, 1)


CONVERTERS: ConverterTable = {
    "DeformConv": {19: deformable_convolution},
}
