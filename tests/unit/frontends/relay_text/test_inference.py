"""Types that Relay text leaves out."""

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, f32, i8

from xrelay.dialects.core.functional import FnType, ForallType, TypeVarType
from xrelay.frontends.relay_text import RelayTextError, read_relay_text
from xrelay.frontends.relay_text.types import Type, substituted

LIST = "type List[A] { Cons(A, List[A]), Nil }\n"


def read(text: str) -> ModuleOp:
    module = read_relay_text(text)
    module.verify()
    return module


def types(text: str) -> list[str]:
    """The types of the functions of a module."""
    return [str(op.function_type) for op in read(text).walk() if isinstance(op, func.FuncOp)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def @f(%x: float32) { %x }", ["(tensor<f32>) -> tensor<f32>"]),
        ("def @f(%x: Tensor[(?, 2i64), int8]) { %x }", ["(tensor<?x2xi8>) -> tensor<?x2xi8>"]),
        # Results of functions that are defined later, and of ones that call each other.
        (
            "def @f() { @g(1) } def @g(%x: int32) { (%x, @h()) } def @h() { True }",
            [
                "() -> tuple<tensor<i32>, tensor<i1>>",
                "(tensor<i32>) -> tuple<tensor<i32>, tensor<i1>>",
                "() -> tensor<i1>",
            ],
        ),
        (
            """def @even(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }
               def @odd(%n: int32) { if (%n == 0) { False } else { @even(%n - 1) } }""",
            ["(tensor<i32>) -> tensor<i1>"] * 2,
        ),
        # Parameters, from arguments and from other uses.
        ("def @f() { @g(1.5f) } def @g(%x) { exp(%x) }", ["() -> tensor<f32>", "(tensor<f32>) -> tensor<f32>"]),
        ("def @f(%c) -> int32 { if (%c) { 1 } else { 2 } }", ["(tensor<i1>) -> tensor<i32>"]),
        ("def @f(%a, %b: int8) { if (True) { %a } else { %b } }", ["(tensor<i8>, tensor<i8>) -> tensor<i8>"]),
        ("def @f(%t) -> int32 { let %p = (%t, (1, %t)); %p.1.1 }", ["(tensor<i32>) -> tensor<i32>"]),
        ("def @f(%r) { ref_write(%r, 1); ref_read(%r) }", ["(!relay.ref<tensor<i32>>) -> tensor<i32>"]),
        # Functions as values; the operator within runs when its operand is known, later.
        ("def @f() { let %g = fn (%x) { exp(%x) }; %g(1f) }", ["() -> tensor<f32>"]),
        ("def @f() { (fn (%g, %x) { %g(%g(%x)) })(fn (%y) { -1f * %y }, 2f) }", ["() -> tensor<f32>"]),
        ("def @f() { @g } def @g(%x: int8) { %x }", ["() -> !relay.fn<(tensor<i8>) -> tensor<i8>>", "(tensor<i8>) -> tensor<i8>"]),
        # Recursion through let.
        (
            """def @f(%n: int32) { let %sum = fn (%i, %s) {
                 if (%i == 0) { %s } else { %sum(%i - 1, %s + %i) }
               }; %sum(%n, 0) }""",
            ["(tensor<i32>) -> tensor<i32>"],
        ),
        # Type parameters: a different type at each use.
        (
            "def @id[A](%x: A) -> A { %x } def @f() { (@id(1), @id(True), @id(@id)(1f)) }",
            [
                '(!relay.type_var<"A">) -> !relay.type_var<"A">',
                "() -> tuple<tensor<i32>, tensor<i1>, tensor<f32>>",
            ],
        ),
        (
            "def @f() { let %id = fn [A](%x: A) -> A { %x }; (%id(1), %id(True)) }",
            ["() -> tuple<tensor<i32>, tensor<i1>>"],
        ),
        # Data types: Nil learns from what it is put in front of.
        (LIST + "def @f() { Cons(1, Nil) }", ["() -> !relay.adt<@List, [tensor<i32>]>"]),
        (LIST + "def @f(%x) -> List[bool] { Cons(%x, Nil) }", ["(tensor<i1>) -> !relay.adt<@List, [tensor<i1>]>"]),
        (
            LIST + "def @f(%l) { match? (%l) { Cons(%h, _) => { if (True) { %h } else { 1i64 } } } }",
            ["(!relay.adt<@List, [tensor<i64>]>) -> tensor<i64>"],
        ),
        ("def @f(%p: (ref(int8), _)) -> int8 { match? (%p) { (%a, %b) => { ref_read(if (True) { %a } else { %b }) } } }", ["(tuple<!relay.ref<tensor<i8>>, !relay.ref<tensor<i8>>>) -> tensor<i8>"]),
        (LIST + "def @f() { let %c = Cons; %c(1, Nil) }", ["() -> !relay.adt<@List, [tensor<i32>]>"]),
    ],
)  # fmt: skip
def test_inferred(text: str, expected: list[str]):
    assert types(text) == expected


