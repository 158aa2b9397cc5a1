"""
Operators on quantised tensors in NumPy, against onnxruntime where ONNX has them, and against the
definitions in Python's integers and fractions.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from evaluation import evaluate, runtime
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tiers import fixed_examples
from xdsl.dialects.builtin import i8, i16, i32

from xrelay.dialects.qnn import arithmetic as qnn_arithmetic
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.qnn import products as qnn_products
from xrelay.dialects.qnn.parameters import fixed_point, ui8, ui16
from xrelay.interpreters.arrays import Array, dtype_of

run_settings = fixed_examples(30, HealthCheck.too_slow)

DTYPES = {"int8": i8, "uint8": ui8, "int16": i16, "uint16": ui16, "int32": i32}
names = st.sampled_from(sorted(DTYPES))
byte_names = st.sampled_from(["int8", "uint8"])
seeds = st.integers(0, 2**32)
scale_values = st.floats(2.0**-20, 2.0**20, width=32)
zero_values = st.integers(-300, 300)
shapes = st.lists(st.integers(0, 4), max_size=3)


def scalar(value: float, dtype: str = "float32") -> Array:
    return np.asarray(value, dtype)


def integers(seed: int, shape: Any, dtype: str) -> Array:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    wide = rng.integers(info.min, info.max, shape, np.int64, endpoint=True)
    return np.where(rng.random(shape) < 0.5, wide, wide % 9).astype(dtype)


def wrapped(value: int, bits: int = 32) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def clamped(value: int, dtype: str) -> int:
    info = np.iinfo(dtype)
    return min(max(value, info.min), info.max)


def elementwise(function: Callable[..., int], dtype: str, *arrays: Array) -> Array:
    """`function` of Python's integers for the elements that broadcasting pairs."""
    aligned = np.broadcast_arrays(*arrays)
    values = [function(*map(int, each)) for each in zip(*(a.flat for a in aligned), strict=True)]
    return np.array(values, dtype).reshape(aligned[0].shape)


# Requantisation


def fixed_product(x: int, ratio: Fraction, *, up: bool = True) -> int:
    """x * ratio by Relay's definition: the ratio has 31 bits, the product 64."""
    shift = 0
    while ratio and ratio >= 1:
        ratio, shift = ratio / 2, shift + 1
    while ratio and ratio < Fraction(1, 2):
        ratio, shift = ratio * 2, shift - 1
    m = math.floor(ratio * 2**31 + Fraction(1, 2))
    if m == 2**31:
        m, shift = 2**30, shift + 1
    product = wrapped(wrapped(x << max(shift, 0), 64) * m, 64)
    exact = Fraction(product, 2 ** (31 + max(-shift, 0)))
    rounded = math.floor(exact + Fraction(1, 2)) if up else half_away(exact)
    return wrapped(rounded)


def half_away(exact: Fraction) -> int:
    size = math.floor(abs(exact) + Fraction(1, 2))
    return size if exact >= 0 else -size


def quotient(scale: Array, new_scale: Array) -> Fraction:
    """The ratio of two scales, as f64 has it."""
    return Fraction(float(scale) / float(new_scale))


def moved(
    q: int, scale: Array, zero: int, new_scale: Array, new_zero: int, *, up: bool = True
) -> int:
    """A quantised number with another scale and zero point, as i32."""
    product = fixed_product(wrapped(q - zero), quotient(scale, new_scale), up=up)
    return wrapped(product + new_zero)


ratios = st.one_of(
    scale_values,
    st.floats(2.0**-120, 2.0**100, width=32),
    st.sampled_from([1.0, 0.5, 2.0, 0.25, 1 / 3, 1 - 2.0**-24, 2.0**-40]),
)


@run_settings
@given(seeds, names, names, ratios, scale_values, zero_values, zero_values, st.booleans())
def test_requantize(
    seed: int,
    name: str,
    out: str,
    ratio: float,
    new_step: float,
    zero: int,
    new_zero: int,
    up: bool,
):
    q = integers(seed, 20, name)
    new_scale = scalar(new_step)
    with np.errstate(all="ignore"):
        scale = np.asarray(np.float32(ratio) * new_scale)
    if not np.isfinite(scale) or scale == 0:
        return
    rounding = "UPWARD" if up else "TONEAREST"
    found = evaluate(
        lambda *args: qnn.QnnRequantizeOp(*args, rounding=rounding, out_dtype=DTYPES[out]),
        q,
        scale,
        scalar(zero, "int32"),
        new_scale,
        scalar(new_zero, "int32"),
    )
    expected = elementwise(
        lambda each: clamped(moved(each, scale, zero, new_scale, new_zero, up=up), out), out, q
    )
    np.testing.assert_array_equal(found, expected)


