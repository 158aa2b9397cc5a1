"""Every operator that the ONNX importer knows, against onnxruntime or NumPy."""

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper
from onnx_models import (
    Array,
    Samples,
    build,
    by_import,
    by_onnxruntime,
    check,
    kinds,
    longs,
    one_node,
    operations,
    require_equal,
    side_by_side,
    untyped,
    value_info,
)
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from xrelay.dialects.core.blob import BlobAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer.converters import CONVERTERS

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


# Elementwise operators

UNARY = [
    *("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "LeakyRelu", "Neg", "Reciprocal", "Relu"),
    *("Round", "Sigmoid", "Sign", "Sin", "Tanh", "Identity", "IsNaN", "Elu", "Selu", "Celu"),
    *("HardSigmoid", "HardSwish", "Softplus", "Softsign", "ThresholdedRelu"),
]


@pytest.mark.parametrize(
    "op",
    [
        "Abs",
        "Ceil",
        "Cos",
        "Erf",
        "Exp",
        "Floor",
        "LeakyRelu",
        "Neg",
        "Reciprocal",
        "Relu",
        "Round",
        "Sigmoid",
        "Sign",
        "Sin",
        "Tanh",
        "Identity",
        "IsNaN",
        "Elu",
        "Selu",
        "HardSigmoid",
        "Softplus",
        "Softsign",
        "HardSwish",
        "ThresholdedRelu",
        "Celu",
    ],
)
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


# Convolution and pooling


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 2, 0, 1]},
        {"strides": [2, 3]},
        {"dilations": [2, 1], "pads": [1, 1, 1, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
        {"auto_pad": "SAME_UPPER"},
        {"auto_pad": "VALID"},
        {"kernel_shape": [3, 2]},
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_conv(attributes: dict[str, Any], bias: bool):
    constants = [floats(4, 3, 3, 2)] + [floats(4)] * bias
    check("Conv", [floats(2, 3, 9, 8)], constants, **attributes)


@pytest.mark.parametrize("groups", [2, 4])
def test_grouped_conv(groups: int):
    check("Conv", [floats(1, 4, 7, 7)], [floats(8, 4 // groups, 3, 3)], group=groups)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 2], "strides": [2]},
        {"dilations": [2], "group": 2},
        {"auto_pad": "SAME_UPPER", "strides": [2]},
        {"auto_pad": "SAME_LOWER", "strides": [2]},
        {"kernel_shape": [4]},
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_conv_of_lines(attributes: dict[str, Any], bias: bool):
    constants = [floats(6, 4 // attributes.get("group", 1), 4)] + [floats(6)] * bias
    check("Conv", [floats(2, 4, 11)], constants, **attributes)


TRANSPOSED = [
    {},
    {"strides": [2, 3], "output_padding": [1, 2]},
    {"strides": [3, 2], "pads": [0, 1, 2, 1], "group": 2},
    {"dilations": [2, 1], "pads": [1, 0, 1, 3], "kernel_shape": [3, 2]},
    {"strides": [2, 2], "output_shape": [8, 9]},
    {"strides": [2, 2], "output_shape": [12, 13]},
    {"strides": [2, 2], "output_shape": [8, 9], "auto_pad": "SAME_UPPER"},
    {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"strides": [3, 2], "auto_pad": "SAME_LOWER"},
    {"strides": [2, 2], "auto_pad": "VALID"},
]


@pytest.mark.parametrize("attributes", TRANSPOSED)
@pytest.mark.parametrize("bias", [False, True])
def test_transposed_conv(attributes: dict[str, Any], bias: bool):
    channels = 3 * attributes.get("group", 1)
    constants = [floats(4, 3, 3, 2)] + [floats(channels)] * bias
    check("ConvTranspose", [floats(2, 4, 5, 6)], constants, **attributes)


@pytest.mark.parametrize(
    "attributes", [{}, {"strides": [3], "pads": [1, 0], "output_padding": [1]}]
)
def test_transposed_conv_of_lines(attributes: dict[str, Any]):
    check("ConvTranspose", [floats(2, 4, 5)], [floats(4, 3, 3), floats(3)], **attributes)


@pytest.mark.parametrize(
    "attributes",
    [{"output_shape": [-1, 9]}, {"output_shape": [8]}, {"output_padding": [0, -1]}],
)
def test_transposed_conv_of_a_wrong_size(attributes: dict[str, list[int]]):
    ((name, numbers),) = attributes.items()
    model = one_node("ConvTranspose", [floats(2, 4, 5, 6), floats(4, 3, 3, 2)], **attributes)
    message = re.escape(f"'{name}' is {numbers}, expected a number")
    with pytest.raises(OnnxImportError, match=message):
        import_model(model)


POOLS = [
    {},
    {"strides": [2, 2]},
    {"pads": [1, 0, 1, 1], "strides": [2, 1]},
    {"strides": [2, 2], "ceil_mode": 1},
    {"strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"auto_pad": "VALID", "strides": [2, 2]},
]


@pytest.mark.parametrize("attributes", [*POOLS, {"dilations": [2, 2]}])
def test_max_pool(attributes: dict[str, Any]):
    check("MaxPool", [floats(1, 2, 9, 8)], kernel_shape=[3, 2], **attributes)


@pytest.mark.parametrize("attributes", POOLS)
@pytest.mark.parametrize("count_include_pad", [0, 1])
def test_average_pool(attributes: dict[str, Any], count_include_pad: int):
    options = {**attributes, "count_include_pad": count_include_pad}
    check("AveragePool", [floats(1, 2, 9, 8)], kernel_shape=[3, 2], **options)


WINDOWS = [
    {
        "kernel_shape": [kernel],
        "strides": [stride],
        "dilations": [dilation],
        "pads": [before, after],
        "ceil_mode": 1,
    }
    for kernel in (2, 3, 4)
    for stride in (1, 2, 3, 5)
    for dilation in (1, 2)
    for before in (0, 1)
    for after in (0, 1)
]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_last_windows_beyond_the_image(op: str, size: int):
    """Also the first one, of images that are shorter than it; none start after the image."""
    given = np.abs(floats(1, 2, size)) + 1
    models: list[ModelProto] = []
    for number, window in enumerate(WINDOWS):
        counts = {"count_include_pad": number // 3 % 2} if op == "AveragePool" else {}
        model = one_node(op, [given], opset=22, **window, **counts)
        room = size + sum(window["pads"]) - (window["kernel_shape"][0] - 1) * window["dilations"][0]
        if room + window["strides"][0] <= 1:
            with pytest.raises(OnnxImportError, match=r"the window covers \d elements"):
                import_model(model)
        else:
            models.append(model)
    assert len(models) >= len(WINDOWS) // 2
    together = side_by_side(models)
    expected = by_onnxruntime(together, [given])
    for array in expected:
        # Of padding alone, onnxruntime's largest element is the smallest finite one.
        array[array == np.finfo(np.float32).min] = -np.inf
    require_equal(by_import(together, [given]), expected)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_larger_than_the_image(op: str):
    data = np.array([[1, 2], [3, 4]], np.float32).reshape(1, 1, 2, 2)
    check(op, [data], opset=22, kernel_shape=[3, 3], strides=[3, 3], ceil_mode=1)


@pytest.mark.parametrize("name", ["strides", "dilations"])
def test_steps_of_windows_are_positive(name: str):
    model = one_node("LpPool", [floats(1, 1, 4)], opset=22, kernel_shape=[2], **{name: [0]})
    with pytest.raises(OnnxImportError, match=rf"'{name}' is \[0\], accepted range is \[1, "):
        import_model(model)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (2, 3, 5), (2, 3, 4, 3, 2)])
def test_global_pool(op: str, shape: tuple[int, ...]):
    check(op, [floats(*shape)])


@pytest.mark.parametrize("size", [3, 5])
def test_lrn(size: int):
    check("LRN", [floats(1, 7, 3, 2)], size=size, alpha=0.3, beta=0.6, bias=1.5)
    check("LRN", [floats(1, 7, 3, 2)], size=size)


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3), (2, 3, 4)])
def test_batch_normalization(opset: int, shape: tuple[int, ...]):
    statistics = [floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.1]
    check("BatchNormalization", [floats(*shape)], statistics, opset=opset, epsilon=0.01)


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_layer_normalization(axis: int, dtype: str):
    data = floats(2, 3, 5, dtype=dtype)
    vectors = [floats(*data.shape[axis:], dtype=dtype) for _ in range(2)]
    options = {"axis": axis, "opset": 17, "epsilon": 0.01}
    check("LayerNormalization", [data], vectors, **options)
    check("LayerNormalization", [data], vectors[:1], **options)


def test_layer_normalization_with_statistics():
    data, vectors = floats(2, 3, 5), [floats(3, 5), floats(3, 5)]
    check("LayerNormalization", [data], vectors, axis=1, opset=17, outputs=3)


def test_layer_normalization_is_one_operator():
    data, vectors = floats(2, 5), [floats(5), floats(5)]
    assert kinds(one_node("LayerNormalization", [data], vectors, opset=17)) == ["nn.layer_norm"]


def test_layer_normalization_repeats_its_vectors():
    data, gamma, beta = floats(2, 3, 5), floats(5), floats(3, 1)
    normal = (data - data.mean((1, 2), keepdims=True)) / np.sqrt(
        data.var((1, 2), keepdims=True) + 1e-5
    )
    expected = normal * gamma + beta
    check("LayerNormalization", [data], [gamma, beta], expected, axis=1, opset=17)


@pytest.mark.parametrize("axis", [-1, 1])
def test_rms_normalization(axis: int):
    data = floats(2, 3, 5)
    scale, axes = floats(*data.shape[axis:]), tuple(range(axis % 3, 3))
    expected = data / np.sqrt((data**2).mean(axes, keepdims=True) + 0.01) * scale
    check("RMSNormalization", [data], [scale], expected, axis=axis, opset=23, epsilon=0.01)
    half = data.astype("float16"), scale.astype("float16")
    half_expected = expected.astype("float16")
    check("RMSNormalization", half[:1], half[1:], half_expected, axis=axis, opset=23, epsilon=0.01)


@pytest.mark.parametrize(
    ("op", "opset"), [("RMSNormalization", 23), ("SimplifiedLayerNormalization", 17)]
)
def test_rms_normalization_is_one_operator(op: str, opset: int):
    assert kinds(one_node(op, [floats(2, 5)], [floats(5)], opset=opset)) == ["nn.rms_norm"]


def test_simplified_layer_normalization_is_rms_normalization():
    data, scale = floats(2, 3, 5), floats(5)
    expected = data / np.sqrt((data**2).mean(-1, keepdims=True) + 0.01) * scale
    check("SimplifiedLayerNormalization", [data], [scale], expected, opset=17, epsilon=0.01)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 4)])
def test_instance_normalization(shape: tuple[int, ...]):
    check("InstanceNormalization", [floats(*shape)], [floats(3), floats(3)], epsilon=0.01)


@pytest.mark.parametrize("shape", [(2, 6, 4, 5), (2, 6, 3)])
def test_group_normalization(shape: tuple[int, ...]):
    options = {"num_groups": 3, "epsilon": 0.01}
    check("GroupNormalization", [floats(*shape)], [floats(3), floats(3)], opset=18, **options)
    check("GroupNormalization", [floats(*shape)], [floats(6), floats(6)], opset=21, **options)


@pytest.mark.parametrize(
    ("op", "shape", "constants", "options", "message"),
    [
        ("LayerNormalization", (2, 3), [(3,)], {"opset": 17, "stash_type": 16}, "'stash_type'"),
        ("SimplifiedLayerNormalization", (2, 3), [(3,)], {"opset": 17, "outputs": 2}, "second"),
        ("GroupNormalization", (2, 5, 3), [(2,)] * 2, {"opset": 18, "num_groups": 2}, "is 2, the"),
        ("GroupNormalization", (2, 5, 3), [(5,)] * 2, {"opset": 21, "num_groups": 2}, "divisor"),
    ],
)
def test_normalization_refusals(
    op: str,
    shape: tuple[int, ...],
    constants: list[tuple[int, ...]],
    options: dict[str, int],
    message: str,
):
    model = one_node(op, [floats(*shape)], [floats(*each) for each in constants], **options)
    with pytest.raises(OnnxImportError, match=message):
        import_model(model)


def test_dropout_is_nothing():
    data = floats(3, 4)
    ones = np.ones_like(data)
    for opset, options in ((6, {"ratio": 0.3, "is_test": 1}), (7, {"ratio": 0.3})):
        assert kinds(one_node("Dropout", [data], opset=opset, **options)) == []
        check("Dropout", [data], opset=opset, outputs=2, expected=[data, ones], **options)
    check("Dropout", [data], opset=10, outputs=2, expected=[data, ones.astype(bool)])
    ratio, training = np.array(0.3, np.float32), np.array(False)
    check("Dropout", [data], [ratio, training], outputs=2, expected=[data, ones.astype(bool)])
    check("Dropout", [data], [None, training], expected=data)


# Softmax


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [-3, 0, 1, 2])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax(op: str, axis: int, opset: int):
    check(op, [floats(2, 3, 4)], axis=axis, opset=opset)


