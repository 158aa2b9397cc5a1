"""
Winograd's convolution in NumPy, and its matrices, built by the construction of Toom and Cook.

    result = A^T [(G taps) * (B^T data)]

Source of the points: Barabasz, Anderson, Soodhalter and Gregg, Error Analysis and Improving the
Accuracy of Winograd Convolution for Deep Neural Networks, 2018; those that TVM uses.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv import winograd
from xrelay.dialects.conv.winograd import (
    ContribConv2DWinogradWithoutWeightTransformOp,
    ContribConv3DWinogradWithoutWeightTransformOp,
    WinogradConvolutionOp,
    tile_outputs,
    transforms_depth,
)
from xrelay.dialects.tensor.layout import Layout
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import by, meaning
from xrelay.interpreters.numerics import convert, narrow, widen
from xrelay.interpreters.tensor.layout import change_layout

_FEW = (0.0, -1.0, 1.0, 0.5)
_MANY = (0.0, -1.0, 1.0, 0.5, -0.5, 2.0, -2.0, -0.25)
POINTS: dict[int, tuple[float, ...]] = {
    3: _FEW[:3],
    4: _FEW,
    5: (*_FEW, -2.0),
    6: (*_FEW, -2.0, -0.5),
    7: _MANY[:7],
    8: _MANY,
    9: (*_MANY, 4.0),
    10: (*_MANY, 0.75, -4 / 3),
    11: (*_MANY, 4.0, 0.75, -4 / 3),
    12: (*_MANY, 4.0, 0.75, -4 / 3, 0.25),
    13: (*_MANY, 4.0, 0.25, -0.75, 4 / 3, -4.0),
}
"""The finite points for m outputs of r taps, by m + r - 2."""


@dataclass(frozen=True)
class Transform:
    """What is done along one axis, in tiles of `outputs` outputs from `inputs` elements."""

    data: Array
    """B^T, [numbers, inputs]"""
    result: Array
    """A^T, [outputs, numbers]"""

    @property
    def inputs(self) -> int:
        """How many elements a tile reads."""
        return self.data.shape[1]

    @property
    def outputs(self) -> int:
        """How many elements a tile computes."""
        return self.result.shape[0]

    def tiles(self, length: int) -> int:
        """How many tiles compute `length` elements."""
        return -(-length // self.outputs)


@cache
def _scales(outputs: int, taps: int) -> tuple[tuple[float, ...], list[float]]:
    """The points, and the products of the differences of each from the others."""
    points = POINTS[outputs + taps - 2]
    scales = [
        prod(point - other for j, other in enumerate(points) if j != i)
        for i, point in enumerate(points)
    ]
    # The first row of G and of B^T may have either sign; its first number is positive.
    scales[0] = abs(scales[0])
    return points, scales


def weight_matrix(outputs: int, taps: int) -> Array:
    """G of F(outputs, taps), [outputs + taps - 1, taps]: the filter's polynomial at every point."""
    points, scales = _scales(outputs, taps)
    rows = [
        [point**power / scale for power in range(taps)]
        for point, scale in zip(points, scales, strict=True)
    ]
    return np.array([*rows, [0.0] * (taps - 1) + [1.0]])


@cache
def transform(outputs: int, taps: int) -> Transform:
    """B^T and A^T of F(outputs, taps)."""
    points, scales = _scales(outputs, taps)
    size = outputs + taps - 1
    rows = np.zeros((size, size))
    for i in range(len(points)):
        others = [*points[:i], *points[i + 1 :]]
        exact = prod(points[i] - other for other in others)
        # The coefficients of the polynomial with these roots, from the constant one on.
        rows[i, : size - 1] = np.poly(others)[::-1] * (scales[i] / exact)
    rows[-1] = np.poly(points)[::-1]
    result = [
        [*(point**i for point in points), 1.0 if i == outputs - 1 else 0.0] for i in range(outputs)
    ]
    return Transform(rows, np.array(result))


def axis_transforms(op: WinogradConvolutionOp) -> list[Transform]:
    """What is done along each spatial axis."""
    assert isinstance(
        op,
        ContribConv2DWinogradWithoutWeightTransformOp
        | ContribConv3DWinogradWithoutWeightTransformOp,
    )
    outputs, taps = tile_outputs(op.tile_size), op.taps()
    if isinstance(op, ContribConv3DWinogradWithoutWeightTransformOp) and not op.with_depth:
        depth, *others = taps
        # An output is the sum over the taps.
        plain = Transform(np.eye(depth), np.ones((1, depth)))
        return [plain, *(transform(outputs, each) for each in others)]
    return [transform(outputs, each) for each in taps]


