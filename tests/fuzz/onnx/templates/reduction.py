"""Nodes of operators that reduce axes, normalise along them, or multiply matrices."""

from collections.abc import Mapping

import numpy as np

from tests.fuzz.onnx.growth import Growth, Unfit, longs, schema_of
from tests.fuzz.onnx.templates.template import Template


def reduce(g: Growth, op: str) -> None:
    """Some axes, all of them, or none."""
    data = g.pick(op, "data", rank=(0, 5), nonempty=g.chance(0.97))
    keep = g.choice(0, 1)
    if not data.rank or g.chance(0.15):
        g.node(op, data=data, keepdims=keep)
        return
    if g.chance(0.05) and g.opset >= 18:
        g.node(op, data=data, keepdims=keep, noop_with_empty_axes=1)
        return
    axes = g.axes(data.rank)
    if g.opset < 11:
        axes = [axis % data.rank for axis in axes]
    g.node(op, data=data, axes=longs(*axes), keepdims=keep)


def along_axis(g: Growth, op: str) -> None:
    """Softmax and what is like it."""
    (formal,) = schema_of(op, g.opset).inputs
    data = g.pick(op, formal.name, rank=(1, 5), nonempty=True)
    axis = g.axis(data.rank) if g.opset >= 11 else g.rng.randrange(data.rank)
    p = g.choice(1, 2) if op == "LpNormalization" else None
    g.node(op, **{formal.name: data}, axis=axis, p=p)


def layer_norm(g: Growth, op: str) -> None:
    """Scales, and shifts at times, of the last axes."""
    first = schema_of(op, g.opset).inputs[0].name
    data = g.pick(op, first, rank=(1, 4), nonempty=True)
    axis = g.choice(-1, -1, g.axis(data.rank))
    shape = data.shape[axis % data.rank :]
    if op == "RMSNormalization":
        g.node(op, X=data, scale=g.weight(data.dtype, shape), axis=axis)
        return
    shift = g.weight(data.dtype, shape) if g.chance(0.7) else None
    outputs = g.choice(1, 1, 3) if data.dtype == np.float32 else 1
    g.node(op, outputs, X=data, Scale=g.weight(data.dtype, shape), B=shift, axis=axis)


def simplified_norm(g: Growth, op: str) -> None:
    """onnxruntime's root mean square normalisation, of the last axis."""
    finds = g.find(lambda a: a.dtype == np.float32 and 1 <= a.ndim <= 4 and a.size > 0)
    data = g.choice(*finds) if finds and g.chance(0.8) else g.new("float32", (3, 8))
    if not data.array.size:
        raise Unfit("there are no elements")
    scale = g.weight(data.dtype, data.shape[-1:])
    g.raw_node(op, [data, scale], axis=-1, epsilon=g.choice(1e-5, 1e-2))


def statistics(g: Growth, op: str) -> None:
    """A mean and a variance of given axes."""
    data = g.pick(op, "X", rank=4, nonempty=True)
    g.node(op, X=data, axes=g.axes(4) if g.chance(0.6) else None)


def matmul(g: Growth, op: str) -> None:
    """Matrices, vectors, batches that are broadcast."""
    data = g.pick(op, "A", rank=(1, 4), nonempty=True)
    k = data.shape[-1]
    shape = [k] if g.chance(0.1) else [k, g.choice(1, 2, 3, 5, 8, 16, 17, 33)]
    if len(shape) == 2 and g.chance(0.4):
        shape = [g.choice(1, n) for n in data.shape[:-2]] + shape

    def fits(array: np.ndarray) -> bool:
        if array.dtype != data.dtype or array.ndim < 2 or array.shape[-2] != k or array is data:
            return False
        pairs = zip(reversed(array.shape[:-2]), reversed(data.shape[:-2]), strict=False)
        return all(a == b or 1 in (a, b) for a, b in pairs)

    found = g.find(fits)
    other = g.choice(*found) if found and g.chance(0.5) else g.weight(data.dtype, shape)
    g.node(op, A=data, B=other)


def gemm(g: Growth, op: str) -> None:
    """Transposed operands, factors, a bias that is broadcast."""
    data = g.pick(op, "A", rank=2, nonempty=True)
    transposed = g.choice(0, 0, 1)
    m, k = data.shape if not transposed else reversed(data.shape)
    n = g.choice(1, 2, 3, 5, 8, 16, 17, 33)
    turned = g.choice(0, 1)
    bias = None
    if g.chance(0.8) or g.opset < 11:
        bias = g.weight(data.dtype, g.choice((n,), (1, n), (m, n), (m, 1), (), (1,)))
    g.node(
        op,
        A=data,
        B=g.weight(data.dtype, (n, k) if turned else (k, n)),
        C=bias,
        transA=transposed,
        transB=turned,
        alpha=1.0 if data.dtype.kind != "f" else g.choice(1.0, 0.5, -2.0),
        beta=1.0 if data.dtype.kind != "f" else g.choice(1.0, 0.5, 2.0),
    )


EQUATIONS = (
    ("ij,jk->ik", "ij", "jk"),
    ("ij,kj->ik", "ij", "kj"),
    ("bij,bjk->bik", "bij", "bjk"),
    ("bij,bkj->bik", "bij", "bkj"),
    ("bhid,bhjd->bhij", "bhid", "bhjd"),
    ("ij->ji", "ij"),
    ("ij->i", "ij"),
    ("ij->", "ij"),
    ("ii->i", "ii"),
    ("i,i->", "i", "i"),
    ("i,j->ij", "i", "j"),
    ("ij,j->i", "ij", "j"),
    ("bij,jk->bik", "bij", "jk"),
    ("...ij,...jk->...ik", "ij", "jk"),
    ("ij,jk,kl->il", "ij", "jk", "kl"),
)


def einsum(g: Growth, op: str) -> None:
    """Products of two or three tensors, sums, transposes, diagonals."""
    equation, *operands = g.choice(*EQUATIONS)
    lengths = {letter: g.choice(1, 2, 3, 4, 5, 8) for letter in "bhdijkl"}
    dtype = g.choice("float32", "float32", "float64", "int32")
    tensors = [g.new(dtype, [lengths[letter] for letter in each]) for each in operands]
    g.raw_node(op, tensors, equation=equation)


REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]

REDUCTION_TEMPLATES: Mapping[str, Template] = {
    **{f"Reduce{kind}": reduce for kind in REDUCTIONS},
    **dict.fromkeys(("Softmax", "LogSoftmax", "LpNormalization"), along_axis),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), layer_norm),
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
    "MeanVarianceNormalization": statistics,
    "SimplifiedLayerNormalization": simplified_norm,
}
