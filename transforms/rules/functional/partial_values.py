"""
Values of which a part is known while a program is made: for `partial-eval`.

A value is a place in the new program (`Partial.dynamic`) and what is known of it (`Partial.static`): an array, the
values in a tuple or in a data type, which cell it is, which function. `Store` is what is known to be in cells,
`Fuel` what makes the expansion of calls end.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.core.adt import (
    ConstructorPatternAttr,
    TuplePatternAttr,
    VarPatternAttr,
    WildcardPatternAttr,
    constructor_name,
)
from xrelay.dialects.core.functional import ClosureOp, Instance, replace_type_vars, type_params_of
from xrelay.interpreters.arrays import Array


@dataclass(eq=False)
class Partial:
    """A value of the new program, and what is known of it."""

    dynamic: SSAValue
    static: "Static | None"
    time: int
    """Values get numbers as they are made."""


@dataclass(frozen=True)
class Fields:
    """The values in a tuple, or with a name in a value of a data type."""

    values: Sequence[Partial]
    constructor: str | None = None


@dataclass(eq=False)
class Cell:
    """A cell that one operation made, of which `Store` may know the content."""


@dataclass(eq=False)
class Scope:
    """The values of the old program that are known in a block, and its types for type parameters."""

    around: "Scope | None" = None
    types: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    values: dict[SSAValue, Partial] = field(default_factory=dict[SSAValue, Partial])

    def __getitem__(self, value: SSAValue) -> Partial:
        scope: Scope | None = self
        while scope is not None:
            found = scope.values.get(value)
            if found is not None:
                return found
            scope = scope.around
        raise KeyError(value)

    def __setitem__(self, value: SSAValue, partial: Partial) -> None:
        self.values[value] = partial


@dataclass(eq=False)
class Function:
    """A function of the old program, with what it uses from outside."""

    source: ClosureOp | func.FuncOp
    scope: Scope
    itself: Partial | None = None
    """The function as a value of the new program, for those that may call themselves by it."""


@dataclass(frozen=True)
class Constructor:
    """The function that makes a value of a data type."""

    constructor: SymbolRefAttr


Static: TypeAlias = Array | Fields | Cell | Function | Constructor


def known_value(partial: Partial) -> Any | None:
    """The array, or the tuple of arrays, that a value is; None when not all of it is known."""
    static = partial.static
    if isinstance(static, np.ndarray):
        return static
    if not isinstance(static, Fields) or static.constructor is not None:
        return None
    values = [known_value(each) for each in static.values]
    return None if any(value is None for value in values) else tuple(values)


class Clock:
    """Makes values, and numbers them."""

    def __init__(self):
        self._numbers = count()

    def __call__(self, dynamic: SSAValue, static: Static | None = None) -> Partial:
        return Partial(dynamic, static, next(self._numbers))


class Store:
    """
    What cells hold. A scope that may or may not run sees what is known around it, and is left as it was entered;
    after something unknown nothing is known, up to the end of the scope.
    """

    def __init__(self):
        self._scopes: list[tuple[dict[Cell, Partial], bool]] = [({}, True)]
        """For each scope, the innermost last, what is known since, and whether that is all that is known."""

    def enter(self) -> None:
        """Begins a scope."""
        self._scopes.append(({}, False))

    def leave(self) -> None:
        """Ends a scope: what happened in it has not happened."""
        self._scopes.pop()

    def forget(self) -> None:
        """Anything may have been written."""
        self._scopes[-1] = {}, True

    def write(self, cell: Cell, value: Partial) -> None:
        """Notes what a cell holds."""
        self._scopes[-1][0][cell] = value

    def read(self, cell: Cell) -> Partial | None:
        """What a cell holds, None when that is not known."""
        for known, is_all in reversed(self._scopes):
            if cell in known or is_all:
                return known.get(cell)
        return None


Amount: TypeAlias = list[tuple[int, int]]
"""For each argument of a call: when it was made, and which number it is."""


class Fuel:
    """
    What makes the expansion of calls end. Within the expansion of a call of a function another one is expanded only if
    an argument is older than that of the calls around it, as parts of a list are, or a smaller number.
    """

    def __init__(self):
        self._left: dict[Operation, list[Amount]] = {}
        """What is left in the expansions of calls of each function, the innermost last."""

    def enter(self, function: Operation, args: Sequence[Partial], *, forced: bool) -> bool:
        """Whether a call may be expanded; it is under way then."""
        amount = [(arg.time, _number(arg)) for arg in args]
        left = self._left.setdefault(function, [])
        if left:
            pairs = zip(left[-1], amount, strict=True)
            amount = [(min(a, c), min(b, d)) for (a, b), (c, d) in pairs]
            if amount == left[-1] and not forced:
                return False
        left.append(amount)
        return True

    def leave(self, function: Operation) -> None:
        """Ends an expansion."""
        self._left[function].pop()


class Circles:
    """
    What keeps functions that call each other from being expanded in every order: of such a group, as long as a call of one
    of them is expanded, a call of which no argument is known is expanded once for each function.
    """

    def __init__(self, groups: Iterable[Iterable[Operation]]):
        self._groups = {function: n for n, group in enumerate(groups) for function in group}
        self._around: Counter[int] = Counter()
        """How many calls of each group are expanded at present."""
        self._done: dict[int, set[Operation]] = {}

    def enter(self, function: Operation, args: Sequence[Partial], *, forced: bool) -> bool:
        """Whether a call may be expanded; it is under way then."""
        group = self._groups.get(function)
        if group is None:
            return True
        done = self._done.setdefault(group, set())
        if all(arg.static is None for arg in args):
            if function in done and not forced:
                return False
            done.add(function)
        self._around[group] += 1
        return True

    def leave(self, function: Operation) -> None:
        """Ends an expansion."""
        group = self._groups.get(function)
        if group is not None:
            self._around[group] -= 1
            if not self._around[group]:
                self._done[group].clear()


def _number(arg: Partial) -> int:
    """The number that an argument is, 0 when it is none or is not known."""
    static = arg.static
    if (
        isinstance(static, np.ndarray)
        and not static.shape
        and static.dtype.name in ("int32", "int64")
    ):
        return max(0, int(static))
    return 0


def matched(pattern: Attribute, value: Partial) -> tuple[bool | None, list[Partial]]:
    """Whether a value matches, None when that is not known; and if so the values of the pattern's variables in order."""
    found: list[Partial] = []
    matches: bool | None = True
    pending = [(pattern, value)]
    while pending:
        pattern, value = pending.pop()
        match pattern, value.static:
            case WildcardPatternAttr(), _:
                continue
            case VarPatternAttr(), _:
                found.append(value)
            case ((TuplePatternAttr() | ConstructorPatternAttr()), Fields() as known):
                name = None
                if isinstance(pattern, ConstructorPatternAttr):
                    name = constructor_name(pattern.constructor)
                if known.constructor != name:
                    return False, []
                pending.extend(reversed(list(zip(pattern.fields, known.values, strict=True))))
            case _:
                matches = None
    return matches, found


def type_params(function: ClosureOp | func.FuncOp) -> tuple[str, ...]:
    """The names of the type parameters of a function."""
    if isinstance(function, func.FuncOp):
        return type_params_of(function)
    return tuple(name.data for name in function.type_params or ())


def types_of_call(
    function: ClosureOp | func.FuncOp, given: Sequence[Attribute], around: dict[str, Attribute]
) -> dict[str, Attribute]:
    """The types for type parameters in a call, from the types of its arguments and results."""
    names = type_params(function)
    if not names:
        return around
    end = function.body.block.last_op
    assert end is not None
    params = function.params if isinstance(function, ClosureOp) else function.body.block.args
    instance = Instance(names)
    outer = {name: type_ for name, type_ in around.items() if name not in names}
    for value, type_ in zip((*params, *end.operands), given, strict=True):
        instance.match(replace_type_vars(value.type, outer), type_)
    return {**outer, **instance.chosen}
