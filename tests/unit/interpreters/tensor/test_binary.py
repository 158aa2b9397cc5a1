"""The NumPy meaning of arithmetic, comparison and logic of two operands."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from operator_oracles import (
    BOOL,
    FLOATS,
    INTEGERS,
    bits,
    broadcastable,
    by_floats,
    by_integers,
    close,
    evaluate,
    run_settings,
    same,
    sample,
    seeds,
)
from xdsl.ir import Operation

from xrelay.dialects.tensor import binary, unary


def truncating(lhs: int, rhs: int) -> int:
    quotient = abs(lhs) // abs(rhs)
    return quotient if (lhs < 0) == (rhs < 0) else -quotient


def shifted_left(lhs: int, rhs: int, width: int) -> int:
    return lhs << rhs if 0 <= rhs < width else 0


def shifted_right(lhs: int, rhs: int, width: int) -> int:
    return lhs >> (rhs if 0 <= rhs < width else width)


INTEGER_BINARY: dict[type[Operation], Callable[[int, int, int], int]] = {
    binary.AddOp: lambda x, y, n: x + y,
    binary.SubtractOp: lambda x, y, n: x - y,
    binary.MultiplyOp: lambda x, y, n: x * y,
    binary.DivideOp: lambda x, y, n: truncating(x, y) if y else 0,
    binary.FloorDivideOp: lambda x, y, n: x // y if y else 0,
    binary.ModOp: lambda x, y, n: x - truncating(x, y) * y if y else 0,
    binary.FloorModOp: lambda x, y, n: x % y if y else 0,
    binary.MaximumOp: lambda x, y, n: max(x, y),
    binary.MinimumOp: lambda x, y, n: min(x, y),
    binary.LeftShiftOp: shifted_left,
    binary.RightShiftOp: shifted_right,
    binary.BitwiseAndOp: lambda x, y, n: x & y,
    binary.BitwiseOrOp: lambda x, y, n: x | y,
    binary.BitwiseXorOp: lambda x, y, n: x ^ y,
}


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", INTEGER_BINARY, ids=lambda op: op.name)
@settings(run_settings, max_examples=6)
@given(seed=seeds, pair=broadcastable(2))
def test_integer_binary(op: Any, dtype: np.dtype[Any], seed: int, pair: list[list[int]]):
    lhs, rhs = sample(seed, pair[0], dtype), sample(seed + 1, pair[1], dtype)
    width = bits(dtype)
    expected = by_integers(lambda x, y: INTEGER_BINARY[op](x, y, width), dtype, lhs, rhs)
    same(evaluate(op, lhs, rhs), expected)


def quotient(x: float, y: float) -> float:
    return float(np.float64(x) / np.float64(y))


FLOAT_BINARY: dict[type[Operation], Callable[[float, float], float]] = {
    binary.AddOp: lambda x, y: x + y,
    binary.SubtractOp: lambda x, y: x - y,
    binary.MultiplyOp: lambda x, y: x * y,
    binary.DivideOp: quotient,
    binary.ModOp: lambda x, y: float(np.fmod(x, y)),
    binary.MaximumOp: lambda x, y: math.nan if math.isnan(x) or math.isnan(y) else max(x, y),
    binary.MinimumOp: lambda x, y: math.nan if math.isnan(x) or math.isnan(y) else min(x, y),
    # One exponent 0.5 for all would be NumPy's square root, which is another function of -0 and -inf.
    binary.PowerOp: lambda x, y: float(np.power([x, 2.0], [y, 2.0])[0]),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", FLOAT_BINARY, ids=lambda op: op.name)
@settings(run_settings, max_examples=8)
@given(seed=seeds, pair=broadcastable(2))
def test_float_binary(op: Any, dtype: np.dtype[Any], seed: int, pair: list[list[int]]):
    lhs, rhs = sample(seed, pair[0], dtype), sample(seed + 1, pair[1], dtype)
    with np.errstate(all="ignore"):
        expected = by_floats(FLOAT_BINARY[op], dtype, lhs, rhs)
    eps = float(ml_dtypes.finfo(dtype).eps)
    exact = op in (binary.MaximumOp, binary.MinimumOp, binary.ModOp)
    close(evaluate(op, lhs, rhs), expected, 0 if exact else 4 * eps, 0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floor_division_of_floats(dtype: np.dtype[Any]):
    lhs, rhs = (
        np.array([7.5, -7.5, 7.5, -7.5, 1, 0, np.nan], dtype),
        np.array([2, 2, -2, -2, 0, 0, 1], dtype),
    )
    expected = np.array([3, -4, -4, 3, np.inf, np.nan, np.nan], dtype)
    same(evaluate(binary.FloorDivideOp, lhs, rhs), expected)
    expected = np.array([1.5, 0.5, -0.5, -1.5, np.nan, np.nan, np.nan], dtype)
    same(evaluate(binary.FloorModOp, lhs, rhs), expected)


COMPARISONS: dict[type[Operation], Callable[[Any, Any], bool]] = {
    binary.EqualOp: lambda x, y: x == y,
    binary.NotEqualOp: lambda x, y: x != y,
    binary.LessOp: lambda x, y: x < y,
    binary.LessEqualOp: lambda x, y: x <= y,
    binary.GreaterOp: lambda x, y: x > y,
    binary.GreaterEqualOp: lambda x, y: x >= y,
}


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("op", COMPARISONS, ids=lambda op: op.name)
@settings(run_settings, max_examples=4)
@given(seed=seeds, pair=broadcastable(2))
def test_comparison(op: Any, dtype: np.dtype[Any], seed: int, pair: list[list[int]]):
    lhs, rhs = sample(seed, pair[0], dtype), sample(seed + 1, pair[1], dtype)
    operands = np.broadcast_arrays(lhs, rhs)
    columns = [operand.reshape(-1).tolist() for operand in operands]
    values = [COMPARISONS[op](x, y) for x, y in zip(*columns, strict=True)]
    same(evaluate(op, lhs, rhs), np.array(values, bool).reshape(operands[0].shape))


@given(seed=seeds, pair=broadcastable(2))
@run_settings
def test_logical(seed: int, pair: list[list[int]]):
    lhs, rhs = sample(seed, pair[0], BOOL), sample(seed + 1, pair[1], BOOL)
    same(evaluate(binary.LogicalAndOp, lhs, rhs), np.asarray(lhs & rhs))
    same(evaluate(binary.LogicalOrOp, lhs, rhs), np.asarray(lhs | rhs))
    same(evaluate(binary.LogicalXorOp, lhs, rhs), np.asarray(lhs ^ rhs))
    same(evaluate(unary.LogicalNotOp, lhs), np.asarray(~lhs))
