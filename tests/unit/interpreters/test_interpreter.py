"""
The NumPy meaning of the operators, compared with outside oracles: onnxruntime and the ONNX
reference evaluator for what ONNX can say, Python's integers and `math` for the rest. One file,
because all operators share the oracles and the strategies for shapes and values.
"""

import math
from collections.abc import Callable
from itertools import product
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
    UNSIGNED,
    broadcastable,
    close,
    dims,
    evaluate,
    full_shapes,
    reference,
    run_settings,
    runtime,
    same,
    sample,
    seeds,
    shapes,
)
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.dialects.conv import conv
from xrelay.dialects.core import annotation
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm, upsampling
from xrelay.dialects.pool import pool
from xrelay.dialects.relay import Relay
from xrelay.dialects.tensor import binary, creation, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.interpreters.arrays import (
    Array,
    constant_array,
    constant_op,
    dtype_of,
    element_type_of,
    type_of,
)
from xrelay.interpreters.relay import interpret


def bits(dtype: np.dtype[Any]) -> int:
    return 1 if dtype == BOOL else 8 * dtype.itemsize


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    """`value` modulo the range of an integer dtype."""
    value %= 1 << bits(dtype)
    return value - (1 << bits(dtype)) if dtype in SIGNED and value >> (bits(dtype) - 1) else value


def by_integers(function: Callable[..., int], dtype: np.dtype[Any], *inputs: Array) -> Array:
    """`function` of Python's integers for each element, then modulo the range of `dtype`."""
    operands = np.broadcast_arrays(*inputs)
    columns = [[int(x) for x in operand.reshape(-1)] for operand in operands]
    values = [wrapped(function(*row), dtype) for row in zip(*columns, strict=True)]
    return np.array(values, dtype).reshape(operands[0].shape)


def by_floats(function: Callable[..., Any], dtype: np.dtype[Any], *inputs: Array) -> Array:
    """`function` of float64 values for each element, rounded to `dtype` once."""
    operands = np.broadcast_arrays(*(value.astype(np.float64) for value in inputs))
    columns = [operand.reshape(-1).tolist() for operand in operands]
    values = [function(*row) for row in zip(*columns, strict=True)]
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(dtype).reshape(operands[0].shape)


# Elementwise operators


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
    binary.PowerOp: lambda x, y: float(np.power(np.float64(x), np.float64(y))),
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


# Reductions


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


# Creation


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


# Transforms


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
        found = evaluate(lambda v, p, m=mode: transform.PadOp(v, p, widths, pad_mode=m), x, value)
        same(found, runtime("Pad", x, pads, value, mode=mode) if shape else x)


def test_pad_of_empty_tensor_and_bf16():
    x, value = np.zeros((0, 2), BF16), np.array(3, BF16)
    found = evaluate(lambda v, p: transform.PadOp(v, p, [(1, 2), (0, 0)]), x, value)
    same(found, np.full((3, 2), 3, BF16))
    found = evaluate(
        lambda v, p: transform.PadOp(v, p, [(0, 0), (1, 1)], pad_mode="edge"), x, value
    )
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


def taken_by_loops(data: Array, indices: Array, axis: int, batch: int, mode: str) -> Array:
    shape = data.shape[:axis] + indices.shape[batch:] + data.shape[axis + 1 :]
    result = np.empty(shape, data.dtype)
    for position in np.ndindex(*shape):
        inner = position[axis : axis + indices.ndim - batch]
        index = int(indices[(*position[:batch], *inner)])
        length = data.shape[axis]
        index = index % length if mode == "wrap" else min(max(index, 0), length - 1)
        rest = position[axis + indices.ndim - batch :]
        result[position] = data[(*position[:axis], index, *rest)]
    return result


