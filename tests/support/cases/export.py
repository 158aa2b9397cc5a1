"""
Cases of exported operators: graphs whose results ONNX states, so without what it leaves open (NaN
among numbers that are compared, indices out of range, integers that Cast cannot hold, …).
"""

from itertools import product
from typing import Any

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import f32, f64, i8, i16, i32, i64
from xdsl.ir import SSAValue

from cases.blocks import Blocks
from cases.export_elements import COMPUTED, DTYPES, ELEMENTS, FLOATS, finite, ui8
from cases.kernel import CaseTable
from xrelay.dialects.conv import conv
from xrelay.dialects.core import annotation
from xrelay.dialects.core import values as core
from xrelay.dialects.image import resize as image
from xrelay.dialects.image import sampling
from xrelay.dialects.nn import dense, dilate, norm, space, upsampling
from xrelay.dialects.pool import pool
from xrelay.dialects.qnn import arithmetic as qnn_arithmetic
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.qnn import products as qnn_products
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.dialects.tensor import (
    binary,
    creation,
    einsum,
    indexing,
    layout,
    reorder,
    reshape,
    sort,
    transform,
    unary,
)
from xrelay.dialects.tensor import reduce as reduction
from xrelay.dialects.vision import regions

EXPORTED = CaseTable(dict(ELEMENTS.cases), set(ELEMENTS.covered))
"""Begins with those of single elements."""


# Sums


@EXPORTED.each(
    (
        *(reduction.SumOp, reduction.ProdOp, reduction.MaxOp, reduction.MinOp, reduction.MeanOp),
        *(reduction.ArgmaxOp, reduction.ArgminOp, reduction.AllOp, reduction.AnyOp),
    ),
    COMPUTED,
)
def reductions(g: Graph, dtype: str) -> None:
    operators: list[Any] = [reduction.MaxOp, reduction.MinOp]
    if dtype == "bool":
        operators = [reduction.AllOp, reduction.AnyOp]
    else:
        operators += [reduction.SumOp, reduction.ProdOp]
        operators += [reduction.ArgmaxOp, reduction.ArgminOp, reduction.MeanOp]
    axes = (None, (0,), (-1,), (1, 2), ())
    for op, axis, keepdims in product(operators, axes, (False, True)):
        x = g.input(g.small(dtype, 3, 4, 5, low=-2, high=3))
        g.show(op(x, axis, keepdims=keepdims), 2)
    for op in operators:
        x = g.input(g.small(dtype, 3, 4, 5))
        g.show(op(x, (1,), exclude=True), 2)
        if op not in (reduction.ArgmaxOp, reduction.ArgminOp, reduction.MeanOp):
            g.show(op(g.input(g.small(dtype)), None))
    for op in (reduction.ArgmaxOp, reduction.ArgminOp) if dtype != "bool" else ():
        g.show(op(x, (1,), select_last_index=True))


@EXPORTED.each((dense.DenseOp, dense.MatmulOp, dense.BatchMatmulOp, einsum.EinsumOp), DTYPES[:-1])
def products(g: Graph, dtype: str) -> None:
    weight = g.input(g.small(dtype, 5, 7))
    for shape in ((3, 7), (7,), (2, 3, 7), (0, 7)):
        g.show(dense.DenseOp(g.input(g.small(dtype, *shape)), weight))
    for a, b in product((False, True), repeat=2):
        flags = {"transpose_a": a, "transpose_b": b}
        lhs, rhs = ((7, 3) if a else (3, 7)), ((5, 7) if b else (7, 5))
        pair = g.input(g.small(dtype, *lhs)), g.input(g.small(dtype, *rhs))
        g.show(dense.MatmulOp(*pair, **flags))
        for batches in ((2, 2), (1, 4)):
            pair = [
                g.input(g.small(dtype, count, *shape))
                for count, shape in zip(batches, (lhs, rhs), strict=True)
            ]
            g.show(dense.BatchMatmulOp(*pair, **flags))
    narrow = g.input(g.small(dtype, 3, 7))
    for out in (f32, i32, i64) if dtype in ("int8", "uint8") else (f32,):
        g.show(dense.DenseOp(narrow, weight, out_dtype=out))
    pair = g.op(core.TupleOp([g.input(g.small(dtype, 2, 3, 4)), g.input(g.small(dtype, 2, 4, 5))]))
    g.show(einsum.EinsumOp(pair, "bij,bjk->bik"))


