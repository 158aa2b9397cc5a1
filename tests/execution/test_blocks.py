"""Weights of 4 and 8 bits, compiled: results are those of onnxruntime, and weights keep their size."""

from typing import Any

import numpy as np
import pytest
from cases.blocks import Blocks
from graphs import Graph
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx_models import by_plain_onnxruntime
from vector_functions import targets_here

import xrelay
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.qnn.blocks import packed, unpacked
from xrelay.interpreters.relay import interpret
from xrelay.lowering.emit.target import TARGETS


def model_of(data: Array, nodes: list[NodeProto], constants: list[TensorProto]) -> ModelProto:
    kind = helper.np_dtype_to_tensor_dtype(data.dtype)
    inputs = [helper.make_tensor_value_info("x", kind, data.shape)]
    outputs = [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=10, opset_imports=opsets)


def matmul_of_bits(matrix: Blocks, data: Array, **attributes: Any) -> ModelProto:
    """MatMulNBits, which stores the last block of a row whole."""
    weight, scales, zeros = matrix.arrays(np.random.default_rng(matrix.depth))
    whole = scales.shape[1] * matrix.size
    numbers = unpacked(weight, matrix.bits, matrix.depth)
    padded = np.pad(numbers, ((0, 0), (0, whole - matrix.depth)))
    arrays = [packed(padded, matrix.bits).reshape(*scales.shape, -1), scales.astype(np.float32)]
    if zeros.ndim:
        arrays.append(packed(zeros, matrix.bits))
    constants = [numpy_helper.from_array(each, f"w{i}") for i, each in enumerate(arrays)]
    sizes = {"K": matrix.depth, "N": matrix.columns, "bits": matrix.bits}
    node = helper.make_node(
        "MatMulNBits", ["x", *(each.name for each in constants)], ["y"], "product",
        domain="com.microsoft", block_size=matrix.size, **sizes, **attributes,
    )  # fmt: skip
    return model_of(data, [node], constants)


def compiled(model: ModelProto) -> tuple[xrelay.Model, str]:
    """The model, and what computes its last step."""
    result = xrelay.compile(model, cache=False)
    assert isinstance(result, xrelay.Model)
    return result, result.signature.steps[-1].implementation


@pytest.mark.parametrize(
    "rows, matrix",
    [
        (1, Blocks(48, 256, 32, 4, "one", "float32")),
        (8, Blocks(33, 100, 16, 4, "each", "float32")),
        (1, Blocks(17, 70, 64, 4, "extremes", "float32")),
        (2, Blocks(50, 130, 128, 8, "each", "float32")),
        (21, Blocks(31, 300, 256, 4, "each", "float32")),
    ],
    ids=str,
)
def test_products_of_bits(rows: int, matrix: Blocks) -> None:
    data = np.random.default_rng(rows).standard_normal((rows, matrix.depth)).astype(np.float32)
    model = matmul_of_bits(matrix, data, accuracy_level=rows % 2)
    result, implementation = compiled(model)
    assert implementation in ("streamed-blocks", "unpacked-blocks")
    expected = by_plain_onnxruntime(model, data)
    error = np.abs(result.run({"x": data})["y"] - expected).max()
    assert error < 1e-6 * matrix.depth**0.5 * np.abs(expected).max()


ROUNDED = [
    (1, Blocks(48, 256, 32, 4, "one", "float32")),
    (8, Blocks(33, 100, 16, 4, "each", "float32")),
    (1, Blocks(17, 70, 64, 4, "extremes", "float32")),
    (2, Blocks(50, 130, 128, 8, "each", "float32")),
    (21, Blocks(31, 300, 256, 4, "each", "float32")),
    (5, Blocks(40, 4128, 32, 4, "one", "float32")),
]


