"""What is inside of boxes on images."""

from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import (
    AddOp,
    LessEqualOp,
    LogicalAndOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.indexing import GatherNDOp
from xrelay.dialects.tensor.reduce import MaxOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import BroadcastToOp, StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp, FloorOp
from xrelay.dialects.vision.regions import RoiAlignOp, RoiPoolOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import joined, require_range, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table


def roi_align(node: Node) -> SSAValue:
    """RoiAlign, with and, before operator set 16, without a shift by half a pixel."""
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    coordinates = node.string("coordinate_transformation_mode", default)
    size = node.integer("output_height", 1), node.integer("output_width", 1)
    ratio, scale = node.integer("sampling_ratio", 0), node.real("spatial_scale", 1.0)
    mode = node.string("mode", "avg")
    for attribute, found, known in (
        ("mode", mode, ("avg", "max")),
        ("coordinate_transformation_mode", coordinates, ("half_pixel", "output_half_pixel")),
    ):
        if found not in known:
            expected = " or ".join(f'"{each}"' for each in known)
            raise OnnxImportError(f"'{attribute}' is \"{found}\", expected {expected}")
    data, rois, images = node.input(0), node.input(1), node.input(2)
    shape = node.shape_of(data)
    if len(shape) != 4:
        raise UnsupportedNode(
            f"its input has the shape {list(shape)}: only images, of rank 4, are supported"
        )
    node.shaped(1, "rois", (None, 4))
    node.shaped(2, "batch_indices", (node.shape_of(rois)[0],))
    require_range(node, 2, "batch_indices", 0, shape[0] - 1)
    shifted = coordinates == "half_pixel"
    if mode == "avg":
        numbers = node.emit(CastOp(images, node.element_type(rois)))
        regions = joined(node, [node.emit(ExpandDimsOp(numbers, 1)), rois], 1)
        return node.emit(
            RoiAlignOp(data, regions, size, scale, sample_ratio=ratio, aligned=shifted)
        )
    if ratio < 1:
        raise UnsupportedNode(
            "'sampling_ratio' is 0: with the mode \"max\" the number of samples must be known"
        )
    samples = _samples(node, rois, size, ratio, scale, shifted=shifted)
    return _largest_of_samples(node, data, images, samples, size, ratio)


@dataclass(frozen=True)
class _Samples:
    """Where images are sampled along an axis: [regions, samples], as numbers of elements, and whether that counts."""

    places: SSAValue
    inside: SSAValue


def _samples(
    node: Node,
    rois: SSAValue,
    size: tuple[int, int],
    ratio: int,
    scale: float,
    *,
    shifted: bool,
) -> tuple[_Samples, _Samples]:
    """
    The samples of regions along rows and columns. Those more than one element outside of the image do not count. With
    `shifted` regions begin half an element earlier, and may be smaller than one.
    """
    count = [ratio * length for length in size]
    require_table((sum(count),), "the array of places of the samples")
    corners = node.emit(MultiplyOp(rois, node.scalar(scale, rois)))
    if shifted:
        corners = node.emit(SubtractOp(corners, node.scalar(0.5, rois)))
    axes: list[_Samples] = []
    for axis in (0, 1):
        column = 1 - axis
        start, end = (
            node.emit(StridedSliceOp(corners, [each], [each + 1], axes=[1]))
            for each in (column, column + 2)
        )
        parts = (np.arange(count[axis]) + 0.5) / count[axis]
        part = node.constant(parts[None].astype(node.element_dtype(rois)))
        extent = node.emit(SubtractOp(end, start))
        if not shifted:
            extent = node.emit(MaximumOp(extent, node.scalar(1, rois)))
        place = node.emit(AddOp(start, node.emit(MultiplyOp(extent, part))))
        low = node.emit(LessEqualOp(node.scalar(-1, place), place))
        length = node.shape_of(node.input(0))[2 + axis]
        high = node.emit(LessEqualOp(place, node.scalar(length, place)))
        axes.append(_Samples(place, node.emit(LogicalAndOp(low, high))))
    rows, columns = axes
    return rows, columns


def _lined(node: Node, value: SSAValue, axis: int) -> SSAValue:
    """What belongs to samples along an axis, [regions, samples], as [regions, samples, 1] or [regions, 1, samples]."""
    return node.emit(ExpandDimsOp(value, 2 - axis))


def _inside(node: Node, samples: tuple[_Samples, _Samples]) -> SSAValue:
    """Which samples count, [regions, rows, columns]."""
    lined = [_lined(node, each.inside, axis) for axis, each in enumerate(samples)]
    return node.emit(LogicalAndOp(*lined))


def _largest_of_samples(
    node: Node,
    data: SSAValue,
    images: SSAValue,
    samples: tuple[_Samples, _Samples],
    size: tuple[int, int],
    ratio: int,
) -> SSAValue:
    """
    The largest product of an element beside a sample and its weight. ONNX does not say what the largest value is of; its
    test cases, its reference evaluator and onnxruntime have this, while Relay has the largest interpolated element.
    """
    shape, count = node.shape_of(data), node.shape_of(images)[0]
    rows, columns = (
        _neighbours(node, each.places, shape[2 + axis], axis) for axis, each in enumerate(samples)
    )
    lengths = [node.shape_of(each.places)[1] for each in samples]
    whole = (1, count, *lengths)
    numbers = node.emit(CastOp(images, i64))
    number = node.emit(BroadcastToOp(reshaped(node, numbers, (1, count, 1, 1)), whole))
    last = node.emit(TransposeOp(data, (0, 2, 3, 1)))
    kept = node.emit(CastOp(_inside(node, samples), node.element_type(data)))
    products: list[SSAValue] = []
    for (y, y_weight), (x, x_weight) in product(rows, columns):
        place = [
            node.emit(BroadcastToOp(node.emit(ExpandDimsOp(each, 0)), whole)) for each in (y, x)
        ]
        indices = joined(node, [number, *place], 0)
        weight = node.emit(MultiplyOp(node.emit(MultiplyOp(y_weight, x_weight)), kept))
        found = node.emit(GatherNDOp(last, indices))
        products.append(node.emit(MultiplyOp(found, node.emit(ExpandDimsOp(weight, 3)))))
    best = reduce(lambda some, each: node.emit(MaximumOp(some, each)), products)
    cells = reshaped(node, best, (count, size[0], ratio, size[1], ratio, shape[1]))
    largest = node.emit(MaxOp(cells, axis=(2, 4)))
    return node.emit(TransposeOp(largest, (0, 3, 1, 2)))


def _neighbours(
    node: Node, places: SSAValue, length: int, axis: int
) -> list[tuple[SSAValue, SSAValue]]:
    """The numbers of the elements before and after samples along an axis, each with its weight."""
    clipped = node.emit(MaximumOp(places, node.scalar(0, places)))
    clipped = node.emit(MinimumOp(clipped, node.scalar(length - 1, places)))
    low = node.emit(FloorOp(clipped))
    part = node.emit(SubtractOp(clipped, low))
    rest = node.emit(SubtractOp(node.scalar(1, part), part))
    before = node.emit(CastOp(low, i64))
    after = node.emit(AddOp(before, node.scalar(1, before)))
    after = node.emit(MinimumOp(after, node.scalar(length - 1, after)))
    return [
        (_lined(node, number, axis), _lined(node, weight, axis))
        for number, weight in ((before, rest), (after, part))
    ]


def max_roi_pool(node: Node) -> SSAValue:
    """MaxRoiPool."""
    size = node.required_integers("pooled_shape")
    op = RoiPoolOp(node.input(0), node.input(1), size, node.real("spatial_scale", 1.0))
    least, most = [0.0, *[-np.inf] * 4], [node.shape_of(node.input(0))[0] - 1.0, *[np.inf] * 4]
    require_range(node, 1, "rois", least, most)
    return node.emit(op)


CONVERTERS: ConverterTable = {
    "MaxRoiPool": {1: max_roi_pool},
    "RoiAlign": {10: roi_align},
}