@given(seed=seeds, shape=full_shapes, data=st.data())
@settings(run_settings, max_examples=60)
def test_take(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, F32)
    axis = data.draw(st.integers(0, len(shape) - 1))
    batch = data.draw(st.integers(0, axis))
    index_shape = [*shape[:batch], *data.draw(st.lists(dims, max_size=2))]
    mode = data.draw(st.sampled_from(["clip", "wrap", "fast"]))
    dtype = data.draw(st.sampled_from([d for d in INTEGERS if d != BOOL]))
    indices = sample(seed, index_shape, dtype)
    found = evaluate(
        lambda v, i: transform.TakeOp(v, i, axis=axis, batch_dims=batch, mode=mode), x, indices
    )
    same(found, taken_by_loops(x, indices, axis, batch, mode))
    flat = evaluate(lambda v, i: transform.TakeOp(v, i, mode=mode), x, indices)
    same(flat, taken_by_loops(x.reshape(-1), indices, 0, 0, mode))
    proper = np.asarray(indices.astype(np.int64) % shape[axis])
    found = evaluate(lambda v, i: transform.TakeOp(v, i, axis=axis - len(shape)), x, proper)
    same(found, reference("Gather", x, proper, axis=axis))


def test_take_from_nothing():
    found = evaluate(
        lambda v, i: transform.TakeOp(v, i, axis=0), np.zeros((0, 0)), np.zeros((3,), np.int32)
    )
    same(found, np.zeros((3, 0)))


@given(seed=seeds, shape=full_shapes, data=st.data())
@run_settings
def test_gather_nd(seed: int, shape: list[int], data: st.DataObject):
    x = sample(seed, shape, F32)
    batch = data.draw(st.integers(0, len(shape) - 1))
    count = data.draw(st.integers(1, len(shape) - batch))
    outer = [*shape[:batch], *data.draw(st.lists(dims, max_size=2))]
    indices = sample(seed, [count, *outer], np.dtype("int64"))
    found = evaluate(lambda v, i: transform.GatherNDOp(v, i, batch_dims=batch), x, indices)
    limits = np.array(shape[batch : batch + count]).reshape(-1, *[1] * len(outer))
    clamped = np.clip(indices, 0, limits - 1)
    if 0 not in outer:
        same(found, reference("GatherND", x, np.moveaxis(clamped, 0, -1), batch_dims=batch))
    else:
        same(found, np.zeros((*outer, *shape[batch + count :]), np.float32))


def test_gather_nd_without_indices_repeats_the_data():
    x = np.arange(3)
    found = evaluate(transform.GatherNDOp, x, np.zeros((0, 2), np.int64))
    same(found, np.stack([x, x]))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@given(seed=seeds, triple=broadcastable(3))
@settings(run_settings, max_examples=6)
def test_where(dtype: np.dtype[Any], seed: int, triple: list[list[int]]):
    condition = sample(seed, triple[0], BOOL)
    x, y = sample(seed, triple[1], dtype), sample(seed + 1, triple[2], dtype)
    same(evaluate(transform.WhereOp, condition, x, y), reference("Where", condition, x, y))


# Convolution and matrix products


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    """Sizes of an image and of windows over it, of which at least one fits."""
    kernel = [draw(st.integers(1, 3)) for _ in range(2)]
    dilation = [draw(st.integers(1, 2)) for _ in range(2)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    padding = [draw(st.integers(0, kernel[i % 2] - 1)) for i in range(4)]
    return {
        "image": [e + draw(st.integers(0, 5)) for e in extent],
        "kernel": kernel,
        "strides": [draw(st.integers(1, 3)) for _ in range(2)],
        "dilation": dilation,
        "padding": padding,
    }


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


# Pooling


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


@pytest.mark.parametrize("scale_h, scale_w", [(2, 2), (1, 3), (1.5, 2.5), (0.5, 1), (0.1, 2)])
def test_upsampling(scale_h: float, scale_w: float):
    x = sample(1, (1, 2, 3, 4), F32)
    height, width = round(3 * scale_h), round(4 * scale_w)
    expected = np.empty((1, 2, height, width), F32)
    for i, j in product(range(height), range(width)):
        expected[:, :, i, j] = x[:, :, i * 3 // height, j * 4 // width]
    found = evaluate(lambda v: upsampling.UpsamplingOp(v, float(scale_h), float(scale_w)), x)
    same(found, expected)


# Normalisation


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


# Constants, tuples, references, bodies, control flow


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (5, 7)])
def test_constants_keep_bits(dtype: np.dtype[Any], shape: tuple[int, ...]):
    for array in (sample(1, shape, dtype), np.ones(shape, dtype), sample(2, shape, dtype).T):
        op = constant_op(array)
        op.verify()
        found = constant_array(op)
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        large = array.size > core.INLINE_ELEMENTS and len(set(array.reshape(-1).tolist())) > 1
        assert isinstance(op.value, core.BlobAttr) == large
        same(evaluate(lambda a=array: constant_op(a)), array)


