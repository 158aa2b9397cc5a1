"""Operators that work element by element, against onnxruntime or NumPy."""

import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import (
    Array,
    Samples,
    by_import,
    by_onnxruntime,
    check,
    kinds,
    longs,
    one_node,
    require_equal,
)

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(7)
floats, integers, bools = SAMPLES.floats, SAMPLES.integers, SAMPLES.bools


def test_functions_of_integers_are_cut():
    """Of integers, too, ONNX has them: onnxruntime where it has a kernel, else the formula."""
    data = integers(3, 4, low=1, high=9, dtype="int32")
    wide = data.astype(np.float64)
    for op in ("ReduceL2", "ReduceLogSum"):
        check(op, [data], opset=13, axes=[1])
    logarithms = np.log(np.exp(wide).sum(1, keepdims=True))
    check("ReduceLogSumExp", [data], expected=logarithms.astype(np.int32), opset=13, axes=[1])
    for dtype in ("int32", "uint8"):
        check("Shrink", [integers(12, low=0, dtype=dtype)], opset=9, lambd=3.0, bias=1.5)
    signs = np.array([-3, 0, 5], np.int32)
    check("Erf", [signs], expected=np.array([0, 0, 0], np.int32))
    check("Erf", [10 * signs], expected=np.array([-1, 0, 1], np.int32))


UNARY = [
    *("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "LeakyRelu", "Neg", "Reciprocal", "Relu"),
    *("Round", "Sigmoid", "Sign", "Sin", "Tanh", "Identity", "IsNaN", "Elu", "Selu", "Celu"),
    *("HardSigmoid", "HardSwish", "Softplus", "Softsign", "ThresholdedRelu"),
]


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str):
    check(op, [floats(3, 5) * 2], opset=15)


@pytest.mark.parametrize("op", ["Sqrt", "Log"])
def test_unary_positive(op: str):
    check(op, [np.abs(floats(3, 5)) + 0.1])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate: str):
    check("Gelu", [floats(3, 5)], opset=20, approximate=approximate)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean"])
@pytest.mark.parametrize(
    "shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 4), (3, 1)), ((), (2,))]
)
def test_binary(op: str, shapes: tuple[tuple[int, ...], ...]):
    check(op, [floats(*shape) for shape in shapes])


@pytest.mark.parametrize("op", ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
def test_comparison(op: str):
    check(op, [integers(4, 5, low=0, high=3), integers(5, low=0, high=3)])


@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_logical(op: str):
    check(op, [bools(4, 5), bools(5)])


def test_not():
    check("Not", [bools(4)])


@pytest.mark.parametrize("op", ["Min", "Max", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 3, 4])
def test_variadic(op: str, count: int):
    check(op, [floats(2, 3) for _ in range(count)])


def test_integer_division_rounds_towards_zero():
    check("Div", [longs(-7, 7, -7, 7), longs(2, -2, -2, 2)], expected=longs(-3, -3, 3, 3))


def test_mod_has_the_sign_of_the_divisor():
    check("Mod", [longs(-7, 7, -7, 7), longs(2, -3, -3, 3)])


def test_fmod_has_the_sign_of_the_dividend():
    check("Mod", [longs(-7, 7, -7, 7), longs(2, -3, -3, 3)], fmod=1)
    check("Mod", [floats(9) * 5, floats(9)], fmod=1)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_bit_shift(direction: str):
    data = [integers(6, low=0, high=99, dtype="uint8"), integers(6, low=0, high=7, dtype="uint8")]
    check("BitShift", data, direction=direction)


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bitwise(op: str):
    check(op, [integers(6, dtype="int32"), integers(6, dtype="int32")], opset=18)


def test_bitwise_not():
    check("BitwiseNot", [integers(6, dtype="int32")], opset=18)


@pytest.mark.parametrize("exponent", ["float32", "int64", "int32"])
def test_power(exponent: str):
    check("Pow", [np.abs(floats(2, 3)) + 0.1, integers(3, low=0, high=4, dtype=exponent)])


def test_power_of_integers():
    check("Pow", [longs(2, -3, 4), longs(3, 3, 0)])


@pytest.mark.parametrize("to", ["FLOAT16", "DOUBLE", "INT32", "INT64", "UINT8", "BOOL"])
def test_cast(to: str):
    check("Cast", [np.array([0, 0.4, 1.6, 7], np.float32)], to=TensorProto.DataType.Value(to))


def test_cast_like():
    check("CastLike", [floats(3)], [longs(1)], opset=15)


def test_cast_by_name():
    data = floats(3)
    check("Cast", [data], opset=1, to="DOUBLE", expected=data.astype(np.float64))


def test_where():
    check("Where", [bools(2, 1), floats(3), floats(2, 3)])


def test_prelu():
    check("PRelu", [floats(2, 3, 4), floats(3, 1)])


def test_parametric_relu_uses_slopes_below_zero_only():
    x = np.array([-0.0, 0, 1, -1, -2, np.inf, np.nan, -np.inf], np.float32)
    slopes = np.array([3, np.inf, np.nan, np.inf, -0.5, np.inf, 1, 2], np.float32)
    model = one_node("PRelu", [x, slopes], opset=16)
    (found,) = by_import(model, [x, slopes])
    (expected,) = by_onnxruntime(model, [x, slopes])
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found[0])


LIMITS = [np.array(-0.5, np.float32), np.array(0.25, np.float32)]


@pytest.mark.parametrize("bounds", [LIMITS, LIMITS[:1], [None, LIMITS[1]], []])
def test_clip_by_constants(bounds: list[Array | None]):
    model = one_node("Clip", [data := floats(4, 5)], bounds)
    require_equal(by_import(model, [data]), by_onnxruntime(model, [data]))
    assert kinds(model) == ["clip"]


def test_clip_by_values():
    check("Clip", [floats(4, 5), *LIMITS])
    check("Clip", [integers(4, 5)], [np.array(-2), np.array(3)])


def test_clip_by_attributes():
    data = floats(4, 5)
    check("Clip", [data], opset=6, min=-0.5, max=0.25, expected=np.clip(data, -0.5, 0.25))
    check("Clip", [data], opset=6, max=0.25, expected=np.minimum(data, np.float32(0.25)))


# Broadcasting before operator set 7


@pytest.mark.parametrize(
    "lhs, rhs, axis, aligned",
    [
        ((2, 3, 4), (3,), 1, (3, 1)),
        ((2, 3, 4), (2, 3), 0, (2, 3, 1)),
        ((2, 3, 4), (4,), -1, (4,)),
        ((2, 3, 4), (3, 4), None, (3, 4)),
        ((2, 3, 4), (), None, ()),
    ],
)
def test_legacy_broadcast(
    lhs: tuple[int, ...], rhs: tuple[int, ...], axis: int | None, aligned: tuple[int, ...]
):
    x, y = floats(*lhs), floats(*rhs)
    options = {} if axis is None else {"axis": axis}
    check("Mul", [x, y], opset=6, broadcast=1, expected=x * y.reshape(aligned), **options)


def test_legacy_shapes_must_be_equal():
    with pytest.raises(OnnxImportError, match="'broadcast' is not set"):
        import_model(one_node("Add", [floats(2, 3), floats(3)], opset=6))
