"""Cases of boxes: their selection, and what is inside of them."""

from itertools import product
from typing import Any

import numpy as np
from graphs import Graph

from cases.kernel import CaseTable, share
from xrelay.dialects.vision import nms as vision
from xrelay.dialects.vision import regions
from xrelay.interpreters.arrays import Array

TABLE = CaseTable()


def boxes(g: Graph, *shape: int) -> Array:
    """Boxes between 0 and 1, of which many overlap, with corners in any order."""
    centre = g.rng.integers(0, 4, (*shape, 2)) / 4
    half = g.rng.uniform(0, 0.3, (*shape, 2))
    turn = g.rng.choice([-1, 1], (*shape, 1))
    return np.concatenate([centre - turn * half, centre + turn * half], -1).astype(np.float32)


def rows(g: Graph, dtype: str, batch: int, count: int) -> Array:
    """Rows (class, score, box) with equal scores and classes among them."""
    names = g.rng.integers(-1, 3, (batch, count, 1))
    scores = g.rng.integers(-1, 6, (batch, count, 1)) / 8
    if count:
        scores[:, ::7] = np.nan
    return np.concatenate([names, scores, boxes(g, batch, count)], -1).astype(dtype)


@TABLE.each((vision.GetValidCountsOp,), ("float32", "float16", "float64"))
def valid_counts(g: Graph, dtype: str) -> None:
    for batch, count in ((1, 1), (3, 23), (2, 0), (0, 4)):
        data = g.input(rows(g, dtype, batch, count))
        for threshold, identity in ((0.25, 0), (-1, 0), (0, -1), (9, 0)):
            op = vision.GetValidCountsOp(
                data, g.input(np.asarray(threshold, dtype)), id_index=identity
            )
            g.show(op, -1)


