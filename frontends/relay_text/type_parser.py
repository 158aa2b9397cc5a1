"""The types in Relay text."""

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute

from xrelay.analysis.facts.steps import Step
from xrelay.dialects.core.functional import ForallType, TypeVarType
from xrelay.dialects.shapes import tensor_of
from xrelay.frontends.relay_text.cursor import Cursor
from xrelay.frontends.relay_text.tokens import Kind
from xrelay.frontends.relay_text.types import Type, Unknown, compound, element_type_named, resolve


class TypeParser:
    """
    Reads types at a cursor. A dimension that the metadata section names, a variable or arithmetic
    with variables, has no number and becomes unknown.
    """

    def __init__(self, cursor: Cursor):
        self.cursor = cursor
        self.scopes: list[tuple[str, ...]] = []
        """The type parameters of the functions and type definitions around this place."""
        self.used_types: dict[tuple[str, int], int] = {}
        """The data types that the text names, with the numbers of arguments, and where first."""

    def type_params(self) -> tuple[str, ...]:
        """`[A, B]`, or nothing."""
        cursor = self.cursor
        names: list[str] = []
        if cursor.accept("["):
            for _ in cursor.items("]"):
                position = cursor.position
                name = cursor.take(Kind.NAME, "the name of a type parameter")
                if name in names:
                    raise cursor.error(f"type parameter {name} is named twice", position)
                names.append(name)
        return tuple(names)

    def type_(self) -> Step[Type]:
        """A type."""
        cursor = self.cursor
        kind = cursor.kinds[cursor.index]
        if kind is Kind.PUNCTUATION and cursor.accept("("):
            fields = yield self._list(")")
            return compound("tuple", tuple(fields))
        if cursor.at("_"):
            cursor.index += 1
            return Unknown()
        if kind is not Kind.NAME:
            cursor.unexpected("a type")
        position = cursor.position
        name = cursor.texts[cursor.index]
        cursor.index += 1
        if name == "Tensor":
            return self._tensor()
        if name == "fn":
            return (yield self._function())
        if name == "ref" and cursor.accept("("):
            value = yield self.type_()
            cursor.expect(")")
            return compound("ref", (value,))
        if name == "meta":
            return self._from_metadata()
        if any(name in scope for scope in self.scopes):
            return TypeVarType(name)
        element = element_type_named(name)
        if element is not None:
            return tensor_of(element, ())
        args: list[Type] = []
        if cursor.accept("["):
            args = yield self._list("]")
        self.used_types.setdefault((name, len(args)), position)
        return compound("@" + name, tuple(args))

    def _list(self, end: str) -> Step[list[Type]]:
        """Types separated by commas, up to `end`."""
        found: list[Type] = []
        for _ in self.cursor.items(end):
            found.append((yield self.type_()))
        return found

    def _function(self) -> Step[Type]:
        """What follows `fn`: type parameters, parameters and result."""
        cursor = self.cursor
        position = cursor.position
        names = self.type_params()
        self.scopes.append(names)
        cursor.expect("(")
        inputs = yield self._list(")")
        cursor.expect("->")
        output = yield self.type_()
        self.scopes.pop()
        type_ = compound("fn", (*inputs, output))
        if not names:
            return type_
        known = resolve(type_)
        if not isinstance(known, Attribute):
            raise cursor.error("a type with type parameters has an unknown type inside", position)
        return ForallType(names, known)

    def _tensor(self) -> Type:
        """What follows `Tensor`: the shape and the element type."""
        cursor = self.cursor
        cursor.expect("[")
        cursor.expect("(")
        shape = tuple(self._dimension() for _ in cursor.items(")"))
        cursor.expect(",")
        position = cursor.position
        name = cursor.take(Kind.NAME, "an element type")
        element = element_type_named(name)
        if element is None:
            raise cursor.error(f"found '{name}', expected an element type", position)
        cursor.expect("]")
        return tensor_of(element, shape)

    def _dimension(self) -> int:
        cursor = self.cursor
        if cursor.accept("?"):
            return DYNAMIC_INDEX
        if cursor.accept("meta"):
            cursor.take_entry()
            return DYNAMIC_INDEX
        return cursor.take_integer("a dimension: a number or '?'")

    def _from_metadata(self) -> Type:
        position = self.cursor.position
        key, _ = self.cursor.take_entry()
        if key != "IncompleteType":
            raise self.cursor.error(f"found meta[{key}], expected a type", position)
        return Unknown()
