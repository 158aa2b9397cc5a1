"""The NumPy meaning of filled, reshaped, repeated, sliced, joined and chosen tensors."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_oracles import (
    BF16,
    BOOL,
    F32,
    FLOATS,
    INTEGERS,
    broadcastable,
    dims,
    evaluate,
    reference,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
    shapes,
)

from xrelay.dialects.core import values as core
from xrelay.dialects.nn import space
from xrelay.dialects.tensor import creation, reshape, transform
from xrelay.interpreters.arrays import element_type_of


def test_creation():
    for dtype in (*FLOATS, *INTEGERS):
        element = element_type_of(dtype)
        same(evaluate(lambda e=element: creation.ZerosOp([2, 0], e)), np.zeros((2, 0), dtype))
        same(evaluate(lambda e=element: creation.OnesOp([], e)), np.ones((), dtype))
        x = sample(1, (2, 3), dtype)
        same(evaluate(creation.ZerosLikeOp, x), np.zeros((2, 3), dtype))
        same(evaluate(creation.OnesLikeOp, x), np.ones((2, 3), dtype))
        value = np.array(1, dtype)
        same(evaluate(lambda v: creation.FullOp(v, [3, 2]), value), np.ones((3, 2), dtype))


@pytest.mark.parametrize(
    "shape, newshape, allowzero, expected",
    [
        ([2, 3, 4], [4, 0, 2], False, (4, 3, 2)),
        ([2, 3, 4], [6, 1, -1], False, (6, 1, 4)),
        ([2, 3, 4], [-2], False, (2, 3, 4)),
        ([2, 3, 4], [2, -2], False, (2, 3, 4)),
        ([2, 3, 4], [-2, 1, 1], False, (2, 3, 4, 1, 1)),
        ([2, 3, 4], [-3, 4], False, (6, 4)),
        ([2, 3, 4, 5], [-3, -3], False, (6, 20)),
        ([2, 3, 4], [0, -3], False, (2, 12)),
        ([2, 3, 4], [-4, 1, 2, -2], False, (1, 2, 3, 4)),
        ([2, 3, 4], [2, -4, -1, 3, -2], False, (2, 1, 3, 4)),
        ([2, 0], [0, 0], False, (2, 0)),
        ([2, 0], [0, 5], True, (0, 5)),
        ([], [1, -1], False, (1, 1)),
        ([1, 1], [], False, ()),
    ],
)
def test_reshape(shape: list[int], newshape: list[int], allowzero: bool, expected: tuple[int, ...]):
    x = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    found = evaluate(lambda v: reshape.ReshapeOp(v, newshape, allowzero=allowzero), x)
    same(found, x.reshape(expected))
    if all(code >= -1 for code in newshape):
        same(found, reference("Reshape", x, np.array(newshape, np.int64), allowzero=allowzero))


@given(seed=seeds, shape=shapes, data=st.data())
@run_settings
def test_shape_changes(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, np.dtype("int16"))
    rank = len(shape)
    axis, count = data.draw(st.integers(-rank - 1, rank)), data.draw(st.integers(0, 3))
    position = axis % (rank + 1)
    expected = x.reshape([*shape[:position], *[1] * count, *shape[position:]])
    same(evaluate(lambda v: reshape.ExpandDimsOp(v, axis, num_newaxis=count), x), expected)
    same(evaluate(reshape.SqueezeOp, x), np.squeeze(x))
    ones = [i for i, dim in enumerate(shape) if dim == 1]
    named = data.draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    expected = x.reshape([dim for i, dim in enumerate(shape) if i not in named])
    same(evaluate(lambda v: reshape.SqueezeOp(v, [i - rank for i in named]), x), expected)
    if shape:
        flat = x.reshape(shape[0], math.prod(shape[1:]))
        same(evaluate(reshape.BatchFlattenOp, x), flat)
    axes = data.draw(st.permutations(range(rank)))
    oracle = reference("Transpose", x, perm=axes) if rank else x
    same(evaluate(lambda v: transform.TransposeOp(v, axes), x), oracle)
    same(evaluate(transform.TransposeOp, x), x.T)


@given(seed=seeds, pair=broadcastable(1), extra=shapes, data=st.data())
@run_settings
def test_repetition(seed: int, pair: list[list[int]], extra: list[int], data: st.DataObject):
    (shape,) = pair
    x = sample(seed, shape, F32)
    whole_shape = [*extra[:2], *[3 if dim == 1 else dim for dim in shape]]
    oracle = reference("Expand", x, np.array(whole_shape, np.int64))
    same(evaluate(lambda v: transform.BroadcastToOp(v, whole_shape), x), oracle)
    reps = data.draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape)))
    oracle = reference("Tile", x, np.array(reps, np.int64))
    same(evaluate(lambda v: transform.TileOp(v, reps), x), oracle)
    for other in (reps[1:], [2, *reps]):
        same(evaluate(lambda v, r=other: transform.TileOp(v, r), x), np.tile(x, other))
    if shape:
        axis, repeats = data.draw(st.integers(-len(shape), len(shape) - 1)), reps[0]
        found = evaluate(lambda v: transform.RepeatOp(v, repeats, axis), x)
        same(found, np.repeat(x, repeats, axis))


@given(seed=seeds, shape=st.lists(st.integers(0, 6), min_size=1, max_size=3), data=st.data())
@settings(run_settings, max_examples=80)
def test_strided_slice(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, np.dtype("int32"))
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    many = st.lists(st.integers(-8, 8), min_size=len(axes), max_size=len(axes))
    begin, end = data.draw(many), data.draw(many)
    strides = [step or 1 for step in data.draw(many)]
    found = evaluate(lambda v: transform.StridedSliceOp(v, begin, end, strides, axes=axes), x)
    index = [slice(None)] * len(shape)
    for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
        index[axis] = slice(first, last, step)
    same(found, x[tuple(index)])
    operands = [np.array(values, np.int64) for values in (begin, end, axes, strides)]
    if axes:
        same(found, reference("Slice", x, *operands))


@pytest.mark.parametrize(
    "begin, end, expected",
    [
        ([1, 2], [2, -1], np.s_[1:3, 2:]),
        ([-2, -1], [1, 1], np.s_[2:3, 4:5]),
        ([-2, -1], [-1, 1], np.s_[2:, 4:]),
        ([0], [0], np.s_[0:0]),
        ([3], [9], np.s_[3:4]),
    ],
)
def test_strided_slice_by_size(begin: list[int], end: list[int], expected: Any):
    x = np.arange(20).reshape(4, 5)
    found = evaluate(
        lambda v: transform.StridedSliceOp(v, begin, end, [7] * len(begin), slice_mode="size"), x
    )
    same(found, x[expected])


@given(seed=seeds, shape=st.lists(st.integers(2, 4), max_size=3), data=st.data())
@run_settings
def test_pad(seed: int, shape: list[int], data: st.DataObject):
    width = st.tuples(st.integers(0, 1), st.integers(0, 1))
    widths = [data.draw(width) for _ in shape]
    pads = np.array([*(w[0] for w in widths), *(w[1] for w in widths)], np.int64)
    for dtype, mode in product((F32, np.dtype("int32")), ("constant", "edge", "reflect")):
        x, value = sample(seed, shape, dtype), np.array(7, dtype)
        found = evaluate(lambda v, p, m=mode: space.PadOp(v, p, widths, pad_mode=m), x, value)
        same(found, runtime("Pad", x, pads, value, mode=mode) if shape else x)


def test_pad_of_empty_tensor_and_bf16():
    x, value = np.zeros((0, 2), BF16), np.array(3, BF16)
    found = evaluate(lambda v, p: space.PadOp(v, p, [(1, 2), (0, 0)]), x, value)
    same(found, np.full((3, 2), 3, BF16))
    found = evaluate(lambda v, p: space.PadOp(v, p, [(0, 0), (1, 1)], pad_mode="edge"), x, value)
    same(found, np.zeros((0, 4), BF16))


@given(seed=seeds, shape=st.lists(dims, min_size=1, max_size=3), data=st.data())
@run_settings
def test_join_and_cut(seed: int, shape: list[int], data: st.DataObject):
    rank = len(shape)
    axis = data.draw(st.integers(-rank, rank - 1))
    lengths = data.draw(st.lists(dims, min_size=1, max_size=3))
    parts = [
        sample(seed + i, [*shape[: axis % rank], length, *shape[axis % rank + 1 :]], F32)
        for i, length in enumerate(lengths)
    ]
    joined = evaluate(
        lambda *fields: transform.ConcatenateOp(core.TupleOp(fields), axis=axis), *parts
    )
    same(joined, reference("Concat", *parts, axis=axis))
    starts = [sum(lengths[:i]) for i in range(1, len(lengths))]
    cut = evaluate(lambda v: transform.SplitOp(v, starts, axis=axis), joined)
    for found, part in zip(cut, parts, strict=True):
        same(found, part)
    copies = [sample(seed + i, shape, F32) for i in range(3)]
    stacked = evaluate(lambda *fields: transform.StackOp(core.TupleOp(fields), axis=axis), *copies)
    same(stacked, np.stack(copies, axis % (rank + 1)))
    tripled = np.concatenate(copies, axis)
    thirds = evaluate(lambda v: transform.SplitOp(v, 3, axis=axis), tripled)
    for found, copy in zip(thirds, copies, strict=True):
        same(found, copy)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@given(seed=seeds, triple=broadcastable(3))
@settings(run_settings, max_examples=6)
def test_where(dtype: np.dtype[Any], seed: int, triple: list[list[int]]):
    condition = sample(seed, triple[0], BOOL)
    x, y = sample(seed, triple[1], dtype), sample(seed + 1, triple[2], dtype)
    same(evaluate(transform.WhereOp, condition, x, y), reference("Where", condition, x, y))
