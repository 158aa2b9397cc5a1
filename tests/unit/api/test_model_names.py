"""The nodes of a model by name, from its import to the steps of its code."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from commands.runs import Command
from onnx import ModelProto, NodeProto, helper, numpy_helper

import xrelay
from xrelay.runtime.signature import Signature, StepSpec
from xrelay.tools.tables import LONGEST_NAMES, shown_names


def layer(number: int, source: str) -> list[NodeProto]:
    """A convolution, its normalisation, the addition of what it read, and a relu."""
    prefix = f"/layer{number}"
    return [
        helper.make_node("Conv", [source, "w"], [f"c{number}"], f"{prefix}/conv"),
        helper.make_node(
            "BatchNormalization",
            [f"c{number}", "scale", "shift", "mean", "variance"],
            [f"n{number}"],
            f"{prefix}/norm",
        ),
        helper.make_node("Add", [f"n{number}", source], [f"a{number}"], f"{prefix}/add"),
        helper.make_node("Relu", [f"a{number}"], [f"r{number}"], f"{prefix}/relu"),
    ]


@pytest.fixture
def network(model_of: Callable[..., ModelProto]) -> ModelProto:
    """Two equal layers in front of a head: pooling, a product with a bias and a softmax."""
    rng = np.random.default_rng(0)
    shapes = {"w": (16, 16, 1, 1), "v": (16, 8), "b": (8,)}
    shapes |= {name: (16,) for name in ("scale", "shift", "mean", "variance")}
    weights = [
        numpy_helper.from_array(rng.uniform(0.5, 1, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        *layer(1, "x"),
        *layer(2, "r1"),
        helper.make_node("GlobalAveragePool", ["r2"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "v", "b"], ["g"], "head"),
        helper.make_node("Softmax", ["g"], ["y"]),
    ]
    return model_of(nodes, {"x": (np.float32, (1, 16, 6, 6))}, ["y"], weights)


def kernels(model: xrelay.Model) -> dict[str, list[tuple[str, ...]]]:
    """The nodes of each call of each kernel."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for step in model.signature.steps:
        found.setdefault(step.name, []).append(step.nodes)
    return found


def test_steps_name_the_nodes_of_the_model(network: ModelProto) -> None:
    model = xrelay.compile(network, target="x86-64-v3")
    nodes = [name for step in model.signature.steps for name in step.nodes]
    parts = ("conv", "norm", "add", "relu")
    # Nodes without kernels have no step; a node without a name is known by its output.
    expected = [f"/layer{i}/{part}" for i in (1, 2) for part in parts] + ["pool", "head", "y"]
    assert [name for name in dict.fromkeys(nodes) if name != "flatten"] == expected


def test_layers_with_other_names_share_kernels(network: ModelProto) -> None:
    calls = kernels(xrelay.compile(network, target="x86-64-v3"))
    convolution = next(nodes for name, nodes in calls.items() if "conv2d" in name)
    assert [each[0] for each in convolution] == ["/layer1/conv", "/layer2/conv"]


def test_saved_and_cached_models_know_the_nodes(
    network: ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "100M")
    path = tmp_path / "model.onnx"
    onnx.save(network, path)
    compiled, cached = xrelay.compile(path), xrelay.compile(path)
    assert any(step.nodes for step in compiled.signature.steps)
    assert cached.signature == compiled.signature
    compiled.save(tmp_path / "model.so")
    assert xrelay.load(tmp_path / "model.so").signature == compiled.signature


def test_signature_keeps_the_nodes() -> None:
    steps = (StepSpec("copy", 0, 8), StepSpec("fused_exp", 2, 16, "", ("a", "b")))
    signature = Signature("m", (), (), 0, 0, "x86-64", (), steps=steps)
    assert Signature.from_json(signature.to_json()) == signature


def test_models_in_text_have_no_nodes(folder: Path) -> None:
    model = xrelay.compile(folder / "add.mlir")
    assert {step.nodes for step in model.signature.steps} == {()}


def test_profile_of_a_model_without_nodes_has_no_column_for_them(
    cmd: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xrelay.runtime.profile.BUDGET_SECONDS", 0.05)
    assert "nodes" in cmd("run", folder / "conv.onnx", "--profile").out
    assert "nodes" not in cmd("run", folder / "add.mlir", "--profile").out


def test_plans_as_data_have_the_nodes(cmd: Command, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    assert cmd("explain", folder / "conv.onnx", "--plan-json", file).code == 0
    (block,) = json.loads(file.read_text())["blocks"]
    (group,) = block["groups"]
    assert [member["node"] for member in group["members"]] == ["conv_1", "conv_1", "relu_1"]


LONG = "x" * LONGEST_NAMES


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([], ""),
        (["a", "b"], "a, b"),
        ([LONG], LONG),
        ([f"{LONG}x"], f"{LONG[1:]}…"),
        ([f"{LONG}x", "b", "c"], f"{LONG[1:]}… … and 2 more"),
        (["a", LONG, "c"], "a … and 2 more"),
        (["a\nb\x1b[31m"], "a?b?[31m"),
    ],
)
def test_names_in_a_line_are_bounded(names: Sequence[str], shown: str) -> None:
    assert shown_names(names) == shown
