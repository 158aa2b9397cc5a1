"""
Programs with data types, and with functions that are values: machine code computes what the interpreter does. The functions are
those of Relay's prelude (`std/prelude.rly`), written anew.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.compiler import context
from xrelay.errors import CompileError
from xrelay.frontends.relay_text import read_relay_text
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Model
from xrelay.runtime.signature import FAILING_VERSION

PRELUDE = """
type List[A] { Cons(A, List[A]), Nil, }
type Option[A] { Some(A), None, }
type Either[A, B] { Left(A), Right(B), }
type Tree[A] { Rose(A, List[Tree[A]]), }
def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil, }
}
def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %xs: List[B]) -> A {
  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc, }
}
def @foldr[A, B](%f: fn (A, B) -> B, %end: B, %xs: List[A]) -> B {
  match (%xs) { Cons(%x, %rest) => %f(%x, @foldr(%f, %end, %rest)), Nil => %end, }
}
def @filter[A](%f: fn (A) -> bool, %xs: List[A]) -> List[A] {
  match (%xs) { Cons(%x, %rest) => if (%f(%x)) { Cons(%x, @filter(%f, %rest)) } else { @filter(%f, %rest) }, Nil => Nil, }
}
def @zip[A, B](%as: List[A], %bs: List[B]) -> List[(A, B)] {
  match ((%as, %bs)) { (Cons(%a, %ra), Cons(%b, %rb)) => Cons((%a, %b), @zip(%ra, %rb)), _ => Nil, }
}
def @rev[A](%xs: List[A]) -> List[A] {
  @foldl(fn (%acc: List[A], %x: A) -> List[A] { Cons(%x, %acc) }, Nil, %xs)
}
def @length[A](%xs: List[A]) -> int32 { match (%xs) { Cons(_, %rest) => add(1, @length(%rest)), Nil => 0, } }
def @hd[A](%xs: List[A]) -> A { match? (%xs) { Cons(%x, _) => %x, } }
def @tl[A](%xs: List[A]) -> List[A] { match? (%xs) { Cons(_, %rest) => %rest, } }
def @nth[A](%xs: List[A], %n: int32) -> A {
  if (equal(%n, 0)) { @hd(%xs) } else { @nth(@tl(%xs), subtract(%n, 1)) }
}
def @unfold[A, B](%f: fn (A) -> Option[(A, B)], %s: A, %acc: List[B]) -> List[B] {
  match (%f(%s)) { Some(%pair) => @unfold(%f, %pair.0, Cons(%pair.1, %acc)), None => %acc, }
}
def @iterate[A](%f: fn (A) -> A, %n: int32) -> fn (A) -> A {
  if (equal(%n, 0)) { fn (%x: A) -> A { %x } }
  else { let %g = @iterate(%f, subtract(%n, 1)); fn (%x: A) -> A { %f(%g(%x)) } }
}
def @grow(%x: T, %n: int32) -> Tree[T] {
  if (equal(%n, 0)) { Rose(%x, Nil) }
  else { let %m = subtract(%n, 1); Rose(%x, Cons(@grow(exp(%x), %m), Cons(@grow(negative(%x), %m), Nil))) }
}
def @size(%t: Tree[T]) -> T { match (%t) { Rose(%x, %parts) => add(%x, @sizes(%parts)), } }
def @sizes(%ts: List[Tree[T]]) -> T {
  match (%ts) { Cons(%t, %rest) => add(multiply(@size(%t), 0.5f), @sizes(%rest)), Nil => zeros(shape=[2], dtype="float32"), }
}
def @build(%i: int32, %n: int32, %x: T, %l: List[T]) -> List[T] {
  if (less(%i, %n)) { @build(add(%i, 1), %n, add(%x, 1f), Cons(%x, %l)) } else { %l }
}
def @total(%x: T, %l: List[T]) -> T {
  @foldl(fn (%a: T, %b: T) -> T { add(multiply(%a, 0.5f), %b) }, %x, %l)
}
"""
TENSOR = "Tensor[(2), float32]"


def program(body: str, result: str = "T") -> ModuleOp:
    """The program whose function @main has a list of `%n` tensors that begin with `%x`."""
    text = f"{PRELUDE}def @main(%x: T, %n: int32) -> {result} {{ let %l = @build(0, %n, %x, Nil); {body} }}"
    return read_relay_text(re.sub(r"\bT\b(?!ensor)", TENSOR, text))


def inputs(count: int) -> dict[str, Any]:
    return {"x": np.array([0.5, 0.25], np.float32), "n": np.array(count, np.int32)}


def check(model: Any, module: ModuleOp, count: int) -> None:
    """The model computes what the interpreter does, or both say that there is no clause."""
    try:
        expected = xrelay.interpret(module, inputs(count))
    except CompileError as error:
        with pytest.raises(ModelError, match="no clause of a relay.match has a pattern for Nil"):
            model.run(inputs(count))
        assert "no clause" in str(error)
        return
    found = model.run(inputs(count))
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape
        np.testing.assert_allclose(found[name], array, 1e-4, 1e-5)


LISTS = {
    "map": "@total(%x, @map(fn (%a: T) -> T { multiply(%a, %x) }, %l))",
    "foldr": "@foldr(fn (%a: T, %b: T) -> T { subtract(%a, multiply(%b, 0.5f)) }, %x, %l)",
    "filter": "@total(%x, @filter(fn (%a: T) -> bool { less(sum(%a), 5f) }, %l))",
    "zip": "@foldl(fn (%a: T, %b: (T, T)) -> T { add(%a, multiply(%b.0, %b.1)) }, %x, @zip(%l, @rev(%l)))",
    "unfold": """@total(%x, @unfold(fn (%s: int32) -> Option[(int32, T)] {
      if (less(%s, %n)) { Some((add(%s, 1), multiply(%x, cast(%s, dtype="float32")))) } else { None } }, 0, Nil))""",
    "iterate": "let %f = @iterate(fn (%a: T) -> T { sin(%a) }, %n); %f(%x)",
    "lists of lists": """@foldl(fn (%a: T, %q: List[T]) -> T { @total(%a, %q) }, %x,
      @map(fn (%a: T) -> List[T] { Cons(%a, Cons(exp(%a), %l)) }, %l))""",
    "lists of functions": """@foldl(fn (%a: T, %f: fn (T) -> T) -> T { %f(%a) }, %x,
      @map(fn (%a: T) -> fn (T) -> T { fn (%b: T) -> T { subtract(%b, %a) } }, %l))""",
    "patterns in patterns": """match (%l) { Cons(%a, Cons(%b, Cons(%c, Nil))) => add(%a, multiply(%b, %c)),
      Cons(%a, Cons(%b, _)) => subtract(%a, %b), Cons(%a, Nil) => exp(%a), Nil => %x, }""",
    "trees": "@size(@grow(%x, %n))",
}


@pytest.mark.parametrize("name", LISTS)
def test_values_of_any_size(name: str) -> None:
    module = program(LISTS[name])
    model = xrelay.compile(module, cache=False)
    for count in (3, 0, 1, 4):
        check(model, module, count)


def test_lists_end() -> None:
    """A clause that is not there ends the run, and the next one is as before."""
    module = program("(@nth(%l, 2), @length(%l))", f"({TENSOR}, int32)")
    model = xrelay.compile(module, cache=False, threads=2)
    for count in (5, 2, 0, 3):
        check(model, module, count)


def test_nothing_is_compiled_for_longer_lists() -> None:
    """However long they are: the programs of rounds serve all lengths."""
    module = program(LISTS["map"])
    model = xrelay.compile(module, cache=False)
    codes: list[set[int]] = []
    for count in (3, 20):
        check(model, module, count)
        programs = (each.model for each in model.specialisations)
        codes.append({id(each.code) for each in programs if isinstance(each, Model)})
    assert codes[0] == codes[1]


FIXED = {
    "an option": "match (if (less(%n, 3)) { Some(exp(%x)) } else { None }) { Some(%y) => %y, None => %x, }",
    "either of two types": """match (if (less(%n, 3)) { Left(%x) } else { Right(%n) }) {
      Left(%a) => exp(%a), Right(%k) => multiply(%x, cast(%k, dtype="float32")), }""",
    "a function": """let %f = if (less(%n, 3)) { fn (%a: T) -> T { exp(%a) } } else { fn (%a: T) -> T { multiply(%a, %x) } };
      %f(%x)""",
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", FIXED)
def test_values_of_one_size(name: str, threads: int) -> None:
    """Where branches decide, there is one program."""
    module = program(FIXED[name])
    model = xrelay.compile(module, cache=False, threads=threads)
    assert isinstance(model, Model)
    for count in (2, 3):
        check(model, module, count)


def test_clauses_that_nothing_reaches() -> None:
    body = "match (%l) { _ => %x, Cons(%a, %r) => match (%r) { Cons(%b, _) => @total(%x, Cons(%a, Cons(%b, %r))), Nil => %a, }, }"
    module = program(body)
    model = xrelay.compile(module, cache=False)
    for count in (0, 3):
        check(model, module, count)


def test_types_that_hold_themselves_at_larger_types() -> None:
    text = f"""type N[A] {{ Z(A), S(N[(A, A)]), }}
