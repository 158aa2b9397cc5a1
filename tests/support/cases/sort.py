"""Kernel cases of sorting, searching and accumulating."""

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import f16, f32, i1, i8, i64

from cases.kernel import DTYPES, CaseTable, share
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.tensor import sort, unary
from xrelay.dialects.tensor.binary import LessOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.interpreters.arrays import Array

SORT = CaseTable()


def with_repetitions(g: Graph, dtype: str, *shape: int) -> Array:
    """Elements of which many are equal."""
    few = g.numbers(dtype, 7)
    return np.asarray(g.rng.choice(few, shape))


@SORT.each((sort.SortOp, sort.ArgsortOp), DTYPES)
def sorting(g: Graph, dtype: str) -> None:
    shapes = (
        *(((n,), 0) for n in (1, 2, 3, 5, 16, 17, 100)),
        *(((3, 17, 2), a) for a in (0, 1, -1)),
        ((0,), 0),
        ((2, 0, 3), 2),
        ((70, 9), 1),
    )
    for shape, axis in share(dtype, shapes):
        for numbers in (g.numbers, lambda *a: with_repetitions(g, *a)):
            x = g.input(numbers(dtype, *shape))
            for ascending in (True, False):
                g.show(sort.SortOp(x, axis=axis, is_ascend=ascending), BITS)
                g.show(sort.ArgsortOp(x, axis=axis, is_ascend=ascending))
    y = g.op(sort.SortOp(g.op(unary.CopyOp(g.input(g.numbers(dtype, 3, 9))))))
    g.show(unary.CopyOp(y), BITS)


@SORT.case(sort.ArgsortOp)
def order_in_other_types(g: Graph) -> None:
    x = g.input(g.numbers("float32", 4, 300))
    for dtype in (i8, i64, f32, f16, i1):
        g.show(sort.ArgsortOp(x, dtype=dtype))


@SORT.each((sort.TopkOp,), DTYPES)
def topk(g: Graph, dtype: str) -> None:
    for shape, axis, k in (((33,), 0, 5), ((3, 9), 0, 2), ((3, 9), -1, None), ((2, 5, 4), 1, 0)):
        x = g.input(with_repetitions(g, dtype, *shape))
        for ascending in (True, False):
            for kind in share(dtype, ("both", "values", "indices")):
                op = sort.TopkOp(x, k, axis=axis, is_ascend=ascending, ret_type=kind, dtype=i64)
                g.show(op, BITS)
    pair = g.op(sort.TopkOp(g.input(g.numbers(dtype, 4, 10)), 3))
    g.show(TupleGetItemOp(pair, 1))
    g.show(unary.CopyOp(g.op(TupleGetItemOp(pair, 0))), BITS)
    g.show(TupleOp([g.op(TupleGetItemOp(pair, 1)), g.op(TupleGetItemOp(pair, 0))]), BITS)


@SORT.each((sort.SearchsortedOp,), DTYPES)
def searchsorted(g: Graph, dtype: str) -> None:
    for sequence, values in (
        ((9,), (4, 5)),
        ((1,), ()),
        ((0,), (3,)),
        ((16,), (0,)),
        ((3, 7), (3, 20)),
        ((2, 3, 8), (2, 3, 1)),
        ((2, 0), (2, 3)),
    ):
        for right in (True, False):
            keys = np.sort(with_repetitions(g, dtype, *sequence), -1)
            wanted = np.asarray(g.rng.choice(np.append(keys, g.numbers(dtype, 5)), values))
            sequence_, values_ = g.input(keys), g.input(wanted.astype(dtype))
            g.show(sort.SearchsortedOp(sequence_, values_, right=right))
            g.show(sort.SearchsortedOp(sequence_, values_, right=right, dtype=i64))


@SORT.each((sort.UniqueOp,), DTYPES)
def unique(g: Graph, dtype: str) -> None:
    for length in (0, 1, 2, 17, 100):
        for x in (g.numbers(dtype, length), with_repetitions(g, dtype, length)):
            for flags in range(4):
                counts = bool(flags & 2)
                op = sort.UniqueOp(g.input(x), sorted=bool(flags & 1), return_counts=counts)
                g.show(op, BITS)


@SORT.each((sort.BoundedArgwhereOp,), DTYPES)
def bounded_argwhere(g: Graph, dtype: str) -> None:
    for shape in ((), (0,), (1,), (17,), (3, 0), (2, 3, 5), (5, 1031)):
        for most in (1, 2, 9):
            numbers = g.numbers(dtype, *shape)
            x = np.where(g.rng.integers(0, most, shape) == 0, numbers, numbers.dtype.type(0))
            both = g.op(sort.BoundedArgwhereOp(g.input(x)))
            count = g.show(TupleGetItemOp(both, 1), BITS)
            rows = g.op(TupleGetItemOp(both, 0))
            # What comes after them is not used.
            places = g.input(np.arange(x.size, dtype=np.int32)[:, None])
            used = g.op(LessOp(places, count))
            g.show(WhereOp(used, rows, g.input(np.zeros((), np.int32))), BITS)


@SORT.each((sort.CumsumOp, sort.CumprodOp), DTYPES)
def scans(g: Graph, dtype: str) -> None:
    for op in (sort.CumsumOp, sort.CumprodOp):
        for shape, axis in (((), None), ((17,), 0), ((3, 5, 4), None), ((3, 5, 4), 1), ((3, 0), 1)):
            for exclusive in (False, True):
                x = g.input(g.numbers(dtype, *shape))
                g.show(op(x, axis, exclusive=exclusive))
                small = g.input(g.small(dtype, *shape))
                for other in share(dtype, (i8, f32, f16, i1, i64)):
                    g.show(op(small, axis, exclusive=exclusive, dtype=other))
