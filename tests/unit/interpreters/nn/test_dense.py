"""The NumPy meaning of products of matrices."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_oracles import (
    F32,
    FLOATS,
    SIGNED,
    UNSIGNED,
    close,
    dims,
    evaluate,
    run_settings,
    runtime,
    sample,
    seeds,
)

from xrelay.dialects.nn import dense
from xrelay.interpreters.arrays import Array


@pytest.mark.parametrize("dtype", [*FLOATS, *SIGNED, *UNSIGNED], ids=str)
@given(seed=seeds, sizes=st.tuples(dims, dims, dims), outer=st.lists(dims, max_size=2))
@settings(run_settings, max_examples=6)
def test_products(dtype: np.dtype[Any], seed: int, sizes: tuple[int, int, int], outer: list[int]):
    m, k, n = sizes

    def exact(lhs: Array, rhs: Array) -> Array:
        wide = np.float64 if dtype in FLOATS else np.int64
        return np.matmul(lhs.astype(wide), rhs.astype(wide)).astype(dtype)

    def check(found: Array, expected: Array) -> None:
        eps = float(ml_dtypes.finfo(dtype).eps) if dtype in FLOATS else 0
        close(found, expected, 8 * eps, 64 * eps)

    x, weight = (sample(seed + k, s, dtype, edges=False) for s in ([*outer, m, k], [n, k]))
    check(evaluate(dense.DenseOp, x, weight), exact(x, weight.T))
    row = sample(seed, (k,), dtype, edges=False)
    check(evaluate(dense.DenseOp, row, weight), exact(row, weight.T))
    for flip_a, flip_b in product((False, True), repeat=2):
        a = sample(seed, (k, m) if flip_a else (m, k), dtype, edges=False)
        b = sample(seed + 1, (n, k) if flip_b else (k, n), dtype, edges=False)
        expected = exact(a.T if flip_a else a, b.T if flip_b else b)
        flips = {"transpose_a": flip_a, "transpose_b": flip_b}
        check(evaluate(lambda p, q, f=flips: dense.MatmulOp(p, q, **f), a, b), expected)
        batches = np.stack([a, a, a]), b[None]
        found = evaluate(lambda p, q, f=flips: dense.BatchMatmulOp(p, q, **f), *batches)
        check(found, np.stack([expected] * 3))


def test_gemm_and_matmul_of_onnx():
    a, b = sample(1, (5, 7), F32, edges=False), sample(2, (6, 7), F32, edges=False)
    close(evaluate(dense.DenseOp, a, b), runtime("Gemm", a, b, transB=1), 1e-5, 1e-5)
    a, b = sample(1, (3, 5, 7), F32, edges=False), sample(2, (1, 7, 2), F32, edges=False)
    close(evaluate(dense.BatchMatmulOp, a, b), runtime("MatMul", a, b), 1e-5, 1e-5)
