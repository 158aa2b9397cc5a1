"""The NumPy meaning of the operators of `transcendental` and `bits`, and of truncating division."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from operator_oracles import (
    BOOL,
    FLOATS,
    INTEGERS,
    broadcastable,
    close,
    evaluate,
    reference,
    run_settings,
    same,
    sample,
    seeds,
    shapes,
)
from xdsl.dialects.builtin import TensorType, f32, i1, i32
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.tensor import binary, bits, transcendental
from xrelay.interpreters.arrays import element_type_of

PRECISE: dict[type[Operation], Any] = {
    transcendental.AcosOp: mp.acos,
    transcendental.AcoshOp: mp.acosh,
    transcendental.AsinOp: mp.asin,
    transcendental.AsinhOp: mp.asinh,
    transcendental.AtanOp: mp.atan,
    transcendental.AtanhOp: mp.atanh,
    transcendental.CoshOp: mp.cosh,
    transcendental.FastErfOp: mp.erf,
    transcendental.FastExpOp: mp.exp,
    transcendental.FastTanhOp: mp.tanh,
    transcendental.Log10Op: mp.log10,
    transcendental.Log2Op: lambda x: mp.log(x, 2),
    transcendental.SinhOp: mp.sinh,
    transcendental.TanOp: mp.tan,
}


def precise(function: Any, x: float) -> float:
    """A function by mpmath: NaN where the result is not a real number."""
    if math.isnan(x) or (math.isinf(x) and function is mp.tan):
        return math.nan
    try:
        with mp.workprec(160):
            value = function(mpf(x))
    except (ValueError, ZeroDivisionError):
        # Poles of the logarithms and of the inverse hyperbolic tangent.
        return -math.inf if x == 0 else math.copysign(math.inf, x)
    return math.nan if isinstance(value, mp.mpc) or mp.isnan(value) else float(value)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", PRECISE, ids=lambda op: op.name)
@settings(run_settings, max_examples=6)
@given(seed=seeds, shape=shapes)
def test_transcendental(op: Any, dtype: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, dtype)
    # mpmath takes long for sums of exponentials of huge numbers, and NumPy's tan is less exact.
    huge = np.isfinite(x) & (np.abs(x.astype(np.float64)) > 1e3)
    x = np.where(huge, x.dtype.type(0.75), x)
    values = [precise(PRECISE[op], float(v)) for v in x.reshape(-1)]
    with np.errstate(all="ignore"):
        expected = np.array(values, np.float64).astype(dtype).reshape(x.shape)
    eps = float(ml_dtypes.finfo(dtype).eps)
    close(evaluate(op, x), expected, rtol=4 * eps, atol=float(ml_dtypes.finfo(dtype).tiny))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@settings(run_settings, max_examples=5)
@given(seed=seeds, shape=shapes)
def test_kinds_of_numbers(dtype: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, dtype)
    for op, function in (
        (bits.IsFiniteOp, math.isfinite),
        (bits.IsInfOp, math.isinf),
        (bits.IsNanOp, math.isnan),
    ):
        values = [function(float(v)) for v in x.reshape(-1)]
        same(evaluate(op, x), np.array(values, bool).reshape(x.shape))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(run_settings, max_examples=5)
@given(seed=seeds, shape=shapes)
def test_bitwise_not(dtype: np.dtype[Any], seed: int, shape: list[int]):
    x = sample(seed, shape, dtype)
    found = evaluate(bits.BitwiseNotOp, x)
    if dtype == BOOL:
        same(found, ~x)
    else:
        same(found, reference("BitwiseNot", x))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_reinterpret(dtype: np.dtype[Any]):
    x = sample(3, [3, 5], dtype)
    # Of an array that does not lie in order.
    for other in (*FLOATS, *INTEGERS):
        if other.itemsize == dtype.itemsize and (other == BOOL) == (dtype == BOOL):
            type_ = element_type_of(other)
            found = evaluate(lambda v, t=type_: bits.ReinterpretOp(v, t), x[:, ::2])
            assert found.dtype == other
            assert found.tobytes() == x[:, ::2].tobytes()


@settings(run_settings, max_examples=60)
@given(
    seed=seeds,
    multiplier=st.integers(-(2**31), 2**31 - 1),
    shift=st.integers(-31, 31),
)
def test_fixed_point_multiply(seed: int, multiplier: int, shift: int):
    x = sample(seed, [20], np.dtype(np.int32))
    left, right = max(shift, 0), 31 + max(-shift, 0)

    def exact(v: int) -> int:
        total = (v << left) * multiplier + (1 << (right - 1))
        total = (total + 2**63) % 2**64 - 2**63
        return ((total >> right) + 2**31) % 2**32 - 2**31

    found = evaluate(lambda v: bits.FixedPointMultiplyOp(v, multiplier, shift), x)
    same(found, np.array([exact(int(v)) for v in x], np.int32))


def test_fixed_point_multiply_rounds():
    x = np.array([3, -3, 10**9, 2**31 - 1], np.int32)
    # 0.75 and 0.75 / 8, halves up.
    found = evaluate(lambda v: bits.FixedPointMultiplyOp(v, 3 << 29, 0), x)
    same(found, np.array([2, -2, 750000000, 1610612735], np.int32))
    found = evaluate(lambda v: bits.FixedPointMultiplyOp(v, 3 << 29, -3), x)
    same(found, np.array([0, 0, 93750000, 201326592], np.int32))
    found = evaluate(lambda v: bits.FixedPointMultiplyOp(v, 3 << 29, 0), np.array(3, np.int32))
    same(found, np.array(2, np.int32))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@settings(run_settings, max_examples=8)
@given(seed=seeds, pair=broadcastable(2))
def test_truncating_division(dtype: np.dtype[Any], seed: int, pair: list[list[int]]):
    x, y = sample(seed, pair[0], dtype), sample(seed + 1, pair[1], dtype)
    operands = np.broadcast_arrays(x, y)
    quotients: list[Any] = []
    remainders: list[Any] = []
    integer = dtype in INTEGERS
    for a, b in zip(*(value.reshape(-1) for value in operands), strict=True):
        if integer:
            p, q = int(a), int(b)
            quotient = 0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
            quotients.append(quotient)
            remainders.append(p - quotient * q if q else 0)
        else:
            wide = np.float64 if dtype == np.float64 else np.float32
            with np.errstate(all="ignore"):
                quotients.append(np.trunc(wide(a) / wide(b)))
                remainders.append(np.fmod(wide(a), wide(b)))

    def expected(values: list[Any]) -> Any:
        if integer:
            width = 1 if dtype == BOOL else 8 * dtype.itemsize
            values = [int(v) % 2**width for v in values]
            unsigned = f"u{dtype.itemsize}"
            return np.array(values, unsigned).astype(dtype).reshape(operands[0].shape)
        with np.errstate(all="ignore"):
            return np.array(values).astype(dtype).reshape(operands[0].shape)

    same(evaluate(binary.TruncDivideOp, x, y), expected(quotients))
    same(evaluate(binary.TruncModOp, x, y), expected(remainders))


X = np.zeros(3, np.float32)
N = np.zeros(3, np.int32)


@pytest.mark.parametrize(
    ("build", "value", "message"),
    [
        (lambda v: bits.ReinterpretOp(v, i1), np.zeros(3, np.int8), "'dtype' is i1, expected"),
        (
            lambda v: bits.ReinterpretOp(v, element_type_of(np.dtype(np.int64))),
            X,
            "'dtype' is i64, expected a type with as many bits as f32",
        ),
        (lambda v: bits.ReinterpretOp(v, TensorType(f32, [])), X, "'dtype' is tensor<f32>"),
        (lambda v: bits.FixedPointMultiplyOp(v, 1, 0), X, "expected i32"),
        (lambda v: bits.FixedPointMultiplyOp(v, 2**31, 0), N, "'multiplier' is 2147483648"),
        (lambda v: bits.FixedPointMultiplyOp(v, 1, 32), N, r"'shift' is 32, accepted range"),
    ],
)
def test_refusals(build: Any, value: Any, message: str):
    with pytest.raises(VerifyException, match=message):
        evaluate(build, value)


def test_types():
    assert bits.IsNanOp(_parameter(f32)).result.type == TensorType(i1, [2])
    assert bits.ReinterpretOp(_parameter(f32), i32).result.type == TensorType(i32, [2])


def _parameter(dtype: Any) -> Any:
    from xdsl.ir import Block

    return Block(arg_types=[TensorType(dtype, [2])]).args[0]