def test_large_constants_share_memory():
    array = np.arange(100, dtype=np.float32)
    assert np.shares_memory(constant_array(constant_op(array)), array)


@pytest.mark.parametrize(
    "element, message",
    [
        (builtin.f32, "'value' has 7 bytes, tensor<2xf32> has 8"),
        (builtin.NoneType(), "element type none has no size"),
    ],
)
def test_blob_of_wrong_size(element: Attribute, message: str):
    op = core.ConstantOp(core.BlobAttr(core.Blob(bytes(7))), TensorType(element, [2]))
    with pytest.raises(VerifyException, match=message):
        op.verify()


def test_splats_are_compared_by_bits():
    assert isinstance(constant_op(np.full(100, np.nan)).value, DenseIntOrFPElementsAttr)
    zeros = np.zeros(100)
    zeros[50] = -0.0
    assert isinstance(constant_op(zeros).value, core.BlobAttr)


def test_dense_and_array_types_agree():
    for dtype in (*FLOATS, *INTEGERS):
        assert dtype_of(element_type_of(dtype)) == dtype
    with pytest.raises(InterpretationError, match="index has no NumPy type"):
        dtype_of(builtin.IndexType())
    with pytest.raises(InterpretationError, match="complex128 is no element type"):
        type_of(np.zeros(2, complex))


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, func.Func, scf.Scf, tensor.Tensor, arith.Arith, Relay):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


PROGRAM = """
func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %c: tensor<i1>)
    -> (tensor<2xf32>, tuple<tensor<2xf32>, tensor<i1>>, tuple<>) {
  %0 = relay.fused %x : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.composite "test.negate" %p : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%q: tensor<2xf32>):
      %2 = relay.negative %q : (tensor<2xf32>) -> tensor<2xf32>
      relay.yield %2 : tensor<2xf32>
    }
    relay.yield %1 : tensor<2xf32>
  }
  %b = relay.annotation.compiler_begin %0 compiler "c" : (tensor<2xf32>) -> tensor<2xf32>
  %e = relay.annotation.compiler_end %b compiler "c" : (tensor<2xf32>) -> tensor<2xf32>
  %s = relay.annotation.stop_fusion %e : (tensor<2xf32>) -> tensor<2xf32>
  %ref = relay.ref_create %s : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
  %taken = tensor.extract %c[] : tensor<i1>
  %3 = scf.if %taken -> (tensor<2xf32>) {
    %4 = func.call @double(%s) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    scf.yield %s : tensor<2xf32>
  }
  %w = relay.ref_write %ref, %3 : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
  %r = relay.ref_read %ref : (!relay.ref<tensor<2xf32>>) -> tensor<2xf32>
  %t = relay.tuple %s, %c : (tensor<2xf32>, tensor<i1>) -> tuple<tensor<2xf32>, tensor<i1>>
  func.return %r, %t, %w : tensor<2xf32>, tuple<tensor<2xf32>, tensor<i1>>, tuple<>
}
"""


@pytest.mark.parametrize("condition, expected", [(True, [-2, -4]), (False, [-1, -2])])
def test_whole_programs(condition: bool, expected: list[int]):
    x = np.array([1, 2], F32)
    written, fields, unit = interpret(parse(PROGRAM), [x, np.array(condition)])
    same(written, np.array(expected, F32))
    same(fields[0], -x)
    same(fields[1], np.array(condition))
    assert unit == ()
    (doubled,) = interpret(parse(PROGRAM), [x], "double")
    same(doubled, x + x)


