"""What is known while bodies of functions are imported: blocks, the values of expressions, and types."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.dialects.core.functional import Instance
from xrelay.dialects.type_relations import tells
from xrelay.frontends.relay_text.errors import RelayTextError
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.scopes import Scopes
from xrelay.frontends.relay_text.syntax import (
    Attrs,
    AttrValue,
    Expr,
    Function,
    MetaRef,
    Module,
    Variable,
)
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.types import Type, closed


@dataclass
class Signature:
    """The type of a function of the module."""

    type_params: tuple[str, ...]
    params: list[Attribute]
    result: Attribute | None
    """None when the text does not state it and nothing in the text refers to the function."""


class Unit:
    """A body that uses nothing from outside: a function of the module, or one called in place."""

    def __init__(self, root: Expr, block: Block):
        self.scopes = Scopes(root)
        self.block = block
        self.blocks = {self.scopes.root: block}
        self.values: dict[Expr, SSAValue] = {}
        """The values of expressions and variables."""


class Units:
    """
    The bodies that are being imported, and what is to be done, as a stack of tasks; and the attributes of functions, which bodies
    and definitions share.
    """

    def __init__(self, module: Module, metadata: Metadata):
        self.module = module
        self.metadata = metadata
        self.source = metadata.source
        self.signatures: dict[str, Signature] = {}
        self.tasks: list[tuple[Callable[[Any], None], Any]] = []
        self.units: list[Unit] = []
        """The bodies that are being imported, outermost first."""

    def error(self, position: int, message: str) -> RelayTextError:
        """A diagnostic about a place in the text."""
        return self.source.error(position, message)

    def known(self, type_: Type | None, position: int, what: str) -> Attribute:
        """A type that has to be known by now."""
        found = stated_type(type_)
        if found is None:
            raise self.error(position, f"the type of {what} is not known, state it")
        return found

    def param_types(self, function: Function) -> list[Attribute]:
        """The types of the parameters of a function."""
        return [
            self.known(param.annotation, param.position, f"parameter %{param.name}")
            for param in function.params
        ]

    def attributes(self, attrs: Attrs) -> dict[str, Attribute]:
        """The attributes of a function or a parameter."""
        return {name: self.attribute(attr.value) for name, attr in attrs.items()}

    def attribute(self, value: AttrValue) -> Attribute:
        """The value of an attribute of a function: Relay's integers have 32 bits."""
        match value:
            case Attribute():
                return value
            case MetaRef():
                return self.metadata.value(value)
            case None:
                return UnitAttr()
            case bool() | int():
                return IntegerAttr(int(value), i32 if -(2**31) <= value < 2**31 else i64)
            case float():
                return FloatAttr(value, f64)
            case str():
                return StringAttr(value)
            case list():
                return ArrayAttr(self.attribute(item) for item in value)

    def _open_unit(self, function: Function) -> None:
        block = Block(arg_types=self.param_types(function))
        self.units.append(Unit(function.body, block))
        self._bind(function.params, block.args)

    def _bind(self, variables: Sequence[Variable], values: Sequence[SSAValue]) -> None:
        """Lets variables have values, and the values their names."""
        known = self.units[-1].values
        for variable, value in zip(variables, values, strict=True):
            known[variable] = value
            value.name_hint = hint_of(variable.name)

    def _values(self, exprs: Sequence[Expr]) -> list[SSAValue]:
        known = self.units[-1].values
        return [known[expr] for expr in exprs]

    def _add(self, expr: Expr, op: Operation) -> SSAValue:
        """Adds an operation where `expr` is computed; its result."""
        unit = self.units[-1]
        unit.blocks[unit.scopes.of[expr]].add_op(op)
        return op.results[0]

    def _emit(self, expr: Expr, op: Operation) -> None:
        """Adds an operation where `expr` is computed; its result is the value of `expr`."""
        value = self.units[-1].values[expr] = self._add(expr, op)
        if expr.stated is not None and not tells(value.type, expr.stated):
            raise self.error(
                expr.position,
                f"the comment states type {written(expr.stated)}, found {written(value.type)}",
            )

    def _closed(self, expr: Expr, end: Callable[[SSAValue], Operation]) -> list[Region]:
        """The regions of the bodies of an expression, ended with what they give."""
        unit = self.units[-1]
        regions: list[Region] = []
        for body, scope in zip(expr.bodies, unit.scopes.bodies[expr], strict=True):
            block = unit.blocks.pop(scope)
            block.add_op(end(unit.values[body]))
            regions.append(Region(block))
        return regions

    def _check_result(self, function: Function, found: Attribute) -> None:
        """The result of a function is of the type that the text states."""
        stated = stated_type(function.result)
        if stated is not None and not Instance().match(stated, found):
            raise self.error(
                function.position,
                f"the function states result type {written(stated)}, found {written(found)}",
            )


def stated_type(type_: Type | None) -> Attribute | None:
    """A type that the text states or inference found, if all of it is known."""
    known = None if type_ is None else closed(type_)
    return known if isinstance(known, Attribute) else None


def hint_of(name: str) -> str | None:
    """The name hint of a value that the text calls `name`."""
    hint = re.sub(r"[^\w$.-]", "_", name, flags=re.ASCII)
    return hint if SSAValue.is_valid_name(hint) and hint else None
