"""Kernel cases of operands whose dtypes, lengths and signs Relay leaves open."""

from itertools import product

import numpy as np
from graphs import BITS, Graph
from xdsl.ir import SSAValue

from cases.kernel import CaseTable
from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, space
from xrelay.dialects.nn.space import Pairs
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.tensor import binary, creation, indexing, reorder, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.interpreters.arrays import element_type_of

OPERANDS = CaseTable()

INTEGERS = ("int8", "int32", "int64", "uint8", "uint16", "uint64")
OTHERS = ("float16", "float64", "int8", "uint64", "bool")
"""What a dtype is converted from or to."""
PAIRS = (
    ("uint8", "int8", "int32"),
    ("uint8", "int8", None),
    ("int8", "float32", None),
    ("int8", "float32", "float32"),
    ("float32", "float64", "float32"),
    ("float16", "float32", None),
)
"""The dtypes of two factors, and that in which products are summed."""


@OPERANDS.each(
    (unary.FloorOp, unary.CeilOp, unary.RoundOp, unary.TruncOp, unary.LeakyReluOp),
    (*INTEGERS, "bool"),
)
def whole_numbers(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 37))
    for op in (unary.FloorOp, unary.CeilOp, unary.RoundOp, unary.TruncOp):
        g.show(op(x), BITS)
    for alpha in (0.25, -1.5, 2.75, 1e30):
        g.show(unary.LeakyReluOp(x, alpha))


@OPERANDS.each((reduction.MeanOp,), INTEGERS)
def mean_of_integers(g: Graph, dtype: str) -> None:
    for shape, axis in (((3, 35), [1]), ((35, 3), [0]), ((2, 300, 2), [1, 2]), ((0, 4), [0])):
        g.show(reduction.MeanOp(g.input(g.numbers(dtype, *shape)), axis))


@OPERANDS.each((creation.FullOp, space.PadOp), OTHERS)
def converted_numbers(g: Graph, dtype: str) -> None:
    for other in ("float32", "int32", "bool", "uint8"):
        number = g.input(g.numbers(other))
        g.show(creation.FullOp(number, (3, 17), element_type_of(np.dtype(dtype))))
        x = g.input(g.numbers(dtype, 3, 17))
        g.show(space.PadOp(x, number, [(1, 0), (2, 3)]))


@OPERANDS.each((transform.WhereOp,), ("float32", *OTHERS))
def conditions(g: Graph, dtype: str) -> None:
    condition, x, y = (g.input(g.numbers(t, 4, 33)) for t in (dtype, "float32", "float32"))
    g.show(transform.WhereOp(condition, x, y), BITS)
    g.show(transform.WhereOp(g.input(g.numbers(dtype, 4, 1)), x, y), BITS)


@OPERANDS.case(space.PadOp)
def negative_pads(g: Graph) -> None:
    x, number = g.input(g.numbers("float32", 5, 18)), g.input(g.numbers("float32"))
    for first, last in product(
        ((-1, -1), (2, -3), (-4, 3), (0, 0)), ((-2, -3), (4, -7), (-6, 5), (0, -18), (-30, 17))
    ):
        for mode in ("constant", "edge", "reflect"):
            g.show(space.PadOp(x, number, [first, last], pad_mode=mode), BITS)


@OPERANDS.each((space.PadOp, space.MirrorPadOp), ("float32", "float64", "uint8", "bool"))
def pads_of_long_rows(g: Graph, dtype: str) -> None:
    for shape in ((3, 64), (2, 67), (2, 81)):
        x, number = g.input(g.numbers(dtype, *shape)), g.input(g.numbers(dtype))
        for last in ((1, 1), (0, 3), (2, 0), (-1, 2), (2, -3), (17, 40), (63, 33)):
            for mode in ("constant", "edge", "reflect"):
                g.show(space.PadOp(x, number, [(1, 0), last], pad_mode=mode), BITS)
                # Rows of the data that are whole on all sides.
                g.show(space.PadOp(x, number, [(0, 0), last], pad_mode=mode), BITS)
            if min(last) >= 0:
                for mode in ("SYMMETRIC", "REFLECT"):
                    g.show(space.MirrorPadOp(x, [(1, 1), last], mode=mode), BITS)


@OPERANDS.each((reorder.TriluOp, reorder.ReverseSequenceOp, transform.TileOp), ("float64", "bool"))
def moved_rows(g: Graph, dtype: str) -> None:
    """Rows of more than a vector, which stay together or are cut at a place that differs from row to row."""
    for shape in ((5, 7, 70), (3, 40, 33), (2, 3, 16), (1, 2, 1)):
        x = g.input(g.numbers(dtype, *shape))
        for upper, k in product((True, False), (0, 3, -20, 69, 100, -100)):
            g.show(reorder.TriluOp(x, g.input(np.int64(k)), upper=upper), BITS)
        for axis, batch in ((0, 1), (1, 0), (2, 0), (0, 2)):
            lengths = g.input(g.rng.integers(0, shape[axis] + 2, shape[batch]))
            g.show(reorder.ReverseSequenceOp(x, lengths, seq_axis=axis, batch_axis=batch), BITS)
        g.show(transform.TileOp(x, [1, 2, 3]), BITS)
        g.show(transform.TileOp(x, [2, 1, 1, 2]), BITS)


