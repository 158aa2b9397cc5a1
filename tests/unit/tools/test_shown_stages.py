"""`explain` and `view` of models whose sizes depend on data: stage by stage."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, parser

import xrelay
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.staged import StagedModel
from xrelay.tools.cli import main
from xrelay.tools.errors import BAD_INPUT

FOUND = """<ir_version: 8, opset_import: ["" : 17]>
found ({type}[{rows}, 4] x) => (float[k] y) <int64[1] ax = {{0}}> {{
    r = Relu(x)
    nz = NonZero(r)
    places = Transpose(nz)
    v = GatherND(r, places)
    e = Exp(v)
    nz2 = NonZero(e)
    numbers = Squeeze(nz2, ax)
    g = Gather(e, numbers)
    y = Sigmoid(g)
}}"""
"""Twice a size is found, so that there are three stages."""
ROUNDS = """<ir_version: 8, opset_import: ["" : 17]>
rounds (float[n, 4] x, int64 count) => (float[m, 4] y) {
    y = Loop(count, , x) <body = round (int64 i, bool c, float[k, 4] h) => (bool d, float[l, 4] g) {
        d = Identity(c)
        kept = ReduceMax<axes = [1], keepdims = 0>(h)
        zero = Constant<value_float = 0.0>()
        is_kept = Greater(kept, zero)
        g = Compress<axis = 0>(h, is_kept)
    }>
}"""


def saved(tmp_path: Path, model: ModelProto) -> str:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return str(path)


def found(rows: str | int = "n") -> ModelProto:
    return parser.parse_model(FOUND.format(type="float", rows=rows))


def programs_of(model: object) -> int:
    """How many programs a model runs one after the other, after its first call."""
    inner = model.stages if isinstance(model, DynamicModel | StagedModel) else ()
    return sum(map(programs_of, inner)) or 1


@pytest.mark.parametrize("rows", ["n", 5])
def test_each_stage_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str | int
) -> None:
    path = saved(tmp_path, found(rows))
    assert main(["explain", path]) == 0
    text = capsys.readouterr().out
    parts = text.split("stage ")[1:]
    assert [part[:6] for part in parts] == ["1 of 3", "2 of 3", "3 of 3"]
    assert [name in part for name, part in zip(("relu", "exp", "sigmoid"), parts, strict=True)]
    assert "inputs: 'x' float32[n, 4]" in parts[0] or rows == 5
    assert "nz.count" in parts[1] and "nz2.count" in parts[2]
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    model = xrelay.compile(path)
    model.run({"x": x})
    assert programs_of(model) == 3


@pytest.mark.parametrize("option", ["--strategies", "--memory", "--operators", "--types"])
def test_stages_as_data(tmp_path: Path, option: str) -> None:
    plan = tmp_path / "plan.json"
    assert main(["explain", saved(tmp_path, found()), option, "--json", str(plan)]) == 0
    stages = json.loads(plan.read_text())["stages"]
    assert [each["title"] for each in stages] == [f"stage {i} of 3" for i in (1, 2, 3)]
    counts = [each["lengths"]["at"] for each in stages]
    assert ["n" in counts[0], "nz.count" in counts[1], "nz2.count" in counts[2]] == [True] * 3


def test_rounds_of_a_loop_are_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, parser.parse_model(ROUNDS))
    assert main(["explain", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = [line for line in lines if line.startswith("stage ")]
    assert shown == [f"stage {i} of 2, a round of a loop" for i in (1, 2)]


def test_a_program_in_text_is_shown_in_stages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        """func.func @main(%x: tensor<5x4xf32>) -> tensor<?xf32> {
  %0 = "relay.nn.relu"(%x) : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %1 = "relay.argwhere"(%0) : (tensor<5x4xf32>) -> tensor<?x2xi32>
  %2 = "relay.cast"(%1) <{dtype = f32}> : (tensor<?x2xi32>) -> tensor<?x2xf32>
  %3 = "relay.sum"(%2) <{axis = array<i64: 1>, keepdims = false, exclude = false}> : (tensor<?x2xf32>) -> tensor<?xf32>
  func.return %3 : tensor<?xf32>
}
"""
    )
    assert main(["explain", str(path), "--strategies"]) == 0
    text = capsys.readouterr().out
    assert "stage 1 of 2" in text and "bounded_argwhere" in text and "stage 2 of 2" in text


def test_a_library_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "model.so"
    assert main(["compile", saved(tmp_path, found()), "-o", str(library)]) != 0
    assert "`xrelay explain` and `xrelay view` show them" in capsys.readouterr().err
    assert not library.exists()


@pytest.mark.parametrize(
    ("option", "values"),
    [("--chart", ["memory.svg", "--memory"]), ("--why", ["1", "2"]), ("--plan-json", ["p.json"])],
)
def test_what_is_of_one_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, values: list[str]
) -> None:
    if option == "--chart":
        pytest.importorskip("matplotlib")
    words = [option, *(str(tmp_path / each) if "." in each else each for each in values)]
    assert main(["explain", saved(tmp_path, found()), *words]) == BAD_INPUT
    error = capsys.readouterr().err
    assert (
        f"{option}" in error and "this one runs in 3 stages, as its sizes depend on data" in error
    )


def test_all_stages_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, drawn = saved(tmp_path, found()), tmp_path / "model.dot"
    assert main(["view", path, "-o", str(drawn)]) == 0
    text = drawn.read_text()
    assert [f'label="stage {i} of 3: func.func main"' in text for i in (1, 2, 3)] == [True] * 3
    words = ["view", path, "-o", str(drawn), "--profile", str(tmp_path / "trace.json")]
    assert main(words) == BAD_INPUT
    assert "--profile is for models that are one program" in capsys.readouterr().err
