"""What is said of texts, in whole sentences; and of what just fits, what becomes of it."""

import json
from struct import pack
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    UnitAttr,
    bf16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xrelay.dialects.core.functional import FnType, ForallType, TypeVarType
from xrelay.frontends.relay_text import RelayTextError, literals, print_relay_text, read_relay_text
from xrelay.frontends.relay_text.attributes import text_of
from xrelay.frontends.relay_text.metadata import MAGIC, MetadataWriter, array_constant
from xrelay.frontends.relay_text.type_printer import scalar_text
from xrelay.frontends.relay_text.types import element_type_name, substituted

T, HALF = "Tensor[(2), float32]", "Tensor[(1), float32]"


def printed(body: str, params: str = f"%x: {T}", before: str = "") -> list[str]:
    """The lines of @main as they are written again."""
    module = read_relay_text(f"{before}def @main({params}) {{ {body} }}")
    module.verify()
    text = print_relay_text(module)
    return [line.strip() for line in text[text.index("def @main") :].splitlines()[1:-1]]


def refused(body: str, params: str = f"%x: {T}", before: str = "") -> tuple[str, str]:
    """What is said of a body of @main, and the rest of the text from there on."""
    with pytest.raises(RelayTextError) as caught:
        read_relay_text(f"{before}def @main({params}) {{\n{body}\n}}")
    head, shown, _ = str(caught.value).split("\n")
    _, _, column, message = head.split(":", 3)
    return message[1:], shown[int(column) - 1 :]


