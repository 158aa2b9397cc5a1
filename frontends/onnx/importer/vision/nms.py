"""Selection of boxes."""

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.tensor.binary import AddOp, GreaterOp, MaximumOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.transform import SplitOp, StridedSliceOp
from xrelay.dialects.tensor.unary import AbsOp, CastOp
from xrelay.dialects.vision.nms import AllClassNonMaxSuppressionOp
from xrelay.frontends.onnx.errors import UnknownValue
from xrelay.frontends.onnx.importer.emitting import fields, joined
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def non_max_suppression(node: Node) -> SSAValue:
    """
    NonMaxSuppression. How many boxes are chosen must be known. Two overlap when their part in common is more than
    the limit; Relay's operator has it as at least the limit, which is the next number.
    """
    boxes, scores = _boxes(node), node.input(1)
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
    return node.known_number(index, what, decides_sizes=True)


def _boxes(node: Node) -> SSAValue:
    """Opposite corners of boxes, which may be given by their centres, widths and heights."""
    boxes = node.input(0)
    if not node.flag("center_point_box"):
        return boxes
    centre, size = fields(node, node.emit(SplitOp(boxes, 2, axis=2)), 2)
    reach = node.emit(MultiplyOp(size, node.scalar(0.5, size)))
    return joined(node, [node.emit(op(centre, reach)) for op in (SubtractOp, AddOp)], 2)


def counted_boxes(node: Node) -> list[SSAValue]:
    """NonMaxSuppression of limits that are computed: a row for each box of each class, and how many are chosen."""
    boxes, scores = _boxes(node), node.input(1)
    zero, one = (node.constant(np.array(number, np.int64)) for number in (0, 1))
    most = node.input_as_scalar(2) if node.has_input(2) else zero
    no_limit = node.constant(np.array(-np.inf, np.float32))
    least = node.input_as_scalar(4) if node.has_input(4) else no_limit
    # Relay's operator takes a number that is not positive for no limit.
    limits = node.emit(MaximumOp(most, one)), _next_number(node, 3), least
    chosen = node.emit(AllClassNonMaxSuppressionOp(boxes, scores, *limits))
    rows, count = fields(node, chosen, 2)
    some = node.emit(CastOp(node.emit(GreaterOp(most, zero)), i64))
    return [rows, node.emit(MultiplyOp(count, some))]


def _next_number(node: Node, index: int) -> SSAValue:
    """The next greater number of f32 than that of an input, which is 0 when it is absent."""
    if not node.has_input(index) or node.known_value(node.input(index)) is not None:
        number = np.float32(_number(node, index, "iou_threshold", 0))
        return node.constant(np.asarray(np.nextafter(number, np.float32(np.inf))))
    number = node.input_as_scalar(index)
    # Three quarters of a step of the numbers around 1, which is between half a step and one and a half for all others.
    step = node.emit(MultiplyOp(node.emit(AbsOp(number)), node.scalar(0.75 * 2.0**-23, number)))
    least = node.constant(np.array(np.finfo(np.float32).smallest_subnormal))
    return node.emit(AddOp(number, node.emit(MaximumOp(step, least))))


CONVERTERS: ConverterTable = {
    "NonMaxSuppression": {10: non_max_suppression},
}

STAGES: ConverterTable = {
    "NonMaxSuppression": {1: counted_boxes},
}
