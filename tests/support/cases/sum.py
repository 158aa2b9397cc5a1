"""Kernel cases of variance, Einstein sums, the Fourier transform, sparse coordinates, annotations."""

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import i8

from cases.kernel import DTYPES, FLOATS, SIGNED, CaseTable, share
from xrelay.dialects.core import annotation
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.qnn import simulate as quantize
from xrelay.dialects.sparse import coordinates as sparse_coordinates
from xrelay.dialects.tensor import einsum, indexing, stft, unary
from xrelay.dialects.tensor import reduce as reduction

SUMS = CaseTable()


@SUMS.each((reduction.VarianceOp,), FLOATS)
def variance(g: Graph, dtype: str) -> None:
    for shape, axis in (
        ((3, 5, 17), None),
        ((3, 5, 17), (1,)),
        ((3, 5, 17), (-1,)),
        ((3, 5, 17), (0, 2)),
        ((40,), (0,)),
        ((3, 0), (1,)),
        ((1, 4), (0,)),
        ((), ()),
    ):
        x = g.small(dtype, *shape)
        mean = g.small(dtype, *(1 if axis is None or d in axis else s for d, s in enumerate(shape)))
        for flags in range(4):
            op = reduction.VarianceOp(
                *(g.input(x), g.input(mean)),
                axis=axis,
                keepdims=bool(flags & 1),
                unbiased=bool(flags & 2),
            )
            g.show(op, 1)
    whole = g.input(g.small(dtype, 3, 5))
    g.show(reduction.VarianceOp(whole, whole, axis=[0], exclude=True), 1)
    g.show(reduction.VarianceOp(whole, g.input(g.small(dtype)), axis=[0]), 1)


@SUMS.each((einsum.EinsumOp,), DTYPES)
def einsums(g: Graph, dtype: str) -> None:
    for equation, *shapes in (
        ("ij,jk->ik", (3, 4), (4, 17)),
        ("ij,jk", (3, 4), (4, 2)),
        ("ii->i", (5, 5)),
        ("ii", (5, 5)),
        ("ij->ji", (3, 17)),
        ("i,j,k->kij", (2,), (3,), (4,)),
        ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
        ("b...,b->...", (3, 2, 4), (3,)),
        ("ij,ij->", (3, 1), (1, 4)),
        ("bihd,bjhd->bhij", (2, 3, 2, 5), (2, 4, 2, 5)),
        ("bhij,bjhd->bihd", (1, 2, 3, 4), (1, 4, 2, 5)),
        ("ij,kj->ki", (3, 4), (5, 4)),
        ("bi,bi->b", (3, 17), (3, 17)),
        ("ij,k->jk", (3, 4), (2,)),
        ("ij,jk,kl->il", (2, 9), (9, 3), (3, 2)),
        ("ab,acb,cd->da", (3, 2), (3, 1, 2), (4, 5)),
        ("i,i,i->", (5,), (5,), (5,)),
        ("ii,ij->j", (3, 3), (3, 4)),
        (" i , i -> ", (0,), (0,)),
        ("->", ()),
        ("aB,Bc->ca", (2, 3), (3, 4)),
        ("...", (2, 3)),
    ):
        data = g.op(TupleOp([g.input(g.small(dtype, *shape)) for shape in shapes]))
        g.show(einsum.EinsumOp(data, equation))


@SUMS.each((einsum.EinsumOp,), ("float16", "bfloat16", "float32"))
def einsums_of_large_numbers(g: Graph, dtype: str) -> None:
    """Products, and sums of some of them, are more than the largest f16; what is rounded is the sum alone."""
    x, y = np.array([[300, 300, 1]], dtype), np.array([[300, -300, 1]], dtype)
    for equation, first, second in (
        ("bi,bi->b", x, y),
        ("i,i->", x[0], y[0]),
        ("ij,jk->ik", x, y.T.copy()),
        ("bij,bkj->bik", x[None], y[None]),
        ("ij,kj->", x, y),
        ("bi,bi->b", np.tile(x, (7, 40)), np.tile(y, (7, 40))),
    ):
        data = g.op(TupleOp([g.input(first), g.input(second)]))
        g.show(einsum.EinsumOp(data, equation))


@SUMS.each((stft.StftOp,), FLOATS)
def fourier(g: Graph, dtype: str) -> None:
    for batch, samples, size, hop, length in (
        (1, 8, 8, 1, 8),
        (2, 40, 16, 5, 16),
        (1, 20, 7, 3, 5),
        (2, 9, 1, 1, 1),
        (0, 9, 4, 2, 4),
    ):
        x, window = (g.rng.uniform(-1, 1, s).astype(dtype) for s in ((batch, samples), (length,)))
        for flags in share(dtype, range(4)):
            op = stft.StftOp(
                *(g.input(x), g.input(window), size, hop, length),
                normalized=bool(flags & 1),
                onesided=bool(flags & 2),
            )
            g.show(op, 20)


@SUMS.each((sparse_coordinates.SparseReshapeOp,), (*SIGNED, "uint8", "uint64"))
def sparse_reshape(g: Graph, dtype: str) -> None:
    for old, new in (((3, 4), (2, 6)), ((3, 4), (12,)), ((12,), (2, 3, 2)), ((2, 5), (1, 10, 1))):
        rows = np.stack([g.rng.integers(0, dim, 7) for dim in old], 1).astype(dtype)
        operands = [g.input(rows), g.input(np.array(old, dtype))]
        g.show(sparse_coordinates.SparseReshapeOp(*operands, g.input(np.array(new, dtype))))
        if not dtype.startswith("u"):
            codes = np.array([-1, *new[1:]], dtype)
            pair = g.show(sparse_coordinates.SparseReshapeOp(*operands, g.input(codes)))
            g.show(unary.NegativeOp(g.op(TupleGetItemOp(pair, 0))))
    odd = [g.input(g.numbers(dtype, *shape)) for shape in ((5, 3), (3,), (4,))]
    g.show(sparse_coordinates.SparseReshapeOp(*odd))


@SUMS.each((quantize.SimulatedQuantizeOp,), FLOATS)
def simulated_quantize(g: Graph, dtype: str) -> None:
    scalars = [g.input(np.array(number, dtype)) for number in (0.25, -7, 7)]
    for rounding in ("round", "floor", "ceil"):
        for kind in range(4):
            for shape in ((), (67,), (3, 5)):
                x = g.input(g.numbers(dtype, *shape))
                op = quantize.SimulatedQuantizeOp(x, *scalars, kind, rounding=rounding)
                g.show(op)


@SUMS.case(annotation.CastHintOp, annotation.CheckpointOp)
def annotations(g: Graph) -> None:
    x = g.input(g.numbers("float32", 4, 5))
    g.show(unary.NegativeOp(g.op(annotation.CastHintOp(g.op(unary.AbsOp(x)), i8))))
    g.show(annotation.CheckpointOp(x), BITS)
    pair = g.op(annotation.CheckpointOp(g.op(TupleOp([x, g.op(unary.NegativeOp(x))]))))
    g.show(TupleGetItemOp(pair, 1))
    index = g.input(np.zeros((4, 5), np.int32))
    g.show(indexing.ScatterOp(g.op(annotation.CheckpointOp(x)), index, x))
