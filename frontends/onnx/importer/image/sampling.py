"""Sampling of images at computed places, and sums of overlapping windows."""

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.image.sampling import GridSampleOp
from xrelay.dialects.nn.dense import BatchMatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.pool.pool import AvgPool2DOp
from xrelay.dialects.tensor.binary import AddOp, LessEqualOp, LogicalAndOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import ScatterNDOp, ScatterOp
from xrelay.dialects.tensor.reorder import ReverseOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    ConcatenateOp,
    PadOp,
    StridedSliceOp,
    TakeOp,
    TransposeOp,
)
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.vision.regions import RoiAlignOp, RoiPoolOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.conv import spatial
from xrelay.frontends.onnx.importer.conv.windows import Window, kernel_shape, require_image
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node, require_table
from xrelay.interpreters.arrays import Array

_METHODS = {"linear": "bilinear", "cubic": "bicubic"}
"""Names of operator set 20, and what they were before."""


def grid_sample(node: Node) -> SSAValue:
    """GridSample; the coordinates are the last axis of the grid."""
    mode = node.string("mode", "linear" if node.opset >= 20 else "bilinear")
    padding_mode = node.string("padding_mode", "zeros")
    align_corners = node.flag("align_corners")
    data, grid = node.input(0), node.input(1)
    rank = len(node.shape_of(grid))
    grid = node.emit(TransposeOp(grid, (0, rank - 1, *range(1, rank - 1))))
    return node.emit(
        GridSampleOp(
            data,
            grid,
            method=_METHODS.get(mode, mode),
            layout="NCHW" if rank == 4 else "NCDHW",
            padding_mode=padding_mode,
            align_corners=align_corners,
        )
    )


def affine_grid(node: Node) -> SSAValue:
    """
    AffineGrid: where matrices move the places of a regular grid, which goes from -1 to 1 along each
    axis. (The function that ONNX defines it by takes no batch of one matrix for two dimensions.)
    """
    align_corners = node.flag("align_corners")
    matrices = node.input(0)
    size = node.known_lengths(1, "size")
    rank = len(size) - 2
    if rank not in (2, 3) or node.shape_of(matrices) != (size[0], rank, rank + 1):
        raise OnnxImportError(
            f"the matrices have the shape {list(node.shape_of(matrices))} and 'size' is {size}, "
            "expected [N, 2, 3] and [N, C, H, W], or [N, 3, 4] and [N, C, D, H, W]"
        )
    batch, _, *lengths = size
    require_table((rank + 1, *lengths), "the array of places of the grid")
    axes = [_grid_places(length, align_corners) for length in lengths]
    # The last axis comes first in the rows of the matrices.
    places = [each.reshape(-1) for each in reversed(np.meshgrid(*axes, indexing="ij"))]
    points = np.stack([*places, np.ones(prod(lengths))], axis=-1)
    grid = node.constant(points[None].astype(node.element_dtype(matrices)))
    moved = node.emit(BatchMatmulOp(grid, matrices, transpose_b=True))
    return reshaped(node, moved, (batch, *lengths, rank))


def _grid_places(length: int, align_corners: bool) -> Array:
    """Elements at equal distances: the ends are -1 and 1, or the borders of the elements are."""
    if align_corners:
        return np.linspace(-1, 1, length) if length > 1 else np.zeros(length)
    return (2 * np.arange(length) + 1) / max(1, length) - 1


