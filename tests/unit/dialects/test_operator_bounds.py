"""What operators take at the bounds of their properties and operands, and refuse beyond them."""

from typing import Any

import pytest
from bounds.operator import OPERATORS, Says, Subject, parsed_type
from bounds.tables import SUBJECTS
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, TupleType, f16, i16
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.shapes import boolean, compatible, is_tensor_type, with_dtype, with_shape
from xrelay.dialects.type_relations import joined, refined, same_type, tells

DEVICE = "any device"
UNBOUNDED = {
    ("constant", "value"): "it is the value",
    ("device_copy", "dst_virtual_device"): DEVICE,
    ("device_copy", "src_virtual_device"): DEVICE,
    ("fail", "message"): "any text",
    ("memory.alloc_storage", "virtual_device"): DEVICE,
    ("memory.alloc_tensor", "const_shape"): "a constant; assert_shape has the same bounds",
    ("on_device", "virtual_device"): DEVICE,
}
"""Properties that have no bounds to test, and why."""
each_operator = pytest.mark.parametrize("operator", SUBJECTS)


@each_operator
def test_takes_what_lies_within_the_bounds(operator: str):
    for subject in SUBJECTS[operator]:
        subject.build().verify()
        for name, bound in subject.bounds.items():
            for value in bound.accepted:
                subject.build(**{name: value}).verify()


@each_operator
def test_refuses_what_lies_beyond_the_bounds(operator: str):
    problems = [
        problem
        for subject in SUBJECTS[operator]
        for name, bound in subject.bounds.items()
        for value in bound.refused
        if (problem := refusal_problem(subject, name, value))
    ]
    assert not problems, "\n".join(problems)


def refusal_problem(subject: Subject, name: str, value: Any) -> str | None:
    """What is wrong with how an operator refuses a value: it does not, or does not say why."""
    if isinstance(value, Says):
        value, expected = value.value, [value.words]
    elif name in subject.properties and isinstance(value, int | str):
        expected = [f"'{name}'", str(value)]
    else:
        expected = [f"'{name}'"]
    try:
        op = subject.build(**{name: value})
    except VerifyException as error:
        told = all(words in str(error) for words in expected)
        return None if told else f"{name} {value}: {error}"
    return f"{name} {value} gives {op.results[0].type} for {subject}"


def test_every_operator_has_a_table():
    assert OPERATORS.keys() - SUBJECTS.keys() == {"fail", "instantiate"}, (
        "their results are stated, not inferred"
    )


def test_every_property_has_bounds():
    flags = boolean(False), boolean(True)
    properties = {
        (operator, name)
        for operator, op in OPERATORS.items()
        for name, definition in op.get_irdl_definition().properties.items()
        if definition.default_value not in flags
    }
    bounded = {
        (subject.operator, name)
        for subjects in SUBJECTS.values()
        for subject in subjects
        for name in subject.bounds
    }
    assert properties - bounded == UNBOUNDED.keys()


@each_operator
def test_operands_are_all_needed(operator: str):
    op = SUBJECTS[operator][0].build()
    for operands in (op.operands[:-1], [*op.operands, *op.operands[:1]]):
        if list(operands) != list(op.operands):
            other = type(op).create(
                operands=operands, result_types=op.result_types, properties=dict(op.properties)
            )
            with pytest.raises(VerifyException):
                other.verify()


# Stated types of results


def tensor_changes(type_: TensorType[Attribute]) -> tuple[list[Attribute], list[Attribute]]:
    """Types that know less than a tensor type, and types that contradict it."""
    shape = type_.get_shape()
    less, other = [[DYNAMIC_INDEX] * len(shape)], [[*shape, 1], *([shape[1:]] if shape else [])]
    for i, length in enumerate(shape):
        lengths = {DYNAMIC_INDEX} if length == DYNAMIC_INDEX else {length + 1, abs(length - 1)}
        other += [[*shape[:i], changed, *shape[i + 1 :]] for changed in lengths - {length}]
        less.append([*shape[:i], DYNAMIC_INDEX, *shape[i + 1 :]])
    dtype = with_dtype(type_, f16 if type_.element_type == i16 else i16)
    return [with_shape(type_, dims) for dims in less], [
        *(with_shape(type_, dims) for dims in other),
        dtype,
    ]


def changes(type_: Attribute) -> tuple[list[Attribute], list[Attribute]]:
    """Types that know less than a type of tensors or tuples of them, and those that contradict it."""
    if is_tensor_type(type_):
        return tensor_changes(type_)
    assert isinstance(type_, TupleType)
    fields: list[Attribute] = list(type_.types.data)
    less, other = list[Attribute](), [tuple_type([*fields, TensorType(i16, [])])]
    for i, field in enumerate(fields):
        agreeing, contradicting = changes(field)
        less += [tuple_type([*fields[:i], each, *fields[i + 1 :]]) for each in agreeing]
        other += [tuple_type([*fields[:i], each, *fields[i + 1 :]]) for each in contradicting]
    return less, [*other, tuple_type(fields[1:])] if fields else other


def stated(op: RelayOp, type_: Attribute) -> RelayOp:
    """The same operator with another stated type of its result."""
    other = type(op).create(
        operands=op.operands, result_types=[type_], properties=dict(op.properties)
    )
    other.results[0].name_hint = "some_name"
    return other


@each_operator
def test_stated_types_may_know_less_but_not_contradict(operator: str):
    op = SUBJECTS[operator][0].build()
    inferred = op.results[0].type
    if not isinstance(inferred, TensorType | TupleType):
        return
    less, other = changes(inferred)
    for type_ in less:
        stated(op, type_).verify()
    for type_ in other:
        wrong = stated(op, type_)
        with pytest.raises(VerifyException) as error:
            wrong.verify_()
        for words in (op.name, "%some_name", str(type_), str(inferred)):
            assert words in str(error.value), f"{type_} instead of {inferred}: {error.value}"


@pytest.mark.parametrize(
    ("one", "other", "both", "either"),
    [
        ("?x3xf32", "2x?xf32", "2x3xf32", "?x?xf32"),
        ("2x3xf32", "2x3xf32", "2x3xf32", "2x3xf32"),
        ("?xf32", "0xf32", "0xf32", "?xf32"),
        ("?xf32", "?xf32", "?xf32", "?xf32"),
        ("2x3xf32", "2x4xf32", None, "2x?xf32"),
        ("1xf32", "2xf32", None, "?xf32"),
        ("2xf32", "2x1xf32", None, None),
        ("2xf32", "2xf64", None, None),
        ("f32", "1xf32", None, None),
        ("(?xf32,3xi8)", "(2xf32,?xi8)", "(2xf32,3xi8)", "(?xf32,?xi8)"),
        ("(2xf32,3xi8)", "(2xf32,4xi8)", None, "(2xf32,?xi8)"),
        ("(2xf32)", "(2xf32,2xf32)", None, None),
        ("(2xf32)", "2xf32", None, None),
    ],
)
def test_two_types_of_one_value(one: str, other: str, both: str | None, either: str | None):
    left, right = parsed_type(one), parsed_type(other)
    known, common = (text and parsed_type(text) for text in (both, either))
    assert refined(left, right) == refined(right, left) == known
    assert joined(left, right) == joined(right, left) == common
    assert compatible(left, right) == compatible(right, left) == (known is not None)
    for stated, found in ((left, right), (right, left)):
        assert refined(NoneType(), stated) == refined(stated, NoneType()) == stated
        assert tells(found, stated) == (known == found)
        assert same_type(found, stated) == (found == stated)
