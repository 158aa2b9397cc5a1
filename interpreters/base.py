"""How tables of operators and NumPy functions become `xdsl.interpreter` functions."""

from collections.abc import Callable
from inspect import get_annotations
from typing import Any, Concatenate, TypeAlias, TypeVar

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, OpImpl, PythonValues, impl
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.base import RelayOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.numerics import narrow, quiet, widen

_OpT = TypeVar("_OpT", bound=Operation)
Implementation: TypeAlias = OpImpl[InterpreterFunctions, _OpT]


def meaning(function: Callable[..., Any]) -> Implementation[Any]:
    """
    Decorator: the method of an operator `op`, whose type its annotation says, that makes the result
    of the values of the operands.
    """

    @impl(get_annotations(function)["op"])
    @quiet
    def run(
        functions: InterpreterFunctions, interpreter: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        return (function(functions, op, *args),)

    return run


def by(
    op_type: type[_OpT], function: Callable[Concatenate[_OpT, ...], Any]
) -> Implementation[_OpT]:
    """
    An operator whose result is what `function`, which it shares with others, makes of it and of the
    values of its operands.
    """

    @impl(op_type)
    @quiet
    def run(
        functions: InterpreterFunctions, interpreter: Interpreter, op: _OpT, args: PythonValues
    ) -> PythonValues:
        return (function(op, *args),)

    return run


def identity(op_type: type[_OpT]) -> Implementation[_OpT]:
    """An operator whose result is its operand."""
    return by(op_type, _operand)


def _operand(op: Operation, value: Any) -> Any:
    return value


def require_defined(op: Operation) -> None:
    """Raises InterpretationError for an operator that computes nothing for its operands."""
    why = op.undefined() if isinstance(op, RelayOp) else None
    if why is not None:
        raise InterpretationError(f"{op.name}: {why}")


def elementwise(op_type: type[_OpT], function: Callable[..., Any]) -> Implementation[_OpT]:
    """
    An operator whose result has the dtype of its operands: `function` of the operands in the type
    that they compute in.
    """

    def run(op: Operation, *args: Array) -> Array:
        require_defined(op)
        return narrow(function(*map(widen, args)), args[0].dtype)

    return by(op_type, run)


def predicate(op_type: type[_OpT], function: Callable[..., Any]) -> Implementation[_OpT]:
    """An operator whose result is the bools that `function` gives for the operands as they are."""

    def run(op: Operation, *args: Array) -> Array:
        require_defined(op)
        return np.asarray(function(*args), np.bool_)

    return by(op_type, run)
