"""The NumPy meaning of convolutions of images."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
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
    parse,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
    windows,
    wrapped,
)
from xdsl.ir import Operation

from xrelay.dialects.conv import conv
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret


def conv_op(case: dict[str, Any], groups: int) -> Callable[..., Operation]:
    return lambda data, weight: conv.Conv2DOp(
        data,
        weight,
        strides=case["strides"],
        padding=case["padding"],
        dilation=case["dilation"],
        groups=groups,
    )


def conv_by_oracle(x: Array, weight: Array, case: dict[str, Any], groups: int) -> Array:
    return runtime(
        "Conv",
        x,
        weight,
        strides=case["strides"],
        pads=case["padding"],
        dilations=case["dilation"],
        group=groups,
    )


convolutions = st.tuples(
    windows(), st.integers(1, 2), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)
)


@given(seed=seeds, sizes=convolutions)
@settings(run_settings, max_examples=60)
def test_conv2d(seed: int, sizes: tuple[dict[str, Any], int, int, int, int]):
    case, batch, groups, inner, outer = sizes
    x = sample(seed, (batch, groups * inner, *case["image"]), F32, edges=False)
    weight = sample(seed + 1, (groups * outer, inner, *case["kernel"]), F32, edges=False)
    found = evaluate(conv_op(case, groups), x, weight)
    close(found, conv_by_oracle(x, weight, case, groups), 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
@given(seed=seeds, sizes=convolutions)
@settings(run_settings, max_examples=4)
def test_conv2d_of_other_types(
    dtype: np.dtype[Any], seed: int, sizes: tuple[dict[str, Any], int, int, int, int]
):
    case, batch, groups, inner, outer = sizes
    shapes = (batch, groups * inner, *case["image"]), (groups * outer, inner, *case["kernel"])
    x, weight = (sample(seed + i, s, dtype, edges=False) for i, s in enumerate(shapes))
    exact = conv_by_oracle(x.astype(np.float32), weight.astype(np.float32), case, groups)
    found = evaluate(conv_op(case, groups), x, weight)
    if dtype in INTEGERS:
        values = [wrapped(int(value), dtype) for value in exact.reshape(-1)]
        same(found, np.array(values, dtype).reshape(exact.shape))
    else:
        eps = max(float(ml_dtypes.finfo(dtype).eps), 1e-4)
        close(found, exact.astype(dtype), eps, eps)


def test_conv2d_sums_in_out_dtype():
    module = parse("""
    func.func @main(%x: tensor<1x9x1x1xi8>, %w: tensor<2x9x1x1xi8>) -> tensor<1x2x1x1xi32> {
      %0 = relay.nn.conv2d %x, %w {out_dtype = i32}
        : (tensor<1x9x1x1xi8>, tensor<2x9x1x1xi8>) -> tensor<1x2x1x1xi32>
      func.return %0 : tensor<1x2x1x1xi32>
    }""")
    x, weight = np.full((1, 9, 1, 1), 100, np.int8), np.full((2, 9, 1, 1), -100, np.int8)
    (found,) = interpret(module, [x, weight])
    same(found, np.full((1, 2, 1, 1), -90000, np.int32))


@pytest.mark.parametrize("batch, channels", [(0, 2), (1, 0)])
def test_conv2d_of_nothing(batch: int, channels: int):
    x, weight = np.ones((batch, channels, 3, 3), F32), np.ones((4, channels, 2, 2), F32)
    same(evaluate(conv.Conv2DOp, x, weight), np.zeros((batch, 4, 2, 2), F32))
