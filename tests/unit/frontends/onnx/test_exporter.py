"""The exporter: names, weights, bodies, refusals, the command, and round trips through the importer."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from exported import checked_export, run_session
from graphs import Graph
from onnx import ModelProto, checker
from onnx_models import by_import, one_node
from texts import parsed
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8, i32
from xdsl.dialects.func import FuncOp

from xrelay.dialects.core import values as core
from xrelay.dialects.nn import norm
from xrelay.dialects.qnn.blocks import QnnDequantizeBlocksOp
from xrelay.dialects.tensor import binary, unary
from xrelay.frontends.onnx import OnnxExportError, export_model, import_model, reason_not_exported
from xrelay.frontends.onnx.exporter import model as exporter
from xrelay.frontends.onnx.exporter.emitters import EMITTERS
from xrelay.frontends.onnx.exporter.numbers import computing_dtype
from xrelay.tools.light_models import light_model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")


def function(
    text: str, types: str = "%x: tensor<2x4xf32>", results: str = "tensor<2x4xf32>"
) -> ModuleOp:
    """A module whose @main has some lines."""
    return parsed(f"func.func @main({types}) -> {results} {{\n{text}\n}}")


RELU = "relay.nn.relu %{} : (tensor<2x4xf32>) -> tensor<2x4xf32>"


def op_types(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def names(values: Any) -> list[str]:
    return [value.name for value in values]


# Names and results


def test_names_of_inputs_and_outputs():
    model = checked_export(
        function(f'%y = {RELU.format("x")}\n"func.return"(%y) : (tensor<2x4xf32>) -> ()')
    )
    assert (names(model.graph.input), names(model.graph.output)) == (["x"], ["output0"])
    assert model.opset_import[0].version == 21
    assert (model.ir_version, model.producer_name) == (10, "xrelay")
    assert list(model.graph.node[0].output) == ["output0"]


def test_imported_names_come_back():
    proto = light_model("squeezenet")
    model = checked_export(import_model(proto))
    assert names(model.graph.input) == ["data_0"]
    assert names(model.graph.output) == ["softmaxout_1"]
    assert "conv1_w_0" in names(model.graph.initializer)


def test_an_output_may_be_an_input_a_constant_or_another_output():
    g = Graph()
    x = g.input(g.small("float32", 2, 4))
    y = g.op(unary.NegativeOp(x))
    for value in (y, x, y, g.constant(np.float32([1, 2]))):
        g.returns(value)
    model = checked_export(g.module())
    found = run_session(model, g.inputs)
    for array, (_, expected) in zip(found, g.expected(), strict=True):
        np.testing.assert_array_equal(array, expected)
    assert op_types(model).count("Identity") == 3


def test_two_outputs_of_one_name_are_refused():
    module = function(
        f'%y = {RELU.format("x")}\n"func.return"(%y, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()',
        results='(tensor<2x4xf32> {onnx.name = "r"}, tensor<2x4xf32> {onnx.name = "r"})',
    )
    with pytest.raises(OnnxExportError, match="two outputs have the same name: r, r"):
        export_model(module, "m")


def test_tuples_are_flattened():
    g = Graph()
    pair = g.input((g.small("float32", 2), g.small("int8", 3)))
    g.returns(g.op(core.TupleOp([g.op(core.TupleGetItemOp(pair, 1)), pair])))
    model = checked_export(g.module())
    assert names(model.graph.input) == ["input0.0", "input0.1"]
    assert names(model.graph.output) == ["output0.0", "output0.1", "output0.2"]


def test_what_no_output_needs_is_left_out():
    g = Graph()
    x = g.input(g.small("float32", 2, 4))
    g.op(unary.ExpOp(g.op(binary.AddOp(x, g.constant(g.small("float32", 2, 4))))))
    g.show(unary.NegativeOp(x))
    model = checked_export(g.module())
    assert op_types(model) == ["Neg"]
    assert not model.graph.initializer


def test_equal_small_constants_are_one_initializer():
    g = Graph()
    x = g.input(g.small("float32", 2, 4))
    for _ in range(3):
        x = g.op(binary.MultiplyOp(x, g.constant(np.float32(3))))
    g.returns(x)
    assert len(checked_export(g.module()).graph.initializer) == 1


def test_unknown_dimensions_stay_open():
    module = function(
        "%y = relay.nn.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>\n"
        "func.return %y : tensor<?x4xf32>",
        "%x: tensor<?x4xf32>",
        "tensor<?x4xf32>",
    )
    model = checked_export(module)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.WhichOneof("value") for dim in dims] == [None, "dim_value"]
    (found,) = run_session(model, [-np.ones((3, 4), np.float32)])
    assert found.shape == (3, 4)


def test_the_same_program_gives_the_same_bytes():
    proto = light_model("shufflenet")
    models = {export_model(import_model(proto), "m").SerializeToString() for _ in range(2)}
    assert len(models) == 1


# Bodies


CALLS = """
func.func private @twice(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = relay.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.annotation.compiler_begin %0 compiler "c" : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.annotation.compiler_end %1 compiler "c" : (tensor<2xf32>) -> tensor<2xf32>
  %3 = func.call @twice(%2) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %3 : tensor<2xf32>
}
"""


def test_called_functions_are_inlined():
    model = checked_export(parsed(CALLS))
    assert op_types(model) == ["Add", "Add"]
    (found,) = run_session(model, [np.float32([1, -2])])
    np.testing.assert_array_equal(found, np.float32([4, -8]))


def test_recursion_is_refused():
    module = parsed(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = func.call @other(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %0 : tensor<2xf32>\n}\n"
        "func.func private @other(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = func.call @other(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %0 : tensor<2xf32>\n}\n"
    )
    with pytest.raises(OnnxExportError, match="calls itself"):
        export_model(module, "m")


# Refusals


def test_all_refused_operators_are_listed_with_reasons():
    module = function(
        "%p = relay.cumprod %x : (tensor<2x4xf32>) -> tensor<8xf32>\n"
        "%s = relay.sum %b {axis = array<i64: 0>} : (tensor<3xi1>) -> tensor<i1>\n"
        f"%r = {RELU.format('x')}\n"
        '"func.return"(%p, %s, %r) : (tensor<8xf32>, tensor<i1>, tensor<2x4xf32>) -> ()',
        "%x: tensor<2x4xf32>, %b: tensor<3xi1>",
        "(tensor<8xf32>, tensor<i1>, tensor<2x4xf32>)",
    )
    with pytest.raises(OnnxExportError) as caught:
        export_model(module, "net")
    assert str(caught.value).splitlines() == [
        "cannot export 'net' to ONNX: 2 operations cannot be expressed:",
        "  relay.cumprod 'p': ONNX has no operator for it",
        "  relay.sum 's': ONNX's ReduceSum takes no elements of type bool as its input 'data'",
    ]


@pytest.mark.parametrize(
    ("dtype", "compute", "refused"),
    [
        ("i8", "float32", False),
        ("ui8", "float64", False),
        ("i32", "int64", False),
        ("i32", "float32", True),
        ("i32", "float64", True),
    ],
)
def test_floating_point_that_wraps_around(dtype: str, compute: str, refused: bool):
    """Large numbers have no meaning as i32 in ONNX; narrower integers are clipped before the Cast."""
    number = "tensor<f32>, tensor<i32>"
    module = function(
        "%s = relay.constant dense<0.5> : tensor<f32>\n%z = relay.constant dense<0> : tensor<i32>\n"
        f'%q = relay.qnn.requantize %x, %s, %z, %s, %z {{out_dtype = {dtype}, compute_dtype = "{compute}"}} '
        f": (tensor<4xi32>, {number}, {number}) -> tensor<4x{dtype}>\n"
        f"func.return %q : tensor<4x{dtype}>",
        "%x: tensor<4xi32>",
        f"tensor<4x{dtype}>",
    )
    if not refused:
        checked_export(module)
        return
    with pytest.raises(OnnxExportError, match="'out_dtype' is i32"):
        export_model(module, "net")


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ([2, 4], "f32", ["Gemm"]),
        ([3, 2, 4], "f32", ["Transpose", "MatMul"]),
        ([4], "f32", ["Transpose", "MatMul"]),
        ([2, 4], "i32", ["Transpose", "MatMul"]),
        ([2, 4], "i8", ["Transpose", "MatMulInteger", "Cast"]),
    ],
)
def test_operators_of_a_dense(shape: list[int], dtype: str, expected: list[str]):
    lhs, rhs, result = (
        TensorType({"f32": f32, "i8": i8, "i32": i32}[dtype], each)
        for each in (shape, [5, 4], [*shape[:-1], 5])
    )
    module = function(
        f"%r = relay.nn.dense %x, %w : ({lhs}, {rhs}) -> {result}\nfunc.return %r : {result}",
        f"%x: {lhs}, %w: {rhs}",
        str(result),
    )
    assert op_types(checked_export(module)) == expected


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (1, ["BatchNormalization"]),
        (-2, ["BatchNormalization"]),
        (2, ["Sub", "Add", "Sqrt", "Div", "Mul", "Add"]),
    ],
)
def test_operators_of_a_batch_norm(axis: int, expected: list[str]):
    g = Graph()
    x = g.input(g.small("float32", 2, 3, 3))
    vectors = [g.input(np.ones(3, np.float32)) for _ in range(4)]
    g.returns(g.op(core.TupleGetItemOp(g.op(norm.BatchNormOp(x, *vectors, axis=axis)), 0)))
    assert op_types(checked_export(g.module())) == expected


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("zeros", [(3, 3, 3, 3), (3, -128, 0, 127)])
def test_convolutions_with_a_zero_point_for_each_channel(groups: int, zeros: tuple[int, ...]):
    rng = np.random.default_rng(groups)
    scale, small = np.full(4, 0.5, np.float32), np.float32(0.25)
    weight = rng.integers(-128, 128, (4, 4 // groups, 3, 2)).astype(np.int8)
    factors = np.uint8(130), weight, scale, np.array(zeros, np.int8)
    data = rng.integers(0, 256, (1, 4, 5, 6)).astype(np.uint8)
    operands = small, *factors, np.float32(20), np.uint8(90)
    source = one_node("QLinearConv", [data], operands, pads=[1, 0, 2, 1], group=groups)
    (expected,) = by_import(source, [data])
    (found,) = run_session(checked_export(import_model(source)), [data])
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found)) > 5


def test_weights_in_blocks_without_elements_are_refused():
    g = Graph()
    for rows in (1, 0):
        matrix = np.zeros((rows, 4), np.uint8), np.ones((rows, 1), np.float32)
        parts = [g.constant(each) for each in (*matrix, np.uint8(8))]
        op = QnnDequantizeBlocksOp(*parts, length=8, block_size=16, bits=4)
        g.op(op)
        reason = None if rows else "its matrix has no elements"
        assert reason_not_exported(op) == reason


@pytest.mark.parametrize(("dtype", "expected"), [("f32", "GlobalMaxPool"), ("i32", "ReduceMax")])
def test_operators_of_a_maximum_of_images(dtype: str, expected: str):
    type_, result = f"tensor<1x2x3x4x{dtype}>", f"tensor<1x2x1x1x{dtype}>"
    line = f"%r = relay.nn.global_max_pool2d %x : ({type_}) -> {result}"
    module = function(f"{line}\nfunc.return %r : {result}", f"%x: {type_}", result)
    assert op_types(checked_export(module)) == [expected]


@pytest.mark.parametrize(
    ("dtype", "computed"),
    [("float16", "float32"), ("float64", "float64"), ("int16", "int16"), ("uint16", "uint16")],
)
def test_halves_are_computed_in_single_precision(dtype: str, computed: str):
    assert computing_dtype(np.dtype(dtype)) == np.dtype(computed)


def test_reason_in_a_body():
    module = function(
        '%0 = relay.composite "c" %x : (tensor<2x4xf32>) -> tensor<8xf32> {\n'
        "^bb0(%a: tensor<2x4xf32>):\n"
        "  %p = relay.cumprod %a : (tensor<2x4xf32>) -> tensor<8xf32>\n"
        "  relay.yield %p : tensor<8xf32>\n}\n"
        "func.return %0 : tensor<8xf32>",
        results="tensor<8xf32>",
    )
    main = module.body.block.first_op
    assert isinstance(main, FuncOp)
    composite = main.body.block.first_op
    assert composite is not None
    expected = "its body has relay.cumprod: ONNX has no operator for it"
    assert reason_not_exported(composite) == expected


@pytest.mark.parametrize(
    ("type_", "line", "result", "reason"),
    [
        ("?x4xf32", "split %x {indices_or_sections = 2 : i64}",
         "tuple<tensor<?x4xf32>, tensor<?x4xf32>>",
         "'data' has the shape [?, 4]: dimension 0 is unknown"),
        ("3xf32", "reinterpret %x {dtype = i32}", "tensor<3xi32>",
         "does not read float32 as int32"),
        ("3xf32", "clip %x {a_min = 0x7ff8000000000000 : f64, a_max = 1.0 : f64}", "tensor<3xf32>",
         "'a_min' and 'a_max' are (nan, 1.0), of which ONNX's Clip takes no NaN"),
        ("1x3x3xf64", 'image.resize1d %x {size = array<i64: 4>, method = "cubic", cubic_alpha = 0.1}',
         "tensor<1x3x4xf64>",
         "'cubic_alpha' is 0.1, which an attribute of f32 does not hold"),
        ("3xi1", "scatter_nd %x, %i, %x {mode = \"add\"}", "tensor<3xi1>",
         "its elements are bools, whose sums modulo 2 ONNX does not have"),
    ],
)  # fmt: skip
def test_reasons(type_: str, line: str, result: str, reason: str):
    data = f"tensor<{type_}>"
    types = f"{data}, tensor<1x3xi64>, {data}" if "%i" in line else data
    module = function(
        f"%0 = relay.{line} : ({types}) -> {result}\nfunc.return %0 : {result}",
        f"%x: {data}, %i: tensor<1x3xi64>",
        result,
    )
    with pytest.raises(OnnxExportError) as caught:
        export_model(module, "m")
    assert reason in str(caught.value)


def test_element_types_that_onnx_does_not_have_are_refused():
    module = function("func.return %x : tensor<2xi7>", "%x: tensor<2xi7>", "tensor<2xi7>")
    with pytest.raises(OnnxExportError, match="i7, which ONNX does not have"):
        export_model(module, "m")


def test_missing_weights_are_refused():
    module = function(
        '%c = relay.constant #relay.blob<"00"> : tensor<2x4xf32>\nfunc.return %c : tensor<2x4xf32>'
    )
    with pytest.raises(OnnxExportError, match="bytes of constant 'c' are missing"):
        export_model(module, "m")


def test_the_function_must_be_clear():
    text = (
        "func.func @{}(%x: tensor<2xf32>) -> tensor<2xf32> {{ func.return %x : tensor<2xf32> }}\n"
    )
    with pytest.raises(OnnxExportError, match="no function 'main'; the module has a, b"):
        export_model(parsed(text.format("a") + text.format("b")), "m")
    assert export_model(parsed(text.format("a") + text.format("main")), "m").graph.input


def test_large_models_need_a_file_for_weights(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exporter, "MAX_MODEL_BYTES", 1000)
    g = Graph()
    g.show(unary.NegativeOp(g.constant(g.small("float32", 20, 20))))
    with pytest.raises(OnnxExportError, match="external data"):
        export_model(g.module(), "m")


# The command


def test_command_writes_a_model(cmd: Callable[..., Any], tmp_path: Path):
    onnx.save(light_model("squeezenet"), tmp_path / "in.onnx")
    for options in ([], ["--external-data"], ["--emit-after", "fold-constant"]):
        out = tmp_path / "out.onnx"
        assert cmd("compile", tmp_path / "in.onnx", "-o", out, *options).code == 0
        checker.check_model(out, full_check=False)
        model = onnx.load(out)  # with the weights that lie beside it
        weight = (
            next(tensor for tensor in model.graph.initializer if tensor.name == "conv1_w_0")
            if "--emit-after" not in options
            else None
        )
        if weight is not None:
            original = next(
                t for t in light_model("squeezenet").graph.initializer if t.name == "conv1_w_0"
            )
            np.testing.assert_array_equal(
                onnx.numpy_helper.to_array(weight), onnx.numpy_helper.to_array(original)
            )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.onnx", "out.onnx", "out.onnx.data",
    ]  # fmt: skip


def test_weights_beside_the_model_begin_where_pages_do(cmd: Callable[..., Any], tmp_path: Path):
    """So that they can be mapped into memory; what is short stays in the model."""
    onnx.save(light_model("squeezenet"), tmp_path / "in.onnx")
    assert (
        cmd("compile", tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--external-data").code
        == 0
    )
    size = (tmp_path / "out.onnx.data").stat().st_size
    end, outside = 0, 0
    for tensor in onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            assert len(tensor.raw_data) < exporter.EXTERNAL_BYTES
            continue
        stored = {each.key: each.value for each in tensor.external_data}
        offset, length = int(stored["offset"]), int(stored["length"])
        assert (
            offset % 4096 == 0 and end <= offset < end + 4096 and length >= exporter.EXTERNAL_BYTES
        )
        end, outside = offset + length, outside + 1
    assert outside > 20 and end == size


def test_command_writes_nothing_when_it_fails(cmd: Callable[..., Any], tmp_path: Path):
    text = (
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %p = relay.cumprod %x : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  func.return %p : tensor<4xf32>\n}\n"
    )
    source = tmp_path / "in.mlir"
    source.write_text(text)
    result = cmd("compile", source, "-o", tmp_path / "out.onnx", "--external-data")
    result.refused("relay.cumprod 'p': ONNX has no operator for it", code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in.mlir"]


def test_command_refuses_stages_without_relay(cmd: Callable[..., Any], tmp_path: Path):
    stage = "convert-relay-to-kernels"
    options = "-o", tmp_path / "out.onnx", "--emit-after", stage
    cmd("compile", tmp_path / "in.onnx", *options).refused(f"--emit-after is '{stage}'")
    options = "-o", tmp_path / "out.so", "--external-data"
    cmd("compile", tmp_path / "in.onnx", *options).refused("--external-data goes with")


def test_exported_operators_are_documented():
    text = (Path(__file__).parents[4] / "docs" / "onnx.md").read_text()
    section = text.partition("## Export")[2].partition("`tests/")[0]
    listed = re.findall(r"[\w.]+", section.partition("are exported:")[2])
    assert listed == sorted(op.name.removeprefix("relay.") for op in EMITTERS)
