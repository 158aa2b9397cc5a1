"""Images in other sizes, and morphology, in NumPy."""

from collections.abc import Sequence

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv.windows import expand_padding, positive_pair
from xrelay.dialects.image import resize as image
from xrelay.dialects.image.resize import CROPPING, LINEAR, NEAREST, Coordinates
from xrelay.interpreters.arrays import Array, along, dtype_of
from xrelay.interpreters.base import by, meaning
from xrelay.interpreters.conv.windows import Windows
from xrelay.interpreters.image.interpolation import blend_dtype, clamped, resized, taps
from xrelay.interpreters.numerics import convert, lowest, narrow, widen


def _at(coordinates: Coordinates, count: int) -> Array:
    return (np.arange(count) + coordinates.before) * coordinates.scale + coordinates.offset


def _beyond(c: Array, length: int) -> Array:
    """Which coordinates are outside of an axis."""
    return (c < 0) | (c > length - 1)


def _extrapolated(
    result: Array,
    axes: Sequence[int],
    coordinates: Sequence[Array],
    lengths: Sequence[int],
    value: float,
) -> Array:
    """`result` with `value` where a coordinate is outside of the image."""
    outside = np.zeros([1] * result.ndim, bool)
    for axis, c, length in zip(axes, coordinates, lengths, strict=True):
        outside = outside | along(_beyond(c, length), axis, result.ndim)
    return np.where(outside, convert(np.asarray(value), result.dtype), result)


def _resize(op: image.ResizeOp, data: Array) -> Array:
    spatial, size = op.axes[2:], op.size.get_values()
    lengths = [data.shape[axis] for axis in spatial]
    places = [_at(each, count) for each, count in zip(op.coordinates(lengths), size, strict=True)]
    choices = [
        taps(
            c,
            length,
            op.method.data,
            rounding=op.rounding,
            alpha=op.cubic_alpha.value.data,
            exclude=op.cubic_exclude.value.data != 0,
        )
        for c, length in zip(places, lengths, strict=True)
    ]
    dtype = data.dtype if op.out_dtype is None else dtype_of(op.out_dtype)
    moves = op.method.data == NEAREST and dtype == data.dtype
    wide = data if moves else data.astype(blend_dtype(data.dtype))
    wide = resized(wide, spatial, choices)
    if op.coordinate_transformation_mode.data == CROPPING:
        outside = op.extrapolation_value.value.data
        wide = _extrapolated(wide, spatial, places, lengths, outside)
    return np.ascontiguousarray(convert(wide, dtype))


@register_impls
class ImageFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.image.resize`."""

    run_resize1d = by(image.Resize1DOp, _resize)
    run_resize2d = by(image.Resize2DOp, _resize)
    run_resize3d = by(image.Resize3DOp, _resize)

    @meaning
    def run_crop_and_resize(
        self, op: image.CropAndResizeOp, data: Array, boxes: Array, box_indices: Array
    ) -> Array:
        batch, _, *spatial = op.axes
        lengths = [data.shape[axis] for axis in spatial]
        dtype = data.dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        moves = op.method.data == NEAREST and dtype == data.dtype
        outside = op.extrapolation_value.value.data
        shape = list(data.shape)
        shape[batch] = len(boxes)
        for axis, target in zip(spatial, op.crop_size.get_values(), strict=True):
            shape[axis] = target
        result = np.empty(shape, dtype)
        for i, (box, number) in enumerate(zip(boxes, box_indices, strict=True)):
            chosen = clamped(np.asarray([number]), data.shape[batch])
            part = data.take(chosen, batch)
            wide = part if moves else part.astype(blend_dtype(data.dtype))
            corners = box.astype(np.float64)
            coordinates = [
                _crop_coordinates(corners[j], corners[2 + j], length, target)
                for j, (length, target) in enumerate(
                    zip(lengths, op.crop_size.get_values(), strict=True)
                )
            ]
            method = NEAREST if op.method.data == NEAREST else LINEAR
            choices = [taps(c, n, method) for c, n in zip(coordinates, lengths, strict=True)]
            wide = resized(wide, spatial, choices)
            wide = _extrapolated(wide, spatial, coordinates, lengths, outside)
            place = [slice(None)] * data.ndim
            place[batch] = slice(i, i + 1)
            result[tuple(place)] = convert(wide, dtype)
        return result

    @meaning
    def run_dilation2d(self, op: image.Dilation2DOp, *args: Array) -> Array:
        dtype = args[0].dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        data = widen(convert(args[0], dtype)).transpose(op.data_axes)
        weight = widen(convert(args[1], dtype)).transpose(op.weight_axes)
        windows = Windows(
            weight.shape[1:],
            positive_pair(op.strides, "strides"),
            positive_pair(op.dilations, "dilations"),
            expand_padding(op.padding.get_values()),
        )
        size, padded = data.shape[2:], windows.pad(data, 0)
        result = np.full((*data.shape[:2], *windows.counts(size)), lowest(dtype), data.dtype)
        for (i, j), tap in zip(np.ndindex(*windows.size), windows.taps(padded, size), strict=True):
            # Sums of 8-bit integers and the like wrap around before they are compared.
            total = widen(narrow(tap + weight[:, i, j, None, None], dtype))
            np.maximum(result, total, out=result)
        return narrow(result, dtype).transpose(np.argsort(op.data_axes))


def _crop_coordinates(start: float, end: float, length: int, target: int) -> Array:
    if target == 1:
        return np.array([0.5 * (start + end) * (length - 1)])
    step = (end - start) * (length - 1) / max(target - 1, 1)
    return np.arange(target) * step + start * (length - 1)
