"""Algebraic data types in Python."""

from dataclasses import dataclass
from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core import adt
from xrelay.interpreters.base import meaning
from xrelay.interpreters.core.functional import FunctionValue


@dataclass(frozen=True)
class DataValue:
    """What a value of an algebraic data type is."""

    constructor: str
    fields: tuple[Any, ...]


def matched(pattern: Attribute, value: Any) -> list[Any] | None:
    """The values of a pattern's variables, from left to right; None when it does not match."""
    found: list[Any] = []
    pending: list[tuple[Attribute, Any]] = [(pattern, value)]
    while pending:
        pattern, value = pending.pop()
        match pattern:
            case adt.VarPatternAttr():
                found.append(value)
            case adt.TuplePatternAttr():
                pending.extend(reversed(list(zip(pattern.fields, value, strict=True))))
            case adt.ConstructorPatternAttr():
                if value.constructor != adt.constructor_name(pattern.constructor):
                    return None
                pending.extend(reversed(list(zip(pattern.fields, value.fields, strict=True))))
            case _:
                pass  # the wildcard
    return found


@register_impls
class AdtFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.adt`."""

    @impl(adt.TypeDefOp)
    def run_type_def(
        self, interpreter: Interpreter, op: adt.TypeDefOp, args: PythonValues
    ) -> PythonValues:
        return ()

    @meaning
    def run_construct(self, op: adt.ConstructOp, *fields: Any) -> Any:
        return DataValue(adt.constructor_name(op.constructor), fields)

    @meaning
    def run_constructor(self, op: adt.ConstructorOp) -> Any:
        name = adt.constructor_name(op.constructor)
        return FunctionValue(lambda fields: (DataValue(name, fields),))

    @impl(adt.MatchOp)
    def run_match(
        self, interpreter: Interpreter, op: adt.MatchOp, args: PythonValues
    ) -> PythonValues:
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            found = matched(pattern, args[0])
            if found is not None:
                return interpreter.run_ssacfg_region(region, tuple(found), op.name)
        raise InterpretationError(f"no clause of a relay.match has a pattern for {args[0]}")
