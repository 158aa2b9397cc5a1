"""Reading Relay text: what becomes of it, and what is said of mistakes."""

import json
from base64 import b64encode
from math import isnan
from struct import pack

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation

from xrelay.dialects.core.device import OnDeviceOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.relay_text import RelayTextError, read_relay_text
from xrelay.frontends.relay_text.metadata import MAGIC

X = "%x: Tensor[(2, 3), float32]"


def body(text: str, params: str = X) -> list[Operation]:
    """The operations of @main."""
    module = read_relay_text(f"def @main({params}) {{ {text} }}")
    module.verify()
    (main,) = module.body.block.ops
    assert isinstance(main, func.FuncOp)
    return list(main.body.block.ops)


def names(text: str, params: str = X) -> list[str]:
    return [op.name.removeprefix("relay.") for op in body(text, params)]


def value(literal: str) -> tuple[object, Attribute]:
    (op, _) = body(literal)
    assert isinstance(op, ConstantOp)
    (number,) = op.value.get_values()  # pyright: ignore
    return number, op.result.type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%x + %x * %x", ["multiply", "add", "func.return"]),
        ("(%x + %x) * %x", ["add", "multiply", "func.return"]),
        ("%x - %x - %x", ["subtract", "subtract", "func.return"]),
        ("%x - %x * %x + %x", ["multiply", "subtract", "add", "func.return"]),
        ("%x + %x * %x - %x", ["multiply", "add", "subtract", "func.return"]),
        ("%x / %x < %x + %x", ["divide", "add", "less", "func.return"]),
        ("%x < %x == (%x > %x)", ["less", "greater", "equal", "func.return"]),
        ("-1f * %x", ["constant", "multiply", "func.return"]),
    ],
)
def test_operators_bind_by_precedence(text: str, expected: list[str]):
    assert names(text) == expected


def test_order_is_that_of_need():
    text = "%0 = exp(%x); %1 = log(%x); %dead = 1; (tanh(%1), %0)"
    assert names(text.replace("%dead", "%2")) == ["log", "tanh", "exp", "tuple", "func.return"]


def test_values_of_two_branches_are_computed_around_them():
    text = "%0 = exp(%x); if (%c) { %1 = %0 + %x; %1 } else { %0 - %1 }"
    assert names(text, f"{X}, %c: bool") == [
        "exp",
        "add",
        "tensor.extract",
        "scf.if",
        "func.return",
    ]


def test_values_of_one_branch_are_computed_in_it():
    text = "%0 = exp(%x); if (%c) { %0 } else { %x }"
    assert names(text, f"{X}, %c: bool") == ["tensor.extract", "scf.if", "func.return"]


def test_shadowing():
    (exp, let, log, _) = body("let %x = exp(%x); log(%x)")
    assert log.operands[0] is let.results[0]
    assert let.operands[0] is exp.results[0]


def test_nested_lets_end_with_their_expression():
    assert names("let %a = let %b = exp(%x); log(%b); %a") == [
        "exp", "let", "log", "let", "func.return",
    ]  # fmt: skip


def test_expression_alone():
    module = read_relay_text('#[version = "0.0.5"]\nfree_var %x: float32;\nexp(%x)')
    (main,) = module.body.block.ops
    assert isinstance(main, func.FuncOp)
    assert main.sym_name.data == "main"
    assert main.function_type.inputs.data == (TensorType(f32, []),)


@pytest.mark.parametrize(
    ("literal", "number", "type_"),
    [
        ("1", 1, "i32"),
        ("-3", -3, "i32"),
        ("5000000000", 5000000000, "i64"),
        ("7i64", 7, "i64"),
        ("7i16", 7, "i16"),
        ("7u8", 7, "ui8"),
        ("7uint8", 7, "ui8"),
        ("-128i8", -128, "i8"),
        ("1i1", -1, "i1"),
        ("0.5f", 0.5, "f32"),
        ("2f16", 2.0, "f16"),
        ("1e-3f64", 1e-3, "f64"),
        ("1.5bf16", 1.5, "bf16"),
        ("inff", float("inf"), "f32"),
        ("-inff64", float("-inf"), "f64"),
        ("True", -1, "i1"),
        ("False", 0, "i1"),
    ],
)
def test_numbers(literal: str, number: object, type_: str):
    found, tensor = value(literal)
    assert str(tensor) == f"tensor<{type_}>"
    assert found == number


