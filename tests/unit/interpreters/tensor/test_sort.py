"""The NumPy meaning of sorting, searching and accumulating."""

from functools import cmp_to_key
from itertools import accumulate
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_oracles import (
    BF16,
    BOOL,
    FLOATS,
    INTEGERS,
    evaluate,
    reference,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
)
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, f64, i8, i32, i64
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import tuple_type
from xrelay.dialects.tensor import sort
from xrelay.interpreters.arrays import Array

DTYPES = [*FLOATS, *INTEGERS]
EVERY = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def below(x: Any, y: Any) -> bool:
    """x before y: NaN is above all numbers."""
    if isnan(x) or isnan(y):
        return isnan(y) and not isnan(x)
    return bool(x < y)


def order_of(row: list[Any], ascending: bool) -> list[int]:
    """The numbers of the elements in order, by Python's stable sort."""

    def compare(i: int, j: int) -> int:
        first, second = (row[i], row[j]) if ascending else (row[j], row[i])
        return -1 if below(first, second) else int(below(second, first))

    return sorted(range(len(row)), key=cmp_to_key(compare))


def few(seed: int, shape: Any, dtype: Any) -> Array:
    """Elements of which several are equal."""
    return np.asarray(np.random.default_rng(seed).choice(sample(seed, [4], dtype), shape))


@EVERY
@settings(run_settings, max_examples=10)
@given(seed=seeds, shape=st.lists(st.integers(0, 6), min_size=1, max_size=3), data=st.data())
def test_sort(dtype: Any, seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = data.draw(st.sampled_from([few, sample]))(seed, shape, dtype)
    for ascending in (True, False):
        order = (
            np.apply_along_axis(
                lambda row, up=ascending: np.array(order_of(row.tolist(), up), np.int64), axis, x
            )
            if x.size
            else np.zeros(shape, np.int64)
        )

        found = evaluate(lambda v, up=ascending: sort.SortOp(v, axis=axis, is_ascend=up), x)
        same(found, np.take_along_axis(x, order, axis))
        assert (np.signbit(found) == np.signbit(np.take_along_axis(x, order, axis))).all() or (
            np.isnan(found.astype(np.float64)).any()
        )
        for type_, numpy_type in ((None, np.int32), (i64, np.int64), (f32, np.float32)):
            indices = evaluate(
                lambda v, up=ascending, t=type_: sort.ArgsortOp(
                    v, axis=axis, is_ascend=up, dtype=t
                ),
                x,
            )
            same(indices, order.astype(numpy_type))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64], ids=str)
@settings(run_settings, max_examples=15)
@given(seed=seeds, shape=st.lists(st.integers(1, 6), min_size=1, max_size=3), data=st.data())
def test_topk(dtype: Any, seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = data.draw(st.integers(1, shape[axis]))
    x = np.asarray(np.random.default_rng(seed).integers(-3, 4, shape)).astype(dtype)
    for ascending in (False, True):
        values, indices = runtime(
            "TopK", x, np.array([k]), outputs=2, axis=axis, largest=int(not ascending)
        )
        options: dict[str, Any] = {"axis": axis, "is_ascend": ascending, "dtype": i64}
        found = evaluate(lambda v, o=options: sort.TopkOp(v, k, **o), x)
        same(found[0], values)
        same(found[1], indices)
        same(evaluate(lambda v, o=options: sort.TopkOp(v, k, ret_type="values", **o), x), values)
        found = evaluate(lambda v, o=options: sort.TopkOp(v, k, ret_type="indices", **o), x)
        same(found, indices)
    everything = evaluate(lambda v: sort.TopkOp(v, axis=axis), x)
    assert everything[0].shape == x.shape and everything[1].dtype == np.int32


@EVERY
@settings(run_settings, max_examples=10)
@given(seed=seeds, length=st.integers(0, 9), right=st.booleans())
def test_searchsorted(dtype: Any, seed: int, length: int, right: bool):
    keys = few(seed, [length], dtype)
    keys = keys[order_of(keys.tolist(), True)]
    wanted = np.concatenate([keys, sample(seed + 1, [5], dtype)])
    expected = [
        sum(below(key, v) or (right and not below(v, key)) for key in keys.tolist())
        for v in wanted.tolist()
    ]

    def build(s: Any, v: Any) -> Any:
        return sort.SearchsortedOp(s, v, right=right)

    same(evaluate(build, keys, wanted), np.array(expected, np.int32))
    found = evaluate(build, np.stack([keys, keys]), np.stack([wanted, wanted[::-1]]))
    same(found, np.array([expected, expected[::-1]], np.int32))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in (BF16, BOOL)], ids=str)
@settings(run_settings, max_examples=10)
@given(seed=seeds, length=st.integers(1, 12), ordered=st.booleans())
def test_unique(dtype: Any, seed: int, length: int, ordered: bool):
    x = few(seed, [length], dtype)
    x = np.where(np.isnan(x), x.dtype.type(1), x)
    found = evaluate(lambda v: sort.UniqueOp(v, sorted=ordered, return_counts=True), x)
    total = int(found[3][0])
    expected = reference("Unique", x, outputs=4, sorted=int(ordered))
    for mine, theirs in zip(
        (found[0], found[1], found[4]), (*expected[:2], expected[3]), strict=True
    ):
        same(mine[:total], theirs.astype(mine.dtype))
        assert not mine[total:].any()
    same(found[2], expected[2].astype(np.int32))
    assert len(evaluate(lambda v: sort.UniqueOp(v), x)) == 4


