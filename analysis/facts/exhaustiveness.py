"""
Whether the patterns of a `relay.match` match every value.

Source: Luc Maranget, Warnings for pattern matching (2007), algorithm I; Relay's match exhaustion, which lists all that
is missing.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute

from xrelay.analysis.facts.steps import Step, run
from xrelay.analysis.facts.symbols import Symbols
from xrelay.dialects.core.adt import (
    ConstructorPatternAttr,
    MatchOp,
    TuplePatternAttr,
    TypeDefOp,
    constructor_name,
)

Constructors: TypeAlias = Callable[[SymbolRefAttr], Sequence[tuple[str, int]]]
"""The constructors of the data type that one of them is of: their names, and how many fields they have."""

Row: TypeAlias = tuple[Attribute | None, ...]
"""Patterns for the parts of a value; None matches everything."""


def unmatched(patterns: Sequence[Attribute], constructors: Constructors) -> str | None:
    """A value, as a pattern, that none of these patterns matches; None when there is none."""
    found = run(_Search(constructors).unmatched([(pattern,) for pattern in patterns], 1))
    return None if found is None else found[0]


def unmatched_value(op: MatchOp, symbols: Symbols) -> str | None:
    """A value, as a pattern, that no clause of a `relay.match` matches; None when there is none."""

    def constructors(one: SymbolRefAttr) -> list[tuple[str, int]]:
        definition = symbols.lookup(op, one.root_reference.data)
        assert isinstance(definition, TypeDefOp)
        return [(name, len(each.fields)) for name, each in definition.by_name.items()]

    return unmatched(op.patterns.data, constructors)


@dataclass(frozen=True)
class _Search:
    constructors: Constructors

    def unmatched(self, rows: Sequence[Row], width: int) -> Step[list[str] | None]:
        """Values that no row of `width` patterns matches."""
        if not width:
            return None if rows else []
        anything: list[Row] = []
        """What is left of the rows that begin with a pattern that matches everything."""
        heads: dict[str | None, list[Row]] = {}
        arity: dict[str | None, int] = {}
        one: SymbolRefAttr | None = None
        for head, *rest in rows:
            if isinstance(head, TuplePatternAttr | ConstructorPatternAttr):
                name: str | None = None
                if isinstance(head, ConstructorPatternAttr):
                    one = head.constructor
                    name = constructor_name(one)
                heads.setdefault(name, []).append((*head.fields, *rest))
                arity[name] = len(head.fields)
            else:
                anything.append(tuple(rest))
        for name, specific in heads.items():
            count = arity[name]
            wider = [*specific, *((None,) * count + rest for rest in anything)]
            found = yield self.unmatched(wider, count + width - 1)
            if found is not None:
                return [_value(name, found[:count]), *found[count:]]
        others = None if one is None else self._without_clause(one, heads)
        if heads and not others:
            return None
        found = yield self.unmatched(anything, width - 1)
        return None if found is None else [others or "_", *found]

    def _without_clause(self, one: SymbolRefAttr, heads: Collection[str | None]) -> str | None:
        """A value of the data type of a constructor, made by one that is not among `heads`."""
        for name, count in self.constructors(one):
            if name not in heads:
                return _value(name, ["_"] * count)
        return None


def _value(name: str | None, fields: Sequence[str]) -> str:
    """A value as a pattern matches it: of a constructor, or without a name a tuple."""
    return f"{name or ''}({', '.join(fields)})" if fields or name is None else name
