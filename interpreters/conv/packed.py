"""Convolution of images and weights in blocks of channels, in NumPy."""

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.conv import packed as conv_packed
from xrelay.interpreters.conv.conv import run_laid_out
from xrelay.interpreters.numerics import quiet


@register_impls
class ConvPackedFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv.packed`."""

    @impl(conv_packed.ContribConv2DNCHWcOp)
    @quiet
    def run_conv2d_nchwc(
        self,
        interpreter: Interpreter,
        op: conv_packed.ContribConv2DNCHWcOp,
        args: PythonValues,
    ) -> PythonValues:
        return run_laid_out(op, args)

    @impl(conv_packed.ContribDepthwiseConv2DNCHWcOp)
    @quiet
    def run_depthwise_conv2d_nchwc(
        self,
        interpreter: Interpreter,
        op: conv_packed.ContribDepthwiseConv2DNCHWcOp,
        args: PythonValues,
    ) -> PythonValues:
        return run_laid_out(op, args)
