"""Patterns of `match`: their attributes, and the types of their variables."""

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import SymbolRefAttr, TupleType
from xdsl.ir import Attribute

from xrelay.analysis.facts.exhaustiveness import unmatched
from xrelay.dialects.core.adt import (
    ConstructorPatternAttr,
    TuplePatternAttr,
    VarPatternAttr,
    WildcardPatternAttr,
    constructor_ref,
)
from xrelay.dialects.core.functional import AdtType
from xrelay.frontends.relay_text.errors import Source
from xrelay.frontends.relay_text.syntax import Constructor, Module, Pattern, Variable
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.types import Type, resolve, substituted


class Patterns:
    """What the patterns of a text mean."""

    def __init__(self, module: Module, source: Source):
        self.module = module
        self.source = source

    def constructor(self, pattern: Pattern) -> Constructor:
        """The constructor that a pattern names, with as many fields as the pattern."""
        assert pattern.name is not None and pattern.fields is not None
        constructor = self.module.constructors.get(pattern.name)
        if constructor is None:
            raise self.source.error(pattern.position, f"'{pattern.name}' is no constructor")
        if len(constructor.fields) != len(pattern.fields):
            raise self.source.error(
                pattern.position,
                f"pattern {pattern.name} has {len(pattern.fields)} fields, "
                f"expected {len(constructor.fields)}",
            )
        return constructor

    def attribute(self, pattern: Pattern) -> Attribute:
        """The pattern in the IR."""
        if pattern.variable is not None:
            return VarPatternAttr()
        if pattern.fields is None:
            return WildcardPatternAttr()
        fields = [self.attribute(field) for field in pattern.fields]
        if pattern.name is None:
            return TuplePatternAttr(fields)
        constructor = self.constructor(pattern)
        return ConstructorPatternAttr(
            constructor_ref(constructor.type_name, constructor.name), fields
        )

    def variables(self, pattern: Pattern, type_: Attribute) -> Iterator[tuple[Variable, Attribute]]:
        """
        The variables of a pattern from left to right, and their types in data of `type_`.

        Raises RelayTextError when data of this type cannot match.
        """
        pending = [(pattern, type_)]
        while pending:
            pattern, type_ = pending.pop()
            if pattern.variable is not None:
                yield pattern.variable, type_
            elif pattern.fields is not None:
                types = self._field_types(pattern, type_)
                pending.extend(reversed(list(zip(pattern.fields, types, strict=True))))

    def unmatched(self, patterns: Sequence[Attribute]) -> str | None:
        """A value, as a pattern, that none of these patterns matches; None when there is none."""
        return unmatched(patterns, self._constructors)

    def _constructors(self, one: SymbolRefAttr) -> list[tuple[str, int]]:
        definition = self.module.types[one.root_reference.data]
        return [(each.name, len(each.fields)) for each in definition.constructors or ()]

    def _field_types(self, pattern: Pattern, type_: Attribute) -> list[Attribute]:
        assert pattern.fields is not None
        if pattern.name is None:
            if isinstance(type_, TupleType) and len(type_.types) == len(pattern.fields):
                return list(type_.types.data)
        else:
            constructor = self.constructor(pattern)
            if (
                isinstance(type_, AdtType)
                and type_.definition.string_value() == constructor.type_name
            ):
                names = self.module.types[constructor.type_name].type_params
                values: dict[str, Type] = dict(zip(names, type_.args.data, strict=True))
                found = [resolve(substituted(field, values)) for field in constructor.fields]
                return [field for field in found if isinstance(field, Attribute)]
        raise self.source.error(pattern.position, f"this pattern does not match {written(type_)}")