def test_tuple_parameters():
    module = parse("""
    func.func @main(%t: tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tensor<i32> {
      %0 = relay.tuple_get_item %t[1]
        : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
      %1 = relay.tuple_get_item %0[0] : (tuple<tensor<i32>>) -> tensor<i32>
      func.return %1 : tensor<i32>
    }""")
    value = (np.zeros(2, F32), (np.array(5, np.int32),))
    same(interpret(module, [value])[0], np.array(5, np.int32))
    for wrong, message in (
        (np.zeros(2, F32), "is a Python ndarray, expected tuple<"),
        (value[:1], "is a tuple of 1, expected tuple<"),
        ((value[0], (np.array(5, F32),)), "field 0 of field 1 of input 0 of @main is tensor<f32>"),
    ):
        with pytest.raises(InterpretationError, match=message):
            interpret(module, [wrong])


IDENTITY = """
func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  func.return %x : tensor<?x3xf32>
}"""


@pytest.mark.parametrize(
    "inputs, message",
    [
        ([], "@main takes 1 inputs, 0 are given"),
        (
            [np.zeros((2, 4), F32)],
            r"input 0 of @main is tensor<2x4xf32>, expected tensor<\?x3xf32>",
        ),
        ([np.zeros((2, 3))], r"input 0 of @main is tensor<2x3xf64>, expected tensor<\?x3xf32>"),
        ([1.0], r"input 0 of @main is a Python float, expected tensor<\?x3xf32>"),
    ],
)
def test_wrong_inputs(inputs: list[Any], message: str):
    with pytest.raises(InterpretationError, match=message):
        interpret(parse(IDENTITY), inputs)


def test_missing_function():
    with pytest.raises(InterpretationError, match="the module has no function @other"):
        interpret(parse(IDENTITY), [], "other")


def test_constant_without_bytes():
    module = parse("""
    func.func @main() -> tensor<20xf32> {
      %0 = relay.constant #relay.blob<"abc"> : tensor<20xf32>
      func.return %0 : tensor<20xf32>
    }""")
    message = 'the bytes of constant "abc" .* were not supplied with the text'
    with pytest.raises(InterpretationError, match=message):
        interpret(module, [])


def test_shapes_that_only_the_arrays_know():
    unknown = TensorType(builtin.f32, [DYNAMIC_INDEX, DYNAMIC_INDEX])
    x = sample(1, (4, 6), F32)
    for build, expected in (
        (lambda v: reshape.ReshapeOp(v, [0, 2, -1]), x.reshape(4, 2, 3)),
        (lambda v: transform.StridedSliceOp(v, [-2], [100]), x[-2:]),
        (lambda v: transform.BroadcastToOp(v, [2, -1, -1]), np.stack([x, x])),
        (lambda v: transform.TakeOp(v, constant_op(np.array(9)), axis=1), x[:, 5]),
        (lambda v: reduction.SumOp(v, [-1]), x.sum(1)),
    ):
        close(evaluate(build, x, types=[unknown]), expected)
    first, second = evaluate(lambda v: transform.SplitOp(v, 2), x, types=[unknown])
    same(np.concatenate([first, second]), x)


def test_results_are_compared_with_their_types():
    module = parse("""
    func.func @main(%x: tensor<?xf32>) -> tensor<3xf32> {
      %0 = relay.exp %x : (tensor<?xf32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32>
    }""")
    message = "result 0 of relay.exp is tensor<2xf32>, expected tensor<3xf32>"
    with pytest.raises(InterpretationError, match=message):
        interpret(module, [np.zeros(2, F32)])


def test_annotations_are_identities():
    x = sample(1, (2,), F32)
    same(evaluate(annotation.StopFusionOp, x), x)
    same(evaluate(lambda v: annotation.CompilerBeginOp(v, "c"), x), x)
