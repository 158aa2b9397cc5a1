"""onnxruntime's operators on quantised tensors, and weights of few bits, against onnxruntime."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_models import Array, Samples, by_import, one_node, untyped, value_info

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(16)
floats, integers = SAMPLES.floats, SAMPLES.integers


def contrib(
    op: str,
    data: Sequence[Array | None],
    constants: Sequence[Array | None] = (),
    **attributes: Any,
) -> ModelProto:
    model = one_node(op, data, constants)
    (node,) = model.graph.node
    node.domain = "com.microsoft"
    node.attribute.extend(helper.make_attribute(name, each) for name, each in attributes.items())
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def by_plain_onnxruntime(model: ModelProto, data: Sequence[Array]) -> list[Array]:
    """What its kernels give, without rewriting the graph."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {f"in{i}": array for i, array in enumerate(data)})


def off_by(model: ModelProto, data: Sequence[Array]) -> float:
    """The largest difference from onnxruntime."""
    (expected,), (found,) = by_plain_onnxruntime(model, data), by_import(model, data)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert len(np.unique(expected)) > 5
    return float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max())


def scale(number: float) -> Array:
    return np.array(number, np.float32)


def zero(number: int, dtype: str) -> Array:
    return np.array(number, dtype)


EXTREMES = {"uint8": (0, 255), "int8": (-128, 127)}


def quantized(dtype: str, *shape: int) -> Array:
    """Integers of the whole range, its ends among them."""
    low, high = EXTREMES[dtype]
    found = integers(*shape, low=low, high=high + 1, dtype=dtype)
    found.flat[:2] = low, high
    return found


UNARY: list[tuple[str, int, dict[str, Any]]] = [
    ("QLinearSigmoid", 0, {}),
    ("QLinearLeakyRelu", 0, {"alpha": 0.1}),
    ("QLinearGlobalAveragePool", 1, {"channels_last": 0}),
    ("QLinearAveragePool", 1, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}),
    ("QLinearAveragePool", 1, {"kernel_shape": [2, 2], "count_include_pad": 1, "pads": [1] * 4}),
    ("QLinearSoftmax", 1, {"axis": -1, "opset": 13}),
    ("QLinearSoftmax", 1, {"axis": 1, "opset": 11}),
]
"""Operators, how many steps onnxruntime's sums of f32 may be off, and attributes."""


@pytest.mark.parametrize("dtype", EXTREMES)
@pytest.mark.parametrize("op, steps, attributes", UNARY, ids=[case[0] for case in UNARY])
def test_unary(op: str, steps: int, attributes: dict[str, Any], dtype: str):
    small = op == "QLinearSoftmax"
    least = min(EXTREMES[dtype])
    ends = [scale(0.004 if small else 0.013), zero(least if small else least + 99, dtype)]
    constants = [scale(0.02), zero(least + 123, dtype), *ends]
    data = quantized(dtype, 2, 6, 5, 4)
    assert off_by(contrib(op, [data], constants, **attributes), [data]) <= steps


@pytest.mark.parametrize("dtype", EXTREMES)
@pytest.mark.parametrize("op, new_scale", [("QLinearAdd", 0.0907), ("QLinearMul", 0.3713)])
def test_binary(op: str, new_scale: float, dtype: str):
    """The scales have no ratio of small integers, which would make ties that f32 breaks."""
    a, b = quantized(dtype, 3, 5, 7), quantized(dtype, 5, 1)
    first: list[Array] = [a, scale(0.0311), zero(7, dtype)]
    last: list[Array] = [scale(0.0573), zero(99, dtype), scale(new_scale), zero(11, dtype)]
    model = contrib(op, [*first, b, *last])
    assert off_by(model, [*first, b, *last]) == 0
    assert off_by(contrib(op, [a], [*first[1:], b, *last]), [a]) == 0


