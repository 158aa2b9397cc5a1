"""Boxes on images, and what is inside of them, in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.image.resize import LINEAR
from xrelay.dialects.vision import regions
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.image.interpolation import clamped, resized, taps
from xrelay.interpreters.numerics import convert, narrow, wide_dtype, widen
from xrelay.interpreters.qnn.parameters import round_half_away
from xrelay.interpreters.vision.nms import descending

INT64 = np.dtype(np.int64)

EPSILON = 1e-5
"""What the edges of parts are moved inwards before they are rounded outwards."""


def _whole(x: Array) -> Array:
    return convert(np.asarray(x), INT64)


@register_impls
class RegionFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.vision.regions`."""

    @meaning
    def run_multibox_prior(self, op: regions.MultiboxPriorOp, data: Array) -> Array:
        height, width = data.shape[2:]
        if not height or not width:
            return np.zeros((1, 0, 4), data.dtype)
        steps, offsets = op.step_sizes(height, width), op.offsets.get_values()
        y, x = (
            (np.arange(count, dtype=np.float64) + offset) * step
            for count, offset, step in zip((height, width), offsets, steps, strict=True)
        )
        sizes = np.array(op.half_sizes(height, width))
        boxes = np.empty((height, width, len(sizes), 4))
        for axis, centres in enumerate((x[None, :, None], y[:, None, None])):
            boxes[..., axis] = centres - sizes[:, axis]
            boxes[..., 2 + axis] = centres + sizes[:, axis]
        if op.clip.value.data:
            boxes = np.clip(boxes, 0, 1)
        return boxes.reshape(1, -1, 4).astype(data.dtype)

    @meaning
    def run_multibox_transform_loc(
        self, op: regions.MultiboxTransformLocOp, *args: Array
    ) -> tuple[Array, ...]:
        probabilities, moves, anchor = map(widen, args)
        real = probabilities.dtype.type
        batch, classes, count = probabilities.shape
        best, number = np.full((batch, count), -1, real), np.zeros((batch, count), np.int64)
        for k in range(1, classes):
            above = probabilities[:, k] > best
            best, number = np.where(above, probabilities[:, k], best), np.where(above, k, number)
        valid = (number > 0) & ~(best < real(op.threshold.value.data))
        left, top, right, bottom = np.moveaxis(anchor, -1, 0)
        vx, vy, vw, vh = map(real, op.variances.get_values())
        px, py, pw, ph = np.moveaxis(moves.reshape(batch, count, 4), -1, 0)
        width, height = right - left, bottom - top
        x, y = px * vx * width + (left + right) / 2, py * vy * height + (top + bottom) / 2
        w, h = np.exp(pw * vw) * width / 2, np.exp(ph * vh) * height / 2
        boxes = np.stack([x - w, y - h, x + w, y + h], -1)
        if op.clip.value.data:
            boxes = np.maximum(real(0), np.minimum(real(1), boxes))
        rows = np.concatenate([(number - 1.0)[..., None], best[..., None], boxes], -1)
        result = np.full((batch, count, 6), -1, real)
        for i in range(batch):
            result[i, : valid[i].sum()] = rows[i, valid[i]]
        counts = valid.sum(-1).astype(np.int32)
        return (narrow(result, args[0].dtype), counts)

    @meaning
    def run_proposal(
        self, op: regions.ProposalOp, scores: Array, moves: Array, info: Array
    ) -> Array:
        count = op.rpn_post_nms_top_n.value.data
        result = np.zeros((len(scores), count, 5), wide_dtype(scores.dtype))
        for i in range(len(scores)):
            boxes, best = _predicted(op, scores[i], moves[i], info[i].astype(np.float64))
            order = descending(best)
            if op.rpn_pre_nms_top_n.value.data > 0:
                order = order[: op.rpn_pre_nms_top_n.value.data]
            kept = _separate(boxes[order], boxes.dtype.type(op.threshold.value.data))
            for j in range(count):
                result[i, j] = [i, *boxes[order[kept[j % len(kept)]]]]
        return narrow(result.reshape(-1, 5), scores.dtype)

    @meaning
    def run_roi_align(self, op: regions.RoiAlignOp, data: Array, rois: Array) -> Array:
        images = widen(data).transpose(op.axes)
        pooled, lengths = op.pooled_size.get_values(), images.shape[2:]
        ratio, means = op.sample_ratio.value.data, op.mode.data == "avg"
        aligned = bool(op.aligned.value.data)
        result = np.empty((len(rois), images.shape[1], *pooled), images.dtype)
        for r, roi in enumerate(rois.astype(np.float64)):
            image = images[clamped(_whole(roi[0]), len(images))]
            choices: list[list[tuple[Array, Array]]] = []
            for axis, (parts, length) in enumerate(zip(pooled, lengths, strict=True)):
                start, end = (roi[i + 1 - axis] * op.spatial_scale.value.data for i in (1, 3))
                if aligned:
                    start, end = start - 0.5, end - 0.5
                size = (end - start if aligned else np.maximum(end - start, 1.0)) / parts
                samples = ratio if ratio > 0 else max(int(_whole(np.ceil(size))), 0)
                places: list[tuple[Array, Array]] = []
                for part in range(parts):
                    first = start + part * size
                    c: Array = first + (np.arange(samples, dtype=np.float64) + 0.5) * size / samples
                    outside: Array = (c < -1.0) | (c > length)
                    inside: Array = np.minimum(np.maximum(c, 0.0), length - 1.0)
                    places.append((inside, outside))
                choices.append(places)
            for y, rows in enumerate(choices[0]):
                for x, columns in enumerate(choices[1]):
                    result[r, :, y, x] = _sampled_part(image, rows, columns, means=means)
        return narrow(np.ascontiguousarray(result.transpose(np.argsort(op.axes))), data.dtype)

    @meaning
    def run_roi_pool(self, op: regions.RoiPoolOp, data: Array, rois: Array) -> Array:
        images = data.transpose(op.axes)
        pooled, lengths = op.pooled_size.get_values(), images.shape[2:]
        result = np.zeros((len(rois), images.shape[1], *pooled), data.dtype)
        for r, roi in enumerate(rois.astype(np.float64)):
            image = images[clamped(_whole(roi[0]), len(images))]
            ranges: list[list[slice]] = []
            for axis, (parts, length) in enumerate(zip(pooled, lengths, strict=True)):
                start, end = (
                    round_half_away(np.asarray(roi[i + 1 - axis] * op.spatial_scale.value.data))
                    for i in (1, 3)
                )
                size = np.maximum(end - start + 1, 1.0) / parts
                number = np.arange(parts)
                first = np.floor(number * size + EPSILON) + start
                last = np.ceil((number + 1) * size - EPSILON) + start
                edges = [_whole(np.minimum(np.maximum(e, 0.0), length)) for e in (first, last)]
                ranges.append([slice(int(a), int(b)) for a, b in zip(*edges, strict=True)])
            for y, x in np.ndindex(*pooled):
                part = image[:, ranges[0][y], ranges[1][x]]
                if part.size:
                    result[r, :, y, x] = np.maximum.reduce(part, axis=(1, 2))
        return np.ascontiguousarray(result.transpose(np.argsort(op.axes)))

    @meaning
    def run_yolo_reorg(self, op: regions.YoloReorgOp, data: Array) -> Array:
        stride = op.stride.value.data
        batch, channels, height, width = data.shape
        small = channels // (stride * stride)
        seen = data.reshape(batch, small, height, stride, width, stride)
        # Channels of the result count steps down, steps right, then those of the data.
        moved = seen.transpose(0, 3, 5, 1, 2, 4)
        shape = (batch, channels * stride * stride, height // stride, width // stride)
        return np.ascontiguousarray(moved).reshape(shape)


def _predicted(
    op: regions.ProposalOp, scores: Array, moves: Array, info: Array
) -> tuple[Array, Array]:
    """The boxes at all places, and their scores, in the type that is computed in."""
    anchors = np.array(op.anchors())
    kinds, (height, width) = len(anchors), scores.shape[1:]
    stride = op.feature_stride.value.data
    y: Array = np.arange(height, dtype=np.float64).reshape(-1, 1, 1)
    x: Array = np.arange(width, dtype=np.float64).reshape(1, -1, 1)
    places: list[Array] = [anchors[:, i] + (y if i % 2 else x) * float(stride) for i in range(4)]
    left, top, right, bottom = places
    delta = moves.astype(np.float64).reshape(kinds, 4, height, width).transpose(1, 2, 3, 0)
    if op.iou_loss.value.data:
        corners = [left + delta[0], top + delta[1], right + delta[2], bottom + delta[3]]
    else:
        w, h = right - left + 1.0, bottom - top + 1.0
        centre = delta[0] * w + (left + 0.5 * (w - 1.0)), delta[1] * h + (top + 0.5 * (h - 1.0))
        half = (
            0.5 * (np.exp(delta[2]) * w - 1.0),
            0.5 * (np.exp(delta[3]) * h - 1.0),
        )
        corners = [c + sign * s for sign in (-1, 1) for c, s in zip(centre, half, strict=True)]
    limits = info[1] - 1.0, info[0] - 1.0
    cut = [np.maximum(np.minimum(c, limits[i % 2]), 0.0) for i, c in enumerate(corners)]
    least = info[2] * op.rpn_min_size.value.data
    small = (cut[2] - cut[0] + 1.0 < least) | (cut[3] - cut[1] + 1.0 < least)
    grown: list[Array] = [
        np.where(small, c + (-1 if i < 2 else 1) * (least / 2.0), c) for i, c in enumerate(cut)
    ]
    rows, columns = _whole(info[0] / stride), _whole(info[1] / stride)
    dtype = wide_dtype(scores.dtype)
    best = scores[kinds:].transpose(1, 2, 0).astype(dtype)
    best = np.where((y >= rows) | (x >= columns) | small, dtype.type(-1), best)
    boxes = np.stack(np.broadcast_arrays(*grown), -1).reshape(-1, 4)
    return boxes.astype(dtype), best.reshape(-1)


def _separate(boxes: Array, threshold: float) -> Array:
    """The numbers of boxes that do not overlap with one before them that is separate."""
    one = boxes.dtype.type(1)
    removed = np.zeros(len(boxes), bool)
    for i, (left, top, right, bottom) in enumerate(boxes):
        if removed[i]:
            continue
        lefts, tops, rights, bottoms = boxes[i + 1 :].T
        width = np.maximum(np.minimum(right, rights) - np.maximum(left, lefts) + one, 0)
        height = np.maximum(np.minimum(bottom, bottoms) - np.maximum(top, tops) + one, 0)
        common = width * height
        own = (right - left + one) * (bottom - top + one)
        both = own + (rights - lefts + one) * (bottoms - tops + one) - common
        removed[i + 1 :] |= common / both > threshold
    return np.flatnonzero(~removed)


def _sampled_part(
    image: Array,
    rows: tuple[Array, Array],
    columns: tuple[Array, Array],
    *,
    means: bool,
) -> Array:
    """The mean or the largest of the elements of `image` [C, H, W] at places in it."""
    (y, y_outside), (x, x_outside) = rows, columns
    choices = [taps(c, n, LINEAR) for c, n in zip((y, x), image.shape[1:], strict=True)]
    sampled = resized(image, (1, 2), choices)
    sampled = np.where(y_outside[:, None] | x_outside, image.dtype.type(0), sampled)
    if not means:
        return np.maximum.reduce(sampled, axis=(1, 2), initial=-np.inf)
    total = np.zeros(len(image), image.dtype)
    for i, j in np.ndindex(len(y), len(x)):
        total = total + sampled[:, i, j]
    return total / image.dtype.type(max(len(y) * len(x), 1))
