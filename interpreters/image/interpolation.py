"""Interpolation between the elements of an axis in NumPy: coordinates and weights in f64."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from xrelay.dialects.image.resize import CUBIC, NEAREST
from xrelay.interpreters.arrays import Array, DType, along
from xrelay.interpreters.numerics import convert, is_float, quiet, wide_dtype

Tap: TypeAlias = tuple[Array, Array | None]
"""Indices of elements, which may be outside of the axis, and their weights; None is 1."""

EPSILON = 1e-5
"""What rounding down and up looks beyond a coordinate, for the sake of those that are rounded."""
MARGIN = 8.0
"""Coordinates that are farther from the axis count as this far."""
FAR = 2.0**31
"""The same where elements outside of the axis are mirrored: which one it is depends on how far."""


def blend_dtype(dtype: DType) -> DType:
    """The type that elements are blended in."""
    if is_float(dtype):
        return wide_dtype(dtype)
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def _whole(x: Array, length: int, margin: float = MARGIN) -> Array:
    """Whole numbers near an axis as integers; NaN as 0."""
    near = np.minimum(np.maximum(x, -margin), length + margin)
    return convert(np.asarray(near), np.dtype(np.int64))


def _nearest(c: Array, rounding: str) -> Array:
    match rounding:
        case "even":
            return np.rint(c)
        case "round_prefer_floor":
            return np.ceil(c - 0.5)
        case "floor":
            return np.floor(c + EPSILON)
        case "ceil":
            return np.ceil(c - EPSILON)
        case _:
            return np.floor(c + 0.5)


def _cubic_weights(t: Array, alpha: float) -> list[Array]:
    """Those of the elements before, at, after, and two after a coordinate."""
    t2 = t * t
    t3 = t2 * t
    return [
        (t3 - 2 * t2 + t) * alpha,
        t3 * (alpha + 2) - t2 * (alpha + 3) + 1,
        t2 * (2 * alpha + 3) - t3 * (alpha + 2) - t * alpha,
        (t2 - t3) * alpha,
    ]


@quiet
def taps(
    c: Array,
    length: int,
    method: str,
    *,
    rounding: str = "round",
    alpha: float = -0.5,
    exclude: bool = False,
    margin: float = MARGIN,
) -> list[Tap]:
    """The elements of an axis that make those at some coordinates, up to `margin` beyond its ends."""
    if method == NEAREST:
        return [(_whole(_nearest(c, rounding), length, margin), None)]
    floor = np.floor(c)
    first, t = _whole(floor, length, margin), c - floor
    if method != CUBIC:
        return [(first, 1 - t), (first + 1, t)]
    indices, weights = [first - 1, first, first + 1, first + 2], _cubic_weights(t, alpha)
    if exclude:
        weights = [
            np.where(is_inside(index, length), weight, 0.0)
            for index, weight in zip(indices, weights, strict=True)
        ]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [weight / total for weight in weights]
    return list(zip(indices, weights, strict=True))


def is_inside(indices: Array, length: int) -> Array:
    """Which indices an axis has."""
    return (indices >= 0) & (indices < length)


def clamped(indices: Array, length: int) -> Array:
    """The nearest indices that an axis has."""
    return np.clip(indices, 0, length - 1)


@quiet
def resized(image: Array, axes: Sequence[int], axis_taps: Sequence[Sequence[Tap]]) -> Array:
    """`image` with other elements along some axes, the last one first."""
    for axis, choices in reversed(list(zip(axes, axis_taps, strict=True))):
        total: Array | None = None
        for indices, weights in choices:
            part = image.take(clamped(indices, image.shape[axis]), axis)
            if weights is not None:
                part = part * along(weights.astype(image.dtype), axis, image.ndim)
            total = part if total is None else total + part
        assert total is not None
        image = total
    return image