def test_softmax_defaults():
    check("Softmax", [floats(2, 3, 4)], opset=9)
    check("Softmax", [floats(2, 3, 4)], opset=13)


def test_flat_softmax_needs_no_reshape_on_one_long_axis():
    assert kinds(one_node("Softmax", [floats(1, 10, 1, 1)], opset=9)) == ["nn.softmax"]
    assert kinds(one_node("Softmax", [floats(1, 10)], opset=9)) == ["nn.softmax"]
    assert kinds(one_node("Softmax", [floats(1, 10, 2)], opset=9)) == [
        "reshape",
        "nn.softmax",
        "reshape",
    ]
    check("Softmax", [floats(1, 10, 1, 1)], opset=9)


# Matrix products


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (), (5,), (1,), (3, 1), (3, 5)])
def test_gemm(trans_a: int, trans_b: int, bias: tuple[int, ...] | None):
    a, b = floats(3, 4), floats(4, 5)
    constants = [b.T.copy() if trans_b else b] + ([] if bias is None else [floats(*bias)])
    for factors in ({}, {"alpha": 0.5, "beta": 0.25}):
        data = [a.T.copy() if trans_a else a]
        check("Gemm", data, constants, transA=trans_a, transB=trans_b, **factors)


def test_gemm_as_dense():
    model = one_node("Gemm", [floats(3, 4)], [floats(5, 4), floats(5)], transB=1)
    assert kinds(model) == ["nn.dense", "nn.bias_add"]