REFUSED: dict[str, tuple[str, str]] = {
    # The body, with an asterisk where it is at fault, and what is said.
    "an element type that operands tell": (
        'exp(%x, *dtype="int8")',
        f"exp has the attribute 'dtype' int8, its result is {T}",
    ),
    "an element type that is none": (
        'exp(%x, *dtype="float99")',
        f"exp has the attribute 'dtype' float99, its result is {T}",
    ),
    "an element type of a tuple": (
        'split(%x, indices_or_sections=2, axis=0, *dtype="float32")',
        f"split has the attribute 'dtype' float32, its result is ({HALF}, {HALF})",
    ),
    "a global name": ("*@", "found '@' without a name"),
    "a local name": ("*% x", "found '%' without a name"),
    "another entry": ("fn (%y: meta*[Foo][0]) { %y }", "found meta[Foo], expected a type"),
    "whole numbers with a fraction": (
        "*1.5i32",
        "'1.5i32' is no number of a type that constants have",
    ),
    "a function's result": (
        f"let %f = *fn (%y: {T}) -> Tensor[(3), float32] {{ concatenate((%y, %y), axis=0) }}; %f",
        "the function states result type Tensor[(3), float32], found Tensor[(4), float32]",
    ),
    "the result of a fused function": (
        f"*fn (%y: {T}, Primitive=1) -> Tensor[(3), float32] {{ concatenate((%y, %y), axis=0) }}(%x)",
        "the function states result type Tensor[(3), float32], found Tensor[(4), float32]",
    ),
    "the parameter of a fused function": (
        "*fn (%y: Tensor[(3), float32], Primitive=1) { %y }(%x)",
        f"parameter %y is stated as Tensor[(3), float32], its argument is {T}",
    ),
    "the use of a value in itself": (
        "let %y = exp(*%y); %y",
        "variable %y is not defined here",
    ),
    "a recursive value": (
        "let %y = (fn (%a: int32) -> int32 { *%y(%a) }, 1); %y",
        "%y is used in its own value, which is no function",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_texts_that_are_refused(case: str) -> None:
    """The sentence, and the place that it is about."""
    body, message = REFUSED[case]
    before, _, after = body.partition("*")
    found, place = refused(before + after)
    assert found == message
    assert place == after


@pytest.mark.parametrize("stated", ['"float32"', '""', "3", "None"])
def test_element_types_that_operands_tell(stated: str) -> None:
    """They may be stated as well, or not be."""
    assert printed(f"exp(%x, dtype={stated})") == ["exp(%x)"]


def test_a_recursive_function_on_a_device() -> None:
    """The name stands for the function, whatever is around it."""
    function = "on_device(fn (%n: float32) -> float32 { %f(%n) })"
    assert printed(f"let %f = {function}; %f(1f)") == [
        "let %v = fn (%n: float32) -> float32 {",
        "%v(%n)",
        "};",
        "let %f = on_device(%v);",
        "%f(1f)",
    ]


IMAGE = "%x: Tensor[(1, 4, 8, 9), float32]"
KNOWN: dict[str, tuple[str, str, str]] = {
    # data, the call, and the type of %w
    "convolution": (IMAGE, "nn.conv2d(%x, %w, channels=6, kernel_size=[3, 2], groups=2)", "(6, 2, 3, 2)"),
    "convolution of pixels": (
        IMAGE,
        'nn.conv2d(%x, %w, channels=6, kernel_size=[3, 2], data_layout="NHWC", kernel_layout="HWIO")',
        "(3, 2, 9, 6)",
    ),
    "transposed convolution": (
        IMAGE,
        "nn.conv2d_transpose(%x, %w, channels=6, kernel_size=[3, 2], groups=2)",
        "(3, 4, 3, 2)",
    ),
    "convolution of lines": (
        "%x: Tensor[(1, 4, 8), float32]",
        "nn.conv1d(%x, %w, channels=6, kernel_size=[3])",
        "(6, 4, 3)",
    ),
    "dense": ("%x: Tensor[(2, 3), float32]", "nn.dense(%x, %w, units=5)", "(5, 3)"),
    "matmul": ("%x: Tensor[(2, 3), float32]", "nn.matmul(%x, %w, units=5)", "(3, 5)"),
    "matmul of a transposed one": (
        "%x: Tensor[(2, 3), float32]",
        "nn.matmul(%x, %w, units=5, transpose_a=True)",
        "(2, 5)",
    ),
    "matmul by a transposed one": (
        "%x: Tensor[(2, 3), float32]",
        "nn.matmul(%x, %w, units=5, transpose_b=True)",
        "(5, 3)",
    ),
    "bias": (IMAGE, "nn.bias_add(%x, %w)", "(4)"),
    "bias of the last axis": (IMAGE, "nn.bias_add(%x, %w, axis=3)", "(9)"),
    "bias of the first axis": (IMAGE, "nn.bias_add(%x, %w, axis=-4)", "(1)"),
}  # fmt: skip


@pytest.mark.parametrize("case", KNOWN)
def test_types_of_weights_that_are_not_stated(case: str) -> None:
    """They follow from the data and from attributes."""
    data, call, shape = KNOWN[case]
    text = print_relay_text(read_relay_text(f"def @main({data}, %w) {{ {call} }}"))
    assert text.splitlines()[1].startswith(f"def @main({data}, %w: Tensor[{shape}, float32]) ->")


@pytest.mark.parametrize(
    ("data", "call"),
    [
        (IMAGE, "nn.conv2d(%x, %w, kernel_size=[3, 3])"),
        (IMAGE, "nn.conv2d(%x, %w, channels=3)"),
        (IMAGE, "nn.conv2d(%x, %w, channels=3, kernel_size=[3])"),
        (IMAGE, "nn.conv1d(%x, %w, channels=3, kernel_size=[3])"),
        (IMAGE, 'nn.conv2d(%x, %w, channels=3, kernel_size=[3, 3], data_layout="NCHW4c")'),
        (IMAGE, 'nn.conv2d(%x, %w, channels=3, kernel_size=[3, 3], data_layout="NQ")'),
        ("%x: Tensor[(2, 3), float32]", "nn.dense(%x, %w)"),
        ("%x: float32", "nn.dense(%x, %w, units=5)"),
        ("%x: Tensor[(2, 3), float32]", "nn.matmul(%x, %w)"),
        ("%x: Tensor[(3), float32]", "nn.matmul(%x, %w, units=5)"),
        (IMAGE, "nn.bias_add(%x, %w, axis=4)"),
        (IMAGE, "nn.bias_add(%x, %w, axis=-5)"),
    ],
)
def test_types_of_weights_that_nothing_tells(data: str, call: str) -> None:
    """Nor does the text."""
    assert refused(call, f"{data},\n%w") == ("the type of %w is not known, state it", "%w) {")


def test_attributes_of_functions() -> None:
    """Numbers of 32 bits where they are enough, real ones, words, lists, and nothing."""
    names = "A=1.5, B=None, C=True, D=2147483647, E=2147483648, F=-2147483648, G=-2147483649, H=[1, 2], I=abc"
    module = read_relay_text(f"def @main(%x: {T}, {names}) {{ %x }}")
    (main,) = module.body.block.ops
    found = {name: main.attributes[name] for name in "ABCDEFGHI"}
    assert found == {
        "A": FloatAttr(1.5, f64),
        "B": UnitAttr(),
        "C": IntegerAttr(1, i32),
        "D": IntegerAttr(2147483647, i32),
        "E": IntegerAttr(2147483648, i64),
        "F": IntegerAttr(-2147483648, i32),
        "G": IntegerAttr(-2147483649, i64),
        "H": ArrayAttr([IntegerAttr(1, i32), IntegerAttr(2, i32)]),
        "I": StringAttr("abc"),
    }


def test_types_that_other_modules_define() -> None:
    """They are written as they were read."""
    text = "extern type Box[A, B]\nextern type Bag\ntype L[A] { Cons(A, L[A]), Nil }\n"
    written = print_relay_text(read_relay_text(text))
    assert written.partition("\n")[2] == (
        "extern type Box[A, B]\n\nextern type Bag\n\ntype L[A] {\n  Cons(A, L[A]),\n  Nil,\n}\n"
    )


@pytest.mark.parametrize(
    ("text", "negative", "found"),
    [
        ("abc", False, None),
        ("1.5i32", False, None),
        ("1e3", False, (1000.0, f32)),
        ("1i7", False, None),
        ("128i8", False, None),
        ("128i8", True, (-128, i8)),
        ("129i8", True, None),
        ("2147483647", False, (2147483647, i32)),
        ("2147483648", False, (2147483648, i64)),
        ("2147483648", True, (-2147483648, i32)),
        ("9" * 5000, False, None),
        ("1bf16", False, (1.0, bf16)),
        ("1f99", False, None),
        ("inff", True, (float("-inf"), f32)),
        ("1e99f", False, None),
    ],
)
def test_numbers(text: str, negative: bool, found: tuple[float, Attribute] | None) -> None:
    """The value and the type of one; None for what has none."""
    read = literals.scalar(text, negative)
    if found is None:
        assert read is None
        return
    assert read is not None
    value, type_ = read
    assert type_ == TensorType(found[1], [])
    assert tuple(value.get_values()) == (found[0],)


def scalar(value: Any, element: Any) -> Any:
    return DenseIntOrFPElementsAttr.from_list(TensorType(element, []), [value])


@pytest.mark.parametrize(
    ("value", "element", "found"),
    [
        (scalar(3, i32), f32, scalar(3.0, f32)),
        (scalar(3.0, f32), i8, scalar(3, i8)),
        (scalar(3.5, f32), i8, None),
        (scalar(float("inf"), f32), i8, None),
        (scalar(300, i32), i8, None),
        (scalar((1.0, 2.0), ComplexType(f32)), f32, None),
        (scalar(1, i32), ComplexType(f32), None),
    ],
)
def test_numbers_of_another_type(value: Any, element: Attribute, found: Any) -> None:
    """The same number, where the type has it."""
    assert literals.converted(value, element) == found


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (IntegerAttr(1, i1), "True"),
        (IntegerAttr(0, i1), "False"),
        (IntegerAttr(-3, i64), "-3"),
        (FloatAttr(0.5, f64), "0.5f"),
        (StringAttr('a"b'), '"a\\"b"'),
        (DenseArrayBase.from_list(i64, [1, 2]), "[1, 2]"),
        (DenseArrayBase.from_list(f64, [1.5, 2.0]), "[1.5f, 2.0f]"),
        (ArrayAttr([StringAttr("a"), DenseArrayBase.from_list(i64, [3])]), '["a", [3]]'),
        (ArrayAttr([StringAttr("a"), UnitAttr()]), None),
        (f32, '"float32"'),
        (IntegerType(3), '"int3"'),
        (IntegerType(3, Signedness.UNSIGNED), '"uint3"'),
        (UnitAttr(), None),
    ],
)
def test_properties_in_words(attribute: Attribute, text: str | None) -> None:
    """As the text states them; None for what it has no words for."""
    assert text_of(attribute) == text


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        (IntegerType(5), "int5"),
        (IntegerType(5, Signedness.UNSIGNED), "uint5"),
        (IntegerType(64, Signedness.UNSIGNED), "uint64"),
        (i1, "bool"),
        (bf16, "bfloat16"),
        (ComplexType(f32), None),
    ],
)
def test_names_of_element_types(type_: Attribute, name: str | None) -> None:
    """Relay's; of whole numbers of any width."""
    assert element_type_name(type_) == name