@OPERANDS.each((space.PadOp, space.MirrorPadOp), ("float32", "int8"))
def pads_that_are_moved(g: Graph, dtype: str) -> None:
    """Where neighbours part is not where the rows of the result are cut."""
    x, number = g.input(g.numbers(dtype, 3, 70)), g.input(g.numbers(dtype))
    widths = ((1, 2), (5, 40))
    for mode in ("constant", "edge", "reflect", "SYMMETRIC"):

        def padded(data: SSAValue, widths: Pairs, mode: str = mode) -> SSAValue:
            if mode == "SYMMETRIC":
                return g.op(space.MirrorPadOp(data, widths, mode=mode))
            return g.op(space.PadOp(data, number, widths, pad_mode=mode))

        twice = padded(padded(x, widths), ((0, 0), (3, 1)))
        tiled = g.op(transform.TileOp(padded(x, widths), (1, 2)))
        other = g.op(transform.TileOp(padded(x, ((0, 0), (15, 15))), (1, 1, 3)))
        flat = g.op(reshape.ReshapeOp(padded(x, widths), [-1]))
        turned = g.op(transform.TransposeOp(padded(x, widths), (1, 0)))
        both = g.op(binary.AddOp(padded(x, ((1, 1), (4, 40))), padded(x, ((0, 2), (14, 30)))))
        sliced = g.op(transform.StridedSliceOp(padded(x, widths), [1, 3], [6, 107], [1, 1]))
        for value in (twice, tiled, other, flat, turned, sliced):
            g.returns(value, BITS)
        g.returns(both)


@OPERANDS.case(transform.StridedSliceOp)
def lists_of_unequal_length(g: Graph) -> None:
    x = g.input(g.numbers("float32", 5, 6, 19))
    for begin, end, strides in (
        ([1, 1, 0], [4, 4], [1]),
        ([1, 1], [4, 4, 3], None),
        ([0, 1], [1, -1, 10], [1, 1, 2]),
        ([4], [0, 2], [-1, 1, -3]),
        ([], [], []),
        ([2], [], [2]),
    ):
        g.show(transform.StridedSliceOp(x, begin, end, strides), BITS)
    g.show(transform.StridedSliceOp(x, [1, 2], [4, 9], [2], axes=[0, 2]), BITS)
    g.show(transform.StridedSliceOp(x, [1, 2], [-1], slice_mode="size"), BITS)


@OPERANDS.case(indexing.StridedSetOp)
def set_by_lists_of_unequal_length(g: Graph) -> None:
    x, v = g.numbers("float32", 5, 6, 7), g.input(g.numbers("float32", 5, 6, 7))
    for lists in (
        ([1, 1, 0], [4, 4], [1]),
        ([1, 1], [4, 4, 3], [1]),
        ([3], [], [-1, -2]),
        ([], [2, 4], []),
        ([], [], [-1, 1, -3]),
        ([], [], []),
    ):
        numbers = [g.input(np.array(each, np.int64)) for each in lists]
        g.show(indexing.StridedSetOp(g.input(x), v, *numbers), BITS)


@OPERANDS.each((indexing.SparseToDenseOp,), ("float32", *OTHERS))
def converted_default(g: Graph, dtype: str) -> None:
    places, values = g.input(np.array([0, 4, 2])), g.input(g.numbers(dtype, 3))
    for other in ("int32", "float32", "uint8"):
        g.show(indexing.SparseToDenseOp(places, values, g.input(g.numbers(other)), [6]))


@OPERANDS.each((qnn.QnnConcatenateOp,), ("int16", "uint16", "int32"))
def wide_concatenation(g: Graph, dtype: str) -> None:
    def scalars(dtype: str, *values: float) -> SSAValue:
        return g.op(core.TupleOp([g.input(np.array(value, dtype)) for value in values]))

    data = g.op(core.TupleOp([g.input(g.numbers(dtype, 3, 17)) for _ in range(3)]))
    scales, zeros = scalars("float32", 0.5, 0.25, 0.75), scalars("int32", 3, 3, -2)
    out = g.input(np.float32(0.25)), g.input(np.int32(3))
    g.show(qnn.QnnConcatenateOp(data, scales, zeros, *out, axis=1))


@OPERANDS.each(
    (conv.Conv1DOp, conv.Conv2DOp, conv.Conv3DOp, dense.DenseOp, dense.BatchMatmulOp),
    ["_".join(map(str, pair)) for pair in PAIRS],
)
def factors(g: Graph, pair: str) -> None:
    left, right, sums = pair.split("_")
    out = None if sums == "None" else element_type_of(np.dtype(sums))

    def both(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[SSAValue, SSAValue]:
        return g.input(g.small(left, *first)), g.input(g.small(right, *second))

    g.show(conv.Conv1DOp(*both((2, 4, 9), (6, 4, 3)), out_dtype=out))
    for groups, channels in ((1, 4), (2, 2), (4, 1)):
        operands = both((1, 4, 6, 19), (8, channels, 3, 3))
        g.show(conv.Conv2DOp(*operands, padding=(1, 1), groups=groups, out_dtype=out))
    g.show(conv.Conv3DOp(*both((1, 2, 4, 5, 6), (3, 2, 2, 2, 2)), out_dtype=out))
    g.show(dense.DenseOp(*both((5, 19), (7, 19)), out_dtype=out))
    g.show(dense.BatchMatmulOp(*both((2, 3, 19), (1, 19, 18)), out_dtype=out))
    g.show(dense.MatmulOp(*both((3, 19), (19, 33)), out_dtype=out))


@OPERANDS.each((dense.MatmulOp,), ("float32", "float16", "int8"))
def batches_times_a_matrix(g: Graph, dtype: str) -> None:
    for batch, (flip_a, flip_b) in product(
        ((3,), (2, 3), (1, 1)), product((False, True), repeat=2)
    ):
        a, b = ((9, 5) if flip_a else (5, 9)), ((17, 9) if flip_b else (9, 17))
        left, right = g.input(g.small(dtype, *batch, *a)), g.input(g.small(dtype, *b))
        g.show(dense.MatmulOp(left, right, transpose_a=flip_a, transpose_b=flip_b))
