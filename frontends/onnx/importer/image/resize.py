"""
Resize and Upsample.

Images, lines and volumes of which the spatial axes are resized by their lengths become a
`relay.image.resize*`. What these operators cannot say (scales that do not divide lengths, antialias,
other axes) is separable: along each axis nearest elements are taken by their indices, and others are products with a
matrix of weights. Both are constants, or computed where lengths are known when the program runs only (`varying.py`).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from xrelay.dialects.image.resize import CROPPING, MODES, Resize1DOp, Resize2DOp, Resize3DOp
from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.shapes import normalize_axes
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast, matrix_product
from xrelay.frontends.onnx.importer.image import varying
from xrelay.frontends.onnx.importer.image.axes import Axis, Fit, Interpolation
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.scaled_lengths import scaled
from xrelay.frontends.onnx.importer.sizes import require_size, require_table
from xrelay.interpreters.arrays import Array

MAX_WEIGHTS = 2**24
"""Resizing by a matrix of more elements is refused."""

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_OPERATORS = {3: Resize1DOp, 4: Resize2DOp, 5: Resize3DOp}


def resize(node: Node) -> SSAValue:
    """Resize to constant sizes, or by constant scales."""
    how = Interpolation(
        node.string("mode", "nearest"),
        node.string("coordinate_transformation_mode", "half_pixel"),
        node.string("nearest_mode", "round_prefer_floor"),
        node.real("cubic_coeff_a", -0.75),
        node.flag("antialias"),
        node.flag("exclude_outside"),
        node.real("extrapolation_value", 0.0),
    )
    policy = node.string("keep_aspect_ratio_policy", "stretch")
    shape = node.shape_of(node.input(0))
    stated = node.integers("axes")
    named = (
        list(range(len(shape))) if stated is None else normalize_axes(stated, len(shape), "axes")
    )
    scales = _numbers(node, 2, "scales") if node.has_input(2) else np.zeros(0)
    sizes = _numbers(node, 3, "sizes") if node.has_input(3) else np.zeros(0)
    if (scales.size == 0) == (sizes.size == 0) or max(scales.size, sizes.size) != len(named):
        raise OnnxImportError(
            f"it has {scales.size} scales and {sizes.size} sizes, expected {len(named)} of one kind"
        )
    axes = [Axis(length, length, 1.0) for length in shape]
    lengths = [shape[axis] for axis in named]
    wanted: list[Any] = sizes.tolist()
    if wanted:
        changes = _by_sizes(lengths, wanted, policy)
    else:
        changes = [_by_scale(length, scale) for length, scale in zip(lengths, scales, strict=True)]
    for axis, change in zip(named, changes, strict=True):
        axes[axis] = change
    if how.coordinates == CROPPING:
        regions = _numbers(node, 1, "roi").astype(np.float64)
        if regions.size != 2 * len(named):
            raise OnnxImportError(
                f"input 1 ('roi') has {regions.size} elements, expected {2 * len(named)}"
            )
        for i, axis in enumerate(named):
            start, end = regions[i], regions[len(named) + i]
            axes[axis] = replace(axes[axis], start=float(start), end=float(end))
    return _resized(node, node.input(0), axes, how)


def _numbers(node: Node, index: int, what: str) -> Array:
    """The elements of a constant input of rank 1."""
    node.shaped(index, what, (None,))
    return node.known(index, what)


def _by_sizes(lengths: Sequence[int], sizes: Sequence[int], policy: str) -> list[Axis]:
    """The changes of axes to sizes, or to the largest or smallest of one scale that fits them."""
    if policy not in ("stretch", "not_larger", "not_smaller"):
        raise OnnxImportError(f"'keep_aspect_ratio_policy' is \"{policy}\"")
    if policy == "stretch":
        return [_to_size(length, size) for length, size in zip(lengths, sizes, strict=True)]
    for length, size in zip(lengths, sizes, strict=True):
        _require_size(length, size)
    fit = _fit([*zip(lengths, sizes, strict=True)], policy == "not_larger")
    return [Axis(length, fit.whole(length), None, fit) for length in lengths]


def _fit(pairs: list[tuple[int, int]], is_least: bool) -> Fit:
    """The least or greatest scale of axes to sizes: all of them where some are known when the program runs only."""
    if any(is_open(number) for pair in pairs for number in pair):
        # A scale of 0 is the greatest one only where all are.
        some = [pair for pair in pairs if is_least or pair[1] > 0] or pairs
        return Fit(tuple(dict.fromkeys(some)), is_least)
    scales = [Fraction(size, length) for length, size in pairs]
    return Fit((pairs[scales.index(min(scales) if is_least else max(scales))],), is_least)


def _to_size(length: int, size: int) -> Axis:
    """An axis that gets a size, either of which may be known when the program runs only."""
    if not certainly(length, size):
        _require_size(length, size)
    return Axis(length, size, None)


def _require_size(length: int, size: int) -> None:
    if length < 1 or size < 0:
        raise OnnxImportError(f"an axis of length {length} gets the size {size}")


def _by_scale(length: int, scale: float) -> Axis:
    if not 0 < scale < float("inf"):
        raise OnnxImportError(f"a scale is {scale}, expected a positive number")
    if is_open(length):
        target = scaled(length, float(scale), np.dtype(np.float32))
        if target is not None:
            return Axis(length, target, float(scale))
    # In single precision, in which 3 * (5 / 3) is 5.
    with np.errstate(over="ignore"):
        target = np.float32(length) * np.float32(scale)
    if np.isinf(target):
        raise OnnxImportError(
            f"an axis of length {length} is scaled by {scale}, expected a finite length"
        )
    return Axis(length, floor(target), float(scale))


def resize_by_scales(node: Node) -> SSAValue:
    """Resize in operator set 10, and Upsample in 9, by an input."""
    return _by_scales(node, _numbers(node, 1, "scales").tolist())


def upsample_by_attribute(node: Node) -> SSAValue:
    """Upsample before operator set 9."""
    scales = node.reals("scales")
    if scales is None:
        raise OnnxImportError("attribute 'scales' is missing")
    return _by_scales(node, scales)


def _by_scales(node: Node, scales: Sequence[float]) -> SSAValue:
    data = node.input(0)
    shape = node.shape_of(data)
    mode = node.string("mode", "nearest")
    if len(scales) != len(shape):
        raise OnnxImportError(f"the scales are {list(scales)}, the data have the rank {len(shape)}")
    axes = [_by_scale(length, scale) for length, scale in zip(shape, scales, strict=True)]
    return _resized(node, data, axes, Interpolation("linear" if mode == "bilinear" else mode))


def _resized(node: Node, data: SSAValue, axes: Sequence[Axis], how: Interpolation) -> SSAValue:
    if how.mode not in _METHODS:
        raise UnsupportedNode(f"'mode' is \"{how.mode}\"")
    if how.coordinates not in (*MODES, "half_pixel_symmetric"):
        raise UnsupportedNode(f"'coordinate_transformation_mode' is \"{how.coordinates}\"")
    if how.rounding not in varying.ROUNDINGS:
        raise UnsupportedNode(f"'nearest_mode' is \"{how.rounding}\"")
    require_size([axis.target for axis in axes], "the result")
    changed = [position for position, axis in enumerate(axes) if not axis.stays]
    if not changed:
        return data
    is_image = len(axes) in _OPERATORS and min(changed) > 1
    # The operator takes a scale as a number, which ratios are not in the last place, and open ones not at all.
    by_ratio = any(axis.fit and (axis.varies or how.mode == "nearest") for axis in axes)
    if is_image and how.coordinates in MODES and not how.antialias and not by_ratio:
        image = axes[2:]
        # Cropping takes its places from the lengths, whatever the scales are.
        cropped = how.coordinates == CROPPING
        scales = (
            None if cropped or all(map(_is_whole, image)) else [axis.known_scale for axis in image]
        )
        return node.emit(
            _OPERATORS[len(axes)](
                data,
                [axis.target for axis in image],
                roi=[axis.start for axis in image] + [axis.end for axis in image]
                if cropped
                else None,
                scales=scales,
                method=_METHODS[how.mode],
                coordinate_transformation_mode=how.coordinates,
                rounding_method=how.rounding,
                cubic_alpha=how.alpha,
                cubic_exclude=int(how.exclude_outside),
                extrapolation_value=how.extrapolation_value,
            )
        )
    if how.coordinates == CROPPING:
        raise UnsupportedNode(f'"{CROPPING}" is supported for spatial axes only')
    dtype = node.element_type(data)
    if how.mode != "nearest" and dtype != f64:
        data = cast(node, data, f32)
    for position in changed:
        data = _resized_axis(node, data, position, axes[position], how)
    return cast(node, data, dtype)


def _is_whole(axis: Axis) -> bool:
    """Whether the scale of an axis is that of its lengths."""
    if axis.scale is None and axis.fit is None:
        return True
    if axis.varies:
        over, under = axis.known_scale.as_integer_ratio()
        return certainly(axis.length * over, axis.target * under)
    return abs(axis.length * axis.known_scale - axis.target) <= 1e-6 * axis.target


def _resized_axis(
    node: Node, data: SSAValue, position: int, axis: Axis, how: Interpolation
) -> SSAValue:
    """The data with one axis resized."""
    if certainly(axis.target, 0):
        return node.emit(StridedSliceOp(data, [0], [0], axes=[position]))
    if not axis.varies:
        require_table([axis.target], f"the array of places on axis {position}")
    if how.mode == "nearest":
        return varying.nearest(node, data, position, axis, how)
    if axis.varies:
        data, weights, rows = varying.weights(node, data, position, axis, how)
        _require_weights(position, axis, rows)
        weights = cast(node, weights, node.element_type(data))
    else:
        places = node.known_value(varying.places_of(varying.Places(node), axis, how.coordinates))
        assert places is not None, "the axis is known"
        _require_weights(position, axis, axis.length)
        weights = node.constant(_weights(axis, places, how).T.astype(node.element_dtype(data)))
    # The product of the axis with a matrix.
    order = [each for each in range(len(node.shape_of(data))) if each != position] + [position]
    product = matrix_product(node, node.emit(TransposeOp(data, order)), weights)
    return node.emit(TransposeOp(product, [order.index(each) for each in range(len(order))]))


def _require_weights(position: int, axis: Axis, rows: int) -> None:
    if rows * axis.target > MAX_WEIGHTS:
        raise UnsupportedNode(
            f"axis {position} of length {axis.length} is resized to {axis.target} by a matrix, "
            f"which is limited to {MAX_WEIGHTS} elements"
        )


def _weights(axis: Axis, places: Array, how: Interpolation) -> Array:
    """
    The matrix [target, length] whose rows are the weights of the elements: a kernel around each
    place, wider by the inverse of the scale with antialias. Elements beyond the ends of the axis
    are those at its ends, or have no weight with `exclude_outside`.
    """
    width = min(axis.known_scale, 1.0) if how.antialias else 1.0
    reach = 1 if how.mode == "linear" else 2
    first = floor(-reach / width) + 1
    before = np.ceil(places) - 1
    indices = (before[:, None] + np.arange(first, 2 - first)).astype(np.int64)
    distances = np.abs(indices - places[:, None]) * width
    if how.mode == "linear":
        weights = np.clip(1 - distances, 0, 1)
    else:
        weights = _cubic(distances, how.alpha)
    if how.exclude_outside:
        weights = np.where((indices < 0) | (indices >= axis.length), 0, weights)
    if how.antialias or how.exclude_outside:
        sums = weights.sum(1, keepdims=True)
        weights = weights / np.where(sums == 0, 1, sums)
    matrix = np.zeros((axis.target, axis.length))
    rows = np.arange(axis.target)[:, None]
    np.add.at(matrix, (rows, np.clip(indices, 0, axis.length - 1)), weights)
    return matrix


def _cubic(x: Array, a: float) -> Array:
    """
    The kernel of cubic convolution. Source: Keys, Cubic convolution interpolation for digital image
    processing, 1981.
    """
    near = ((a + 2) * x - (a + 3)) * x**2 + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


CONVERTERS: ConverterTable = {
    "Resize": {10: resize_by_scales, 11: resize},
    "Upsample": {7: upsample_by_attribute, 9: resize_by_scales},
}