def test_nan():
    number, _ = value("nanf")
    assert isinstance(number, float) and isnan(number)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp(%y)", "1:46: variable %y is not defined here"),
        ("exp(%0)", "1:46: %0 is not bound before this place"),
        ("nn.relo(%x)", "unknown operator or constructor 'nn.relo', is it nn.relu"),
        ("exp(%x, %x)", "exp has 2 operands, expected 1 (data)"),
        ("exp(%x, axis=1)", "exp has no attribute 'axis', its attributes are: none"),
        ("transpose(%x, axes=True)", "attribute 'axes' of transpose is True, expected a list"),
        ("clip(%x, a_min=0f)", "clip lacks the attribute 'a_max'"),
        ("clip(%x, a_min=0f, a_min=1f)", "attribute 'a_min' is given twice"),
        ("transpose(axes=[0, 1], %x)", "expected an attribute or ')'"),
        ("transpose(%x, axes=[0, 0])", "transpose: 'axes' [0, 0] names a dimension twice"),
        ("exp(%x", "found '}', expected ',' or ')'"),
        ("exp(%x); ", "found '}', expected an expression"),
        ("add(%x, 1)", "add: 'lhs' has elements of type f32, 'rhs' of i32"),
        ("exp((%x,))", "exp: operand 'data' is (Tensor[(2, 3), float32],), which it does not take"),
        ("%x.0", "found a field of Tensor[(2, 3), float32], expected a tuple"),
        ("(%x,).1", "'index' is 1, the tuple has 1 fields"),
        ("%x(%x)", "'function' is tensor<2x3xf32>, expected a function"),
        ("if (%x) { %x } else { %x }", "1:42: the condition is Tensor[(2, 3), float32], expected bool"),
        ("if (1f) { %x } else { %x }", "1:42: the condition is float32, expected bool"),
        ("if (True) { %x } else { 1 }", "the branches have types Tensor[(2, 3), float32] and int32"),
        ("ref_read(%x)", "ref_read of Tensor[(2, 3), float32], expected a reference"),
        ("ref_write(ref(%x), 1)", "the cell holds tensor<2x3xf32>, 'value' is tensor<i32>"),
        ("ref(%x, %x)", "ref has 2 arguments, expected 1"),
        ("let %y: int32 = %x; %y", "%y is stated as int32, its value is Tensor[(2, 3), float32]"),
        ("let %y = exp(%y); %y", "variable %y is not defined here"),
        ("let %y = (fn () { %y }, 1); %y", "%y is used in its own value, which is no function"),
        ("@f(%x)", "the module has no function @f"),
        ("@main(%x, %x)", "2 arguments are given, expected 1"),
        ("fn (%y: Tensor[(2, 4), float32], Primitive=1) { exp(%y) }(%x)", "1:42: parameter %y is stated as Tensor[(2, 4), float32], its argument is Tensor[(2, 3), float32]"),
        ("let %f = exp; %x", "operator exp is used as a value, call it"),
        ("fn (%y) { %y }", "the type of parameter %y is not known, state it"),
        ("fn (%y: int32, %y: int32) { %y }", "parameter %y is named twice"),
        ("fn (A=1, %y: int32) { %y }", "1:51: found '%y', expected an attribute or ')': parameters stand before"),
        ("fn (%y: Tensor[(1, -2), int32]) { %y }", "found '-', expected a dimension"),
        ("fn (%y: Tensor[(1,), what]) { %y }", "found 'what', expected an element type"),
        ("fn (%y: Tensor[(2, 9223372036854775808), int32]) { %y }", "1:61: found 9223372036854775808, expected an integer of 64 bits"),
        ("fn (%y: Tensor[(2), int1000]) { %y }", "found 'int1000', expected an element type"),
        ("(%x,).99999999999999999999", "1:47: found 99999999999999999999, expected an integer of 64 bits"),
        ("fn (%y: Tree) { %y }", "'Tree' is no type"),
        ("match (%x) { Leaf => { %x }, }", "'Leaf' is no constructor"),
        ("match (%x) { (%a, %b) => { %x }, }", "this pattern does not match Tensor[(2, 3), float32]"),
        ("match (%x) { }", "found a match without clauses"),
        ("1q", "found 'q', expected '}'"),
        *((number, f"1:42: '{number}' is no number of a type that constants have") for number in
          ("1i641", "1i3", "1u12", "1uint128", "1i0", "1i", "-1u8", "200i8", "1e39f", "1e999999f", "1e999", "1e400f64", "1e6f16", "1e39bf16", "4294967295i32", "99999999999999999999")),
        ("1f8", "'1f8' is no number of a type that constants have"),
        ('"text"', "expected an expression"),
        ('exp("text', "found a string that does not end"),
        ("/* exp", "found a comment that does not end, expected */"),
        ("exp(%x) #", "found '#', which begins no token"),
        ("sum(%x, axis=[18446744073709551615])", "1:56: found 18446744073709551615, expected a number that 64 bits hold"),
        ("sum(%x, axis=-9223372036854775809)", "1:55: found -9223372036854775809, expected a number that 64 bits hold"),
        ("sum(%x, axis=" + "9" * 100 + "i64)", "expected a number that 64 bits hold"),
        ("fn (A=9223372036854775808) { %x }", "1:48: found 9223372036854775808, expected a number that 64 bits hold"),
        ("clip(%x, a_min=0f, a_max=1e999)", "found 1e999, expected a number that 64 bits hold"),
        ("meta[relay.Constant][0]", "meta[relay.Constant][0]: the text has no #[metadata] section"),
        ("meta[VirtualDevice][0]", "found meta[VirtualDevice], expected an expression"),
    ],
)  # fmt: skip
def test_mistakes(text: str, message: str):
    with pytest.raises(RelayTextError) as raised:
        read_relay_text(f"def @main({X}) {{ {text} }}", "a.relay")
    assert message in str(raised.value)
    first, line, caret = str(raised.value).split("\n")
    assert first.startswith("a.relay:1:")
    assert text in line
    assert caret.strip() == "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#[version = "0.0.6"]', '1:1: found #[version = "0.0.6"], expected #[version = "0.0.5"]'),
        ("def @f() { 1 } def @f() { 1 }", "1:20: function @f is defined twice"),
        ("type A { B, B }", "1:13: constructor B is defined twice"),
        ("type A { B } type A { C }", "1:19: type A is defined twice"),
        ("type A[T] { B } def @f(%x: A) { 1 }", "type A has 0 arguments, expected 1"),
        (
            "type L[A] { B } def @f(%x: L[int32], %y: L) { 1 }",
            "1:42: type L has 0 arguments, expected 1",
        ),
        (
            "type L[A] { B } def @f(%x: L[int32]) -> L[int32, int32] { %x }",
            "1:41: type L has 2 arguments, expected 1",
        ),
        ("type A { B(int32) } def @f() { B(1, 2) }", "constructor B has 1 fields, 2 are given"),
        ("type A[T, T] { B }", "type parameter T is named twice"),
        ("type A { B } 1", "expected 'def', 'type' or the end of the text"),
        (
            '#[version = "0.0.5"\ndef @f() { 1 }',
            '1:1: found a #[ that is not closed, expected #[version = "0.0.5"] or',
        ),
        (
            "def @f(",
            "1:8: found the end of the text, expected a parameter '%name: type', an attribute 'name=value' or ')'",
        ),
        ("def @f() { f(meta", "1:18: found the end of the text, expected '['"),
        ("def f() { 1 }", "found 'f', expected the name of a function: '@name'"),
        (
            "def @f() -> int32 { 1f }",
            "the function states result type int32, found float32",
        ),
        ("def @f() { free_var %x: int32; %x }", "found 'free_var' in a function"),
    ],
)
def test_mistakes_in_definitions(text: str, message: str):
    with pytest.raises(RelayTextError) as raised:
        read_relay_text(text, "a.relay")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("data", "clauses", "unmatched"),
    [
        ("%l", ["Nil"], "Cons(_, _)"),
        ("%l", ["Cons(_, _)"], "Nil"),
        ("%l", ["Nil", "Cons(%h, Nil)"], "Cons(_, Cons(_, _))"),
        ("%l", ["Nil", "Cons(%h, Nil)", "Cons(_, Cons(_, %t))"], None),
        ("%l", ["Nil", "%other"], None),
        ("%l", ["_"], None),
        ("(%l, %l)", ["(Nil, _)", "(_, Nil)"], "(Cons(_, _), Cons(_, _))"),
        ("(%l, %l)", ["(Nil, _)", "(Cons(_, _), Nil)", "(_, Cons(_, _))"], None),
        ("(%l, (%l,))", ["(_, (Nil))", "(Nil, _)"], "(Cons(_, _), (Cons(_, _)))"),
        ("()", ["()"], None),
    ],
)
def test_a_match_has_a_clause_for_every_value(data: str, clauses: list[str], unmatched: str | None):
    text = (
        "type L { Cons(int32, L), Nil }\ndef @main(%l: L) {\n  match ("
        + f"{data}) {{ {', '.join(f'{clause} => {{ 1 }}' for clause in clauses)} }}\n}}"
    )
    read_relay_text(text.replace("match", "match?")).verify()
    if unmatched is None:
        read_relay_text(text).verify()
        return
    with pytest.raises(RelayTextError) as raised:
        read_relay_text(text, "a.relay")
    assert str(raised.value).startswith(
        f"a.relay:3:3: found a match without a clause for {unmatched}, expected one for every"
    )


