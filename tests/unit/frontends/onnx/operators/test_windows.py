"""Convolutions and pools, against onnxruntime."""

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx_models import (
    Samples,
    by_import,
    by_onnxruntime,
    check,
    one_node,
    require_equal,
    side_by_side,
)

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(7)
floats = SAMPLES.floats


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
