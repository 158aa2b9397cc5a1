"""Printing Relay text: exact numbers, names, effects, and what the text cannot say."""

from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isomorphism import difference
from texts import parsed
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    f16,
    f32,
    f64,
)

from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.relay_text import RelayPrintError, print_relay_text, read_relay_text
from xrelay.frontends.relay_text.attributes import quoted


def body(text: str) -> list[str]:
    """The lines of a printed function."""
    lines = print_relay_text(parsed(text)).splitlines()
    return [line.strip() for line in lines[2:-1]]


def function(
    ops: str, result: str = "%0 : tensor<2xf32>", params: str = "%x: tensor<2xf32>"
) -> str:
    type_ = result.partition(" : ")[2]
    return f"func.func @main({params}) -> {type_} {{\n{ops}\nfunc.return {result}\n}}"


EXP = "%0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>"


def literal(number: float, type_: AnyFloat) -> tuple[str, ModuleOp]:
    text = f"%0 = relay.constant dense<0.0> : tensor<{type_}>"
    module = parsed(function(text, f"%0 : tensor<{type_}>", ""))
    (op,) = [op for op in module.walk() if isinstance(op, ConstantOp)]
    op.properties["value"] = DenseIntOrFPElementsAttr.from_list(TensorType(type_, []), [number])
    printed = print_relay_text(module)
    return printed.splitlines()[2].strip(), read_relay_text(printed)


def number_in(module: ModuleOp) -> float:
    (op,) = [op for op in module.walk() if isinstance(op, ConstantOp)]
    (found,) = op.value.get_values()  # pyright: ignore
    return found


@pytest.mark.parametrize(
    ("type_", "dtype", "digits"),
    [(f16, np.float16, 5), (f32, np.float32, 9), (f64, np.float64, 17)],
)
@given(data=st.data())
def test_floats_are_exact_and_short(
    data: st.DataObject, type_: AnyFloat, dtype: type[np.floating], digits: int
):
    width = np.dtype(dtype).itemsize * 8
    number = data.draw(st.floats(width=width))  # pyright: ignore
    text, module = literal(number, type_)
    found = number_in(module)
    if np.isnan(number):
        assert np.isnan(found)
        return
    assert dtype(found).tobytes() == dtype(number).tobytes()
    mantissa = text.partition("e")[0].partition("f")[0]
    if np.isfinite(number) and "e" in text:
        assert len(mantissa.lstrip("-").replace(".", "")) <= digits


@pytest.mark.parametrize(
    ("number", "exact", "six"),
    [
        (0.1, "0.1f", "0.1f"),
        (1.0, "1f", "1f"),
        (1 / 3, "0.33333334f", "0.333333f"),
        (1e-7, "1e-07f", "1e-07f"),
        (16777216.0, "16777216f", "1.67772e+07f"),
        (float("-inf"), "-inff", "-inff"),
        (float("nan"), "nanf", "nanf"),
    ],
)
def test_numbers(number: float, exact: str, six: str):
    module = read_relay_text("def @main() { 1f }")
    (old,) = [op for op in module.walk() if isinstance(op, ConstantOp)]
    old.properties["value"] = DenseIntOrFPElementsAttr.from_list(TensorType(f32, []), [number])
    assert f"  {exact}\n" in print_relay_text(module)
    assert f"  {six}\n" in print_relay_text(module, tvm_compatible=True)


@pytest.mark.parametrize(
    "constant",
    [
        "dense<[1, -2, 3]> : tensor<3xi8>",
        "dense<7> : tensor<ui8>",
        "dense<1.5> : tensor<bf16>",
        "dense<[true, false]> : tensor<2xi1>",
        "dense<2.5> : tensor<100xf64>",
        "dense<> : tensor<0x3xf32>",
        "dense<-1> : tensor<i64>",
        "dense<5000000000> : tensor<i64>",
        "dense<3> : tensor<i16>",
        "dense<true> : tensor<i1>",
    ],
)
def test_constants(constant: str):
    type_ = constant.partition(" : ")[2]
    ops = f"%0 = relay.constant {constant}"
    module = parsed(f"func.func @main() -> {type_} {{\n{ops}\nfunc.return %0 : {type_}\n}}")
    for tvm_compatible in (False, True):
        text = print_relay_text(module, tvm_compatible=tvm_compatible)
        assert difference(module, read_relay_text(text)) is None


def test_shared_numbers_stay_shared():
    module = read_relay_text("def @main() { %0 = 2f; (%0, %0, 2f) }")
    text = print_relay_text(module)
    assert "(%0, %0, 2f)" in text
    assert "(2f, 2f, 2f)" in print_relay_text(module, tvm_compatible=True)


def test_attributes():
    call = 'strided_slice(%x, begin=[0], end=[1], axes=[0], slice_mode="size")'
    text = f"def @main(%x: Tensor[(2), float32]) {{ {call} }}"
    module = read_relay_text(text)
    stated = 'begin=[0], end=[1], slice_mode="size", axes=[0])'
    assert f"strided_slice(%x, {stated}" in print_relay_text(module)
    compatible = print_relay_text(module, tvm_compatible=True)
    assert 'begin=[0], end=[1], strides=None, slice_mode="size", axes=[0])' in compatible
    assert difference(module, read_relay_text(compatible)) is None


