"""Passes on functions as values, in programs that few other tests have: whole results, and messages in full."""

import pytest
from guards.passes import passes_of
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, TupleType, f32
from xdsl.dialects.test import TestOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from xrelay.compiler import context
from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.transforms.derivatives.terms import Term
from xrelay.transforms.functional.first_order_gradient import added, as_gradient
from xrelay.transforms.memory.annotate_memory_scope import texture_of
from xrelay.transforms.rules.functional.atoms import settle_atoms
from xrelay.transforms.rules.rewriting import Emitter

T = "tensor<2xf32>"
SAME = f"!relay.fn<({T}) -> {T}>"
ANY = '!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>>'
LITERAL = f"""%f = relay.closure attributes {{type_params = ["A"]}} : {ANY} {{
    ^bb0(%a: !relay.type_var<"A">):
      relay.yield %a : !relay.type_var<"A">
    }}"""


def parsed(text: str) -> ModuleOp:
    return Parser(context(), text).parse_module()


def main(*lines: str, params: str = f"%x: {T}", result: str = T, returned: str = "%r") -> str:
    """The function @main of some lines."""
    body = "\n".join(lines)
    return (
        f"func.func @main({params}) -> {result} {{\n{body}\nfunc.return {returned} : {result}\n}}"
    )


def after(spec: str, text: str) -> ModuleOp:
    """What a pass makes of a program."""
    module = parsed(text)
    (step,) = passes_of(spec)
    step.apply(Context(), module)
    return module


def refusal(spec: str, text: str) -> str:
    with pytest.raises(DiagnosticException) as found:
        after(spec, text)
    return str(found.value)


