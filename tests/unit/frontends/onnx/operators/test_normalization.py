"""Normalisations, Dropout and Softmax, against onnxruntime or NumPy."""

import numpy as np
import pytest
from onnx_models import Samples, check, kinds, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(7)
floats = SAMPLES.floats


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