def test_unique_nan_and_nothing():
    x = np.array([np.nan, 1, -np.nan, 0.0, -0.0], np.float32)
    found = evaluate(lambda v: sort.UniqueOp(v, return_counts=True), x)
    same(found[0], np.array([0, 1, np.nan, 0, 0], np.float32))
    same(found[2], np.array([2, 1, 2, 0, 0], np.int32))
    same(found[4], np.array([2, 1, 2, 0, 0], np.int32))
    found = evaluate(lambda v: sort.UniqueOp(v, sorted=False), np.zeros(0, np.float32))
    same(found[3], np.array([0], np.int32))


@EVERY
@settings(run_settings, max_examples=5)
@given(seed=seeds, shape=st.lists(st.integers(0, 4), max_size=3))
def test_argwhere(dtype: Any, seed: int, shape: list[int]):
    x = sample(seed, shape, dtype)
    places = [place for place in np.ndindex(*shape) if x[place] != 0]
    expected = np.array(places, np.int32).reshape(len(places), len(shape))
    same(evaluate(sort.ArgwhereOp, x), expected)
    rows, count = evaluate(sort.BoundedArgwhereOp, x)
    same(rows[: len(places)], expected)
    assert count.tolist() == [len(places)] and not rows[len(places) :].any()


@EVERY
@settings(run_settings, max_examples=8)
@given(seed=seeds, shape=st.lists(st.integers(0, 5), max_size=3), data=st.data())
def test_scans(dtype: Any, seed: int, shape: list[int], data: st.DataObject):
    axes = [None, *range(-len(shape), len(shape))]
    axis, exclusive = data.draw(st.sampled_from(axes)), data.draw(st.booleans())
    x = sample(seed, shape, dtype, edges=dtype not in FLOATS)
    x = np.where(np.abs(x.astype(np.float64)) < 8, x, 0).astype(dtype) if dtype in FLOATS else x
    rows = np.moveaxis(x.reshape(-1) if axis is None else x, axis or 0, -1)
    for op, start, function in (
        (sort.CumsumOp, 0, lambda p, q: p + q),
        (sort.CumprodOp, 1, lambda p, q: p * q),
    ):
        found = evaluate(lambda v, op=op: op(v, axis, exclusive=exclusive), x)
        assert found.dtype == dtype
        found = np.moveaxis(found, axis or 0, -1)
        for place in np.ndindex(*rows.shape[:-1]):
            row = rows[place].tolist()
            row = [start, *row[:-1]] if exclusive else row
            exact = list(accumulate(row, function))[: rows.shape[-1]]
            if dtype in FLOATS:
                eps = 1e-2 if dtype.itemsize == 2 else 1e-5
                np.testing.assert_allclose(
                    found[place].astype(np.float64), np.array(exact), rtol=eps, atol=8 * eps
                )
            else:
                width = 1 if dtype == BOOL else 8 * dtype.itemsize
                assert [int(v) % 2**width for v in found[place]] == [
                    int(v) % 2**width for v in exact
                ]


def test_scan_is_that_of_onnx_and_converts():
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    for axis in (0, 1):
        for exclusive in (False, True):
            found = evaluate(lambda v, a=axis, e=exclusive: sort.CumsumOp(v, a, exclusive=e), x)
            expected = reference("CumSum", x, np.array(axis), exclusive=int(exclusive))
            same(found, expected)
    found = evaluate(lambda v: sort.CumsumOp(v, 0, dtype=i8), np.full(3, 100, np.int32))
    same(found, np.array([100, -56, 44], np.int8))
    found = evaluate(lambda v: sort.CumprodOp(v, dtype=f64), x)
    same(found, np.cumprod(x.astype(np.float64)))


def parameters(*types: Any) -> Any:
    return Block(arg_types=types).args


def test_types():
    (x,) = parameters(TensorType(f32, [DYNAMIC_INDEX, 3]))
    indices = TensorType(i32, [DYNAMIC_INDEX, 2])
    assert sort.TopkOp(x, 2).result.type == tuple_type(
        [TensorType(f32, [DYNAMIC_INDEX, 2]), indices]
    )
    assert sort.ArgwhereOp(x).result.type == indices
    assert sort.CumsumOp(x).result.type == TensorType(f32, [DYNAMIC_INDEX])


@pytest.mark.parametrize(
    ("build", "types", "message"),
    [
        (lambda v: sort.SortOp(v, axis=2), [[2, 3]], r"'axis' is 2, accepted range is \[-2, 1\]"),
        (lambda v: sort.TopkOp(v, 4), [[2, 3]], "'k' is 4, axis 1 of 'data' has length 3"),
        (lambda v: sort.TopkOp(v, ret_type="all"), [[3]], "'ret_type' is \"all\", accepted is"),
        (sort.SearchsortedOp, [[2, 3], [4, 3]], "expected rank 1 or the rows of 'values'"),
        (sort.UniqueOp, [[2, 3]], "'data' is tensor<2x3xf32>, expected rank 1"),
        (lambda v: sort.CumsumOp(v, 0), [[]], r"'axis' is 0, accepted range is \[0, -1\]"),
    ],
)
def test_refusals(build: Any, types: list[list[int]], message: str):
    with pytest.raises(VerifyException, match=message):
        build(*parameters(*(TensorType(f32, shape) for shape in types)))
