"""What the tests of the commands share: a way to run them in this process, and models to work on."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from commands.runs import Command, MakeModel, Snapshot, command
from onnx import ModelProto, TensorProto, helper, numpy_helper

from xrelay.tools import cli, opt

PROGRAM = """\
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = relay.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
"""


@pytest.fixture
def cmd(capsys: pytest.CaptureFixture[str]) -> Command:
    """`xrelay`."""
    return command("xrelay", cli.main, capsys)


@pytest.fixture
def opt_cmd(capsys: pytest.CaptureFixture[str]) -> Command:
    """`xrelay-opt`."""
    return command("xrelay-opt", opt.main, capsys)


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, tuple[Any, Sequence[int | str]]],
    outputs: Sequence[str],
    weights: Sequence[TensorProto] = (),
    opset: int = 13,
) -> ModelProto:
    """A model, from nodes, the dtypes and shapes of its inputs and the names of its outputs."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(t)), dims)
            for name, (t, dims) in inputs.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        list(weights),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def conv_model(dims: Sequence[int | str]) -> ModelProto:
    """y = relu(conv(x, w) + b), with weights that are kept beside a program, not in its text."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w", (8, 3, 3, 3)), ("b", (8,)))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv_1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"], "relu_1"),
    ]
    return make_model(nodes, {"x": (np.float32, dims)}, ["y"], weights)


@pytest.fixture(scope="session")
def model_of() -> MakeModel:
    """Makes models: see `make_model`."""
    return make_model


@pytest.fixture(scope="session")
def conv_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """conv.onnx, as it lies in every `folder`."""
    path = tmp_path_factory.mktemp("models") / "conv.onnx"
    onnx.save(conv_model((1, 3, 8, 8)), path)
    return path


@pytest.fixture
def program() -> str:
    """A relay program: relu(x + y)."""
    return PROGRAM


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with models to work on. No temporary file may stay in it."""
    onnx.save(conv_model((1, 3, 8, 8)), tmp_path / "conv.onnx")
    onnx.save(conv_model(("batch", 3, "side", "side")), tmp_path / "symbolic.onnx")
    (tmp_path / "add.mlir").write_text(PROGRAM)
    yield tmp_path
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, as working directory."""
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def files() -> Snapshot:
    """Tells everything in a folder, with its content."""

    def snapshot(folder: Path) -> dict[str, bytes | None]:
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))
        }

    return snapshot