def test_gemm_of_integers():
    a, b = integers(3, 4, dtype="int32"), integers(4, 5, dtype="int32")
    check("Gemm", [a, b], alpha=2.0, expected=2 * (a @ b))
    with pytest.raises(OnnxImportError, match="'alpha' 0.5"):
        import_model(one_node("Gemm", [a, b], alpha=0.5))


def test_legacy_gemm():
    a, b, c = floats(3, 4), floats(4, 5), floats(5)
    check("Gemm", [a, b, c], opset=6, broadcast=1, expected=a @ b + c)


@pytest.mark.parametrize(
    "lhs, rhs",
    [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 1, 3, 4), (6, 4, 5)),
        ((2, 6, 3, 4), (2, 6, 4, 5)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((0, 4), (4, 5)),
    ],
)
def test_matmul(lhs: tuple[int, ...], rhs: tuple[int, ...]):
    check("MatMul", [floats(*lhs), floats(*rhs)])


# Reductions


REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
]


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, [1], [0, -1]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 18])
def test_reduction(op: str, axes: list[int] | None, keepdims: int, opset: int):
    by_input = opset == 18
    constants = [longs(*axes)] if by_input and axes is not None else []
    options = {"axes": axes} if not by_input and axes is not None else {}
    check(op, [floats(2, 3, 4)], constants, opset=opset, keepdims=keepdims, **options)


