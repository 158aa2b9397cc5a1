"""Constants, tuples and bodies called in place, in NumPy and Python."""

from collections.abc import Sequence
from typing import Any

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)

from xrelay.dialects.core import values as core
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.constants import constant_array


@register_impls
class CoreFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.values`."""

    @meaning
    def run_constant(self, op: core.ConstantOp) -> Array:
        return constant_array(op)

    @meaning
    def run_tuple(self, op: core.TupleOp, *fields: Any) -> Any:
        return fields

    @meaning
    def run_tuple_get_item(self, op: core.TupleGetItemOp, tuple_value: Sequence[Array]) -> Any:
        return tuple_value[op.index.value.data]

    @impl_terminator(core.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: core.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl(core.FusedOp)
    def run_fused(
        self, interpreter: Interpreter, op: core.FusedOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, args, op.name)

    @impl(core.CompositeOp)
    def run_composite(
        self, interpreter: Interpreter, op: core.CompositeOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, args, op.composite.data)
