"""
What operators take: values of properties and types of operands at the bounds of what is accepted
and just beyond them, as tables state them (tests/unit/dialects/test_operator_bounds.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BFloat16Type,
    Float16Type,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    TupleType,
    f32,
    f64,
    i8,
)
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import VarOperandDef

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.functional import AdtType, FnType
from xrelay.dialects.core.memory import STORAGE
from xrelay.dialects.core.references import RefType
from xrelay.dialects.relay import Relay
from xrelay.dialects.shapes import boolean, float_array, int_array, integer, real, string
from xrelay.interpreters.constants import constant_op

OPERATORS: dict[str, type[RelayOp]] = {
    op.name.removeprefix("relay."): op for op in Relay.operations if issubclass(op, RelayOp)
}
FLOATS = {"bf16": BFloat16Type(), "f16": Float16Type(), "f32": f32, "f64": f64}


@dataclass(frozen=True)
class Says:
    """A refused value whose message does not name the property or operand, but has some words."""

    value: Any
    words: str


@dataclass(frozen=True)
class Bound:
    """Values of a property, or types of an operand, that are taken, and some that are refused."""

    accepted: Sequence[Any] = ()
    refused: Sequence[Any] = ()

    def __add__(self, other: "Bound") -> "Bound":
        return Bound((*self.accepted, *other.accepted), (*self.refused, *other.refused))


@dataclass(frozen=True)
class Subject:
    """An operator on operands and with properties that it takes, of which one at a time changes."""

    operator: str
    operands: tuple[Any, ...]
    """Types as text ("4x?xf32", "(2xf32,i8)"), or the values of constants."""
    properties: Mapping[str, Any]
    bounds: Mapping[str, Bound]
    """By the names of properties and operands."""

    @property
    def operand_names(self) -> list[str]:
        """The names of the operands in order."""
        return [name for name, _ in OPERATORS[self.operator].get_irdl_definition().operands]

    def build(self, **changes: Any) -> RelayOp:
        """
        The operator, as constructors make it, with other operands or properties than stated.

        Raises VerifyException where the operator refuses them.
        """
        operands = dict(zip(self.operand_names, self.operands, strict=True))
        operands |= {name: value for name, value in changes.items() if name in operands}
        properties = {
            **self.properties,
            **{name: value for name, value in changes.items() if name not in operands},
        }
        block, op_type = Block(), OPERATORS[self.operator]
        for value in operands.values():
            if isinstance(value, str):
                block.insert_arg(parsed_type(value), len(block.args))
        arguments = iter(block.args)
        values = [
            next(arguments) if isinstance(value, str) else constant(block, value)
            for value in operands.values()
        ]
        stated = {name: value for name, value in properties.items() if value is not None}
        attributes = {name: attribute_of(value) for name, value in stated.items()}
        # What takes any number of operands has one here.
        definitions = (each for _, each in op_type.get_irdl_definition().operands)
        given = [
            [value] if isinstance(definition, VarOperandDef) else value
            for value, definition in zip(values, definitions, strict=True)
        ]
        op = op_type.of(given, attributes)
        block.add_op(op)
        return op


def subject(operator: str, operands: str | tuple[Any, ...], /, **named: Any) -> Subject:
    """
    A row of a table: `named` are bounds (`Bound`) and properties, by their names. While another one
    changes, a property has the first value that it may have.
    """
    bounds = {name: value for name, value in named.items() if isinstance(value, Bound)}
    given = tuple(operands.split()) if isinstance(operands, str) else operands
    row = Subject(operator, given, {}, bounds)
    properties = {
        name: value.accepted[0] if isinstance(value, Bound) else value
        for name, value in named.items()
        if name not in row.operand_names
    }
    return replace(row, properties=properties)


def constant(block: Block, value: Any) -> Operation:
    """A constant in a block."""
    op = constant_op(np.asarray(value))
    block.add_op(op)
    return op


@cache
def parsed_type(text: str) -> Attribute:
    """A type of a table: `ref<f32>` is a cell, `fn<f32>` a function from such a value to another."""
    if text == STORAGE:
        return AdtType(STORAGE, [])
    if text.startswith("ref<"):
        return RefType(parsed_type(text[4:-1]))
    if text.startswith("fn<"):
        type_ = parsed_type(text[3:-1])
        return FnType([type_], type_)
    if text.startswith("("):
        fields = [field for field in text[1:-1].split(",") if field]
        return TupleType(tuple(map(parsed_tensor, fields)))
    return parsed_tensor(text)


def parsed_tensor(text: str) -> TensorType[Attribute]:
    """A tensor type of a table: `4x?xf32`, `ui8`."""
    *dims, dtype = text.split("x")
    return TensorType(
        parsed_dtype(dtype), [DYNAMIC_INDEX if dim == "?" else int(dim) for dim in dims]
    )


def parsed_dtype(text: str) -> Attribute:
    """An element type of a table."""
    if text in FLOATS:
        return FLOATS[text]
    sign = Signedness.UNSIGNED if text.startswith("u") else Signedness.SIGNLESS
    return IntegerType(int(text.removeprefix("u")[1:]), sign)


def attribute_of(value: Any) -> Attribute:
    """The property that holds a value of a table; lists hold numbers, or pairs of them."""
    match value:
        case Attribute():
            return value
        case bool():
            return boolean(value)
        case int():
            return integer(value)
        case float():
            return real(value)
        case str():
            return string(value)
        case [float(), *_]:
            return float_array(value)
        case [tuple(), *_]:
            return ArrayAttr([int_array(pair) for pair in value])
        case _:
            return int_array(value)


# Bounds that many operators share


def between(least: int, most: int) -> Bound:
    """Whole numbers of a range."""
    return Bound((least, most), (least - 1, most + 1))


def at_least(least: int) -> Bound:
    """Whole numbers without an upper bound."""
    return Bound((least, least + 1), (least - 1,))


def only(*values: Any, others: Sequence[Any]) -> Bound:
    """Some values and no others."""
    return Bound(values, others)


def words(*names: str) -> Bound:
    """Names, in one spelling."""
    return Bound(names, ("no such name", names[0].swapcase()))


def axis(rank: int) -> Bound:
    """An axis of tensors of a rank, counted from either end."""
    return Bound(range(-rank, rank), (-rank - 1, rank))


def axes(rank: int) -> Bound:
    """Different axes of tensors of a rank."""
    return Bound(
        ([-rank], [rank - 1], [0, -1], list(range(rank))),
        ([-rank - 1], [rank], [0, -rank]),
    )


def positive(count: int) -> Bound:
    """A positive number for each of some axes."""
    ones = [1] * count
    zeros = [[*ones[:i], value, *ones[i + 1 :]] for i in range(count) for value in (0, -1)]
    return Bound((ones, [2] * count), (*zeros, ones[1:], [*ones, 1]))


def paddings(axes: int) -> Bound:
    """What is added on all sides, on both sides of each axis, or on each side."""
    accepted = ([0], [1], [1] * axes, [1, 0] * axes)
    negative = ([-1], [0] * (axes - 1) + [-1], [-1] + [0] * (2 * axes - 1))
    counts = {*range(2 * axes + 2)} - {1, axes, 2 * axes}
    return Bound(accepted, (*negative, *([1] * count for count in sorted(counts))))


ANY_REAL = Bound((-1.5, 0.0, 1e30))
"""Numbers without a bound."""
DTYPE = Bound((f32, f64, i8, IntegerType(1)), (IndexType(), TensorType(f32, [])))
"""Element types."""
OPTIONAL_DTYPE = DTYPE + Bound((None,))
INDICES = ("i8", "i32", "i64", "ui8", "ui64")
"""Dtypes of indices."""


def typed(shape: str, accepted: Sequence[str], refused: Sequence[str]) -> Bound:
    """An operand of a shape ("4x5x", "" for scalars) with elements of other types."""
    return Bound([shape + dtype for dtype in accepted], [shape + dtype for dtype in refused])


def indices(shape: str) -> Bound:
    """Integers, but no bools."""
    return typed(shape, INDICES, ("f32", "i1"))


def floats(shape: str) -> Bound:
    """Floating point."""
    return typed(shape, ("f16", "bf16", "f32", "f64"), ("i32", "i1", "ui8"))
