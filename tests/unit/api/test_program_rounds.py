"""Loops of the dialect, and functions that call themselves, whose rounds have sizes that depend on data, against the interpreter."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.compiler import context
from xrelay.runtime import dynamic
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model
from xrelay.runtime.staged import StagedModel
from xrelay.transforms.rules.rounds import rotated

RELAY = '#[version = "0.0.5"]\n'
GROWS = """def @main(%x: Tensor[(ROWS, 3), float32], %n: int32) {
  let %loop = fn (%i: int32, %a: Tensor[(?, 3), float32]) -> (int32, Tensor[(?, 3), float32]) {
    if (less(%i, %n)) {
      %0 = concatenate((%a, %x));
      %loop(add(%i, 1), multiply(%0, 0.5f))
    } else { (%i, %a) }
  };
  let %r = %loop(0, %x);
  (%r.1, sum(%r.1, axis=[0]), %r.0)
}
"""
"""A literal that calls itself last, with a tuple of what grows, and a tensor from around it."""
FINDS = """def @go(%x: Tensor[(6), float32], %n: int32, %k: Tensor[(?, 1), int32])
    -> (Tensor[(6), float32], Tensor[(?, 1), int32]) {
  if (greater(%n, 0)) {
    let %p = argwhere(%x);
    @go(nn.relu(subtract(%x, 1f)), subtract(%n, 1), %p)
  } else { (%x, %k) }
}
def @main(%x: Tensor[(6), float32], %n: int32) { @go(%x, %n, argwhere(%x)) }
"""
"""A function of the module, whose rounds find out a size, and which takes one that was found out."""


def check(source: Any, model: Any, inputs: dict[str, Any]) -> None:
    found, wanted = model.run(inputs), xrelay.interpret(source, inputs)
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        np.testing.assert_allclose(found[name], array, rtol=1e-5)


def program(folder: Path, text: str) -> Path:
    is_relay = "def @main" in text
    path = folder / ("program.relay" if is_relay else "program.mlir")
    path.write_text(RELAY + text if is_relay else text)
    return path


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", ["2", "?"])
def test_tensors_that_grow(tmp_path: Path, rows: str, threads: int) -> None:
    path = program(tmp_path, GROWS.replace("ROWS", rows))
    model = xrelay.compile(path, threads=threads, cache=False)
    for length in (2,) if rows == "2" else (1, 2, 5):
        for count in (0, 1, 2, 7):
            check(path, model, {"x": numbers(length, 3), "n": np.array(count, np.int32)})


def test_nothing_is_compiled_for_further_rounds(tmp_path: Path) -> None:
    """However many lengths these have: the programs of rounds serve all of them."""
    path = program(tmp_path, GROWS.replace("ROWS", "2"))
    model = xrelay.compile(path, cache=False)
    codes: list[set[int]] = []
    for count in (3, 50):
        check(path, model, {"x": numbers(2, 3), "n": np.array(count, np.int32)})
        programs = (each.model for each in model.specialisations)
        codes.append({id(each.code) for each in programs if isinstance(each, Model)})
    assert codes[0] == codes[1]


def test_sizes_that_rounds_find_out(tmp_path: Path) -> None:
    path = program(tmp_path, FINDS)
    model = xrelay.compile(path, cache=False)
    assert isinstance(model, StagedModel)
    for count in (0, 1, 3, 9):
        x = np.array([0, 1, 2, 3, 0, 5], np.float32)
        check(path, model, {"x": x, "n": np.array(count, np.int32)})


COUNTED = """
func.func @main(%x: tensor<4xf32>, %n: tensor<TYPE>, %carried0: tensor<?x1xi32>) -> (tensor<?x1xi32>, tensor<4xf32>) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %m = tensor.extract %n[] : tensor<TYPE>
  %end = arith.index_cast %m : TYPE to index
  %a = relay.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi32>
  %y:2 = scf.for %i = %none to END step STEP iter_args(%b = %a, %s = %x) -> (tensor<?x1xi32>, tensor<4xf32>) {
    %t = relay.tuple %b, %a, %carried0 : (tensor<?x1xi32>, tensor<?x1xi32>, tensor<?x1xi32>) -> tuple<tensor<?x1xi32>, tensor<?x1xi32>, tensor<?x1xi32>>
    %c = relay.concatenate %t : (tuple<tensor<?x1xi32>, tensor<?x1xi32>, tensor<?x1xi32>>) -> tensor<?x1xi32>
    %j = arith.index_cast %i : index to i64
    %k = tensor.from_elements %j : tensor<i64>
    %f = relay.cast %k {dtype = f32} : (tensor<i64>) -> tensor<f32>
    %u = relay.add %s, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    scf.yield %c, %u : tensor<?x1xi32>, tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<?x1xi32>, tensor<4xf32>
}
"""
"""A counted loop, with an input called as rounds call what they carry."""


@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize(("end", "step"), [("%end", "%one"), ("%end", "%two"), ("%two", "%one")])
def test_counted_loops(tmp_path: Path, end: str, step: str, dtype: str) -> None:
    text = COUNTED.replace("TYPE", dtype).replace("END", end).replace("STEP", step)
    path = program(tmp_path, text)
    model = xrelay.compile(path, cache=False)
    for count, given in ((0, 1), (1, 2), (5, 0), (-3, 1)):
        n = np.array(count, f"int{dtype[1:]}")
        places = np.arange(given, dtype=np.int32)[:, None]
        check(path, model, {"x": numbers(4) > 0.1, "n": n, "carried0": places} | {"x": numbers(4)})


WHILE = """
func.func @main(%x: tensor<ROWSx2xf32>, %n: tensor<i32>) -> (tensor<?x2xf32>, tensor<i32>) {
  %one = relay.constant dense<1> : tensor<i32>
  %zero = relay.constant dense<0> : tensor<i32>
  %a = tensor.cast %x : tensor<ROWSx2xf32> to tensor<?x2xf32>
  %y:2 = scf.while (%b = %a, %m = %n) : (tensor<?x2xf32>, tensor<i32>) -> (tensor<?x2xf32>, tensor<i32>) {
    %g = relay.greater %m, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %go = tensor.extract %g[] : tensor<i1>
    %e = relay.exp %b : (tensor<?x2xf32>) -> tensor<?x2xf32>
    scf.condition(%go) %e, %m : tensor<?x2xf32>, tensor<i32>
  } do {
  ^bb0(%c: tensor<?x2xf32>, %m: tensor<i32>):
    %z = scf.while (%d = %c, %l = %m) : (tensor<?x2xf32>, tensor<i32>) -> tensor<?x2xf32> {
      %g = relay.greater %l, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %go = tensor.extract %g[] : tensor<i1>
      scf.condition(%go) %d : tensor<?x2xf32>
    } do {
    ^bb0(%d: tensor<?x2xf32>):
      %t = relay.tuple %d, %x : (tensor<?x2xf32>, tensor<ROWSx2xf32>) -> tuple<tensor<?x2xf32>, tensor<ROWSx2xf32>>
      %f = relay.concatenate %t : (tuple<tensor<?x2xf32>, tensor<ROWSx2xf32>>) -> tensor<?x2xf32>
      scf.yield %f, %zero : tensor<?x2xf32>, tensor<i32>
    }
    %r = relay.negative %z : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %k = relay.subtract %m, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    scf.yield %r, %k : tensor<?x2xf32>, tensor<i32>
  }
  return %y#0, %y#1 : tensor<?x2xf32>, tensor<i32>
}
"""
"""A loop within another, whose conditions hand on something else than what they take."""


@pytest.mark.parametrize("rows", ["3", "?"])
def test_loops_within_loops(tmp_path: Path, rows: str) -> None:
    path = program(tmp_path, WHILE.replace("ROWS", rows))
    model = xrelay.compile(path, cache=False)
    for count in (0, 1, 2, 4):
        check(path, model, {"x": -np.abs(numbers(3, 2)), "n": np.array(count, np.int32)})


def test_all_of_the_results_are_those_of_the_loop(tmp_path: Path) -> None:
    """Also twice, and under the names of inputs: results are no memory of the caller."""
    text = """