def test_numbers_without_a_literal() -> None:
    """Complex ones, vectors, and whole ones of 8 bits are entries of the metadata section."""
    for value, literal in (
        (scalar((1.0, 2.0), ComplexType(f32)), None),
        (scalar(1, i8), None),
        (scalar(7, i64), "7i64"),
        (scalar(7, i32), "7"),
        (scalar(1, IntegerType(64, Signedness.UNSIGNED)), None),
    ):
        assert scalar_text(value, value.get_type(), six_digits=False) == literal
    vector = DenseIntOrFPElementsAttr.from_list(TensorType(i32, [1]), [7])
    assert scalar_text(vector, TensorType(i32, [1]), six_digits=False) is None


def test_type_parameters_are_replaced_outside_of_functions_that_have_their_own() -> None:
    """`fn [A](A, B) -> A` keeps its A."""
    a, b = TypeVarType("A"), TypeVarType("B")
    values: dict[str, Any] = {"A": TensorType(f32, [2]), "B": TensorType(i8, [3])}
    inner = ForallType(["A"], FnType([a, b], a))
    expected = ForallType(["A"], FnType([a, values["B"]], a))
    assert substituted(inner, values) == expected
    assert substituted(FnType([a, inner], b), values) == FnType(
        [values["A"], expected], values["B"]
    )
    assert substituted(inner, {}) is inner
    assert substituted(i8, values) == i8


