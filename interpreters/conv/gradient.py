"""The gradient of convolution with respect to its weight, in NumPy."""

from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.conv import gradient as conv_gradient
from xrelay.dialects.conv.windows import positive_pair
from xrelay.dialects.tensor.layout import IMAGE, Layout
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.conv.windows import Windows
from xrelay.interpreters.numerics import convert, narrow, widen
from xrelay.interpreters.tensor.layout import change_layout


@register_impls
class ConvGradientFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.conv.gradient`."""

    @meaning
    def run_conv2d_backward_weight(
        self, op: conv_gradient.Conv2DBackwardWeightOp, *args: Array
    ) -> Array:
        dtype = args[0].dtype if op.out_dtype is None else dtype_of(op.out_dtype)
        image_layout = Layout.parse(IMAGE, "layout")
        grad, data = (
            widen(convert(change_layout(array, layout, image_layout), dtype))
            for array, layout in zip(args, op.layouts, strict=False)
        )
        windows = Windows(
            op.taps,
            positive_pair(op.strides, "strides"),
            positive_pair(op.dilation, "dilation"),
            op.pads,
        )
        outputs, inputs, groups = grad.shape[1], data.shape[1], op.groups.value.data
        positions = grad.shape[0] * prod(grad.shape[2:])
        grads = np.moveaxis(grad, 0, 1).reshape(groups, outputs // groups, positions)
        taps = [
            np.moveaxis(tap, 0, 1).reshape(groups, inputs // groups, positions)
            for tap in windows.taps(windows.pad(data, 0), data.shape[2:])
        ]
        products = np.stack([np.matmul(grads, tap.swapaxes(1, 2)) for tap in taps], axis=-1)
        weight = products.reshape(outputs, inputs // groups, *windows.size)
        kernel_layout = Layout.parse(op.KERNEL_LAYOUT, "layout")
        return change_layout(narrow(weight, dtype), kernel_layout, op.layouts[2])