def test_names_are_unique():
    text = "def @main(%a: int32) { let %a = %a; let %a = %a; %a } def @f(%a: int32) { %a }"
    printed = print_relay_text(read_relay_text(text))
    assert "let %a1 = %a;\n  let %a2 = %a1;\n  %a2\n" in printed
    assert "def @f(%a3: int32)" in printed


def test_names_of_functions_in_quotes():
    module = parsed(function(EXP).replace("@main", '@"a-b.0"'))
    printed = print_relay_text(module)
    assert 'def @"a-b.0"(' in printed
    assert difference(module, read_relay_text(printed)) is None


@pytest.mark.parametrize(
    "name", ["a-b", "a b", "", 'a"b', "a\\b", "a\nb", "a\r\tb", "0", "é.1", "%0"]
)
def test_functions_with_any_name_are_called_and_values(name: str):
    text = (
        "def @f(%a: int32) -> int32 { %a }"
        "def @g(%h: fn (int32) -> int32, %a: int32) -> int32 { %h(@f(%a)) }"
        "def @main(%a: int32) -> int32 { let %v = @f; @g(@f, %v(%a)) }"
    )
    module = read_relay_text(text.replace("@f", f"@{quoted(name)}"))
    assert isinstance(first := module.body.block.first_op, func.FuncOp)
    assert first.sym_name.data == name
    printed = print_relay_text(module)
    assert difference(module, read_relay_text(printed)) is None


def test_strings_are_escaped():
    text = 'def @main(%x: int32, A="a\\"b\\\\c\\n") { %x }'
    module = read_relay_text(text)
    printed = print_relay_text(module)
    assert '"a\\"b\\\\c\\n"' in printed
    assert difference(module, read_relay_text(printed)) is None


def test_stream():
    stream = StringIO()
    module = read_relay_text("def @main() { 1 }")
    assert print_relay_text(module, stream) == stream.getvalue() != ""


# -- effects ------------------------------------------------------------------------------------

REF = "%r: !relay.ref<tensor<f32>>, %x: tensor<f32>"
READ = "relay.ref_read %r : (!relay.ref<tensor<f32>>) -> tensor<f32>"
WRITE = "relay.ref_write %r, %x : (!relay.ref<tensor<f32>>, tensor<f32>) -> tuple<>"


def test_effects_in_the_order_of_need_are_no_lets():
    ops = f"%a = {READ}\n%b = {READ}\n%0 = relay.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>"
    lines = body(function(ops, "%0 : tensor<f32>", REF))
    assert lines == ["%0 = ref_read(%r);", "%1 = ref_read(%r);", "add(%0, %1)"]


@pytest.mark.parametrize("first", [f"%a = {READ}\n%u = {WRITE}", f"%u = {WRITE}\n%a = {READ}"])
def test_effects_keep_their_order(first: str):
    module = parsed(function(first, "%a : tensor<f32>", REF))
    again = read_relay_text(print_relay_text(module))
    again.verify()
    order = [op.name for op in module.walk() if op.name.startswith("relay.ref_")]
    assert [op.name for op in again.walk() if op.name.startswith("relay.ref_")] == order


def test_effects_inside_branches_keep_their_place():
    branch = f"%i = scf.if %p -> (tensor<f32>) {{ %u = {WRITE}\nscf.yield %x : tensor<f32> }} else {{ scf.yield %x : tensor<f32> }}"
    ops = f"%p = tensor.extract %c[] : tensor<i1>\n{branch}\n%a = {READ}\n%t = relay.tuple %a, %i : (tensor<f32>, tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>"
    module = parsed(function(ops, "%t : tuple<tensor<f32>, tensor<f32>>", f"{REF}, %c: tensor<i1>"))
    printed = print_relay_text(module)
    assert printed.index("let %i = if") < printed.index("let %a = ref_read")
    assert "let %u = ref_write(%r, %x);" in printed


# -- what the text cannot say ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (function('%0 = "test.op"(%x) : (tensor<2xf32>) -> tensor<2xf32>'), "test.op"),
        ("func.func private @f(tensor<f32>)", "function @f has no body"),
        ('"test.op"() : () -> ()', "test.op in a module"),
        (function("", "%x : tensor<2xi3>", "%x: memref<2xi3>").replace("tensor<2xi3>", "memref<2xi3>"), "memref<2xi3>"),
        (function("", "%x : tensor<2xindex>", "%x: tensor<2xindex>"), "tensor<2xindex>"),
        (function('%0 = relay.constant #relay.blob<"00"> : tensor<2xf32>'), "are not there"),
        (
            function("scf.if %p { }\n" + EXP, params="%x: tensor<2xf32>, %p: i1"),
            "i1",
        ),
    ],
)  # fmt: skip
def test_refusals(text: str, message: str):
    with pytest.raises(RelayPrintError) as raised:
        print_relay_text(parsed(text))
    assert message in str(raised.value)