# -- metadata -----------------------------------------------------------------------------------

DEVICE = {"device_type_int": "1", "virtual_device_id": "7", "memory_scope": "5", "target": "0"}
NAME = {"type_key": "runtime.String", "repr_str": "global"}


def section(key: str, *nodes: dict[str, Any]) -> str:
    """A section with an entry of a kind, the first of the nodes; the others have the numbers 4, 5, …"""
    first: list[dict[str, Any]] = [
        {"type_key": ""},
        {"type_key": "Map", "keys": [key], "data": [2]},
        {"type_key": "Array", "data": [3]},
    ]
    content: dict[str, Any] = {"root": 1, "nodes": [*first, *nodes], "b64ndarrays": [], "attrs": {}}
    return f"\n#[metadata]\n{json.dumps(content)}"


SUM = "relay.attrs.ReduceAttrs"


def number(value: object) -> dict[str, Any]:
    return {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": value}}


def summed(axis: str, *nodes: dict[str, Any]) -> str:
    """A module with a sum whose attributes are an entry."""
    fields = {"axis": axis, "keepdims": "1", "exclude": "0"}
    return f"def @main(%x: Tensor[(2, 3), float32]) {{ sum(%x, meta[{SUM}][0]) }}" + section(
        SUM, {"type_key": SUM, "attrs": fields}, *nodes
    )


@pytest.mark.parametrize("root", [4, 5])
def test_roots_that_are_no_objects(root: int) -> None:
    """There are as many objects as there are, with numbers from 0 on."""
    text = summed("0").replace('"root": 1', f'"root": {root}')
    with pytest.raises(RelayTextError) as caught:
        read_relay_text(text)
    said = f"'root' is {root}, expected the index of one of 4 objects"
    assert str(caught.value).split("\n")[0].endswith(said)


def test_attributes_that_are_an_entry() -> None:
    """A list of numbers, an empty one, and none, which stands for all axes."""
    one, none = ({"type_key": "Array", "data": data} for data in ([5], list[int]()))
    rows: list[tuple[str, list[dict[str, Any]], str]] = [
        ("4", [one, number("1")], "axis=[1], "),
        ("4", [none], "axis=[], "),
        ("0", [], ""),
    ]
    for axis, nodes, expected in rows:
        text = print_relay_text(read_relay_text(summed(axis, *nodes)))
        assert f"sum(%x, {expected}keepdims=True)" in text


@pytest.mark.parametrize(
    ("axis", "nodes", "message"),
    [
        ("4", [number("1")], "found 'IntImm', expected 'Array'"),
        ("4", [{"type_key": "Array", "data": [5]}, NAME], "found 'runtime.String', expected 'IntImm'"),
        ("4", [{"type_key": "Array", "data": [9]}], "found 9, expected the index of an object"),
        ("-1", [], "found '-1', expected the index of an object"),
    ],
)  # fmt: skip
def test_entries_that_are_refused(axis: str, nodes: list[dict[str, Any]], message: str) -> None:
    """The sentence names the entry."""
    with pytest.raises(RelayTextError) as caught:
        read_relay_text(summed(axis, *nodes))
    head = str(caught.value).split("\n")[0]
    assert head.endswith(message), head


def test_a_comma_stands_behind_attributes_that_are_an_entry() -> None:
    """Or a parenthesis."""
    text = summed("0")
    with_comma = text.replace("][0])", "][0],)", 1)
    assert print_relay_text(read_relay_text(with_comma)) == print_relay_text(read_relay_text(text))
    with pytest.raises(RelayTextError) as caught:
        read_relay_text(text.replace("][0])", "][0] %x)", 1))
    assert str(caught.value).split("\n")[0].endswith(": found '%x', expected ','")


def placed(*nodes: dict[str, Any]) -> str:
    text = "def @main(%x: float32) { on_device(%x, virtual_device=meta[VirtualDevice][0]) }"
    return text + section("VirtualDevice", *nodes)


def nested(depth: int) -> list[dict[str, Any]]:
    """A device whose target is so many lists in each other."""
    device = {"type_key": "VirtualDevice", "attrs": {**DEVICE, "memory_scope": "4", "target": "5"}}
    lists = [{"type_key": "Array", "data": [6 + i]} for i in range(depth)]
    return [device, NAME, *lists, NAME]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([number("1")], "found 'IntImm', expected 'VirtualDevice'"),
        (nested(500), "objects nest more than "),
    ],
)
def test_devices_that_are_refused(nodes: list[dict[str, Any]], message: str) -> None:
    """Another object, and one that is nested without end."""
    with pytest.raises(RelayTextError) as caught:
        read_relay_text(placed(*nodes))
    assert message in str(caught.value).split("\n")[0]