DATA = "!relay.adt<@Function0, []>"
AS_DATA = (
    'relay.type_def @Function0 [] [#relay.constructor<"Function0_0", []>]\n'
    + main(
        f"%f = relay.construct @Function0::@Function0_0() : () -> {DATA}",
        f"%r = func.call @apply0(%f, %x) : ({DATA}, {T}) -> {T}",
    )
    + f"""func.func private @code0(%a: {T}) -> {T} {{
      func.return %a : {T}
    }}
    func.func private @apply0(%0: {DATA}, %1: {T}) -> {T} {{
      %2 = relay.match %0 [#relay.constructor_pattern<@Function0::@Function0_0, []>] attributes {{complete}} : ({DATA}) -> {T} {{
        %3 = func.call @code0(%1) : ({T}) -> {T}
        relay.yield %3 : {T}
      }}
      func.return %2 : {T}
    }}"""
)
CHANGED: dict[str, tuple[str, str, str]] = {
    "a tensor whose type an extraction knows better": (
        "infer-type",
        main(
            "%c0 = arith.constant 0 : index",
            "%y = relay.negative %x : (tensor<2xi64>) -> tensor<?xi64>",
            "%e = tensor.extract %y[%c0] : tensor<?xi64>",
            "%r = relay.negative %y : (tensor<?xi64>) -> tensor<?xi64>",
            params="%x: tensor<2xi64>",
            result="tensor<?xi64>",
        ),
        main(
            "%c0 = arith.constant 0 : index",
            "%y = relay.negative %x : (tensor<2xi64>) -> tensor<2xi64>",
            "%e = tensor.extract %y[%c0] : tensor<2xi64>",
            "%r = relay.negative %y : (tensor<2xi64>) -> tensor<2xi64>",
            params="%x: tensor<2xi64>",
            result="tensor<2xi64>",
        ),
    ),
    "a tensor that others take as it was stated": (
        "infer-type",
        main(
            f"%y = relay.negative %x : ({T}) -> tensor<?xf32>",
            '%z = "test.op"(%y) : (tensor<?xf32>) -> tensor<?xf32>',
            f"%r = relay.negative %x : ({T}) -> {T}",
        ),
        main(
            f"%y = relay.negative %x : ({T}) -> {T}",
            f"%c = tensor.cast %y : {T} to tensor<?xf32>",
            '%z = "test.op"(%c) : (tensor<?xf32>) -> tensor<?xf32>',
            f"%r = relay.negative %x : ({T}) -> {T}",
        ),
    ),
    "a tuple that others take as it was stated": (
        "infer-type",
        main(
            f"%y = relay.negative %x : ({T}) -> tensor<?xf32>",
            "%t = relay.tuple %y : (tensor<?xf32>) -> tuple<tensor<?xf32>>",
            '"test.op"(%t) : (tuple<tensor<?xf32>>) -> ()',
            returned="%x",
        ),
        main(
            f"%y = relay.negative %x : ({T}) -> {T}",
            f"%t = relay.tuple %y : ({T}) -> tuple<{T}>",
            f"%c = tensor.cast %y : {T} to tensor<?xf32>",
            "%u = relay.tuple %c : (tensor<?xf32>) -> tuple<tensor<?xf32>>",
            '"test.op"(%u) : (tuple<tensor<?xf32>>) -> ()',
            returned="%x",
        ),
    ),
    "a recursive literal for a compiler": (
        "outline-compiler-functions{compiler=a}",
        main(
            f"""%f = relay.closure attributes {{Compiler = "a", recursive}} : {SAME} {{
            ^bb0(%self: {SAME}, %p: {T}):
              %e = relay.apply %self(%p) : ({SAME}, {T}) -> {T}
              relay.yield %e : {T}
            }}""",
            f"%r = relay.apply %f(%x) : ({SAME}, {T}) -> {T}",
        ),
        "",
    ),
    "a literal for a compiler as a value": (
        "outline-compiler-functions{compiler=a}",
        main(
            f"""%f = relay.closure attributes {{Compiler = "a", global_symbol = "g"}} : {SAME} {{
            ^bb0(%p: {T}):
              %e = relay.exp %p : ({T}) -> {T}
              relay.yield %e : {T}
            }}""",
            f"%r = relay.let %f : ({SAME}) -> {SAME}",
            result=SAME,
        ),
        main(
            f"%g = relay.global_var @g : {SAME}",
            f"%r = relay.let %g : ({SAME}) -> {SAME}",
            result=SAME,
        )
        + f"""func.func private @g(%p: {T}) -> {T} attributes {{Compiler = "a", global_symbol = "g"}} {{
          %e = relay.exp %p : ({T}) -> {T}
          func.return %e : {T}
        }}""",
    ),
    "a literal of any type, called": (
        "defunctionalization",
        main(LITERAL, f"%r = relay.apply %f(%x) : ({ANY}, {T}) -> {T}"),
        AS_DATA,
    ),
    "a literal of any type, named and called": (
        "defunctionalization",
        main(
            LITERAL,
            f"%n = relay.let %f : ({ANY}) -> {ANY}",
            f"%r = relay.apply %n(%x) : ({ANY}, {T}) -> {T}",
        ),
        AS_DATA,
    ),
    "a function that is nowhere": (
        "defunctionalization",
        main(f"%r = func.call @nowhere(%x) : ({T}) -> {T}"),
        "",
    ),
    "data that are nowhere": (
        "defunctionalization",
        main(
            params="%x: !relay.adt<@Nowhere, []>", result="!relay.adt<@Nowhere, []>", returned="%x"
        ),
        "",
    ),
    "a literal that is called at another type": (
        "outline-closures",
        main(
            f"""%f = relay.closure : {SAME} {{
            ^bb0(%p: {T}):
              relay.yield %p : {T}
            }}""",
            f"%r = relay.apply %f(%x) : ({SAME}, {T}) -> tensor<?xf32>",
            result="tensor<?xf32>",
        ),
        "",
    ),
    "a literal that is a value as well": (
        "outline-closures",
        main(
            f"""%f = relay.closure : {SAME} {{
            ^bb0(%p: {T}):
              relay.yield %p : {T}
            }}""",
            f"%t = relay.tuple %f : ({SAME}) -> tuple<{SAME}>",
            f"%r = relay.apply %f(%x) : ({SAME}, {T}) -> {T}",
        ),
        "",
    ),
}

