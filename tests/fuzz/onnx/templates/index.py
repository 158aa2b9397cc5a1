"""Nodes of operators that read or write at places that other tensors say, and that sort."""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.fuzz.onnx.growth import Growth, Tensor, Unfit, longs
from tests.fuzz.onnx.templates.template import Template
from tests.fuzz.onnx.values import is_float, random_shape


def gather(g: Growth, op: str) -> None:
    """Indices of any shape."""
    data = g.pick(op, "data", rank=(1, 4), nonempty=True)
    axis = g.axis(data.rank)
    shape = random_shape(g.rng, g.choice(0, 1, 1, 2), wide=False)
    indices = g.indices(
        shape, data.shape[axis], negative=g.opset >= 11, dtype=g.choice("int64", "int32")
    )
    g.node(op, data=data, indices=indices, axis=axis)


def gather_elements(g: Growth, op: str) -> None:
    """Indices of the data's shape, shorter or longer along the axis."""
    data = g.pick(op, "data", rank=(1, 4), nonempty=True)
    axis = g.axis(data.rank)
    shape = list(data.shape)
    shape[axis] = g.choice(1, 2, shape[axis], shape[axis] + 1)
    g.node(op, data=data, indices=g.indices(shape, data.shape[axis]), axis=axis)


def _tuples(g: Growth, shape: Sequence[int], lengths: Sequence[int], distinct: bool) -> Tensor:
    """Indices of several axes in the last axis."""
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    count, places = int(np.prod(shape, dtype=int)), int(np.prod(lengths, dtype=int))
    if distinct and count > places:
        raise Unfit("there are too few places")
    flat = numbers.choice(places, count, replace=not distinct)
    found = np.stack(np.unravel_index(flat, tuple(lengths)), axis=-1)
    if g.chance(0.3) and g.opset >= 12:
        found = found - np.array(lengths) * numbers.integers(0, 2, (count, 1))
    return g.leaf(found.reshape(*shape, len(lengths)).astype(np.int64), 0.5)


def gather_nd(g: Growth, op: str) -> None:
    """Indices of one or more axes."""
    data = g.pick(op, "data", rank=(1, 4), nonempty=True)
    batch = g.choice(0, 0, 1) if g.opset >= 12 and data.rank > 1 else 0
    depth = g.rng.randint(1, data.rank - batch)
    shape = [*data.shape[:batch], *random_shape(g.rng, g.choice(0, 1, 2), wide=False)]
    indices = _tuples(g, shape, data.shape[batch : batch + depth], False)
    g.node(op, data=data, indices=indices, batch_dims=batch or None)


REDUCTIONS = {18: ("none", "add", "mul", "max", "min"), 16: ("none", "add", "mul"), 0: ("none",)}


def _reduction(g: Growth) -> str:
    return g.choice(*next(each for since, each in REDUCTIONS.items() if g.opset >= since))


def scatter_elements(g: Growth, op: str) -> None:
    """Places that differ where one update would overwrite another."""
    data = g.pick(op, "data", rank=(1, 4), nonempty=True)
    axis = g.axis(data.rank)
    reduction = _reduction(g) if op == "ScatterElements" else "none"
    shape = list(data.shape)
    shape[axis] = g.rng.randint(1, shape[axis])
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    order = np.argsort(numbers.random(data.shape), axis=axis)
    indices = np.take(order, range(shape[axis]), axis=axis)
    if reduction != "none" and g.chance(0.5):
        indices = indices // 2
    if g.opset >= 11 and g.chance(0.3):
        indices = indices - data.shape[axis]
    g.node(
        op,
        data=data,
        indices=g.leaf(indices.astype(np.int64), 0.5),
        updates=g.new(data.dtype, shape),
        axis=axis,
        reduction=None if reduction == "none" else reduction,
    )


def scatter_nd(g: Growth, op: str) -> None:
    """Places of one or more axes."""
    data = g.pick(op, "data", rank=(1, 4), nonempty=True)
    reduction = _reduction(g)
    depth = g.rng.randint(1, data.rank)
    shape = random_shape(g.rng, g.choice(0, 1, 1, 2), wide=False)
    indices = _tuples(g, shape, data.shape[:depth], reduction == "none")
    g.node(
        op,
        data=data,
        indices=indices,
        updates=g.new(data.dtype, [*shape, *data.shape[depth:]]),
        reduction=None if reduction == "none" else reduction,
    )


