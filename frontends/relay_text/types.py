"""
Types in Relay text: element type names, and types that are not known yet.

A type is an attribute of the IR as soon as all of it is known. While inference runs, it can also
be an `Unknown`, or a `Compound` that has one inside.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, TupleType, i1
from xdsl.ir import Attribute, TypeAttribute

from xrelay.analysis.facts.steps import Step, run
from xrelay.dialects.base import tuple_type
from xrelay.dialects.core.functional import AdtType, FnType, ForallType, TypeVarType
from xrelay.dialects.core.references import RefType
from xrelay.dialects.dtypes import DTYPES
from xrelay.dialects.shapes import is_integer_type


class Unknown:
    """A type to be found. `known` is what it turned out to be."""

    __slots__ = ("known", "waiting")

    def __init__(self) -> None:
        self.known: Type | None = None
        self.waiting: list[Callable[[], None]] = []
        """What to try again when something becomes known."""


class Compound:
    """
    A type with an unknown type inside. `head` is "tuple", "fn" (the result is the last part),
    "ref", or the name of an algebraic data type with an @ in front.
    """

    __slots__ = ("head", "parts")

    def __init__(self, head: str, parts: "tuple[Type, ...]"):
        self.head = head
        self.parts = parts


Type: TypeAlias = Attribute | Unknown | Compound


def resolve(type_: Type) -> Type:
    """What is known of a type at its outside."""
    while isinstance(type_, Unknown) and type_.known is not None:
        type_ = type_.known
    return type_


def compound(head: str, parts: "tuple[Type, ...]") -> Type:
    """The type with these parts: an attribute if they are."""
    known: list[Attribute] = []
    for part in parts:
        part = resolve(part)
        if not isinstance(part, Attribute):
            return Compound(head, parts)
        known.append(part)
    match head:
        case "tuple":
            return tuple_type(known)
        case "fn":
            return FnType(known[:-1], known[-1])
        case "ref":
            return RefType(known[0])
        case _:
            return AdtType(head[1:], known)


def decompose(type_: Attribute | Compound) -> tuple[str, tuple[Type, ...]] | None:
    """The head and the parts of a type as `compound` takes them; None for tensors and the like."""
    match type_:
        case Compound():
            return type_.head, type_.parts
        case TupleType():
            return "tuple", tuple(type_.types.data)
        case FnType():
            return "fn", (*type_.inputs, type_.output)
        case RefType():
            return "ref", (type_.value,)
        case AdtType():
            return "@" + type_.definition.string_value(), tuple(type_.args.data)
        case _:
            return None


def _closed(type_: Type) -> Step[Attribute | Unknown]:
    type_ = resolve(type_)
    if not isinstance(type_, Compound):
        return type_
    parts: list[Type] = []
    for part in type_.parts:
        known = yield _closed(part)
        if isinstance(known, Unknown):
            return known
        parts.append(known)
    whole = compound(type_.head, tuple(parts))
    assert isinstance(whole, Attribute)
    return whole


def closed(type_: Type) -> Attribute | Unknown:
    """A type as an attribute; if not all of it is known, something in it that is not."""
    type_ = resolve(type_)
    return run(_closed(type_)) if isinstance(type_, Compound) else type_


_NUMBERED = re.compile(r"(int|uint)([1-9]\d{0,2})")
_KNOWN: dict[str, TypeAttribute] = {"uint1": i1, **{row.name: row.type for row in DTYPES}}
_NAMES: dict[Attribute, str] = {row.type: row.name for row in DTYPES}


def element_type_named(name: str) -> TypeAttribute | None:
    """The element type that Relay calls `name` ("float32"); None for other names."""
    known = _KNOWN.get(name)
    if known is None:
        numbered = _NUMBERED.fullmatch(name)
        if numbered is None:
            return None
        sign = Signedness.UNSIGNED if numbered[1] == "uint" else Signedness.SIGNLESS
        known = _KNOWN[name] = IntegerType(int(numbered[2]), sign)
    return known


def element_type_name(type_: Attribute) -> str | None:
    """What Relay calls an element type; None when it has no name for it."""
    known = _NAMES.get(type_)
    if known is None and is_integer_type(type_):
        unsigned = type_.signedness.data == Signedness.UNSIGNED
        known = _NAMES[type_] = f"{'uint' if unsigned else 'int'}{type_.width.data}"
    return known


def substituted(type_: Type, values: dict[str, Type]) -> Type:
    """`type_` with type parameters replaced."""
    if not values:
        return type_
    type_ = resolve(type_)
    match type_:
        case Unknown() | TensorType():
            return type_
        case TypeVarType():
            return values.get(type_.variable.data, type_)
        case ForallType():
            inner = {k: v for k, v in values.items() if k not in type_.names}
            body = resolve(substituted(type_.body, inner))
            return ForallType(type_.names, body) if isinstance(body, Attribute) else type_
        case _:
            outside = decompose(type_)
            if outside is None:
                return type_
            head, parts = outside
            return compound(head, tuple(substituted(part, values) for part in parts))
