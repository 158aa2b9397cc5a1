"""Bounds for models of others: small files that become large programs are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.runs import Command, MakeModel
from onnx import ModelProto, helper, numpy_helper
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32
from xdsl.utils.exceptions import PassFailedException

import xrelay
from xrelay.analysis.facts.program_size import expanded_size, program_size
from xrelay.compiler import context, parse_program, read_model, relay_passes, run_passes
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.limits import Limits
from xrelay.dialects.shapes import MOST_ELEMENTS, is_addressable
from xrelay.errors import CompileError
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.interpreters.constants import constant_array
from xrelay.options import CompileOptions
from xrelay.tools.errors import FAILED

DOUBLINGS = 40


@pytest.fixture
def doubling(model_of: MakeModel) -> ModelProto:
    """A function that calls another one twice, which does the same, and so on."""
    functions = [
        helper.make_function(
            *("own", f"f{i}", ["a"], ["c"]),
            [
                helper.make_node(f"f{i + 1}", ["a"], ["b"], domain="own"),
                helper.make_node(f"f{i + 1}", ["b"], ["c"], domain="own"),
            ]
            if i < 20
            else [helper.make_node("Exp", ["a"], ["c"])],
            [helper.make_opsetid("", 13), helper.make_opsetid("own", 1)],
        )
        for i in range(21)
    ]
    node = helper.make_node("f0", ["x"], ["y"], "outer", domain="own")
    model = model_of([node], {"x": (np.float32, (2,))}, ["y"])
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def doubling_program() -> str:
    """The same in the relay dialect."""
    functions = [
        f"func.func @f{i}(%a: tensor<2xf32>) -> tensor<2xf32> {{\n"
        f"  %b = func.call @f{i + 1}(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
        f"  %c = func.call @f{i + 1}(%b) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %c : tensor<2xf32>\n}"
        for i in range(DOUBLINGS)
    ]
    last = (
        f"func.func @f{DOUBLINGS}(%a: tensor<2xf32>) -> tensor<2xf32> {{\n"
        "  %b = relay.exp %a : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %b : tensor<2xf32>\n}"
    )
    return "\n".join([*functions, last]).replace("@f0", "@main")


def test_functions_of_onnx_that_double_each_other(doubling: ModelProto) -> None:
    message = r"node 'outer' \(f0\): .*has 1001 operations, the limit \(max_nodes\) is 1000"
    with pytest.raises(OnnxImportError, match=message):
        xrelay.compile(doubling, max_nodes=1000)


def test_functions_that_double_each_other(tmp_path: Path) -> None:
    path = tmp_path / "doubling.mlir"
    path.write_text(doubling_program())
    with pytest.raises(CompileError, match=r"has \d{13,} operations, the limit \(max_nodes\) is"):
        xrelay.compile(path)


@pytest.mark.parametrize("number", ["1.0", '"0x0000803F"'], ids=["decimal", "bytes"])
def test_a_number_in_text_that_stands_for_many(tmp_path: Path, number: str) -> None:
    """Refused before they are in memory: 2^37 of them are not."""
    path = tmp_path / "many.mlir"
    path.write_text(f"%c = relay.constant\n dense<{number}> : tensor<524288x262144xf32>")
    message = r"many.mlir:2:\d+\n(.*\n)*.* has 549755813888 bytes, the limit \(max_bytes\) is 1000"
    with pytest.raises(CompileError, match=message):
        read_model(path, limits=Limits(max_bytes=1000))


@pytest.mark.parametrize(
    ("number", "type_", "expected"),
    [
        ("1.5", "tensor<2x3xf32>", np.full((2, 3), 1.5, "f4")),
        ("0x7FC00000", "tensor<3xf32>", np.full(3, np.nan, "f4")),
        ("true", "tensor<3xi1>", np.full(3, True)),
        ("-7", "tensor<4xi8>", np.full(4, -7, "i1")),
        ("7", "tensor<0xi8>", np.zeros(0, "i1")),
        ("7", "tensor<i64>", np.array(7)),
        ("1.0", "tensor<3000x3000xf64>", np.ones((3000, 3000))),
    ],
)
def test_numbers_in_text_that_stand_for_several(
    number: str, type_: str, expected: np.ndarray
) -> None:
    text = f"%c = relay.constant dense<{number}> : {type_}"
    (op,) = parse_program(text.encode(), "text", context()).ops
    assert isinstance(op, ConstantOp)
    np.testing.assert_array_equal(constant_array(op), expected)


def test_a_number_that_stands_for_several_outside_of_constants() -> None:
    text = '"test.op"() {value = dense<3> : vector<4xi8>} : () -> ()'
    (op,) = parse_program(text.encode(), "text", context()).ops
    value = op.attributes["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    assert value.get_values() == (3, 3, 3, 3)


def test_totals_of_a_module() -> None:
    module = parse_program(doubling_program().encode(), "p", context())
    # Each function has two calls and a return; the last one an operator, a return and itself.
    levels = 3
    for _ in range(DOUBLINGS):
        levels = 2 * levels + 4
    # The bodies of functions take the places of calls: nothing is within anything else.
    assert expanded_size(module) == (levels, 1, 0)
    assert program_size(module).operations == 1 + 4 * DOUBLINGS + 3


def test_recursion_is_no_expansion() -> None:
    text = (
        "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %b = func.call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %b : tensor<2xf32>\n}"
    )
    assert expanded_size(parse_program(text.encode(), "p", context())).operations == 3


def test_a_model_at_the_limit_is_compiled(folder: Path) -> None:
    module, _ = read_model(folder / "conv.onnx")
    weights = program_size(module).constant_bytes
    assert weights == 4 * (8 * 3 * 3 * 3 + 8)
    import_model(str(folder / "conv.onnx"), limits=Limits(max_bytes=weights))
    nodes = program_size(module).operations
    read_model(folder / "conv.onnx", limits=Limits(nodes, weights))
    with pytest.raises(CompileError, match=rf"has {nodes} operations"):
        read_model(folder / "conv.onnx", limits=Limits(nodes - 1, weights))


def test_constants_of_a_model(folder: Path) -> None:
    message = r"with 'w' the constants have 864 bytes, the limit \(max_bytes\) is 863"
    with pytest.raises(OnnxImportError, match=message):
        xrelay.compile(folder / "conv.onnx", max_bytes=863)


@pytest.fixture
def outer_sum(model_of: MakeModel) -> ModelProto:
    """A model that adds two constant vectors to a matrix, which is larger than they are."""
    weights = [
        numpy_helper.from_array(np.arange(500, dtype=np.float32).reshape(shape), name)
        for name, shape in (("a", (500, 1)), ("b", (1, 500)))
    ]
    nodes = [helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Add", ["c", "x"], ["y"])]
    return model_of(nodes, {"x": (np.float32, (500, 500))}, ["y"], weights)


def test_constants_that_folding_computes(outer_sum: ModelProto) -> None:
    limits = Limits(max_bytes=999_999)
    module, _ = read_model(outer_sum, limits=limits)
    message = r"relay.add %c of node 'c': the constant that it gives has 1000000 bytes, the limit"
    with pytest.raises(PassFailedException, match=message):
        run_passes(module, relay_passes(CompileOptions()), limits=limits)
    with pytest.raises(PassFailedException, match=message):
        xrelay.compile(outer_sum, backends=["numpy"], max_bytes=999_999)


def test_constants_that_a_pass_makes_and_uses_up(model_of: MakeModel) -> None:
    """Each is twice as large as the one before, up to 256 GiB; a sum leaves nothing of them."""
    weights = [numpy_helper.from_array(np.ones(64, np.float32), "c0")]
    nodes = [helper.make_node("Concat", [f"c{i}"] * 2, [f"c{i + 1}"], axis=0) for i in range(30)]
    nodes += [
        helper.make_node("ReduceSum", ["c30"], ["s"], keepdims=0),
        helper.make_node("Add", ["s", "x"], ["y"]),
    ]
    model = model_of(nodes, {"x": (np.float32, (1,))}, ["y"], weights)
    message = r"relay.concatenate %c15 .* 8388608 bytes, the limit \(max_bytes\) is 8000000"
    with pytest.raises(PassFailedException, match=message):
        xrelay.compile(model, max_bytes=8_000_000)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--backend", "numpy"),
        ("compile", "--emit-after", "fuse-ops", "-o", "m.mlir"),
        ("explain",),
        ("view", "-o", "m.html"),
        ("tune", "-o", "m.json"),
        ("partition", "--backend", "numpy"),
    ],
)
def test_commands_bound_what_passes_make(
    cmd: Command, inside: Path, outer_sum: ModelProto, words: tuple[str, ...]
) -> None:
    (inside / "outer.onnx").write_bytes(outer_sum.SerializeToString())
    command, *options = words
    result = cmd(command, "outer.onnx", *options, "--max-bytes", 999_999)
    result.refused("has 1000000 bytes, the limit (max_bytes) is 999999", code=FAILED)


def test_workspace_of_a_program(model_of: MakeModel) -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("Softmax", ["s"], ["y"])]
    model = model_of(nodes, {"x": (np.float32, (64, 64))}, ["y"])
    needed = xrelay.compile(model, cache=False).signature.workspace_bytes
    assert needed >= 64 * 64 * 4
    xrelay.compile(model, cache=False, max_bytes=needed)
    message = rf"constants and workspace of the program take {needed} bytes, the limit"
    with pytest.raises(CompileError, match=message):
        xrelay.compile(model, cache=False, max_bytes=needed - 1)


def test_what_the_cache_holds_is_refused_as_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "100M")
    xrelay.compile(folder / "conv.onnx")
    with pytest.raises(OnnxImportError, match="max_bytes"):
        xrelay.compile(folder / "conv.onnx", max_bytes=9)


@pytest.mark.parametrize("name", ["max_nodes", "max_bytes"])
@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (0, "is 0, expected at least 1"),
        (True, "is True, expected a whole number"),
        ("5", "is '5', expected a whole number"),
    ],
)
def test_limits_that_are_none(folder: Path, name: str, limit: Any, message: str) -> None:
    with pytest.raises(CompileError, match=f"{name} {message}"):
        xrelay.compile(folder / "conv.onnx", **{name: limit})


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "--verify"),
        ("run", "--backend", "numpy"),
        ("compile", "-o", "m.so"),
        ("explain",),
        ("view", "-o", "m.html"),
        ("tune", "-o", "m.json"),
        ("partition", "--backend", "numpy"),
    ],
)
def test_commands_have_the_limits(cmd: Command, words: tuple[str, ...]) -> None:
    command, *options = words
    result = cmd(command, "conv.onnx", *options, "--max-nodes", 3)
    result.refused("has 4 operations, the limit (max_nodes) is 3")
    cmd(command, "conv.onnx", *options, "--max-bytes", 5).refused("the limit (max_bytes) is 5")
    cmd(command, "conv.onnx", *options, "--max-bytes", 0).refused("max_bytes is 0, expected")


def test_bytes_have_units(cmd: Command, inside: Path) -> None:
    run = ("run", "conv.onnx", "--no-cache", "--max-bytes")
    assert cmd(*run, "2G").code == 0
    cmd(*run, "0K").refused("max_bytes is 0, expected")
    result = cmd(*run, "2Q")
    assert (result.code, result.out) == (2, "")
    assert "argument --max-bytes: '2Q' is not a number of bytes, such as 5000" in result.err


def test_arrays_have_no_more_dimensions() -> None:
    """Than 64, as those of NumPy, and no more elements than processors address."""
    fits = {rank: is_addressable(TensorType(f32, [1] * rank)) for rank in (0, 63, 64, 65)}
    assert fits == {0: True, 63: True, 64: True, 65: False}
    for length, has_room in ((MOST_ELEMENTS, True), (MOST_ELEMENTS + 1, False)):
        # Beside a dimension of 0 the others count.
        assert is_addressable(TensorType(f32, [0, length])) == has_room
