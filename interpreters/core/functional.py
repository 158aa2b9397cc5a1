"""Function values in Python."""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls

from xrelay.dialects.core import functional
from xrelay.dialects.core.functional import values_from_outside
from xrelay.interpreters.base import identity


@dataclass(eq=False)
class FunctionValue:
    """What a value of a function type is."""

    call: Callable[[PythonValues], PythonValues]


@register_impls
class FunctionalFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.functional`."""

    run_let = identity(functional.LetOp)
    run_instantiate = identity(functional.InstantiateOp)

    @impl(functional.ClosureOp)
    def run_closure(
        self, interpreter: Interpreter, op: functional.ClosureOp, args: PythonValues
    ) -> PythonValues:
        outside = values_from_outside(op)
        captured = interpreter.get_values(outside)

        def call(inputs: PythonValues) -> PythonValues:
            interpreter.push_scope("closure")
            interpreter.set_values(zip(outside, captured, strict=True))
            whole = (function, *inputs) if op.recursive else inputs
            results = interpreter.run_ssacfg_region(op.body, whole, op.name)
            interpreter.pop_scope()
            return results

        function = FunctionValue(call)
        return (function,)

    @impl(functional.GlobalVarOp)
    def run_global_var(
        self, interpreter: Interpreter, op: functional.GlobalVarOp, args: PythonValues
    ) -> PythonValues:
        callee = interpreter.get_op_for_symbol(op.function)
        return (FunctionValue(lambda inputs: interpreter.call_op(callee, inputs)),)

    @impl(functional.ApplyOp)
    def run_apply(
        self, interpreter: Interpreter, op: functional.ApplyOp, args: PythonValues
    ) -> PythonValues:
        function, *inputs = args
        return function.call(tuple(inputs))
