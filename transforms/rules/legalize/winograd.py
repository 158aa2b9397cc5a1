"""
Rules of `legalize` for Winograd's convolution in two steps.

    weight transform     products of the taps with G, one axis after the other

    without it           take the overlapping tiles of the padded image, products of their elements
                         with B^T, batch_matmul over the channels, products with A^T, and the tiles
                         next to each other

A product with a matrix along an axis is a transpose that puts the axis last, and a dense.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.winograd import (
    ContribConv2DWinogradWeightTransformOp,
    ContribConv2DWinogradWithoutWeightTransformOp,
    ContribConv3DWinogradWeightTransformOp,
    ContribConv3DWinogradWithoutWeightTransformOp,
    WinogradConvolutionOp,
    WinogradWeightTransformOp,
    tile_outputs,
    transforms_depth,
)
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.shapes import is_tensor_type, shape_of
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.conv.winograd import axis_transforms, weight_matrix, weight_order
from xrelay.transforms.rules.emitting import cast, narrowed, relaid, reshaped, widened
from xrelay.transforms.rules.rewriting import Emitter, Rule


def _along(emit: Emitter, matrix: Array, value: SSAValue, axis: int) -> SSAValue:
    """`matrix` times a tensor along an axis."""
    assert is_tensor_type(value.type)
    rank = value.type.get_num_dims()
    weight = emit.constant(matrix.astype(dtype_of(value.type.element_type)))
    if axis == rank - 1:
        return emit(DenseOp(value, weight))
    order = [*(i for i in range(rank) if i != axis), axis]
    product = emit(DenseOp(emit(TransposeOp(value, order)), weight))
    return emit(TransposeOp(product, [order.index(i) for i in range(rank)]))


def _weight_transform(op: WinogradWeightTransformOp, emit: Emitter) -> SSAValue:
    tile, result = tile_outputs(op.tile_size), widened(emit, op.weight)
    _, _, *kernel = shape_of(op.weight)
    axes = range(len(kernel))
    if len(kernel) == 3 and not transforms_depth(kernel):
        axes, order = range(1, 3), (3, 4, 2, 0, 1)
    else:
        order = (*range(2, 2 + len(kernel)), 0, 1)
    for axis in axes:
        result = _along(emit, weight_matrix(tile, kernel[axis]), result, 2 + axis)
    return narrowed(emit, emit(TransposeOp(result, order)), op.weight)


def _convolution(op: WinogradConvolutionOp, emit: Emitter) -> SSAValue:
    transforms = axis_transforms(op)
    axes, spatial = len(transforms), range(len(transforms))
    images, results = op.image_layouts
    dtype = op.sum_type()
    data, weight = (widened(emit, cast(emit, value, dtype)) for value in (op.data, op.weight))
    data = relaid(emit, data, images, op.IMAGE_LAYOUT)
    batch, channels, *image = shape_of(data)
    outputs = shape_of(op.weight)[weight_order(op)[-1]]
    counts, tiles, widths = list[int](), list[int](), [(0, 0), (0, 0)]
    for axis, each in enumerate(transforms):
        taps = each.inputs - each.outputs + 1
        before, after = op.pads[axis], op.pads[axis + axes]
        counts.append(image[axis] + before + after - taps + 1)
        tiles.append(each.tiles(counts[axis]))
        needed = tiles[axis] * each.outputs + taps - 1
        widths.append((before, needed - image[axis] - before))
    data = emit(PadOp(data, emit.scalar(0, data), widths))
    for axis, each in enumerate(transforms):
        starts = np.arange(tiles[axis])[:, None] * each.outputs
        places = (starts + np.arange(each.inputs)).reshape(-1)
        data = emit(TakeOp(data, emit.constant(places.astype(np.int64)), axis=2 + axis))
    numbers = [each.inputs for each in transforms]
    pairs = [length for pair in zip(tiles, numbers, strict=True) for length in pair]
    split = reshaped(emit, data, (batch, channels, *pairs))
    # [numbers …, N, tiles …, C]
    order = [*(3 + 2 * i for i in spatial), 0, *(2 + 2 * i for i in spatial), 1]
    data = emit(TransposeOp(split, order))
    for axis, each in enumerate(transforms):
        data = _along(emit, each.data, data, axis)
    rows = batch * prod(tiles)
    left = reshaped(emit, data, (prod(numbers), rows, channels))
    right = emit(TransposeOp(weight, weight_order(op)))
    right = reshaped(emit, right, (prod(numbers), channels, outputs))
    product = emit(BatchMatmulOp(left, right))
    shape: Sequence[int] = (*numbers, batch, *tiles, outputs)
    result = reshaped(emit, product, shape)
    for axis, each in enumerate(transforms):
        result = _along(emit, each.result, result, axis)
    # [N, O, tile and output along each axis]
    pairs_order = [place for i in spatial for place in (axes + 1 + i, i)]
    result = emit(TransposeOp(result, [axes, 2 * axes + 1, *pairs_order]))
    lengths = [n * each.outputs for n, each in zip(tiles, transforms, strict=True)]
    result = reshaped(emit, result, (batch, outputs, *lengths))
    if lengths != counts:
        own = [2 + i for i in spatial]
        result = emit(StridedSliceOp(result, [0] * axes, counts, axes=own))
    result = relaid(emit, result, op.IMAGE_LAYOUT, results)
    return narrowed(emit, result, op.result)


WINOGRAD_RULES: dict[type[Operation], Rule] = {
    ContribConv2DWinogradWeightTransformOp: _weight_transform,
    ContribConv3DWinogradWeightTransformOp: _weight_transform,
    ContribConv2DWinogradWithoutWeightTransformOp: _convolution,
    ContribConv3DWinogradWithoutWeightTransformOp: _convolution,
}
"""What replaces the two steps of Winograd's convolution."""