def roi_align(node: Node) -> SSAValue:
    """RoiAlign, with and, before operator set 16, without a shift by half a pixel."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    coordinates = node.string("coordinate_transformation_mode", default)
    size = node.integer("output_height", 1), node.integer("output_width", 1)
    ratio, scale = node.integer("sampling_ratio", 0), node.real("spatial_scale", 1.0)
    if node.string("mode", "avg") != "avg":
        raise UnsupportedNode(
            "'mode' is not \"avg\": ONNX leaves open what the largest value is of"
        )
    data, rois, images = node.input(0), node.input(1), node.input(2)
    require_image(node, data)
    node.shaped(1, "rois", (None, 4))
    node.shaped(2, "batch_indices", (node.shape_of(rois)[0],))
    if coordinates == "output_half_pixel":
        numbers = node.emit(CastOp(images, node.element_type(rois)))
        fields = [node.emit(ExpandDimsOp(numbers, 1)), rois]
        regions = node.emit(ConcatenateOp(node.emit(TupleOp(fields)), axis=1))
        return node.emit(RoiAlignOp(data, regions, size, scale, sample_ratio=ratio))
    if coordinates != "half_pixel":
        raise OnnxImportError(f"'coordinate_transformation_mode' is \"{coordinates}\"")
    if ratio < 1:
        raise UnsupportedNode(
            "'sampling_ratio' is 0: with \"half_pixel\" the number of samples must be known"
        )
    return _roi_align_half_pixel(node, data, rois, images, size, ratio, scale)


def _roi_align_half_pixel(
    node: Node,
    data: SSAValue,
    rois: SSAValue,
    images: SSAValue,
    size: tuple[int, int],
    ratio: int,
    scale: float,
) -> SSAValue:
    """
    Means of samples of the image of each region; the nearest element stands for those up to one
    pixel outside, 0 for those farther away. Regions may be smaller than a pixel.
    """
    shape = node.shape_of(data)
    count = node.shape_of(rois)[0]
    corners = node.emit(MultiplyOp(rois, node.scalar(scale, rois)))
    corners = node.emit(SubtractOp(corners, node.scalar(0.5, rois)))
    places: list[SSAValue] = []
    inside: list[SSAValue] = []
    samples = [ratio * length for length in size]
    require_table((sum(samples),), "the array of places of the samples")
    for axis in (1, 0):  # columns come first, in regions as in grids
        column = 1 - axis
        start, end = (
            node.emit(StridedSliceOp(corners, [each], [each + 1], axes=[1]))
            for each in (column, column + 2)
        )
        parts = (np.arange(samples[axis]) + 0.5) / samples[axis]
        part = node.constant(parts[None].astype(node.element_dtype(rois)))
        extent = node.emit(SubtractOp(end, start))
        place = node.emit(AddOp(start, node.emit(MultiplyOp(extent, part))))
        length = shape[2 + axis]
        low = node.emit(LessEqualOp(node.scalar(-1, place), place))
        high = node.emit(LessEqualOp(place, node.scalar(length, place)))
        lines = (count, 1, samples[0], 1) if axis == 0 else (count, 1, 1, samples[1])
        whole = (count, 1, *samples)
        places.append(
            node.emit(BroadcastToOp(reshaped(node, _normalized(node, place, length), lines), whole))
        )
        inside.append(reshaped(node, node.emit(LogicalAndOp(low, high)), lines))
    grid = node.emit(ConcatenateOp(node.emit(TupleOp(places)), axis=1))
    own = node.emit(TakeOp(data, images, axis=0, mode="clip"))
    found = node.emit(GridSampleOp(own, grid, padding_mode="border", align_corners=False))
    kept = node.emit(CastOp(node.emit(LogicalAndOp(*inside)), node.element_type(data)))
    found = node.emit(MultiplyOp(found, kept))
    return node.emit(AvgPool2DOp(found, (ratio, ratio), strides=(ratio, ratio)))


def _normalized(node: Node, place: SSAValue, length: int) -> SSAValue:
    """Coordinates as those of grids without `align_corners`: -1 and 1 are the ends of the axis."""
    scaled = node.emit(MultiplyOp(place, node.scalar(2 / length, place)))
    return node.emit(AddOp(scaled, node.scalar(1 / length - 1, place)))


def max_roi_pool(node: Node) -> SSAValue:
    """MaxRoiPool."""
    size = node.integers("pooled_shape")
    if size is None:
        raise OnnxImportError("attribute 'pooled_shape' is missing")
    scale = node.real("spatial_scale", 1.0)
    return node.emit(RoiPoolOp(node.input(0), node.input(1), size, scale))


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


def column_to_image(node: Node) -> SSAValue:
    """Col2Im: the sum of windows, which are columns, at their places in images of any rank."""
    image, block = node.known_lengths(1, "image_shape"), node.known_lengths(2, "block_shape")
    axes = len(image)
    if not axes or len(block) != axes:
        raise OnnxImportError(
            f"'image_shape' is {list(image)} and 'block_shape' is {list(block)}, expected a length for "
            "each of the same axes"
        )
    window = Window.of(node, axes)
    pads = window.padding(image, block)
    data = node.shaped(0, "input", (None, None, None))
    batch, rows, count = node.shape_of(data)
    taps = prod(block)
    padded = [length + pads[i] + pads[axes + i] for i, length in enumerate(image)]
    positions = [
        (length - (taps_ - 1) * dilation - 1) // stride + 1
        for length, taps_, dilation, stride in zip(
            padded, block, window.dilations, window.strides, strict=True
        )
    ]
    if min(positions) < 1 or prod(positions) != count or rows % taps:
        raise OnnxImportError(
            f"the data have the shape {list(node.shape_of(data))}, windows {block} have {positions} "
            f"places in images {image}"
        )
    channels = rows // taps
    require_table((taps, count), "the array of places of windows")
    indices = np.zeros((*block, *positions), np.int64)
    for i in range(axes):
        along = np.arange(block[i])[:, None] * window.dilations[i]
        along = along + np.arange(positions[i]) * window.strides[i]
        shape = [1] * 2 * axes
        shape[i], shape[axes + i] = along.shape
        indices = indices * padded[i] + along.reshape(shape)
    updates = reshaped(node, data, (batch * channels, taps * count))
    updates = node.emit(TransposeOp(updates, (1, 0)))
    nothing = node.zeros((prod(padded), batch * channels), data)
    places = node.constant(indices.reshape(1, taps * count))
    total = node.emit(ScatterNDOp(nothing, places, updates, "add"))
    total = reshaped(node, node.emit(TransposeOp(total, (1, 0))), (batch, channels, *padded))
    if not any(pads):
        return total
    begin = pads[:axes]
    end = [first + length for first, length in zip(begin, image, strict=True)]
    return node.emit(StridedSliceOp(total, begin, end, axes=range(2, 2 + axes)))


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


SAMPLING_CONVERTERS: ConverterTable = {
    "AffineGrid": {20: affine_grid},
    "Col2Im": {18: column_to_image},
    "DeformConv": {19: deformable_convolution},
    "GridSample": {16: grid_sample},
    "MaxRoiPool": {1: max_roi_pool},
    "MaxUnpool": {9: max_unpool},
    "RoiAlign": {10: roi_align},
}
