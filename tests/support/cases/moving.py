"""Kernel cases of operators that move elements: reshapes, slices, joints, gathers and what fills."""

import numpy as np
from graphs import BITS, Graph
from xdsl.ir import SSAValue

from cases.kernel import DTYPES, SHAPES, CaseTable
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import space, upsampling
from xrelay.dialects.tensor import creation, reshape, transform
from xrelay.interpreters.arrays import element_type_of

TABLE = CaseTable()


# Moving elements


@TABLE.each(
    (
        reshape.ReshapeOp,
        reshape.BatchFlattenOp,
        reshape.SqueezeOp,
        reshape.ExpandDimsOp,
        transform.TransposeOp,
    ),
    ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"),
)
def shapes(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 2, 3, 5, 4))
    for codes in ([-1], [0, -1], [-3, -2], [2, -4, 3, 1, -2], [4, 30], [1, 120, 1]):
        g.show(reshape.ReshapeOp(x, codes), BITS)
    g.show(reshape.ReshapeOp(g.input(g.numbers(dtype, 0, 4)), [4, 0], allowzero=True), BITS)
    g.show(reshape.ReshapeOp(g.input(g.numbers(dtype)), [1, 1]), BITS)
    g.show(reshape.BatchFlattenOp(x), BITS)
    thin = g.input(g.numbers(dtype, 1, 3, 1, 5))
    for axis in (None, [0], [2], [-2, 0]):
        g.show(reshape.SqueezeOp(thin, axis), BITS)
    for axis, count in ((0, 1), (2, 2), (-1, 1), (4, 0)):
        g.show(reshape.ExpandDimsOp(x, axis, num_newaxis=count), BITS)
    for axes in (None, [0, 2, 3, 1], [1, 0, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3], [-2, -1, 0, 1]):
        g.show(transform.TransposeOp(x, axes), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype))), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype, 33, 17))), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype, 3, 0))), BITS)