def test_integers_of_thousands_of_digits_are_refused():
    for text in ("9" * 5000, f"exp(%x, axis={'9' * 5000})", f"(%x,).{'9' * 5000}"):
        with pytest.raises(RelayTextError, match="^a.relay:1:"):
            read_relay_text(f"def @main({X}) {{ {text} }}", "a.relay")


def test_the_type_of_storage_needs_no_definition():
    module = read_relay_text("def @main(%s: Storage) { %s }")
    module.verify()
    assert "relay.type_def @Storage []" in str(module)


def test_integers_of_attributes_have_32_bits_where_these_suffice():
    numbers = {-(2**31) - 1: "i64", -(2**31): "i32", 2**31 - 1: "i32", 2**31: "i64"}
    attributes = ", ".join(f"A{i}={number}" for i, number in enumerate(numbers))
    text = str(read_relay_text(f"def @main({X}, {attributes}) {{ %x }}"))
    for i, (number, type_) in enumerate(numbers.items()):
        assert f"A{i} = {number} : {type_}" in text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_anywhere(end: str):
    read_relay_text(f"// comment{end}def @main() {{{end}1 // one{end}}}").verify()
    with pytest.raises(RelayTextError) as raised:
        read_relay_text(f"// %z{end}{end}def @main() {{{end} %z{end}}}", "a.relay")
    assert str(raised.value) == "a.relay:4:2: variable %z is not defined here\n %z\n ^"