def test_concatenation():
    a, b = quantized("uint8", 2, 3, 4), quantized("uint8", 2, 5, 4)
    data: list[Array] = [scale(0.05), zero(100, "uint8")]
    data += [a, scale(0.05), zero(100, "uint8"), b, scale(0.11), zero(3, "uint8")]
    assert off_by(contrib("QLinearConcat", data, axis=1), data) == 0
    with pytest.raises(OnnxImportError, match="'the_node'.* has 4 inputs, expected 2 and 3 for"):
        import_model(contrib("QLinearConcat", data[:4], axis=1))


@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("form", ["plain", "channels", "bias", "f32"])
def test_gemm(form: str, transposed: tuple[int, int]):
    a, b = quantized("uint8", 6, 9), integers(9, 5, low=-60, high=60, dtype="int8")
    a, b = (each.T.copy() if flip else each for each, flip in zip((a, b), transposed, strict=True))
    channels = form != "plain"
    weight_scale = np.abs(floats(5)) / 50 + 0.01 if channels else scale(0.02)
    constants: list[Array | None] = [scale(0.1), zero(120, "uint8"), b, weight_scale]
    constants += [np.zeros(5, np.int8) if channels else zero(0, "int8")]
    bias = integers(5, low=-2000, high=2000, dtype="int32") if form in ("bias", "f32") else None
    constants += [bias]
    if form != "f32":
        constants += [scale(0.7), zero(128, "uint8")]
    attributes = {"transA": transposed[0], "transB": transposed[1], "alpha": 0.5}
    model = contrib("QGemm", [a], constants, **attributes)
    assert off_by(model, [a]) <= (1e-5 if form == "f32" else 0)


