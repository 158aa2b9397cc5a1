"""Emitters of pooling over windows, over whole images, and over windows of nearly equal size."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from xrelay.dialects.pool import adaptive as adaptive_pool
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor.layout import Layout
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    FLOAT32,
    FLOAT64,
    DType,
    EmitterTable,
    OutputGraph,
    Tensor,
    accepts,
)
from xrelay.frontends.onnx.exporter.tensor.layout import change_layout
from xrelay.frontends.onnx.exporter.tensor.reduce import reduce

AnyPool = pool.PoolOp | pool.GlobalPool2DOp | adaptive_pool.AdaptivePoolOp

Images = Callable[[Tensor, Sequence[int]], Tensor]
"""Pools images of a shape, whose spatial axes are the last ones."""


def _on_images(graph: OutputGraph, op: AnyPool, pools: Images) -> Tensor:
    """Pools images in any layout, as dtypes that ONNX pools."""
    layout, canonical = op.data_layout, Layout.parse(op.IMAGE_LAYOUT, "layout")
    data, shape = change_layout(
        graph, graph.tensor(op.data), graph.shape(op.data), layout, canonical
    )
    pooled = canonical.shape(layout.lengths(graph.result_shape(op)))
    return change_layout(graph, pools(data, shape), pooled, canonical, layout)[0]


def _maximum_dtype(dtype: DType) -> DType:
    """A dtype that MaxPool takes and that holds all elements of another one."""
    if accepts("MaxPool", dtype):
        return dtype
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind in "iu" and dtype.itemsize < 8:
        return FLOAT32 if dtype.itemsize == 2 else FLOAT64
    raise NotExpressible(f"ONNX's MaxPool takes no elements of type {dtype}")


def _window_ends(op: pool.PoolOp, image: Sequence[int]) -> list[int]:
    """
    The padding after each axis that the last window needs, which `ceil_mode` may let reach further
    than the stated one.
    """
    counts, pads = op.window_counts(image), op.pads
    ends: list[int] = []
    for axis, (size, stride, dilation) in enumerate(zip(*op.window_numbers(), strict=True)):
        extent = (size - 1) * dilation + 1
        reach = (counts[axis] - 1) * stride + extent
        ends.append(max(reach - image[axis] - pads[axis], 0))
        if max(pads[axis], ends[axis]) >= extent or not image[axis]:
            raise NotExpressible(
                f"'padding' {list(op.padding.get_values())} gives windows without elements"
            )
    return ends


def max_pool(graph: OutputGraph, op: pool.PoolOp) -> Tensor:
    """MaxPool, with the padding that `ceil_mode` asks for stated."""

    def pools(data: Tensor, shape: Sequence[int]) -> Tensor:
        size, strides, dilation = op.window_numbers()
        ends = _window_ends(op, shape[2:])
        result = graph.node(
            "MaxPool",
            graph.cast(data, _maximum_dtype(data.dtype)),
            kernel_shape=size,
            strides=strides,
            dilations=dilation,
            pads=[*op.pads[: op.spatial_axes], *ends],
        )
        return graph.cast(result, data.dtype)

    return _on_images(graph, op, pools)


def avg_pool(graph: OutputGraph, op: pool.AvgPoolOp) -> Tensor:
    """AveragePool; padding that counts is added by Pad, so that it is told from `ceil_mode`'s."""

    def pools(data: Tensor, shape: Sequence[int]) -> Tensor:
        axes, image = op.spatial_axes, list(shape[2:])
        size, strides, dilation = op.window_numbers()
        ends, starts = _window_ends(op, image), list(op.pads[:axes])
        after = list(op.pads[axes:])
        include = bool(op.count_include_pad.value.data) and any(op.pads)
        beyond = any(end > pad for end, pad in zip(ends, after, strict=True))
        if include and beyond:
            widths = [0, 0, *starts, 0, 0, *after]
            data = graph.node("Pad", data, graph.integers(widths))
            ends = [max(end - pad, 0) for end, pad in zip(ends, after, strict=True)]
            starts, include = [0] * axes, False
        return graph.node(
            "AveragePool",
            data,
            kernel_shape=size,
            strides=strides,
            dilations=dilation if set(dilation) != {1} else None,
            pads=[*starts, *ends],
            count_include_pad=1 if include else None,
        )

    return _on_images(graph, op, pools)


def global_pool(pools: str, reduces: str, graph: OutputGraph, op: pool.GlobalPool2DOp) -> Tensor:
    """GlobalAveragePool or GlobalMaxPool; a reduction for dtypes that only these take."""

    def whole(data: Tensor, shape: Sequence[int]) -> Tensor:
        if 0 in shape[2:]:
            raise NotExpressible("'data' has channels without elements")
        if data.dtype.kind not in "iub" or pools == "GlobalAveragePool":
            return graph.node(pools, data)
        return reduce(graph, reduces, data, [2, 3], keepdims=True)

    return _on_images(graph, op, whole)


def adaptive_pool_node(
    pools: str, reduces: str, graph: OutputGraph, op: adaptive_pool.AdaptivePoolOp
) -> Tensor:
    """
    A pool, where the windows of each axis have one size and one distance; otherwise, axis by axis,
    the reduction of each window.
    """

    def whole(data: Tensor, shape: Sequence[int]) -> Tensor:
        image = shape[2:]
        targets = op.output_size.get_values() or image
        if 0 in image:
            raise NotExpressible("'data' has images without elements")
        windows = list(map(adaptive_pool.adaptive_windows, image, targets))
        sizes = [{end - start for start, end in axis} for axis in windows]
        steps = [
            {later[0] - earlier[0] for earlier, later in pairwise(axis)} or {1} for axis in windows
        ]
        if data.dtype.kind in "iub" and pools == "AveragePool":
            raise NotExpressible(f"ONNX's AveragePool takes no elements of type {data.dtype}")
        if all(len(each) == 1 for each in (*sizes, *steps)):
            wide = data.dtype if pools == "AveragePool" else _maximum_dtype(data.dtype)
            result = graph.node(
                pools,
                graph.cast(data, wide),
                kernel_shape=[min(each) for each in sizes],
                strides=[min(each) for each in steps],
            )
            return graph.cast(result, data.dtype)
        for axis, ends in enumerate(windows, 2):
            parts = [graph.slice(data, [start], [end], [axis]) for start, end in ends]
            reduced = [reduce(graph, reduces, part, [axis], keepdims=True) for part in parts]
            data = graph.node("Concat", *reduced, axis=axis)
        return data

    return _on_images(graph, op, whole)


EMITTERS: EmitterTable = {
    **dict.fromkeys(
        adaptive_pool.ADAPTIVE_AVG_OPS, partial(adaptive_pool_node, "AveragePool", "ReduceMean")
    ),
    **dict.fromkeys(
        adaptive_pool.ADAPTIVE_MAX_OPS, partial(adaptive_pool_node, "MaxPool", "ReduceMax")
    ),
    pool.AvgPool1DOp: avg_pool,
    pool.AvgPool2DOp: avg_pool,
    pool.AvgPool3DOp: avg_pool,
    pool.GlobalAvgPool2DOp: partial(global_pool, "GlobalAveragePool", "ReduceMean"),
    pool.GlobalMaxPool2DOp: partial(global_pool, "GlobalMaxPool", "ReduceMax"),
    pool.MaxPool1DOp: max_pool,
    pool.MaxPool2DOp: max_pool,
    pool.MaxPool3DOp: max_pool,
}
