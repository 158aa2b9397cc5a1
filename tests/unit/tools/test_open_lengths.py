"""`explain` and `view` of models that leave dimensions open: expressions, conditions, and what became numbers."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper, parser
from onnx_models import bands_of

import xrelay
from xrelay.runtime.dynamic import DynamicModel
from xrelay.tools.cli import main

ROWS = parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 17]>
    rows (float[batch, seq, 24] x) => (float[batch, seq, 24] y, float[batch, 24] z) {
        q = MatMul(x, w)
        y = Softmax <axis = -1> (q)
        z = ReduceMax <axes = [1], keepdims = 0> (y)
    }"""
)
WEIGHTS = np.random.default_rng(0).standard_normal((24, 24)).astype(np.float32) / 5
ROWS.graph.initializer.append(numpy_helper.from_array(WEIGHTS, "w"))
BANDS = parser.parse_model(
    f"""<ir_version: 8, opset_import: ["" : 18]>
    bands (float[batch, width, 1] x) => (float[batch, 9, 1] y) {{
        {bands_of("x", 1, "m")}
        y = MatMul (m, x)
    }}"""
)
"""The bands are those of a table, which has numbers for lengths."""


def saved(tmp_path: Path, model: ModelProto) -> str:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return str(path)


def at(expression: str, lengths: Mapping[str, int]) -> int:
    """The value of an expression, which is one of Python's too."""
    return eval(expression, {"min": min, "max": max}, dict(lengths))


def explained(tmp_path: Path, model: ModelProto, *options: str) -> dict[str, Any]:
    path = tmp_path / "plan.json"
    words = ["explain", saved(tmp_path, model), *options, "--json", str(path)]
    assert main(words) == 0
    return json.loads(path.read_text())


@pytest.mark.parametrize(("batch", "seq"), [(2, 5), (7, 33)])
def test_expressions_of_memory(tmp_path: Path, batch: int, seq: int) -> None:
    """What they are at some lengths is what arrays and onnxruntime's results take, and the program that runs."""
    lengths = {"batch": batch, "seq": seq}
    data = explained(tmp_path, ROWS, "--memory")
    x = np.zeros((batch, seq, 24), np.float32)
    results = onnxruntime.InferenceSession(ROWS.SerializeToString()).run(None, {"x": x})
    assert at(data["inputs_expressions"]["x"], lengths) == x.nbytes
    for name, array in zip(("y", "z"), results, strict=True):
        assert at(data["outputs_expressions"][name], lengths) == np.asarray(array).nbytes
    usual = data["lengths"]["at"]
    assert usual == {"batch": 37, "seq": 38}
    for key in ("workspace", "in_use_at_most", "if_nothing_were_shared"):
        assert at(data[f"{key}_expression"], usual) == data[key]
    assert data["lengths"]["inputs"] == {"x": ["batch", "seq", 24]}
    assert data["lengths"]["numbers"] == {}
    for condition in data["lengths"]["conditions"]:
        assert eval(condition, {"min": min, "max": max}, lengths), condition
    types = {each["type"] for buffer in data["buffers"] for each in buffer["tensors"]}
    assert types and all("batch" in each for each in types)
    model = xrelay.compile(ROWS)
    assert isinstance(model, DynamicModel)
    shapes = {"x": np.zeros((37, 38, 24), np.float32)}, {"x": x}
    for each in shapes:
        model.run(each)
    first, second = (each.model.signature.workspace_bytes for each in model.specialisations)
    assert first == data["workspace"]
    assert second == at(data["workspace_expression"], lengths)


def test_the_text_of_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, ROWS)
    assert main(["explain", path, "--memory"]) == 0
    text = capsys.readouterr().out
    assert "inputs: 'x' float32[batch, seq, 24]" in text
    assert "one program for many lengths; figures are those at batch = 37, seq = 38" in text
    assert "serves 0 <= batch <= 2147483647" in text
    assert "96*batch*seq" in text
    assert "float32[" in text
    assert "which the greatest lengths need" not in text
    assert main(["explain", path, "--memory", "--shape", "seq=1,64", "--shape", "batch=2,8"]) == 0
    text = capsys.readouterr().out
    assert "serves 1 <= seq <= 64" in text
    size = re.search(r"takes ([\d,]+) bytes of workspace, which the greatest lengths need", text)
    assert size is not None
    ranged = xrelay.compile(ROWS, shapes={"seq": (1, 64), "batch": (2, 8)})
    ranged.run({"x": np.zeros((5, 32, 24), np.float32)})
    assert isinstance(ranged, DynamicModel)
    needed = ranged.specialisations[0].model.signature.workspace_bytes
    assert int(size[1].replace(",", "")) == needed