def tensor_scatter(g: Growth, op: str) -> None:
    """Rows are written into a cache."""
    batch, length, width = g.choice(1, 2), g.choice(4, 6), g.choice(2, 3, 8)
    count = g.choice(1, 2, 3)
    mode = g.choice("linear", "circular")
    starts = [g.rng.randint(0, length - (count if mode == "linear" else 1)) for _ in range(batch)]
    dtype = g.choice("float32", "float32", "float16", "int64")
    middle = [g.choice(1, 2)] if g.chance(0.5) else []
    g.node(
        op,
        past_cache=g.new(dtype, (batch, *middle, length, width)),
        update=g.new(dtype, (batch, *middle, count, width)),
        write_indices=None if g.chance(0.3) else g.leaf(longs(*starts)),
        mode=mode,
    )


def one_hot(g: Growth, op: str) -> None:
    """Indices in and out of the range."""
    indices = g.pick(op, "indices", rank=(0, 3), where=lambda a: is_whole(a), nonempty=True)
    depth = np.array(g.choice(1, 2, 3, 5, 8), g.choice("int64", "int32"))
    values = g.leaf(np.array([0, 1], g.choice("float32", "int64", "int32")), 0.8)
    if g.chance(0.3):
        values = g.leaf(np.array([-1.5, 2.0], "float32"))
    axis = g.rng.randint(-indices.rank - 1, indices.rank)
    g.node(op, indices=indices, depth=depth, values=values, axis=axis)


def is_whole(array: np.ndarray) -> bool:
    """Whether all elements are small whole numbers."""
    wide = array.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return bool(((np.abs(wide) < 1000) & (wide == np.rint(wide))).all())


def compress(g: Growth, op: str) -> None:
    """A constant condition, shorter than the axis at times."""
    data = g.pick(op, "input", rank=(1, 4), nonempty=True)
    axis = None if g.chance(0.3) else g.rng.randrange(data.rank)
    length = data.array.size if axis is None else data.shape[axis]
    count = g.rng.randint(1, min(length, 50))
    chosen = [g.chance(0.6) for _ in range(count)]
    g.node(op, input=data, condition=np.array(chosen), axis=axis)


def non_zero(g: Growth, op: str) -> None:
    """Of a constant: the result's shape depends on it."""
    shape = random_shape(g.rng, g.choice(1, 2, 3), wide=False)
    numbers = np.random.default_rng(g.rng.getrandbits(63))
    array = np.asarray(numbers.integers(0, 2, shape)).astype(g.choice("float32", "int64", "bool"))
    g.node(op, X=array)


def top_k(g: Growth, op: str) -> None:
    """The largest or smallest elements of an axis."""
    data = g.pick(op, "X", rank=(1, 4), where=lambda a: not np.isnan(a).any(), nonempty=True)
    axis = g.axis(data.rank)
    k = g.rng.randint(1, data.shape[axis])
    count = longs(k) if g.opset >= 10 else k
    largest = g.choice(0, 1) if g.opset >= 11 else None
    g.node(op, 2, X=data, **{"K" if g.opset >= 10 else "k": count}, axis=axis, largest=largest)


def extreme_index(g: Growth, op: str) -> None:
    """The first or the last of equal elements."""
    data = g.pick(op, "data", rank=(1, 5), nonempty=True)
    last = g.choice(0, 1) if g.opset >= 12 else None
    axis = g.axis(data.rank) if g.opset >= 11 else g.rng.randrange(data.rank)
    g.node(op, data=data, axis=axis, keepdims=g.choice(0, 1), select_last_index=last)


def hardmax(g: Growth, op: str) -> None:
    """One at the largest element."""
    data = g.pick(op, "input", rank=(1, 4), where=lambda a: not np.isnan(a).any(), nonempty=True)
    g.node(op, input=data, axis=g.axis(data.rank) if g.opset >= 11 else 0)


def cumulative(g: Growth, op: str) -> None:
    """Sums or products from either end."""
    data = g.pick(op, "x", rank=(1, 4), where=lambda a: not is_float(a) or abs(a).sum() < 1e4)
    axis = np.array(g.axis(data.rank), g.choice("int64", "int32"))
    g.node(op, x=data, axis=axis, exclusive=g.choice(0, 1), reverse=g.choice(0, 1))


INDEX_TEMPLATES: Mapping[str, Template] = {
    **dict.fromkeys(("ArgMax", "ArgMin"), extreme_index),
    **dict.fromkeys(("CumSum", "CumProd"), cumulative),
    "Compress": compress,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Hardmax": hardmax,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "TopK": top_k,
}
