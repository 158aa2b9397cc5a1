"""Kernel cases of the operators of `like`, `reorder`, `indexing` and `creation`."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import f32, i8, i64
from xdsl.ir import SSAValue

from cases.kernel import DTYPES, FLOATS, INTEGERS, SHAPES, CaseTable, share
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor import creation, indexing, like, reorder, reshape, transform, unary
from xrelay.interpreters.arrays import element_type_of

INDEXING = CaseTable()


def indices(g: Graph, dtype: str, shape: Sequence[int], length: int, spread: int = 3) -> SSAValue:
    """Indices of an axis, of which some lie outside."""
    low = 0 if dtype.startswith("u") else -length - spread
    values = np.asarray(g.rng.integers(low, length + spread, tuple(shape)))
    if values.size and dtype == "uint64":
        values = values.astype(np.uint64)
        values.reshape(-1)[0] = 2**64 - 1
    return g.input(values.astype(dtype))


# like


@INDEXING.each((like.CastLikeOp, like.FullLikeOp), DTYPES)
def cast_like(g: Graph, dtype: str) -> None:
    for other in DTYPES:
        x, y = g.input(g.numbers(dtype, 3, 19)), g.input(g.numbers(other, 2))
        g.show(like.CastLikeOp(x, y))
        g.show(like.FullLikeOp(x, g.input(g.numbers(other))))


@INDEXING.case(like.BroadcastToLikeOp)
def broadcast_to_like(g: Graph) -> None:
    for old, new in (((), (3, 5)), ((5, 1), (3, 5, 17)), ((33,), (2, 33)), ((1,), (0, 4))):
        x, y = g.input(g.numbers("float32", *old)), g.input(g.numbers("int8", *new))
        g.show(like.BroadcastToLikeOp(x, y), BITS)


@INDEXING.each((like.CollapseSumLikeOp, like.CollapseSumToOp), DTYPES)
def collapse_sum(g: Graph, dtype: str) -> None:
    for old, new in (
        ((3, 4, 5, 17), (4, 5, 17)),
        ((3, 4, 5, 17), (4, 1, 17)),
        ((3, 4, 5, 17), (1, 5, 1)),
        ((3, 4, 5, 17), ()),
        ((2, 3), (2, 3)),
        ((2, 1, 3), (1, 1, 1)),
        ((0, 3), (3,)),
        ((), ()),
    ):
        x = g.input(g.small(dtype, *old))
        g.show(like.CollapseSumLikeOp(x, g.input(g.small("float32", *new))))
        g.show(like.CollapseSumToOp(x, g.constant(np.array(new, np.int32))))


@INDEXING.case(like.ReshapeLikeOp, reshape.ReverseReshapeOp)
def reshape_like(g: Graph) -> None:
    x = g.input(g.numbers("float32", 2, 3, 4, 17))
    y = g.input(g.numbers("float32", 6, 2, 2, 17))
    g.show(like.ReshapeLikeOp(x, y), BITS)
    g.show(like.ReshapeLikeOp(x, y, lhs_begin=0, lhs_end=2, rhs_begin=0, rhs_end=1), BITS)
    g.show(like.ReshapeLikeOp(x, y, lhs_begin=2, lhs_end=-1, rhs_begin=1, rhs_end=3), BITS)
    g.show(reshape.ReverseReshapeOp(x, [6, 0, -1]), BITS)
    g.show(reshape.ReverseReshapeOp(x, [-1, 0]), BITS)
    g.show(unary.NegativeOp(g.op(reshape.ReverseReshapeOp(x, [-1]))))


@INDEXING.case(like.SliceLikeOp)
def slice_like(g: Graph) -> None:
    x = g.input(g.numbers("float32", 3, 4, 33))
    y = g.input(g.numbers("int8", 2, 3, 17))
    for axes in (None, [0], [1, -1], [2]):
        g.show(like.SliceLikeOp(x, y, axes), BITS)
    g.show(like.SliceLikeOp(x, g.input(g.numbers("int8", 0, 3))), BITS)


@INDEXING.each((like.ShapeOfOp, like.NdarraySizeOp), DTYPES)
def shapes_as_values(g: Graph, dtype: str) -> None:
    for shape in ((), (7,), (3, 0, 5), (2, 3, 4, 5, 60), (300, 70)):
        x, type_ = g.input(g.numbers("float32", *shape)), element_type_of(np.dtype(dtype))
        g.show(like.ShapeOfOp(x, type_))
        g.show(like.NdarraySizeOp(x, type_))
        g.show(like.ShapeOfOp(x))
        g.show(like.NdarraySizeOp(x))


# creation


@INDEXING.each((creation.ArangeOp,), (*FLOATS, *INTEGERS))
def arange(g: Graph, dtype: str) -> None:
    ranges: list[tuple[Any, Any, Any]] = [(0, 20, 1), (1, 20, 3), (3, 3, 1), (3, 2, 1), (0, 100, 7)]
    if not dtype.startswith("u"):
        ranges += [(20, 1, -1), (-5, 5, 2)]
    if dtype.startswith("f"):
        ranges += [(0.5, 4.75, 0.25), (1, -1, -0.375)]
    for numbers in ranges:
        scalars = [g.constant(np.array(number, dtype)) for number in numbers]
        for other in (dtype, "float32", "int64"):
            g.show(creation.ArangeOp(*scalars, element_type_of(np.dtype(other))))


@INDEXING.each((creation.OneHotOp,), INTEGERS)
def one_hot(g: Graph, dtype: str) -> None:
    for shape, axis in (((), 0), ((33,), -1), ((33,), 0), ((3, 0), 1), ((3, 4, 5), 1)):
        index = indices(g, dtype, shape, 5)
        on, off = g.input(np.float32(1.5)), g.input(np.float32(-2.5))
        g.show(creation.OneHotOp(index, on, off, 5, axis=axis))
        g.show(creation.OneHotOp(index, on, off, 17, axis=axis, dtype=i64))
        many = g.input(g.rng.integers(0, 90, (3, 33)).astype(dtype))
        g.show(creation.OneHotOp(many, on, off, 67, axis=axis, dtype=f32))
        hot = g.op(creation.OneHotOp(index, on, off, 3, axis=axis, dtype=f32))
        g.show(unary.NegativeOp(hot))
    limits = np.iinfo(dtype)
    index = g.input(np.array([limits.min, 0, 15, 16, 66, 78, 79, limits.max], dtype))
    for kind in (f32, i8):
        g.show(creation.OneHotOp(index, on, off, 79, dtype=kind))


# reorder


@INDEXING.each((reorder.ReverseOp,), DTYPES)
def reverse(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        x = g.input(g.numbers(dtype, *shape))
        for axis in (None, *range(len(shape))):
            g.show(reorder.ReverseOp(x, axis), BITS)
    y = g.op(reorder.ReverseOp(g.input(g.numbers(dtype, 3, 17)), -1))
    g.show(transform.TransposeOp(y), BITS)


@INDEXING.each((reorder.ReverseSequenceOp,), INTEGERS)
def reverse_sequence(g: Graph, dtype: str) -> None:
    for kind, width in (("float32", 5), ("float32", 37), ("int8", 70)):
        x = g.input(g.numbers(kind, 4, 9, width))
        for axis, batch in ((1, 0), (0, 1), (2, 1), (1, 2), (-1, 0), (1, 1)):
            lengths = indices(g, dtype, ((4, 9, width)[batch],), 9)
            op = reorder.ReverseSequenceOp(x, lengths, seq_axis=axis, batch_axis=batch)
            g.show(op, BITS)


@INDEXING.each((reorder.SequenceMaskOp,), DTYPES)
def sequence_mask(g: Graph, dtype: str) -> None:
    for lengths in ("int32", "float32", "uint8", "float64", "bool", "int64"):
        for axis, value in ((0, 0.0), (1, -1.75), (0, 300.0), (1, 0.75)):
            x = g.input(g.numbers(dtype, 5, 6, 3))
            valid = g.input(g.numbers(lengths, 6 if axis == 0 else 5))
            g.show(reorder.SequenceMaskOp(x, valid, mask_value=value, axis=axis), BITS)


@INDEXING.each((reorder.MeshgridOp,), ("float32", "int8", "bool"))
def meshgrid(g: Graph, dtype: str) -> None:
    for shapes in (
        ((7,),),
        ((3,), (17,)),
        ((3,), (), (5,)),
        ((0,), (2,)),
        ((2,), (3,), (4,), (5,)),
    ):
        for indexing_ in ("ij", "xy"):
            data = g.op(TupleOp([g.input(g.numbers(dtype, *shape)) for shape in shapes]))
            g.show(reorder.MeshgridOp(data, indexing=indexing_), BITS)


@INDEXING.each((reorder.SlidingWindowOp,), ("float32", "uint8"))
def sliding_window(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 2, 3, 12, 13))
    g.show(reorder.SlidingWindowOp(x, 1, [3, 4, 5], [1, 2, 3]), BITS)
    g.show(reorder.SlidingWindowOp(x, 3, [13], [1]), BITS)
    g.show(reorder.SlidingWindowOp(x, -2, [1, 2], [5, 1]), BITS)


@INDEXING.each((reorder.TriluOp,), DTYPES)
def trilu(g: Graph, dtype: str) -> None:
    for shape in ((5, 7), (2, 3, 17), (4, 4), (0, 3), (1, 1)):
        for k in (0, 1, -2, 40, -40, 2**63 - 1, -(2**63)):
            for upper in (True, False):
                x, number = g.input(g.numbers(dtype, *shape)), g.input(np.int64(k))
                g.show(reorder.TriluOp(x, number, upper=upper), BITS)
    for k, upper in product((0, 3, -3, 15, 16, 17, 60, -60), (True, False)):
        wide = g.input(g.numbers(dtype, 9, 79))
        g.show(reorder.TriluOp(wide, g.input(np.int32(k)), upper=upper), BITS)
    big = g.input(np.uint64(2**64 - 1))
    g.show(reorder.TriluOp(g.input(g.numbers(dtype, 3, 3)), big, upper=False), BITS)


@INDEXING.each((reorder.MatrixSetDiagOp,), DTYPES)
def matrix_set_diag(g: Graph, dtype: str) -> None:
    for rows, columns in ((4, 4), (3, 5), (5, 3), (1, 6)):
        for low, high in ((0, 0), (-1, 1), (0, 2), (-2, 0), (1, 2), (1, 1), (-1, -1)):
            if not (-rows < low and high < columns):
                continue
            length = reorder.diagonal_length(rows, columns, low, high)
            count = () if low == high else (high - low + 1,)
            for right in share(dtype, range(4)):
                x = g.input(g.numbers(dtype, 2, rows, columns))
                d = g.input(g.numbers(dtype, 2, *count, length))
                op = reorder.MatrixSetDiagOp(
                    *(x, d),
                    k1=low,
                    k2=high,
                    super_diag_right_align=bool(right & 1),
                    sub_diag_right_align=bool(right & 2),
                )
                g.show(op, BITS)


@INDEXING.each((reorder.UnravelIndexOp, reorder.InvertPermutationOp), INTEGERS)
def permutations(g: Graph, dtype: str) -> None:
    for shape in ((), (17,), (3, 4), (0,)):
        data = g.input(np.asarray(g.rng.integers(0, 60, shape)).astype(dtype))
        for dims in ((3, 4, 5), (60,), (5, 0, 2), (1, 100)):
            g.show(reorder.UnravelIndexOp(data, g.input(np.array(dims, dtype))))
        odd = g.input(g.numbers(dtype, *shape))
        g.show(reorder.UnravelIndexOp(odd, g.input(g.numbers(dtype, 3))))
    for length in (0, 1, 17, 100):
        data = g.input(g.rng.permutation(length).astype(dtype))
        g.show(reorder.InvertPermutationOp(data))
        g.show(reorder.InvertPermutationOp(g.input(g.numbers(dtype, length))))


# indexing


@INDEXING.each(
    (indexing.TakeOp, indexing.GatherNDOp), ("int8", "int32", "int64", "uint8", "uint64")
)
def gathers(g: Graph, index: str) -> None:
    def places(*shape: int) -> SSAValue:
        found = g.small(index, *shape, low=-20, high=20)
        return g.input(np.where(g.rng.random(shape) < 0.2, g.numbers(index, *shape), found))

    for dtype in ("float32", "int8" if index == "int32" else "bool"):
        x = g.input(g.numbers(dtype, 4, 5, 17))
        for mode in ("clip", "wrap", "fast"):
            for axis, shape in product((None, 0, 1, -1), ((), (3,), (2, 3), (0,))):
                if mode != "fast" or shape == (3,):
                    g.show(indexing.TakeOp(x, places(*shape), axis=axis, mode=mode), BITS)
            g.show(indexing.TakeOp(x, places(4, 3), axis=1, batch_dims=1, mode=mode), BITS)
            g.show(indexing.TakeOp(x, places(4, 5), axis=2, batch_dims=2, mode=mode), BITS)
        g.show(indexing.TakeOp(g.input(g.numbers(dtype)), places(2)), BITS)
        for shape in ((1, 6), (2, 3), (3, 2, 2), (3,), (0, 2)):
            g.show(indexing.GatherNDOp(x, places(*shape)), BITS)
        g.show(indexing.GatherNDOp(x, places(1, 4, 2), batch_dims=1), BITS)
        g.show(indexing.GatherNDOp(x, places(2, 4), batch_dims=1), BITS)
        g.show(indexing.GatherNDOp(x, places(1, 4, 5), batch_dims=2), BITS)


@INDEXING.each((indexing.GatherOp, indexing.AdvIndexOp), INTEGERS)
def gather(g: Graph, dtype: str) -> None:
    for data, shape, axis in (
        ((5,), (9,), 0),
        ((5, 7), (5, 33), 1),
        ((5, 7), (8, 4), 0),
        ((3, 4, 5), (3, 2, 5), -2),
        ((3, 4), (0, 4), None),
    ):
        x = g.input(g.numbers("float32", *data))
        index = indices(g, dtype, shape, data[axis or 0])
        g.show(indexing.GatherOp(x, index, axis), BITS)
    for data, shapes in (
        ((10, 5), ((3, 4), (3, 1))),
        ((10, 5, 7), ((3, 4), (4,))),
        ((10, 5, 7), ((),)),
        ((10, 5), ((2, 0),)),
        ((4, 5, 6), ((2,), (2,), (2,))),
    ):
        fields = [g.input(g.numbers("float32", *data))]
        fields += [indices(g, dtype, s, dim) for s, dim in zip(shapes, data, strict=False)]
        g.show(indexing.AdvIndexOp(g.op(TupleOp(fields))), BITS)


@INDEXING.each((indexing.ScatterOp, indexing.ScatterAddOp), DTYPES)
def scatter(g: Graph, dtype: str) -> None:
    for data, shape, axis in (
        ((10,), (23,), 0),
        ((5, 7), (5, 3), 1),
        ((5, 7), (9, 4), 0),
        ((3, 4, 5), (2, 2, 5), -2),
        ((3, 4), (0, 4), 0),
        ((0, 4), (2, 4), 0),
        ((5, 7), (3, 3), 1),
    ):
        for kind in share(dtype, ("int32", "int64", "uint8", "uint64")):
            index = indices(g, kind, shape, max(data[axis], 1))
            x, updates = g.input(g.numbers(dtype, *data)), g.input(g.numbers(dtype, *shape))
            g.show(indexing.ScatterOp(x, index, updates, axis=axis), BITS)
            g.show(indexing.ScatterAddOp(x, index, updates, axis=axis))


@INDEXING.each((indexing.ScatterNDOp,), DTYPES)
def scatter_nd(g: Graph, dtype: str) -> None:
    for data, shape, updates in (
        ((10,), (1, 23), (23,)),
        ((2, 2), (2, 3), (3,)),
        ((4, 5), (1, 3), (3, 5)),
        ((4, 2), (2,), ()),
        ((2, 7, 3), (2, 2, 5), (2, 5, 3)),
        ((3,), (1, 0), (0,)),
        ((3, 2), (0, 2), (2, 3, 2)),
        ((4, 79), (1, 9), (9, 79)),
        ((2, 3, 67), (1, 5), (5, 3, 67)),
        ((2, 3, 16), (2, 4), (4, 16)),
        ((5, 0), (1, 3), (3, 0)),
    ):
        for mode in indexing.SCATTER_MODES:
            values = [np.zeros(shape[1:], int)] if shape[0] == 0 else []
            dims = data[: shape[0]]
            values += [np.asarray(g.rng.integers(-d - 2, d + 2, shape[1:])) for d in dims]
            index = g.input(np.stack(values[-max(shape[0], 1) :])[: shape[0]].astype(np.int64))
            x, update = g.input(g.numbers(dtype, *data)), g.input(g.numbers(dtype, *updates))
            g.show(indexing.ScatterNDOp(x, index, update, mode), BITS if mode == "update" else 0)
    # Others compute with what is written, and with what writes it.
    x, update, rows = (g.input(g.numbers(dtype, n, 35)) for n in (6, 4, 6))
    index = g.input(np.array([[1, 4, 1, -6]]))
    whole = g.op(indexing.ScatterNDOp(g.op(transform.WhereOp(x, x, rows)), index, update, "update"))
    g.show(transform.WhereOp(whole, rows, whole))


@INDEXING.each((indexing.StridedSetOp,), ("int8", "int32", "int64", "uint16", "uint64"))
def strided_set(g: Graph, dtype: str) -> None:
    for i in range(24):
        data = [(9,), (5, 8), (3, 4, 6)][i % 3]
        count = int(g.rng.integers(0, len(data) + 1))
        low = 0 if dtype.startswith("u") else -12
        begin, end = (g.rng.integers(low, 13, count) for _ in range(2))
        stride = g.rng.integers(max(low, -3), 4, count)
        new = [dim if d >= count else int(g.rng.integers(1, 4)) for d, dim in enumerate(data)]
        operands = [g.input(x.astype(dtype)) for x in (begin, end, stride)]
        x, v = g.input(g.numbers("float32", *data)), g.input(g.numbers("float32", *new))
        g.show(indexing.StridedSetOp(x, v, *operands), BITS)
    if dtype == "int64":
        least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        x, v = g.input(g.numbers("float32", 9)), g.input(g.numbers("float32", 3))
        for numbers in ((least, most, most), (most, least, least), (most, least, -1)):
            operands = [g.input(np.array([n], dtype)) for n in numbers]
            g.show(indexing.StridedSetOp(x, v, *operands), BITS)


@INDEXING.each((indexing.SparseToDenseOp,), DTYPES)
def sparse_to_dense(g: Graph, dtype: str) -> None:
    for shape, index, values in (
        ((5,), (3,), (3,)),
        ((5,), (), ()),
        ((5,), (3, 1), ()),
        ((3, 4), (6, 2), (6,)),
        ((2, 3, 4), (0, 3), (0,)),
    ):
        for kind in ("int32", "int64", "uint8"):
            where = indices(g, kind, index, min(shape), 1)
            sparse, default = g.input(g.numbers(dtype, *values)), g.input(g.numbers(dtype))
            g.show(indexing.SparseToDenseOp(where, sparse, default, shape), BITS)
