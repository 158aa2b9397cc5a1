"""Emitters of resizing."""

from collections.abc import Sequence

import numpy as np

from xrelay.dialects.image import resize as image
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor, dtype_of
from xrelay.frontends.onnx.exporter.numbers import real_attribute, rounded
from xrelay.interpreters.arrays import Array

_METHODS = {image.NEAREST: "nearest", image.LINEAR: "linear", image.CUBIC: "cubic"}


def resize(graph: OutputGraph, op: image.ResizeOp) -> Tensor:
    """Resize of the spatial axes, which are moved behind the others."""
    mode, method = op.coordinate_transformation_mode.data, _METHODS[op.method.data]
    rounding = "round_prefer_ceil" if op.rounding == "round" else op.rounding
    dtype = dtype_of(op.result.type, "the result")
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
    region = None
    if crops:
        real_attribute(op.extrapolation_value, data.dtype, "extrapolation_value")
        numbers = [0.0] * 2 * spatial if op.roi is None else list(op.roi.get_values())
        whole = [0, 0, *numbers[:spatial], 1, 1, *numbers[spatial:]]
        region = graph.constant(np.array(whole, np.float32))
    if 0 in graph.result_shape(op):
        return graph.zeros(op, dtype)
    moved = graph.transpose(data, axes)
    scales = sizes = None
    if op.scales is None or crops:
        sizes = graph.integers([shape[axes[0]], shape[axes[1]], *op.size.get_values()])
    else:
        scales = graph.constant(_scales(op, [shape[axis] for axis in axes[2:]]))
    result = graph.node(
        "Resize",
        moved,
        region,
        scales,
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


def _scales(op: image.ResizeOp, lengths: Sequence[int]) -> Array:
    """
    The scales of all axes in single precision.

    Raises NotExpressible where they are not exact, or give other lengths.
    """
    assert op.scales is not None
    size, stated = op.size.get_values(), op.scales.get_values()
    scales = np.array([1, 1, *stated], np.float32)
    scaled = np.floor(np.array(lengths, np.float32) * scales[2:])
    if tuple(map(float, scales[2:])) != stated or tuple(map(int, scaled)) != tuple(size):
        raise NotExpressible(
            f"'scales' are {list(stated)} for lengths {list(lengths)}, 'size' is {list(size)}"
        )
    return scales


EMITTERS: EmitterTable = {
    image.Resize1DOp: resize,
    image.Resize2DOp: resize,
    image.Resize3DOp: resize,
}
