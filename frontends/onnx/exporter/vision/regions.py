"""Emitters of what is inside of boxes on images."""

from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.vision import regions
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import INT64, EmitterTable, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.numbers import real_attribute
from xrelay.frontends.onnx.exporter.tensor.indexing import in_range
from xrelay.frontends.onnx.exporter.tensor.layout import change_layout


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
        coordinate_transformation_mode="half_pixel"
        if op.aligned.value.data
        else "output_half_pixel",
    )
    targets = canonical.shape(layout.lengths(graph.result_shape(op)))
    return change_layout(graph, result, targets, canonical, layout)[0]


EMITTERS: EmitterTable = {
    regions.RoiAlignOp: roi_align,
}