SOME = "tensor<?xf32>"
OPEN = f"!relay.fn<({SOME}) -> {SOME}>"
FAR = f"func.func private @far({SOME}) -> {SOME}"
CHANGED["an argument that a call takes as it states"] = (
    "partial-eval",
    main(
        f"""%f = relay.closure : {OPEN} {{
        ^bb0(%p: {SOME}):
          %o = func.call @far(%p) : ({SOME}) -> {SOME}
          relay.yield %o : {SOME}
        }}""",
        f"%r = relay.apply %f(%x) : ({OPEN}, {T}) -> {SOME}",
        result=SOME,
    )
    + FAR,
    main(
        f"""%0 = relay.closure : {OPEN} {{
        ^bb0(%p: {SOME}):
          %o = func.call @far(%p) : ({SOME}) -> {SOME}
          %q = relay.let %o : ({SOME}) -> {SOME}
          relay.yield %q : {SOME}
        }}
        %f = relay.let %0 : ({OPEN}) -> {OPEN}""",
        f"%1 = tensor.cast %x : {T} to {SOME}",
        f"%2 = func.call @far(%1) : ({SOME}) -> {SOME}",
        f"%r = relay.let %2 : ({SOME}) -> {SOME}",
        result=SOME,
    )
    + FAR,
)
CHANGED["a literal that does not call itself in the end"] = (
    "partial-eval",
    main(
        f"""%k = relay.closure attributes {{recursive}} : {SAME} {{
        ^bb0(%self: {SAME}, %p: {T}):
          %no = relay.constant dense<false> : tensor<i1>
          %c = tensor.extract %no[] : tensor<i1>
          %q = scf.if %c -> ({T}) {{
            %e = relay.apply %self(%p) : ({SAME}, {T}) -> {T}
            scf.yield %e : {T}
          }} else {{
            scf.yield %p : {T}
          }}
          relay.yield %q : {T}
        }}""",
        f"%r = relay.let %k : ({SAME}) -> {SAME}",
        result=SAME,
    ),
    main(
        f"""%k = relay.closure : {SAME} {{
        ^bb0(%p: {T}):
          %no = relay.constant dense<false> : tensor<i1>
          %named = relay.let %no : (tensor<i1>) -> tensor<i1>
          relay.yield %p : {T}
        }}""",
        f"%r = relay.let %k : ({SAME}) -> {SAME}",
        result=SAME,
    ),
)


def moved(name: str) -> str:
    """The function that an exponential goes to."""
    return f"""func.func private @{name}(%p: {T}) -> {T} {{
      %e = relay.exp %p : ({T}) -> {T}
      func.return %e : {T}
    }}"""


TAKEN = f"func.func private @default_main_0(%p: {T}) -> {T} {{ func.return %p : {T} }}"
CHANGED["a name that is taken"] = (
    "outline-default-regions",
    main(f"%r = relay.exp %x : ({T}) -> {T}") + TAKEN,
    main(f"%r = func.call @default_main_1(%x) : ({T}) -> {T}") + TAKEN + moved("default_main_1"),
)
KERNEL = f"""%k = relay.fused %x : ({T}) -> {T} {{
    ^bb0(%p: {T}):
      %e = relay.exp %p : ({T}) -> {T}
      relay.yield %e : {T}
    }}
    %r = relay.fused %k attributes {{reshape_only}} : ({T}) -> tensor<?x1xf32> {{
    ^bb0(%q: {T}):
      %s = relay.reshape %q {{newshape = array<i64: -1, 1>}} : ({T}) -> tensor<?x1xf32>
      relay.yield %s : tensor<?x1xf32>
    }}"""
CHANGED["a view of unknown shape"] = (
    "remove-standalone-reshapes",
    main(KERNEL, result="tensor<?x1xf32>"),
    "",
)


