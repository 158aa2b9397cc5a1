"""
The changes that are made: mistakes of one place, as people make them.

Each function takes a node and gives the changes of its text. Some look at what stands around the node:
`parents` are the nodes from the file down to the one that it belongs to.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import cast

from tests.mutants.source import Edit, Source

Parents = Sequence[ast.AST]
Operator = Callable[[Source, ast.AST, Parents], Iterator[Edit]]

COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
ARITHMETIC = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "//": "*",
    "%": "//",
    "**": "*",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
}
"""Also with `=` behind."""
SWAPPED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod)
"""The operators whose operands do not change places without harm."""
NAMES = {
    name: other
    for pair in (
        *(("min", "max"), ("any", "all"), ("floor", "ceil"), ("minimum", "maximum")),
        *(("argmin", "argmax"), ("startswith", "endswith"), ("zeros", "ones"), ("first", "last")),
    )
    for name, other in (pair, pair[::-1])
}
"""Functions that are taken for one another."""
AXES = ("axis", "axes", "dim")
"""The names of arguments that count axes."""
UNORDERED = {
    "min",
    "max",
    "isinstance",
    "issubclass",
    "getattr",
    "hasattr",
    "setattr",
    "traits_def",
}
"""The functions whose arguments nobody takes for one another, or that do not care."""
SYMMETRIC = {
    *("add", "mul", "multiply", "both", "either", "gcd", "lcm", "maximum", "minimum", "swapaxes"),
    *("AddOp", "MultiplyOp", "AddiOp", "AddfOp", "MuliOp", "MulfOp"),
}
"""The functions that do not care when they have two arguments, which are added, multiplied, joined or swapped."""
LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Raise)


def compared(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """`<` for `<=`, `==` for `!=`, `is None` for `is not None`, `in` for `not in`."""
    if isinstance(node, ast.Compare):
        for left, right in pairwise([node.left, *node.comparators]):
            start, _ = source.outer(right, node)
            words = source.between(source.end(left), start)
            found = [word for word in words if word.text not in "()"]
            other = COMPARISONS[" ".join(word.text for word in found)]
            yield Edit("compare", found[0].start, found[-1].end, other)


def integers(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """One more or one less than an integer; the other end as index or axis."""
    value = integer(node)
    if value is None:
        return
    start, end = source.start(node), source.end(node)
    yield Edit("int+1", start, end, str(value + 1))
    if is_first_of_one(node, parents[-1]):
        return
    yield Edit("int-1", start, end, str(value - 1))
    if value in (0, -1) and counts_axes(node, parents):
        yield Edit("other-end", start, end, str(-1 - value))


def integer(node: ast.AST) -> int | None:
    """The value of an integer as it is written."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = integer(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def is_first_of_one(node: ast.AST, parent: ast.AST) -> bool:
    """Whether an integer stands for the first of what is mostly one: the last is the same."""
    match parent:
        case ast.Subscript(value=ast.Attribute(attr="results" | "regions"), slice=index):
            return index is node and integer(node) == 0
        case _:
            return False


def counts_axes(node: ast.AST, parents: Parents) -> bool:
    """Whether an integer is an index or the argument of an axis."""
    parent = parents[-1]
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    return isinstance(parent, ast.keyword) and parent.arg in AXES