def test_a_byte_order_mark_is_skipped():
    read_relay_text('\ufeff#[version = "0.0.5"]\ndef @main() { 1 }').verify()
    with pytest.raises(RelayTextError, match="^a.relay:1:15: variable %z"):
        read_relay_text("\ufeffdef @main() { %z }", "a.relay")


def test_mistakes_name_line_and_column():
    with pytest.raises(RelayTextError) as raised:
        read_relay_text("def @main() {\n\texp(\n    %z)\n}", "a.relay")
    assert str(raised.value) == ("a.relay:3:5: variable %z is not defined here\n    %z)\n    ^")


# -- metadata -----------------------------------------------------------------------------------


def array(shape: tuple[int, ...], code: int, bits: int, content: bytes) -> str:
    header = pack("<QQiiiBBH", MAGIC, 0, 1, 0, len(shape), code, bits, 1)
    data = header + pack(f"<{len(shape) + 1}q", *shape, len(content)) + content
    return b64encode(data).decode()


def metadata(encoded: str, **changes: object) -> str:
    fields = {"_checked_type_": "0", "data": "0", "span": "0", "virtual_device_": "0"}
    content = {
        "root": 1,
        "nodes": [
            {"type_key": ""},
            {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
            {"type_key": "Array", "data": [3]},
            {"type_key": "relay.Constant", "attrs": fields},
        ],
        "b64ndarrays": [encoded],
        "attrs": {"tvm_version": "0.10.0"},
        **changes,
    }
    return f"def @main() {{ meta[relay.Constant][0] }}\n#[metadata]\n{json.dumps(content)}"


def constant(text: str) -> ConstantOp:
    module = read_relay_text(text)
    module.verify()
    (op,) = [op for op in module.walk() if isinstance(op, ConstantOp)]
    return op


def test_constants_of_the_metadata_section():
    op = constant(metadata(array((2, 2), 0, 32, pack("<4i", 1, -2, 3, 4))))
    assert op.result.type == TensorType(i32, [2, 2])
    assert str(op.value) == "dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>"


def test_large_constants_and_splats():
    large = constant(metadata(array((40,), 0, 64, pack("<40q", *range(40)))))
    assert large.result.type == TensorType(i64, [40])
    assert large.value.name == "relay.blob"
    splat = constant(metadata(array((40,), 2, 32, pack("<f", 0.5) * 40)))
    assert str(splat.value) == "dense<5.000000e-01> : tensor<40xf32>"


def test_bools_of_the_metadata_section():
    op = constant(metadata(array((3,), 1, 1, b"\1\0\1")))
    assert str(op.value) == "dense<[true, false, true]> : tensor<3xi1>"


def test_an_entry_is_one_constant():
    text = metadata(array((3,), 1, 8, b"abc"))
    meta = "meta[relay.Constant][0]"
    assert constant(text.replace(meta, f"({meta}, {meta})", 1)).result.uses.get_length() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (metadata("!"), "meta[relay.Constant][0] does not decode:"),
        (metadata("AAAA"), "an array of 3 bytes, expected at least 32"),
        (metadata(b64encode(bytes(48)).decode()), "an array begins with 0x0, expected 0xdd5e40f"),
        (metadata(array((3,), 0, 32, bytes(8))), "[3] and type int32 has 8 bytes, expected 12"),
        (metadata(array((-3,), 0, 32, bytes(8))), "an array of shape [-3]"),
        (metadata(array((1,), 9, 32, bytes(4))), "an array has elements of type ?32"),
        (metadata(array((1,), 0, 3, bytes(1))), "an array has elements of type int3x1"),
        (
            metadata("", b64ndarrays=[]),
            "'data' of 'relay.Constant' is 0, expected the index of one of 0 arrays",
        ),
        (
            metadata("", nodes=[]),
            "is no graph of objects: 'root' is 1, expected the index of one of 0",
        ),
        (metadata("", nodes=3), "is no graph of objects: 'nodes' is 3, expected a list of objects"),
        (metadata("", nodes=[3]), "is no graph of objects: 'nodes' is [3], expected a list of"),
        (metadata("", b64ndarrays=3), "'b64ndarrays' is 3, expected a list of strings"),
        (
            metadata("").replace('"b64ndarrays"', '"b"'),
            "found no 'b64ndarrays', expected a list of",
        ),
        (
            metadata("").replace('"data": [2]', '"data": 2'),
            "'data' of object 1 is 2, expected a list",
        ),
        (
            metadata("").replace('"data": [2]', '"data": []'),
            "with 1 keys and 0 values, expected 'Map'",
        ),
        (metadata("").replace('"data": [2]', '"data": [0]'), "has 0 entries of this kind"),
        (
            metadata("").replace('"data": [2]', '"data": [9]'),
            "found 9, expected the index of an object",
        ),
        (
            metadata("").replace('"data": [3]', '"data": ["3"]'),
            "'data' of object 2 is [\"3\"], expected",
        ),
        (
            metadata("").replace('"data": [3]', '"data": [2]'),
            "found 'Array', expected 'relay.Constant'",
        ),
        (
            metadata("").replace('"data": "0", ', ""),
            "'relay.Constant' without 'data', expected this",
        ),
        (
            metadata("").replace('"data": "0"', '"data": "x"'),
            "is 'x', expected an integer of 64 bits",
        ),
        (metadata("").replace('"data": "0"', '"data": 0'), "'attrs' of object 3 is"),
        (
            metadata("").partition("#[metadata]")[0] + "#[metadata]\n[1]",
            "found no 'nodes', expected a list",
        ),
        (metadata("", root=0), "found '' with 0 keys and 0 values, expected 'Map'"),
        (metadata("", root="1"), "'root' is \"1\", expected the index of an object"),
        (metadata("").replace('"root": 1', "root"), "the metadata section is no JSON"),
        (metadata("").replace("[0] }", "[7] }"), "[7]: the metadata section has 1 entries of this"),
    ],
)
def test_metadata_that_does_not_decode(text: str, message: str):
    with pytest.raises(RelayTextError) as raised:
        read_relay_text(text)
    assert message in str(raised.value)


