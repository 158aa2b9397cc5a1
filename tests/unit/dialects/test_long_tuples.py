"""The text of programs that take long tuples apart: the type of a tuple is not said again at each field."""

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from xrelay.compiler import context


def program(fields: int, between: str = "") -> str:
    """A vector cut into single elements, of which all are taken."""
    type_ = f"tuple<{', '.join(['tensor<1xf32>'] * fields)}>"
    lines = [
        f"func.func @main(%x: tensor<{fields}xf32>) {{",
        f"%t = relay.split %x {{indices_or_sections = {fields} : i64}} : (tensor<{fields}xf32>) -> {type_}",
        between,
        *(
            f"%{i} = relay.tuple_get_item %t[{i}] {{note}} : ({type_}) -> tensor<1xf32>"
            for i in range(fields)
        ),
        "func.return",
        "}",
    ]
    return "\n".join(lines)


def printed(text: str) -> str:
    module = Parser(context(), text).parse_module()
    module.verify()
    return str(module)


@pytest.mark.parametrize(
    ("fields", "between", "is_stated"),
    [
        (1, "", True),
        (16, "", True),
        (17, "", False),
        (60, "", False),
        # A block may stand in front of those that come before it.
        (17, "cf.br ^next\n^next:", True),
    ],
)
def test_fields_of_tuples(fields: int, between: str, is_stated: bool) -> None:
    text = printed(program(fields, between))
    assert (f"%t[{fields - 1}] {{note}} : (tuple<" in text) == is_stated
    assert (f"%t[{fields - 1}] {{note}} : tensor<1xf32>" in text) != is_stated
    assert printed(text) == text


def test_tuples_of_outer_blocks() -> None:
    text = program(17, "%c = arith.constant true\nscf.if %c {").replace(
        "func.return", "}\nfunc.return"
    )
    assert "%t[16] {note} : tensor<1xf32>" in printed(text)
    assert printed(printed(text)) == printed(text)


def test_text_grows_with_the_program() -> None:
    few, many = (len(printed(program(fields))) for fields in (40, 80))
    assert many < 2.2 * few


@pytest.mark.parametrize("name", ["%u", "%t#1"])
def test_the_type_must_be_known(name: str) -> None:
    text = program(17).replace("%t[3] {note} : (tuple", f"{name}[3] : tensor<1xf32>\n// (tuple")
    with pytest.raises(ParseError, match="expected a tuple that is defined before"):
        printed(text)


def test_what_is_no_tuple_is_refused_by_name() -> None:
    text = program(2).replace(
        "%t[0] {note} : (tuple<tensor<1xf32>, tensor<1xf32>>", "%x[0] : (tensor<2xf32>"
    )
    with pytest.raises(VerifyException, match="tuple"):
        printed(text)
