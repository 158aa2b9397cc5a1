"""Sampling of images at computed places, and sums of overlapping windows."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from xrelay.dialects.image.sampling import GridSampleOp
from xrelay.dialects.lengths import is_open
from xrelay.dialects.nn.dense import BatchMatmulOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import ScatterNDOp
from xrelay.dialects.tensor.transform import BroadcastToOp, StridedSliceOp, TransposeOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.conv.windows import Window
from xrelay.frontends.onnx.importer.emitting import along, cast, joined, quotient, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table
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
    if any(map(is_open, lengths)):
        grid = _open_grid(node, lengths, matrices, align_corners)
    else:
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


def _open_grid(
    node: Node, lengths: Sequence[int], matrices: SSAValue, align_corners: bool
) -> SSAValue:
    """The points [1, all places, rank + 1] of a grid whose lengths are known when the program runs only."""
    rank = len(lengths)
    fields: list[SSAValue] = []
    for axis, length in reversed([*enumerate(lengths)]):
        place = cast(node, node.counting(length), f64)
        if align_corners and length > 1:
            place = node.emit(MultiplyOp(place, quotient(node, 2, length - 1, place)))
            place = node.emit(SubtractOp(place, node.scalar(1, place)))
        elif align_corners:
            place = node.zeros((length,), place)
        else:
            place = node.emit(MultiplyOp(place, node.scalar(2, place)))
            place = node.emit(AddOp(place, node.scalar(1 - length, place)))
            place = node.emit(DivideOp(place, node.scalar(length, place)))
        whole = node.emit(BroadcastToOp(along(node, place, axis, rank), lengths))
        fields.append(reshaped(node, whole, (1, prod(lengths), 1)))
    fields.append(node.filled(np.ones(()), (1, prod(lengths), 1)))
    return cast(node, joined(node, fields, 2), node.element_type(matrices))


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
    if any(each < 1 for each in positions) or prod(positions) != count or rows % taps:
        raise OnnxImportError(
            f"the data have the shape {list(node.shape_of(data))}, windows {block} have {positions} "
            f"places in images {image}"
        )
    channels = rows // taps
    places = _window_places(node, (block, positions), (window.dilations, window.strides), padded)
    updates = reshaped(node, data, (batch * channels, taps * count))
    updates = node.emit(TransposeOp(updates, (1, 0)))
    nothing = node.zeros((prod(padded), batch * channels), data)
    places = reshaped(node, places, (1, taps * count))
    total = node.emit(ScatterNDOp(nothing, places, updates, "add"))
    total = reshaped(node, node.emit(TransposeOp(total, (1, 0))), (batch, channels, *padded))
    if not any(pads):
        return total
    begin = pads[:axes]
    end = [first + length for first, length in zip(begin, image, strict=True)]
    return node.emit(StridedSliceOp(total, begin, end, axes=range(2, 2 + axes)))


def _window_places(
    node: Node,
    lengths: tuple[Sequence[int], Sequence[int]],
    steps: tuple[Sequence[int], Sequence[int]],
    image: Sequence[int],
) -> SSAValue:
    """
    Where the elements of windows lie in an image, of which they are offsets [taps, positions]: `lengths` says how many of both
    there are on each axis, and `steps` how far apart they are.
    """
    taps, positions = lengths
    if not any(map(is_open, positions)):
        require_table((*taps, *positions), "the array of places of windows")
    axes = len(image)
    total: SSAValue | None = None
    for axis in range(axes):
        for first, counts, apart in zip((0, axes), lengths, steps, strict=True):
            numbers = node.counting(counts[axis])
            distance = apart[axis] * prod(image[axis + 1 :])
            numbers = node.emit(MultiplyOp(numbers, node.scalar(distance, numbers)))
            numbers = along(node, numbers, first + axis, 2 * axes)
            total = numbers if total is None else node.emit(AddOp(total, numbers))
    assert total is not None, "there is an axis"
    return node.computed(total)


CONVERTERS: ConverterTable = {
    "AffineGrid": {20: affine_grid},
    "Col2Im": {18: column_to_image},
    "GridSample": {16: grid_sample},
}
