"""Programs of the dialect with sizes that depend on data: stages, against NumPy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xrelay
from xrelay.compiler import context, parse_program, read_model
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model
from xrelay.runtime.signature import InputValue
from xrelay.runtime.staged import StagedModel
from xrelay.tools.cli import main

RELAY = '#[version = "0.0.5"]\n'


def compiled(folder: Path, text: str, suffix: str = ".relay", **options: Any) -> Any:
    path = folder / f"program{suffix}"
    path.write_text((RELAY if suffix == ".relay" else "") + text)
    return xrelay.compile(path, cache=False, **options)


PLACES = """def @main(%x: Tensor[(ROWS, 5), float32], %w: Tensor[(ROWS, 5), float32]) {
  %0 = nn.relu(%x);
  %1 = argwhere(%0);
  %2 = gather_nd(%w, transpose(%1, axes=[1, 0]), index_rank=2);
  (%1, (%2, sum(%2)), %0)
}
"""


@pytest.mark.parametrize("rows", ["4", "?"])
@pytest.mark.parametrize("threads", [1, 2])
def test_places(tmp_path: Path, rows: str, threads: int) -> None:
    """Results of both stages, in nested tuples, of inputs of any length."""
    model = compiled(tmp_path, PLACES.replace("ROWS", rows), threads=threads)
    assert isinstance(model, StagedModel)
    rng = np.random.default_rng(0)
    for share in (0, 0.3, 1):
        for count in (4,) if rows == "4" else (1, 2, 7):
            x = np.where(rng.random((count, 5)) < share, rng.random((count, 5)), -1)
            x = x.astype(np.float32)
            w = rng.standard_normal((count, 5)).astype(np.float32)
            places, found, total, relu = model.run({"x": x, "w": w}).values()
            assert places.dtype == np.int32
            np.testing.assert_array_equal(places, np.argwhere(x > 0))
            np.testing.assert_array_equal(found, w[x > 0])
            np.testing.assert_allclose(total, w[x > 0].sum(), atol=1e-5)
            np.testing.assert_array_equal(relu, np.maximum(x, 0))
    if rows == "?":
        codes = {
            id(each.model.code) for each in model.specialisations if isinstance(each.model, Model)
        }
        assert len(codes) < len(model.specialisations)


def test_places_of_places(tmp_path: Path) -> None:
    """The second stage is cut again; values of the first are used in the last."""
    model = compiled(
        tmp_path,
        """def @main(%x: Tensor[(6, 4), float32]) {
          %0 = argwhere(%x);
          %1 = gather_nd(%x, transpose(%0, axes=[1, 0]), index_rank=2);
          %2 = argwhere(greater(%1, 1f));
          (take(%0, reshape(%2, newshape=[-1]), axis=0), add(%x, sum(%1)))
        }""",
    )
    assert len(model.stages) == 3 and not model.specialisations
    rng = np.random.default_rng(1)
    for _ in range(4):
        x = (rng.integers(0, 2, (6, 4)) * rng.standard_normal((6, 4)) * 2).astype(np.float32)
        chosen, shifted = model.run({"x": x}).values()
        np.testing.assert_array_equal(chosen, np.argwhere(x > 1))
        np.testing.assert_allclose(shifted, x + x.sum(), atol=1e-5)


OPERANDS: dict[str, tuple[str, str, Callable[[Any, Any], Any]]] = {
    "arange": (
        """%n = relay.max %w : (tensor<3xi32>) -> tensor<i32>
        %0 = relay.constant dense<0> : tensor<i32>
        %1 = relay.constant dense<2> : tensor<i32>
        %y = relay.arange %0, %n, %1 {dtype = i32} : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?xi32>
        return %y : tensor<?xi32>""",
        "tensor<?xi32>",
        lambda x, w: np.arange(0, w.max(), 2, np.int32),
    ),
    "full": (
        """%n = relay.add %w, %w : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
        %1 = relay.constant dense<2.0> : tensor<f32>
        %y = relay.dyn.full %1, %n : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x?xf32>
        return %y : tensor<?x?x?xf32>""",
        "tensor<?x?x?xf32>",
        lambda x, w: np.full(2 * w, 2, np.float32),
    ),
    "tile": (
        """%n = relay.negative %w : (tensor<3xi32>) -> tensor<3xi32>
        %m = relay.negative %n : (tensor<3xi32>) -> tensor<3xi32>
        %e = relay.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %y = relay.dyn.tile %e, %m : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
        return %y : tensor<?x?x?xf32>""",
        "tensor<?x?x?xf32>",
        lambda x, w: np.tile(np.exp(x), w),
    ),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_that_are_computed(tmp_path: Path, name: str) -> None:
    body, result, expected = OPERANDS[name]
    text = f"func.func @main(%x: tensor<2x3xf32>, %w: tensor<3xi32>) -> {result} {{\n{body}\n}}"
    model = compiled(tmp_path, text, ".mlir")
    assert isinstance(model, StagedModel)
    x = np.random.default_rng(2).random((2, 3)).astype(np.float32)
    for w in ([2, 1, 3], [1, 1, 1], [0, 2, 3], [2, 1, 3]):
        sizes = np.array(w, np.int32)
        (found,) = model.run({"x": x, "w": sizes}).values()
        wanted = expected(x, sizes)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


RESHAPE = """
func.func @main(%x: tensor<?x4xf32>, %s: tensor<2xi64>, %b: tensor<4xf32>) -> tensor<?x?xf32> {
  %0 = relay.add %x, %b : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %y = relay.dyn.reshape %0, %s : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
"""


def test_shapes_that_are_inputs(tmp_path: Path) -> None:
    """No stages: a program for the elements of an input, which is no input of it."""
    model = compiled(tmp_path, RESHAPE, ".mlir")
    assert isinstance(model, DynamicModel)
    x, b = np.arange(24, dtype=np.float32).reshape(6, 4), np.arange(4, dtype=np.float32)
    for rows, shape in ((6, (3, 8)), (6, (-1, 2)), (3, (3, 4))):
        (found,) = model.run({"x": x[:rows], "s": np.array(shape), "b": b}).values()
        np.testing.assert_array_equal(found, (x[:rows] + b).reshape(shape))
    shapes: Any = {"x": (6, 4), "s": InputValue.of(np.array([2, 12]))}
    fixed = compiled(tmp_path, RESHAPE, ".mlir", shapes=shapes)
    assert [spec.name for spec in fixed.signature.inputs] == ["x", "b"]
    np.testing.assert_array_equal(fixed.run({"x": x, "b": b})["output0"], (x + b).reshape(2, 12))
    shapes["s"] = InputValue.of(np.array([2, 12], np.int32))
    message = "gives input 's' elements of type int32, the program states int64"
    with pytest.raises(xrelay.CompileError, match=message):
        compiled(tmp_path, RESHAPE, ".mlir", shapes=shapes)


SPARSE = """
func.func @main(%i: tensor<5x2xi32>, %v: tensor<5xf32>, %s: tensor<2xi64>, %d: tensor<1xf32>)
    -> (tuple<tensor<?x2xi64>, tensor<?xi64>, tensor<?xi64>>) {
  %r = relay.sparse_fill_empty_rows %i, %v, %s, %d :
      (tensor<5x2xi32>, tensor<5xf32>, tensor<2xi64>, tensor<1xf32>) -> tuple<tensor<?x2xi64>, tensor<?xi64>, tensor<?xi64>>
  func.return %r : tuple<tensor<?x2xi64>, tensor<?xi64>, tensor<?xi64>>
}
"""


@pytest.mark.parametrize("given", [False, True])
def test_empty_rows(tmp_path: Path, given: bool) -> None:
    """The number of rows is an element of an input, and bounds the result."""
    rng = np.random.default_rng(3)
    default = np.array([7], np.float32)
    for rows in (1, 4, 9):
        shape = np.array([rows, 9])
        shapes = {"s": InputValue.of(shape)} if given else None
        model = compiled(tmp_path, SPARSE, ".mlir", shapes=shapes)
        for least in (0, rows - 1):
            places = np.stack([rng.integers(least, rows, 5), rng.integers(0, 9, 5)], 1)
            values = rng.standard_normal(5).astype(np.float32) * 9
            inputs = {"i": places.astype(np.int32), "v": values, "s": shape, "d": default}
            if given:
                del inputs["s"]
            empty = [row for row in range(rows) if row not in places[:, 0]]
            everything = [
                *((row, column, int(v)) for (row, column), v in zip(places, values, strict=True)),
                *((row, 0, 7) for row in empty),
            ]
            everything.sort(key=lambda each: each[0])
            found, numbers, flags = model.run(inputs).values()
            np.testing.assert_array_equal(found, [each[:2] for each in everything])
            np.testing.assert_array_equal(numbers, [each[2] for each in everything])
            np.testing.assert_array_equal(np.flatnonzero(flags), empty)


def test_names_of_results_that_are_values_of_both_stages(tmp_path: Path) -> None:
    text = """
    func.func @main(%x: tensor<6xf32>) -> (tensor<?x1xi32>, tensor<6xf32>, tensor<?x1xi32>, tensor<2xf32>) {
      %c = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %p = relay.argwhere %x : (tensor<6xf32>) -> tensor<?x1xi32>
      %q = relay.add %p, %p : (tensor<?x1xi32>, tensor<?x1xi32>) -> tensor<?x1xi32>
      return %p, %x, %q, %c : tensor<?x1xi32>, tensor<6xf32>, tensor<?x1xi32>, tensor<2xf32>
    }"""
    model = compiled(tmp_path, text, ".mlir")
    x = np.array([0, 1, 0, 2, 3, 0], np.float32)
    found = list(model.run({"x": x}).values())
    for array, wanted in zip(found, ([[1], [3], [4]], x, [[2], [6], [8]], [1, 2]), strict=True):
        np.testing.assert_array_equal(array, wanted)
    with pytest.raises(xrelay.ModelError, match="sizes that depend on data and runs in 2 stages"):
        model.save(tmp_path / "m.so")


def test_an_output_with_the_name_of_an_input(tmp_path: Path) -> None:
    text = """
    func.func @main(%arg: tensor<4x5xf32> {"onnx.name" = "a"}) -> (
        tensor<4x5xf32> {"onnx.name" = "a"}, tensor<f32> {"onnx.name" = "b"}
    ) {
      %r = relay.negative %arg : (tensor<4x5xf32>) -> tensor<4x5xf32>
      %p = relay.argwhere %arg : (tensor<4x5xf32>) -> tensor<?x2xi32>
      %t = "relay.transpose"(%p) <{axes = array<i64: 1, 0>}> : (tensor<?x2xi32>) -> tensor<2x?xi32>
      %g = "relay.gather_nd"(%arg, %t) <{batch_dims = 0 : i64, index_rank = 2 : i64}> : (
        tensor<4x5xf32>, tensor<2x?xi32>
      ) -> tensor<?xf32>
      %s = "relay.sum"(%g) : (tensor<?xf32>) -> tensor<f32>
      return %r, %s : tensor<4x5xf32>, tensor<f32>
    }"""
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    found = compiled(tmp_path, text, ".mlir").run({"a": x})
    np.testing.assert_array_equal(found["a"], -x)
    np.testing.assert_array_equal(found["b"], x.sum())


def test_modules_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "p.relay").write_text(RELAY + PLACES.replace("ROWS", "4"))
    module, _ = read_model(tmp_path / "p.relay")
    before = str(module)
    assert isinstance(xrelay.compile(module, cache=False), StagedModel)
    assert str(module) == before


LOOP = """
func.func @main(%x: tensor<4xf32>) -> tensor<?x1xi32> {
  %rounds = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %p = relay.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi32>
  %y = scf.for %i = %zero to %rounds step %one iter_args(%a = %p) -> (tensor<?x1xi32>) {
    %t = relay.tuple %a, %p : (tensor<?x1xi32>, tensor<?x1xi32>) -> tuple<tensor<?x1xi32>, tensor<?x1xi32>>
    %b = relay.concatenate %t : (tuple<tensor<?x1xi32>, tensor<?x1xi32>>) -> tensor<?x1xi32>
    scf.yield %b : tensor<?x1xi32>
  }
  return %y : tensor<?x1xi32>
}
"""


def test_sizes_in_loops(tmp_path: Path) -> None:
    inputs = {"x": np.array([0, 1, 0, 2], np.float32)}
    (found,) = compiled(tmp_path, LOOP, ".mlir").run(inputs).values()
    np.testing.assert_array_equal(found, [[1], [3]] * 3)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.relay"
    path.write_text(RELAY + PLACES.replace("ROWS", "4"))
    assert main(["run", str(path), "--verify", "--no-cache"]) == 0
    assert capsys.readouterr().out.count("agrees with the interpreter") == 4
    assert main(["run", str(path), "--profile"]) == 2
    assert "--profile is for models of one program" in capsys.readouterr().err
    assert main(["compile", str(path), "-o", str(tmp_path / "p.so")]) != 0
    assert "sizes depend on data, so that the model is several programs" in capsys.readouterr().err


def test_the_command_uses_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the code of all stages, unless it is told not to."""
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "p.relay"
    path.write_text(RELAY + PLACES.replace("ROWS", "4"))
    for options, is_used in ((["--no-cache"], False), ([], True)):
        assert main(["run", str(path), *options]) == 0
        # The description of the processor is not of one program.
        left = [
            each for each in (tmp_path / "cache").glob("*") if not each.name.startswith("host-")
        ]
        assert bool(left) == is_used


def test_elements_that_are_given_are_told_apart_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by their text, which names the first ones."""
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    text = """func.func @main(%x: tensor<64xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
      %y = relay.add %x, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %y : tensor<64xf32>
    }"""
    module = parse_program(text.encode(), "text", context())
    x = np.zeros(64, np.float32)
    for last in (1, 2):
        s = np.zeros(64, np.float32)
        s[-1] = last
        model = xrelay.compile(module, shapes={"s": InputValue.of(s)})
        np.testing.assert_array_equal(model.run({"x": x})["output0"], s)