@run_settings
@given(seeds, byte_names, scale_values, zero_values, zero_values, st.booleans())
def test_requantization_is_next_to_the_exact_number(
    seed: int, name: str, ratio: float, zero: int, new_zero: int, up: bool
):
    q, scale, new_scale = integers(seed, 20, name), scalar(0.7 * min(ratio, 8)), scalar(0.7)
    for compute in ("int64", "float32", "float64"):
        found = evaluate(
            lambda *args, compute=compute: qnn.QnnRequantizeOp(
                *args,
                rounding="UPWARD" if up else "TONEAREST",
                compute_dtype=compute,
                out_dtype=i32,
            ),
            q,
            scale,
            scalar(zero, "int32"),
            new_scale,
            scalar(new_zero, "int32"),
        )
        exact = (q.astype(np.float64) - zero) * (float(scale) / float(new_scale)) + new_zero
        assert np.all(np.abs(found - exact) <= 0.5 + 1e-3)


@pytest.mark.parametrize("compute", ["int64", "float32", "float64"])
def test_halves_are_rounded_as_asked(compute: str):
    q = np.array([-5, -3, -2, -1, 0, 1, 2, 3, 5], np.int8)
    parameters = scalar(0.5), scalar(0, "int32"), scalar(1), scalar(0, "int32")
    up = {"UPWARD": [-2, -1, -1, 0, 0, 1, 1, 2, 3], "TONEAREST": [-3, -2, -1, -1, 0, 1, 1, 2, 3]}
    if compute != "int64":
        # The zero point, which is odd, is added afterwards.
        up["TONEAREST_EVEN"] = [-2, -2, -1, 0, 0, 0, 1, 2, 2]
    for rounding, expected in (*up.items(), ("None", up["UPWARD"])):
        found = evaluate(
            lambda *args, rounding=rounding: qnn.QnnRequantizeOp(
                *args, rounding=rounding, compute_dtype=compute
            ),
            q,
            *parameters,
        )
        np.testing.assert_array_equal(found, np.array(expected, np.int8))


def test_fixed_points():
    assert fixed_point(0.0) == (0, 0)
    assert fixed_point(1.0) == (2**30, 1)
    assert fixed_point(-0.75) == (-3 * 2**29, 0)
    assert fixed_point(1 - 2.0**-40) == (2**30, 1)
    assert fixed_point(2.0**-40) == (2**30, -39)


@run_settings
@given(seeds, names, st.integers(0, 2))
def test_channels_have_parameters_of_their_own(seed: int, name: str, axis: int):
    rng = np.random.default_rng(seed)
    shape = (2, 3, 4)
    scales = rng.uniform(0.01, 2, shape[axis]).astype(np.float32)
    zeros = rng.integers(-9, 9, shape[axis]).astype(np.int32)
    q, x = integers(seed, shape, name), rng.normal(0, 9, shape).astype(np.float32)
    new = scalar(0.3), scalar(2, "int32")

    def each_channel(operator: Callable[..., Any], data: Array, *rest: Array) -> Array:
        parts = [
            evaluate(operator, part, *map(np.asarray, pair), *rest)
            for part, *pair in zip(np.moveaxis(data, axis, 0), scales, zeros, strict=True)
        ]
        return np.stack(parts, axis)

    def quantize(*args: Any, axis: int = -1) -> qnn.QnnQuantizeOp:
        return qnn.QnnQuantizeOp(*args, out_dtype=DTYPES[name], axis=axis)

    for operator, data, rest in (
        (quantize, x, ()),
        (qnn.QnnDequantizeOp, q, ()),
        (qnn.QnnRequantizeOp, q, new),
    ):
        found = evaluate(
            lambda *args, operator=operator: operator(*args, axis=axis - 3),
            data,
            scales,
            zeros,
            *rest,
        )
        np.testing.assert_array_equal(found, each_channel(operator, data, *rest))


# Conversion


@run_settings
@given(seeds, st.sampled_from(["int8", "uint8", "int16", "uint16"]), scale_values, shapes)
def test_quantize_and_dequantize_are_those_of_onnx(
    seed: int, name: str, step: float, shape: list[int]
):
    rng = np.random.default_rng(seed)
    x = (rng.normal(0, 100, shape) * step).astype(np.float32)
    halves = np.asarray(rng.integers(-9, 9, shape) * np.float32(step / 2), np.float32)
    x = np.where(rng.random(shape) < 0.5, x, halves).astype(np.float32)
    zero = int(rng.integers(np.iinfo(name).min, np.iinfo(name).max))
    q = runtime("QuantizeLinear", x, scalar(step), scalar(zero, name), opset=21)
    found = evaluate(
        lambda *args: qnn.QnnQuantizeOp(*args, out_dtype=DTYPES[name]),
        x,
        scalar(step),
        scalar(zero, "int32"),
    )
    np.testing.assert_array_equal(found, q)
    back = evaluate(qnn.QnnDequantizeOp, q, scalar(step), scalar(zero, "int32"))
    expected = runtime("DequantizeLinear", q, scalar(step), scalar(zero, name), opset=21)
    np.testing.assert_array_equal(back, expected)


