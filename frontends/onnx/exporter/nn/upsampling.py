"""Emitters of upsampling."""

import numpy as np

from xrelay.dialects.nn import upsampling
from xrelay.dialects.tensor.layout import Layout
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.tensor.layout import change_layout


def upsample(graph: OutputGraph, op: upsampling.UpsamplingFamilyOp) -> Tensor:
    """Gather of the nearest elements; Resize where these are interpolated, or repeated a whole number of times."""
    layout, canonical = op.data_layout, Layout.parse(op.IMAGE_LAYOUT, "layout")
    if 0 in graph.result_shape(op):
        return graph.zeros(op, graph.tensor(op.data).dtype)
    data, shape = change_layout(
        graph, graph.tensor(op.data), graph.shape(op.data), layout, canonical
    )
    targets = canonical.shape(layout.lengths(graph.result_shape(op)))
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
    elif op.mode == "asymmetric" and all(
        target % length == 0 for length, target in zip(shape, targets, strict=True)
    ):  # Each element is repeated; no length is 0 where the result has elements.
        data = graph.node(
            "Resize",
            data,
            None,
            None,
            graph.integers(targets),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
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


EMITTERS: EmitterTable = {
    upsampling.UpsamplingOp: upsample,
    upsampling.Upsampling3DOp: upsample,
}
