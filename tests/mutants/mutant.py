"""Where a tree can be changed, and the sample that is drawn of that."""

import ast
import difflib
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from tests.mutants.operators import Parents, called, edits
from tests.mutants.source import Edit, Source

SILENT_ENDS = ("Error", "Exception", "Warning")
"""Endings of the names of calls whose arguments are messages."""
SILENT = ("warn", "TypeVar", "NewType", "field", "overload")
"""The names of other calls whose arguments are messages, types, or for people who look."""
TABLES_OF_NAMES = ("__all__", "__slots__", "__match_args__")


@dataclass(frozen=True)
class Mutant:
    """A tree with one change."""

    source: Source
    edit: Edit

    @cached_property
    def identity(self) -> str:
        """What names it: file, line, column, and what is done there."""
        line, column = self.source.position(self.edit.start)
        return f"{self.source.path}:{line}:{column}:{self.edit.operator}"

    @property
    def folder(self) -> str:
        """The top folder of its file."""
        return self.source.path.partition("/")[0]

    @cached_property
    def data(self) -> bytes:
        """The changed file."""
        return self.source.changed(self.edit)

    @cached_property
    def lines(self) -> tuple[str, str]:
        """The lines that change, before and after, as the list of equivalents states them."""
        start, end = self.source.touched(self.edit)
        after = end + len(self.data) - len(self.source.data)
        before = self.source.data[start:end].decode()
        return stated(before), stated(self.data[start:after].decode())

    @property
    def diff(self) -> str:
        """The change, as `diff -u` shows it."""
        before, after = self.source.data.decode(), self.data.decode()
        path = self.source.path
        found = difflib.unified_diff(
            before.splitlines(), after.splitlines(), path, path, n=2, lineterm=""
        )
        return "\n".join(found)

    def is_one(self) -> bool:
        """Whether it is Python, and another program."""
        try:
            tree = ast.parse(self.data)
        except SyntaxError:
            return False
        return ast.dump(tree) != ast.dump(self.source.tree)


def stated(text: str) -> str:
    """Lines without what they are indented by."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def mutants(source: Source) -> list[list[Mutant]]:
    """The changes of a file, those of one node together."""
    found = ((source, edits(source, node, parents)) for node, parents in nodes(source.tree, ()))
    return [[Mutant(each, edit) for edit in changes] for each, changes in found if changes]


def nodes(node: ast.AST, parents: Parents) -> Iterator[tuple[ast.AST, Parents]]:
    """All nodes that mean something when the program runs, with what stands around them."""
    if is_silent(node):
        return
    if parents:
        yield node, parents
    for child in meaningful(node):
        yield from nodes(child, (*parents, node))


def is_silent(node: ast.AST) -> bool:
    """Whether a node is about types, or for people who look: no test can ask for it."""
    match node:
        case ast.FunctionDef(name="__repr__") | ast.Assert() | ast.JoinedStr():
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Compare(left=ast.Name("__name__"))):
            return True
        case ast.Assign(targets=[ast.Name(name)], value=value):
            return name in TABLES_OF_NAMES or is_type(value)
        case ast.Call():
            return called(node) in SILENT or called(node).endswith(SILENT_ENDS)
        case _:
            return False


def meaningful(node: ast.AST) -> Iterable[ast.AST]:
    """
    The children of a node that mean something when the program runs: no annotations, decorators, or what is raised,
    and no integers apart from their signs.
    """
    match node:
        case ast.Raise() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return ()
        case ast.FunctionDef(args=args, body=body):
            return (*args.defaults, *(each for each in args.kw_defaults if each), *body)
        case ast.ClassDef(body=body):
            return body
        case ast.AnnAssign(value=value):
            return () if value is None else (value,)
        case ast.Call():
            return meaningful_arguments(node)
        case _:
            return ast.iter_child_nodes(node)


def meaningful_arguments(node: ast.Call) -> Iterable[ast.AST]:
    """The parts of a call that mean something when the program runs."""
    if called(node) == "cast":
        return node.args[1:]
    # Lists of different length are a mistake of our own, which nothing shows on purpose.
    keywords = [each for each in node.keywords if each.arg != "strict"]
    return (node.func, *node.args, *keywords)


def is_type(node: ast.AST) -> bool:
    """Whether what is assigned is a name for a type."""
    if not isinstance(node, ast.Subscript | ast.BinOp):
        return False
    return all(
        isinstance(
            each,
            ast.Name | ast.Attribute | ast.Subscript | ast.Tuple | ast.List | ast.Constant,
        )
        or (isinstance(each, ast.BinOp) and isinstance(each.op, ast.BitOr))
        for each in ast.walk(node)
        if not isinstance(each, ast.expr_context | ast.operator)
    ) and not any(
        isinstance(each, ast.Constant) and type(each.value) is int for each in ast.walk(node)
    )


def draw(sources: Iterable[Source], count: int, seed: int) -> list[Mutant]:
    """
    A sample: each place of a change has the same chance, and those of one file are spread over it.
    Of the changes of one place, one is drawn.
    """
    random = Random(seed)
    places = [place for source in sources for place in mutants(source)]
    count = min(count, len(places))
    step = len(places) / max(count, 1)
    offset = random.random()
    drawn: list[Mutant] = []
    for number in range(count):
        # Where no change of a place makes another program, the next place is taken.
        first = int((number + offset) * step)
        near = (places[(first + further) % len(places)] for further in range(len(places)))
        options = (random.sample(place, len(place)) for place in near)
        drawn.append(
            next(
                each for option in options for each in option if each not in drawn and each.is_one()
            )
        )
    return drawn


def find(root: Path, identity: str) -> Mutant:
    """The mutant of a name; raises LookupError when the tree has none."""
    path = identity.partition(":")[0]
    if not (root / path).is_file():
        raise LookupError(f"there is no file '{path}' for the mutant '{identity}'")
    for place in mutants(Source.read(root, path)):
        for mutant in place:
            if mutant.identity == identity:
                return mutant
    raise LookupError(f"there is no mutant '{identity}'; has '{path}' changed since?")


@dataclass(frozen=True)
class Equivalent:
    """A change that no test can notice."""

    file: str
    original: str
    """The lines that change, without what they are indented by."""
    mutated: str
    """The lines after the change."""
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        """Whether it is this one, wherever in the file it stands."""
        lines = stated(self.original), stated(self.mutated)
        return self.file == mutant.source.path and lines == mutant.lines


def equivalents(path: Path) -> Sequence[Equivalent]:
    """The list of a file."""
    return [Equivalent(**each) for each in tomllib.loads(path.read_text()).get("mutant", [])]