def test_quantize_saturates():
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 2.0**31], np.float32)
    for name, dtype in DTYPES.items():
        low, high = np.iinfo(name).min, np.iinfo(name).max
        found = evaluate(
            lambda *args, dtype=dtype: qnn.QnnQuantizeOp(*args, out_dtype=dtype),
            x,
            scalar(0.5),
            scalar(3, "int32"),
        )
        assert found.tolist() == [0, high, low, high, low, high]


@run_settings
@given(seeds, scale_values, zero_values, st.sampled_from(["float16", "float32", "float64"]))
def test_simulated_operators_are_the_real_ones_in_floating_point(
    seed: int, step: float, zero: int, dtype: str
):
    step = min(max(step, 0.01), 10)
    x = np.random.default_rng(seed).normal(0, 60, 15).astype(np.float32)
    parameters = scalar(step), scalar(zero, "int32")
    for code, name in ((1, "int8"), (2, "uint8"), (3, "int32")):
        real = evaluate(
            lambda *args, name=name: qnn.QnnQuantizeOp(*args, out_dtype=DTYPES[name]),
            x,
            *parameters,
        )
        operands = scalar(code, "int32"), *parameters
        found = evaluate(qnn.QnnSimulatedQuantizeOp, x, *operands)
        np.testing.assert_array_equal(found, real.astype(np.float32))
        back = evaluate(qnn.QnnSimulatedDequantizeOp, found, *operands)
        np.testing.assert_array_equal(back, evaluate(qnn.QnnDequantizeOp, real, *parameters))
    for code in (0, 4, -1):
        operands = scalar(code, "int32"), *parameters
        for op in (qnn.QnnSimulatedQuantizeOp, qnn.QnnSimulatedDequantizeOp):
            data = x.astype(dtype)
            np.testing.assert_array_equal(evaluate(op, data, *operands), data)


# Arithmetic

SUMS = (qnn_arithmetic.QnnAddOp, qnn_arithmetic.QnnSubtractOp, qnn_arithmetic.QnnMulOp)


@run_settings
@given(
    seeds,
    names,
    st.sampled_from(SUMS),
    st.tuples(scale_values, scale_values, scale_values),
    st.tuples(zero_values, zero_values, zero_values),
    st.sampled_from([((7,), (7,)), ((), (3,)), ((2, 1), (3,)), ((0,), (1,)), ((), ())]),
)
def test_sums_and_products(
    seed: int,
    name: str,
    op: type[qnn_arithmetic.QnnBinaryOp],
    steps: tuple[float, ...],
    zeros: tuple[int, ...],
    both: tuple[tuple[int, ...], tuple[int, ...]],
):
    lhs, rhs = integers(seed, both[0], name), integers(seed + 1, both[1], name)
    a, b, c = map(scalar, steps)
    za, zb, zc = zeros
    parameters = a, scalar(za, "int32"), b, scalar(zb, "int32"), c, scalar(zc, "int32")
    found = evaluate(op, lhs, rhs, *parameters)

    def exact(x: int, y: int) -> int:
        if op is qnn_arithmetic.QnnMulOp:
            product = wrapped(wrapped(x - za) * wrapped(y - zb))
            return wrapped(fixed_product(product, quotient(np.asarray(a * b), c)) + zc)
        x, y = moved(x, a, za, c, zc), moved(y, b, zb, c, zc)
        return wrapped(x + y - zc if op is qnn_arithmetic.QnnAddOp else x - y + zc)

    expected = elementwise(lambda x, y: clamped(exact(x, y), name), name, lhs, rhs)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("op", SUMS)
