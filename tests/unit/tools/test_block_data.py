"""Commands on models with weights in blocks, whose data are rounded to 8 bits."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from commands.runs import Command
from onnx import TensorProto, helper, numpy_helper

DEPTH, PRODUCTS = 64, 6


@pytest.fixture(scope="module", params=[0, 4], ids=["f32", "8 bits"])
def decoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Products one after the other, as a level of accuracy has them."""
    rng, value = np.random.default_rng(3), "x"
    nodes, constants = list[onnx.NodeProto](), list[onnx.TensorProto]()
    for i in range(PRODUCTS):
        weight = rng.integers(0, 256, (DEPTH, 2, 16), np.uint8)
        scales = rng.uniform(0.5, 1.5, (DEPTH, 2)) * 0.2 / DEPTH**0.5
        arrays = {f"w{i}": weight, f"s{i}": scales.astype(np.float32)}
        constants += [numpy_helper.from_array(array, name) for name, array in arrays.items()]
        nodes.append(
            helper.make_node(
                "MatMulNBits", [value, *arrays], [f"y{i}"], f"product{i}",
                domain="com.microsoft", K=DEPTH, N=DEPTH, bits=4, block_size=32,
                accuracy_level=request.param,
            )
        )  # fmt: skip
        value = f"y{i}"
    tensors = (
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [5, DEPTH]) for n in ("x", value)
    )
    graph = helper.make_graph(nodes, "g", *([each] for each in tensors), constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
    path = tmp_path_factory.mktemp("decoder") / f"level{request.param}.onnx"
    onnx.save(model, path)
    return path


def test_code_agrees_with_the_interpreter(cmd: Command, decoder: Path) -> None:
    for precision in ("f32", "int8"):
        result = cmd("run", decoder, "--precision", precision, "--verify")
        assert result.code == 0, result.out
        assert "agrees with the interpreter" in result.out


def test_code_that_does_not_round_is_found(
    cmd: Command, decoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What results are off by when data that are rounded have five bits is more than roundings may be."""
    from xrelay.lowering.operators.qnn import rounded_rows

    monkeypatch.setattr(rounded_rows, "LARGEST", 15.0)
    result = cmd("run", decoder, "--precision", "int8", "--verify", "--no-cache")
    assert result.code != 0 and "DIFFERS from the interpreter" in result.out


def test_types_say_what_is_rounded(cmd: Command, decoder: Path, tmp_path: Path) -> None:
    def reasons(precision: str) -> list[str]:
        path = tmp_path / "types.json"
        options = ("--precision", precision, "--types", "--json", path)
        assert cmd("explain", decoder, *options).code == 0
        return [row["reason"] for row in json.loads(path.read_text())["types"]]

    rounded = ["data are rounded to 8 bits in blocks"]
    assert reasons("int8") == rounded
    assert reasons("f32") == (rounded if decoder.stem == "level4" else ["as the model states it"])


def test_exported_models_keep_their_types_unless_asked(
    cmd: Command, decoder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "exported.onnx"
    words = ("compile", decoder, "-o", path, "--precision", "int8")
    cmd(*words).refused("changes an output that ends with .onnx only with --emit-after")
    assert not path.exists()
    assert cmd(*words, "--emit-after", "round-block-data").code == 0
    operators = [node.op_type for node in onnx.load(path).graph.node]
    assert operators.count("Round") == PRODUCTS