@pytest.mark.parametrize("name", CHANGED)
def test_programs(name: str) -> None:
    """The whole program; one without an expected one stays as it is."""
    spec, text, expected = CHANGED[name]
    found = after(spec, text)
    wanted = parsed(expected or text)
    assert found.is_structurally_equivalent(wanted), f"{found}\n{wanted}"


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        (
            "defunctionalization",
            main(LITERAL, f"%t = relay.tuple %f : ({ANY}) -> tuple<{ANY}>", returned="%x"),
            "relay.tuple %t: operand 0 is a function with type parameters, expected one of certain types",
        ),
        (
            "infer-type",
            main(
                f"""%f = relay.closure : !relay.fn<({T}) -> tensor<?xf32>> {{
                ^bb0(%a: {T}):
                  %y = relay.negative %a : ({T}) -> tensor<?xf32>
                  relay.yield %y : tensor<?xf32>
                }}""",
                f'"test.op"(%f) : (!relay.fn<({T}) -> tensor<?xf32>>) -> ()',
                returned="%x",
            ),
            f"relay.closure %f: its type becomes {SAME}, but test.op uses it as !relay.fn<({T}) -> tensor<?xf32>>",
        ),
    ],
)
def test_refusals(spec: str, text: str, message: str) -> None:
    assert refusal(spec, text) == message


def test_gradients_of_tuples() -> None:
    """A tuple of gradients for a tuple; none for what has no floating point."""
    types = [TensorType(f32, [2]), TupleType((TensorType(f32, [2]), TensorType(f32, [3])))]
    number, pair = TestOp(result_types=types).results
    emit = Emitter()
    one, fields = as_gradient(number, emit), as_gradient(pair, emit)
    assert isinstance(one, Term)
    assert one.value is number
    assert isinstance(fields, tuple)
    found: list[tuple[object, int]] = []
    for field in fields:
        assert isinstance(field, Term)
        owner = field.value.owner
        assert isinstance(owner, TupleGetItemOp)
        found.append((owner.tuple_value, owner.index.value.data))
    assert found == [(pair, 0), (pair, 1)]
    for both in ((one, fields), (fields, one)):
        with pytest.raises(
            ValueError, match="^a tensor and a tuple are no gradients of one value$"
        ):
            added(*both, emit)
    assert added(None, one, emit) is one
    assert added(one, None, emit) is one


@pytest.mark.parametrize(
    ("shape", "limit", "scope"),
    [
        ((1, 8, 5, 6, 4), 31, "global.texture-nhwc"),
        ((1, 8, 5, 6, 4), 30, None),
        ((60, 2, 5, 6, 4), 100, "global.texture-weight"),
        ((2, 3, 5, 7, 4), 100, "global.texture"),
        ((2, 4, 1, 3, 4), 100, "global.texture-nhwc"),
        ((1, 8, 5, 6, 4), 6, None),
        ((1, 8, 5, 6, 2), 100, None),
        ((8, 5, 6, 4), 100, None),
        ((1, DYNAMIC_INDEX, 5, 6, 4), 100, None),
    ],
)
def test_textures(shape: tuple[int, ...], limit: int, scope: str | None) -> None:
    """Tensors with blocks of four, split where both parts are most alike and below the limit."""
    assert texture_of(TensorType(f32, shape), limit) == scope


def test_what_is_no_tensor_is_no_texture() -> None:
    assert texture_of(TupleType((TensorType(f32, [1, 8, 5, 6, 4]),)), 100) is None


ATOMS = """
func.func @main(%x: tensor<2xf32>, %p: tensor<index>, %t: tensor<3xi64>) -> tensor<i64> {
  %place = tensor.extract %p[] : tensor<index>
  %unused = tensor.extract %p[] : tensor<index>
  %one = tensor.extract %t[%place] : tensor<3xi64>
  %other = tensor.extract %t[%place] : tensor<3xi64>
  %a = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = tensor.from_elements %one : tensor<i64>
  %c = relay.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %d = tensor.from_elements %other : tensor<i64>
  func.return %d : tensor<i64>
}"""


def test_atoms_stand_before_what_needs_them_first() -> None:
    """Each in front of its first user, and what an atom needs in front of the first of these; unused ones go."""
    module = parsed(ATOMS)
    module.verify()
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    settle_atoms(function)
    module.verify()
    names = [value.name_hint for op in function.body.block.ops for value in op.results]
    assert names == ["a", "place", "one", "b", "c", "other", "d"]