@TABLE.each(
    (transform.BroadcastToOp, transform.TileOp, transform.RepeatOp, transform.StridedSliceOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"),
)
def repetitions_and_slices(g: Graph, dtype: str) -> None:
    row, scalar = g.input(g.numbers(dtype, 1, 7)), g.input(g.numbers(dtype))
    for shape in ((3, 7), (2, 3, 7), (1, 7), (0, 7)):
        g.show(transform.BroadcastToOp(row, shape), BITS)
    g.show(transform.BroadcastToOp(scalar, (17,)), BITS)
    g.show(transform.BroadcastToOp(g.input(g.numbers(dtype, 3, 1, 2)), (4, 3, 5, 2)), BITS)
    x = g.input(g.numbers(dtype, 3, 19))
    for reps in ([1], [2], [2, 1], [2, 3], [2, 1, 3], [0, 1], []):
        g.show(transform.TileOp(x, reps), BITS)
    g.show(transform.TileOp(scalar, [5]), BITS)
    for width in (1, 3, 64, 67):
        rows = g.input(g.numbers(dtype, 2, width))
        for reps in ([1, 4], [3, 17], [2, 1, 2]):
            g.show(transform.TileOp(rows, reps), BITS)
    for repeats, axis in ((1, 0), (2, 0), (3, 1), (3, -2), (0, 1)):
        g.show(transform.RepeatOp(x, repeats, axis), BITS)
    y = g.input(g.numbers(dtype, 5, 6, 18))
    for slices in (
        ([0, 0, 0], [5, 6, 18], None),
        ([1], [3], None),
        ([-1], [-100], [-1]),
        ([4, 5, 17], [-100, -100, -100], [-2, -1, -3]),
        ([1, -4, 2], [100, -1, 17], [2, 1, 1]),
        ([0, 0, 1], [5, 6, 18], [1, 1, 5]),
        ([3], [1], [1]),
    ):
        g.show(transform.StridedSliceOp(y, *slices), BITS)
    g.show(transform.StridedSliceOp(y, [2, -3], [2, -1], axes=[2, 0], slice_mode="size"), BITS)
    g.show(transform.StridedSliceOp(y, [10], [-5], [-2], axes=[-1]), BITS)


@TABLE.each(
    (transform.ConcatenateOp, transform.StackOp, transform.SplitOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"),
)
def joints(g: Graph, dtype: str) -> None:
    def joined(*shapes: tuple[int, ...]) -> SSAValue:
        return g.op(core.TupleOp([g.input(g.numbers(dtype, *shape)) for shape in shapes]))

    for axis in (0, 1, -1):
        other = [(2, 3, 5), (2, 3, 5)]
        other.append(tuple(4 if d == axis % 3 else n for d, n in enumerate((2, 3, 5))))
        other.append(tuple(0 if d == axis % 3 else n for d, n in enumerate((2, 3, 5))))
        g.show(transform.ConcatenateOp(joined(*other), axis=axis), BITS)
    g.show(transform.ConcatenateOp(joined((17,)), axis=0), BITS)
    g.show(transform.ConcatenateOp(joined((0, 3), (0, 3)), axis=0), BITS)
    g.show(transform.ConcatenateOp(joined((0, 3), (5, 3)), axis=0), BITS)
    for axis in (0, 1, 2, -1):
        g.show(transform.StackOp(joined((3, 17), (3, 17), (3, 17)), axis=axis), BITS)
    g.show(transform.StackOp(joined((), ())), BITS)
    g.show(transform.StackOp(joined((1, 2))), BITS)
    x = g.input(g.numbers(dtype, 4, 6, 20))
    for sections, axis in ((2, 0), (3, 1), (5, -1), ([1, 1, 17], 2), ([], 0), ([6], 1), (1, 0)):
        g.show(transform.SplitOp(x, sections, axis=axis), BITS)
    g.show(transform.SplitOp(g.input(g.numbers(dtype, 0, 2)), 2), BITS)
    # A tuple that comes as a tuple.
    arrays = (g.numbers(dtype, 2, 3), g.numbers(dtype, 2, 1))
    g.show(transform.ConcatenateOp(g.input(arrays), axis=1), BITS)


@TABLE.each((space.PadOp,), ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"))
def pad(g: Graph, dtype: str) -> None:
    value = g.input(g.numbers(dtype))
    x = g.input(g.numbers(dtype, 3, 4, 17))
    for widths in (
        [(0, 0), (0, 0), (0, 0)],
        [(1, 2), (0, 0), (0, 0)],
        [(0, 0), (2, 1), (0, 0)],
        [(2, 2), (3, 3), (1, 0)],
        [(0, 1), (0, 2), (0, 3)],
    ):
        for mode in ("constant", "edge", "reflect"):
            if mode != "reflect" or max(widths[0]) < 3:
                g.show(space.PadOp(x, value, widths, pad_mode=mode), BITS)
    empty = g.input(g.numbers(dtype, 0, 3))
    g.show(space.PadOp(empty, value, [(1, 1), (0, 0)]), BITS)
    g.show(space.PadOp(g.input(g.numbers(dtype)), value, []), BITS)


@TABLE.each((upsampling.UpsamplingOp,), ("bfloat16", "float16", "float32", "int8", "bool"))
def upsampling_of_images(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 2, 3, 5, 7))
    for scales in ((2, 2), (1, 3), (3, 1), (1.5, 2.3), (0.5, 0.4), (1, 1), (0.01, 1)):
        g.show(upsampling.UpsamplingOp(x, *scales), BITS)


@TABLE.each(
    (
        creation.ZerosOp,
        creation.OnesOp,
        creation.FullOp,
        creation.ZerosLikeOp,
        creation.OnesLikeOp,
    ),
    DTYPES,
)
def filled(g: Graph, dtype: str) -> None:
    type_ = element_type_of(np.dtype(dtype))
    for shape in SHAPES:
        g.show(creation.ZerosOp(shape, type_), BITS)
        g.show(creation.OnesOp(shape, type_), BITS)
        g.show(creation.FullOp(g.input(g.numbers(dtype)), shape), BITS)
        g.show(creation.ZerosLikeOp(g.input(g.numbers(dtype, *shape))), BITS)
        g.show(creation.OnesLikeOp(g.input(g.numbers(dtype, *shape))), BITS)
