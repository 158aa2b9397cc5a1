"""
Graphs of the neural network operators for the comparison of compiled kernels with the interpreter
(tests/execution/test_kernels.py): one case for each operator or family, and dtype.
"""

from typing import Any

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import IntegerType, Signedness, i8, i32
from xdsl.ir import SSAValue

from cases.kernel import FLOATS, CaseTable, share
from cases.windows import IMAGES, WINDOWS, in_layout
from xrelay.dialects.base import operators
from xrelay.dialects.conv import packed as conv_packed
from xrelay.dialects.conv import winograd
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import bitserial, dense, loss, norm, space, upsampling
from xrelay.dialects.sparse import products as sparse
from xrelay.dialects.tensor import transform, unary

TABLE = CaseTable(dict(WINDOWS.cases), set(WINDOWS.covered))
"""Begins with those of windows."""

DTYPES = (*FLOATS, "int8", "int32", "int64", "uint8", "uint16", "uint64", "bool")


# Elements


@TABLE.each((norm.PReluOp,), DTYPES)
def prelu(g: Graph, dtype: str) -> None:
    for shape, axis in (((2, 3, 17), 1), ((5, 33), -1), ((7,), 0), ((3, 2, 4, 5), 0), ((2, 0), 1)):
        data, alpha = g.input(g.numbers(dtype, *shape)), g.input(g.numbers(dtype, shape[axis]))
        g.show(norm.PReluOp(data, alpha, axis=axis))
        g.show(unary.NegativeOp(g.op(norm.PReluOp(g.op(unary.ReluOp(data)), alpha, axis=axis))))


@TABLE.each((norm.FastSoftmaxOp,), FLOATS)
def fast_softmax(g: Graph, dtype: str) -> None:
    for shape, axis in (((3, 33), -1), ((4, 5, 17), 1), ((7,), 0)):
        x = g.input((4 * g.rng.standard_normal(shape)).astype(dtype))
        g.show(norm.FastSoftmaxOp(x, axis=axis), 8)


MOVED = ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool")


@TABLE.each((space.MirrorPadOp,), MOVED)
def mirrored_borders(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 3, 4, 17))
    for widths in ([(0, 0)] * 3, [(1, 2), (0, 0), (0, 0)], [(2, 2), (3, 3), (16, 1)], [(0, 1)] * 3):
        for mode in ("SYMMETRIC", "REFLECT"):
            g.show(space.MirrorPadOp(x, widths, mode=mode), BITS)
    g.show(space.MirrorPadOp(x, [(3, 3), (4, 4), (17, 17)]), BITS)
    long = g.input(g.numbers(dtype, 2, 81))
    for last in ((1, 1), (3, 0), (0, 2), (80, 40)):
        for mode in ("SYMMETRIC", "REFLECT"):
            g.show(space.MirrorPadOp(long, [(1, 0), last], mode=mode), BITS)
    g.show(space.MirrorPadOp(g.input(g.numbers(dtype)), []), BITS)
    g.show(space.MirrorPadOp(g.input(g.numbers(dtype, 0, 3)), [(0, 0), (1, 1)]), BITS)


@TABLE.each((space.DepthToSpaceOp, space.SpaceToDepthOp), MOVED)
def channels_as_pixels(g: Graph, dtype: str) -> None:
    for layout in ("NCHW", "NHWC", "HCNW"):
        for block, channels in ((1, 3), (2, 2), (3, 1)):
            deep = g.numbers(dtype, 2, channels * block**2, 3, 5)
            for mode in ("DCR", "CRD"):
                data = g.input(in_layout(deep, "NCHW", layout))
                op = space.DepthToSpaceOp(data, block, layout=layout, mode=mode)
                g.show(op, BITS)
            wide = g.numbers(dtype, 1, channels, 2 * block, 4 * block)
            data = g.input(in_layout(wide, "NCHW", layout))
            g.show(space.SpaceToDepthOp(data, block, layout=layout), BITS)
    blocked = g.input(g.numbers(dtype, 1, 4, 2, 3, 4))
    g.show(space.DepthToSpaceOp(blocked, 2, layout="NCHW4c"), BITS)