func.func @main(%x: tensor<2x2xf32> {onnx.name = "x"}, %go: tensor<i1> {onnx.name = "go"})
    -> (tensor<?x2xf32> {onnx.name = "x"}, tensor<?x2xf32> {onnx.name = "y"}, tensor<i1> {onnx.name = "go"}) {
  %no = relay.constant dense<false> : tensor<i1>
  %a = tensor.cast %x : tensor<2x2xf32> to tensor<?x2xf32>
  %y:2 = scf.while (%b = %a, %g = %go) : (tensor<?x2xf32>, tensor<i1>) -> (tensor<?x2xf32>, tensor<i1>) {
    %c = tensor.extract %g[] : tensor<i1>
    scf.condition(%c) %b, %g : tensor<?x2xf32>, tensor<i1>
  } do {
  ^bb0(%b: tensor<?x2xf32>, %g: tensor<i1>):
    %t = relay.tuple %b, %b : (tensor<?x2xf32>, tensor<?x2xf32>) -> tuple<tensor<?x2xf32>, tensor<?x2xf32>>
    %f = relay.concatenate %t : (tuple<tensor<?x2xf32>, tensor<?x2xf32>>) -> tensor<?x2xf32>
    scf.yield %f, %no : tensor<?x2xf32>, tensor<i1>
  }
  return %y#0, %y#0, %y#1 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<i1>
}
"""
    path = program(tmp_path, text)
    model = xrelay.compile(path, cache=False)
    for going in (False, True):
        inputs = {"x": numbers(2, 2), "go": np.array(going)}
        check(path, model, inputs)
        for array in model.run(inputs).values():
            array[...] = 0
        np.testing.assert_array_equal(inputs["x"], numbers(2, 2))


KEEPS = """
func.func @main(%x: tensor<?x2xf32>, %n: tensor<i64>) -> tensor<?x2xf32> {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %m : i64 to index
  %y = scf.for %i = %none to %end step %one iter_args(%b = %x) -> (tensor<?x2xf32>) {
    %c = relay.add %b, %x : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    scf.yield %c : tensor<?x2xf32>
  }
  return %y : tensor<?x2xf32>
}
"""
DROPS = """
func.func @main(%x: tensor<?x2xf32>, %n: tensor<i64>) -> tensor<?x2xf32> {
  %zero = relay.constant dense<0> : tensor<i64>
  %one = relay.constant dense<1> : tensor<i64>
  %y:2 = scf.while (%m = %n, %a = %x, %b = %x) : (tensor<i64>, tensor<?x2xf32>, tensor<?x2xf32>) -> (tensor<i64>, tensor<?x2xf32>) {
    %g = relay.greater %m, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %go = tensor.extract %g[] : tensor<i1>
    %e = relay.tanh %b : (tensor<?x2xf32>) -> tensor<?x2xf32>
    scf.condition(%go) %m, %e : tensor<i64>, tensor<?x2xf32>
  } do {
  ^bb0(%m: tensor<i64>, %c: tensor<?x2xf32>):
    %d = scf.for %i = %0 to %2 step %1 iter_args(%f = %c) -> (tensor<?x2xf32>) {
      %h = relay.negative %f : (tensor<?x2xf32>) -> tensor<?x2xf32>
      scf.yield %h : tensor<?x2xf32>
    }
    %k = relay.subtract %m, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    scf.yield %k, %d, %c : tensor<i64>, tensor<?x2xf32>, tensor<?x2xf32>
  }
  return %y#1 : tensor<?x2xf32>
}
""".replace(
    "  %zero",
    "  %0 = arith.constant 0 : index\n  %1 = arith.constant 1 : index\n  %2 = arith.constant 2 : index\n  %zero",
    1,
)
"""A loop that gives less than it carries, with another one in it."""
TUPLE = """
func.func @main(%x: tensor<?x2xf32>, %n: tensor<i64>) -> tensor<?x2xf32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %m = tensor.extract %n[] : tensor<i64>
  %end = arith.index_cast %m : i64 to index
  %a = tensor.cast %x : tensor<?x2xf32> to tensor<?x?xf32>
  %p = relay.tuple %a, %x : (tensor<?x?xf32>, tensor<?x2xf32>) -> tuple<tensor<?x?xf32>, tensor<?x2xf32>>
  %y = scf.for %i = %0 to %end step %1 iter_args(%b = %p) -> (tuple<tensor<?x?xf32>, tensor<?x2xf32>>) {
    %c = relay.tuple_get_item %b[0] : (tuple<tensor<?x?xf32>, tensor<?x2xf32>>) -> tensor<?x?xf32>
    %d = relay.tuple_get_item %b[1] : (tuple<tensor<?x?xf32>, tensor<?x2xf32>>) -> tensor<?x2xf32>
    %e = relay.add %c, %d : (tensor<?x?xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %f = relay.tuple %e, %d : (tensor<?x2xf32>, tensor<?x2xf32>) -> tuple<tensor<?x2xf32>, tensor<?x2xf32>>
    %g = relay.tuple_get_item %f[0] : (tuple<tensor<?x2xf32>, tensor<?x2xf32>>) -> tensor<?x2xf32>
    %h = tensor.cast %g : tensor<?x2xf32> to tensor<?x?xf32>
    %q = relay.tuple %h, %d : (tensor<?x?xf32>, tensor<?x2xf32>) -> tuple<tensor<?x?xf32>, tensor<?x2xf32>>
    scf.yield %q : tuple<tensor<?x?xf32>, tensor<?x2xf32>>
  }
  %r = relay.tuple_get_item %y[0] : (tuple<tensor<?x?xf32>, tensor<?x2xf32>>) -> tensor<?x?xf32>
  %s = relay.add %r, %x : (tensor<?x?xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  return %s : tensor<?x2xf32>
}
"""


@pytest.mark.parametrize("text", [KEEPS, DROPS, TUPLE])
@pytest.mark.parametrize("rows", ["?", "3"])
def test_loops_of_known_sizes_are_one_program(tmp_path: Path, text: str, rows: str) -> None:
    """Only what depends on data runs round by round. What is known of the start holds in all rounds."""
    if rows != "?":
        text = text.replace("%x: tensor<?x2xf32>", "%x: tensor<3x2xf32>").replace(
            "{\n", "{\n  %w = tensor.cast %x : tensor<3x2xf32> to tensor<?x2xf32>\n", 1
        )
        head, tail = text.split("to tensor<?x2xf32>\n", 1)
        text = head + "to tensor<?x2xf32>\n" + tail.replace("%x", "%w")
    path = program(tmp_path, text)
    model = xrelay.compile(path, cache=False)
    for length, count in ((1, 2), (3, 0), (4, 5)) if rows == "?" else ((3, 0), (3, 4)):
        check(path, model, {"x": numbers(length, 2), "n": np.array(count, np.int64)})
    if rows == "?":
        # One in stages would be refused.
        assert isinstance(model, DynamicModel)
        assert isinstance(model.specialise({"x": (5, 2), "n": ()}), Model)
    else:
        assert isinstance(model, Model)


@pytest.mark.parametrize(
    ("step", "told"), [("%m", "not a constant"), ("%none", "0"), ("%back", "-1")]
)
def test_steps_are_known_and_forward(tmp_path: Path, step: str, told: str) -> None:
    """As in loops of known sizes: others may not come to their end. The interpreter says so, too."""
    text = COUNTED.replace("TYPE", "i64").replace("END", "%two").replace("STEP", step)
    text = text.replace("%two =", "%back = arith.constant -1 : index\n  %two =", 1).replace(
        "%m", "%end"
    )
    text = text.replace("%end = tensor", "%m = tensor", 1).replace(
        "index_cast %end", "index_cast %m", 1
    )
    path = program(tmp_path, text)
    inputs = {"x": numbers(4), "n": np.array(0), "carried0": np.zeros((1, 1), np.int32)}
    with pytest.raises(DiagnosticException, match=rf"its step is {told}, expected 1 or more"):
        xrelay.compile(path, cache=False).run(inputs)
    with pytest.raises(DiagnosticException, match="its step is .*expected 1 or more"):
        xrelay.interpret(path, inputs)


def test_more_lengths_than_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were used longest ago go, many at once."""
    monkeypatch.setattr(dynamic, "MOST_LENGTHS", 8)
    path = program(tmp_path, KEEPS)
    model = xrelay.compile(path, cache=False)
    for length in (*range(2, 30), 3):
        check(path, model, {"x": numbers(length, 2), "n": np.array(1, np.int64)})
        assert len(model.specialisations) <= 9
    kept = [each.shapes["x"] for each in model.specialisations]
    assert kept[-1] == (3, 2) and len(kept) > 4


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xrelay.tools.cli import main

    path = program(tmp_path, GROWS.replace("ROWS", "2"))
    assert main(["run", str(path), "--verify", "--no-cache"]) == 0
    assert "agrees with the interpreter" in capsys.readouterr().out
    assert main(["compile", str(path), "-o", str(tmp_path / "p.so")]) != 0
    assert "several programs in stages" in capsys.readouterr().err
    assert not (tmp_path / "p.so").exists()


def test_rotated_loops_are_valid_programs() -> None:
    """They verify, and compute the same."""
    for text in (
        WHILE.replace("ROWS", "3"),
        COUNTED.replace("TYPE", "i32").replace("END", "%end").replace("STEP", "%two"),
    ):
        module = Parser(context(), text).parse_module()
        inputs: dict[str, Any] = {"x": -numbers(3, 2), "n": np.array(3, np.int32)}
        if "carried0" in text:
            inputs |= {"x": numbers(4), "carried0": np.ones((1, 1), np.int32)}
        wanted = xrelay.interpret(module, inputs)
        (function,) = module.ops
        loops = [op for op in function.walk() if isinstance(op, scf.WhileOp | scf.ForOp)]
        made = rotated(loops[0])
        assert made is not None and len(made.before_region.block.ops) == 1
        module.verify()
        for name, array in xrelay.interpret(module, inputs).items():
            np.testing.assert_array_equal(array, wanted[name])


BOUND = """func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<?x1xi32> {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = tensor.extract %n[] : tensor<i64>
  %e = arith.index_cast %m : i64 to index
  %end = arith.addi %e, %one : index
  %a = relay.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi32>
  %y = scf.for %i = %none to %end step %one iter_args(%b = %a) -> (tensor<?x1xi32>) {
    %t = relay.tuple %b, %a : (tensor<?x1xi32>, tensor<?x1xi32>) -> tuple<tensor<?x1xi32>, tensor<?x1xi32>>
    %c = relay.concatenate %t : (tuple<tensor<?x1xi32>, tensor<?x1xi32>>) -> tensor<?x1xi32>
    scf.yield %c : tensor<?x1xi32>
  }
  return %y : tensor<?x1xi32>
}
"""
CAPTURED = """func.func @main(%x: tensor<4xf32>, %n: tensor<3xi64>, %c: tensor<i1>) -> (tensor<?x1xi32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = tensor.extract %n[%0] : tensor<3xi64>
  %b = tensor.extract %n[%1] : tensor<3xi64>
  %s = arith.addi %a, %b : i64
  %d = arith.cmpi slt, %a, %s : i64
  %r = scf.if %d -> (tensor<?x1xi32>) {
    %z = tensor.from_elements %s : tensor<i64>
    %f = relay.cast %z {dtype = f32} : (tensor<i64>) -> tensor<f32>
    %g = relay.subtract %x, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %y = relay.argwhere %g : (tensor<4xf32>) -> tensor<?x1xi32>
    scf.yield %y : tensor<?x1xi32>
  } else {
    %y = relay.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi32>
    scf.yield %y : tensor<?x1xi32>
  }
  return %r : tensor<?x1xi32>
}
"""
ELEMENT = """func.func @main(%x: tensor<2x2xf32>, %f: tensor<2xi1>) -> tensor<?x2xf32> {
  %i = arith.constant 1 : index
  %no = arith.constant false
  %go = tensor.extract %f[%i] : tensor<2xi1>
  %a = tensor.cast %x : tensor<2x2xf32> to tensor<?x2xf32>
  %y = scf.while (%g = %go, %b = %a) : (i1, tensor<?x2xf32>) -> tensor<?x2xf32> {
    scf.condition(%g) %b : tensor<?x2xf32>
  } do {
  ^bb0(%b: tensor<?x2xf32>):
    %t = relay.tuple %b, %b : (tensor<?x2xf32>, tensor<?x2xf32>) -> tuple<tensor<?x2xf32>, tensor<?x2xf32>>
    %k = relay.concatenate %t : (tuple<tensor<?x2xf32>, tensor<?x2xf32>>) -> tensor<?x2xf32>
    scf.yield %no, %k : i1, tensor<?x2xf32>
  }
  return %y : tensor<?x2xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (BOUND, [{"n": np.array(n, np.int64)} for n in (-1, 0, 4)]),
        (
            CAPTURED,
            [{"n": np.array(n, np.int64), "c": np.array(True)} for n in ([1, 2, 0], [1, -2, 0])],
        ),
        (ELEMENT, [{"f": np.array(f)} for f in ([True, False], [False, True])]),
    ],
)
def test_numbers_that_are_computed(tmp_path: Path, text: str, inputs: list[dict[str, Any]]) -> None:
    """One program hands them to the next: the end of a loop, what a branch uses, an element as the first condition."""
    path = program(tmp_path, text)
    model = xrelay.compile(path, cache=False)
    x = numbers(2, 2) if "2x2xf32" in text else np.array([0, 1, 3, -1], np.float32)
    for each in inputs:
        check(path, model, {"x": x, **each})


def test_threads_make_stages_once(tmp_path: Path) -> None:
    path = program(tmp_path, GROWS.replace("ROWS", "?"))
    model = xrelay.compile(path, cache=False)
    given = [{"x": numbers(length, 3), "n": np.array(2, np.int32)} for length in range(2, 8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model.run, given))
    for inputs, outputs in zip(given, found, strict=True):
        for name, array in xrelay.interpret(path, inputs).items():
            np.testing.assert_allclose(outputs[name], array, rtol=1e-5)
    programs = {id(each.model) for each in model.specialisations}
    model.run({"x": numbers(9, 3), "n": np.array(2, np.int32)})
    assert programs <= {id(each.model) for each in model.specialisations}


def test_limits_hold_for_stages_of_all_shapes(tmp_path: Path) -> None:
    """A program that is too large for others' models is none of the caller's who asks for it."""
    path = program(tmp_path, GROWS.replace("ROWS", "?"))
    with pytest.raises(DiagnosticException, match="limit"):
        xrelay.compile(path, cache=False, max_nodes=3)


def test_loops_of_what_is_no_tensor_are_refused(tmp_path: Path) -> None:
    """Floats are carried as tensors in Relay; a loop of the text that carries a number of them says so."""
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<?x1xi32> {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %f = arith.constant 1.0 : f32
  %a = relay.argwhere %x : (tensor<4xf32>) -> tensor<?x1xi32>
  %y:2 = scf.for %i = %none to %two step %one iter_args(%b = %a, %g = %f) -> (tensor<?x1xi32>, f32) {
    %h = arith.addf %g, %f : f32
    scf.yield %b, %h : tensor<?x1xi32>, f32
  }
  return %y#0 : tensor<?x1xi32>
}
"""
    with pytest.raises(DiagnosticException, match=r"scf.for .*carries tensors and integers"):
        xrelay.compile(program(tmp_path, text), cache=False).run({"x": numbers(4)})
