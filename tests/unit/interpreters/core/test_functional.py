"""What programs with function values, data types, references and explicit memory compute."""

from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from xrelay.compiler import context
from xrelay.frontends.relay_text import print_relay_text, read_relay_text
from xrelay.interpreters.relay import interpret
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.infer_type import InferTypePass

LIST = """
type List[A] { Cons(A, List[A]), Nil }
def @length[A](%l: List[A]) -> int32 {
  match (%l) { Cons(_, %rest) => { 1 + @length(%rest) }, Nil => { 0 } }
}
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %rest) => { Cons(%f(%x), @map(%f, %rest)) }, Nil => { Nil } }
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let %f = fn (%y) { %y * %n }; %f(%f(2))", 2 * 49),
        ("let %add = fn (%a) { fn (%b) { %a - %b } }; %add(1)(%n)", -6),
        (
            """let %f = fn (%i: int32, %a: int32) -> int32 {
                 if (%i == 0) { %a } else { %f(%i - 1, %a * %i) }
               }; %f(5, 1)""",
            120,
        ),
        # A closure keeps the values of the call that made it.
        ("let %make = fn (%a) { fn () { %a } }; let %f = %make(1); let %g = %make(2); %f() - %g()", -1),
        ("let %id = fn [T](%t: T) -> T { %t }; %id(%id)(%n)", 7),
        ("let %r = ref(1); ref_write(%r, ref_read(%r) + %n); ref_read(%r)", 8),
        ("let %r = ref(1); let %f = fn () { ref_write(%r, 3) }; let %u = %f(); ref_read(%r)", 3),
        ("@length(Cons(%n, Cons(2, Nil)))", 2),
        ("match? (@map(fn (%y) { %y + %n }, Cons(1, Nil))) { Cons(%h, Nil) => { %h } }", 8),
        ("let %c = Cons; @length(%c(1, %c(2, Nil)))", 2),
        ("match ((%n, (1, 2))) { (%a, (_, %b)) => { %a - %b } }", 5),
        ("match (Cons(1, Nil)) { Nil => { 1 }, Cons(_, Cons(_, _)) => { 2 }, _ => { 3 } }", 3),
        ("on_device(%n + 1)", 8),
        ("if (%n > 0) { 1 } else { 2 }", 1),
    ],
)  # fmt: skip
def test_programs(text: str, expected: int):
    module = read_relay_text(f"{LIST} def @main(%n: int32) {{ {text} }}")
    module.verify()
    again = read_relay_text(print_relay_text(module))
    graph = read_relay_text(print_relay_text(module))
    ToGraphNormalFormPass().apply(context(), graph)
    graph = read_relay_text(print_relay_text(graph))
    for program in (module, again, graph):
        InferTypePass().apply(context(), program)
        program.verify()
        (result,) = interpret(program, [np.array(7, np.int32)])
        assert result == expected


def test_lets_of_effects_go_without_changing_what_happens():
    text = (
        "let %r = ref(1); let %a = ref_read(%r); ref_write(%r, %n); let %b = ref_read(%r); %b - %a"
    )
    module = read_relay_text(f"def @main(%n: int32) {{ {text} }}")
    ToGraphNormalFormPass().apply(context(), module)
    again = read_relay_text(print_relay_text(module))
    for program in (module, again):
        assert interpret(program, [np.array(7, np.int32)]) == (6,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What is read before the branch is not read within it.
        ("let %r = ref(%a); let %k = ref_read(%r); if (%c) { ref_write(%r, 9); %k } else { 0 }", (3, 0)),
        ("let %r = ref(%a); let %k = ref_read(%r) + 1; if (%c) { ref_write(%r, 9); %k * 2 } else { %k }", (8, 4)),
        (
            """let %r = ref(%a); let %k = ref_read(%r);
               match ((%a, %c)) { (%x, _) => { ref_write(%r, 9); %k + %x } }""",
            (6, 6),
        ),
        # A cell that closures share is made once for each call of what makes the closure.
        ("let %f = @counter(%a); let %u = %f(); let %v = %f(); %f()", (6, 6)),
        ("let %f = @counter(%a); let %g = @counter(9); let %u = %f(); let %v = %g(); (%f() * 100) + %g()", (511, 511)),
        # Calls, too, happen once and where they stand.
        ("let %r = ref(%a); let %k = @next(%r); let %f = fn () { %k }; let %u = %f(); %f() * 10 + ref_read(%r)", (44, 44)),
        ("let %r = ref(%a); let %n = fn () { @next(%r) }; let %k = %n(); if (%c) { %n() * 10 + %k } else { ref_read(%r) }", (54, 4)),
        (
            """let %r = ref(0);
               let %loop = fn (%i: int32) -> int32 {
                 if (%i == 0) { ref_read(%r) } else { ref_write(%r, ref_read(%r) + %i); %loop(%i - 1) }
               };
               %loop(%a)""",
            (6, 6),
        ),
        (
            """let %r = ref(%a); let %k = ref_read(%r);
               let %loop = fn (%i: int32) -> int32 {
                 if (%i == 0) { %k * 10 + ref_read(%r) } else { ref_write(%r, %i); %loop(%i - 1) }
               };
               %loop(%a)""",
            (31, 31),
        ),
    ],
)  # fmt: skip
def test_effects_stay_in_their_scope(text: str, expected: tuple[int, int]):
    module = read_relay_text(
        f"""
        def @next(%r: ref(int32)) -> int32 {{ ref_write(%r, ref_read(%r) + 1); ref_read(%r) }}
        def @counter(%s: int32) -> fn () -> int32 {{ let %r = ref(%s); fn () {{ @next(%r) }} }}
        def @main(%a: int32, %c: bool) -> int32 {{ {text} }}
        """
    )
    again = read_relay_text(print_relay_text(module))
    graph = read_relay_text(print_relay_text(module))
    ToGraphNormalFormPass().apply(context(), graph)
    printed = read_relay_text(print_relay_text(graph))
    for program in (module, again, graph, printed):
        program.verify()
        found = [interpret(program, [np.array(3, np.int32), np.array(c)]) for c in (True, False)]
        assert found == [(result,) for result in expected]


def test_no_clause_matches():
    module = read_relay_text(
        f"{LIST} def @main() {{ match? (Nil) {{ Cons(1, _) => {{ 1 }} }} }}".replace(
            "Cons(1", "Cons(%x: int32"
        )
    )
    with pytest.raises(InterpretationError, match="no clause of a relay.match has a pattern for"):
        interpret(module, [])


def run(body: str, result: str, *inputs: Any, params: str = "") -> Any:
    text = f"relay.type_def @Storage []\nfunc.func @main({params}) -> {result} {{\n{body}\n}}"
    module = Parser(context(), text).parse_module()
    module.verify()
    (found,) = interpret(module, inputs)
    return found


def test_memory():
    body = """
      %size = relay.constant dense<64> : tensor<i64>
      %shape = relay.constant dense<[2, 3]> : tensor<2xi64>
      %storage = relay.memory.alloc_storage %size, %size {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<i64>, tensor<i64>) -> !relay.adt<@Storage, []>
      %offset = relay.constant dense<8> : tensor<i64>
      %0 = relay.memory.alloc_tensor %storage, %offset, %shape {const_shape = dense<[2, 3]> : tensor<2xi64>} : (!relay.adt<@Storage, []>, tensor<i64>, tensor<2xi64>) -> tensor<2x3xf32>
      %1 = relay.memory.kill %storage : (!relay.adt<@Storage, []>) -> tuple<>
      func.return %0 : tensor<2x3xf32>
    """
    found = run(body, "tensor<2x3xf32>")
    assert found.shape == (2, 3) and found.dtype == np.float32


def test_invocation():
    """A function with two results writes both, from the left, also where its operand lies."""
    two = "tuple<tensor<2xf32>, tensor<2xf32>>"
    body = f"""
      %f = relay.closure : !relay.fn<(tensor<2xf32>) -> {two}> {{
      ^bb0(%p: tensor<2xf32>):
        %e = relay.negative %p : (tensor<2xf32>) -> tensor<2xf32>
        %d = relay.add %p, %p : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        %b = relay.tuple %e, %d : (tensor<2xf32>, tensor<2xf32>) -> {two}
        relay.yield %b : {two}
      }}
      %ins = relay.tuple %x : (tensor<2xf32>) -> tuple<tensor<2xf32>>
      %outs = relay.tuple %x, %y : (tensor<2xf32>, tensor<2xf32>) -> {two}
      %done = relay.vm.invoke_tvm_op %f, %ins, %outs : (!relay.fn<(tensor<2xf32>) -> {two}>, tuple<tensor<2xf32>>, {two}) -> tuple<>
      func.return %done : tuple<>
    """
    x, y = np.array([1, 2], np.float32), np.zeros(2, np.float32)
    assert run(body, "tuple<>", x, y, params="%x: tensor<2xf32>, %y: tensor<2xf32>") == ()
    assert x.tolist() == [-1, -2] and y.tolist() == [2, 4]


def test_virtual_machine():
    body = """
      %0 = relay.vm.shape_of %x {dtype = i32} : (tensor<?x2xf32>) -> tensor<2xi32>
      %1 = relay.constant dense<[2, 3]> : tensor<2xi64>
      %2 = relay.vm.reshape_tensor %x, %1 {newshape = array<i64: 2, 3>} : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<2x3xf32>
      %3 = relay.tuple %0, %2 : (tensor<2xi32>, tensor<2x3xf32>) -> tuple<tensor<2xi32>, tensor<2x3xf32>>
      func.return %3 : tuple<tensor<2xi32>, tensor<2x3xf32>>
    """
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    shape, moved = run(
        body, "tuple<tensor<2xi32>, tensor<2x3xf32>>", x, params="%x: tensor<?x2xf32>"
    )
    assert shape.tolist() == [3, 2] and shape.dtype == np.int32
    assert np.array_equal(moved, x.reshape(2, 3))