@pytest.mark.parametrize("option", ["--strategies", "--operators", "--types"])
def test_other_questions(tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = explained(tmp_path, ROWS, option)
    text = capsys.readouterr().out
    assert data["lengths"]["at"] == {"batch": 37, "seq": 38}
    assert "0 <= seq <= 2147483647" in text
    if option == "--operators":
        count = at(data["multiply_adds_expression"], {"batch": 3, "seq": 29})
        assert count == 3 * 29 * 24 * 24
        assert data["multiply_adds"] == 37 * 38 * 24 * 24
    if option == "--strategies":
        assert "float32[batch" in text
        assert all("flops" in kernel for kernel in data["kernels"])


def test_groups_and_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, ROWS)
    assert main(["explain", path]) == 0
    assert "-> float32[batch, 24], kind" in capsys.readouterr().out
    plan = tmp_path / "plan.json"
    assert main(["explain", path, "--why", "y", "z", "--what-if", "nn.softmax=injective", "--plan-json", str(plan)]) == 0  # fmt: skip
    assert "rule" in capsys.readouterr().out
    assert json.loads(plan.read_text())


def test_lengths_that_are_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = explained(tmp_path, BANDS, "--memory")
    why = "the model needs the number, so each length takes a program of its own"
    assert data["lengths"]["numbers"] == {"width": why}
    assert "width == 38" in data["lengths"]["conditions"]
    assert data["inputs_expressions"]["x"] == str(4 * 38) + "*batch"
    assert f"width is 38 in it: {why}" in capsys.readouterr().out
    alone = explained(tmp_path, BANDS, "--memory", "--shape", "batch=0,0")
    assert "workspace_expression" not in alone
    assert "a program for batch = 0, width = 37 alone" in capsys.readouterr().out
    assert alone["lengths"]["numbers"]["batch"] == "the range has no other one"


def test_programs_of_the_dialect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(
        "func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {\n"
        "  %0 = relay.exp %x : (tensor<?x8xf32>) -> tensor<?x8xf32>\n"
        "  func.return %0 : tensor<?x8xf32>\n}\n"
    )
    assert main(["explain", str(path), "--memory"]) == 0
    text = capsys.readouterr().out
    assert "serves 0 <= x.0 <= 2147483647" in text
    assert "32*x.0" in text


@pytest.mark.parametrize("suffix", [".html", ".svg", ".dot"])
def test_views(tmp_path: Path, suffix: str) -> None:
    path = saved(tmp_path, ROWS)
    out = tmp_path / f"view{suffix}"
    strategies = ["--strategies"] if suffix == ".html" else []
    assert main(["view", path, "-o", str(out), "--shape", "seq=1,64", *strategies]) == 0
    text = out.read_text()
    assert "float32[batch, seq, 24]" in text
    if suffix == ".html":
        assert "one program for many lengths" in text
        assert "serves 1 &lt;= seq &lt;= 64" in text
    static = tmp_path / f"static{suffix}"
    assert main(["view", path, "-o", str(static), "--shape", "x=2,5,24", *strategies]) == 0
    assert "one program for many lengths" not in static.read_text()


def test_what_stays_open_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Elements of as many axes as the model says are lengths, those of any rank are not."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
        reshaped (float[a, b] x, int64[RANK] shape) => (float[c, d] y) { y = Reshape(x, shape) }"""
    model = parser.parse_model(text.replace("RANK", "2"))
    assert main(["explain", saved(tmp_path, model), "--memory"]) == 0
    assert "shape[0]*shape[1] - a*b == 0" in capsys.readouterr().out
    model = parser.parse_model(text.replace("RANK", "rank"))
    assert main(["explain", saved(tmp_path, model), "--memory"]) == 2
    assert "'shape'" in capsys.readouterr().err