@pytest.mark.parametrize("rows, matrix", ROUNDED, ids=str)
def test_products_of_bits_with_data_of_8_bits(rows: int, matrix: Blocks) -> None:
    """Both round the data alike, but where the last bit of a quotient decides; f32 is further away."""
    data = np.random.default_rng(rows).standard_normal((rows, matrix.depth)).astype(np.float32)
    model = matmul_of_bits(matrix, data, accuracy_level=4)
    result, implementation = compiled(model)
    assert implementation == "rounded-blocks"
    expected = by_plain_onnxruntime(model, data)
    exact = by_plain_onnxruntime(matmul_of_bits(matrix, data, accuracy_level=1), data)
    found = result.run({"x": data})["y"]
    error, moved = np.abs(found - expected).max(), np.abs(exact - found).max()
    assert error < 2e-4 * np.abs(expected).max()
    assert 1e-4 * np.abs(exact).max() < moved < 2e-2 * np.abs(exact).max()


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("target", targets_here(TARGETS))
def test_rounded_data_are_those_of_the_interpreter(target: str, bits: int) -> None:
    """
    All sums are exact: scales are powers of two, and whole numbers and halves are rounded. Blocks have ends of the range, no
    normal number, zeros only, or what is no number.
    """
    rng, g = np.random.default_rng(bits), Graph()
    weight, scale, zeros = Blocks(19, 96, 16, bits, "each", "float32").arrays(rng)
    data = rng.integers(-253, 254, (9, 96)) / 2
    data[:, ::16] = 127
    data[1] *= -1
    data[2, :16], data[2, 16:32], data[2, 32:48] = 0, 1e-39, 127 * 2.0**-126
    data[3, 5], data[4, 20], data[5, 40] = np.inf, np.nan, -np.inf
    data[6, 0] = 127 * 2.0**100
    parts = [
        g.constant(each) for each in (weight, np.exp2(np.rint(4 * scale)).astype(np.float32), zeros)
    ]
    x = data.astype(np.float32)
    g.show(QnnDenseBlocksOp(g.input(x), *parts, block_size=16, bits=bits, data_bits=8))
    module = g.module()
    (expected,) = interpret(module, [x])
    (found,) = xrelay.compile(module, target=target, cache=False).run({"input0": x}).values()
    assert np.isnan(expected[3:6]).all()
    assert np.isfinite(np.delete(expected, [3, 4, 5], 0)).all()
    assert (expected[2, :1] != 0).all()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("constant", [True, False])
def test_scales_whose_product_f32_does_not_hold(constant: bool) -> None:
    """Sums of blocks are multiplied by one after the other: by the packed code, and by that of weights that are not known."""
    for peak, step in ((2e-36, 3e-6), (1e30, 1e12), (1e37, 1 / 256)):
        g = Graph()
        data = np.zeros((2, 32), np.float32)
        data[0, ::16], data[1, 1], data[1, 17] = peak, peak, -peak
        weight = np.full((3, 16), 0x99, np.uint8)
        weight[0] = 0xFF
        known = g.constant if constant else g.input
        scale = np.full((3, 2), step, np.float32)
        parts = [known(each) for each in (weight, scale, np.full((3, 2), 9, np.uint8))]
        g.show(QnnDenseBlocksOp(g.input(data), *parts, block_size=16, data_bits=8))
        module = g.module()
        (expected,) = interpret(module, g.inputs)
        names = [f"input{i}" for i in range(len(g.inputs))]
        found = xrelay.compile(module, cache=False).run(dict(zip(names, g.inputs, strict=True)))
        (result,) = found.values()
        # Sums of integers are exact.
        rounding = 1e-6 * expected[np.isfinite(expected)].max(initial=0)
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=rounding)
        assert (result[0, 1:] == 0).all() and result[0, 0] > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_rows_of_8_bits(threads: int) -> None:
    """One program, whose results are those of programs for each number, and onnxruntime's."""
    matrix = Blocks(40, 160, 32, 4, "each", "float32")
    model = matmul_of_bits(matrix, np.zeros((3, 160), np.float32), accuracy_level=4)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    result = xrelay.compile(model, cache=False, threads=threads)
    for rows in (3, 1, 12, 13, 50):
        x = np.random.default_rng(rows).standard_normal((rows, 160)).astype(np.float32)
        found = result.run({"x": x})["y"]
        fixed = compiled(matmul_of_bits(matrix, x, accuracy_level=4))[0].run({"x": x})["y"]
        np.testing.assert_array_equal(found, fixed)
        expected = by_plain_onnxruntime(model, x)
        assert np.abs(found - expected).max() < 2e-4 * np.abs(expected).max()
    assert isinstance(result, xrelay.DynamicModel)
    assert len({each.conditions for each in result.specialisations}) == 1


@pytest.mark.parametrize("code, axis, block", [("INT4", 0, 32), ("UINT8", 1, 128)])
def test_data_of_8_bits_on_demand(code: str, axis: int, block: int) -> None:
    """A precision does for files that do not say so what `accuracy_level` does."""
    data = np.random.default_rng(7).standard_normal((3, 256)).astype(np.float32)
    model = dequantized(code, axis, block, data, gemm=True)
    result = xrelay.compile(model, cache=False, precision="int8")
    assert isinstance(result, xrelay.Model)
    assert "rounded-blocks" in {step.implementation for step in result.signature.steps}
    exact = by_plain_onnxruntime(model, data)
    moved = np.abs(result.run({"x": data})["y"] - exact).max() / np.abs(exact).max()
    assert 1e-4 < moved < 2e-2


