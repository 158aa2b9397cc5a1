"""Constants, tuples, references and bodies called in place, in NumPy and Python."""

from dataclasses import dataclass
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
from xrelay.interpreters.constants import constant_array


@dataclass(eq=False)
class Cell:
    """What a value of type `!relay.ref<…>` is: a mutable cell."""

    value: Any


@register_impls
class CoreFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.values`."""

    @impl(core.ConstantOp)
    def run_constant(
        self, interpreter: Interpreter, op: core.ConstantOp, args: PythonValues
    ) -> PythonValues:
        return (constant_array(op),)

    @impl(core.TupleOp)
    def run_tuple(
        self, interpreter: Interpreter, op: core.TupleOp, args: PythonValues
    ) -> PythonValues:
        return (args,)

    @impl(core.TupleGetItemOp)
    def run_tuple_get_item(
        self, interpreter: Interpreter, op: core.TupleGetItemOp, args: PythonValues
    ) -> PythonValues:
        return (args[0][op.index.value.data],)

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

    @impl(core.RefCreateOp)
    def run_ref_create(
        self, interpreter: Interpreter, op: core.RefCreateOp, args: PythonValues
    ) -> PythonValues:
        return (Cell(args[0]),)

    @impl(core.RefReadOp)
    def run_ref_read(
        self, interpreter: Interpreter, op: core.RefReadOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].value,)

    @impl(core.RefWriteOp)
    def run_ref_write(
        self, interpreter: Interpreter, op: core.RefWriteOp, args: PythonValues
    ) -> PythonValues:
        cell, value = args
        cell.value = value
        return ((),)