@pytest.mark.parametrize(
    "bits, zero_points",
    # onnxruntime has no zero points of f32 for 8 bits.
    [case for case in product((2, 4, 8), ("absent", "packed", "f32")) if case != (8, "f32")],
)
def test_products_with_weights_of_few_bits(bits: int, zero_points: str):
    depth, rows, size = 40, 6, 16
    blocks = 3
    packed = quantized("uint8", rows, blocks, size * bits // 8)
    # Where the largest number of a block is negative, so is its scale; it is 0 for zeros alone.
    scales = floats(rows, blocks)
    scales[2, 1] = 0
    constants: list[Array | None] = [packed, scales]
    if zero_points == "packed":
        constants.append(quantized("uint8", rows, -(-blocks * bits // 8)))
    if zero_points == "f32":
        constants.append(np.abs(floats(rows, blocks)))
    attributes = {"K": depth, "N": rows, "bits": bits, "block_size": size}
    data = floats(2, 3, depth)
    model = contrib("MatMulNBits", [data], constants, **attributes)
    assert off_by(model, [data]) <= 1e-5 * 2**bits * depth


PACKED = np.zeros((6, 2, 8), np.uint8)
WRONG_BITS: list[tuple[str, dict[str, int], list[Array]]] = [
    ("'block_size' is 24, expected a power of two from 16 on", {"block_size": 24}, []),
    ("'bits' is 3, expected 2, 4 or 8", {"bits": 3}, []),
    ("'weight_prepacked' is set", {"weight_prepacked": 1}, []),
    (r"input 'B' has the shape \[6, 2, 8\], expected \[6, 3, 8\]", {"K": 33}, []),
    (r"input 'zero_points' has the shape \[5\], expected \[6, 1\]", {}, [np.zeros(5, np.uint8)]),
    (r"input 0 \('A'\) has the shape \[2, 32\], 'K' is 31", {"K": 31}, []),
    (r"it has input 4 \('g_idx'\)", {}, [np.zeros((6, 1), np.uint8), np.zeros(32, np.int32)]),
]


@pytest.mark.parametrize("problem, changes, more", WRONG_BITS)
def test_wrong_weights_of_few_bits(problem: str, changes: dict[str, int], more: list[Array]):
    attributes = {"K": 32, "N": 6, "bits": 4, "block_size": 16} | changes
    constants = [PACKED, np.ones((6, 2), np.float32), *more]
    if attributes["K"] == 33:
        constants[1] = np.ones((6, 3), np.float32)
    with pytest.raises(OnnxImportError, match="'the_node'.*" + problem):
        import_model(contrib("MatMulNBits", [floats(2, 32)], constants, **attributes))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_scales_of_blocks_that_are_not_finite(number: float):
    attributes = {"K": 32, "N": 6, "bits": 4, "block_size": 16}
    scales = np.ones((6, 2), np.float32)
    scales[3, 1] = number
    problem = f"'the_node'.*input 2 \\(a scale\\) has the element {number}, expected finite numbers"
    with pytest.raises(OnnxImportError, match=problem):
        import_model(contrib("MatMulNBits", [floats(2, 32)], [PACKED, scales], **attributes))


@pytest.mark.parametrize("block", [0, 16, 20])
@pytest.mark.parametrize("name", ["INT4", "UINT4"])
@pytest.mark.parametrize("raw", [False, True])
def test_weights_of_4_bits(name: str, block: int, raw: bool):
    code, low = TensorProto.DataType.Value(name), -8 if name == "INT4" else 0
    depth, columns = 40 if block == 20 else 32, 5
    shape = (depth // block, columns) if block else (columns,)
    weight = SAMPLES.random.integers(low, low + 16, (depth, columns))
    zeros = SAMPLES.random.integers(low, low + 16, shape)
    tensors = [
        helper.make_tensor("w", code, weight.shape, weight.reshape(-1).tolist()),
        helper.make_tensor("z", code, zeros.shape, zeros.reshape(-1).tolist()),
    ]
    for tensor in tensors if raw else ():
        packed = np.array(tensor.int32_data, np.uint8).tobytes()
        del tensor.int32_data[:]
        tensor.raw_data = packed
    scales = np.abs(floats(*shape)) + np.float32(0.1)
    attributes = {"axis": 0, "block_size": block} if block else {"axis": 1}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], **attributes),
        helper.make_node("MatMul", ["in0", "f"], ["y"]),
    ]
    data = floats(3, depth)
    initializers = [*tensors, numpy_helper.from_array(scales, "s")]
    graph = helper.make_graph(nodes, "g", [value_info("in0", data)], [untyped("y")], initializers)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    assert off_by(model, [data]) < 1e-3


@pytest.mark.parametrize("number", [0.0, -0.5, np.nan, np.inf])
@pytest.mark.parametrize("op, index", [("QuantizeLinear", 1), ("QLinearConv", 4), ("QGemm", 7)])
def test_scales_that_are_no_positive_numbers(op: str, index: int, number: float):
    byte, one = zero(0, "uint8"), scale(1)
    weight = np.zeros((2, 2, 1, 1) if op == "QLinearConv" else (2, 2), np.uint8)
    constants = {
        "QuantizeLinear": [one, byte],
        "QLinearConv": [one, byte, weight, one, byte, one, byte],
        "QGemm": [one, byte, weight, one, byte, None, one, byte],
    }[op]
    constants[index - 1] = scale(number)
    data = floats(2, 2) if op == "QuantizeLinear" else np.zeros(weight.shape, np.uint8)
    model = (contrib if op == "QGemm" else one_node)(op, [data], constants)
    problem = f"'the_node'.*input {index} \\(a scale\\) has the element {number}, expected positive"
    with pytest.raises(OnnxImportError, match=problem):
        import_model(model)


def test_functions_of_a_model_come_before_operators_of_onnxruntime():
    model = contrib("QLinearAdd", [floats(2)], [])
    body = helper.make_node("Neg", ["a"], ["b"])
    opsets = [helper.make_opsetid("", 13)]
    function = helper.make_function("com.microsoft", "QLinearAdd", ["a"], ["b"], [body], opsets)
    model.functions.append(function)
    data = floats(2)
    np.testing.assert_array_equal(by_import(model, [data])[0], -data)
