"""Emitters of operators that add borders, or move elements between axes block by block."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from xrelay.dialects.nn import dilate, space
from xrelay.dialects.slicing import FARTHEST
from xrelay.dialects.tensor.layout import IMAGE, Layout
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.numbers import converted, rounded
from xrelay.frontends.onnx.exporter.tensor.layout import change_layout


def _all_pads(widths: Sequence[Sequence[int]]) -> list[int]:
    return [*(pair[0] for pair in widths), *(pair[1] for pair in widths)]


def pad(graph: OutputGraph, op: space.PadOp) -> Tensor:
    """Pad, then Slice where widths are negative."""
    data, mode = graph.tensor(op.data), op.pad_mode.data
    added = [[max(width, 0) for width in pair] for pair in op.widths]
    if any(map(any, added)):
        inputs = [data, graph.integers(_all_pads(added))]
        if mode == "constant":
            inputs.append(converted(graph, graph.tensor(op.pad_val), data.dtype))
        data = graph.node("Pad", *inputs, mode=mode)
    cut = [(axis, pair) for axis, pair in enumerate(op.widths) if min(pair) < 0]
    if not cut:
        return data
    starts = [max(-before, 0) for _, (before, _) in cut]
    ends = [after if after < 0 else FARTHEST for _, (_, after) in cut]
    return graph.slice(data, starts, ends, [axis for axis, _ in cut])


def mirror_pad(graph: OutputGraph, op: space.MirrorPadOp) -> Tensor:
    """Pad; with a mirror at the border, Gather of the mirrored indices of each axis."""
    data, widths = graph.tensor(op.data), op.widths
    if op.border:
        if not widths:
            return data
        return graph.node("Pad", data, graph.integers(_all_pads(widths)), mode="reflect")
    for axis, (length, pair) in enumerate(zip(graph.shape(op.data), widths, strict=True)):
        if any(pair):
            indices = np.pad(np.arange(length), pair, "symmetric")
            data = graph.node("Gather", data, graph.constant(indices), axis=axis)
    return data


def dilated(graph: OutputGraph, op: dilate.DilateOp) -> Tensor:
    """On each axis, a new axis after it, padded and merged, without the gap at the end."""
    data, shape = graph.tensor(op.x), list(graph.shape(op.x, "x"))
    number = graph.scalar(rounded(op.dilation_value.value.data, data.dtype), data.dtype)
    for axis, stride in enumerate(op.strides.get_values()):
        if stride == 1 or not shape[axis]:
            continue
        before, after = [0] * (len(shape) + 1), [0] * (len(shape) + 1)
        after[axis + 1] = stride - 1
        data = graph.unsqueeze(data, [axis + 1])
        data = graph.node("Pad", data, graph.integers([*before, *after]), number)
        length = shape[axis]
        shape[axis] = length * stride
        data = graph.slice(graph.reshape(data, shape), [0], [(length - 1) * stride + 1], [axis])
        shape[axis] = (length - 1) * stride + 1
    return data


def _depth_to_space(
    graph: OutputGraph, op: space.DepthToSpaceOp, data: Tensor, channels: int
) -> Tensor:
    """DepthToSpace, without the channels that do not fill a block."""
    if channels != DYNAMIC_INDEX and channels % op.block**2:
        data = graph.slice(data, [0], [channels - channels % op.block**2], [1])
    return graph.node("DepthToSpace", data, blocksize=op.block, mode=op.mode.data)


def _space_to_depth(
    graph: OutputGraph, op: space.SpaceToDepthOp, data: Tensor, channels: int
) -> Tensor:
    """SpaceToDepth."""
    return graph.node("SpaceToDepth", data, blocksize=op.block)


def sub_pixels(
    pixels: Callable[[OutputGraph, Any, Tensor, int], Tensor],
    graph: OutputGraph,
    op: space.SubPixelOp,
) -> Tensor:
    """What `pixels` makes of images of some channels, for images in any layout."""
    canonical = Layout.parse(IMAGE, "layout")
    data, layout = graph.tensor(op.data), op.data_layout
    if layout == canonical:
        return pixels(graph, op, data, op.data.type.get_shape()[1])
    data, shape = change_layout(graph, data, graph.shape(op.data), layout, canonical)
    data = pixels(graph, op, data, shape[1])
    shape = canonical.shape(layout.lengths(graph.result_shape(op)))
    return change_layout(graph, data, shape, canonical, layout)[0]


def batch_to_space(graph: OutputGraph, op: space.BatchToSpaceNDOp) -> Tensor:
    """The blocks of axis 0 as axes of their own, behind those that they belong to."""
    batch, *rest = graph.shape(op.data)
    blocks, count = op.blocks, len(op.blocks)
    spatial, others = rest[:count], rest[count:]
    outer, unused = divmod(batch, prod(blocks))
    data = graph.tensor(op.data)
    if unused:
        data = graph.slice(data, [0], [batch - unused], [0])
    data = graph.reshape(data, [*blocks, outer, *rest])
    pairs = chain.from_iterable((count + 1 + i, i) for i in range(count))
    data = graph.transpose(
        data, [count, *pairs, *range(2 * count + 1, 2 * count + 1 + len(others))]
    )
    lengths = [length * block for length, block in zip(spatial, blocks, strict=True)]
    data = graph.reshape(data, [outer, *lengths, *others])
    if not any(map(any, op.cuts)):
        return data
    starts = [before for before, _ in op.cuts]
    ends = [length - after for length, (_, after) in zip(lengths, op.cuts, strict=True)]
    return graph.slice(data, starts, ends, range(1, count + 1))


def space_to_batch(graph: OutputGraph, op: space.SpaceToBatchNDOp) -> Tensor:
    """The opposite of `batch_to_space`, after Pad."""
    data, (batch, *rest) = graph.tensor(op.data), graph.shape(op.data)
    blocks, count = op.blocks, len(op.blocks)
    others = rest[count:]
    if any(map(any, op.widths)):
        widths = [(0, 0), *op.widths, *[(0, 0)] * len(others)]
        number = graph.scalar(rounded(op.pad_value.value.data, data.dtype), data.dtype)
        data = graph.node("Pad", data, graph.integers(_all_pads(widths)), number)
    lengths = [n + sum(pair) for n, pair in zip(rest[:count], op.widths, strict=True)]
    pairs = [(n // block, block) for n, block in zip(lengths, blocks, strict=True)]
    data = graph.reshape(data, [batch, *chain.from_iterable(pairs), *others])
    inner, whole = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    axes = [*inner, 0, *whole, *range(2 * count + 1, 2 * count + 1 + len(others))]
    return graph.reshape(graph.transpose(data, axes), graph.result_shape(op))


def fifo_buffer(graph: OutputGraph, op: space.FifoBufferOp) -> Tensor:
    """The last elements of the buffer and the data together."""
    axis = op.normalized_axis
    length = graph.shape(op.buffer, "buffer")[axis]
    both = graph.node("Concat", graph.tensor(op.buffer), graph.tensor(op.data), axis=axis)
    pushed = graph.shape(op.data)[axis]
    return graph.slice(both, [pushed], [pushed + length], [axis])


EMITTERS: EmitterTable = {
    dilate.DilateOp: dilated,
    space.BatchToSpaceNDOp: batch_to_space,
    space.DepthToSpaceOp: partial(sub_pixels, _depth_to_space),
    space.MirrorPadOp: mirror_pad,
    space.SpaceToBatchNDOp: space_to_batch,
    space.SpaceToDepthOp: partial(sub_pixels, _space_to_depth),
    space.PadOp: pad,
    space.FifoBufferOp: fifo_buffer,
}
