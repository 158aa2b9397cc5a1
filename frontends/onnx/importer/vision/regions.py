"""What is inside of boxes on images."""

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.image.sampling import GridSampleOp
from xrelay.dialects.pool.pool import AvgPool2DOp
from xrelay.dialects.tensor.binary import AddOp, LessEqualOp, LogicalAndOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import BroadcastToOp, ConcatenateOp, StridedSliceOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.vision.regions import RoiAlignOp, RoiPoolOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.windows import require_image
from xrelay.frontends.onnx.importer.emitting import require_range, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node, require_table


def roi_align(node: Node) -> SSAValue:
    """RoiAlign, with and, before operator set 16, without a shift by half a pixel."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    coordinates = node.string("coordinate_transformation_mode", default)
    size = node.integer("output_height", 1), node.integer("output_width", 1)
    ratio, scale = node.integer("sampling_ratio", 0), node.real("spatial_scale", 1.0)
    if node.string("mode", "avg") != "avg":
        raise UnsupportedNode(
            "'mode' is not \"avg\": ONNX leaves open what the largest value is of"
        )
    data, rois, images = node.input(0), node.input(1), node.input(2)
    require_image(node, data)
    node.shaped(1, "rois", (None, 4))
    node.shaped(2, "batch_indices", (node.shape_of(rois)[0],))
    require_range(node, 2, "batch_indices", 0, node.shape_of(data)[0] - 1)
    if coordinates == "output_half_pixel":
        numbers = node.emit(CastOp(images, node.element_type(rois)))
        fields = [node.emit(ExpandDimsOp(numbers, 1)), rois]
        regions = node.emit(ConcatenateOp(node.emit(TupleOp(fields)), axis=1))
        return node.emit(RoiAlignOp(data, regions, size, scale, sample_ratio=ratio))
    if coordinates != "half_pixel":
        raise OnnxImportError(f"'coordinate_transformation_mode' is \"{coordinates}\"")
    if ratio < 1:
        raise UnsupportedNode(
            "'sampling_ratio' is 0: with \"half_pixel\" the number of samples must be known"
        )
    return _roi_align_half_pixel(node, data, rois, images, size, ratio, scale)


def _roi_align_half_pixel(
    node: Node,
    data: SSAValue,
    rois: SSAValue,
    images: SSAValue,
    size: tuple[int, int],
    ratio: int,
    scale: float,
) -> SSAValue:
    """
    Means of samples of the image of each region; the nearest element stands for those up to one
    pixel outside, 0 for those farther away. Regions may be smaller than a pixel.
    """
    shape = node.shape_of(data)
    count = node.shape_of(rois)[0]
    corners = node.emit(MultiplyOp(rois, node.scalar(scale, rois)))
    corners = node.emit(SubtractOp(corners, node.scalar(0.5, rois)))
    places: list[SSAValue] = []
    inside: list[SSAValue] = []
    samples = [ratio * length for length in size]
    require_table((sum(samples),), "the array of places of the samples")
    for axis in (1, 0):  # columns come first, in regions as in grids
        column = 1 - axis
        start, end = (
            node.emit(StridedSliceOp(corners, [each], [each + 1], axes=[1]))
            for each in (column, column + 2)
        )
        parts = (np.arange(samples[axis]) + 0.5) / samples[axis]
        part = node.constant(parts[None].astype(node.element_dtype(rois)))
        extent = node.emit(SubtractOp(end, start))
        place = node.emit(AddOp(start, node.emit(MultiplyOp(extent, part))))
        length = shape[2 + axis]
        low = node.emit(LessEqualOp(node.scalar(-1, place), place))
        high = node.emit(LessEqualOp(place, node.scalar(length, place)))
        lines = (count, 1, samples[0], 1) if axis == 0 else (count, 1, 1, samples[1])
        whole = (count, 1, *samples)
        places.append(
            node.emit(BroadcastToOp(reshaped(node, _normalized(node, place, length), lines), whole))
        )
        inside.append(reshaped(node, node.emit(LogicalAndOp(low, high)), lines))
    grid = node.emit(ConcatenateOp(node.emit(TupleOp(places)), axis=1))
    own = node.emit(TakeOp(data, images, axis=0, mode="clip"))
    found = node.emit(GridSampleOp(own, grid, padding_mode="border", align_corners=False))
    kept = node.emit(CastOp(node.emit(LogicalAndOp(*inside)), node.element_type(data)))
    found = node.emit(MultiplyOp(found, kept))
    return node.emit(AvgPool2DOp(found, (ratio, ratio), strides=(ratio, ratio)))


def _normalized(node: Node, place: SSAValue, length: int) -> SSAValue:
    """Coordinates as those of grids without `align_corners`: -1 and 1 are the ends of the axis."""
    scaled = node.emit(MultiplyOp(place, node.scalar(2 / length, place)))
    return node.emit(AddOp(scaled, node.scalar(1 / length - 1, place)))


def max_roi_pool(node: Node) -> SSAValue:
    """MaxRoiPool."""
    size = node.integers("pooled_shape")
    if size is None:
        raise OnnxImportError("attribute 'pooled_shape' is missing")
    op = RoiPoolOp(node.input(0), node.input(1), size, node.real("spatial_scale", 1.0))
    least, most = [0.0, *[-np.inf] * 4], [node.shape_of(node.input(0))[0] - 1.0, *[np.inf] * 4]
    require_range(node, 1, "rois", least, most)
    return node.emit(op)


CONVERTERS: ConverterTable = {
    "MaxRoiPool": {1: max_roi_pool},
    "RoiAlign": {10: roi_align},
}
