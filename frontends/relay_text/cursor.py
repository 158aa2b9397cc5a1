"""Reading tokens one after the other: what the parsers of types and of expressions share."""

from collections.abc import Iterator
from typing import NoReturn

from xrelay.frontends.relay_text.errors import RelayTextError
from xrelay.frontends.relay_text.literals import INT64, int64
from xrelay.frontends.relay_text.syntax import MOST_NESTED
from xrelay.frontends.relay_text.tokens import Kind, Tokens


class Cursor:
    """A place between tokens."""

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.index = 0

    @property
    def position(self) -> int:
        """Where the next token begins in the text."""
        return self.tokens.positions[self.index]

    def error(self, message: str, position: int | None = None) -> RelayTextError:
        """A diagnostic about the next token, or another position."""
        return self.tokens.source.error(self.position if position is None else position, message)

    def unexpected(self, expected: str) -> NoReturn:
        """Raises the diagnostic that the next token is not what was expected."""
        found = self.texts[self.index]
        end = self.kinds[self.index] is Kind.END
        raise self.error(
            f"found {'the end of the text' if end else repr(found)}, expected {expected}"
        )

    def limit_nesting(self, nesting: int, what: str) -> None:
        """Refuses what the IR holds as nested attributes when it nests too deep here."""
        if nesting > MOST_NESTED:
            raise self.error(f"{what} nest more than {MOST_NESTED} deep")

    def next_token(self) -> tuple[Kind, str, int]:
        """The kind, the text and the position of the next token."""
        return self.kinds[self.index], self.texts[self.index], self.position

    def at(self, text: str) -> bool:
        """Whether the next token is this punctuation or keyword."""
        return self.texts[self.index] == text and self.kinds[self.index] is not Kind.STRING

    def accept(self, text: str) -> bool:
        """Takes this punctuation or keyword if it is next."""
        if self.at(text):
            self.index += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Takes this punctuation or keyword, which must be next."""
        if not self.at(text):
            self.unexpected(f"'{text}'")
        self.index += 1

    def items(self, end: str) -> Iterator[None]:
        """Yields where each item of a list begins; takes the commas between them, and `end`."""
        while not self.accept(end):
            yield
            if not self.at(end):
                self.expect(",")

    def take(self, kind: Kind, expected: str) -> str:
        """Takes the next token, which must be of this kind."""
        if self.kinds[self.index] is not kind:
            self.unexpected(expected)
        self.index += 1
        return self.texts[self.index - 1]

    def take_integer(self, expected: str) -> int:
        """Takes an integer, with or without a suffix that states its type."""
        text = self.texts[self.index]
        if self.kinds[self.index] is Kind.NUMBER:
            digits = text.rstrip("0123456789").rstrip("iu") if not text.isdigit() else text
            if digits.isdigit():
                return self._int64(digits)
        self.unexpected(expected)

    def take_entry(self) -> tuple[str, int]:
        """Takes `[key][index]`, an entry of the metadata section."""
        self.expect("[")
        key = self.take(Kind.NAME, "the kind of an entry of the metadata section")
        self.expect("]")
        self.expect("[")
        index = self.take_integer("the number of an entry of the metadata section")
        self.expect("]")
        return key, index

    def take_field(self) -> int:
        """Takes the number of a field (`.2`), which must be next."""
        assert self.kinds[self.index] is Kind.FIELD
        return self._int64(self.texts[self.index][1:])

    def _int64(self, digits: str) -> int:
        try:
            value = int64(digits)
        except ValueError:
            raise self.error(f"found {digits}, expected {INT64}") from None
        self.index += 1
        return value
