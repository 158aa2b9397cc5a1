"""Kernel cases of the layers of networks: convolutions, layouts, pools, products and normalisation."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import f16, f32, i32, i64

from cases.kernel import DTYPES, FLOATS, SHAPES, CaseTable, share
from xrelay.dialects.conv import conv
from xrelay.dialects.nn import dense, dilate, norm
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, layout, transform, unary

TABLE = CaseTable()


# Windows

GEOMETRIES = (
    # image, window, strides, padding, dilation
    ((5, 7), (1, 1), (1, 1), [0, 0], (1, 1)),
    ((5, 7), (1, 1), (2, 2), [0, 0], (1, 1)),
    ((9, 17), (3, 3), (1, 1), [1, 1], (1, 1)),
    ((8, 33), (3, 3), (2, 2), [1], (1, 1)),
    ((15, 31), (7, 7), (2, 2), [3, 3], (1, 1)),
    ((11, 13), (3, 3), (1, 1), [2, 2], (2, 2)),
    ((7, 9), (2, 5), (3, 1), [0, 1, 2, 3], (1, 2)),
    ((6, 40), (1, 3), (1, 3), [0, 2], (1, 1)),
    ((1, 1), (3, 3), (1, 1), [1, 1], (1, 1)),
    ((4, 16), (4, 16), (1, 1), [0, 0], (1, 1)),
    ((5, 5), (2, 2), (4, 4), [3, 0, 0, 3], (1, 1)),
)
CHANNELS = ((3, 5, 1), (1, 1, 1), (6, 4, 2), (5, 5, 5), (9, 9, 3), (4, 8, 4), (8, 17, 1))


def _convolution(
    g: Graph, dtype: str, geometry: Any, channels: tuple[int, int, int], batch: int
) -> conv.Conv2DOp:
    image, window, strides, padding, dilation = geometry
    inputs, outputs, groups = channels
    return conv.Conv2DOp(
        g.input(g.small(dtype, batch, inputs, *image)),
        g.input(g.small(dtype, outputs, inputs // groups, *window)),
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )


@TABLE.each(
    (conv.Conv2DOp,),
    ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint16", "bool"),
)
def convolutions(g: Graph, dtype: str) -> None:
    for i, geometry in enumerate(GEOMETRIES):
        for j in (0, 3) if dtype == "float32" else (0,):
            channels = CHANNELS[(i + j) % len(CHANNELS)]
            g.show(_convolution(g, dtype, geometry, channels, 1 + (i + j) % 2))


@TABLE.each((conv.Conv2DOp,), (("int8", i32), ("uint8", i32), ("float16", f32), ("float32", f16)))
def convolutions_into_another_dtype(g: Graph, dtypes: tuple[str, Any]) -> None:
    for i, geometry in enumerate(GEOMETRIES[1::3]):
        op = _convolution(g, dtypes[0], geometry, CHANNELS[i + 2], 2)
        typed = conv.Conv2DOp.build(
            operands=op.operands,
            result_types=[_with_dtype(op.result.type, dtypes[1])],
            properties={**op.properties, "out_dtype": dtypes[1]},
        )
        op.drop_all_references()
        g.show(typed)


def _with_dtype(type_: Any, dtype: Any) -> Any:
    return type(type_)(dtype, type_.get_shape())


@TABLE.case(conv.Conv2DOp)
def convolutions_of_nothing(g: Graph) -> None:
    for image, weight in (((0, 3, 5, 5), (4, 3, 3, 3)), ((2, 3, 5, 5), (0, 3, 3, 3))):
        g.show(
            conv.Conv2DOp(g.input(g.small("float32", *image)), g.input(g.small("float32", *weight)))
        )
    empty = g.input(g.small("float32", 1, 0, 5, 5)), g.input(g.small("float32", 4, 0, 3, 3))
    g.show(conv.Conv2DOp(*empty))


@TABLE.case(conv.Conv2DOp)
def rounded_convolution(g: Graph) -> None:
    x, w = g.rng.standard_normal((1, 16, 9, 9)), g.rng.standard_normal((7, 16, 3, 3))
    x[0, 3, 4, 5] = np.nan
    for dtype in FLOATS:
        operands = (g.input(array.astype(dtype)) for array in (x, w))
        g.show(conv.Conv2DOp(*operands, padding=(1, 1)), 40)


@TABLE.each((conv.Conv1DOp,), ("float32", "float64", "int32"))
def convolutions_of_lines(g: Graph, dtype: str) -> None:
    for i, ((_, width), (_, window), (_, stride), *_, (_, gap)) in enumerate(GEOMETRIES[:10]):
        inputs, outputs, groups = CHANNELS[i % len(CHANNELS)]
        x = g.input(g.small(dtype, 1 + i % 2, inputs, width))
        w = g.input(g.small(dtype, outputs, inputs // groups, window))
        options: dict[str, Any] = {"strides": (stride,), "dilation": (gap,), "groups": groups}
        g.show(conv.Conv1DOp(x, w, padding=[i % 3, window - 1], **options))


@TABLE.each((conv.Conv2DTransposeOp,), ("float32", "float64", "int32"))
def transposed_convolutions(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in enumerate(GEOMETRIES[:8]):
        inputs, outputs, groups = CHANNELS[i % len(CHANNELS)]
        x = g.input(g.small(dtype, 1 + i % 2, inputs, *image))
        layout_ = ("IOHW", "OIHW")[i % 2]
        shape = (inputs, outputs // groups)[:: 1 if layout_ == "IOHW" else -1]
        w = g.input(g.small(dtype, *shape, *window))
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        extra = [stride - 1 for stride in strides]
        options.update(groups=groups, kernel_layout=layout_, output_padding=extra)
        g.show(conv.Conv2DTransposeOp(x, w, **options))
    # More is cut off than windows reach beyond the image.
    x, w = g.input(g.small(dtype, 1, 2, 5, 6)), g.input(g.small(dtype, 3, 2, 2, 2))
    g.show(conv.Conv2DTransposeOp(x, w, padding=[2, 3, 1, 2]))


@TABLE.each((dilate.DilateOp,), DTYPES)
def gaps(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        for number in (0.0, 2.5):
            strides = [1 + (len(shape) + axis) % 3 for axis in range(len(shape))]
            g.show(dilate.DilateOp(g.input(g.numbers(dtype, *shape)), strides, number), BITS)
    g.show(dilate.DilateOp(g.input(g.numbers(dtype, 3, 33)), (2, 1), -1.0), BITS)


LAYOUTS = (
    # shape, layouts
    ((2, 20, 5, 7), "NCHW", "NCHW16c"),
    ((1, 32, 9, 9), "NCHW", "NCHW16c"),
    ((1, 17, 1, 3), "NCHW", "NCHW8c"),
    ((2, 2, 5, 7, 16), "NCHW16c", "NCHW"),
    ((1, 1, 4, 4, 8), "NCHW8c", "NCHW"),
    ((1, 3, 6, 9, 4), "NCHW4c", "NCHW"),
    ((1, 3, 4, 5, 8), "NCHW8c", "NCHW16c"),
    ((1, 3, 4, 5, 16), "NCHW16c", "NCHW4c"),
    ((2, 3, 17, 5), "NCHW", "NHWC"),
    ((2, 5, 3, 17), "NHWC", "NCHW4c"),
    ((33, 20, 3, 2), "OIHW", "OIHW16i16o"),
    ((2, 3, 33), "NCW", "NCW4c2w"),
    ((0, 3, 4, 4), "NCHW", "NCHW8c"),
)


@TABLE.each((layout.LayoutTransformOp,), DTYPES)
def layouts(g: Graph, dtype: str) -> None:
    for shape, source, result in LAYOUTS:
        data = g.input(g.numbers(dtype, *shape))
        g.show(layout.LayoutTransformOp(data, source, result), BITS)


@TABLE.case(layout.LayoutTransformOp)
def layouts_between_elementwise_operators(g: Graph) -> None:
    for lanes in (4, 8, 16):
        blocked, image = f"NCHW{lanes}c", (1, 40, 5, 9)
        x = g.op(unary.ReluOp(g.input(g.numbers("float32", *image))))
        inside = g.op(layout.LayoutTransformOp(x, "NCHW", blocked))
        g.show(binary.AddOp(inside, g.input(g.numbers("float32", 1, lanes))))
        y = g.input(g.numbers("float32", 1, 3, 7, 5, lanes))
        outside = g.op(layout.LayoutTransformOp(g.op(unary.ReluOp(y)), blocked, "NCHW"))
        scaled = g.op(binary.MultiplyOp(outside, g.input(g.numbers("float32", 3 * lanes, 1, 1))))
        g.show(transform.StridedSliceOp(scaled, [1], [2 * lanes], axes=[1]))


@TABLE.each(
    (pool.MaxPool2DOp, pool.AvgPool2DOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint8", "uint64", "bool"),
)
def pools(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in share(dtype, enumerate(GEOMETRIES)):
        shape = (1 + i % 2, 3, *image)
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        for ceil in (False, True):
            special = g.input(g.numbers(dtype, *shape))
            g.show(pool.MaxPool2DOp(special, window, **options, ceil_mode=ceil))
            for count in (False, True) if dtype == "float32" else (bool(i % 2),):
                whole = g.input(g.small(dtype, *shape, low=-100, high=100))
                average = pool.AvgPool2DOp(
                    whole, window, **options, ceil_mode=ceil, count_include_pad=count
                )
                g.show(average, 0 if dtype not in FLOATS else 1)
    for op in (pool.MaxPool2DOp, pool.AvgPool2DOp):
        empty = g.input(g.numbers(dtype, 2, 0, 4, 4))
        g.show(op(empty, (2, 2)))
        # The corner windows meet nothing but padding.
        g.show(op(g.input(g.small(dtype, 1, 1, 3, 3)), (2, 2), padding=[2, 3]))
        g.show(op(g.input(g.small(dtype, 1, 2, 0, 3)), (2, 2), padding=[1, 1]))


@TABLE.each((pool.AvgPool2DOp,), ("int64", "uint64", "int8"))
def average_of_large_numbers(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 1, 3, 9, 9))
    g.show(pool.AvgPool2DOp(x, (1, 1), strides=(2, 2)))
    g.show(pool.AvgPool2DOp(x, (3, 3), padding=(1, 1)))
    g.show(pool.GlobalAvgPool2DOp(x))


@TABLE.each((pool.GlobalAvgPool2DOp, pool.GlobalMaxPool2DOp), DTYPES)
def global_pools(g: Graph, dtype: str) -> None:
    for shape in ((2, 3, 5, 7), (1, 2, 1, 1), (1, 17, 3, 11), (2, 0, 3, 3), (1, 2, 0, 4)):
        whole = g.input(g.small(dtype, *shape, low=-100, high=100))
        g.show(pool.GlobalAvgPool2DOp(whole))
        g.show(pool.GlobalMaxPool2DOp(g.input(g.numbers(dtype, *shape))))


# Products


@TABLE.each(
    (dense.DenseOp,),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64", "uint16", "bool"),
)
def dense_layers(g: Graph, dtype: str) -> None:
    for shape, units in (
        ((33,), 5),
        ((3, 17), 9),
        ((1, 64), 31),
        ((2, 3, 7), 8),
        ((4, 1), 1),
        ((2, 0), 3),
        ((0, 4), 3),
        ((17, 15), 0),
    ):
        data, weight = g.small(dtype, *shape), g.small(dtype, units, shape[-1])
        g.show(dense.DenseOp(g.input(data), g.input(weight)))


@TABLE.each(
    (dense.MatmulOp, dense.BatchMatmulOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64", "uint16", "bool"),
)
def matrix_products(g: Graph, dtype: str) -> None:
    sizes = ((5, 17, 33), (1, 7, 1), (9, 1, 15), (3, 0, 2), (0, 2, 3), (16, 31, 70))
    for i, (rows, depth, columns) in enumerate(sizes):
        for a, b in share(dtype, product((False, True), repeat=2)):
            left = (depth, rows) if a else (rows, depth)
            right = (columns, depth) if b else (depth, columns)
            transposed = {"transpose_a": a, "transpose_b": b}
            x, y = g.small(dtype, *left), g.small(dtype, *right)
            g.show(dense.MatmulOp(g.input(x), g.input(y), **transposed))
            batches = ((2, 2), (1, 3), (3, 1), (1, 1), (0, 1), (2, 1))[(i + 2 * a + b) % 6]
            x, y = g.small(dtype, batches[0], *left), g.small(dtype, batches[1], *right)
            g.show(dense.BatchMatmulOp(g.input(x), g.input(y), **transposed))


@TABLE.case(dense.DenseOp, dense.MatmulOp, dense.BatchMatmulOp)
def products_into_another_dtype(g: Graph) -> None:
    for op_type, left, right in (
        (dense.DenseOp, (3, 17), (5, 17)),
        (dense.MatmulOp, (3, 17), (17, 5)),
        (dense.BatchMatmulOp, (2, 3, 17), (1, 17, 5)),
    ):
        for dtype, out in (("int8", i32), ("uint8", i64), ("float16", f32), ("int32", f32)):
            op = op_type(g.input(g.small(dtype, *left)), g.input(g.small(dtype, *right)))
            g.show(
                op_type.build(
                    operands=op.operands,
                    result_types=[_with_dtype(op.result.type, out)],
                    properties={**op.properties, "out_dtype": out},
                )
            )
            op.drop_all_references()


@TABLE.case(dense.DenseOp, dense.MatmulOp)
def rounded_products(g: Graph) -> None:
    x, y = g.rng.standard_normal((9, 130)), g.rng.standard_normal((33, 130))
    x[2, 3] = np.inf
    for dtype in FLOATS:
        left, right = x.astype(dtype), y.astype(dtype)
        g.show(dense.DenseOp(g.input(left), g.input(right)), 100)
        g.show(dense.MatmulOp(g.input(left), g.input(right.T.copy())), 100)


# Normalisation


@TABLE.each(
    (norm.BiasAddOp,), ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool")
)
def bias_add(g: Graph, dtype: str) -> None:
    for shape in ((3, 5, 7), (2, 17), (33,), (2, 3, 4, 5), (0, 3), (1, 16, 1, 1)):
        x = g.input(g.numbers(dtype, *shape))
        for axis in range(-len(shape), len(shape)):
            g.show(norm.BiasAddOp(x, g.input(g.numbers(dtype, shape[axis])), axis=axis))


@TABLE.each((norm.BatchNormOp,), FLOATS)
def batch_norm(g: Graph, dtype: str) -> None:
    for shape in ((2, 3, 4, 5), (3, 17), (33,), (2, 0)):
        for axis in range(-len(shape), len(shape)):
            scale, center = ((True, True), (False, True), (True, False))[axis % 3]
            channels = shape[axis]
            x, gamma, beta, mean = (
                g.input(g.rng.standard_normal(size).astype(dtype))
                for size in (shape, channels, channels, channels)
            )
            variance = g.input(g.rng.random(channels).astype(dtype))
            options = {"axis": axis, "scale": scale, "center": center, "epsilon": 1e-3}
            g.show(norm.BatchNormOp(x, gamma, beta, mean, variance, **options), 8)


@TABLE.each((norm.SoftmaxOp, norm.LogSoftmaxOp), FLOATS)
def softmax(g: Graph, dtype: str) -> None:
    for shape in ((3, 5, 7), (2, 33), (17,), (1, 1), (4, 2, 16), (3, 0), (0, 3)):
        for axis in share(dtype, range(-len(shape), len(shape))):
            x = (3 * g.rng.standard_normal(shape)).astype(dtype)
            large = np.where(g.rng.random(shape) < 0.2, x.dtype.type(-np.inf), 1000 * x)
            for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
                g.show(op(g.input(x), axis=axis), 8)
                g.show(op(g.input(large.astype(dtype)), axis=axis), 8)
    for pattern in ([np.nan, 1], [np.inf, 1], [-np.inf, -np.inf], [6e4, -6e4, 6e4]):
        for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
            g.show(op(g.input(np.array(pattern, dtype))), 8)


@TABLE.each((norm.SoftmaxOp, norm.LogSoftmaxOp), FLOATS)
def softmax_of_long_rows(g: Graph, dtype: str) -> None:
    """They are kept in the memory of the result, unless something is computed of it."""
    x = g.input((3 * g.rng.standard_normal((2, 2051))).astype(dtype))
    y = g.input((3 * g.rng.standard_normal((3, 4500))).astype(dtype))
    for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
        for data in (x, y):
            g.show(op(data), 8)
            g.show(op(g.op(unary.NegativeOp(data))), 8)
            g.show(unary.NegativeOp(g.op(op(data))), 8)


@TABLE.each((norm.SoftmaxOp, norm.LogSoftmaxOp), FLOATS)
def softmax_of_rows_in_parts(g: Graph, dtype: str) -> None:
    """So few and long that the threads share the parts of each."""
    for shape in ((16397,), (3, 16384), (2, 1, 20011)):
        x = (3 * g.rng.standard_normal(shape)).astype(dtype)
        hidden = x.copy()  # One part has no finite elements.
        hidden[..., 9000:] = -np.inf
        for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
            for data in (x, hidden):
                g.show(op(g.input(data)), 8)
            g.show(unary.NegativeOp(g.op(op(g.op(unary.NegativeOp(g.input(x)))))), 8)


@TABLE.each((norm.LrnOp,), FLOATS)
def lrn(g: Graph, dtype: str) -> None:
    x = g.input(g.rng.standard_normal((2, 5, 3, 17)).astype(dtype))
    for axis, size in ((0, 3), (1, 5), (1, 4), (2, 9), (3, 3), (-1, 2), (1, 1)):
        for beta in (0.6, 0.75, 1.0):
            g.show(norm.LrnOp(x, size=size, axis=axis, bias=1.5, alpha=0.3, beta=beta), 16)
    g.show(norm.LrnOp(g.input(g.numbers(dtype, 33)), axis=0), 16)


@TABLE.each((norm.LayerNormOp, norm.InstanceNormOp, norm.GroupNormOp, norm.RmsNormOp), FLOATS)
def standardization(g: Graph, dtype: str) -> None:
    def show(op: Any, shape: Sequence[int], axis: int, options: Any) -> None:
        x = (3 * g.rng.standard_normal(shape) + 2).astype(dtype)
        gamma, beta = (g.rng.standard_normal(shape[axis]).astype(dtype) for _ in range(2))
        values = map(g.input, (x, gamma, beta))
        g.show(op(*values, axis=axis, **options), 32)

    flags: Any = [{}, {"scale": False}, {"center": False}, {"scale": False, "center": False}]
    shapes = [(2, 6, 5, 7), (3, 4, 33), (2, 6, 17), (1, 2, 129), (2, 4, 1, 1)]
    for i, shape in share(dtype, enumerate(shapes)):
        for axis in range(1, len(shape)):
            options = {**flags[(i + axis) % 4], "epsilon": 0.01}
            show(norm.LayerNormOp, shape, axis, options)
            show(norm.InstanceNormOp, shape, axis, options)
            x = g.input((3 * g.rng.standard_normal(shape) + 2).astype(dtype))
            gamma = g.input(g.rng.standard_normal(shape[axis]).astype(dtype))
            g.show(norm.RmsNormOp(x, gamma, axis=axis, epsilon=0.01, scale=bool(axis % 2)), 32)
        for axis in (1, -1):
            for groups in {1, 2 - shape[axis] % 2, shape[axis]}:
                show(norm.GroupNormOp, shape, axis, {"num_groups": groups})
    show(norm.LayerNormOp, (0, 5), 1, {})
    show(norm.LayerNormOp, (37,), 0, {})
    special = g.input(np.array([[1, np.nan, 2], [1, np.inf, 2], [4, 4, 4]], dtype))
    unit = g.input(np.ones(3, dtype))
    g.show(norm.LayerNormOp(special, unit, unit), 8)
    g.show(norm.RmsNormOp(special, unit), 8)
    g.show(norm.RmsNormOp(g.input(np.ones((3, 0), dtype)), g.input(np.ones(0, dtype))))


@TABLE.each((norm.DropoutOp,), FLOATS)
def dropout(g: Graph, dtype: str) -> None:
    for shape in ((), (17,), (0,)):
        g.show(norm.DropoutOp(g.input(g.numbers(dtype, *shape)), rate=0.3), BITS)