@TABLE.each((vision.NonMaxSuppressionOp,), ("float32", "float16", "float64"))
def suppression(g: Graph, dtype: str) -> None:
    options = list(product((False, True), (-1, 5), (-1, 0), (True, False), (False, True)))
    for i, (force, top, identity, indices, bottom) in share(dtype, enumerate(options), 3):
        batch, count = ((2, 19), (1, 33), (3, 1), (1, 0))[(i + i // 4) % 4]
        data = g.input(rows(g, dtype, batch, count))
        valid = g.input(g.rng.integers(-1, count + 3, batch).astype(np.int32))
        numbers = g.input(g.rng.integers(-3, 99, (batch, count)).astype(np.int32))
        most = g.input(np.asarray((-1, 3, 0)[i % 3], np.int32))
        threshold = g.input(np.asarray((0.3, 0.6, 0.0)[i % 3 if i % 5 else 2], np.float32))
        op = vision.NonMaxSuppressionOp(
            data,
            valid,
            numbers,
            most,
            threshold,
            force_suppress=force,
            top_k=top,
            id_index=identity,
            return_indices=indices,
            invalid_to_bottom=bottom,
        )
        g.show(op, -1)


@TABLE.case(vision.AllClassNonMaxSuppressionOp)
def suppression_of_all_classes(g: Graph) -> None:
    for batch, classes, count in ((1, 1, 1), (2, 3, 17), (3, 1, 40), (1, 2, 0), (0, 2, 3)):
        corners = g.input(boxes(g, batch, count))
        scores = g.input((g.rng.integers(-2, 9, (batch, classes, count)) / 8).astype(np.float32))
        for i, (most, threshold) in enumerate(((-1, 0.3), (3, 0.5), (2, 0.0), (100, 1.0))):
            op = vision.AllClassNonMaxSuppressionOp(
                corners,
                scores,
                g.input(np.full((), most, (np.int32, np.int64)[i % 2])),
                g.input(np.full((1,) * (i % 2), threshold, np.float32)),
                g.input(np.float32((0.25, -9)[i // 2])),
                output_format=("onnx", "tensorflow")[i % 2],
            )
            g.show(op)


@TABLE.case(vision.AllClassNonMaxSuppressionOp)
def suppression_of_many_boxes(g: Graph) -> None:
    """More than a block of keys and than a vector of rivals; ties, and numbers that are none."""
    for count, most, least in ((15, 15, -9.0), (257, 40, 0.0), (700, 0, 1.5), (4097, 33, -np.inf)):
        places = g.rng.uniform(0, 4, (1, count, 2))
        corners = np.concatenate([places, places + g.rng.uniform(0, 1, (1, count, 2))], 2)
        corners[0, :: max(count // 9, 1), 1] = np.nan
        corners[0, 1 :: max(count // 5, 1), 2] = np.inf
        scores = g.rng.integers(-3, 9, (1, 2, count)).astype(np.float32)
        scores[0, 0, :: max(count // 7, 1)] = [np.nan, np.inf, -np.inf, -0.0][count % 4]
        for format in ("onnx", "tensorflow"):
            op = vision.AllClassNonMaxSuppressionOp(
                g.input(corners.astype(np.float32)),
                g.input(scores),
                g.input(np.int64(most)),
                g.input(np.float32(0.3)),
                g.input(np.float32(least)),
                output_format=format,
            )
            g.show(op)


@TABLE.each((regions.MultiboxPriorOp,), ("float32", "float16", "float64"))
def priors(g: Graph, dtype: str) -> None:
    for height, width in ((1, 1), (3, 5), (0, 2)):
        data = g.input(np.zeros((1, 2, height, width), dtype))
        g.show(regions.MultiboxPriorOp(data))
        more: dict[str, Any] = {"sizes": (0.5, 0.25, 1.5), "ratios": (1, 2, 0.3)}
        g.show(regions.MultiboxPriorOp(data, steps=(0.1, 0.3), offsets=(0.2, 0.7), **more))
        g.show(regions.MultiboxPriorOp(data, clip=True, **more))


@TABLE.each((regions.MultiboxTransformLocOp,), ("float32", "float16", "float64"))
def moved_boxes(g: Graph, dtype: str) -> None:
    for batch, classes, count in ((1, 2, 5), (3, 4, 21), (2, 1, 3), (0, 3, 2)):
        scores = (g.rng.integers(-3, 9, (batch, classes, count)) / 8).astype(dtype)
        moves = g.rng.normal(0, 1, (batch, 4 * count)).astype(dtype)
        anchors = np.abs(boxes(g, 1, count)).astype(dtype)
        operands = g.input(scores), g.input(moves), g.input(anchors)
        g.show(regions.MultiboxTransformLocOp(*operands), 4)
        variances = (0.5, 0.25, 1, 2)
        op = regions.MultiboxTransformLocOp(
            *operands, clip=False, threshold=-0.5, variances=variances
        )
        g.show(op, 16)


@TABLE.each((regions.ProposalOp,), ("float32", "float64"))
def proposals(g: Graph, dtype: str) -> None:
    for i, (batch, height, width) in enumerate(((1, 1, 1), (2, 3, 4), (1, 5, 2))):
        scales, ratios = ((8.0,), (0.5, 1.0, 2.0)) if i % 2 else ((1.0, 4.0), (1.0, 3.0))
        kinds = len(scales) * len(ratios)
        scores = g.rng.permutation(batch * 2 * kinds * height * width).astype(dtype)
        moves = g.rng.normal(0, 0.5, (batch, 4 * kinds, height, width)).astype(dtype)
        info = np.array([[40, 50, 1], [33, 70, 0.5]], dtype)[:batch]
        operands = (
            g.input(scores.reshape(batch, 2 * kinds, height, width)),
            g.input(moves),
            g.input(info),
        )
        for top, count, loss, threshold in (
            (-1, 7, False, 0.7),
            (5, 9, True, 0.3),
            (6000, 0, False, 1),
        ):
            op = regions.ProposalOp(
                *operands,
                scales=scales,
                ratios=ratios,
                rpn_pre_nms_top_n=top,
                rpn_post_nms_top_n=count,
                iou_loss=loss,
                threshold=threshold,
            )
            # Exponentials differ in their last bits, which f32 hides; a corner is a difference of
            # numbers up to 70, and their last bit is many of those of a corner near 0.
            g.show(op, 256 if dtype == "float64" else 0)


@TABLE.each((regions.RoiAlignOp, regions.RoiPoolOp), ("float32", "float16", "float64"))
def pooled_regions(g: Graph, dtype: str) -> None:
    numbers = g.rng.integers(-1, 3, (7, 1))
    corners = g.rng.uniform(-6, 30, (7, 4))
    corners[0], corners[1], corners[2] = (0, 0, 15, 15), (5, 5, 5, 5), (9, 9, 3, 3)
    rois = g.input(np.concatenate([numbers, corners], 1).astype(dtype))
    for layout, shape in (("NCHW", (2, 3, 8, 9)), ("NHWC", (2, 8, 9, 18))):
        x = g.input(g.small(dtype, *shape, low=-50, high=50))
        for size, scale in share(dtype, (((2, 3), 0.5), ((1, 1), 1.0), ((4, 4), 0.3))):
            g.show(regions.RoiPoolOp(x, rois, size, scale, layout=layout))
            for ratio, mode in product((-1, 2), ("avg", "max")):
                options: dict[str, Any] = {"sample_ratio": ratio, "mode": mode, "layout": layout}
                g.show(regions.RoiAlignOp(x, rois, size, scale, **options))
                g.show(regions.RoiAlignOp(x, rois, size, scale, aligned=True, **options))
    # More channels than are read at once, in two groups of which the last one has fewer.
    many = g.input(g.small(dtype, 2, 70, 5, 4, low=-50, high=50))
    g.show(regions.RoiAlignOp(many, rois, (2, 1), 0.5, sample_ratio=2))
    none = g.input(np.zeros((0, 5), dtype))
    g.show(regions.RoiAlignOp(x, none, (2, 2), 1.0, layout="NHWC"))


@TABLE.each((regions.YoloReorgOp,), ("float32", "int8"))
def reorganised(g: Graph, dtype: str) -> None:
    for shape, stride in (
        ((1, 4, 6, 6), 2),
        ((2, 9, 3, 6), 3),
        ((1, 3, 2, 5), 1),
        ((0, 4, 2, 2), 2),
    ):
        g.show(regions.YoloReorgOp(g.input(g.numbers(dtype, *shape)), stride), -1)
