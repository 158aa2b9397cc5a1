"""Selection of boxes."""

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StridedSliceOp
from xrelay.dialects.vision.nms import AllClassNonMaxSuppressionOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnknownValue
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def non_max_suppression(node: Node) -> SSAValue:
    """
    NonMaxSuppression. How many boxes are chosen must be known. Two overlap when their part in common is more than
    the limit; Relay's operator has it as at least the limit, which is the next number.
    """
    boxes, scores = node.input(0), node.input(1)
    if node.flag("center_point_box"):
        boxes = _corners(node, boxes)
    most = _number(node, 2, "max_output_boxes_per_class", 0)
    overlap = np.nextafter(np.float32(_number(node, 3, "iou_threshold", 0)), np.float32(np.inf))
    least = _number(node, 4, "score_threshold", -np.inf)
    if most <= 0:
        return node.constant(np.zeros((0, 3), np.int64))
    limits = np.array(most, np.int64), np.asarray(overlap), np.array(least, np.float32)
    chosen = node.emit(AllClassNonMaxSuppressionOp(boxes, scores, *map(node.constant, limits)))
    count = node.emit(TupleGetItemOp(chosen, 1))
    known = node.known_value(count)
    if known is None:
        raise UnknownValue("the size of its result depends on data", count, decides_sizes=True)
    rows = node.emit(TupleGetItemOp(chosen, 0))
    return node.emit(StridedSliceOp(rows, [0], [int(known.item())], axes=[0]))


def _number(node: Node, index: int, what: str, default: float) -> float:
    """The number in an optional input of one element."""
    if not node.has_input(index):
        return default
    known = node.known(index, what)
    if known.size != 1:
        raise OnnxImportError(f"input {index} ('{what}') has {known.size} elements, expected one")
    return known.item()


def _corners(node: Node, boxes: SSAValue) -> SSAValue:
    """Opposite corners of boxes that are given by their centres, widths and heights."""
    halves = node.emit(SplitOp(boxes, 2, axis=2))
    centre, size = (node.emit(TupleGetItemOp(halves, part)) for part in range(2))
    reach = node.emit(MultiplyOp(size, node.scalar(0.5, size)))
    ends = [node.emit(op(centre, reach)) for op in (SubtractOp, AddOp)]
    return node.emit(ConcatenateOp(node.emit(TupleOp(ends)), axis=2))


CONVERTERS: ConverterTable = {
    "NonMaxSuppression": {10: non_max_suppression},
}
