"""Resizing of images and volumes, with the sizes of the results as operands, in NumPy."""

from dataclasses import dataclass

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.dialects import dyn_image
from xrelay.dialects.dyn_image import resized, scaled_length
from xrelay.interpreters.arrays import Array, counting, dtype_of
from xrelay.interpreters.numerics import convert, quiet

BEYOND = 1e-5
"""What "floor" and "ceil" add to coordinates, whose rounding errors would else decide."""


@dataclass(frozen=True)
class Taps:
    """For each element along an axis of the result, the elements that it is made of."""

    places: Array
    """[taps, new length]"""
    weights: Array


def _coordinates(mode: str, old: int, new: int, start: float, end: float) -> Array:
    x: Array = counting(new).astype(np.float64)
    single = np.zeros(1)
    match mode:
        case "half_pixel":
            return (x + 0.5) * (old / new) - 0.5
        case "pytorch_half_pixel":
            return (x + 0.5) * (old / new) - 0.5 if new > 1 else single
        case "tf_half_pixel_for_nn":
            return (x + 0.5) * (old / new)
        case "align_corners":
            return x * ((old - 1) / (new - 1)) if new > 1 else single
        case "tf_crop_and_resize":
            if new == 1:
                return single + 0.5 * (start + end) * (old - 1)
            return start * (old - 1) + x * ((end - start) * (old - 1) / (new - 1))
        case _:
            return x * (old / new)


def _nearest(coordinates: Array, rounding: str) -> Array:
    match rounding:
        case "round_prefer_floor":
            return np.ceil(coordinates - 0.5)
        case "floor":
            return np.floor(coordinates + BEYOND)
        case "ceil":
            return np.ceil(coordinates - BEYOND)
        case _:
            return np.floor(coordinates + 0.5)


def _taps(op: dyn_image.DynResize2DOp, coordinates: Array, length: int) -> Taps:
    method, first = op.method.data, np.floor(coordinates)
    fraction: Array = coordinates - first
    if method == "nearest_neighbor":
        corners = op.coordinate_transformation_mode.data == "align_corners"
        rounding = op.rounding_method.data or ("round" if corners else "floor")
        places = _nearest(coordinates, rounding)[None]
        weights = np.ones(places.shape)
    elif method == "linear":
        places = np.stack([first, first + 1])
        weights = np.stack([1 - fraction, fraction])
    else:
        places = np.stack([first + i for i in (-1, 0, 1, 2)])
        weights = _cubic_weights(fraction, op.cubic_alpha.value.data)
        if op.cubic_exclude.value.data:
            weights = np.where((places < 0) | (places >= length), 0, weights)
            weights = weights / weights.sum(0)
    return Taps(np.clip(places, 0, length - 1).astype(np.int64), weights)


def _cubic_weights(t: Array, a: float) -> Array:
    """Source: R. Keys, Cubic convolution interpolation for digital image processing, 1981."""

    def near(x: Array) -> Array:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Array) -> Array:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return np.stack([far(t + 1), near(t), near(1 - t), far(2 - t)])


def _apply(data: Array, axis: int, taps: Taps) -> Array:
    """Weighted sums of elements along an axis; the elements themselves for a single tap."""
    if len(taps.places) == 1:
        return data.take(taps.places[0], axis)
    shape = [-1 if d == axis else 1 for d in range(data.ndim)]
    parts = zip(taps.places, taps.weights, strict=True)
    terms = [data.take(places, axis) * weights.reshape(shape) for places, weights in parts]
    return np.sum(np.stack(terms), 0)


def _linear(old: int, new: int, mode: str) -> Taps:
    coordinates = _coordinates(mode, old, new, 0, 0)
    first = np.floor(coordinates)
    places = np.clip(np.stack([first, first + 1]), 0, old - 1).astype(np.int64)
    return Taps(places, np.stack([1 - (coordinates - first), coordinates - first]))


def _repeated(old: int, new: int, mode: str) -> Taps:
    """The nearest elements, at places computed in integers."""
    x = counting(new)
    match mode:
        case "half_pixel":
            places = ((2 * x + 1) * old - new) // (2 * new)
        case "align_corners":
            most = max(new - 1, 1)
            places = (2 * x * (old - 1) + most) // (2 * most)
        case _:
            places = x * old // new
    places = np.clip(places, 0, old - 1)[None]
    return Taps(places, np.ones(places.shape))


@register_impls
class DynImageFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.dyn_image`."""

    @impl(dyn_image.DynResize2DOp)
    @quiet
    def run_resize2d(
        self, interpreter: Interpreter, op: dyn_image.DynResize2DOp, args: PythonValues
    ) -> PythonValues:
        data, size, roi = args
        try:
            sizes = resized(size.tolist())
        except VerifyException as error:
            raise InterpretationError(f"{op.name}: {error}") from error
        dtype = data.dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        region: list[float] = roi.astype(np.float64).tolist()
        mode, moved = op.coordinate_transformation_mode.data, op.method.data == "nearest_neighbor"
        result: Array = data if moved else data.astype(np.float64)
        outside = np.zeros([1] * 4, bool)
        for i, (axis, new) in enumerate(zip(op.axes, sizes, strict=True)):
            old: int = data.shape[axis]
            where = _coordinates(mode, old, new, region[i], region[2 + i])
            result = _apply(result, axis, _taps(op, where, old))
            beyond = (where < 0) | (where > old - 1)
            outside = outside | beyond.reshape([-1 if d == axis else 1 for d in range(4)])
        result = convert(result, dtype)
        if mode == "tf_crop_and_resize":
            value = convert(np.array(op.extrapolation_value.value.data), dtype)
            result = np.where(outside, value, result)
        return (result,)

    @impl(dyn_image.DynUpsampling3DOp)
    @quiet
    def run_upsampling3d(
        self, interpreter: Interpreter, op: dyn_image.DynUpsampling3DOp, args: PythonValues
    ) -> PythonValues:
        data, *scales = args
        linear, mode = op.method.data == "trilinear", op.coordinate_transformation_mode.data
        result: Array = data.astype(np.float64) if linear else data
        for axis, scale in zip(op.axes, scales, strict=True):
            old: int = data.shape[axis]
            try:
                new = scaled_length(old, float(scale))
            except VerifyException as error:
                raise InterpretationError(f"{op.name}: {error}") from error
            taps = _linear(old, new, mode) if linear else _repeated(old, new, mode)
            result = _apply(result, axis, taps)
        return (convert(result, data.dtype),)