@TABLE.each((space.BatchToSpaceNDOp, space.SpaceToBatchNDOp), MOVED)
def blocks_as_batches(g: Graph, dtype: str) -> None:
    settings = (
        ((12, 3, 5, 17), [2, 3], [(1, 2), (0, 3)]),
        ((4, 6, 9), [2], [(0, 0)]),
        ((4, 3, 4), [2, 2], [(1, 0), (3, 2)]),
        ((5, 3), [], []),
        ((0, 3, 2), [2], [(0, 1)]),
    )
    for shape, blocks, cuts in settings:
        g.show(space.BatchToSpaceNDOp(g.input(g.numbers(dtype, *shape)), blocks, crops=cuts), BITS)
    settings = (
        ((2, 5, 7, 17), [2, 3], [(1, 2), (0, 2)]),
        ((1, 6, 9), [2], [(0, 0)]),
        ((1, 3, 4), [2, 2], [(1, 0), (3, 1)]),
        ((5, 3), [], []),
        ((2, 0, 3), [3], [(2, 1)]),
    )
    for i, (shape, blocks, widths) in enumerate(settings):
        x = g.input(g.numbers(dtype, *shape))
        g.show(space.SpaceToBatchNDOp(x, blocks, paddings=widths, pad_value=1.6 * (i % 2)), BITS)


@TABLE.each((space.FifoBufferOp,), MOVED)
def queues(g: Graph, dtype: str) -> None:
    for new, old, axis in (
        ((2, 17), (5, 17), 0),
        ((3, 4), (3, 9), -1),
        ((7, 3), (5, 3), 0),
        ((5, 3), (5, 3), 0),
        ((0, 3), (5, 3), 0),
        ((2, 3), (0, 3), 0),
    ):
        data, buffer = g.input(g.numbers(dtype, *new)), g.input(g.numbers(dtype, *old))
        g.show(space.FifoBufferOp(data, buffer, axis=axis), BITS)


@TABLE.each(
    (upsampling.Upsampling3DOp,), ("bfloat16", "float16", "float32", "float64", "int8", "uint16")
)
def upsampled_volumes(g: Graph, dtype: str) -> None:
    scales = ((2, 2, 2), (1, 3, 1.5), (0.5, 0.4, 2.3), (1, 1, 0.01))
    for i, mode in enumerate(("half_pixel", "align_corners", "asymmetric")):
        for j, scale in enumerate(scales):
            layout = ("NCDHW", "NDHWC")[(i + j) % 2]
            for method in ("nearest_neighbor", "trilinear"):
                exact = method == "nearest_neighbor"
                x = (g.numbers if exact else g.small)(dtype, 1, 2, 2, 3, 5)
                op = upsampling.Upsampling3DOp(
                    g.input(in_layout(x, "NCDHW", layout)),
                    *scale,
                    layout=layout,
                    method=method,
                    coordinate_transformation_mode=mode,
                )
                g.show(op, BITS if exact else 4)


# Replaced by other operators


@TABLE.each((norm.L2NormalizeOp,), FLOATS)
def l2_normalize(g: Graph, dtype: str) -> None:
    x = g.input(g.rng.standard_normal((3, 5, 17)).astype(dtype))
    for axes in ([1], [-1], [0, 2], [], [0, 1, 2]):
        g.show(norm.L2NormalizeOp(x, 1e-2, axes), 4)
    special = g.input(g.numbers(dtype, 4, 9))
    g.show(norm.L2NormalizeOp(special, 1e-6, [0]), 4)


@TABLE.each((loss.CrossEntropyOp, loss.CrossEntropyWithLogitsOp), FLOATS)
def cross_entropy(g: Graph, dtype: str) -> None:
    for shape in ((3, 17), (1, 1), (0, 3), (2, 0)):
        x, y = (g.input(g.rng.random(shape).astype(dtype)) for _ in range(2))
        g.show(loss.CrossEntropyOp(x, y), 16)
        g.show(loss.CrossEntropyWithLogitsOp(x, y), 16)


@TABLE.each((loss.NllLossOp,), FLOATS)
def likelihoods(g: Graph, dtype: str) -> None:
    for shape, index in (((5, 3), "int32"), ((2, 4, 3), "int64"), ((2, 3, 2, 5), "uint8")):
        predictions = g.input(g.small(dtype, *shape))
        weights = g.input(g.small(dtype, shape[1], low=1))
        targets = g.input(g.small(index, shape[0], *shape[2:], low=-2, high=shape[1] + 2))
        for reduction in ("none", "sum", "mean"):
            for ignored in (1, -100):
                options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignored}
                g.show(loss.NllLossOp(predictions, targets, weights, **options), 1)
    nothing = g.input(g.small(dtype, 0, 3)), g.input(g.small("int32", 0))
    g.show(loss.NllLossOp(*nothing, g.input(g.small(dtype, 3)), reduction="none"))
    g.show(loss.NllLossOp(*nothing, g.input(g.small(dtype, 3)), reduction="mean"))


