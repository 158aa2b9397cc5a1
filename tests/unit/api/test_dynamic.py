"""Models with unknown dimensions: a program for each combination of lengths, made when it comes."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import parser

import xrelay
from xrelay.frontends.onnx import OnnxImportError
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Model
from xrelay.runtime.signature import OpenTensor

PRODUCT = """
<ir_version: 8, opset_import: ["" : 17]>
product (float[batch, 3] x, float[batch, columns] y) => (float[three, columns] z) {
  t = Transpose <perm = [1, 0]> (x)
  z = MatMul(t, y)
}
"""
PROGRAM = """
func.func @main(%x: tensor<?x8xf32>, %y: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = relay.add %x, %y : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
"""


def product() -> DynamicModel:
    model = xrelay.compile(parser.parse_model(PRODUCT), cache=False)
    assert isinstance(model, DynamicModel)
    return model


def floats(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def test_each_combination_of_lengths_is_compiled_once() -> None:
    model = product()
    assert str(model.signature) == (
        "'product': 'x' float32[batch, 3], 'y' float32[batch, columns] -> 'z' float32[three, columns]"
    )
    for batch, columns in ((2, 5), (1, 1), (2, 5), (0, 4), (17, 3)):
        x, y = floats(batch, 3), floats(batch, columns)
        found = model.run({"x": x, "y": y})["z"]
        np.testing.assert_allclose(found, x.T @ y, atol=1e-5)
    assert [dict(each.shapes) for each in model.specialisations] == [
        {"x": (1, 3), "y": (1, 1)},
        {"x": (2, 3), "y": (2, 5)},
        {"x": (0, 3), "y": (0, 4)},
        {"x": (17, 3), "y": (17, 3)},
    ]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (3, 5)), "'batch' is 2 in input 'x' and 3 in input 'y', expected one length"),
        (((2, 4), (2, 5)), r"input 'x' has the shape \[2, 4\].*: dimension 1 is 3"),
        (
            ((3,), (2, 5)),
            r"input 'x' has the shape \[3\] of rank 1, expected 'x' float32\[batch, 3\]",
        ),
    ],
)
def test_other_shapes_are_refused_and_nothing_is_compiled(
    shapes: Sequence[tuple[int, ...]], message: str
) -> None:
    model = product()
    x, y = (floats(*shape) for shape in shapes)
    with pytest.raises(ModelError, match=message):
        model.run({"x": x, "y": y})
    with pytest.raises(ModelError, match=message):
        model.specialise({"x": shapes[0], "y": shapes[1]})
    assert model.specialisations == ()


def test_dtypes_and_names_are_checked() -> None:
    model = product()
    x, y = floats(2, 3), floats(2, 5)
    with pytest.raises(ModelError, match=r"input 'x' is float64\[2, 3\], expected 'x' float32"):
        model.run({"x": x.astype(np.float64), "y": y})
    with pytest.raises(ModelError, match="missing input 'y'; the model takes"):
        model.run({"x": x})
    with pytest.raises(ModelError, match="shapes are given of x; the model takes"):
        model.specialise({"x": (2, 3)})


def test_lengths_by_the_names_of_dimensions() -> None:
    proto = parser.parse_model(PRODUCT)
    model = xrelay.compile(proto, shapes={"batch": 2, "columns": 4}, cache=False)
    assert isinstance(model, Model)
    assert [spec.shape for spec in model.signature.inputs] == [(2, 3), (2, 4)]
    partly = xrelay.compile(proto, shapes={"batch": 2}, cache=False)
    assert isinstance(partly, DynamicModel)
    assert [spec.dims for spec in partly.signature.inputs] == [(2, 3), (2, "columns")]
    x, y = floats(2, 3), floats(2, 4)
    np.testing.assert_allclose(partly.run({"x": x, "y": y})["z"], x.T @ y, atol=1e-5)
    for shapes, message in (
        (
            {"btch": 2},
            "neither an input nor an unknown dimension; inputs: 'x', 'y'; unknown dimensions",
        ),
        ({"batch": -1}, "the length of 'batch' in shapes= is -1, expected at least 0"),
        ({"batch": 2.5}, "the length of 'batch' in shapes= is 2.5, expected a whole number"),
        (
            {"batch": 2, "x": [4, 3]},
            "symbol 'batch' the length 2 in shapes= of 'batch' and 4 in input",
        ),
    ):
        with pytest.raises(OnnxImportError, match=message):
            xrelay.compile(proto, shapes=cast(Any, shapes), cache=False)


def test_programs_of_the_dialect(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(PROGRAM)
    model = xrelay.compile(path, cache=False)
    assert isinstance(model, DynamicModel)
    x, y = floats(3, 8), floats(8)
    assert (model.run({"x": x, "y": y})["output0"] == x + y).all()
    static = xrelay.compile(path, shapes={"x": [2, 8]}, cache=False)
    assert isinstance(static, Model)
    assert static.signature.outputs[0].shape == (2, 8)
    for shapes, message in (
        ({"x": [2, 9]}, r"input 'x' the shape \[2, 9\], the program states tensor<\?x8xf32>"),
        ({"z": [2, 8]}, "names 'z', which is not an input; inputs: 'x', 'y'"),
        ({"x": 2}, "gives input 'x' 2, expected a list"),
    ):
        with pytest.raises(xrelay.CompileError, match=message):
            xrelay.compile(path, shapes=cast(Any, shapes), cache=False)


def test_a_model_is_not_changed_under_a_dynamic_one(tmp_path: Path) -> None:
    path = tmp_path / "product.onnx"
    proto = parser.parse_model(PRODUCT)
    onnx.save(proto, path)
    from_file, from_memory = xrelay.compile(path, cache=False), xrelay.compile(proto, cache=False)
    proto.graph.node[1].op_type = "Add"
    onnx.save(proto, path)
    x, y = floats(3, 3), floats(3, 3)
    np.testing.assert_allclose(from_memory.run({"x": x, "y": y})["z"], x.T @ y, atol=1e-5)
    with pytest.raises(xrelay.CompileError, match=r"product.onnx' has changed since"):
        from_file.run({"x": x, "y": y})


def test_what_belongs_to_one_program_says_so(tmp_path: Path) -> None:
    model = product()
    for attempt in (lambda: model.save(tmp_path / "a.so"), lambda: model.llvm_ir):
        with pytest.raises(
            ModelError, match=r"model 'product' has unknown dimensions .* `specialise`"
        ):
            attempt()
    program = model.specialise({"x": (2, 3), "y": (2, 5)})
    assert isinstance(program, Model)
    assert "define" in program.llvm_ir


class Programs:
    """Programs that compute nothing, and what was asked of the one who makes them."""

    def __init__(self, size: int):
        self.size = size
        self.made: list[int] = []

    def make(self, shapes: Mapping[str, tuple[int, ...]]) -> Any:
        (length,) = shapes["x"]
        self.made.append(length)
        if length == 13:
            raise ModelError("no program for 13")
        signature = SimpleNamespace(constant_bytes=self.size, workspace_bytes=0)
        return SimpleNamespace(signature=signature, run=lambda inputs: inputs)

    def model(self, most_programs: int, most_bytes: int) -> DynamicModel:
        x = OpenTensor("x", ("n",), np.dtype(np.float32))
        return DynamicModel(DynamicSignature("m", (x,), (x,)), self.make, most_programs, most_bytes)


@pytest.mark.parametrize(("most_programs", "most_bytes"), [(2, 1000), (9, 20), (9, 29)])
def test_programs_used_longest_ago_go_first(most_programs: int, most_bytes: int) -> None:
    programs = Programs(10)
    model = programs.model(most_programs, most_bytes)
    for length in (1, 2, 1, 3, 1, 2):
        model.run({"x": floats(length)})
    assert programs.made == [1, 2, 3, 2]
    assert [each.shapes["x"] for each in model.specialisations] == [(1,), (2,)]


def test_a_program_that_is_too_large_is_kept_until_the_next() -> None:
    programs = Programs(10)
    model = programs.model(9, 5)
    for length in (1, 1, 2):
        model.run({"x": floats(length)})
    assert programs.made == [1, 2]


def test_a_failure_is_not_kept() -> None:
    programs = Programs(10)
    model = programs.model(9, 1000)
    for _ in range(2):
        with pytest.raises(ModelError, match="no program for 13"):
            model.run({"x": floats(13)})
    assert programs.made == [13, 13]
    assert model.specialisations == ()


def test_threads_wait_for_one_compilation() -> None:
    programs, gate = Programs(10), threading.Event()
    make = programs.make

    def slow(shapes: Mapping[str, tuple[int, ...]]) -> Any:
        result = make(shapes)
        if shapes["x"] == (1,):
            assert gate.wait(60)
        return result

    programs.make = slow
    model = programs.model(9, 1000)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(model.run, {"x": floats(1)}) for _ in range(3)]
        # Another length does not wait.
        pool.submit(model.run, {"x": floats(2)}).result(60)
        gate.set()
        for each in waiting:
            each.result(60)
    assert sorted(programs.made) == [1, 2]
