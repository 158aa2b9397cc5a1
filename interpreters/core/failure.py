"""What ends a program that cannot go on, in Python."""

from typing import Any

from xdsl.interpreter import InterpreterFunctions, register_impls
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.core import failure
from xrelay.interpreters.base import meaning


@register_impls
class FailureFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.failure`."""

    @meaning
    def run_fail(self, op: failure.FailOp) -> Any:
        raise InterpretationError(op.message.data)
