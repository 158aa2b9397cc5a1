"""The NumPy meaning of pooling of images."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_oracles import (
    F32,
    FLOATS,
    INTEGERS,
    close,
    evaluate,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
    windows,
)

from xrelay.dialects.pool import pool
from xrelay.interpreters.arrays import Array


def pool_attributes(case: dict[str, Any], ceil_mode: bool) -> dict[str, Any]:
    return {
        "kernel_shape": case["kernel"],
        "strides": case["strides"],
        "pads": case["padding"],
        "dilations": case["dilation"],
        "ceil_mode": int(ceil_mode),
    }


def pool_arguments(case: dict[str, Any], ceil_mode: bool) -> dict[str, Any]:
    return {
        "pool_size": case["kernel"],
        "strides": case["strides"],
        "padding": case["padding"],
        "dilation": case["dilation"],
        "ceil_mode": ceil_mode,
    }


@given(seed=seeds, case=windows(), ceil_mode=st.booleans())
@settings(run_settings, max_examples=80)
def test_max_pool2d(seed: int, case: dict[str, Any], ceil_mode: bool):
    x = sample(seed, (2, 3, *case["image"]), F32, edges=False)
    found = evaluate(lambda v: pool.MaxPool2DOp(v, **pool_arguments(case, ceil_mode)), x)
    same(found, runtime("MaxPool", x, **pool_attributes(case, ceil_mode)))


@given(seed=seeds, case=windows(), ceil_mode=st.booleans(), include=st.booleans())
@settings(run_settings, max_examples=80)
def test_avg_pool2d(seed: int, case: dict[str, Any], ceil_mode: bool, include: bool):
    x = sample(seed, (2, 3, *case["image"]), F32, edges=False)
    arguments = {**pool_arguments(case, ceil_mode), "count_include_pad": include}
    found = evaluate(lambda v: pool.AvgPool2DOp(v, **arguments), x)
    attributes = {**pool_attributes(case, ceil_mode), "count_include_pad": int(include)}
    close(found, runtime("AveragePool", x, **attributes), 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_pools_of_all_types(dtype: np.dtype[Any]):
    x = sample(5, (1, 2, 4, 4), dtype, edges=False)
    corners = [x[:, :, i : i + 2, j : j + 2] for i in (0, 2) for j in (0, 2)]
    halves = {"pool_size": [2, 2], "strides": [2, 2]}

    def assembled(values: list[Array]) -> Array:
        return np.stack(values, -1).reshape(1, 2, 2, 2)

    def mean(values: Array) -> Array:
        if dtype in FLOATS:
            return values.astype(np.float64).mean((2, 3)).astype(dtype)
        sums = values.astype(np.int64).sum((2, 3))
        return (np.sign(sums) * (abs(sums) // values[0, 0].size)).astype(dtype)

    found = evaluate(lambda v: pool.MaxPool2DOp(v, **halves), x)
    same(found, assembled([corner.max((2, 3)) for corner in corners]))
    found = evaluate(lambda v: pool.AvgPool2DOp(v, **halves), x)
    close(found, assembled([mean(corner) for corner in corners]), 1e-2 * (dtype in FLOATS), 1e-2)
    same(evaluate(pool.GlobalMaxPool2DOp, x), x.max((2, 3), keepdims=True))
    found = evaluate(pool.GlobalAvgPool2DOp, x)
    close(found, mean(x)[:, :, None, None], 1e-2 * (dtype in FLOATS), 1e-2)


def test_pool_of_padding_nan_and_large_counts():
    x = np.array([[[[np.nan, 1], [2, 3]]]], F32)
    arguments = {"pool_size": [1, 1], "padding": [1]}
    found = evaluate(lambda v: pool.MaxPool2DOp(v, **arguments), x)
    assert found[0, 0, 0, 0] == -np.inf and np.isnan(found[0, 0, 1, 1])
    found = evaluate(lambda v: pool.AvgPool2DOp(v, **arguments), x)
    assert found[0, 0, 0, 0] == 0 and found[0, 0, 2, 2] == 3
    found = evaluate(lambda v: pool.MaxPool2DOp(v, [2, 2]), x)
    assert np.isnan(found).all() and np.isnan(evaluate(pool.GlobalMaxPool2DOp, x)).all()
    same(
        evaluate(pool.GlobalAvgPool2DOp, np.full((1, 1, 20, 20), 100, np.int8)),
        np.full((1, 1, 1, 1), 100, np.int8),
    )
    lowest = evaluate(lambda v: pool.MaxPool2DOp(v, **arguments), np.ones((1, 1, 1, 1), np.int8))
    assert lowest[0, 0, 0, 0] == -128
    empty = np.zeros((1, 2, 0, 3), F32)
    same(evaluate(pool.GlobalMaxPool2DOp, empty), np.full((1, 2, 1, 1), -np.inf, F32))
    same(evaluate(pool.GlobalAvgPool2DOp, empty), np.zeros((1, 2, 1, 1), F32))
