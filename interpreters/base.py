"""How tables of operators and NumPy functions become `xdsl.interpreter` functions."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, OpImpl, PythonValues, impl
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.base import RelayOp
from xrelay.interpreters.numerics import narrow, quiet, widen

_OpT = TypeVar("_OpT", bound=Operation)
Implementation: TypeAlias = OpImpl[InterpreterFunctions, _OpT]


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

    @impl(op_type)
    @quiet
    def run(
        functions: InterpreterFunctions, interpreter: Interpreter, op: _OpT, args: PythonValues
    ) -> PythonValues:
        require_defined(op)
        return (narrow(function(*map(widen, args)), args[0].dtype),)

    return run


def predicate(op_type: type[_OpT], function: Callable[..., Any]) -> Implementation[_OpT]:
    """An operator whose result is the bools that `function` gives for the operands as they are."""

    @impl(op_type)
    @quiet
    def run(
        functions: InterpreterFunctions, interpreter: Interpreter, op: _OpT, args: PythonValues
    ) -> PythonValues:
        require_defined(op)
        return (np.asarray(function(*args), np.bool_),)

    return run
