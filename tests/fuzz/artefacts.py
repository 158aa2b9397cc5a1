"""A small model as all the files that xrelay writes and reads."""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

import xrelay
from xrelay.compiler import context, read_mlir
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret
from xrelay.program_weights import require_weights
from xrelay.runtime.cache import ObjectCache
from xrelay.runtime.model import Model
from xrelay.tools import cli
from xrelay.tools.module_file import write_module
from xrelay.transforms.apply_fusion_plan import ApplyFusionPlanPass

Array = npt.NDArray[Any]
INPUT = np.linspace(-1, 1, 2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)
ENTRY = "entry"
"""The key of the model in a cache."""


def small_model(seed: int = 0) -> ModelProto:
    """
    Convolution, activation, mean, product; the weights, which a seed says, are large enough for
    side files.
    """
    rng = np.random.default_rng(seed)
    shapes = {"w": (8, 3, 3, 3), "b": (8,), "m": (8, 5)}
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["a"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["a", "m"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, INPUT.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@dataclass(frozen=True)
class Artefact:
    """A file that may be damaged."""

    name: str
    read: Callable[[Path], Array | None]
    """
    The result of the model after the file in a folder was read; None when nothing is read from it.
    Raises DiagnosticException when it is refused.
    """
    is_named: bool = False
    """Whether users name it, who may name a pipe as well. Others are only found beside a file."""
    is_checked: bool = True
    """Whether no damage may change the result: what ONNX keeps beside a model has no checksum."""


def write_artefacts(folder: Path) -> None:
    """Writes all of them."""
    model = small_model()
    onnx.save(model, folder / "model.onnx")
    module = import_model(model)
    write_module(module, folder / "model.mlir")
    cache = {"XRELAY_CACHE_SIZE": "1G", "XRELAY_CACHE_DIR": str(folder / "cache")}
    with patch.dict(os.environ, cache):
        xrelay.compile(model).save(folder / "model.so")
    (entry,) = (folder / "cache").glob("*.xrelay")
    entry.rename(folder / f"{ENTRY}.xrelay")
    shutil.rmtree(folder / "cache")
    for words in (["explain", "--plan-json", "plan.json"], ["tune", "-o", "tuning.json"]):
        with redirect_stdout(StringIO()):
            cli.main([words[0], str(folder / "model.onnx"), words[1], str(folder / words[2])])
    onnx.save(
        model,
        folder / "external.onnx",
        save_as_external_data=True,
        location="data.bin",
        size_threshold=0,
    )


def run(model: Model) -> Array:
    """The result of a compiled model."""
    (result,) = model.run({"x": INPUT}).values()
    return result


def from_library(folder: Path) -> Array:
    return run(xrelay.load(folder / "model.so"))


def from_cache(folder: Path) -> Array | None:
    # No file belongs to the model.
    code = ObjectCache(folder, 2**30).load(ENTRY, lambda _: None)
    return None if code is None else run(Model.from_code(code))


def from_program(folder: Path) -> Array:
    module = read_mlir(folder / "model.mlir")
    require_weights(module, folder / "model.mlir")
    (result,) = interpret(module, [INPUT])
    return result


def all_artefacts() -> tuple[dict[str, bytes], Array]:
    """The files of the small model by name, and what it computes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_artefacts(folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}, from_program(folder)


def with_tuning(folder: Path) -> Array:
    return run(xrelay.compile(small_model(), cache=False, tuning=folder / "tuning.json"))


def with_plan(folder: Path) -> Array:
    module = import_model(small_model())
    ApplyFusionPlanPass(file=str(folder / "plan.json")).apply(context(), module)
    module.verify()
    (result,) = interpret(module, [INPUT])
    return result


def with_external(folder: Path) -> Array:
    (result,) = interpret(import_model(folder / "external.onnx"), [INPUT])
    return result


ARTEFACTS = {
    "library": Artefact("model.so", from_library, is_named=True),
    "entry": Artefact(f"{ENTRY}.xrelay", from_cache),
    "weights": Artefact("model.mlir.weights.npz", from_program),
    "tuning": Artefact("tuning.json", with_tuning, is_named=True),
    "plan": Artefact("plan.json", with_plan, is_named=True),
    "external": Artefact("data.bin", with_external, is_checked=False),
}
"""By the name that recipes have for it."""
