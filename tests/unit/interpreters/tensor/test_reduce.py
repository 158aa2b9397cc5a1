"""The NumPy meaning of reductions."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from operator_oracles import (
    BF16,
    BOOL,
    F32,
    FLOATS,
    INTEGERS,
    SIGNED,
    close,
    evaluate,
    full_shapes,
    reference,
    run_settings,
    same,
    sample,
    seeds,
    shapes,
    wrapped,
)
from xdsl.ir import Operation

from xrelay.dialects.tensor import reduce as reduction


@st.composite
def reductions(draw: st.DrawFn, *, empty: bool = True) -> tuple[list[int], list[int], bool, bool]:
    """Shape, axes, keepdims, exclude."""
    shape = draw(shapes if empty else full_shapes)
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    axes = [axis - len(shape) if draw(st.booleans()) else axis for axis in axes]
    return shape, axes, draw(st.booleans()), draw(st.booleans())


def reduced_axes(shape: list[int], axes: list[int], exclude: bool) -> tuple[int, ...]:
    positive = {axis % len(shape) for axis in axes}
    return tuple(axis for axis in range(len(shape)) if (axis in positive) != exclude)


REDUCTIONS: dict[type[Operation], str] = {
    reduction.SumOp: "ReduceSum",
    reduction.ProdOp: "ReduceProd",
    reduction.MaxOp: "ReduceMax",
    reduction.MinOp: "ReduceMin",
}


@pytest.mark.parametrize("dtype", [F32, np.dtype(np.float64), *SIGNED, np.dtype("uint8")], ids=str)
@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
@settings(run_settings, max_examples=8)
@given(seed=seeds, case=reductions())
def test_reduction(
    op: Any, dtype: np.dtype[Any], seed: int, case: tuple[list[int], list[int], bool, bool]
):
    shape, axes, keepdims, exclude = case
    x = sample(seed, shape, dtype, edges=dtype in INTEGERS)
    found = evaluate(lambda v: op(v, axes, keepdims=keepdims, exclude=exclude), x)
    named = np.array(reduced_axes(shape, axes, exclude), np.int64)
    attributes: dict[str, Any] = {"keepdims": int(keepdims), "noop_with_empty_axes": 1}
    expected = reference(REDUCTIONS[op], x, named, **attributes)
    close(found, expected.astype(dtype), rtol=1e-5, atol=1e-5)
    everything = evaluate(lambda v: op(v, keepdims=keepdims), x)
    same(everything, evaluate(lambda v: op(v, range(len(shape)), keepdims=keepdims), x))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_reduction_of_nothing_and_nan(dtype: np.dtype[Any]):
    empty = np.zeros((0, 2), dtype)
    if dtype in FLOATS:
        least, most = -np.inf, np.inf
    else:
        least, most = (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for op, value in (
        (reduction.SumOp, 0),
        (reduction.ProdOp, 1),
        (reduction.MaxOp, least),
        (reduction.MinOp, most),
    ):
        same(evaluate(lambda v, op=op: op(v, [0]), empty), np.full(2, value, dtype))
        scalar = np.array(1, dtype)
        same(evaluate(op, scalar), scalar)
    if dtype in FLOATS:
        same(evaluate(reduction.MeanOp, empty), np.array(np.nan, dtype))
        poisoned = np.array([1, np.nan, np.inf], dtype)
        for op in (reduction.SumOp, reduction.MaxOp, reduction.MinOp, reduction.MeanOp):
            assert np.isnan(evaluate(op, poisoned))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(seed=seeds, case=reductions())
@settings(run_settings, max_examples=15)
def test_mean(dtype: np.dtype[Any], seed: int, case: tuple[list[int], list[int], bool, bool]):
    shape, axes, keepdims, exclude = case
    assume(0 not in shape)
    x = sample(seed, shape, dtype, edges=False)
    found = evaluate(lambda v: reduction.MeanOp(v, axes, keepdims=keepdims, exclude=exclude), x)
    named = reduced_axes(shape, axes, exclude)
    expected = np.asarray(x.astype(np.float64).mean(named, keepdims=keepdims)).astype(dtype)
    eps = float(ml_dtypes.finfo(dtype).eps)
    close(found, expected, rtol=2 * eps, atol=4 * eps)


def test_sum_of_integers_wraps_around():
    for dtype in INTEGERS:
        x = sample(1, (50,), dtype)
        values = [int(v) for v in x]
        same(evaluate(reduction.SumOp, x), np.array(wrapped(sum(values), dtype), dtype))
        same(evaluate(reduction.ProdOp, x), np.array(wrapped(math.prod(values), dtype), dtype))


@given(seed=seeds, case=reductions())
@run_settings
def test_all_any(seed: int, case: tuple[list[int], list[int], bool, bool]):
    shape, axes, keepdims, exclude = case
    x = sample(seed, shape, BOOL)
    named = reduced_axes(shape, axes, exclude)
    for op, expected in (
        (reduction.AllOp, np.all(x, named, keepdims=keepdims)),
        (reduction.AnyOp, np.any(x, named, keepdims=keepdims)),
    ):
        found = evaluate(lambda v, op=op: op(v, axes, keepdims=keepdims, exclude=exclude), x)
        same(found, np.asarray(expected))


@pytest.mark.parametrize("dtype", [F32, np.dtype("int32"), np.dtype("uint8"), BF16], ids=str)
@given(
    seed=seeds,
    shape=full_shapes,
    axis=st.integers(0, 3),
    keepdims=st.booleans(),
    last=st.booleans(),
)
@run_settings
def test_argmax_argmin(
    dtype: np.dtype[Any], seed: int, shape: list[int], axis: int, keepdims: bool, last: bool
):
    axis %= len(shape)
    x = np.random.default_rng(seed).integers(0, 3, shape).astype(dtype)
    for op, name in ((reduction.ArgmaxOp, "ArgMax"), (reduction.ArgminOp, "ArgMin")):
        found = evaluate(
            lambda v, op=op: op(v, [axis], keepdims=keepdims, select_last_index=last), x
        )
        oracle = reference(
            name, x.astype(np.float32), axis=axis, keepdims=keepdims, select_last_index=last
        )
        same(found, oracle.astype(np.int32))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_argmax_of_several_axes_and_nan(dtype: np.dtype[Any]):
    x = np.array([[[1, 5], [5, 0]], [[7, 2], [np.nan, np.nan]]], dtype)
    for op in (reduction.ArgmaxOp, reduction.ArgminOp):
        same(evaluate(lambda v, op=op: op(v, [1, 2]), x)[1:], np.array([2], np.int32))
        last = evaluate(lambda v, op=op: op(v, [2, 1], select_last_index=True), x)
        same(last[1:], np.array([3], np.int32))
    same(evaluate(lambda v: reduction.ArgmaxOp(v, [1, 2]), x)[:1], np.array([1], np.int32))
    same(evaluate(reduction.ArgmaxOp, x), np.array(6, np.int32))
    same(evaluate(reduction.ArgmaxOp, np.array(3, dtype)), np.array(0, np.int32))
