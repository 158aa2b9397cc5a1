"""Convolution of images and weights in blocks of channels, in NumPy."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv import packed as conv_packed
from xrelay.interpreters.base import by
from xrelay.interpreters.conv.conv import run_laid_out


@register_impls
class ConvPackedFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.conv.packed`."""

    run_conv2d_nchwc = by(conv_packed.ContribConv2DNCHWcOp, run_laid_out)
    run_depthwise_conv2d_nchwc = by(conv_packed.ContribDepthwiseConv2DNCHWcOp, run_laid_out)