@pytest.mark.parametrize(
    ("call", "weight"),
    [
        ("nn.dense(%x, %w, units=5)", "tensor<5x4xf32>"),
        ("nn.matmul(%x, %w, units=5)", "tensor<4x5xf32>"),
        ("nn.matmul(%x, %w, units=5, transpose_b=True)", "tensor<5x4xf32>"),
        ("nn.bias_add(%x, %w)", "tensor<4xf32>"),
        ("nn.bias_add(%x, %w, axis=0)", "tensor<3xf32>"),
    ],
)
def test_weights_follow_from_attributes(call: str, weight: str):
    (type_,) = types(f"def @f(%x: Tensor[(3, 4), float32], %w) {{ {call} }}")
    assert type_.startswith(f"(tensor<3x4xf32>, {weight}) -> ")


def test_weights_of_convolutions_follow_from_attributes():
    call = "nn.conv2d(%x, %w, channels=8, kernel_size=[3, 1], groups=2)"
    (type_,) = types(f"def @f(%x: Tensor[(1, 4, 9, 9), float32], %w) {{ {call} }}")
    assert type_.startswith("(tensor<1x4x9x9xf32>, tensor<8x2x3x1xf32>) -> ")


def test_statistics_of_batch_norm_follow():
    call = "nn.batch_norm(%x, %a, %b, %c, %d).0"
    (type_,) = types(f"def @f(%x: Tensor[(1, 4, 9), float32], %a, %b, %c, %d) {{ {call} }}")
    assert type_.count("tensor<4xf32>") == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @f(%x) { %x }", "the type of parameter %x is not known, state it"),
        ("def @f(%x) { exp(%x) }", "the type of %x is not known, state it"),
        ("def @f(%x) { %x.0 }", "the type of %x is not known, state it"),
        (LIST + "def @f() { Nil }", "the type of this List is not known, state it"),
        ("def @f(%x) { %x(%x) }", "the type of this expression contains itself"),
        ("def @f() { @g(1) } def @g(%x: bool) { %x }", "found type int32, expected bool"),
        ("def @f() { @g(1, 2) } def @g(%x) { %x }", "2 arguments are given, expected 1"),
        ("def @f() { @g() }", "the module has no function @g"),
        (LIST + "def @f() { Cons(1, Cons(True, Nil)) }", "found type List[bool], expected List[int32]"),
        (LIST + "def @f() { Cons(1) }", "constructor Cons has 2 fields, 1 are given"),
        (LIST + "def @f(%l) { match (%l) { Cons(%h) => { 1 } } }", "pattern Cons has 1 fields, expected 2"),
        ("def @f(%x) { if (%x) { %x } else { 1 } }", "found type int32, expected bool"),
        ("def @f(%x: (int32, _)) { %x.2 + %x.1 }", "found field 2 of (int32, _), which it lacks"),
        ("def @f(%x) -> int32 { (fn (%y) { %y })(%x, %x) }", "2 arguments are given, expected 1"),
    ],
)  # fmt: skip
def test_mistakes(text: str, message: str):
    with pytest.raises(RelayTextError) as raised:
        read(text)
    assert message in str(raised.value)


def test_long_untyped_chains():
    """The type of the first operand becomes known last."""
    length = 3000
    lines = "".join(f"%{i} = exp(%{i - 1 if i else 'x'});\n" for i in range(length))
    text = f"def @f() {{ @g(1f) }} def @g(%x) {{ {lines} %{length - 1} }}"
    assert types(text)[0] == "() -> tensor<f32>"


def test_parameters_of_an_inner_type_hide_those_outside() -> None:
    one, other = (TypeVarType(StringAttr(name)) for name in "AB")
    outside: dict[str, Type] = {"A": f32, "B": i8}
    inner = ForallType(ArrayAttr([StringAttr("A")]), FnType([one, other], one))
    assert substituted(inner, outside) == ForallType(inner.type_params, FnType([one, i8], one))
    assert substituted(inner.body, outside) == FnType([f32, i8], f32)
