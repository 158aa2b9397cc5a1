"""Compiled ONNX operators whose inputs must in part be constants, and graphs of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import Array, Samples, build, by_onnxruntime, longs, one_node, untyped, value_info

import xrelay

SAMPLES = Samples(11)
floats, integers = SAMPLES.floats, SAMPLES.integers


def run(model: Any, data: Sequence[Array]) -> list[Array]:
    """The outputs of a compiled model."""
    names = [value.name for value in model.graph.input]
    outputs = xrelay.compile(model).run(dict(zip(names, data, strict=True)))
    return [outputs[value.name] for value in model.graph.output]


SCALES = [np.array([1, 1, 1.5, 2], np.float32)]
CASES: list[tuple[str, list[Array], list[Array | None], dict[str, Any]]] = [
    ("Resize", [floats(1, 2, 4, 5)], [None, *SCALES], {"mode": "linear"}),
    ("Resize", [floats(1, 2, 4, 5)], [None, *SCALES], {"mode": "nearest"}),
    (
        "Resize",
        [floats(1, 2, 8, 8)],
        [None, None, longs(1, 2, 3, 5)],
        {"mode": "cubic", "antialias": 1, "opset": 18},
    ),
    ("Upsample", [floats(1, 2, 3, 4)], [np.array([1, 1, 2, 3], np.float32)], {"opset": 9}),
    ("TopK", [floats(3, 7)], [longs(3)], {"outputs": 2, "axis": -1}),
    ("CumSum", [floats(3, 7)], [np.array(1)], {"reverse": 1, "exclusive": 1}),
    ("OneHot", [integers(2, 3, low=-4, high=6)], [longs(5), np.array([2, 7])], {"axis": 1}),
    ("DFT", [floats(2, 12, 2)], [np.array(10)], {"opset": 17}),
    ("Trilu", [floats(2, 4, 5)], [np.array(-1)], {"opset": 14, "upper": 0}),
    ("LSTM", [floats(4, 2, 3)], [floats(1, 20, 3), floats(1, 20, 5)], {"hidden_size": 5}),
    (
        "LSTM",
        [floats(40, 3, 3)],
        [
            *(floats(2, 20, 3), floats(2, 20, 5), floats(2, 40)),
            *(np.array([40, 1, 23], np.int32), floats(2, 3, 5), floats(2, 3, 5)),
        ],
        {"hidden_size": 5, "direction": "bidirectional", "outputs": 3},
    ),
    (
        "GRU",
        [floats(1500, 1, 3)],
        [0.5 * floats(1, 15, 3), 0.5 * floats(1, 15, 5)],
        {"hidden_size": 5, "direction": "reverse", "outputs": 2},
    ),
]


@pytest.mark.parametrize(("op", "data", "constants", "options"), CASES)
def test_constants(
    op: str, data: list[Array], constants: list[Array | None], options: dict[str, Any]
) -> None:
    model = one_node(op, data, constants, **options)
    for found, wanted in zip(run(model, data), by_onnxruntime(model, data), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_causal_attention() -> None:
    """What exporters write of it: a triangle of ones masks the scores."""
    length, size = 6, 8
    nodes = [
        helper.make_node("Shape", ["scores"], ["whole"]),
        helper.make_node("Slice", ["whole", "minus_two", "end"], ["square"]),
        helper.make_node(
            "ConstantOfShape",
            ["square"],
            ["ones"],
            value=numpy_helper.from_array(np.ones(1, np.float32)),
        ),
        helper.make_node("Trilu", ["ones"], ["triangle"], upper=0),
        helper.make_node("Cast", ["triangle"], ["kept"], to=TensorProto.BOOL),
        helper.make_node("Transpose", ["k"], ["keys"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "keys"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Where", ["kept", "scores", "minus_infinity"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "v"], ["y"]),
    ]
    constants = {
        "minus_two": longs(-2),
        "end": longs(2**31),
        "scale": np.array(size**-0.5, np.float32),
        "minus_infinity": np.array(-np.inf, np.float32),
    }
    q, k, v = (floats(2, 3, length, size) for _ in range(3))
    model = build(
        nodes,
        [value_info(name, array) for name, array in (("q", q), ("k", k), ("v", v))],
        [untyped("y")],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
        opset=14,
    )
    scores = q @ k.swapaxes(2, 3) * np.float32(size**-0.5)
    weights = np.where(np.tri(length, dtype=bool), np.exp(scores), 0)
    expected = weights / weights.sum(-1, keepdims=True) @ v
    (found,) = run(model, [q, k, v])
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
