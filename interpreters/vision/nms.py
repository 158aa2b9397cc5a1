"""Selection of boxes in NumPy."""

from typing import Any

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.vision import nms as vision
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import widen


def descending(scores: Array) -> Array:
    """Indices in the descending order of scores; equal ones keep their order, NaN is last."""
    unknown = np.isnan(scores)
    return np.lexsort((-np.where(unknown, 0, scores), unknown))


def overlaps(box: Array, others: Array) -> Array:
    """The parts of the areas of a box and others [..., 4] together that they have in common."""
    zero = box.dtype.type(0)

    def corners(boxes: Array) -> tuple[Array, ...]:
        first, second = boxes[..., :2], boxes[..., 2:]
        low, high = np.minimum(first, second), np.maximum(first, second)
        return low[..., 0], low[..., 1], high[..., 0], high[..., 1]

    (left, top, right, bottom), (lefts, tops, rights, bottoms) = corners(box), corners(others)
    width = np.maximum(zero, np.minimum(right, rights) - np.maximum(left, lefts))
    height = np.maximum(zero, np.minimum(bottom, bottoms) - np.maximum(top, tops))
    common = height * width
    both = (right - left) * (bottom - top) + (rights - lefts) * (bottoms - tops) - common
    return np.where(both <= 0, zero, common / both)


@register_impls
class VisionFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.vision.nms`."""

    @meaning
    def run_get_valid_counts(
        self, op: vision.GetValidCountsOp, data: Array, threshold: Array
    ) -> tuple[Array, ...]:
        valid = data[..., op.score_index.value.data] > threshold.reshape(())
        if op.id_index.value.data >= 0:
            valid &= data[..., op.id_index.value.data] >= 0
        rows, indices = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
        for i, chosen in enumerate(valid):
            found = np.flatnonzero(chosen)
            rows[i, : len(found)] = data[i, found]
            indices[i, : len(found)] = found
        return (valid.sum(-1).astype(np.int32), rows, indices)

    @meaning
    def run_non_max_suppression(
        self,
        op: vision.NonMaxSuppressionOp,
        data: Array,
        valid_count: Array,
        indices: Array,
        most: Array,
        threshold: Array,
    ) -> Any:
        chosen = np.full(data.shape[:2], -1, np.int64)
        for i, rows in enumerate(widen(data)):
            count = min(max(int(valid_count[i]), 0), len(rows))
            chosen[i, :count] = _kept(
                op, rows[:count], int(most.reshape(())), threshold.reshape(())
            )
        if bool(op.return_indices.value.data):
            return _indices(chosen, indices)
        result = np.full_like(data, -1)
        for i in range(len(chosen)):
            row: Array = chosen[i]
            result[i, row >= 0] = data[i, row[row >= 0]]
            if op.invalid_to_bottom.value.data:
                top = result[i][result[i, :, 0] >= 0]
                result[i] = -1
                result[i, : len(top)] = top
        return result

    @meaning
    def run_all_class_non_max_suppression(
        self,
        op: vision.AllClassNonMaxSuppressionOp,
        boxes: Array,
        scores: Array,
        most: Array,
        threshold: Array,
        least: Array,
    ) -> tuple[Array, ...]:
        most, threshold, least = (value.reshape(()) for value in (most, threshold, least))
        batch, classes, count = scores.shape
        found = [
            [_best(boxes[i], scores[i, j], int(most), threshold, least) for j in range(classes)]
            for i in range(batch)
        ]
        if op.output_format.data == "onnx":
            rows = [
                (i, j, box) for i in range(batch) for j in range(classes) for box in found[i][j]
            ]
            result = np.zeros((batch * classes * count, 3), np.int64)
            result[: len(rows)] = np.array(rows, np.int64).reshape(-1, 3)
            return (result, np.array([len(rows)], np.int64))
        pairs = np.zeros((batch, classes * count, 2), np.int64)
        values = np.zeros((batch, classes * count), np.float32)
        counts = np.zeros(batch, np.int64)
        for i in range(batch):
            rows = [(j, box) for j in range(classes) for box in found[i][j]]
            counts[i] = len(rows)
            for k, (j, box) in enumerate(rows):
                pairs[i, k], values[i, k] = (j, box), scores[i, j, box]
        return (pairs, values, counts)


def _kept(op: vision.NonMaxSuppressionOp, rows: Array, most: int, threshold: Any) -> Array:
    """For each place in descending order, the row that is kept there, or -1."""
    count, top_k = len(rows), op.top_k.value.data
    if not threshold > 0:
        return np.arange(count)
    start, identity = op.coord_start.value.data, op.id_index.value.data
    scores = rows[:, op.score_index.value.data]
    order = descending(scores)
    if 0 < top_k < count:
        order[top_k:] = -1
    kept = 0
    before: list[int] = []
    for place, row in enumerate(order.tolist()):
        if kept == most:
            order[place] = -1
        elif row >= 0 and scores[row] > 0:
            rivals = np.array(before, np.int64)
            if identity >= 0:
                rivals = rivals[rows[rivals, identity] >= 0]
                if not op.force_suppress.value.data:
                    rivals = rivals[rows[rivals, identity] == rows[row, identity]]
            boxes = rows[:, start : start + 4]
            if np.any(overlaps(boxes[row], boxes[rivals]) >= threshold.astype(rows.dtype)):
                order[place] = -1
            else:
                kept += 1
                before.append(row)
    return order


def _indices(chosen: Array, indices: Array) -> tuple[Array, Array]:
    """The indices of chosen rows that are not negative, and how many they are."""
    result = np.full(chosen.shape, -1, np.int32)
    counts = np.zeros((len(chosen), 1), np.int32)
    for i, row in enumerate(chosen):
        found = indices[i, row[row >= 0]]
        found = found[found >= 0]
        result[i, : len(found)] = found
        counts[i] = len(found)
    return result, counts


def _best(boxes: Array, scores: Array, most: int, threshold: Any, least: Any) -> list[int]:
    """The boxes of one class that overlap with no better one."""
    chosen: list[int] = []
    if not threshold > 0:
        return chosen
    for box in descending(scores).tolist():
        if not scores[box] > least or (most > 0 and len(chosen) == most):
            break
        if not np.any(overlaps(boxes[box], boxes[chosen]) >= threshold):
            chosen.append(box)
    return chosen
