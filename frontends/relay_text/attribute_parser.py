"""Attributes `name=value` in Relay text."""

import re

from xrelay.analysis.facts.steps import Step, run
from xrelay.frontends.relay_text import literals
from xrelay.frontends.relay_text.cursor import Cursor
from xrelay.frontends.relay_text.syntax import Attrs, AttrText, AttrValue, MetaRef
from xrelay.frontends.relay_text.tokens import Kind


class AttributeParser:
    """Reads attributes at a cursor."""

    def __init__(self, cursor: Cursor):
        self.cursor = cursor

    def attribute(self, attrs: Attrs, expected: str = "an attribute: 'name=value'") -> None:
        """`name=value`; `expected` says what else could stand here."""
        cursor = self.cursor
        position = cursor.position
        name = cursor.take(Kind.NAME, expected)
        cursor.expect("=")
        if name in attrs:
            raise cursor.error(f"attribute '{name}' is given twice", position)
        attrs[name] = AttrText(run(self.value()), position)

    def value(self, nesting: int = 0) -> Step[AttrValue]:
        """The value of an attribute, within `nesting` lists."""
        cursor = self.cursor
        cursor.limit_nesting(nesting, "lists")
        kind, text, position = cursor.next_token()
        cursor.index += 1
        negative = text == "-" and kind is Kind.PUNCTUATION
        if negative:
            kind, text = cursor.kinds[cursor.index], cursor.texts[cursor.index]
            cursor.index += 1
        if kind is Kind.NUMBER or (kind is Kind.NAME and literals.is_not_finite(text)):
            number = literals.attribute_number(text, negative)
            if number is None:
                sign = "-" if negative else ""
                raise cursor.error(
                    f"found {sign}{text}, expected a number that 64 bits hold", position
                )
            return number
        if kind is Kind.STRING:
            return unescaped(text)
        if kind is Kind.PUNCTUATION and text in "([":
            values: list[AttrValue] = []
            for _ in cursor.items(")" if text == "(" else "]"):
                values.append((yield self.value(nesting + 1)))
            return values
        if kind is Kind.NAME and not negative:
            match text:
                case "True" | "False":
                    return text == "True"
                case "None" | "nullptr":
                    return None
                case "meta":
                    return self.meta_ref(position)
                case _:
                    return text
        cursor.index -= 1
        cursor.unexpected(
            "the value of an attribute: a number, True, False, a string, a list or None"
        )

    def meta_ref(self, position: int) -> MetaRef:
        """What follows `meta`: `[key][index]`."""
        entry = self.cursor.take_entry()
        return MetaRef(*entry, position)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unescaped(text: str) -> str:
    """The characters of a string in quotes."""
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])


def global_name(token: str) -> str:
    """The name in a token `@name` or `@"name"`."""
    return unescaped(token[1:]) if token[1] == '"' else token[1:]