def test_operands_have_channels(op: type[qnn_arithmetic.QnnBinaryOp]):
    rng = np.random.default_rng(0)
    lhs, rhs = integers(1, (2, 3, 4), "int8"), integers(2, (3, 4), "int8")
    new = scalar(0.5), scalar(1, "int32")
    a, b = (rng.uniform(0.1, 1, n).astype(np.float32) for n in (2, 3))
    za, zb = (rng.integers(-5, 5, n).astype(np.int32) for n in (2, 3))
    found = evaluate(lambda *args: op(*args, lhs_axis=0, rhs_axis=-2), lhs, rhs, a, za, b, zb, *new)
    for i, j in np.ndindex(2, 3):
        pair = map(np.asarray, (lhs[i, j], rhs[j], a[i], za[i], b[j], zb[j]))
        np.testing.assert_array_equal(found[i, j], evaluate(op, *pair, *new))


FUNCTIONS: dict[type[qnn_arithmetic.QnnUnaryOp], Callable[[float], float]] = {
    qnn_arithmetic.QnnAbsOp: abs,
    qnn_arithmetic.QnnErfOp: math.erf,
    qnn_arithmetic.QnnExpOp: math.exp,
    qnn_arithmetic.QnnHardswishOp: lambda x: x * min(max(x + 3, 0), 6) / 6,
    qnn_arithmetic.QnnLogOp: lambda x: (
        math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)
    ),
    qnn_arithmetic.QnnRsqrtOp: lambda x: x**-0.5 if x > 0 else (math.inf if x == 0 else math.nan),
    qnn_arithmetic.QnnSigmoidOp: lambda x: 1 / (1 + math.exp(-x)),
    qnn_arithmetic.QnnSqrtOp: lambda x: math.sqrt(x) if x >= 0 else math.nan,
    qnn_arithmetic.QnnTanhOp: math.tanh,
}


def test_every_function_has_a_definition():
    assert set(FUNCTIONS) == set(qnn_arithmetic.QNN_UNARY_OPS)


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("name", ["int8", "uint8"])
def test_functions(op: type[qnn_arithmetic.QnnUnaryOp], name: str):
    info = np.iinfo(name)
    every = np.arange(info.min, info.max + 1).astype(name)
    for step, zero, new_step, new_zero in ((0.03, 7, 0.01, -9), (0.4, -3, 0.7, 100)):
        found = evaluate(
            op,
            every,
            scalar(step),
            scalar(zero, "int32"),
            scalar(new_step),
            scalar(new_zero, "int32"),
        )
        for q, result in zip(every.tolist(), found.tolist(), strict=True):
            exact = FUNCTIONS[op](float(np.float32(q - zero) * np.float32(step)))
            if math.isnan(exact):
                assert result == 0
            elif math.isinf(exact):
                assert result == (info.max if exact > 0 else info.min)
            else:
                target = min(
                    max(exact / float(np.float32(new_step)) + new_zero, info.min), info.max
                )
                assert abs(result - target) <= 0.5 + 1e-4


@run_settings
@given(seeds, byte_names, scale_values, scale_values, zero_values, zero_values, st.floats(-4, 4))
def test_leaky_relu(
    seed: int, name: str, step: float, new_step: float, zero: int, new_zero: int, alpha: float
):
    q, scale, new_scale = integers(seed, 30, name), scalar(step), scalar(new_step)
    found = evaluate(
        lambda *args: qnn_arithmetic.QnnLeakyReluOp(*args, alpha),
        q,
        scale,
        scalar(zero, "int32"),
        new_scale,
        scalar(new_zero, "int32"),
    )

    def scaled(x: int, number: float) -> int:
        if number >= 0:
            return fixed_product(x, Fraction(number))
        # The factor of a negative number is that of its size, negated before the product.
        shift = math.frexp(number)[1]
        m = -math.floor(abs(Fraction(math.frexp(number)[0])) * 2**31 + Fraction(1, 2))
        product = wrapped(wrapped(x << max(shift, 0), 64) * m, 64)
        exact = Fraction(product, 2 ** (31 + max(-shift, 0)))
        return wrapped(math.floor(exact + Fraction(1, 2)))

    def expected(each: int) -> int:
        r = moved(each, scale, zero, new_scale, new_zero)
        if each < zero:
            r = wrapped(scaled(r, alpha) + scaled(new_zero, 1 - alpha))
        return clamped(r, name)

    np.testing.assert_array_equal(found, elementwise(expected, name, q))


# Products

