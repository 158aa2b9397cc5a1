"""Which functions of a module use which: by calls, as values, or in any other way that names them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute

from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, has_flag
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk


@cache
def _parts_of(kind: type[Attribute]) -> Callable[[Any], Iterable[Attribute]] | None:
    """What gives the attributes within those of a class; None where there are none. Classes are asked once: that takes time."""
    if issubclass(kind, ArrayAttr):
        return lambda attribute: attribute.data
    if issubclass(kind, DictionaryAttr):
        return lambda attribute: attribute.data.values()
    if issubclass(kind, ParametrizedAttribute):
        return lambda attribute: attribute.parameters
    return None


def symbols_in(attributes: Iterable[Attribute]) -> Iterator[str]:
    """The symbols that some attributes name."""
    pending = list(attributes)[::-1]
    while pending:
        attribute = pending.pop()
        if type(attribute) is SymbolRefAttr:
            yield attribute.root_reference.data
            continue
        parts = _parts_of(type(attribute))
        if parts is not None:
            pending.extend(reversed(list(parts(attribute))))


def symbols_used(op: Operation) -> dict[str, None]:
    """The symbols that an operation and those within it name, in order."""
    found: dict[str, None] = {}
    for each in walk(op):
        for attributes in (each.properties, each.attributes):
            if attributes:
                found.update(dict.fromkeys(symbols_in(attributes.values())))
    return found


def callee(op: Operation) -> str | None:
    """The function that an operation calls by its name."""
    return op.callee.string_value() if isinstance(op, func.CallOp) else None


@dataclass(frozen=True)
class CallGraph:
    """The functions at the top of a module."""

    functions: dict[str, func.FuncOp]
    uses: dict[str, tuple[str, ...]]
    """For each function the functions that it uses, in the order of the first use."""
    used_elsewhere: frozenset[str]
    """What is used by those operations of the module that are not functions."""

    @classmethod
    def of_module(cls, module: ModuleOp) -> "CallGraph":
        """The call graph of a module."""
        ops = list(module.body.block.ops)
        functions = {op.sym_name.data: op for op in ops if isinstance(op, func.FuncOp)}
        uses = {
            name: tuple(symbol for symbol in symbols_used(op) if symbol in functions)
            for name, op in functions.items()
        }
        elsewhere = [symbols_used(op) for op in ops if not isinstance(op, func.FuncOp)]
        return cls(functions, uses, frozenset(name for names in elsewhere for name in names))

    @cached_property
    def users(self) -> dict[str, list[str]]:
        """For each function the functions that use it."""
        users: dict[str, list[str]] = {name: [] for name in self.functions}
        for name, used in self.uses.items():
            for each in used:
                users[each].append(name)
        return users

    def require(self, entries: Iterable[str]) -> None:
        """Raises PassOptionError for entries that the module does not have."""
        for entry in entries:
            if entry not in self.functions:
                raise PassOptionError(
                    f"'entry-functions' has {entry}, the module has "
                    + (", ".join(self.functions) or "no functions")
                )

    def reachable(self, entries: Iterable[str], *, users: bool = False) -> set[str]:
        """The functions that some functions need, or those that need them (`users`), they included."""
        following = self.users if users else self.uses
        pending = [name for name in entries if name in self.functions]
        found = set(pending)
        while pending:
            new = [name for name in following[pending.pop()] if name not in found]
            found.update(new)
            pending.extend(new)
        return found

    def callees_first(self) -> list[str]:
        """All functions, each after those that it uses; in a circle one of them comes first."""
        order: list[str] = []
        seen: set[str] = set()
        for start in self.functions:
            if start in seen:
                continue
            seen.add(start)
            path = [(start, iter(self.uses[start]))]
            while path:
                name, uses = path[-1]
                other = next((use for use in uses if use not in seen), None)
                if other is None:
                    path.pop()
                    order.append(name)
                else:
                    seen.add(other)
                    path.append((other, iter(self.uses[other])))
        return order

    def circles(self) -> list[list[str]]:
        """
        The functions that use each other, in groups of two or more.

        Source: M. Sharir, A strong-connectivity algorithm and its applications in data flow analysis, 1981.
        """
        found: list[list[str]] = []
        seen: set[str] = set()
        for start in reversed(self.callees_first()):
            group, pending = list[str](), [start]
            while pending:
                name = pending.pop()
                if name not in seen:
                    seen.add(name)
                    group.append(name)
                    pending.extend(self.users[name])
            if len(group) > 1:
                found.append(group)
        return found

    def inlinable(self, *, calls: bool = False) -> dict[str, func.FuncOp]:
        """
        The functions that can be inlined: with the attribute `Inline`, a body of one block, and uses
        of such functions only, so that no recursion is among them. Callees come first. With `calls`
        also those without the attribute, unless another compiler takes them, and with uses of any functions, unless they
        call themselves, through others or not.
        """
        found: dict[str, func.FuncOp] = {}
        recursive = {name for group in self.circles() for name in group} if calls else set[str]()
        for name in self.callees_first():
            function = self.functions[name]
            if (
                (
                    has_flag(function, ("Inline",))
                    or calls
                    and not has_flag(function, SKIPPED_FUNCTIONS)
                )
                and len(function.body.blocks) == 1
                and (
                    all(use in found for use in self.uses[name])
                    or (calls and name not in recursive and name not in self.uses[name])
                )
            ):
                found[name] = function
        return found