def weight_order(op: WinogradConvolutionOp) -> tuple[int, ...]:
    """The axes of a transformed weight as one for each spatial axis, then C, then O."""
    if isinstance(op, ContribConv2DWinogradWithoutWeightTransformOp):
        return 0, 1, 2, 3
    assert isinstance(op, ContribConv3DWinogradWithoutWeightTransformOp)
    return (0, 1, 2, 4, 3) if op.with_depth else (2, 0, 1, 4, 3)


def _along(matrix: Array, array: Array, axis: int) -> Array:
    """`matrix` times `array` along an axis."""
    product = np.tensordot(array, matrix.astype(array.dtype), (axis, 1))
    return np.moveaxis(product, -1, axis)


def _convolve(
    data: Array, weight: Array, transforms: list[Transform], pads: tuple[int, ...]
) -> Array:
    """The convolution of `data` [N, C, …] with a transformed weight [numbers …, C, O]."""
    axes = len(transforms)
    counts: list[int] = []
    borders = [(0, 0), (0, 0)]
    for axis, each in enumerate(transforms):
        taps = each.inputs - each.outputs + 1
        padded = data.shape[2 + axis] + pads[axis] + pads[axis + axes]
        counts.append(padded - taps + 1)
        needed = each.tiles(counts[axis]) * each.outputs + taps - 1
        borders.append((pads[axis], pads[axis + axes] + needed - padded))
    tiles = np.pad(data, borders)
    for axis, each in enumerate(transforms):
        starts = np.arange(each.tiles(counts[axis])) * each.outputs
        places = starts[:, None] + np.arange(each.inputs)
        # Every axis becomes two: tile, and element of the tile.
        tiles = np.moveaxis(tiles[(slice(None),) * (2 + axis) + (places,)], 3 + axis, -1)
    # [N, C, tiles …, elements …]
    for axis, each in enumerate(transforms):
        tiles = _along(each.data, tiles, 2 + axes + axis)
    letters = "abcdefgh"[:axes]
    spots = "pqrstu"[:axes]
    products = np.einsum(
        f"nz{spots}{letters},{letters}zo->no{spots}{letters}", tiles, weight, optimize=True
    )
    for axis, each in enumerate(transforms):
        products = _along(each.result, products, 2 + axes + axis)
    order = [0, 1, *(place for i in range(axes) for place in (2 + i, 2 + axes + i))]
    lengths = [each.tiles(n) * each.outputs for each, n in zip(transforms, counts, strict=True)]
    whole = products.transpose(order).reshape(*products.shape[:2], *lengths)
    return whole[(slice(None), slice(None), *(slice(n) for n in counts))]


def _run(op: WinogradConvolutionOp, *args: Array) -> Array:
    dtype = args[0].dtype if op.out_dtype is None else dtype_of(op.out_dtype)
    data, weight = (widen(convert(array, dtype)) for array in args)
    canonical = Layout.parse(op.IMAGE_LAYOUT, "data_layout")
    images, results = op.image_layouts
    result = _convolve(
        change_layout(data, images, canonical),
        weight.transpose(weight_order(op)),
        axis_transforms(op),
        op.pads,
    )
    return change_layout(narrow(result, dtype), canonical, results)


def _transformed(weight: Array, tile_size: int, axes: range) -> Array:
    """Filters [O, C, …] with some of their axes transformed."""
    result = widen(weight)
    for axis in axes:
        result = _along(weight_matrix(tile_size, weight.shape[axis]), result, axis)
    return narrow(result, weight.dtype)


@register_impls
class WinogradFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv.winograd`."""

    @meaning
    def run_conv2d_weight_transform(
        self, op: winograd.ContribConv2DWinogradWeightTransformOp, weight: Array
    ) -> Array:
        result = _transformed(weight, tile_outputs(op.tile_size), range(2, 4))
        return result.transpose(2, 3, 0, 1)

    @meaning
    def run_conv3d_weight_transform(
        self, op: winograd.ContribConv3DWinogradWeightTransformOp, *args: Array
    ) -> Array:
        weight, tile = args[0], tile_outputs(op.tile_size)
        if transforms_depth(weight.shape[2:]):
            return _transformed(weight, tile, range(2, 5)).transpose(2, 3, 4, 0, 1)
        return _transformed(weight, tile, range(3, 5)).transpose(3, 4, 2, 0, 1)

    run_conv2d_without_weight_transform = by(
        winograd.ContribConv2DWinogradWithoutWeightTransformOp, _run
    )
    run_conv3d_without_weight_transform = by(
        winograd.ContribConv3DWinogradWithoutWeightTransformOp, _run
    )