@EXPORTED.each((conv.Conv1DOp, conv.Conv2DOp, conv.Conv2DTransposeOp), (*FLOATS, "int8", "uint8"))
def convolutions(g: Graph, dtype: str) -> None:
    options: tuple[dict[str, Any], ...] = (
        {},
        {"strides": (2, 1), "padding": (1, 0, 2, 3)},
        {"dilation": (2, 1), "padding": (1,)},
        {"groups": 2, "padding": (1, 2)},
    )
    out = i32 if dtype not in FLOATS else None
    for each in options:
        groups = each.get("groups", 1)
        x = g.input(g.small(dtype, 2, 4, 7, 6))
        g.show(
            conv.Conv2DOp(x, g.input(g.small(dtype, 6, 4 // groups, 3, 2)), **each, out_dtype=out)
        )
        if dtype == "float32":
            weight = g.input(g.small(dtype, 4, 6 // groups, 3, 2))
            g.show(conv.Conv2DTransposeOp(x, weight, **each, kernel_layout="IOHW"))
            weight = g.input(g.small(dtype, 6 // groups, 4, 3, 2))
            op = conv.Conv2DTransposeOp(
                *(x, weight), **{**each, "strides": (2, 3)}, output_padding=(1, 2)
            )
            g.show(op)
    blocked = g.input(g.small(dtype, 1, 2, 5, 6, 4))
    weight = g.input(g.small(dtype, 6, 7, 3, 3))
    for target in ("", "NCHW", "NCHW4c"):
        whole = conv.Conv2DOp(
            blocked, weight, data_layout="NCHW4c", out_layout=target, out_dtype=out
        )
        value = g.op(whole)
        if target == "NCHW":
            g.returns(value)
        else:  # Lanes after the last channel are not specified.
            g.show(transform.StridedSliceOp(value, [0], [1], axes=[1]))
    line = g.input(g.small(dtype, 2, 4, 9))
    op = conv.Conv1DOp(line, g.input(g.small(dtype, 3, 4, 3)), padding=(1, 2), out_dtype=out)
    g.show(op)


@EXPORTED.each(
    (
        *(pool.MaxPool1DOp, pool.MaxPool2DOp, pool.MaxPool3DOp, pool.AvgPool1DOp),
        *(pool.AvgPool2DOp, pool.AvgPool3DOp, pool.GlobalMaxPool2DOp, pool.GlobalAvgPool2DOp),
    ),
    (*FLOATS[:2], "int8", "uint8", "int32", "uint16", "bool"),
)
def pools(g: Graph, dtype: str) -> None:
    windows: tuple[tuple[tuple[int, int], dict[str, Any]], ...] = (
        ((2, 3), {}),
        ((3, 2), {"strides": (2, 3), "padding": (1, 1)}),
        ((3, 3), {"strides": (2, 2), "padding": (2, 0, 1, 1), "ceil_mode": True}),
        ((2, 2), {"dilation": (2, 3), "padding": (1,)}),
        ((2, 2), {"strides": (3, 3), "padding": (1, 1, 0, 0), "ceil_mode": True}),
    )
    x = g.input(g.small(dtype, 2, 3, 7, 8))
    blocked = g.input(g.small(dtype, 1, 2, 5, 6, 4))
    for size, options in windows:
        g.show(pool.MaxPool2DOp(x, size, **options))
        g.show(pool.MaxPool2DOp(blocked, size, **options, layout="NCHW4c"))
        for include in (False, True):
            g.show(pool.AvgPool2DOp(x, size, **options, count_include_pad=include), 2)
    for data, layout_ in ((x, "NCHW"), (blocked, "NCHW4c")):
        g.show(pool.GlobalMaxPool2DOp(data, layout_))
        g.show(pool.GlobalAvgPool2DOp(data, layout_), 4)
    line, volume = g.input(g.small(dtype, 2, 9, 3)), g.input(g.small(dtype, 1, 2, 4, 5, 6))
    for op, tolerance in ((pool.MaxPool1DOp, 0), (pool.AvgPool1DOp, 2)):
        g.show(op(line, [3], strides=[2], padding=[1, 0], layout="NWC", ceil_mode=True), tolerance)
    for op, tolerance in ((pool.MaxPool3DOp, 0), (pool.AvgPool3DOp, 2)):
        g.show(op(volume, [2, 3, 2], strides=[2, 1, 3], padding=[1, 0, 1]), tolerance)


@EXPORTED.each(
    (
        *(norm.BatchNormOp, norm.BiasAddOp, norm.LayerNormOp, norm.InstanceNormOp),
        *(norm.GroupNormOp, norm.RmsNormOp, norm.L2NormalizeOp, norm.PReluOp, norm.LrnOp),
        *(norm.SoftmaxOp, norm.LogSoftmaxOp, norm.DropoutOp, reduction.VarianceOp),
    ),
    FLOATS,
)
def normalization(g: Graph, dtype: str) -> None:
    many = 40
    for axis in (0, 1, 2, -1):
        shape = (4, 6, 6, 4)
        data = g.rng.standard_normal(shape).astype(dtype)
        x, length = g.input(data), shape[axis]
        gamma, beta, mean = (g.input(g.rng.standard_normal(length).astype(dtype)) for _ in range(3))
        variance = g.input(g.rng.uniform(0.5, 2, length).astype(dtype))
        for center, scale in ((True, True), (False, False)):
            flags: dict[str, Any] = {"axis": axis, "center": center, "scale": scale}
            g.show(norm.BatchNormOp(x, gamma, beta, mean, variance, **flags), many)
            g.show(norm.LayerNormOp(x, gamma, beta, **flags), many)
            g.show(norm.InstanceNormOp(x, gamma, beta, **flags), many)
            g.show(norm.GroupNormOp(x, gamma, beta, num_groups=2, **flags), many)
            g.show(norm.RmsNormOp(x, gamma, axis=axis, scale=scale), many)
        g.show(norm.BiasAddOp(x, gamma, axis=axis))
        g.show(norm.PReluOp(x, gamma, axis=axis), 1)
        g.show(norm.L2NormalizeOp(x, 1e-3, [axis]), 8)
        g.show(norm.SoftmaxOp(x, axis=axis), 8)
        g.show(norm.LogSoftmaxOp(x, axis=axis), 8)
        if dtype == "float32":  # The reference evaluator takes axis 0 for the channels.
            g.show(norm.LrnOp(x, size=3, axis=axis, alpha=0.5, beta=0.75, bias=2.0), 8)
    rows = g.input(g.rng.standard_normal((3, 5)).astype(dtype))
    vectors = [g.input(g.rng.uniform(0.5, 2, 5).astype(dtype)) for _ in range(4)]
    g.show(norm.BatchNormOp(rows, *vectors), many)
    g.show(norm.InstanceNormOp(rows, *vectors[:2]), many)
    g.show(norm.GroupNormOp(rows, *vectors[:2], num_groups=5), many)
    g.show(norm.DropoutOp(rows))
    g.show(norm.LayerNormOp(rows, *vectors[:2], epsilon=0.1), many)


# Places


@EXPORTED.each(
    (
        *(reshape.ReshapeOp, reshape.BatchFlattenOp, reshape.SqueezeOp, reshape.ExpandDimsOp),
        *(reshape.ReverseReshapeOp, transform.TransposeOp, transform.BroadcastToOp),
        *(transform.TileOp, transform.RepeatOp, transform.StridedSliceOp, space.PadOp),
        *(transform.ConcatenateOp, transform.StackOp, transform.SplitOp, core.TupleOp),
        *(core.TupleGetItemOp, layout.LayoutTransformOp, annotation.StopFusionOp),
        *(creation.FullOp, creation.ZerosOp, creation.OnesOp, creation.OnesLikeOp),
        creation.ZerosLikeOp,
    ),
    ("float32", "int8", "uint16", "bool"),
)
def movement(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 2, 3, 4))
    g.show(reshape.ReshapeOp(x, (-1, 0, 2)), BITS)
    g.show(reshape.ReshapeOp(x, (-3, -2)), BITS)
    g.show(reshape.ReshapeOp(g.input(g.numbers(dtype, 0, 3)), (3, 0), allowzero=True), BITS)
    g.show(reshape.ReverseReshapeOp(x, (-1, 0)), BITS)
    g.show(reshape.BatchFlattenOp(x), BITS)
    ones = g.input(g.numbers(dtype, 1, 3, 1))
    for axis in (None, (0,), (-1, 0), ()):
        g.show(reshape.SqueezeOp(ones, axis), BITS)
    for axis, count in ((0, 1), (-1, 2), (1, 0), (2, 1)):
        g.show(reshape.ExpandDimsOp(x, axis, num_newaxis=count), BITS)
    for axes in (None, (1, 0, 2), (0, 1, 2)):
        g.show(transform.TransposeOp(x, axes), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype))), BITS)
    g.show(transform.BroadcastToOp(ones, (2, 5, 3, 4)), BITS)
    g.show(transform.BroadcastToOp(g.input(g.numbers(dtype)), ()), BITS)
    for reps in ((2,), (2, 1, 3, 1), (0, 1, 1), ()):
        g.show(transform.TileOp(x, reps), BITS)
    for axis, count in ((0, 2), (-1, 3), (1, 1)):
        g.show(transform.RepeatOp(x, count, axis), BITS)
    for begin, end, strides in (
        ((0, 1), (2, 3), None),
        ((1, -1, 3), (-9, 0, -9), (-1, -1, -2)),
        ((1, 2, 0), (1, 9, 9), (1, 1, 3)),
    ):
        g.show(transform.StridedSliceOp(x, begin, end, strides), BITS)
    g.show(transform.StridedSliceOp(x, [1], [2], axes=[-1], slice_mode="size"), BITS)
    value = g.input(g.numbers(dtype))
    for mode in ("constant", "edge", "reflect"):
        g.show(space.PadOp(x, value, [(0, 0), (1, 2), (3, 0)], pad_mode=mode), BITS)
    both = g.op(core.TupleOp([x, g.input(g.numbers(dtype, 2, 3, 4))]))
    for axis in (0, 2, -1):
        g.show(transform.ConcatenateOp(both, axis=axis), BITS)
        g.show(transform.StackOp(both, axis=axis), BITS)
    for sections, axis in ((2, 2), ([1, 1], 1), (3, 1)):
        g.show(transform.SplitOp(x, sections, axis=axis), BITS)
    parts = g.op(transform.SplitOp(x, 3, axis=1))
    g.show(core.TupleGetItemOp(parts, 1), BITS)
    g.returns(g.op(core.TupleOp([parts, x])), BITS)
    images = g.input(g.numbers(dtype, 2, 6, 3, 5))
    packed = g.show(layout.LayoutTransformOp(images, "NCHW", "NCHW4c"), BITS)
    g.show(layout.LayoutTransformOp(packed, "NCHW4c", "NHWC"), BITS)
    g.show(layout.LayoutTransformOp(images, "NCHW", "HWNC"), BITS)
    g.show(layout.LayoutTransformOp(packed, "NCHW4c", "NCHW2c"), BITS)
    g.show(annotation.StopFusionOp(x), BITS)
    g.show(creation.FullOp(value, (2, 3)), BITS)
    g.show(creation.FullOp(value, ()), BITS)
    g.show(creation.OnesLikeOp(x), BITS)
    g.show(creation.ZerosLikeOp(x), BITS)
    g.show(creation.ZerosOp((0, 3), i16), BITS)
    g.show(creation.OnesOp((2, 1), f64), BITS)


@EXPORTED.each(
    (indexing.TakeOp, indexing.GatherNDOp, indexing.GatherOp, indexing.AdvIndexOp),
    ("int8", "int32", "int64", "uint8", "uint64"),
)
def reading(g: Graph, index: str) -> None:
    x = g.input(g.numbers("float32", 4, 5, 6))
    for places in (g.input(g.numbers(index, 3, 2)), g.constant(np.array([[0, 3], [2, 1]], index))):
        for axis, mode in product((None, 0, 1, -1), ("clip", "wrap", "fast")):
            g.show(indexing.TakeOp(x, places, axis=axis, mode=mode), BITS)
    batched = g.input(g.numbers(index, 4, 3))
    for axis in (1, 2):
        g.show(indexing.TakeOp(x, batched, axis=axis, batch_dims=1), BITS)
    g.show(indexing.TakeOp(x, g.input(g.numbers(index)), axis=1), BITS)
    g.show(indexing.TakeOp(x, g.input(g.numbers(index, 0)), axis=1), BITS)
    for axis in (0, 1, 2):
        g.show(indexing.GatherOp(x, g.input(g.numbers(index, 3, 2, 5)), axis), BITS)
    for count in (1, 2, 3):
        g.show(indexing.GatherNDOp(x, g.input(g.numbers(index, count, 3, 2))), BITS)
    g.show(indexing.GatherNDOp(x, g.input(g.numbers(index, 2, 4, 3)), batch_dims=1), BITS)
    columns = [g.input(g.numbers(index, *shape)) for shape in ((3, 1), (2,))]
    g.show(indexing.AdvIndexOp(g.op(core.TupleOp([x, *columns]))), BITS)


@EXPORTED.each(
    (
        *(indexing.ScatterOp, indexing.ScatterAddOp, indexing.ScatterNDOp),
        *(indexing.SparseToDenseOp, reorder.ReverseSequenceOp),
    ),
    ("float32", "int32", "int64"),
)
def writing(g: Graph, dtype: str) -> None:
    x = g.input(g.small(dtype, 5, 6))
    for axis in (0, 1):
        count = 5 if axis == 0 else 6
        orders = [g.rng.permutation(count)[:3] for _ in range(4)]
        places = np.stack(orders, axis=1 - axis).astype("int32") - count * (axis == 1)
        updates = g.input(g.small(dtype, *places.shape))
        g.show(indexing.ScatterOp(x, g.input(places), updates, axis=axis))
        g.show(indexing.ScatterAddOp(x, g.input(places % 2), updates, axis=axis))
    rows = g.input(np.array([[0, 3, -1], [1, 0, 5]], np.int64))
    for mode in indexing.SCATTER_MODES:
        g.show(indexing.ScatterNDOp(x, rows, g.input(g.small(dtype, 3)), mode))
        g.show(indexing.ScatterNDOp(x, g.input([[4, 2]]), g.input(g.small(dtype, 2, 6)), mode))
    places = g.constant(np.array([[0, 1], [1, 3]]))
    default = g.input(np.asarray(7, dtype))
    for values in (g.small(dtype, 2), g.small(dtype)):
        g.show(indexing.SparseToDenseOp(places, g.input(values), default, (3, 4)))


@EXPORTED.case(sort.ArgwhereOp, dilate.DilateOp)
def gaps(g: Graph) -> None:
    g.show(sort.ArgwhereOp(g.input(g.small("float32", 4, 5, low=0, high=2))))
    g.show(sort.ArgwhereOp(g.input(np.zeros(3, bool))))
    for strides, number in (((1, 2, 3), 0.0), ((3, 1, 1), -1.5)):
        for shape in ((2, 3, 4), (1, 1, 0)):
            g.show(dilate.DilateOp(g.input(g.numbers("float32", *shape)), strides, number), BITS)


@EXPORTED.case(space.DepthToSpaceOp, space.BatchToSpaceNDOp)
def leftovers(g: Graph) -> None:
    for mode in ("DCR", "CRD"):
        x = g.input(g.numbers("float32", 2, 7, 3, 5))
        g.show(space.DepthToSpaceOp(x, 2, mode=mode), BITS)
        x = g.input(g.numbers("float32", 2, 3, 7, 5))
        g.show(space.DepthToSpaceOp(x, 2, layout="NHCW", mode=mode), BITS)
    x = g.input(g.numbers("float32", 9, 4, 5))
    g.show(space.BatchToSpaceNDOp(x, [2, 2], crops=[(0, 1), (1, 0)]), BITS)


@EXPORTED.each((sort.SortOp, sort.ArgsortOp, sort.TopkOp, sort.CumsumOp), DTYPES[:-1])
def order(g: Graph, dtype: str) -> None:
    x = g.input(finite(g, dtype, 4, 9))
    for axis, up in product((0, 1), (True, False)):
        g.show(sort.SortOp(x, axis=axis, is_ascend=up))
        g.show(sort.ArgsortOp(x, axis=axis, is_ascend=up, dtype=i64))
        for kind, k in product(("both", "values", "indices"), (None, 3)):
            g.show(sort.TopkOp(x, k, axis=axis, is_ascend=up, ret_type=kind, dtype=i16))
    small = g.input(g.small(dtype, 4, 9))
    for axis, exclusive in product((None, 0, 1), (True, False)):
        g.show(sort.CumsumOp(small, axis, exclusive=exclusive))
    g.show(sort.CumsumOp(small, 1, dtype=f32))


@EXPORTED.case(image.Resize1DOp, image.Resize2DOp, image.Resize3DOp, upsampling.UpsamplingOp)
def resized(g: Graph) -> None:
    modes = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    for method, mode in product((image.NEAREST, image.LINEAR, image.CUBIC), modes):
        options: dict[str, Any] = {"method": method, "coordinate_transformation_mode": mode}
        x = g.input(g.small("float32", 1, 2, 5, 4))
        for size in ((10, 12), (3, 7), (5, 4)):
            g.show(image.Resize2DOp(x, size, **options), 40)
        y = g.input(g.small("float32", 2, 6, 3))
        if method != image.CUBIC:
            g.show(image.Resize1DOp(y, [4], layout="NWC", **options), 40)
            volume = g.input(g.small("float32", 1, 2, 3, 2, 4))
            g.show(image.Resize3DOp(volume, (2, 5, 3), **options), 40)
        if mode != "align_corners":  # Of which engines take the rounded length.
            g.show(image.Resize2DOp(x, (7, 2), scales=(1.5, 0.625), **options), 40)
    nhwc = g.input(g.small("float32", 1, 5, 4, 3))
    g.show(image.Resize2DOp(nhwc, (7, 9), layout="NHWC"), 40)
    crop: dict[str, Any] = {"coordinate_transformation_mode": image.CROPPING}
    for method in (image.NEAREST, image.LINEAR):
        region = {"roi": (0.1, 0.2, 0.8, 1.1), "extrapolation_value": 7.5, "method": method}
        g.show(image.Resize2DOp(x, (6, 7), **region, **crop), 40)
    for rounding in ("round", "round_prefer_floor", "floor", "ceil"):
        op = image.Resize2DOp(x, (7, 6), method=image.NEAREST, rounding_method=rounding)
        g.show(op)
    half = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "rounding_method": "floor"}
    g.show(image.Resize2DOp(x, (7, 3), method=image.NEAREST, **half))
    for scales, method in product(((2, 3), (1.5, 0.6)), ("bilinear", "bicubic")):
        g.show(upsampling.UpsamplingOp(x, *scales))
        g.show(upsampling.UpsamplingOp(x, *scales, method=method, align_corners=True), 40)


@EXPORTED.case(sampling.GridSampleOp, regions.RoiAlignOp)
def sampled(g: Graph) -> None:
    x = g.input(g.small("float32", 2, 3, 5, 6))
    grid = g.input(g.rng.uniform(-1.3, 1.3, (2, 2, 3, 7)).astype(np.float32))
    methods, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    for method, padding, corners in product(methods, paddings, (True, False)):
        op = sampling.GridSampleOp(
            *(x, grid), method=method, padding_mode=padding, align_corners=corners
        )
        g.show(op, 100)
    corners_ = np.sort(g.rng.uniform(0, 6, (4, 2, 2)), axis=1).reshape(4, 4)
    rois = np.concatenate([[[0], [1], [-1], [4]], corners_], axis=1).astype(np.float32)
    for layout_, ratio in product(("NCHW", "NHWC"), (-1, 2)):
        shape = (2, 3, 6, 7) if layout_ == "NCHW" else (2, 6, 7, 3)
        images = g.input(g.small("float32", *shape))
        op = regions.RoiAlignOp(
            *(images, g.input(rois), (2, 3), 0.8),
            layout=layout_,
            sample_ratio=ratio,
            aligned=layout_ == "NHWC",
        )
        g.show(op, 100)


# Quantised numbers


def parameters(g: Graph, *pairs: tuple[Any, Any]) -> list[SSAValue]:
    """Scales and zero points."""
    values = [(np.asarray(s, np.float32), np.asarray(z, np.int32)) for s, z in pairs]
    return [g.constant(array) for pair in values for array in pair]


@EXPORTED.each(
    (
        *(qnn.QnnQuantizeOp, qnn.QnnDequantizeOp, qnn.QnnRequantizeOp),
        *(qnn_products.QnnConv2DOp, qnn_products.QnnDenseOp, qnn_products.QnnBatchMatmulOp),
        *(qnn_arithmetic.QnnAddOp, qnn_arithmetic.QnnSubtractOp),
    ),
    ("int8", "uint8"),
)
def quantized(g: Graph, dtype: str) -> None:
    out, zero = (i8, -3) if dtype == "int8" else (ui8, 130)
    x = g.input(g.rng.uniform(-300, 300, (2, 3, 4)).astype(np.float32))
    scales, zeros = [0.5, 2.0, 0.01], [zero, 1, 0]
    g.show(qnn.QnnQuantizeOp(x, *parameters(g, (1.5, zero)), out_dtype=out))
    g.show(qnn.QnnQuantizeOp(x, *parameters(g, (scales, zeros)), out_dtype=out, axis=1))
    g.show(qnn.QnnQuantizeOp(x, *parameters(g, (scales, zero)), out_dtype=out, axis=1))
    q = g.input(g.numbers(dtype, 2, 3, 4))
    g.show(qnn.QnnDequantizeOp(q, *parameters(g, (1.5, zero))))
    g.show(qnn.QnnDequantizeOp(q, *parameters(g, (0.5, zeros)), axis=1))
    wide = g.input(g.numbers("int32", 2, 3, 4))
    g.show(qnn.QnnDequantizeOp(wide, *parameters(g, (1.5, 7))), 1)
    for rounding, compute in product(("UPWARD", "TONEAREST"), ("int64", "float32", "float64")):
        options: dict[str, Any] = {"rounding": rounding, "compute_dtype": compute, "out_dtype": out}
        new = parameters(g, (0.7, zero))
        small = g.input(g.rng.integers(-9999, 9999, (2, 3, 4)).astype(np.int32))
        g.show(qnn.QnnRequantizeOp(small, *parameters(g, (0.02, 5)), *new, **options))
        each = parameters(g, ([0.01, 3.0, 0.5], [0, 5, -7]))
        g.show(qnn.QnnRequantizeOp(small, *each, *new, axis=1, **options))
    images, weight = g.input(g.numbers(dtype, 1, 4, 6, 5)), g.input(g.numbers(dtype, 2, 4, 3, 3))
    zero_points = [g.constant(np.array(zero, np.int32)) for _ in range(2)]
    steps = [g.constant(np.array(0.5, np.float32)) for _ in range(2)]
    op = qnn_products.QnnConv2DOp(images, weight, *zero_points, *steps, padding=(1, 2))
    g.show(op)
    images, weight = g.input(g.numbers(dtype, 1, 6, 5, 4)), g.input(g.numbers(dtype, 3, 3, 4, 2))
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_layout": "NCHW2c"}
    op = qnn_products.QnnConv2DOp(images, weight, *zero_points, *steps, padding=(1, 2), **layouts)
    g.show(op)
    rows, columns = g.input(g.numbers(dtype, 3, 8)), g.input(g.numbers(dtype, 5, 8))
    g.show(qnn_products.QnnDenseOp(rows, columns, *zero_points, *steps))
    stack = g.input(g.numbers(dtype, 2, 3, 8)), g.input(g.numbers(dtype, 2, 5, 8))
    g.show(qnn_products.QnnBatchMatmulOp(*stack, *zero_points, *steps, transpose_b=True))
    other = g.input(g.numbers(dtype, 3, 4))
    numbers = parameters(g, (0.5, zero), (0.3, 2), (0.9, zero))
    for operator in (qnn_arithmetic.QnnAddOp, qnn_arithmetic.QnnSubtractOp):
        g.show(operator(q, other, *numbers))


@EXPORTED.each((QnnDenseBlocksOp, QnnDequantizeBlocksOp), (2, 4, 8))
def blocks(g: Graph, bits: int) -> None:
    for zero_points, scales in (("one", "float32"), ("each", "float16")):
        matrix = Blocks(5, 30, 16, bits, zero_points, scales)
        parts = [g.constant(array) for array in matrix.arrays(g.rng)]
        options: dict[str, Any] = {"block_size": 16, "bits": bits}
        g.show(QnnDequantizeBlocksOp(*parts, length=30, **options), 1)
        g.show(QnnDenseBlocksOp(g.input(g.small("float32", 2, 3, 30)), *parts, **options), 100)
        data = g.input(g.small("float32", 2, 3, 30))
        g.show(QnnDenseBlocksOp(data, *parts, data_bits=8, **options), 100)


# Bodies


@EXPORTED.case(core.FusedOp, core.CompositeOp, core.ConstantOp)
def bodies(g: Graph) -> None:
    x = g.input(g.small("float32", 3, 4))

    def inner(g: Graph, data: SSAValue, scale: SSAValue) -> SSAValue:
        return g.op(unary.ReluOp(g.op(binary.MultiplyOp(data, scale))))

    def outer(g: Graph, data: SSAValue) -> SSAValue:
        scale = g.constant(np.float32(3))
        return g.op(unary.NegativeOp(g.fused([data, scale], inner, composite="some.pair")))

    g.returns(g.fused([x], outer))
    g.show(binary.AddOp(x, g.constant(g.small("float32", 3, 4))))
    g.returns(x)
    g.returns(g.constant(np.float32([1, 2, 3])))
