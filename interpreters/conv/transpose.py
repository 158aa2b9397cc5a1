"""The transposes of convolutions of lines and volumes in NumPy."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv import transpose as conv_transpose
from xrelay.interpreters.base import by
from xrelay.interpreters.conv.conv import run_transposed


@register_impls
class ConvTransposeFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv.transpose`."""

    run_conv1d_transpose = by(conv_transpose.Conv1DTransposeOp, run_transposed)
    run_conv3d_transpose = by(conv_transpose.Conv3DTransposeOp, run_transposed)
