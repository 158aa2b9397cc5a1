"""Sampling of images at computed places in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.image import sampling
from xrelay.dialects.image.resize import CUBIC, LINEAR, NEAREST
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.image.interpolation import FAR, MARGIN, Tap, clamped, is_inside, taps
from xrelay.interpreters.numerics import narrow, widen

METHODS = {"nearest": NEAREST, "bilinear": LINEAR, "bicubic": CUBIC}


@register_impls
class SamplingFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.image.sampling`."""

    @meaning
    def run_affine_grid(self, op: sampling.AffineGridOp, *args: Array) -> Array:
        data = widen(args[0])[..., None, None]
        real = data.dtype.type
        y, x = (
            np.arange(count).astype(data.dtype) * real(step) + real(-1)
            for count, step in zip(op.target_shape.get_values(), op.steps, strict=True)
        )
        result = data[:, :, 0] * x + data[:, :, 1] * y[:, None] + data[:, :, 2]
        return narrow(result, args[0].dtype)

    @meaning
    def run_grid_sample(self, op: sampling.GridSampleOp, data: Array, grid: Array) -> Array:
        wide, places = widen(data), grid.astype(np.float64)
        lengths = data.shape[2:]
        result = np.empty((*data.shape[:2], *grid.shape[2:]), wide.dtype)
        everywhere = np.ones(grid.shape[2:], np.bool_)
        for image, place, out in zip(wide, places, result, strict=True):
            # The first number of a place is that along the last axis.
            choices = [
                _axis_taps(op, place[len(lengths) - 1 - i], length)
                for i, length in enumerate(lengths)
            ]
            out[...] = _sampled(image, choices, (), everywhere)
        return narrow(result, data.dtype)


def _axis_taps(op: sampling.GridSampleOp, place: Array, length: int) -> list[Tap]:
    """The elements of an axis, whose indices may be outside of it, and their weights."""
    corners, mode = bool(op.align_corners.value.data), op.padding_mode.data
    c = (place + 1) * (length - 1) / 2 if corners else (place + 1) * length / 2 - 0.5
    method = METHODS[op.method.data]
    if method != CUBIC and mode != "zeros":
        if mode == "reflection":
            c = _reflected(c, length, corners=corners)
        c = np.minimum(np.maximum(c, 0.0), length - 1.0)
    margin = FAR if mode == "reflection" else MARGIN
    choices = taps(c, length, method, rounding="even", alpha=-0.75, margin=margin)
    if method != CUBIC or mode == "zeros":
        return choices
    moved: list[Tap] = []
    for index, weight in choices:
        if mode == "reflection":
            index = _reflected(index.astype(np.float64), length, corners=corners)
            index = index.astype(np.int64)
        moved.append((clamped(index, length), weight))
    return moved


def _reflected(c: Array, length: int, *, corners: bool) -> Array:
    """Coordinates mirrored at the corners of an axis until they are between them."""
    start, size = (0.0, length - 1.0) if corners else (-0.5, float(length))
    if size == 0:
        return np.zeros_like(c)
    distance = np.abs(c - start)
    times = np.floor(distance / size)
    rest = distance - times * size
    odd = times - 2 * np.floor(times / 2) == 1
    return np.where(odd, size - rest, rest) + start


def _sampled(
    image: Array, choices: Sequence[Sequence[Tap]], indices: tuple[Array, ...], inside: Array
) -> Array:
    """The elements of `image` [C, …] that taps make; those outside of it are 0."""
    if not choices:
        return np.where(inside, image[(slice(None), *indices)], image.dtype.type(0))
    length = image.shape[1 + len(indices)]
    total: Array | None = None
    for index, weight in choices[0]:
        held = inside & is_inside(index, length)
        part = _sampled(image, choices[1:], (*indices, clamped(index, length)), held)
        if weight is not None:
            part = part * weight.astype(image.dtype)
        total = part if total is None else total + part
    assert total is not None
    return total
