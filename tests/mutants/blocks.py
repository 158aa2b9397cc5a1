"""
Code that notes what of it runs, in a table that processes share.

Functions fall into blocks: statements that run one after the other when the first does. Each block begins with
a store into the table, at the number of the block. That costs a tenth of what tracing each line does, and sees
other threads and processes.
"""

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import cast
from zlib import crc32

from tests.mutants.served import TABLE
from tests.mutants.source import Source

LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""What ends a block although it stands within another."""


@dataclass(frozen=True)
class Block:
    """Statements that run one after the other."""

    file: str
    function: str
    text: str
    """A digest of the function's text: another one has other blocks."""
    number: int
    """Which block of the function it is."""
    start: int
    end: int

    @property
    def name(self) -> str:
        """What it is called as long as the function is the same, wherever in the file that stands."""
        return f"{self.file}:{self.function}:{self.text}:{self.number}"


class Noting(ast.NodeVisitor):
    """Puts stores into a tree. `number` gives the number of a block by its name."""

    def __init__(self, source: Source, number: Callable[[str], int]):
        self.source = source
        self.number = number
        self.blocks: list[Block] = []
        self._scopes: list[str] = []
        self._texts: list[str] = []
        self._counts = Counter[str]()
        """How many functions of a name there were, and how many blocks of a function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Notes the blocks of a function."""
        # Only the body belongs to it.
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        self._enter(node.name, node)
        # A store in front of the doc string would make it a statement.
        described = int(ast.get_docstring(node, clean=False) is not None)
        node.body[described:] = self._noted(node.body[described:])
        self._leave()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Looks for functions in a class."""
        self._scopes.append(node.name)
        self.generic_visit(node)
        self._scopes.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Notes a function without statements."""
        self._enter("<lambda>", node)
        number = self._begin(node.body, node.body)
        self.visit(node.body)
        store = ast.parse(f"{TABLE}.__setitem__({number}, 1)", mode="eval").body
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [store, node.body]), node.body)
        self._leave()

    def _enter(self, name: str, node: ast.AST) -> None:
        text = self.source.data[self.source.start(node) : self.source.end(node)]
        self._texts.append(f"{crc32(text):08x}")
        path = ".".join((*self._scopes, name))
        self._counts[path] += 1
        count = self._counts[path]
        self._scopes.append(name if count == 1 else f"{name}#{count}")

    def _leave(self) -> None:
        self._scopes.pop()
        self._texts.pop()

    def _begin(self, first: ast.AST, last: ast.AST) -> int:
        function = ".".join(self._scopes)
        place = self.source.start(first), self.source.end(last)
        count = self._counts[f"{function}:"]
        self._counts[f"{function}:"] += 1
        block = Block(self.source.path, function, self._texts[-1], count, *place)
        self.blocks.append(block)
        return self.number(block.name)

    def _noted(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements with stores between them."""
        result: list[ast.stmt] = []
        ends = [n for n, each in enumerate(body) if n + 1 == len(body) or may_leave(each)]
        for number, statement in enumerate(body):
            if number == 0 or number - 1 in ends:
                last = body[min(end for end in ends if end >= number)]
                store = ast.parse(f"{TABLE}[{self._begin(statement, last)}] = 1").body[0]
                ast.copy_location(store, statement)
                result.append(store)
            self._within(statement)
            result.append(statement)
        return result

    def _within(self, node: ast.AST) -> None:
        """Notes what stands within a statement of a function."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            self.visit(node)
            return
        for name in ("body", "orelse", "finalbody"):
            body = cast(Sequence[ast.stmt] | ast.expr, getattr(node, name, ()))
            if isinstance(body, Sequence) and body:
                setattr(node, name, self._noted(body))
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt):
                self._within(child)


def may_leave(statement: ast.stmt) -> bool:
    """Whether what follows a statement may not run although that ends."""
    return any(isinstance(each, LEAVING) for each in ast.walk(statement))


def noting_code(source: Source, number: Callable[[str], int], path: str) -> CodeType:
    """A file's code with stores."""
    tree = ast.parse(source.data)
    Noting(source, number).visit(tree)
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def blocks(source: Source) -> list[Block]:
    """The blocks of a file."""
    noting = Noting(source, lambda _: 0)
    noting.visit(ast.parse(source.data))
    return noting.blocks


def block_at(found: Sequence[Block], offset: int) -> Block | None:
    """The innermost of some blocks around a place; None for what runs when the file is imported."""
    around = [block for block in found if block.start <= offset < block.end]
    return min(around, key=lambda block: block.end - block.start, default=None)