def test_arrays_that_are_too_short() -> None:
    """For the lengths that they announce, or for the number of bytes behind them."""
    for rank, rest in ((2, 16), (0, 0), (-1, 8)):
        data = pack("<QQiiiBBH", MAGIC, 0, 1, 0, rank, 2, 32, 1) + bytes(rest)
        message = f"^an array of {len(data)} bytes is too short for {rank} dimensions$"
        with pytest.raises(ValueError, match=message):
            array_constant(data)
    data = pack("<QQiiiBBH", MAGIC, 0, 1, 0, 0, 2, 32, 1) + pack("<qf", 4, 0.5)
    assert array_constant(data) == (scalar(0.5, f32), TensorType(f32, []))
    data = pack("<QQiiiBBH", MAGIC, 0, 1, 0, 1, 2, 32, 1) + pack("<qq", 0, 0)
    assert array_constant(data)[1] == TensorType(f32, [0])


def test_what_is_no_object() -> None:
    """A type has none in TVM's files."""
    with pytest.raises(ValueError, match="^TVM has no object for f32$"):
        MetadataWriter().tree(f32)
    writer = MetadataWriter()
    assert writer.tree(UnitAttr()) == 0
    assert writer.tree(ArrayAttr([StringAttr("a"), UnitAttr(), IntegerAttr(3, i64)])) == 3
    assert writer.nodes == [
        {"type_key": ""},
        {"type_key": "runtime.String", "repr_str": "a"},
        {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "3"}},
        {"type_key": "Array", "data": [1, 0, 2]},
    ]
