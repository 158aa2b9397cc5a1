"""
Boxes in NumPy: their selection against the definition, one pair of boxes at a time, and against
ONNX's NonMaxSuppression; regions against ONNX's RoiAlign and MaxRoiPool and element by element.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from evaluation import evaluate, runtime
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tiers import fixed_examples

from xrelay.dialects.vision import nms as vision
from xrelay.dialects.vision import regions
from xrelay.interpreters.arrays import Array

run_settings = fixed_examples(40, HealthCheck.too_slow)
seeds = st.integers(0, 2**32)


def boxes(rng: np.random.Generator, *shape: int) -> Array:
    """Boxes of which many overlap, with corners in any order."""
    centre = rng.integers(0, 4, (*shape, 2)) / 4
    half = rng.uniform(0, 0.3, (*shape, 2)) * rng.choice([-1, 1], (*shape, 1))
    return np.concatenate([centre - half, centre + half], -1).astype(np.float32)


def scalar(value: float, dtype: str = "float32") -> Array:
    return np.asarray(value, dtype)


def overlap(one: Array, other: Array) -> float:
    """Intersection over union, in f64."""
    (l1, t1, r1, b1), (l2, t2, r2, b2) = (
        (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
        for x1, y1, x2, y2 in (one.astype(float).tolist(), other.astype(float).tolist())
    )
    common = max(0, min(r1, r2) - max(l1, l2)) * max(0, min(b1, b2) - max(t1, t2))
    both = (r1 - l1) * (b1 - t1) + (r2 - l2) * (b2 - t2) - common
    return common / both if both > 0 else 0


def clear(corners: Array, threshold: float) -> bool:
    """Whether no two boxes overlap by nearly the threshold, where rounding decides."""
    return all(abs(overlap(one, other) - threshold) > 1e-5 for one in corners for other in corners)


# Selection


@run_settings
@given(seeds, st.integers(0, 9), st.integers(-1, 2), st.floats(-0.5, 1))
def test_get_valid_counts(seed: int, count: int, identity: int, threshold: float):
    rng = np.random.default_rng(seed)
    data = rng.integers(-4, 9, (2, count, 6)).astype(np.float32) / 8
    found, rows, indices = evaluate(
        partial(vision.GetValidCountsOp, id_index=identity), data, scalar(threshold)
    )
    for image in range(2):
        valid = [
            j
            for j in range(count)
            if data[image, j, 1] > np.float32(threshold)
            and (identity < 0 or data[image, j, identity] >= 0)
        ]
        rest = count - len(valid)
        assert found[image] == len(valid)
        assert indices[image].tolist() == valid + [-1] * rest
        expected = [*data[image, valid].tolist(), *[[-1.0] * 6] * rest]
        assert rows[image].tolist() == expected


def suppressed(
    rows: Array, most: int, threshold: float, *, force: bool, top_k: int, identity: int
) -> list[int]:
    """The numbers of the rows that are kept, by the definition; -1 for the others."""
    if threshold <= 0:
        return list(range(len(rows)))
    order = sorted(range(len(rows)), key=lambda j: -rows[j, 1])
    chosen = [j if not 0 < top_k <= place else -1 for place, j in enumerate(order)]
    kept = 0
    for place, j in enumerate(chosen):
        if kept == most:
            chosen[place] = -1
            continue
        if j < 0 or rows[j, 1] <= 0:
            continue
        for k in chosen[:place]:
            if k < 0 or rows[k, 1] <= 0 or (identity >= 0 and rows[k, identity] < 0):
                continue
            same = identity < 0 or rows[k, identity] == rows[j, identity]
            if (force or same) and overlap(rows[j, 2:], rows[k, 2:]) >= threshold:
                chosen[place] = -1
                break
        else:
            kept += 1
    return chosen


@run_settings
@given(
    seeds,
    st.integers(0, 12),
    st.sampled_from([-1, 0, 2, 5]),
    st.sampled_from([0.31, 0.57, 0.0, -1.0]),
    st.booleans(),
    st.sampled_from([-1, 4]),
    st.sampled_from([-1, 0]),
)
def test_non_max_suppression(
    seed: int, count: int, most: int, threshold: float, force: bool, top_k: int, identity: int
):
    rng = np.random.default_rng(seed)
    names = rng.integers(-1, 3, (2, count, 1)).astype(np.float32)
    scores = (rng.integers(-1, 6, (2, count, 1)) / 8).astype(np.float32)
    data = np.concatenate([names, scores, boxes(rng, 2, count)], -1)
    if threshold > 0 and not all(clear(image[:, 2:], threshold) for image in data):
        return
    valid = rng.integers(-1, count + 2, 2).astype(np.int32)
    numbers = rng.integers(-2, 50, (2, count)).astype(np.int32)
    options: dict[str, Any] = {"force_suppress": force, "top_k": top_k, "id_index": identity}
    operands = data, valid, numbers, scalar(most, "int32"), scalar(threshold)
    indices, counts = evaluate(partial(vision.NonMaxSuppressionOp, **options), *operands)
    rows, compact = (
        evaluate(
            partial(
                vision.NonMaxSuppressionOp,
                return_indices=False,
                invalid_to_bottom=bottom,
                **options,
            ),
            *operands,
        )
        for bottom in (False, True)
    )
    for image in range(2):
        first = min(max(int(valid[image]), 0), count)
        chosen = suppressed(
            data[image, :first], most, threshold, force=force, top_k=top_k, identity=identity
        )
        taken = [int(numbers[image, j]) for j in chosen if j >= 0]
        taken = [number for number in taken if number >= 0]
        assert counts[image, 0] == len(taken)
        assert indices[image].tolist() == taken + [-1] * (count - len(taken))
        expected = [data[image, j].tolist() if j >= 0 else [-1.0] * 6 for j in chosen]
        expected += [[-1.0] * 6] * (count - first)
        assert rows[image].tolist() == expected
        top = [row for row in expected if row[0] >= 0]
        assert compact[image].tolist() == top + [[-1.0] * 6] * (count - len(top))


@run_settings
@given(
    seeds,
    st.integers(1, 12),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([0.31, 0.57, 0.9]),
    st.sampled_from([-0.1, 0.3, 0.6]),
)
def test_all_class_non_max_suppression_is_that_of_onnx(
    seed: int, count: int, most: int, threshold: float, least: float
):
    rng = np.random.default_rng(seed)
    corners = boxes(rng, 2, count)
    if not all(clear(image, threshold) for image in corners):
        return
    scores = rng.permutation(2 * 3 * count).reshape(2, 3, count).astype(np.float32) / (6 * count)
    expected = runtime(
        "NonMaxSuppression",
        corners,
        scores,
        np.array([most]),
        np.array([threshold], np.float32),
        np.array([least], np.float32),
    )
    operands = corners, scores, scalar(most, "int64"), scalar(threshold), scalar(least)
    rows, total = evaluate(vision.AllClassNonMaxSuppressionOp, *operands)
    assert total.tolist() == [len(expected)]
    assert rows[: len(expected)].tolist() == expected.tolist()
    assert not rows[len(expected) :].any()
    pairs, values, counts = evaluate(
        partial(vision.AllClassNonMaxSuppressionOp, output_format="tensorflow"), *operands
    )
    for image in range(2):
        own = [(j, box) for i, j, box in expected.tolist() if i == image]
        assert counts[image] == len(own)
        assert pairs[image, : len(own)].tolist() == [list(pair) for pair in own]
        assert values[image, : len(own)].tolist() == [float(scores[image, j, k]) for j, k in own]
        assert not pairs[image, len(own) :].any() and not values[image, len(own) :].any()


def test_limits_of_all_class_suppression():
    corners = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [5, 5, 6, 6]]], np.float32)
    scores = np.array([[[0.5, 0.75, np.nan]]], np.float32)
    operands = corners, scores, scalar(0, "int32")
    rows, total = evaluate(
        vision.AllClassNonMaxSuppressionOp, *operands, scalar(1), scalar(-math.inf)
    )
    # Boxes that are the same overlap by 1; a score that is no number is above no threshold.
    assert rows[: int(total[0])].tolist() == [[0, 0, 1]]
    _, total = evaluate(vision.AllClassNonMaxSuppressionOp, *operands, scalar(0), scalar(0))
    assert total.tolist() == [0]


# Boxes


def test_multibox_prior():
    sizes, ratios, steps, offsets = (0.5, 0.2), (1.0, 2.0, 0.25), (0.3, -1.0), (0.25, 0.75)
    data = np.zeros((2, 3, 2, 3), np.float32)
    found = evaluate(
        partial(regions.MultiboxPriorOp, sizes=sizes, ratios=ratios, steps=steps, offsets=offsets),
        data,
    )
    expected: list[list[float]] = []
    for i in range(2):
        for j in range(3):
            y, x = (i + 0.25) * 0.3, (j + 0.75) / 3
            shapes = [(size * 2 / 3, size) for size in sizes]
            shapes += [
                (0.5 * 2 / 3 * math.sqrt(ratio), 0.5 / math.sqrt(ratio)) for ratio in ratios[1:]
            ]
            expected += [[x - w / 2, y - h / 2, x + w / 2, y + h / 2] for w, h in shapes]
    np.testing.assert_allclose(found, [expected], 1e-6, 1e-6)
    clipped = evaluate(
        partial(
            regions.MultiboxPriorOp,
            sizes=sizes,
            ratios=ratios,
            steps=steps,
            offsets=offsets,
            clip=True,
        ),
        data,
    )
    np.testing.assert_array_equal(clipped, np.clip(found, 0, 1))


@pytest.mark.parametrize(
    ("steps", "places"),
    [
        ((0.0, 0.0), [(0.25, 0.125), (0.25, 0.375), (0.25, 0.625), (0.25, 0.875)]),
        ((-0.5, 0.0), [(0.25, 0.125), (0.25, 0.375), (0.25, 0.625), (0.25, 0.875)]),
        ((0.0, -0.5), [(0.25, 0.125), (0.25, 0.375), (0.25, 0.625), (0.25, 0.875)]),
        ((0.25, 0.5), [(0.125, 0.25), (0.125, 0.75), (0.125, 1.25), (0.125, 1.75)]),
    ],
)
def test_steps_between_boxes(steps: tuple[float, float], places: list[tuple[float, float]]) -> None:
    """Those that are not positive, 0 among them, are a part of the image; here the centres of the first row."""
    data = np.zeros((1, 1, 2, 4), np.float32)
    found = evaluate(partial(regions.MultiboxPriorOp, steps=steps), data)[0, :4]
    assert [tuple(row) for row in (found[:, 1::-1] + found[:, :1:-1]) / 2] == places


@run_settings
@given(seeds, st.integers(1, 4), st.booleans(), st.sampled_from([0.01, 0.4, -2.0]))
def test_multibox_transform_loc(seed: int, classes: int, clip: bool, threshold: float):
    rng = np.random.default_rng(seed)
    scores = (rng.integers(-9, 9, (2, classes, 5)) / 8).astype(np.float32)
    moves = rng.normal(0, 1, (2, 20)).astype(np.float32)
    anchor = rng.uniform(0, 1, (1, 5, 4)).astype(np.float32)
    rows, counts = evaluate(
        partial(regions.MultiboxTransformLocOp, clip=clip, threshold=threshold),
        scores,
        moves,
        anchor,
    )
    for image in range(2):
        expected: list[list[float]] = []
        for j in range(5):
            own = scores[image, 1:, j].tolist()
            best = max(own, default=-1.0)
            if best <= -1 or best < threshold:
                continue
            left, top, right, bottom = anchor[0, j].tolist()
            a, b, c, d = moves[image, 4 * j : 4 * j + 4].tolist()
            w, h = right - left, bottom - top
            x, y = a * 0.1 * w + (left + right) / 2, b * 0.1 * h + (top + bottom) / 2
            w, h = math.exp(0.2 * c) * w, math.exp(0.2 * d) * h
            box = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
            if clip:
                box = [min(max(edge, 0.0), 1.0) for edge in box]
            expected.append([own.index(best), best, *box])
        assert counts[image] == len(expected)
        expected += [[-1.0] * 6] * (5 - len(expected))
        np.testing.assert_allclose(rows[image], expected, 1e-5, 1e-5)


def anchors(stride: int, scales: tuple[float, ...], ratios: tuple[float, ...]) -> list[list[float]]:
    """The boxes of Faster R-CNN around the first place."""
    result: list[list[float]] = []
    for ratio in ratios:
        side = math.floor(math.sqrt(math.floor(stride**2 / ratio)) + 0.5)
        for scale in scales:
            w, h = side * scale, math.floor(side * ratio + 0.5) * scale
            middle = (stride - 1) / 2
            result.append(
                [
                    middle - (w - 1) / 2,
                    middle - (h - 1) / 2,
                    middle + (w - 1) / 2,
                    middle + (h - 1) / 2,
                ]
            )
    return result


@run_settings
@given(seeds, st.booleans(), st.sampled_from([-1, 6]), st.sampled_from([0.3, 0.7]))
def test_proposal(seed: int, loss: bool, top: int, threshold: float):
    rng = np.random.default_rng(seed)
    scales, ratios, height, width = (1.0, 2.0), (0.5, 1.0), 2, 3
    scores = rng.permutation(8 * height * width).astype(np.float32).reshape(1, 8, height, width)
    moves = rng.normal(0, 0.4, (1, 16, height, width)).astype(np.float32)
    info = np.array([[30, 40, 0.5]], np.float32)
    found = evaluate(
        partial(
            regions.ProposalOp,
            scales=scales,
            ratios=ratios,
            rpn_pre_nms_top_n=top,
            rpn_post_nms_top_n=9,
            iou_loss=loss,
            threshold=threshold,
        ),
        scores,
        moves,
        info,
    )
    candidates: list[tuple[float, list[float]]] = []
    for y in range(height):
        for x in range(width):
            for k, box in enumerate(anchors(16, scales, ratios)):
                left, t, right, b = (edge + 16 * (y if i % 2 else x) for i, edge in enumerate(box))
                d = moves[0, 4 * k : 4 * k + 4, y, x].tolist()
                if loss:
                    edges = [left + d[0], t + d[1], right + d[2], b + d[3]]
                else:
                    w, h = right - left + 1, b - t + 1
                    cx, cy = d[0] * w + left + (w - 1) / 2, d[1] * h + t + (h - 1) / 2
                    w, h = math.exp(d[2]) * w, math.exp(d[3]) * h
                    edges = [cx - (w - 1) / 2, cy - (h - 1) / 2, cx + (w - 1) / 2, cy + (h - 1) / 2]
                edges = [min(max(edge, 0), (39, 29)[i % 2]) for i, edge in enumerate(edges)]
                score = float(scores[0, 4 + k, y, x])
                if y >= 30 // 16 or x >= 40 // 16:
                    score = -1
                if min(edges[2] - edges[0], edges[3] - edges[1]) + 1 < 8:
                    edges = [edge + (-4 if i < 2 else 4) for i, edge in enumerate(edges)]
                    score = -1
                candidates.append((score, edges))
    candidates.sort(key=lambda each: -each[0])
    if top > 0:
        candidates = candidates[:top]
    kept: list[list[float]] = []
    for _, (x1, y1, x2, y2) in candidates:
        for a1, b1, a2, b2 in kept:
            w, h = min(x2, a2) - max(x1, a1) + 1, min(y2, b2) - max(y1, b1) + 1
            common = max(w, 0) * max(h, 0)
            own = (x2 - x1 + 1) * (y2 - y1 + 1) + (a2 - a1 + 1) * (b2 - b1 + 1)
            part = common / (own - common)
            if abs(part - threshold) < 1e-5:
                return
            if part > threshold:
                break
        else:
            kept.append([x1, y1, x2, y2])
    expected = [[0, *kept[i % len(kept)]] for i in range(9)]
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


# Regions


def rois(rng: np.random.Generator, count: int) -> Array:
    corners = rng.uniform(-2, 20, (count, 4))
    return np.concatenate([rng.integers(0, 2, (count, 1)), corners], 1).astype(np.float32)


@run_settings
@given(seeds, st.sampled_from([0, 1, 3]), st.sampled_from([0.5, 0.3]))
def test_roi_align_is_that_of_onnx(seed: int, ratio: int, scale: float):
    rng = np.random.default_rng(seed)
    x, places = rng.normal(0, 1, (2, 3, 8, 9)).astype(np.float32), rois(rng, 5)
    found = evaluate(
        partial(regions.RoiAlignOp, pooled_size=(2, 3), spatial_scale=scale, sample_ratio=ratio),
        x,
        places,
    )
    expected = runtime(
        "RoiAlign",
        x,
        np.ascontiguousarray(places[:, 1:]),
        places[:, 0].astype(np.int64),
        opset=16,
        coordinate_transformation_mode="output_half_pixel",
        output_height=2,
        output_width=3,
        sampling_ratio=ratio,
        spatial_scale=scale,
    )
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)
    last = evaluate(
        partial(
            regions.RoiAlignOp,
            pooled_size=(2, 3),
            spatial_scale=scale,
            sample_ratio=ratio,
            layout="NHWC",
        ),
        np.ascontiguousarray(np.moveaxis(x, 1, -1)),
        places,
    )
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), found)


def test_roi_align_takes_the_largest_sample():
    rng = np.random.default_rng(0)
    x, places = rng.normal(0, 1, (2, 3, 8, 9)).astype(np.float32), rois(rng, 6)
    largest = evaluate(
        partial(
            regions.RoiAlignOp, pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2, mode="max"
        ),
        x,
        places,
    )
    # Four parts of one sample each are the samples of one part.
    samples = evaluate(
        partial(regions.RoiAlignOp, pooled_size=(4, 4), spatial_scale=0.5, sample_ratio=1),
        x,
        places,
    )
    size = np.maximum((places[:, 3:] - places[:, 1:3]) * 0.5, 1)
    assert (size >= 1).all()
    expected = samples.reshape(6, 3, 2, 2, 2, 2).max((3, 5))
    np.testing.assert_allclose(largest, expected, 1e-5, 1e-5)


@run_settings
@given(seeds, st.sampled_from([0.5, 0.25, 1.0]))
def test_roi_pool_is_that_of_onnx(seed: int, scale: float):
    rng = np.random.default_rng(seed)
    x, places = rng.normal(0, 1, (2, 3, 8, 9)).astype(np.float32), rois(rng, 5)
    # Whole numbers after the scale: how others are rounded differs.
    places[:, 1:] = np.rint(places[:, 1:] * scale) / scale
    # Parts without elements: onnxruntime gives 0, too.
    found = evaluate(partial(regions.RoiPoolOp, pooled_size=(2, 3), spatial_scale=scale), x, places)
    expected = runtime("MaxRoiPool", x, places, pooled_shape=[2, 3], spatial_scale=scale)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("shape", "stride"), [((2, 8, 4, 6), 2), ((1, 9, 6, 3), 3)])
def test_yolo_reorg(shape: tuple[int, ...], stride: int):
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    found = evaluate(lambda data: regions.YoloReorgOp(data, stride), x)
    batch, channels, height, width = shape
    small = channels // stride**2
    flat, expected = x.reshape(-1), np.empty(shape, np.float32)
    # The loops of Darknet's reorg layer.
    for n, k, j, i in np.ndindex(*shape):
        step = k // small
        row, column = j * stride + step // stride, i * stride + step % stride
        channel = k % small + small * n
        expected[n, k, j, i] = flat[column + width * stride * (row + height * stride * channel)]
    assert found.shape == (batch, channels * stride**2, height // stride, width // stride)
    np.testing.assert_array_equal(found.reshape(shape), expected)
