"""Emitters of resizing, and of sampling at given places."""

from collections.abc import Sequence

import numpy as np

from xrelay.dialects.image import resize as image
from xrelay.dialects.image import sampling
from xrelay.dialects.nn import upsampling
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.vision import regions
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import INT64, EmitterTable, OutputGraph, Tensor, dtype_of
from xrelay.frontends.onnx.exporter.numbers import real_attribute, rounded
from xrelay.frontends.onnx.exporter.tensor.indexing import in_range
from xrelay.frontends.onnx.exporter.tensor.layout import change_layout

_METHODS = {image.NEAREST: "nearest", image.LINEAR: "linear", image.CUBIC: "cubic"}
_ROUNDINGS = {
    "round": "round_prefer_ceil",
    "round_prefer_ceil": "round_prefer_ceil",
    "round_prefer_floor": "round_prefer_floor",
    "floor": "floor",
    "ceil": "ceil",
}


def resize(graph: OutputGraph, op: image.ResizeOp) -> Tensor:
    """Resize of the spatial axes, which are moved behind the others."""
    mode, method = op.coordinate_transformation_mode.data, _METHODS[op.method.data]
    rounding, dtype = _ROUNDINGS[op.rounding], dtype_of(op.result.type, "the result")
    data, shape, axes = graph.tensor(op.data), graph.shape(op.data), op.axes
    if dtype != data.dtype:
        raise NotExpressible(f"'out_dtype' is {dtype}, ONNX's Resize keeps {data.dtype}")
    if method != "nearest" and data.dtype.kind in "iub":
        raise NotExpressible(f"ONNX leaves open how the {data.dtype} elements are rounded")
    outside = op.extrapolation_value.value.data
    if mode == image.CROPPING and rounded(outside, data.dtype) != outside:
        raise NotExpressible(f"'extrapolation_value' is {outside}, which is no {data.dtype}")
    if mode == "tf_half_pixel_for_nn":
        # Half a pixel more than half_pixel has: rounded down, it is what that has to the nearest.
        if method != "nearest" or rounding != "floor":
            raise NotExpressible(
                f"'coordinate_transformation_mode' is \"{mode}\", which operator set 21 lacks"
            )
        mode, rounding = "half_pixel", "round_prefer_ceil"
    spatial = len(axes) - 2
    crops, cubic = mode == image.CROPPING, method == "cubic"
    alpha = real_attribute(op.cubic_alpha, data.dtype, "cubic_alpha") if cubic else None
    if crops:
        real_attribute(op.extrapolation_value, data.dtype, "extrapolation_value")
    region = None
    if crops:
        numbers = [0.0] * 2 * spatial if op.roi is None else list(op.roi.get_values())
        whole = [0, 0, *numbers[:spatial], 1, 1, *numbers[spatial:]]
        region = graph.constant(np.array(whole, np.float32))
    if 0 in graph.result_shape(op):
        return graph.filled(graph.scalar(0, dtype), graph.result_shape(op))
    moved = graph.transpose(data, axes)
    sizes = graph.integers([shape[axes[0]], shape[axes[1]], *op.size.get_values()])
    result = graph.node(
        "Resize",
        moved,
        region,
        None,
        sizes,
        mode=method,
        coordinate_transformation_mode=mode,
        nearest_mode=rounding if method == "nearest" else None,
        cubic_coeff_a=alpha,
        exclude_outside=1 if cubic and op.cubic_exclude.value.data else None,
        extrapolation_value=outside if crops else None,
    )
    order = [axes.index(axis) for axis in range(len(axes))]
    return graph.transpose(result, order)


