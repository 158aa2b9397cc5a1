"""`xrelay.interpret` and `xrelay run --interpret`: models in NumPy, also those without machine code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser

import xrelay
from xrelay.tools.cli import main

GROWING = """\
#[version = "0.0.5"]
def @loop(%i: int32, %x: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] {
  %0 = less(%i, 3);
  if (%0) {
    %1 = add(%i, 1);
    %2 = concatenate((%x, %x));
    @loop(%1, %2)
  } else { %x }
}
def @main(%x: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] { @loop(0, %x) }
"""
INNER = GROWING.replace("@loop(%1, %2)\n", "concatenate((@loop(%1, %x), %x))\n").replace(
    "less(%i, 3)", "less(%i, 2)"
)
SUM = """
<ir_version: 8, opset_import: ["" : 17]>
sum (float[n, 3] x, float[3] y) => (float[n, 3] z) { z = Add(x, y) }
"""
WAY_OUT = "`xrelay run --interpret` and xrelay.interpret run in NumPy what has no code"


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    path = tmp_path / "growing.relay"
    path.write_text(GROWING)
    return path


def test_recursion_over_tensors_that_grow(growing: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (result,) = xrelay.interpret(growing, {"x": x}).values()
    assert (result == np.concatenate([x] * 8)).all()
    for shapes in ({"x": [2, 3]}, None):
        (found,) = xrelay.compile(growing, shapes=shapes, cache=False).run({"x": x}).values()
        np.testing.assert_array_equal(found, result)


def test_recursion_that_goes_on_after_a_call(tmp_path: Path) -> None:
    """Of tensors that grow it is left to the interpreter, which the refusal names."""
    path = tmp_path / "inner.relay"
    path.write_text(INNER)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (result,) = xrelay.interpret(path, {"x": x}).values()
    assert result.shape == (6, 3)
    with pytest.raises(xrelay.CompileError, match=WAY_OUT):
        xrelay.compile(path, shapes={"x": [2, 3]}, cache=False).run({"x": x})


BLOCKS = """
func.func @main(%x: tensor<2xf32>, %more: tensor<i1>) -> tensor<2xf32> {
  %go = tensor.extract %more[] : tensor<i1>
  cf.cond_br %go, ^next, ^end(%x : tensor<2xf32>)
^next:
  %y = relay.negative %x : (tensor<2xf32>) -> tensor<2xf32>
  cf.br ^end(%y : tensor<2xf32>)
^end(%z: tensor<2xf32>):
  return %z : tensor<2xf32>
}
"""


def test_functions_of_several_blocks(tmp_path: Path) -> None:
    path = tmp_path / "blocks.mlir"
    path.write_text(BLOCKS)
    x = np.array([1, -2], np.float32)
    for more, expected in ((True, -x), (False, x)):
        (result,) = xrelay.interpret(path, {"x": x, "more": np.array(more)}).values()
        assert (result == expected).all()
    with pytest.raises(xrelay.CompileError, match=f"it is not one block .*{WAY_OUT}"):
        xrelay.compile(path, cache=False)


def test_onnx_models_take_unknown_lengths_from_the_inputs() -> None:
    x, y = np.ones((4, 3), np.float32), np.arange(3, dtype=np.float32)
    assert (xrelay.interpret(parser.parse_model(SUM), {"x": x, "y": y})["z"] == x + y).all()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"x": np.ones((2, 4), np.float32)},
            r"input 'x' is float32\[2, 4\], expected 'x' float32\[\?, 3\]",
        ),
        ({"x": np.ones((2, 3))}, r"input 'x' is float64\[2, 3\], expected"),
        ({"x": np.ones(3, np.float32)}, r"input 'x' is float32\[3\], expected"),
        ({}, r"missing input 'x'; the model takes 'x' float32\[\?, 3\]"),
    ],
)
def test_inputs_are_checked(growing: Path, inputs: Any, message: str) -> None:
    with pytest.raises(xrelay.ModelError, match=message):
        xrelay.interpret(growing, inputs)


def test_results_are_limited() -> None:
    model, given = (
        parser.parse_model(SUM),
        {"x": np.ones((4, 3), np.float32), "y": np.ones(3, np.float32)},
    )
    assert xrelay.interpret(model, given, max_bytes=48)["z"].shape == (4, 3)
    message = r"interpreted: relay.add: its results have 48 bytes, the limit \(max_bytes\) is 47"
    with pytest.raises(xrelay.CompileError, match=message):
        xrelay.interpret(model, given, max_bytes=47)


def test_the_command(growing: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones((1, 3), np.float32)
    np.save(tmp_path / "x.npy", x)
    given = ["--input", f"x={tmp_path / 'x.npy'}", "--output-dir", str(tmp_path / "out")]
    assert main(["run", str(growing), "--interpret", *given]) == 0
    assert "interpreted: " in capsys.readouterr().out
    assert (np.load(tmp_path / "out" / "output0.npy") == np.ones((8, 3))).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--interpret"], "input 'x' float32[?, 3] has unknown dimensions: use --input or --shape"),
        (["--interpret", "--verify"], "--verify is for machine code, not for --interpret"),
        (["--shape", "x=2,3"], WAY_OUT),
    ],
)
def test_what_the_command_refuses(
    growing: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    growing.write_text(INNER)
    assert main(["run", str(growing), *options]) != 0
    assert message in capsys.readouterr().err