FACTORS = st.sampled_from([("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])


def scales_like(zero_points: Array) -> Array:
    return np.ones(zero_points.shape, np.float32)


@run_settings
@given(seeds, FACTORS, st.booleans())
def test_dense_is_that_of_onnx(seed: int, factors: tuple[str, str], channels: bool):
    data, weight = integers(seed, (3, 5), factors[0]), integers(seed + 1, (4, 5), factors[1])
    zero = integers(seed + 2, (), factors[0])
    zeros = integers(seed + 3, (4,) if channels else (), factors[1])
    found = evaluate(
        qnn_products.QnnDenseOp,
        data,
        weight,
        zero.astype(np.int32),
        zeros.astype(np.int32),
        scalar(1),
        scales_like(zeros),
    )
    expected = (data.astype(np.int64) - zero.astype(np.int64)) @ (
        weight.astype(np.int64) - zeros.astype(np.int64).reshape(-1, 1)
    ).T
    np.testing.assert_array_equal(found, expected)
    if not channels:
        transposed = np.ascontiguousarray(weight.T)
        np.testing.assert_array_equal(
            found, runtime("MatMulInteger", data, transposed, zero, zeros)
        )


@run_settings
@given(seeds, FACTORS, st.booleans(), st.booleans())
def test_batch_matmul(seed: int, factors: tuple[str, str], transpose_a: bool, transpose_b: bool):
    x, y = integers(seed, (2, 3, 5), factors[0]), integers(seed + 1, (1, 5, 4), factors[1])
    zero_x, zero_y = integers(seed + 2, (), factors[0]), integers(seed + 3, (), factors[1])
    found = evaluate(
        lambda *args: qnn_products.QnnBatchMatmulOp(
            *args, transpose_a=transpose_a, transpose_b=transpose_b
        ),
        np.ascontiguousarray(x.swapaxes(1, 2)) if transpose_a else x,
        np.ascontiguousarray(y.swapaxes(1, 2)) if transpose_b else y,
        zero_x.astype(np.int32),
        zero_y.astype(np.int32),
        scalar(1),
        scalar(1),
    )
    expected = (x.astype(np.int64) - zero_x) @ (y.astype(np.int64) - zero_y)
    np.testing.assert_array_equal(found, expected)


@run_settings
@given(seeds, st.booleans(), st.integers(1, 2), st.integers(1, 2), st.integers(0, 2))
def test_conv2d_is_that_of_onnx(seed: int, channels: bool, stride: int, groups: int, pad: int):
    data, weight = (
        integers(seed, (2, 4, 6, 5), "uint8"),
        integers(seed + 1, (6, 4 // groups, 3, 2), "int8"),
    )
    zero = integers(seed + 2, (), "uint8")
    zeros = integers(seed + 3, (6,) if channels else (), "int8")
    options: dict[str, Any] = {"strides": (stride, 1), "padding": (pad, 1), "groups": groups}
    found = evaluate(
        lambda *args: qnn_products.QnnConv2DOp(*args, **options),
        data,
        weight,
        zero.astype(np.int32),
        zeros.astype(np.int32),
        scalar(1),
        scales_like(zeros),
    )
    shifted = (
        data.astype(np.float32) - zero,
        weight.astype(np.float32) - zeros.reshape((-1, 1, 1, 1) if channels else ()),
    )
    pads = [pad, 1, pad, 1]
    expected = runtime("Conv", *shifted, strides=[stride, 1], pads=pads, group=groups)
    np.testing.assert_array_equal(found, expected.astype(np.int32))
    narrow = evaluate(
        lambda *args: qnn_products.QnnConv2DOp(*args, out_dtype=i16, **options),
        data,
        weight,
        zero.astype(np.int32),
        zeros.astype(np.int32),
        scalar(1),
        scales_like(zeros),
    )
    np.testing.assert_array_equal(narrow, found.astype(np.int16))


@run_settings
@given(seeds, st.integers(1, 2), st.integers(1, 2), st.integers(0, 1))
def test_conv2d_transpose_is_that_of_onnx(seed: int, stride: int, groups: int, pad: int):
    data, weight = integers(seed, (2, 4, 5, 4), "uint8"), integers(seed + 1, (4, 3, 3, 2), "int8")
    zero, zeros = integers(seed + 2, (), "uint8"), integers(seed + 3, (), "int8")
    found = evaluate(
        lambda *args: qnn_products.QnnConv2DTransposeOp(
            *args, strides=(stride, 1), padding=(pad, 0), groups=groups, kernel_layout="IOHW"
        ),
        data,
        weight,
        zero.astype(np.int32),
        zeros.astype(np.int32),
        scalar(1),
        scalar(1),
    )
    shifted = data.astype(np.float32) - zero, weight.astype(np.float32) - zeros
    pads = [pad, 0, pad, 0]
    expected = runtime("ConvTranspose", *shifted, strides=[stride, 1], pads=pads, group=groups)
    np.testing.assert_array_equal(found, expected.astype(np.int32))


def test_dtypes_of_results_are_those_of_numpy():
    assert {name: dtype_of(dtype) for name, dtype in DTYPES.items()} == {
        name: np.dtype(name) for name in DTYPES
    }