def booleans(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """`True` for `False`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield Edit("bool", source.start(node), source.end(node), str(not node.value))


def conditions(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """A part of `and` or `or` away; one for the other."""
    if not isinstance(node, ast.BoolOp):
        return
    name = "and" if isinstance(node.op, ast.And) else "or"
    spans = [source.outer(value, node) for value in node.values]
    for number, (start, end) in enumerate(spans):
        if number:
            yield Edit(f"drop-{name}", spans[number - 1][1], end, "")
        else:
            yield Edit(f"drop-{name}", start, spans[1][0], "")
    other = "or" if name == "and" else "and"
    for (_, end), (start, _) in pairwise(spans):
        (word,) = source.between(end, start)
        yield Edit(f"{name}-{other}", word.start, word.end, other)


def negations(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """`not` away."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start, _ = source.outer(node.operand, node)
        yield Edit("drop-not", source.start(node), start, "")


def guards(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """The opposite of a condition; a condition of a comprehension away."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        tests = [node.test]
    elif isinstance(node, ast.match_case) and node.guard:
        tests = [node.guard]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        start, end = source.start(test), source.end(test)
        if not isinstance(test, ast.Compare | ast.Constant | ast.UnaryOp):
            yield Edit("negate", start, end, f"not ({source.text(start, end)})")
        if isinstance(node, ast.comprehension):
            yield Edit("drop-if", start, end, "True")


def leaving(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """An early `return`, `continue`, `break` or `raise` away; `continue` for `break`."""
    if not isinstance(node, LEAVING) or not isinstance(parents[-1], ast.If | ast.match_case):
        return
    start, end = source.start(node), source.end(node)
    yield Edit(f"drop-{type(node).__name__.lower()}", start, end, "pass")
    if isinstance(node, ast.Continue):
        yield Edit("continue-break", start, end, "break")


def dropped_calls(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """A call for its effect away."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield Edit("drop-call", source.start(node), source.end(node), "pass")


def called_names(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """`min` for `max`, `any` for `all`, and their like."""
    if isinstance(node, ast.Call):
        name = called(node)
        if name in NAMES:
            end = source.end(node.func)
            yield Edit("other-name", end - len(name), end, NAMES[name])


def called(node: ast.Call) -> str:
    """The last name of what is called; nothing for what has none."""
    match node.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def arguments(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """Neighbouring arguments of the same kind in each other's place; one less of `range`."""
    if not isinstance(node, ast.Call):
        return
    if called(node) == "range":
        last = node.args[min(1, len(node.args) - 1)]
        if integer(last) is None:
            start, end = source.start(last), source.end(last)
            yield Edit("range-1", start, end, f"{source.text(start, end)} - 1")
    if called(node) in UNORDERED or (called(node) in SYMMETRIC and len(node.args) == 2):
        return
    for left, right in pairwise(node.args):
        if type(left) is type(right) and not isinstance(left, ast.Starred | ast.Lambda):
            yield from swapped(source, "swap-arguments", left, right, node)


def swapped(
    source: Source, name: str, left: ast.AST, right: ast.AST, within: ast.AST
) -> Iterator[Edit]:
    """Two parts of a node in each other's place."""
    # Arguments start behind the parenthesis of the call, which is not theirs.
    inner = not isinstance(within, ast.Call)
    spans = [
        source.outer(part, within) if inner else (source.start(part), source.end(part))
        for part in (left, right)
    ]
    (start, left_end), (right_start, end) = spans
    first, last = source.text(start, left_end), source.text(right_start, end)
    if first != last:
        middle = source.text(left_end, right_start)
        yield Edit(name, start, end, f"{last}{middle}{first}")


def arithmetic(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """`+` for `-`, `//` for `*`, and their like; operands in each other's place; one away of `|`."""
    if not isinstance(node, ast.BinOp):
        return
    left, right = source.outer(node.left, node), source.outer(node.right, node)
    if isinstance(node.op, ast.BitOr):
        yield Edit("drop-or", left[0], right[0], "")
        yield Edit("drop-or", left[1], right[1], "")
        return
    joins = isinstance(node.op, ast.Add) and (is_sequence(node.left) or is_sequence(node.right))
    if joins or isinstance(node.op, SWAPPED):
        yield from swapped(source, "swap-operands", node.left, node.right, node)
    if not joins:
        (word,) = source.between(left[1], right[0])
        if word.text in ARITHMETIC:
            yield Edit("arithmetic", word.start, word.end, ARITHMETIC[word.text])


def is_sequence(node: ast.AST) -> bool:
    """Whether something is a text or a list as it is written."""
    match node:
        case ast.Constant(str() | bytes()):
            return True
        case ast.Subscript(slice=ast.Slice()):
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_sequence(left) or is_sequence(right)
        case _:
            return isinstance(node, ast.JoinedStr | ast.Tuple | ast.List | ast.ListComp)


def augmented(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """`+=` for `-=`, and their like."""
    if isinstance(node, ast.AugAssign):
        word = source.between(source.end(node.target), source.start(node.value))[0]
        sign = word.text.removesuffix("=")
        if sign in ARITHMETIC:
            yield Edit("arithmetic", word.start, word.end, f"{ARITHMETIC[sign]}=")


def slices(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """A bound of a slice away, or one further."""
    if isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper):
            if bound is None:
                continue
            start, end = source.start(bound), source.end(bound)
            yield Edit("drop-bound", start, end, "")
            if integer(bound) is None:
                yield Edit("bound+1", start, end, f"{source.text(start, end)} + 1")


def elements(source: Source, node: ast.AST, parents: Parents) -> Iterator[Edit]:
    """An element away of a table, of what `in` looks into, or of alternatives."""
    if isinstance(node, ast.MatchOr):
        yield from dropped(source, node.patterns, node.patterns, node)
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and is_table(node, parents):
        yield from dropped(source, node.elts, node.elts, node)
    if isinstance(node, ast.Dict) and is_table(node, parents) and None not in node.keys:
        yield from dropped(source, cast(list[ast.expr], node.keys), node.values, node)


def is_table(node: ast.AST, parents: Parents) -> bool:
    """Whether what stands in brackets is a set of alternatives, not fields that others unpack."""
    parent = parents[-1]
    if isinstance(parent, ast.Subscript) or isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[-1], ast.In | ast.NotIn)
    if isinstance(parent, ast.Call) and called(parent) in ("isinstance", "issubclass"):
        return True
    is_value = isinstance(parent, ast.Assign | ast.AnnAssign | ast.Call)
    return is_value and not any(isinstance(each, ast.FunctionDef | ast.Lambda) for each in parents)


def dropped(
    source: Source, firsts: Sequence[ast.AST], lasts: Sequence[ast.AST], within: ast.AST
) -> Iterator[Edit]:
    """Each of several parts away, with what stands between it and the next."""
    if len(firsts) < 2:
        return
    starts = [source.outer(each, within)[0] for each in firsts]
    ends = [source.outer(each, within)[1] for each in lasts]
    for number, start in enumerate(starts[:-1]):
        yield Edit("drop-element", start, starts[number + 1], "")
    yield Edit("drop-element", ends[-2], ends[-1], "")


OPERATORS: tuple[Operator, ...] = (
    *(compared, integers, booleans, conditions, negations, guards, leaving, dropped_calls),
    *(called_names, arguments, arithmetic, augmented, slices, elements),
)


def edits(source: Source, node: ast.AST, parents: Parents) -> list[Edit]:
    """All changes of one node."""
    return [edit for operator in OPERATORS for edit in operator(source, node, parents)]
