"""Operators that move elements between axes, in NumPy: reshapes, transposes and slices."""

from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.nn import space
from xrelay.dialects.tensor.layout import IMAGE, Layout
from xrelay.interpreters.arrays import Array, counting
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import convert, rounded
from xrelay.interpreters.tensor.layout import change_layout


def _images(op: space.SubPixelOp, data: Array) -> Array:
    return change_layout(data, op.data_layout, Layout.parse(IMAGE, "layout"))


def _as_stated(op: space.SubPixelOp, result: Array) -> Array:
    return change_layout(result, Layout.parse(IMAGE, "layout"), op.data_layout)


@register_impls
class SpaceFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.space`."""

    @meaning
    def run_pad(self, op: space.PadOp, data: Array, value: Array) -> Array:
        result = data
        for axis, (before, after) in enumerate(op.widths):
            length: int = data.shape[axis]
            added, last = (max(before, 0), max(after, 0)), length + before + after
            kept = slice(max(-before, 0), max(-before, 0) + last)
            if op.pad_mode.data == "constant":
                widths = [added if d == axis else (0, 0) for d in range(data.ndim)]
                fill = convert(value, data.dtype)
                padded = np.pad(result, widths, constant_values=fill)
                result = padded[(*[slice(None)] * axis, kept)]
            elif any((before, after)):
                mode = "edge" if op.pad_mode.data == "edge" else "reflect"
                places = np.pad(counting(length), added, mode) if any(added) else counting(length)
                result = result.take(places[kept], axis)
        return np.ascontiguousarray(result).reshape(result.shape)

    @meaning
    def run_mirror_pad(self, op: space.MirrorPadOp, data: Array) -> Array:
        result: Array = data
        mode = "reflect" if op.border else "symmetric"
        for axis, pair in enumerate(op.widths):
            if any(pair):
                length: int = result.shape[axis]
                result = result.take(np.pad(np.arange(length), pair, mode), axis)
        return result

    @meaning
    def run_depth_to_space(self, op: space.DepthToSpaceOp, *args: Array) -> Array:
        data, size = _images(op, args[0]), op.block
        batch, channels, height, width = data.shape
        rest = channels // size**2
        data = data[:, : rest * size**2]
        if op.mode.data == "DCR":
            split = data.reshape(batch, size, size, rest, height, width)
            pixels = split.transpose(0, 3, 4, 1, 5, 2)
        else:
            split = data.reshape(batch, rest, size, size, height, width)
            pixels = split.transpose(0, 1, 4, 2, 5, 3)
        return _as_stated(op, pixels.reshape(batch, rest, height * size, width * size))

    @meaning
    def run_space_to_depth(self, op: space.SpaceToDepthOp, *args: Array) -> Array:
        data, size = _images(op, args[0]), op.block
        batch, channels, height, width = data.shape
        split = data.reshape(batch, channels, height // size, size, width // size, size)
        blocks = split.transpose(0, 3, 5, 1, 2, 4)
        shape = (batch, channels * size**2, height // size, width // size)
        return _as_stated(op, blocks.reshape(shape))

    @meaning
    def run_batch_to_space_nd(self, op: space.BatchToSpaceNDOp, *args: Array) -> Array:
        data, blocks = args[0], op.blocks
        count, (batch, *lengths) = len(blocks), data.shape
        spatial, others = lengths[:count], lengths[count:]
        rest = batch // prod(blocks)
        split = data[: rest * prod(blocks)].reshape(*blocks, rest, *lengths)
        # Each block next to its axis.
        pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
        order = [count, *pairs, *range(2 * count + 1, split.ndim)]
        whole = [length * block for length, block in zip(spatial, blocks, strict=True)]
        joined = split.transpose(order).reshape(rest, *whole, *others)
        kept = [slice(cut[0], n - cut[1]) for cut, n in zip(op.cuts, whole, strict=True)]
        return joined[(slice(None), *kept)]

    @meaning
    def run_space_to_batch_nd(self, op: space.SpaceToBatchNDOp, *args: Array) -> Array:
        data, blocks = args[0], op.blocks
        count, (batch, *lengths) = len(blocks), data.shape
        spatial, others = lengths[:count], lengths[count:]
        padded_lengths = [n + sum(pair) for n, pair in zip(spatial, op.widths, strict=True)]
        fill = rounded(op.pad_value.value.data, data.dtype)
        padded = np.full((batch, *padded_lengths, *others), fill, data.dtype)
        inside = [slice(pair[0], pair[0] + n) for pair, n in zip(op.widths, spatial, strict=True)]
        padded[(slice(None), *inside)] = data
        parts = [n // block for n, block in zip(padded_lengths, blocks, strict=True)]
        shape = [n for pair in zip(parts, blocks, strict=True) for n in pair]
        split = padded.reshape(batch, *shape, *others)
        order = [2 * i + 2 for i in range(count)]
        order += [0, *(2 * i + 1 for i in range(count)), *range(2 * count + 1, split.ndim)]
        return split.transpose(order).reshape(batch * prod(blocks), *parts, *others)

    @meaning
    def run_fifo_buffer(self, op: space.FifoBufferOp, data: Array, buffer: Array) -> Array:
        axis, length = op.normalized_axis, data.shape[op.normalized_axis]
        both = np.concatenate([buffer, data], axis)
        kept = [slice(None)] * both.ndim
        kept[axis] = slice(length, length + buffer.shape[axis])
        return both[tuple(kept)]