def test_reduction_without_axes():
    for constants in ([longs()], []):
        check("ReduceSum", [floats(2, 3)], constants, noop_with_empty_axes=0)
        check("ReduceSum", [floats(2, 3)], constants, noop_with_empty_axes=1)


def test_mean_of_integers():
    check("ReduceMean", [integers(3, 4, low=0, high=99, dtype="int32")], opset=11, axes=[1])


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("options", [{}, {"axis": -1, "keepdims": 0}, {"select_last_index": 1}])
def test_extreme_index(op: str, options: dict[str, int]):
    check(op, [integers(5, 6, low=0, high=3, dtype="int32")], **options)


# Shapes


@pytest.mark.parametrize("shape", [[4, 6], [-1, 6], [0, -1], [2, 0, 0], [24], [1, 0, -1, 2]])
def test_reshape(shape: list[int]):
    if shape == [1, 0, -1, 2]:
        shape = [2, 0, -1, 2]
    check("Reshape", [floats(2, 3, 4)], [longs(*shape)])


def test_reshape_by_attribute():
    data = floats(2, 3, 4)
    check("Reshape", [data], opset=1, shape=[0, -1], expected=data.reshape(2, 12))


def test_reshape_allows_zero():
    check("Reshape", [floats(0, 3)], [longs(3, 0)], opset=14, allowzero=1)


