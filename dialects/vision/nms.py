"""Selection of boxes in object detection."""

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, TupleType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import Flag, Integer, Tensor, Text, operand, prop
from xrelay.dialects.shapes import (
    compatible,
    dimension_product,
    ranked,
    require_float,
    require_one_of,
    same_dimension,
    tensor_type,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

CORNERS = 4
"""How many numbers the corners of a box are."""


def require_number(value: SSAValue, what: str, *dtypes: Attribute) -> None:
    """Raises VerifyException unless an operand is a tensor of one element of one of some dtypes."""
    type_ = tensor_type(value, what)
    accepted = list(dict.fromkeys(dtypes))
    single = all(same_dimension(dim, 1) for dim in type_.get_shape())
    if type_.element_type not in accepted or not single:
        names = " or ".join(map(str, accepted))
        raise VerifyException(f"{what} is {type_}, expected one element of {names}")


def require_index(index: IntegerAttr, what: str, length: int, *, optional: bool = False) -> None:
    """Raises VerifyException unless a property is an index of `length` elements, or negative."""
    number = index.value.data
    if (number < 0 and not optional) or (length >= 0 and number >= length):
        low = "any negative number or 0" if optional else "0"
        raise VerifyException(f"'{what}' is {number}, accepted are {low} to {length - 1}")


def boxes_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of `data` [B, N, K], rows of numbers about boxes."""
    data = ranked(value, "'data'", 3)
    require_float(data, "data")
    return data


@irdl_op_definition
class GetValidCountsOp(RelayOp):
    """
    The rows of `data` [B, N, K] that are boxes, first: those whose element `score_index` is above
    `score_threshold` and, unless `id_index` is negative, whose element of this number is at least
    0. The result is a tuple: how many they are [B], of i32; the rows [B, N, K]; and their indices in
    `data` [B, N], of i32. Rows and indices after those are -1.

    Source: Relay's `vision.get_valid_counts`.
    """

    name = "relay.vision.get_valid_counts"

    data: Tensor = operand()
    score_threshold: Tensor = operand()
    id_index: Integer = prop(default=0)
    score_index: Integer = prop(default=1)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        data = boxes_type(self.data)
        batch, count, length = data.get_shape()
        require_number(self.score_threshold, "'score_threshold'", data.element_type)
        require_index(self.id_index, "id_index", length, optional=True)
        require_index(self.score_index, "score_index", length)
        return tuple_type((TensorType(i32, [batch]), data, TensorType(i32, [batch, count])))


@irdl_op_definition
class NonMaxSuppressionOp(RelayOp):
    """
    The rows of `data` [B, N, K] that overlap with no better one: of the first `valid_count` [B] rows
    of i32, in the descending order of element `score_index` (equal ones in their order, NaN last),
    at most `top_k` of them unless it is not positive, a row whose score is above 0 is dropped when
    it overlaps with a row before it that was kept, has a score above 0, the same element `id_index`
    (at least 0), or any one with `force_suppress`, and when `max_output_size` rows (any number if it
    is negative) have been kept already. Rows overlap when the area that their boxes have in common
    is at least `iou_threshold` of the area of both together; opposite corners of boxes are elements
    `coord_start` and following. When `iou_threshold` is not positive, the first `valid_count` rows
    stay as they are. A negative `id_index` stands for no element.

    With `return_indices` the result is a tuple: the elements of `indices` [B, N], of i32, for the
    rows that are kept, those that are not negative first, -1 after them; and the number of these
    [B, 1], of i32. Otherwise it is the rows [B, N, K], -1 where one was dropped; with
    `invalid_to_bottom` those whose first element is not negative come first.

    Source: Relay's `vision.non_max_suppression`.
    """

    name = "relay.vision.non_max_suppression"

    data: Tensor = operand()
    valid_count: Tensor = operand()
    indices: Tensor = operand()
    max_output_size: Tensor = operand()
    iou_threshold: Tensor = operand()
    force_suppress: Flag = prop(default=False)
    top_k: Integer = prop(default=-1)
    coord_start: Integer = prop(default=2)
    score_index: Integer = prop(default=1)
    id_index: Integer = prop(default=0)
    return_indices: Flag = prop(default=True)
    invalid_to_bottom: Flag = prop(default=False)
    result = result_def(TensorType | TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        data = boxes_type(self.data)
        batch, count, length = data.get_shape()
        for value, name, shape in (
            (self.valid_count, "valid_count", (batch,)),
            (self.indices, "indices", (batch, count)),
        ):
            type_, expected = ranked(value, f"'{name}'", len(shape)), TensorType(i32, shape)
            if not compatible(type_, expected):
                raise VerifyException(f"'{name}' is {type_}, expected {expected}")
        require_number(self.max_output_size, "'max_output_size'", i32, i64)
        require_number(self.iou_threshold, "'iou_threshold'", f32, data.element_type)
        require_index(self.id_index, "id_index", length, optional=True)
        require_index(self.score_index, "score_index", length)
        if length != DYNAMIC_INDEX:
            if length < CORNERS:
                raise VerifyException(
                    f"'data' is {data}, expected rows of at least {CORNERS} numbers"
                )
            length -= CORNERS - 1
        require_index(self.coord_start, "coord_start", length)
        if not self.return_indices.value.data:
            return data
        return tuple_type((TensorType(i32, [batch, count]), TensorType(i32, [batch, 1])))


@irdl_op_definition
class AllClassNonMaxSuppressionOp(RelayOp):
    """
    The boxes of every class that overlap with no better one: for each row of `scores` [B, C, N], of
    those of the N `boxes` [B, N, 4] whose score is above `score_threshold`, in descending order
    (equal ones in their order), those that overlap with none that was chosen before, until
    `max_output_boxes_per_class` are chosen (all, if it is not positive). Boxes, given by opposite
    corners, overlap when the area that they have in common is at least `iou_threshold` of the area
    of both together; when it is not positive, none is chosen. All numbers are those of f32.

    With `output_format` "onnx" the result is a tuple of rows (image, class, box) [B * C * N, 3] of
    i64, ordered by image, class and score, and their number [1], of i64. With "tensorflow" it is one
    of rows (class, box) [B, C * N, 2] of i64 for each image, their scores [B, C * N], and their
    numbers [B], of i64. Rows and scores after those are 0.

    Source: Relay's `vision.all_class_non_max_suppression`, ONNX's NonMaxSuppression.
    """

    name = "relay.vision.all_class_non_max_suppression"

    boxes: Tensor = operand()
    scores: Tensor = operand()
    max_output_boxes_per_class: Tensor = operand()
    iou_threshold: Tensor = operand()
    score_threshold: Tensor = operand()
    output_format: Text = prop(default="onnx")
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        boxes, scores = ranked(self.boxes, "'boxes'", 3), ranked(self.scores, "'scores'", 3)
        for type_, name in ((boxes, "boxes"), (scores, "scores")):
            if type_.element_type != f32:
                raise VerifyException(f"'{name}' is {type_}, expected elements of f32")
        batch, count, corners = boxes.get_shape()
        other_batch, classes, other_count = scores.get_shape()
        if not same_dimension(corners, 4):
            raise VerifyException(f"'boxes' is {boxes}, expected four numbers for each box")
        if not same_dimension(batch, other_batch) or not same_dimension(count, other_count):
            raise VerifyException(
                f"'boxes' is {boxes} and 'scores' {scores}, expected [B, N, 4] and [B, C, N]"
            )
        require_number(self.max_output_boxes_per_class, "'max_output_boxes_per_class'", i32, i64)
        require_number(self.iou_threshold, "'iou_threshold'", f32)
        require_number(self.score_threshold, "'score_threshold'", f32)
        require_one_of("output_format", self.output_format, "onnx", "tensorflow")
        batch, count = (max(pair) for pair in ((batch, other_batch), (count, other_count)))
        if self.output_format.data == "onnx":
            rows = dimension_product((batch, classes, count))
            return tuple_type((TensorType(i64, [rows, 3]), TensorType(i64, [1])))
        rows = dimension_product((classes, count))
        return tuple_type(
            (
                TensorType(i64, [batch, rows, 2]),
                TensorType(f32, [batch, rows]),
                TensorType(i64, [batch]),
            )
        )
