"""Programs of the dialect whose branches have sizes that depend on data, or give tensors of different shapes, against the interpreter."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.frontends.relay_text import read_relay_text
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model
from xrelay.runtime.staged import StagedModel
from xrelay.tools.cli import main

RELAY = '#[version = "0.0.5"]\n'
PLACES = """def @main(%c: bool, %x: Tensor[(ROWS, 3), float32]) {
  let %r = if (%c) { let %p = nn.relu(%x); argwhere(%p) } else { argwhere(%x) };
  let %n = cast(%r, dtype="float32");
  (sum(%n, axis=[0]), %r)
}
"""


def check(module: ModuleOp, model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    found, wanted = model.run(inputs), xrelay.interpret(module, inputs)
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        np.testing.assert_allclose(found[name], array, rtol=1e-5)
    return found


def numbers(rows: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-1, 2, (rows, 3)).astype(np.float32)


@pytest.mark.parametrize("rows", ["4", "?"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_condition_is_an_input(rows: str, threads: int) -> None:
    """A program for each branch, also for inputs of any length, whichever comes first."""
    module = read_relay_text(RELAY + PLACES.replace("ROWS", rows))
    model = xrelay.compile(module, threads=threads, cache=False)
    assert isinstance(model, DynamicModel)
    for length, taken in product((4,) if rows == "4" else (1, 2, 5), (True, False, True)):
        _, places = check(
            module, model, {"c": np.array(taken), "x": numbers(length, length)}
        ).values()
        x = numbers(length, length)
        np.testing.assert_array_equal(places, np.argwhere(x > 0 if taken else x))


def test_stages_of_a_branch_serve_all_lengths() -> None:
    """Nothing is compiled for a length that is new."""
    module = read_relay_text(RELAY + PLACES.replace("ROWS", "?"))
    model = xrelay.compile(module, cache=False)
    codes: list[set[int]] = []
    for length in (2, 3, 7):
        for taken in (True, False):
            check(module, model, {"c": np.array(taken), "x": np.ones((length, 3), np.float32)})
        programs = [each.model for each in model.specialisations]
        assert len(set(map(id, programs))) == len(programs)
        codes.append({id(each.code) for each in programs if isinstance(each, Model)})
    assert codes[0] == codes[1] == codes[2]


def test_the_condition_is_computed() -> None:
    """It ends the first stage, of data of which the branches are part, too."""
    text = PLACES.replace("%c: bool, ", "").replace("ROWS", "4")
    start = "let %s = nn.relu(sum(%x));\n let %c = greater(%s, 0f);\n let %r"
    module = read_relay_text(RELAY + text.replace("let %r", start, 1))
    model = xrelay.compile(module, cache=False)
    assert isinstance(model, StagedModel)
    x = np.abs(numbers(4))
    for each in (x, -x, x * 0):
        check(module, model, {"x": each})


SHAPES = """def @main(%c: bool, %d: bool, %x: Tensor[(2, 3), float32]) {
  let %r = if (%c) {
    if (%d) { let %p = argwhere(%x); cast(%p, dtype="float32") } else { reshape(%x, newshape=[1, 6]) }
  } else { reshape(%x, newshape=[3, 2]) };
  let %s = sum(%r, axis=[0]);
  (nn.relu(%s), %x)
}
"""


def test_branches_within_branches_of_different_shapes() -> None:
    module = read_relay_text(RELAY + SHAPES)
    model = xrelay.compile(module, cache=False)
    for c, d in product((True, False), repeat=2):
        check(module, model, {"c": np.array(c), "d": np.array(d), "x": numbers(2)})


CALLS = """
def @f(%c: bool, %x: Tensor[(2, 3), float32]) -> Tensor[(?, 2), int32] {
  if (%c) { argwhere(%x) } else { let %y = negative(%x); argwhere(nn.relu(%y)) }
}
def @main(%c: bool, %x: Tensor[(2, 3), float32]) {
  let %r = @f(%c, %x);
  let %n = logical_not(%c);
  let %m = sum(take(%r, 0, axis=0, mode="clip"));
  let %q = @f(%n, add(%x, cast(%m, dtype="float32")));
  (%r, %q)
}
"""


def test_branches_of_functions_one_after_the_other() -> None:
    """The second one takes what the first one gives, by way of a tensor that each gives of which there is a place at least."""
    module = read_relay_text(RELAY + CALLS)
    model = xrelay.compile(module, cache=False)
    x = np.array([[1, -1, 0], [0, 2, -3]], np.float32)
    for taken in (True, False):
        check(module, model, {"c": np.array(taken), "x": x})


REFERENCES = {
    "behind": "let %p = argwhere(%x); let %r = ref(sum(%p)); let %u = ref_write(%r, add(ref_read(%r), 1000)); ref_read(%r)",
    "beside": "let %r = ref(0); let %p = if (%c) { argwhere(%x) } else { argwhere(nn.relu(%x)) }; "
    "let %u = ref_write(%r, sum(%p)); (ref_read(%r), %p)",
    "within": "if (%c) { let %r = ref(argwhere(%x)); let %u = ref_write(%r, argwhere(nn.relu(%x))); ref_read(%r) } "
    "else { argwhere(%x) }",
}


@pytest.mark.parametrize("name", REFERENCES)
def test_references(name: str) -> None:
    """What is written behind a cut is there."""
    text = f"{RELAY}def @main(%c: bool, %x: Tensor[(4, 3), float32]) {{ {REFERENCES[name]} }}"
    module = read_relay_text(text)
    model = xrelay.compile(module, cache=False)
    for taken in (True, False):
        check(module, model, {"c": np.array(taken), "x": numbers(4)})


def test_stages_of_a_branch_are_no_file(tmp_path: Path) -> None:
    model = xrelay.compile(read_relay_text(RELAY + PLACES.replace("ROWS", "?")), cache=False)
    assert isinstance(model, DynamicModel)
    model.run({"c": np.array(True), "x": numbers(4)})
    with pytest.raises(xrelay.ModelError, match="depend on data, so that it is several programs"):
        model.save(tmp_path / "m.so")


OPEN = """
func.func @main(%c: tensor<i1>, %x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %go = tensor.extract %c[] : tensor<i1>
  %y = scf.if %go -> (tensor<?x3xf32>) {
    %p = relay.nn.relu %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
    scf.yield %p : tensor<?x3xf32>
  } else {
    scf.yield %x : tensor<?x3xf32>
  }
  return %y : tensor<?x3xf32>
}
"""


def test_branches_that_follow_the_inputs_stay(tmp_path: Path) -> None:
    """Of what is open with the shapes of inputs one program has both branches."""
    path = tmp_path / "p.mlir"
    path.write_text(OPEN)
    model = xrelay.compile(path, cache=False)
    assert isinstance(model, DynamicModel)
    for rows, taken in product((2, 5), (True, False)):
        x = numbers(rows)
        (found,) = model.run({"c": np.array(taken), "x": x}).values()
        np.testing.assert_array_equal(found, np.maximum(x, 0) if taken else x)
    assert len(model.specialisations) == 2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.relay"
    path.write_text(RELAY + PLACES.replace("ROWS", "4"))
    assert main(["run", str(path), "--verify", "--no-cache"]) == 0
    assert capsys.readouterr().out.count("agrees with the interpreter") == 2


CONDITION = """
func.func @main(%x: tensor<ROWSx3xf32>, %n: tensor<3xi32>) -> tensor<?x2xi32> {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = tensor.extract %n[%0] : tensor<3xi32>
  %b = tensor.extract %n[%1] : tensor<3xi32>
  %zero = arith.constant 0 : i32
  %p = arith.cmpi sgt, %a, %zero : i32
  %q = arith.cmpi eq, %a, %b : i32
  %true = arith.constant true
  WHAT
  %r = scf.if %c -> (tensor<?x2xi32>) {
    %s = relay.nn.relu %x : (tensor<ROWSx3xf32>) -> tensor<ROWSx3xf32>
    %y = relay.argwhere %s : (tensor<ROWSx3xf32>) -> tensor<?x2xi32>
    scf.yield %y : tensor<?x2xi32>
  } else {
    %y = relay.argwhere %x : (tensor<ROWSx3xf32>) -> tensor<?x2xi32>
    scf.yield %y : tensor<?x2xi32>
  }
  return %r : tensor<?x2xi32>
}
"""


@pytest.mark.parametrize("rows", ["4", "?"])
@pytest.mark.parametrize(
    "what",
    [
        "%c = arith.andi %p, %q : i1",
        "%c = arith.xori %p, %true : i1",
        "%c = arith.cmpi ne, %a, %b : i32",
    ],
)
def test_the_condition_is_arithmetic(tmp_path: Path, rows: str, what: str) -> None:
    """Of elements of a tensor, which one stage hands to the next."""
    path = tmp_path / "p.mlir"
    path.write_text(CONDITION.replace("ROWS", rows).replace("WHAT", what))
    model = xrelay.compile(path, cache=False)
    for seed, given in enumerate(product((0, 1), (0, 1), (5,))):
        inputs = {"x": numbers(4, seed), "n": np.array(given, np.int32)}
        (found,) = model.run(inputs).values()
        (wanted,) = xrelay.interpret(path, inputs).values()
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("what", "taken"),
    [
        ("%c = arith.constant true", True),
        ("%c = arith.constant false", False),
        ("%c = arith.cmpi sgt, %zero, %zero : i32", False),
        ("%d = arith.constant 2147483647 : i32\n %c = arith.cmpi sge, %d, %zero : i32", True),
        ("%d = arith.addi %1, %1 : index\n %c = arith.cmpi eq, %d, %1 : index", False),
        ("%c = arith.xori %true, %true : i1", False),
        ("%d = arith.constant 3 : i32\n %c = arith.cmpi sgt, %d, %zero : i32", True),
    ],
)
def test_the_condition_is_a_constant(tmp_path: Path, what: str, taken: bool) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(CONDITION.replace("ROWS", "4").replace("WHAT", what))
    model = xrelay.compile(path, cache=False)
    for seed in range(3):
        x = numbers(4, seed)
        (found,) = model.run({"x": x, "n": np.zeros(3, np.int32)}).values()
        np.testing.assert_array_equal(found, np.argwhere(x > 0 if taken else x))


@pytest.mark.parametrize(
    "scalar",
    [
        "%d = arith.divsi %zero, %zero : i32\n %c = arith.cmpi sgt, %d, %zero : i32",
        "%d = arith.constant -1 : i32\n %e = arith.shli %d, %d : i32\n %c = arith.cmpi sgt, %e, %zero : i32",
        "%f = arith.constant 1.0 : f32\n %d = arith.addf %f, %f : f32\n %c = arith.cmpf ogt, %d, %f : f32",
        "%i = arith.constant 7 : index\n %d = tensor.extract %n[%i] : tensor<3xi32>\n %c = arith.cmpi sgt, %d, %zero : i32",
    ],
)
def test_a_condition_that_is_not_computed_is_refused(tmp_path: Path, scalar: str) -> None:
    """What has no value, or none that code would compute in the same way."""
    path = tmp_path / "p.mlir"
    path.write_text(CONDITION.replace("ROWS", "4").replace("WHAT", scalar))
    with pytest.raises(DiagnosticException):
        model = xrelay.compile(path, cache=False)
        model.run({"x": numbers(4), "n": np.zeros(3, np.int32)})


TUPLES = """
func.func @main(%t: tuple<tensor<ROWSx3xf32>, tuple<tensor<i1>, tensor<2xf32>>>, %k: tensor<i1>) -> (tensor<?x2xi32>, tensor<2xf32>) {
  %x = relay.tuple_get_item %t[0] : (tuple<tensor<ROWSx3xf32>, tuple<tensor<i1>, tensor<2xf32>>>) -> tensor<ROWSx3xf32>
  %u = relay.tuple_get_item %t[1] : (tuple<tensor<ROWSx3xf32>, tuple<tensor<i1>, tensor<2xf32>>>) -> tuple<tensor<i1>, tensor<2xf32>>
  %n = relay.tuple_get_item %u[0] : (tuple<tensor<i1>, tensor<2xf32>>) -> tensor<i1>
  %a = tensor.extract %n[] : tensor<i1>
  %b = tensor.extract %k[] : tensor<i1>
  %c = arith.ori %a, %b : i1
  %r:2 = scf.if %WHICH -> (tensor<?x2xi32>, tuple<tensor<i1>, tensor<2xf32>>) {
    %y = relay.argwhere %x : (tensor<ROWSx3xf32>) -> tensor<?x2xi32>
    scf.yield %y, %u : tensor<?x2xi32>, tuple<tensor<i1>, tensor<2xf32>>
  } else {
    %e = relay.exp %x : (tensor<ROWSx3xf32>) -> tensor<ROWSx3xf32>
    %y = relay.argwhere %e : (tensor<ROWSx3xf32>) -> tensor<?x2xi32>
    scf.yield %y, %u : tensor<?x2xi32>, tuple<tensor<i1>, tensor<2xf32>>
  }
  %v = relay.tuple_get_item %r#1[1] : (tuple<tensor<i1>, tensor<2xf32>>) -> tensor<2xf32>
  return %r#0, %v : tensor<?x2xi32>, tensor<2xf32>
}
"""


@pytest.mark.parametrize("rows", ["4", "?"])
@pytest.mark.parametrize("which", ["a", "b", "c"])
def test_parameters_are_tuples(tmp_path: Path, rows: str, which: str) -> None:
    """Their tensors are inputs, which have shapes and elements as others do."""
    path = tmp_path / "p.mlir"
    path.write_text(TUPLES.replace("ROWS", rows).replace("WHICH", which))
    model = xrelay.compile(path, cache=False)
    assert [each.name for each in model.signature.inputs] == ["t.0", "t.1", "t.2", "k"]
    for length, first, second in product((4,) if rows == "4" else (2, 4), (0, 1), (0, 1)):
        inputs = {
            "t.0": numbers(length, length),
            "t.1": np.array(first, np.bool_),
            "t.2": np.arange(2, dtype=np.float32),
            "k": np.array(second, np.bool_),
        }
        wanted = xrelay.interpret(path, inputs)
        for name, found in model.run(inputs).items():
            np.testing.assert_array_equal(found, wanted[name])


def test_branches_of_one_shape_at_some_lengths() -> None:
    """Stages serve all lengths; where the shapes are the same, there is one program as well, which runs on arrays of the caller."""
    module = read_relay_text(
        RELAY
        + """def @main(%x: Tensor[(?), float32], %k: Tensor[(4), float32]) {
          let %c = greater(sum(%x), 0f);
          exp(if (%c) { nn.relu(%x) } else { negative(%k) })
        }"""
    )
    inputs = {"x": np.ones(4, np.float32), "k": np.zeros(4, np.float32)}
    model = xrelay.compile(module, cache=False, profile=True)
    assert isinstance(model, DynamicModel)
    (wanted,) = xrelay.interpret(module, inputs).values()
    (found,) = model.run(inputs).values()
    np.testing.assert_allclose(found, wanted, 1e-5)
    assert isinstance(model.specialise({name: each.shape for name, each in inputs.items()}), Model)
    (profiled,) = model.profile(inputs, 1)[0].values()
    np.testing.assert_allclose(profiled, wanted, 1e-5)
    result = np.empty(4, np.float32)
    model.bind(list(inputs.values()), [result]).run()
    np.testing.assert_allclose(result, wanted, 1e-5)