def test_transpose():
    check("Transpose", [floats(2, 3, 4)])
    check("Transpose", [floats(2, 3, 4)], perm=[1, 2, 0])


@pytest.mark.parametrize("axis", [-2, 0, 1, 2, 3])
def test_flatten(axis: int):
    check("Flatten", [floats(2, 3, 4)], axis=axis)


@pytest.mark.parametrize("axes", [[0], [1, 2], [0, 3], [-1], [4, 0, 2], [-1, 0]])
@pytest.mark.parametrize("opset", [11, 13])
def test_unsqueeze(axes: list[int], opset: int):
    if opset < 13:
        check("Unsqueeze", [floats(2, 3)], opset=opset, axes=axes)
    else:
        check("Unsqueeze", [floats(2, 3)], [longs(*axes)], opset=opset)


@pytest.mark.parametrize("axes", [None, [0], [0, -1]])
@pytest.mark.parametrize("opset", [11, 13])
def test_squeeze(axes: list[int] | None, opset: int):
    data = floats(1, 3, 1)
    if axes is None:
        check("Squeeze", [data], opset=opset)
    elif opset < 13:
        check("Squeeze", [data], opset=opset, axes=axes)
    else:
        check("Squeeze", [data], [longs(*axes)], opset=opset)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int):
    check("Concat", [floats(2, 3), floats(2, 3), floats(2, 3)], axis=axis)
    check("Concat", [floats(2, 3)], axis=axis)


def test_concat_default_axis():
    parts = [floats(2, 3), floats(2, 1)]
    check("Concat", parts, opset=1, expected=np.concatenate(parts, 1))
    with pytest.raises(OnnxImportError, match="attribute 'axis' is missing"):
        import_model(one_node("Concat", parts, opset=4))


def test_split():
    data = floats(6, 4)
    check("Split", [data], opset=11, outputs=3)
    check("Split", [data], opset=11, outputs=2, axis=-1, split=[1, 3])
    check("Split", [data], opset=13, outputs=2)
    check("Split", [data], [longs(1, 3, 2)], opset=13, outputs=3)
    check("Split", [data], opset=18, outputs=4, num_outputs=4, expected=np.split(data, [2, 4, 6]))
    check("Split", [data], [longs(6)], opset=13, outputs=1)


@pytest.mark.parametrize(
    "starts, ends, axes, steps",
    [
        ([1, 0], [3, 2], None, None),
        ([1], [-1], [1], None),
        ([-3], [1000], [-1], [2]),
        ([-1], [-(2**63)], [0], [-1]),
        ([3, -1], [0, -100], [0, 1], [-2, -3]),
        ([2], [2], [0], [1]),
    ],
)
def test_slice(starts: list[int], ends: list[int], axes: list[int] | None, steps: list[int] | None):
    constants = [None if each is None else longs(*each) for each in (starts, ends, axes, steps)]
    check("Slice", [floats(4, 5)], constants)


def test_slice_by_attributes():
    data = floats(4, 5)
    check("Slice", [data], opset=9, starts=[1, -4], ends=[3, 9], expected=data[1:3, -4:9])
    check("Slice", [data], opset=9, starts=[1], ends=[3], axes=[1], expected=data[:, 1:3])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("constant", [False, True])
def test_gather_counts_negative_indices_from_the_end(axis: int, constant: bool):
    indices = np.array([[0, -1], [-3, 2]], np.int64)
    if constant:
        check("Gather", [floats(3, 4, 3)], [indices], axis=axis)
    else:
        check("Gather", [floats(3, 4, 3), indices.astype(np.int32)], axis=axis)


def test_gather_scalar():
    check("Gather", [floats(3, 4)], [np.array(-1)], axis=1)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode: str):
    check("Pad", [floats(3, 4)], [longs(1, 0, 2, 3)], mode=mode)
    check("Pad", [floats(3, 4)], [longs(2, 1), None, longs(-1)], opset=18, mode=mode)


