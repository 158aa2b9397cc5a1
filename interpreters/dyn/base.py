"""Operators whose result has a shape that operands decide: the static ones, once that is known."""

from typing import TypeVar

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import Block
from xdsl.utils.exceptions import InterpretationError, VerifyException

from xrelay.dialects.dyn.base import DynamicOp
from xrelay.interpreters.arrays import type_of
from xrelay.interpreters.base import Implementation

_DynamicT = TypeVar("_DynamicT", bound=DynamicOp)


def by_static(op_type: type[_DynamicT]) -> Implementation[_DynamicT]:
    """An operator that runs the static one for the numbers that its deciding operands hold."""

    @impl(op_type)
    def run(
        functions: InterpreterFunctions,
        interpreter: Interpreter,
        op: _DynamicT,
        args: PythonValues,
    ) -> PythonValues:
        names = [name for name, _ in op.get_irdl_definition().operands]
        values = dict(zip(names, args, strict=True))
        numbers = [values[name].reshape(-1).tolist() for name in op.DECIDING]
        kept = [value for name, value in values.items() if name not in op.DECIDING]
        block = Block(arg_types=[type_of(value) for value in kept])
        try:
            static = op.specialised(block.args, numbers)
        except VerifyException as error:
            raise InterpretationError(f"{op.name}: {error}") from error
        return interpreter.run_op(static, tuple(kept))

    return run
