"""The NumPy meaning of upsampling, softmax and normalisation."""

import math
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from operator_oracles import (
    F32,
    FLOATS,
    close,
    dims,
    evaluate,
    reference,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
)

from xrelay.dialects.nn import norm, upsampling


@pytest.mark.parametrize("scale_h, scale_w", [(2, 2), (1, 3), (1.5, 2.5), (0.5, 1), (0.1, 2)])
def test_upsampling(scale_h: float, scale_w: float):
    x = sample(1, (1, 2, 3, 4), F32)
    height, width = round(3 * scale_h), round(4 * scale_w)
    expected = np.empty((1, 2, height, width), F32)
    for i, j in product(range(height), range(width)):
        expected[:, :, i, j] = x[:, :, i * 3 // height, j * 4 // width]
    found = evaluate(lambda v: upsampling.UpsamplingOp(v, float(scale_h), float(scale_w)), x)
    same(found, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(seed=seeds, shape=st.lists(dims, min_size=1, max_size=4), data=st.data())
@settings(run_settings, max_examples=10)
def test_softmax(dtype: np.dtype[Any], seed: int, shape: list[int], data: st.DataObject):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = sample(seed, shape, dtype, edges=False)
    assume(shape[axis] > 0)
    eps = 8 * float(ml_dtypes.finfo(dtype).eps)
    for op, name in ((norm.SoftmaxOp, "Softmax"), (norm.LogSoftmaxOp, "LogSoftmax")):
        oracle = reference(name, x.astype(np.float64), axis=axis).astype(dtype)
        close(evaluate(lambda v, op=op: op(v, axis=axis), x), oracle, eps, eps)


def test_softmax_of_extremes():
    x = np.array([[1e30, 0, -1e30], [np.inf, 0, 0], [-np.inf, 0, 0], [np.nan, 0, 0]], F32)
    nan = np.nan
    expected = np.array([[1, 0, 0], [nan] * 3, [0, 0.5, 0.5], [nan] * 3], F32)
    same(evaluate(norm.SoftmaxOp, x), expected)
    same(evaluate(norm.SoftmaxOp, np.zeros((2, 0), F32)), np.zeros((2, 0), F32))


@given(
    seed=seeds, shape=st.lists(st.integers(1, 7), min_size=4, max_size=4), size=st.integers(1, 8)
)
@run_settings
def test_lrn(seed: int, shape: list[int], size: int):
    x = sample(seed, shape, F32, edges=False)
    parameters = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5}
    found = evaluate(lambda v: norm.LrnOp(v, **parameters), x)
    expected = np.empty_like(x)
    for c in range(shape[1]):
        around = x[:, max(c - (size - 1) // 2, 0) : c + size // 2 + 1]
        expected[:, c] = x[:, c] / (1.5 + 0.3 / size * (around**2).sum(1)) ** 0.6
    close(found, expected, 1e-5, 1e-6)
    if size % 2:  # All that onnxruntime accepts.
        close(found, runtime("LRN", x, **parameters), 1e-5, 1e-6)
    moved = evaluate(
        lambda v: norm.LrnOp(v, axis=-1, **parameters), np.ascontiguousarray(np.moveaxis(x, 1, -1))
    )
    close(np.moveaxis(moved, -1, 1), found)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(seed=seeds, shape=st.lists(dims, min_size=2, max_size=4))
@settings(run_settings, max_examples=10)
def test_batch_norm_and_bias_add(dtype: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, dtype, edges=False)
    rows = [sample(seed + i, shape[1:2], dtype, edges=False) for i in range(4)]
    rows[3] = abs(rows[3])
    column = [row.astype(np.float64).reshape(-1, *[1] * (len(shape) - 2)) for row in rows]
    normal = (x.astype(np.float64) - column[2]) / np.sqrt(column[3] + 1e-3)
    eps = float(ml_dtypes.finfo(dtype).eps)
    for scale, center in product((False, True), repeat=2):
        result, mean, variance = evaluate(
            lambda *v, s=scale, c=center: norm.BatchNormOp(*v, epsilon=1e-3, scale=s, center=c),
            x,
            *rows,
        )
        expected = normal * (column[0] if scale else 1) + (column[1] if center else 0)
        close(result, expected.astype(dtype), 8 * eps, 2000 * eps if dtype == F32 else 200 * eps)
        same(mean, rows[2])
        same(variance, rows[3])
    expected = (x.astype(np.float64) + column[0]).astype(dtype)
    close(evaluate(norm.BiasAddOp, x, rows[0]), expected, 2 * eps, 0)
    if len(shape) == 4 and dtype == F32 and 0 not in shape:
        oracle = runtime("BatchNormalization", x, *rows, epsilon=1e-3)
        result, _, _ = evaluate(lambda *v: norm.BatchNormOp(*v, epsilon=1e-3), x, *rows)
        close(result, oracle, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@given(seed=seeds, shape=st.lists(dims, min_size=2, max_size=4))
@settings(run_settings, max_examples=10)
def test_norms_of_the_data_itself(dtype: np.dtype[Any], seed: int, shape: list[int]):
    shape[1] *= 3
    x = sample(seed, shape, dtype, edges=False)
    wide, last = x.astype(np.float64), len(shape) - 1
    groups = wide.reshape(shape[0], 3, shape[1] // 3, *shape[2:])
    # Operator, options, its axis, the data as the statistics see it, the axes they are over.
    table = [
        (norm.LayerNormOp, {}, last, wide, (last,)),
        (norm.LayerNormOp, {"axis": 1}, 1, wide, (1,)),
        (norm.InstanceNormOp, {}, 1, wide, tuple(range(2, last + 1))),
        (norm.InstanceNormOp, {"axis": -1}, last, wide, tuple(range(1, last))),
        (norm.GroupNormOp, {"num_groups": 3}, 1, groups, tuple(range(2, last + 2))),
    ]
    eps = float(ml_dtypes.finfo(dtype).eps)
    for op, options, axis, data, axes in table:
        gamma, beta = (sample(seed + i, [shape[axis]], dtype, edges=False) for i in range(2))
        count = math.prod(data.shape[each] for each in axes)
        mean = data.sum(axes, keepdims=True) / max(count, 1)
        variance = ((data - mean) ** 2).sum(axes, keepdims=True) / max(count, 1)
        normal = ((data - mean) / np.sqrt(variance + 1e-3)).reshape(shape)
        column = [v.astype(np.float64).reshape(-1, *[1] * (last - axis)) for v in (gamma, beta)]
        for scale, center in product((False, True), repeat=2):
            result = evaluate(
                lambda *v, op=op, o=options, s=scale, c=center: op(
                    *v, epsilon=1e-3, scale=s, center=c, **o
                ),
                x,
                gamma,
                beta,
            )
            expected = normal * (column[0] if scale else 1) + (column[1] if center else 0)
            bound = 2000 * eps if dtype == F32 else 200 * eps
            close(result, expected.astype(dtype), 8 * eps, bound)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "axis"), [((3, 17), -1), ((2, 5, 3), 1), ((4, 1), 1)])
def test_rms_norm(dtype: np.dtype[Any], shape: tuple[int, ...], axis: int):
    x = sample(1, shape, dtype, edges=False)
    gamma = sample(2, (shape[axis],), dtype, edges=False)
    wide, eps = x.astype(np.float64), float(ml_dtypes.finfo(dtype).eps)
    normal = wide / np.sqrt((wide**2).mean(axis, keepdims=True) + 1e-3)
    column = gamma.astype(np.float64).reshape(-1, *[1] * (len(shape) - 1 - axis % len(shape)))
    for scale in (False, True):
        result = evaluate(
            lambda *v, s=scale: norm.RmsNormOp(*v, axis=axis, epsilon=1e-3, scale=s), x, gamma
        )
        expected = normal * (column if scale else 1)
        close(result, expected.astype(dtype), 8 * eps, 8 * eps)


def test_bias_add_counts_axis_from_the_end():
    x, bias = np.zeros((2, 3, 4), np.int8), np.array([1, 2, 127, -128], np.int8)
    found = evaluate(lambda v, b: norm.BiasAddOp(v, b, axis=-1), x + np.int8(1), bias)
    same(found[0, 0], np.array([2, 3, -128, -127], np.int8))


def test_dropout_is_the_identity():
    x = sample(1, (2, 3), F32)
    result, mask = evaluate(norm.DropoutOp, x)
    same(result, x)
    same(mask, np.ones((2, 3), F32))
