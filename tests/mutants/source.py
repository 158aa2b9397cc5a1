"""A source file as text and as a tree, and one change of its text."""

import ast
import io
import tokenize
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import cast

OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Edit:
    """Another text for a piece of a file."""

    operator: str
    """The name of what is done."""
    start: int
    """The offset of the first byte that goes."""
    end: int
    """The offset behind the last one."""
    text: str
    """What comes instead."""


@dataclass(frozen=True)
class Token:
    """A piece of a file, by offsets in bytes."""

    start: int
    end: int
    text: str


class Source:
    """A Python file. Offsets count bytes, as those of `ast` do."""

    def __init__(self, path: str, data: bytes):
        self.path = path
        """Where it is, from the top of the tree."""
        self.data = data

    @classmethod
    def read(cls, root: Path, path: str) -> "Source":
        """Reads a file of the tree."""
        return cls(path, (root / path).read_bytes())

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.data)

    @cached_property
    def _lines(self) -> list[int]:
        """Where each line begins, and the end."""
        lengths = map(len, self.data.splitlines(keepends=True))
        return list(accumulate(lengths, initial=0))

    def start(self, node: ast.AST) -> int:
        """Where a node begins."""
        located = cast(ast.expr, node)
        return self._lines[located.lineno - 1] + located.col_offset

    def end(self, node: ast.AST) -> int:
        """Where it ends."""
        located = cast(ast.expr, node)
        return self._lines[cast(int, located.end_lineno) - 1] + cast(int, located.end_col_offset)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column, both from 1, of an offset. Columns count characters."""
        line = bisect_left(self._lines, offset + 1)
        return line, len(self.text(self._lines[line - 1], offset)) + 1

    def text(self, start: int, end: int) -> str:
        """A piece of the file."""
        return self.data[start:end].decode()

    def changed(self, edit: Edit) -> bytes:
        """The file after a change."""
        return self.data[: edit.start] + edit.text.encode() + self.data[edit.end :]

    def touched(self, edit: Edit) -> tuple[int, int]:
        """The offsets of the whole lines that a change touches."""
        first, _ = self.position(edit.start)
        last, _ = self.position(max(edit.start, edit.end - 1))
        return self._lines[first - 1], self._lines[last]

    @cached_property
    def tokens(self) -> list[Token]:
        """All that has a text, without comments."""
        lines = self.data.decode().splitlines(keepends=True)
        unseen = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT)

        def offset(place: tuple[int, int]) -> int:
            line, column = place
            return self._lines[line - 1] + len(lines[line - 1][:column].encode())

        read = tokenize.generate_tokens(io.StringIO(self.data.decode()).readline)
        return [
            Token(offset(each.start), offset(each.end), each.string)
            for each in read
            if each.type not in unseen and each.string
        ]

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def between(self, start: int, end: int) -> list[Token]:
        """The tokens within a piece of the file."""
        return self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def outer(self, node: ast.AST, within: ast.AST) -> tuple[int, int]:
        """The piece that a node takes up with the parentheses around it, as a part of another node."""
        low, high = self.start(within), self.end(within)
        first = bisect_left(self._starts, self.start(node)) - 1
        last = bisect_left(self._starts, self.end(node))
        start, end = self.start(node), self.end(node)
        while 0 <= first and last < len(self.tokens):
            before, after = self.tokens[first], self.tokens[last]
            if before.text != "(" or after.text != ")" or before.start < low or after.end > high:
                break
            start, end = before.start, after.end
            first, last = first - 1, last + 1
        return start, end
