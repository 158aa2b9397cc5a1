"""The transposes of convolutions of lines and volumes in NumPy."""

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.conv import transpose as conv_transpose
from xrelay.interpreters.conv.conv import run_transposed
from xrelay.interpreters.numerics import quiet


@register_impls
class ConvTransposeFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv.transpose`."""

    @impl(conv_transpose.Conv1DTransposeOp)
    @quiet
    def run_conv1d_transpose(
        self,
        interpreter: Interpreter,
        op: conv_transpose.Conv1DTransposeOp,
        args: PythonValues,
    ) -> PythonValues:
        return run_transposed(op, args)

    @impl(conv_transpose.Conv3DTransposeOp)
    @quiet
    def run_conv3d_transpose(
        self,
        interpreter: Interpreter,
        op: conv_transpose.Conv3DTransposeOp,
        args: PythonValues,
    ) -> PythonValues:
        return run_transposed(op, args)