@TABLE.each(
    (dense.ContribDensePackOp,), ("bfloat16", "float16", "float32", "float64", "int8", "int64")
)
def packed_dense(g: Graph, dtype: str) -> None:
    for rows, depth, blocks, lanes in ((3, 17, 2, 8), (1, 5, 3, 4), (2, 0, 1, 3), (0, 4, 2, 2)):
        data, weight = g.small(dtype, rows, depth), g.small(dtype, blocks, depth, lanes)
        operands = g.input(data), g.input(weight)
        g.show(dense.ContribDensePackOp(*operands, blocks * lanes))
    int8 = g.input(g.small("int8", 3, 9)), g.input(g.small("int8", 2, 9, 4))
    g.show(dense.ContribDensePackOp(*int8, 8, out_dtype=i32))


@TABLE.each(
    (conv_packed.ContribConv2DNCHWcOp, conv_packed.ContribDepthwiseConv2DNCHWcOp),
    ("float32", "float64", "int32"),
)
def packed_convolutions(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in enumerate(IMAGES):
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        x, y, out = ((4, 8, "NCHW8c"), (8, 4, ""), (2, 16, "NCHW"), (4, 4, "NHWC"))[i]
        data = g.input(g.small(dtype, 1 + i % 2, 16 // x, *image, x))
        weight = g.input(g.small(dtype, 32 // y, 16 // x, *window, x, y))
        if i % 2:
            weight = g.constant(g.small(dtype, 32 // y, 16 // x, *window, x, y))
        layouts: dict[str, str] = {"data_layout": f"NCHW{x}c", "out_layout": out}
        op = conv_packed.ContribConv2DNCHWcOp(
            data, weight, **layouts, kernel_layout=f"OIHW{x}i{y}o", **options
        )
        g.show(op)
        weight = g.input(g.small(dtype, 16 // x, 1, *window, 1, x))
        op = conv_packed.ContribDepthwiseConv2DNCHWcOp(
            data, weight, **layouts, kernel_layout=f"OIHW1i{x}o", groups=16, **options
        )
        g.show(op)


@TABLE.each(winograd.WINOGRAD_OPS, FLOATS)
def winograd_in_two_steps(g: Graph, dtype: str) -> None:
    images = (
        (2, 3, 5, (7, 9), 3, 2, [1, 1]),
        (1, 2, 4, (8, 5), 3, 4, [0]),
        (1, 2, 2, (9, 9), 5, 2, [2, 0, 1, 2]),
    )
    for batch, inputs, outputs, image, taps, tile, padding in share(dtype, images):
        layout_ = ("NCHW", "NHWC")[tile // 4]
        x = g.rng.standard_normal((batch, inputs, *image)).astype(dtype)
        w = g.rng.standard_normal((outputs, inputs, taps, taps)).astype(dtype)
        made = g.show(winograd.ContribConv2DWinogradWeightTransformOp(g.input(w), tile), 16)
        swapped = g.op(transform.TransposeOp(made, (0, 1, 3, 2)))
        op = winograd.ContribConv2DWinogradWithoutWeightTransformOp(
            g.input(in_layout(x, "NCHW", layout_)),
            swapped,
            tile,
            padding=padding,
            data_layout=layout_,
        )
        g.show(op, 2000)
    volumes = (
        (1, 2, 3, (5, 6, 7), (3, 3, 3), 2, [1]),
        (2, 2, 1, (4, 5, 5), (2, 3, 3), 2, [1, 0, 1]),
    )
    for batch, inputs, outputs, image, kernel, tile, padding in share(dtype, volumes):
        x = g.rng.standard_normal((batch, inputs, *image)).astype(dtype)
        w = g.rng.standard_normal((outputs, inputs, *kernel)).astype(dtype)
        made = g.show(winograd.ContribConv3DWinogradWeightTransformOp(g.input(w), tile), 16)
        op = winograd.ContribConv3DWinogradWithoutWeightTransformOp(
            g.input(x), made, tile, padding=padding
        )
        g.show(op, 2000)
    empty = g.input(g.small(dtype, 0, 2, 4, 4)), g.input(g.small(dtype, 4, 4, 2, 3))
    g.show(winograd.ContribConv2DWinogradWithoutWeightTransformOp(*empty, 2))


@TABLE.each(operators(bitserial.__name__), ("int8", "int16", "uint8", "uint32", "int64"))
def bits_of_small_integers(g: Graph, dtype: str) -> None:
    for width in (8, 16, 32, 64):
        word = IntegerType(width, Signedness.UNSIGNED)
        x = g.input(g.numbers(dtype, 2, 2 * width, 3))
        for bits, bit_axis in ((1, -1), (3, 0), (8, 2)):
            g.show(bitserial.BitPackOp(x, bits=bits, bit_axis=bit_axis, pack_type=word), BITS)
        last = g.input(g.numbers(dtype, 3, width))
        g.show(bitserial.BitPackOp(last, bits=2, pack_axis=-1, bit_axis=1, pack_type=word), BITS)
    word = IntegerType(8, Signedness.UNSIGNED)
    for unipolar in (True, False):
        options: dict[str, Any] = {
            "weight_bits": 2,
            "pack_dtype": word,
            "out_dtype": i32 if unipolar else i8,
            "unipolar": unipolar,
        }
        data, weight = g.input(g.numbers(dtype, 3, 16)), g.input(g.numbers(dtype, 5, 16))
        g.show(bitserial.BitSerialDenseOp(data, weight, 5, data_bits=3, **options))
        packed = g.input(g.numbers("uint8", 5, 2, 2))
        g.show(bitserial.BitSerialDenseOp(data, packed, 5, data_bits=8, **options))
        for layout_, image, kernel, packed_kernel in (
            ("NCHW", (2, 8, 5, 7), (3, 8, 3, 2), (3, 1, 3, 2, 2)),
            ("NHWC", (1, 5, 4, 16), (3, 2, 16, 4), (3, 2, 2, 4, 2)),
        ):
            x = g.input(g.numbers(dtype, *image))
            for w in (g.numbers(dtype, *kernel), g.numbers("uint8", *packed_kernel)):
                op = bitserial.BitSerialConv2DOp(
                    x,
                    g.input(w),
                    (3, 2),
                    strides=(1, 2),
                    padding=(1, 0),
                    activation_bits=2,
                    data_layout=layout_,
                    kernel_layout="OIHW" if layout_ == "NCHW" else "HWIO",
                    **options,
                )
                g.show(op)


# Sparse matrices


def _sparse(
    g: Graph, dtype: str, index: str, rows: int, columns: int, count: int, *block: int
) -> list[SSAValue]:
    """Data, indices and pointers of a sparse matrix; some indices are out of range."""
    pointers = np.sort(g.rng.integers(0, count + 1, rows + 1)).astype(index)
    pointers[0], pointers[-1] = 0, count
    indices = g.small(index, count, low=-1, high=columns + 1)
    return [g.input(a) for a in (g.small(dtype, count, *block), indices, pointers)]


@TABLE.each(
    (
        sparse.SparseDenseOp,
        sparse.InternalSparseDensePaddedOp,
        sparse.SparseConv2DOp,
        sparse.SparseAddOp,
    ),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64"),
)
def sparse_matrices(g: Graph, dtype: str) -> None:
    for i, (rows, columns, count, block) in enumerate(
        ((5, 7, 11, ()), (3, 4, 6, (2, 3)), (1, 1, 0, ()), (4, 3, 5, (1, 1)))
    ):
        index = ("int32", "int64", "uint8", "int32")[i]
        matrix = _sparse(g, dtype, index, rows, columns, count, *block)
        width = block[1] if block else 1
        dense_ = g.input(g.small(dtype, 3, columns * width))
        for op in (sparse.SparseDenseOp, sparse.InternalSparseDensePaddedOp):
            for lhs in (False, True):
                g.show(op(dense_, *matrix, sparse_lhs=lhs))
        if not block:
            whole = g.input(g.small(dtype, rows, columns))
            g.show(sparse.SparseAddOp(whole, *matrix))
            g.show(sparse.SparseAddOp(g.op(unary.NegativeOp(whole)), *matrix))
    for block in ((2,), (2, 2)):
        matrix = _sparse(g, dtype, "int32", 3, 4, 7, *block)
        channels = 4 * (block[1] if len(block) > 1 else 1)
        for layout_, shape in (("NHWC", (1, 2, 3, channels)), ("NCHW", (2, channels, 3, 5))):
            g.show(sparse.SparseConv2DOp(g.input(g.small(dtype, *shape)), *matrix, layout=layout_))
    nothing = _sparse(g, dtype, "int32", 2, 0, 0)
    g.show(sparse.SparseDenseOp(g.input(g.small(dtype, 3, 0)), *nothing))


@TABLE.each(
    (sparse.SparseTransposeOp,), ("bfloat16", "float16", "float32", "float64", "int8", "bool")
)
def transposed_sparse_matrices(g: Graph, dtype: str) -> None:
    for i, (size, count) in enumerate(((5, 11), (1, 0), (3, 2), (0, 0))):
        index = ("int32", "int64", "uint8", "int32")[i]
        operands = _sparse(g, dtype, index, size, size, count)
        made = g.show(sparse.SparseTransposeOp(*operands))
        g.show(core.TupleGetItemOp(made, 1))
    # Pointers that make no sense read and write nothing else.
    data, indices = g.input(g.numbers(dtype, 4)), g.input(np.array([0, 1, 9, -3], np.int32))
    pointers = g.input(np.array([-5, 4, 1, 90], np.int32))
    g.show(sparse.SparseTransposeOp(data, indices, pointers))
