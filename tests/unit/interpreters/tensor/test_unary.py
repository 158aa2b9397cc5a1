"""The NumPy meaning of functions of one element."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from operator_oracles import (
    BOOL,
    FLOATS,
    INTEGERS,
    by_floats,
    by_integers,
    close,
    evaluate,
    run_settings,
    same,
    sample,
    seeds,
    shapes,
    wrapped,
)
from xdsl.ir import Operation

from xrelay.dialects.tensor import unary
from xrelay.interpreters.arrays import element_type_of


def nan_outside(function: Callable[[float], float]) -> Callable[[float], float]:
    def guarded(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return guarded


def whole(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else x


FLOAT_UNARY: dict[type[Operation], Callable[[float], float]] = {
    unary.ExpOp: nan_outside(math.exp),
    unary.LogOp: lambda x: -math.inf if x == 0 else nan_outside(math.log)(x),
    unary.SqrtOp: nan_outside(math.sqrt),
    unary.RsqrtOp: lambda x: (
        math.copysign(math.inf, x) if x == 0 else nan_outside(lambda y: 1 / math.sqrt(y))(x)
    ),
    unary.TanhOp: math.tanh,
    unary.SigmoidOp: lambda x: 1 / (1 + nan_outside(math.exp)(-x)),
    unary.ErfOp: math.erf,
    unary.SinOp: nan_outside(math.sin),
    unary.CosOp: nan_outside(math.cos),
    unary.FloorOp: whole(math.floor),
    unary.CeilOp: whole(math.ceil),
    unary.RoundOp: whole(round),
    unary.TruncOp: whole(math.trunc),
    unary.NegativeOp: lambda x: -x,
    unary.AbsOp: abs,
    unary.SignOp: lambda x: x if math.isnan(x) else float((x > 0) - (x < 0)),
    unary.CopyOp: lambda x: x,
    unary.ReluOp: lambda x: x if math.isnan(x) else max(x, 0.0),
    unary.LeakyReluOp: lambda x: x if x > 0 or math.isnan(x) else 0.25 * x,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", FLOAT_UNARY, ids=lambda op: op.name)
@settings(run_settings, max_examples=8)
@given(seed=seeds, shape=shapes)
def test_float_unary(op: Any, dtype: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, dtype)
    if op in (unary.SinOp, unary.CosOp):
        x = np.where(np.abs(x.astype(np.float64)) > 1e6, x.dtype.type(1), x)
    found = evaluate(op, x)
    expected = by_floats(FLOAT_UNARY[op], dtype, x)
    # Two units in the last place; 1 / sqrt(x) for rsqrt rounds twice.
    eps = float(ml_dtypes.finfo(dtype).eps)
    close(found, expected, rtol=4 * eps, atol=float(ml_dtypes.finfo(dtype).tiny))


INTEGER_UNARY: dict[type[Operation], Callable[[int], int]] = {
    unary.NegativeOp: lambda x: -x,
    unary.AbsOp: abs,
    unary.SignOp: lambda x: (x > 0) - (x < 0),
    unary.CopyOp: lambda x: x,
    unary.ReluOp: lambda x: max(x, 0),
}


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", INTEGER_UNARY, ids=lambda op: op.name)
@settings(run_settings, max_examples=5)
@given(seed=seeds, shape=shapes)
def test_integer_unary(op: Any, dtype: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, dtype)
    same(evaluate(op, x), by_integers(INTEGER_UNARY[op], dtype, x))


def cast_by_python(value: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    if target == BOOL:
        return value != 0
    if target in FLOATS:
        return value
    if source in INTEGERS:
        return wrapped(int(value), target)
    if math.isnan(value):
        return 0
    info = np.iinfo(target)
    if math.isinf(value):
        return info.max if value > 0 else info.min
    return min(max(int(value), info.min), info.max)


@pytest.mark.parametrize("source, target", list(product([*FLOATS, *INTEGERS], repeat=2)), ids=str)
@settings(run_settings, max_examples=4)
@given(seed=seeds, shape=shapes)
def test_cast(source: np.dtype[Any], target: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, source)
    values = [cast_by_python(v, source, target) for v in x.reshape(-1).tolist()]
    with np.errstate(all="ignore"):
        expected = np.array(values, np.float64 if target in FLOATS else target).astype(target)
    found = evaluate(lambda v: unary.CastOp(v, element_type_of(target)), x)
    # Integers of 64 bits pass through float64 here, and round twice.
    close(found, expected.reshape(shape), rtol=2e-16 if target in FLOATS else 0, atol=0)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize(
    "low, high", [(0.0, 6.0), (-1e30, 1e30), (-np.inf, 0.0), (2.0, -2.0), (1.5, 2.5)]
)
def test_clip(dtype: np.dtype[Any], low: float, high: float):
    x = sample(3, (40,), dtype)

    def clipped(value: Any) -> Any:
        if dtype in FLOATS:
            bounds = [float(np.float64(bound).astype(dtype)) for bound in (low, high)]
        else:
            least, most = (0, 1) if dtype == BOOL else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            bounds = [
                int(min(max(round(bound) if math.isfinite(bound) else least, least), most))
                for bound in (low, high)
            ]
        return value if math.isnan(value) else min(max(value, bounds[0]), bounds[1])

    with np.errstate(all="ignore"):
        expected = np.array([clipped(value) for value in x.tolist()], dtype)
    same(evaluate(lambda v: unary.ClipOp(v, low, high), x), expected)