def @main(%x: {TENSOR}, %n: int32) -> {TENSOR} {{
  let %m = if (less(%n, 2)) {{ Z(%x) }} else {{ S(Z((%x, %x))) }};
  match (%m) {{ Z(%a) => %a, S(_) => exp(%x), }}
}}"""
    with pytest.raises(
        DiagnosticException, match="@N holds itself at ever larger types.*--interpret"
    ):
        xrelay.compile(read_relay_text(text), cache=False)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_failure_is_told(threads: int) -> None:
    text = """func.func @main(%c: tensor<i1>) -> tensor<f32> {
      %b = tensor.extract %c[] : tensor<i1>
      %r = scf.if %b -> (tensor<f32>) {
        %f = relay.fail "the first" : tensor<f32>
        %g = relay.fail "the second" : tensor<f32>
        %s = relay.add %f, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
        scf.yield %s : tensor<f32>
      } else {
        %f = relay.fail "another" : tensor<f32>
        scf.yield %f : tensor<f32>
      }
      return %r : tensor<f32>
    }"""
    model = xrelay.compile(Parser(context(), text).parse_module(), cache=False, threads=threads)
    for value, message in ((True, "the first$"), (False, "another$")):
        with pytest.raises(ModelError, match=message):
            model.run({model.signature.inputs[0].name: np.array(value)})


@pytest.mark.parametrize("threads", [1, 2])
def test_programs_that_end_say_so_in_files(tmp_path: Path, threads: int) -> None:
    module = program(
        "match? (if (less(%n, 3)) { Some(exp(%x)) } else { None }) { Some(%y) => %y, }"
    )
    model = xrelay.compile(module, cache=False, threads=threads)
    path = tmp_path / "model.so"
    model.save(path)
    message = "no clause of a relay.match has a pattern for None"
    # Versions before that do not know of failures refuse it.
    assert json.loads(model.signature.to_json())["format"] == FAILING_VERSION
    assert f"2: {message}" in path.with_suffix(".h").read_text()
    for each in (model, xrelay.load(path)):
        np.testing.assert_allclose(each.run(inputs(1))["output0"], np.exp(inputs(1)["x"]), 1e-6)
        with pytest.raises(ModelError, match=message):
            each.run(inputs(3))
        np.testing.assert_allclose(each.run(inputs(2))["output0"], np.exp(inputs(2)["x"]), 1e-6)


def test_rows_have_known_dimensions() -> None:
    text = f"""{PRELUDE}
def @last(%l: List[Tensor[(?), float32]], %x: Tensor[(?), float32]) -> Tensor[(?), float32] {{
  match (%l) {{ Cons(%y, %rest) => @last(%rest, %y), Nil => %x, }}
}}
def @grown(%n: int32, %x: Tensor[(?), float32], %l: List[Tensor[(?), float32]]) -> List[Tensor[(?), float32]] {{
  if (less(%n, 1)) {{ %l }} else {{ @grown(subtract(%n, 1), concatenate((%x, %x)), Cons(%x, %l)) }}
}}
def @main(%x: Tensor[(?), float32], %n: int32) -> Tensor[(?), float32] {{ @last(@grown(%n, %x, Nil), %x) }}"""
    module = read_relay_text(re.sub(r"\bT\b(?!ensor)", TENSOR, text))
    with pytest.raises(
        DiagnosticException,
        match=r"Cons has tensor<\?xf32>, expected known dimensions.*--interpret",
    ):
        xrelay.compile(module, cache=False).run(inputs(2))