def test_float_zero_points_keep_the_data() -> None:
    matrix = Blocks(8, 64, 32, 4, "one", "float32")
    data = np.ones((1, 64), np.float32)
    model = matmul_of_bits(matrix, data, accuracy_level=4)
    points = numpy_helper.from_array(np.full((8, 2), 7.5, np.float32), "zeros")
    model.graph.initializer.append(points)
    model.graph.node[0].input.append("zeros")
    assert compiled(model)[1] == "streamed-blocks"


def test_levels_of_accuracy_that_there_are_not() -> None:
    model = matmul_of_bits(
        Blocks(8, 64, 32, 4, "one", "float32"), np.ones((1, 64), np.float32), accuracy_level=5
    )
    with pytest.raises(
        xrelay.OnnxImportError, match="'product'.*'accuracy_level' is 5, expected 0 to 4"
    ):
        xrelay.compile(model)


def dequantized(code: str, axis: int, block: int, data: Array, *, gemm: bool) -> ModelProto:
    """DequantizeLinear with blocks, and a product."""
    columns, low, rng = 40, -8 if code == "INT4" else -128, np.random.default_rng(block)
    low = 0 if code.startswith("U") else low
    shape, blocks = [data.shape[-1], columns], [-(-data.shape[-1] // block), columns]
    if axis == 1:
        shape, blocks = shape[::-1], blocks[::-1]
    most = low + (16 if code.endswith("4") else 256)
    weight, zeros = rng.integers(low, most, shape), rng.integers(low, most, blocks)
    kind = TensorProto.DataType.Value(code)
    constants = [
        helper.make_tensor("w", kind, shape, weight.reshape(-1).tolist()),
        numpy_helper.from_array(rng.uniform(-1, 1, blocks).astype(data.dtype), "s"),
        helper.make_tensor("z", kind, blocks, zeros.reshape(-1).tolist()),
    ]
    nodes = [helper.make_node("DequantizeLinear", "wsz", ["m"], axis=axis, block_size=block)]
    product = ("Gemm", {"transB": axis}) if gemm else ("MatMul", {})
    nodes.append(helper.make_node(product[0], ["x", "m"], ["p"], **product[1]))
    nodes.append(helper.make_node("Relu", ["p"], ["y"]))
    return model_of(data, nodes, constants)


@pytest.mark.parametrize(
    "code, axis, gemm, block, dtype",
    [
        ("INT4", 0, False, 32, "float32"),
        ("UINT4", 0, True, 20, "float32"),
        ("INT8", 1, True, 128, "float32"),
        ("UINT8", 0, False, 32, "float32"),
        ("INT4", 0, False, 32, "float16"),
        ("UINT4", 1, True, 16, "float16"),
    ],
)
def test_dequantized_weights(code: str, axis: int, gemm: bool, block: int, dtype: str) -> None:
    shape = (3, 90) if gemm else (2, 3, 90)
    data = np.random.default_rng(7).standard_normal(shape).astype(dtype)
    model = dequantized(code, axis, block, data, gemm=gemm)
    result, _ = compiled(model)
    ways = {step.implementation for step in result.signature.steps}
    assert "streamed-blocks" in ways <= {"streamed-blocks", ""}
    expected = by_plain_onnxruntime(model, data)
    error = np.abs(result.run({"x": data})["y"] - expected).max()
    assert error < (1e-5 if dtype == "float32" else 3e-3) * np.abs(expected).max()


def test_blocks_that_are_no_whole_words() -> None:
    """Become numbers of f32 when the model is compiled."""
    data = np.random.default_rng(7).standard_normal((3, 90)).astype(np.float32)
    model = dequantized("INT4", 0, 18, data, gemm=True)
    result, implementation = compiled(model)
    assert "blocks" not in implementation
    expected = by_plain_onnxruntime(model, data)
    assert np.abs(result.run({"x": data})["y"] - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("zero_points", ["one", "each"])
def test_constants_take_what_the_file_takes(zero_points: str) -> None:
    matrix = Blocks(512, 1024, 32, 4, zero_points, "float32")
    model = matmul_of_bits(matrix, np.zeros((1, 1024), np.float32))
    result, _ = compiled(model)
    assert result.signature.constant_bytes < 1.05 * len(model.SerializeToString())