def test_pad_values():
    data = floats(3, 4)
    check("Pad", [data], [longs(1, 0, 2, 3), np.array(1.5, np.float32)])
    check("Pad", [data], [longs(-1, 1, 2, -2)])
    options = {"pads": [0, 1, 2, 0], "value": 1.5}
    check(
        "Pad",
        [data],
        opset=2,
        **options,
        expected=np.pad(data, ((0, 2), (1, 0)), constant_values=1.5),
    )
    check("Pad", [data], opset=1, paddings=[0, 1, 2, 0], expected=np.pad(data, ((0, 2), (1, 0))))


def test_tile():
    data = floats(2, 3)
    check("Tile", [data], [longs(2, 1)])
    check("Tile", [data], [longs(3), longs(1)], opset=1, expected=np.tile(data, (1, 3)))


@pytest.mark.parametrize("shape", [[2, 3], [4, 1, 1], [1], [2, 1]])
def test_expand(shape: list[int]):
    check("Expand", [floats(2, 1)], [longs(*shape)])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode: str):
    check("DepthToSpace", [floats(1, 8, 2, 3)], blocksize=2, mode=mode)
    check("DepthToSpace", [floats(2, 18, 1, 2)], blocksize=3, mode=mode)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_weights_of_tokens(mode: str):
    tokens = np.array([[1, 2, 1, 3], [3, 3, 3, 1]], np.int32)
    sizes = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}
    tables = {"ngram_counts": [0, 2], "ngram_indexes": [2, 0, 1], "pool_int64s": [1, 3, 3, 3]}
    for weights in ({}, {"weights": [0.5, 3.0, 2.0]}):
        check("TfIdfVectorizer", [tokens], mode=mode, **sizes, **tables, **weights)
    tables |= {"ngram_indexes": [1, 1, 0], "weights": [0.5, 3.0, 2.0]}
    if mode == "IDF":
        with pytest.raises(OnnxImportError, match="several sequences have one column"):
            import_model(one_node("TfIdfVectorizer", [tokens], mode=mode, **sizes, **tables))
    else:
        check("TfIdfVectorizer", [tokens], mode=mode, **sizes, **tables)


def test_space_to_depth():
    data = floats(1, 2, 4, 6)
    check("SpaceToDepth", [data], blocksize=2)
    check("SpaceToDepth", [floats(1, 2, 3, 6)], blocksize=3)
    by_column = data.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3)
    check("SpaceToDepth", [data], opset=28, blocksize=2, mode="CRD", expected=by_column)


# Constants, and arithmetic on shapes


def test_constant_nodes():
    tensor = numpy_helper.from_array(floats(2, 2))
    for value in (
        {"value": tensor},
        {"value_int": 3},
        {"value_ints": [3, 4]},
        {"value_float": 1.5},
        {"value_floats": [1.5, 2.5]},
    ):
        model = one_node("Constant", [], **value)
        require_equal(by_import(model, []), by_onnxruntime(model, []))
        assert kinds(model) == []


def test_constant_of_other_kinds_is_not_supported():
    with pytest.raises(OnnxImportError, match="'value_string'"):
        import_model(one_node("Constant", [], value_string="text"))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_constant_of_shape(dtype: str):
    value = numpy_helper.from_array(np.ones(1, dtype))
    check("ConstantOfShape", [], [longs(2, 3)], value=value)


def test_constant_of_shape_is_zero_without_value():
    check("ConstantOfShape", [], [longs(2, 3)])
    check("ConstantOfShape", [], [longs(0, 3)])
    check("ConstantOfShape", [], [longs()])


def test_large_constant_of_shape_is_one_element():
    value = numpy_helper.from_array(np.full(1, 0.5, np.float32))
    model = one_node("ConstantOfShape", [], [longs(1000, 1000, 1000, 1000)], value=value)
    (constant,) = operations(import_model(model))
    assert isinstance(constant, ConstantOp)
    assert isinstance(constant.value, DenseIntOrFPElementsAttr)
    assert constant.result.type.get_shape() == (1000, 1000, 1000, 1000)
    assert constant.value.data.data == np.float32(0.5).tobytes()


def test_shape_and_size():
    data = floats(2, 3, 4)
    check("Shape", [data])
    check("Shape", [data], opset=15, start=1)
    check("Shape", [data], opset=15, start=-2, end=-1)
    check("Size", [data])


@pytest.mark.parametrize("bounds", [(2, 11, 3), (5, -5, -2), (3, 3, 1), (0.5, 2.0, 0.25)])
def test_range(bounds: tuple[float, float, float]):
    check("Range", [], [np.array(bound) for bound in bounds])


