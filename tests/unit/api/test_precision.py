"""`precision`: what users ask for, how far results move, and what is said of what cannot be."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from guards.passes import results_of
from onnx import ModelProto, helper, numpy_helper
from vector_functions import targets_here

import xrelay
from xrelay import cached
from xrelay.compiler import preparation, read_model, relay_passes, run_passes
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.target import GENERIC
from xrelay.options import CompileOptions
from xrelay.precision import PrecisionRules, PrecisionWarning, note
from xrelay.tools.compare import compared
from xrelay.transforms.layout.alter_op_layout import AlterOpLayoutPass

WIDTH = 48


@pytest.fixture(scope="module")
def layers(model_of: Callable[..., ModelProto]) -> ModelProto:
    """Two layers with a residual sum and a softmax."""
    rng = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(
            (rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32), name
        )
        for name in ("v", "w")
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"], "first"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("MatMul", ["b", "w"], ["c"], "second"),
        helper.make_node("Add", ["b", "c"], ["y"], "sum"),
        helper.make_node("Softmax", ["y"], ["z"], "softmax"),
    ]
    return model_of(nodes, {"x": (np.float32, [9, WIDTH])}, ["y", "z"], weights)


@pytest.fixture(scope="module")
def data() -> dict[str, Array]:
    return {"x": np.random.default_rng(2).standard_normal((9, WIDTH)).astype(np.float32)}


@pytest.mark.parametrize(
    ("target", "precision", "lists", "lanes"),
    [
        ("x86-64-v4", "bf16", (), (16, 0, 0)),
        ("x86-64-v4-amx", "f32", (), (16, 64, 0)),
        ("x86-64-v4-amx", "bf16", (), (16, 64, 32)),
        ("x86-64-v4-amx", "bf16", ("never",), (16, 64, 0)),
        ("x86-64-v4-amx", "bf16", ("follow",), (16, 64, 0)),
        ("x86-64-v4-amx", "f16", (), (16, 64, 0)),
    ],
)
def test_blocks_suit_the_products(
    target: str, precision: str, lists: tuple[str, ...], lanes: tuple[int, int, int]
) -> None:
    """Those of tile registers have 64 bytes of each position."""
    rules = PrecisionRules(**dict.fromkeys(lists, ("nn.conv2d",)))
    options = CompileOptions(target=target, precision=precision, precision_rules=rules)
    (layouts,) = (each for each in preparation(options) if isinstance(each, AlterOpLayoutPass))
    assert (layouts.lanes, layouts.byte_lanes, layouts.float_lanes) == lanes


def types_of_products(model: ModelProto, **options: Any) -> list[list[str]]:
    """The element types of the operands and the result of each product."""
    module, _ = read_model(model)
    run_passes(module, relay_passes(CompileOptions(**options)))
    return [
        [str(value.type).rpartition("x")[2].rstrip(">") for value in (*op.operands, *op.results)]
        for op in module.walk()
        if op.name == "relay.nn.dense"
    ]


@pytest.mark.filterwarnings("ignore::xrelay.precision.PrecisionWarning")
@pytest.mark.parametrize(
    ("precision", "target", "least"),
    [("bf16", "native", 40), ("bf16", "x86-64", 40), ("f16", "native", 58), ("f16", "x86-64", 58)],
)
def test_results_move_by_the_roundings_of_the_type(
    layers: ModelProto, data: dict[str, Array], precision: str, target: str, least: float
):
    """bf16 has 8 bits of mantissa, f16 11: each is worth 6 dB."""
    expected = xrelay.compile(layers, cache=False).run(data)
    found = xrelay.compile(layers, cache=False, precision=precision, target=target).run(data)
    for name, array in found.items():
        assert array.dtype == np.float32
        assert least < compared(name, array, expected[name]).sqnr < least + 25


def test_types_of_products(layers: ModelProto):
    assert types_of_products(layers, target="x86-64") == [["f32"] * 3] * 2
    narrow = ["f32", "bf16", "f32"]
    assert types_of_products(layers, target="x86-64", precision="bf16") == [narrow] * 2
    rules = PrecisionRules(never=("nn.dense",))
    kept = types_of_products(layers, target="x86-64", precision="bf16", precision_rules=rules)
    assert kept == [["f32"] * 3] * 2


def test_a_target_without_products_of_the_type_is_told_of(layers: ModelProto):
    with pytest.warns(PrecisionWarning, match="x86-64-v3 has no instructions for products of bf16"):
        xrelay.compile(layers, cache=False, precision="bf16", target="x86-64-v3")
    xrelay.compile(layers, cache=False, precision="f16", target="x86-64-v3")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"precision": "bfloat16"}, r"unknown precision 'bfloat16', .*; did you mean 'bf16'\?"),
        ({"precision": "FP16"}, r"did you mean 'f16'\?"),
        ({"precision": "int3"}, "expected one of f32, bf16, f16, int8; did you mean 'int8'"),
        ({"precision": "quantised"}, "expected one of f32, bf16, f16, int8$"),
        (
            {"precision": "int8", "precision_rules": {"never": ["exp"]}},
            "go with a precision of fewer bits, bf16 or f16",
        ),
        ({"precision": 16}, "precision is 16, expected one of"),
        ({"precision_rules": {"never": ["exp"]}}, "go with a precision of fewer bits"),
        (
            {"precision": "f16", "precision_rules": {"nevr": []}},
            r"has the list 'nevr', .*; did you mean 'never'\?",
        ),
        (
            {"precision": "f16", "precision_rules": {"never": "exp"}},
            "'never' is 'exp', expected names",
        ),
        ({"precision": "f16", "precision_rules": {"never": [1]}}, "'never' has 1, expected a name"),
        (
            {"precision": "f16", "precision_rules": {"always": ["nn.dens"]}},
            r"^precision_rules: 'always': there is no operator 'nn.dens'; did you mean 'nn.dense'\?",
        ),
        ({"precision": "f16", "precision_rules": 5}, "precision_rules is 5, expected the path"),
        ({"precision": "f16", "precision_rules": "none.toml"}, "cannot read 'none.toml'"),
    ],
)
def test_refusals(layers: ModelProto, arguments: dict[str, Any], reason: str):
    with pytest.raises(Exception, match=reason) as failure:
        xrelay.compile(layers, cache=False, **arguments)
    assert isinstance(failure.value, xrelay.CompileError)


def test_rules_of_files(tmp_path: Path, layers: ModelProto, data: dict[str, Array]):
    full = xrelay.compile(layers, cache=False).run(data)["y"]
    (tmp_path / "rules.toml").write_text('never = ["relay.nn.dense"]\n')
    (tmp_path / "rules.json").write_text('{"never": ["nn.dense"]}')
    for name in ("rules.toml", "rules.json"):
        model = xrelay.compile(
            layers, cache=False, precision="f16", precision_rules=tmp_path / name
        )
        np.testing.assert_array_equal(model.run(data)["y"], full)
    for name, text in (("broken.json", "{"), ("broken.toml", "="), ("list.json", "[]")):
        (tmp_path / name).write_text(text)
        with pytest.raises(xrelay.CompileError, match=f"{name}' holds no rules of precision"):
            xrelay.compile(layers, precision="f16", precision_rules=tmp_path / name)


def test_the_cache_knows_it(layers: ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    every = [
        CompileOptions(),
        CompileOptions(precision="f16"),
        CompileOptions(precision="bf16"),
        CompileOptions(precision="bf16", precision_rules=PrecisionRules(never=("nn.dense",))),
    ]
    places = [cached.cache_place(layers, None, options) for options in every]
    assert len({place.key for place in places if place is not None}) == len(every)


def test_sqnr():
    one = np.array([3.0, -4.0], np.float32)
    assert compared("y", one, one).sqnr == np.inf
    noisy = compared("y", one + np.array([0.3, 0.4], np.float32), one)
    np.testing.assert_allclose(noisy.sqnr, 20, rtol=1e-6)
    np.testing.assert_allclose(noisy.largest_difference, 0.4, rtol=1e-6)
    assert noisy.largest_value == 4
    special = np.array([np.nan, np.inf, 1e30], np.float32)
    assert compared("y", special, special).sqnr == np.inf
    np.testing.assert_allclose(
        compared("y", special * np.float32(1.1), special).sqnr, 20, rtol=1e-4
    )
    assert compared("y", np.nan_to_num(special), special).sqnr == -np.inf
    assert compared("y", np.array([1]), np.array([0])).sqnr == -np.inf
    assert compared("y", np.zeros((0,)), np.zeros((0,))).sqnr == np.inf


def test_compare(cmd: Callable[..., Any], folder: Path, model_of: Callable[..., ModelProto]):
    report = folder / "report.json"
    words = ("run", folder / "conv.onnx", "--target", "x86-64")
    same = cmd(*words, "--compare", folder / "conv.onnx", "--json", report)
    assert (same.code, same.err) == (0, "")
    assert "SQNR (dB)" in same.out
    (row,) = json.loads(report.read_text())["outputs"]
    assert row["sqnr"] is None and row["largest_difference"] == 0 < row["largest_value"]
    other = onnx.load(folder / "conv.onnx")
    weight = numpy_helper.to_array(other.graph.initializer[0])
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight * np.float32(1.01), "w"))
    onnx.save(other, folder / "other.onnx")
    found = cmd(*words, "--compare", folder / "other.onnx", "--json", report)
    assert found.code == 0
    (row,) = json.loads(report.read_text())["outputs"]
    assert 38 < row["sqnr"] < 44 and row["largest_difference"] > 0
    lines = (re.split("[┃│]", line)[1:-1] for line in found.out.splitlines())
    header, numbers = ([cell.strip() for cell in cells] for cells in lines if len(cells) == 4)
    keys = ("sqnr", "largest_difference", "largest_value")
    assert header == ["output", "SQNR (dB)", "largest difference", "largest value"]
    assert numbers == [row["output"], *(f"{row[key]:.4g}" for key in keys)]
    refused = cmd(*words, "--compare", folder / "add.mlir", "--target", "x86-64")
    refused.refused("the input of '", "add.mlir' is 'x' float32[2, 4], that of '")
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    for dtype, shape in ((np.float32, (1, 3, 8, 9)), (np.int32, (1, 3, 8, 8))):
        onnx.save(model_of(relu, {"x": (dtype, shape)}, ["y"], opset=14), folder / "third.onnx")
        refused = cmd(*words, "--compare", folder / "third.onnx")
        refused.refused("the input of '", "third.onnx' is 'x' ", "conv.onnx' is 'x' float32")
    cmd("run", folder / "conv.onnx", "--json", report).refused("--json goes with --compare")


def test_commands_take_it(cmd: Callable[..., Any], folder: Path):
    words = ("--precision", "bf16", "--target", "x86-64")
    result = cmd("run", folder / "conv.onnx", *words, "--verify")
    assert result.code == 0
    assert result.err == f"xrelay: {note('bf16', GENERIC)}\n"
    cmd("run", folder / "conv.onnx", "--precision", "f15").refused("did you mean 'f16'?")
    emitted = ("compile", folder / "conv.onnx", "-o", folder / "p.mlir", "--emit-after")
    assert cmd(*emitted, "reduce-precision", *words).code == 0
    cmd(*emitted, "reduce-precision").refused("goes with --precision bf16 or f16")
    cmd(*emitted, "round-block-data").refused("goes with --precision int8")
    (folder / "rules.toml").write_text('never = ["nn.dense"]\n')
    rules = ("--precision-rules", folder / "rules.toml")
    assert cmd("explain", folder / "conv.onnx", *words, *rules).code == 0
    cmd("explain", folder / "conv.onnx", *rules).refused("go with a precision of fewer bits")


@pytest.fixture(scope="module")
def image_layers(model_of: Callable[..., ModelProto]) -> ModelProto:
    """Convolutions of all kinds, a pool that casts move across, and a residual sum."""
    rng = np.random.default_rng(4)
    shapes = {"u": (32, 3, 3, 3), "v": (32, 32, 3, 3), "d": (32, 1, 3, 3), "w": (32, 32, 1, 1)}
    weights = [
        numpy_helper.from_array(
            (rng.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32), name
        )
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "u"], ["a"], "first", pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("MaxPool", ["b"], ["c"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["c", "v"], ["e"], "square", pads=[1] * 4),
        helper.make_node("Conv", ["e", "d"], ["f"], "depthwise", pads=[1] * 4, group=32),
        helper.make_node("Conv", ["f", "w"], ["g"], "point"),
        helper.make_node("Add", ["g", "c"], ["y"], "sum"),
        helper.make_node("GlobalAveragePool", ["y"], ["z"], "mean"),
    ]
    return model_of(nodes, {"x": (np.float32, [1, 3, 22, 22])}, ["y", "z"], weights)


@pytest.mark.filterwarnings("ignore::xrelay.precision.PrecisionWarning")
@pytest.mark.parametrize("target", targets_here())
def test_images(image_layers: ModelProto, target: str):
    """Compiled code rounds where the program says so: it is nearer to the interpreter than to f32."""
    x = np.random.default_rng(6).standard_normal((1, 3, 22, 22)).astype(np.float32)
    full = xrelay.compile(image_layers, cache=False).run({"x": x})
    for precision, least in (("bf16", 38), ("f16", 56)):
        options = CompileOptions(target=target, precision=precision)
        module, _ = read_model(image_layers)
        run_passes(module, preparation(options))
        found = xrelay.compile(image_layers, cache=False, target=target, precision=precision).run(
            {"x": x}
        )
        for each, meant in zip(full, results_of(module, [x]), strict=True):
            moved = compared(each, found[each], full[each]).sqnr
            assert least < moved < least + 30
            assert compared(each, found[each], meant).sqnr > moved + 6