def test_comments_that_state_types_are_compared_when_asked():
    text = "def @main(%x: float32) { exp(%x) /* ty=Tensor[(2), float32] */ }"
    assert isinstance(read_relay_text(text), ModuleOp)
    with pytest.raises(
        RelayTextError, match=r"states type Tensor\[\(2\), float32\], found float32"
    ):
        read_relay_text(text, check_types=True)


@pytest.mark.parametrize("pad", ["nn.pad(%x, 2f, pad_width=[[1, 1]])", "dyn.nn.pad(%x, %w, 2f)"])
def test_padding_has_the_element_type_of_the_data(pad: str):
    text = f"def @main(%x: Tensor[(4), int32], %w: Tensor[(1, 2), int64]) {{ {pad} }}"
    assert "relay.constant dense<2> : tensor<i32>" in str(read_relay_text(text))


def test_strings_and_numbers_in_the_target_of_a_device():
    attrs = {"device_type_int": "1", "virtual_device_id": "7", "memory_scope": "5", "target": "6"}
    content = {
        "root": 1,
        "nodes": [
            {"type_key": ""},
            {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
            {"type_key": "Array", "data": [3]},
            {"type_key": "VirtualDevice", "attrs": attrs},
            {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "3"}},
            {"type_key": "runtime.String", "repr_str": "global"},
            {"type_key": "Map", "keys": ["mcpu", "keys", "width"], "data": [7, 8, 4]},
            {"type_key": "runtime.String", "repr_str": "znver5"},
            {"type_key": "Array", "data": [9, 0]},
            {"type_key": "runtime.String", "repr_str": "cpu"},
        ],
        "b64ndarrays": [],
        "attrs": {"tvm_version": "0.10.0"},
    }
    text = (
        "def @main(%x: float32) { on_device(%x, virtual_device=meta[VirtualDevice][0]) }\n"
        f"#[metadata]\n{json.dumps(content)}"
    )
    (op,) = [op for op in read_relay_text(text).walk() if isinstance(op, OnDeviceOp)]
    device = op.virtual_device
    assert (device.device_type.value.data, device.device_id.value.data) == (1, 7)
    assert device.memory_scope.data == "global"
    assert device.target == DictionaryAttr(
        {
            "mcpu": StringAttr("znver5"),
            "keys": ArrayAttr([StringAttr("cpu"), UnitAttr()]),
            "width": IntegerAttr(3, i64),
        }
    )