def test_computed_shapes_are_folded():
    """What exporters write for x.reshape(x.shape[0] // 2, -1, 4), and some detours."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"]),
        helper.make_node("Div", ["rows", "two"], ["half"]),
        helper.make_node("Unsqueeze", ["half", "axes"], ["half1"]),
        helper.make_node("Slice", ["shape", "axes", "minus"], ["front"]),
        helper.make_node("ReduceProd", ["front"], ["product"]),
        helper.make_node("Mul", ["product", "minus"], ["negative"]),
        helper.make_node("Min", ["negative", "minus"], ["bounded"]),
        helper.make_node("Max", ["bounded", "minus"], ["inferred"]),
        helper.make_node("Cast", ["inferred"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Floor", ["real"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["integer"], to=TensorProto.INT64),
        helper.make_node("Concat", ["half1", "integer", "four"], ["joined"], axis=0),
        helper.make_node("Split", ["joined", "parts"], ["first", "rest"]),
        helper.make_node("Concat", ["first", "rest"], ["again"], axis=0),
        helper.make_node("Equal", ["again", "minus"], ["is_minus"]),
        helper.make_node("Where", ["is_minus", "minus", "again"], ["new"]),
        helper.make_node("Reshape", ["x", "new"], ["y"]),
    ]
    initializers = [
        numpy_helper.from_array(array, name)
        for name, array in {
            "zero": np.array(0),
            "two": np.array(2),
            "axes": longs(0),
            "minus": longs(-1),
            "four": longs(4),
            "parts": longs(1, 2),
        }.items()
    ]
    data = floats(6, 2, 2)
    model = build(nodes, [value_info("x", data)], [untyped("y")], initializers)
    require_equal(by_import(model, [data]), [data.reshape(3, -1, 4)])
    assert kinds(model) == ["reshape"]


def test_weights_are_not_folded():
    model = build(
        [
            helper.make_node("Unsqueeze", ["w", "axes"], ["u"]),
            helper.make_node("Mul", ["x", "u"], ["y"]),
        ],
        [value_info("x", floats(2, 64, 3))],
        [untyped("y")],
        [numpy_helper.from_array(floats(64), "w"), numpy_helper.from_array(longs(1), "axes")],
    )
    assert kinds(model) == ["expand_dims", "multiply"]


DTYPES = [
    *("float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
]


def identity_of(tensor: TensorProto) -> ModelProto:
    """A model whose output is a tensor."""
    tensor.name = "w"
    node = helper.make_node("Identity", ["w"], ["y"])
    return build([node], [], [untyped("y")], [tensor])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (5, 7), (0, 2)])
@pytest.mark.parametrize("raw", [True, False])
def test_initializers(dtype: str, shape: tuple[int, ...], raw: bool):
    array = np.array(SAMPLES.random.integers(0, 2 if dtype == "bool" else 100, shape)).astype(dtype)
    if raw:
        tensor = numpy_helper.from_array(array)
    else:
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = helper.make_tensor("w", code, shape, array.ravel().tolist())
        assert not tensor.HasField("raw_data")
    require_equal(by_import(identity_of(tensor), []), [array])


@pytest.mark.parametrize("raw", [True, False])
def test_bfloat16(raw: bool):
    values = [1.5, -2.0, 0.25]
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [3], values)
    if raw:
        bits = np.array(tensor.int32_data, np.uint16)
        tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [3], bits.tobytes(), raw=True)
    (result,) = by_import(identity_of(tensor), [])
    assert result.astype(np.float32).tolist() == values


def test_large_constants_are_blobs_over_the_bytes():
    array = floats(100)
    (constant,) = operations(import_model(identity_of(numpy_helper.from_array(array))))
    assert isinstance(constant, ConstantOp) and isinstance(constant.value, BlobAttr)
    data = constant.value.data.data
    assert isinstance(data, memoryview) and data.tobytes() == array.tobytes()


def test_converters_begin_at_versions_of_the_operator():
    """`since` numbers that no version of the operator has would be mistakes."""
    versions: dict[str, set[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, set()).add(schema.since_version)
    # onnxruntime writes this one, without a domain, before ONNX had RMSNormalization.
    versions["SimplifiedLayerNormalization"] = {1}
    for op, converters in CONVERTERS.items():
        assert set(converters) <= versions[op], op