def _repeated(
    graph: OutputGraph, data: Tensor, shape: Sequence[int], targets: Sequence[int]
) -> Tensor:
    """Images whose element i of n on an axis is that at i * length / n, rounded down."""
    if all(length and not target % length for length, target in zip(shape, targets, strict=True)):
        return graph.node(
            "Resize",
            data,
            None,
            None,
            graph.integers(targets),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    for axis, (length, target) in enumerate(zip(shape, targets, strict=True)):
        if length != target:
            places = np.arange(target, dtype=np.int64) * length // target
            data = graph.node("Gather", data, graph.constant(places), axis=axis)
    return data


def upsample(graph: OutputGraph, op: upsampling.UpsamplingFamilyOp) -> Tensor:
    """Gather of the nearest elements; Resize where these are interpolated."""
    layout, canonical = op.data_layout, Layout.parse(op.IMAGE_LAYOUT, "layout")
    if 0 in graph.result_shape(op):
        return graph.filled(graph.scalar(0, graph.tensor(op.data).dtype), graph.result_shape(op))
    data, shape = change_layout(
        graph, graph.tensor(op.data), graph.shape(op.data), layout, canonical
    )
    lengths = layout.lengths(graph.result_shape(op))
    targets = [lengths[name] for name in canonical.names]
    if op.interpolates:
        if data.dtype.kind in "iub":
            raise NotExpressible(f"ONNX leaves open how {data.dtype} is rounded")
        cubic = isinstance(op, upsampling.UpsamplingOp) and op.is_cubic
        data = graph.node(
            "Resize",
            data,
            None,
            None,
            graph.integers(targets),
            mode="cubic" if cubic else "linear",
            cubic_coeff_a=-0.5,
            coordinate_transformation_mode=op.mode,
        )
    elif op.mode == "asymmetric":
        data = _repeated(graph, data, shape, targets)
    else:
        corners = op.mode == "align_corners"
        for axis, (length, target) in enumerate(zip(shape, targets, strict=True)):
            if length == target:
                continue
            step, start, unit = op.place_factors(length, target)
            numbers = np.arange(target, dtype=np.int64) * step + start
            places = (2 * numbers + unit) // (2 * unit) if corners else numbers // unit
            places = np.clip(places, 0, length - 1)
            data = graph.node("Gather", data, graph.constant(places), axis=axis)
    return change_layout(graph, data, targets, canonical, layout)[0]


def grid_sample(graph: OutputGraph, op: sampling.GridSampleOp) -> Tensor:
    """GridSample, whose grid has the coordinates of a place last."""
    rank = op.data.type.get_num_dims()
    if rank != 4:
        raise NotExpressible(f"'data' has rank {rank}, onnxruntime and OpenVINO sample images only")
    grid = graph.transpose(graph.tensor(op.grid), [0, *range(2, rank), 1])
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(op.method.data, op.method.data)
    return graph.node(
        "GridSample",
        graph.tensor(op.data),
        grid,
        mode=mode,
        padding_mode=op.padding_mode.data,
        align_corners=int(bool(op.align_corners.value.data)),
    )


def roi_align(graph: OutputGraph, op: regions.RoiAlignOp) -> Tensor:
    """RoiAlign, which takes the images of regions as another input."""
    if op.mode.data != "avg":
        raise NotExpressible(f"'mode' is \"{op.mode.data}\", which ONNX weights differently")
    layout, canonical = Layout.parse(op.layout.data, "layout"), Layout.parse("NCHW", "layout")
    data, shape = change_layout(
        graph, graph.tensor(op.data), graph.shape(op.data), layout, canonical
    )
    rois = graph.tensor(op.rois)
    boxes = graph.slice(rois, [1], [5], [1])
    numbers = graph.node("Squeeze", graph.slice(rois, [0], [1], [1]), graph.integers([1]))
    height, width = op.pooled_size.get_values()
    result = graph.node(
        "RoiAlign",
        data,
        boxes,
        in_range(graph, graph.cast(numbers, INT64), shape[0]),
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=max(op.sample_ratio.value.data, 0),
        spatial_scale=real_attribute(op.spatial_scale, data.dtype, "spatial_scale"),
        coordinate_transformation_mode="output_half_pixel",
    )
    lengths = layout.lengths(graph.result_shape(op))
    targets = [lengths[name] for name in canonical.names]
    return change_layout(graph, result, targets, canonical, layout)[0]


IMAGE_EMITTERS: EmitterTable = {
    image.Resize1DOp: resize,
    image.Resize2DOp: resize,
    image.Resize3DOp: resize,
    upsampling.UpsamplingOp: upsample,
    sampling.GridSampleOp: grid_sample,
    upsampling.Upsampling3DOp: upsample,
    regions.RoiAlignOp: roi_align,
}
