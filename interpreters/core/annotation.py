"""Annotations in NumPy: identities."""

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.core import annotation


@register_impls
class AnnotationFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.annotation`."""

    @impl(annotation.StopFusionOp)
    def run_stop_fusion(
        self, interpreter: Interpreter, op: annotation.StopFusionOp, args: PythonValues
    ) -> PythonValues:
        return args

    @impl(annotation.CastHintOp)
    def run_cast_hint(
        self, interpreter: Interpreter, op: annotation.CastHintOp, args: PythonValues
    ) -> PythonValues:
        return args

    @impl(annotation.CheckpointOp)
    def run_checkpoint(
        self, interpreter: Interpreter, op: annotation.CheckpointOp, args: PythonValues
    ) -> PythonValues:
        return args

    @impl(annotation.CompilerBeginOp)
    def run_compiler_begin(
        self, interpreter: Interpreter, op: annotation.CompilerBeginOp, args: PythonValues
    ) -> PythonValues:
        return args

    @impl(annotation.CompilerEndOp)
    def run_compiler_end(
        self, interpreter: Interpreter, op: annotation.CompilerEndOp, args: PythonValues
    ) -> PythonValues:
        return args
