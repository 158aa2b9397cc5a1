"""Texts of Relay that do not fit together: what is said of them, and of which place."""

import pytest

from xrelay.frontends.relay_text import RelayTextError, read_relay_text

T, LONG = "Tensor[(2), float32]", "Tensor[(3), float32]"
LIST = "type List[A] { Cons(A, List[A]), Nil }"
REFUSED: tuple[tuple[str, str, str], ...] = (
    # the body of @main(%x, %l, %c), where it begins, what is said
    ("@main(%x)", "@main", "1 arguments are given, expected 3"),
    ("@twice(%x, %x)", "@twice", "2 arguments are given, expected 1"),
    (f"fn (%y: {T}, Primitive=1) {{ exp(%y) }}(%x, %x)", "fn", "2 arguments are given, expected 1"),
    ("let %f = exp; %f(%x)", "exp;", "operator exp is used as a value, call it"),
    ("@none(%x)", "@none", "the module has no function @none"),
    ("nothing(%x)", "nothing", "unknown operator or constructor 'nothing'"),
    (f"let %f = fn (%y: {T}) -> {LONG} {{ %y }}; %f(%x)", "%y", f"found type {T}, expected {LONG}"),
    ("add(%x, -f)", "f)", "found 'f', expected a number after '-'"),
    ("sum(%x, axis=[0] keepdims=True)", "keepdims", "found 'keepdims', expected ','"),
    ("sum(axis=[0], %x)", "%x", "arguments stand before attributes"),
    ("sum(%x, axis=1f)", "axis", "attribute 'axis' of sum is 1.0, expected a list of integers or None"),
    ("sum(%x, what=1)", "what", "sum has no attribute 'what', its attributes are: axis, keepdims, exclude"),
    ('cast(%x, dtype="float99")', "dtype", "attribute 'dtype' of cast is 'float99', expected an element type"),
    ("fn (%y {a=1 b=2}) { %y }(%x)", "b=2", "found 'b', expected ','"),
    (f"let %f = fn (%y: {T}) {{ %y }}; %y", "%y", "variable %y is not defined here"),
    ("match (%l) { Cons(%a, _) => %a, Nil => 1f }", "1f", f"found type float32, expected {T}"),
    ("match (%l) { Cons(%a) => %x, Nil => %x }", "Cons", "pattern Cons has 1 fields, expected 2"),
    ("Cons(%x)", "Cons", "constructor Cons has 2 fields, 1 are given"),
    ("let %f = fn [A](%y) { %y }; %x", "fn", "a function with type parameters states the types of the others"),
    ("fn (%f: fn [A](_) -> A) { 1f }", "[A]", "a type with type parameters has an unknown type inside"),
    ("fn (%y: Tensor[(a), float32]) { %y }", "a)", "found 'a', expected a dimension: a number or '?'"),
    ("fn (%y: Tensor[(2), float99]) { %y }", "float99", "found 'float99', expected an element type"),
    ("add(%x)", "add", "add has 1 operands, expected 2 (lhs, rhs)"),
    ("exp(%x, %x)", "exp", "exp has 2 operands, expected 1 (data)"),
    ("let %t = (%x, %x); %t.2", ".2", f"found field 2 of ({T}, {T}), which it lacks"),
    ("if (%x) { %x } else { %x }", "if", f"the condition is {T}, expected bool"),
    ("if (%c) { %x } else { 1f }", "1f", f"found type float32, expected {T}"),
)  # fmt: skip


@pytest.mark.parametrize(("body", "place", "reason"), REFUSED, ids=lambda part: part[:40])
def test_what_does_not_fit(body: str, place: str, reason: str) -> None:
    lines = (
        LIST,
        f"def @twice(%y: {T}) -> {T} {{ add(%y, %y) }}",
        f"def @main(%x: {T}, %l: List[{T}], %c: bool) {{",
        body,
        "}",
    )
    with pytest.raises(RelayTextError) as caught:
        read_relay_text("\n".join(lines))
    message = str(caught.value)
    head, *shown = message.split("\n")
    assert reason in head
    line, column = map(int, head.split(":")[1:3])
    assert line == 4 and body in shown
    assert body[column - 1 :].startswith(place), f"{column}: {message}"


def test_types_that_are_defined_elsewhere() -> None:
    text = "extern type Box[A]\ndef @main(%b: Box[int32]) { %b }"
    assert 'relay.type_def @Box ["A"]\n' in str(read_relay_text(text))
    with pytest.raises(RelayTextError, match="found 'Box', expected 'type'"):
        read_relay_text("extern Box[A]")
