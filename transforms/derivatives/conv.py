"""The derivatives of convolutions."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, require, static_shape
from xrelay.transforms.rules.emitting import relaid


def conv2d_rule(op: Conv2DOp, g: Term) -> Sequence[Gradient]:
    """
    The transposed convolution of the gradient, and its correlation with the data. Other layouts than NCHW and OIHW are
    transformed to these and back.
    """
    layouts = op.layouts
    require(not any(each.blocks for each in layouts), op, "a layout has blocks")
    require(not op.multiplies_depth, op, "the weight has several filters for each channel")
    static_shape(op, op.result)
    images, kernels, results = map(str, layouts)
    names = op.IMAGE_LAYOUT, op.KERNEL_LAYOUT
    inner = g.of(relaid(g.emit, g.value, results, names[0]))
    data = g.of(relaid(g.emit, op.data, images, names[0])).typed_as(g.value)
    weight = g.of(relaid(g.emit, op.weight, kernels, names[1])).typed_as(g.value)
    of_data = relaid(g.emit, _of_data(op, inner, data, weight).value, names[0], images)
    of_weight = relaid(g.emit, _of_weight(op, inner, data, weight).value, names[1], kernels)
    return [g.of(of_data).typed_as(op.data), g.of(of_weight).typed_as(op.weight)]


def _of_data(op: Conv2DOp, g: Term, data: Term, weight: Term) -> Term:
    """Each element of the gradient, times the weight, is added to the window that it is computed from."""
    image, taps, positions = (static_shape(op, term.value)[2:] for term in (data, weight, g))
    before = op.pads[:2]
    after = op.pads[2:]
    left = [
        length - ((count - 1) * stride + (tap - 1) * dilation + 1 - first - last)
        for length, count, stride, tap, dilation, first, last in zip(
            *(image, positions, op.window_strides, taps, op.window_dilation, before, after),
            strict=True,
        )
    ]
    return g.new(
        Conv2DTransposeOp(
            g.value,
            weight.value,
            strides=op.window_strides,
            padding=op.pads,
            dilation=op.window_dilation,
            groups=op.groups,
            output_padding=left,
            kernel_layout=Conv2DTransposeOp.KERNEL_LAYOUT,
        )
    )


def _of_weight(op: Conv2DOp, g: Term, data: Term, weight: Term) -> Term:
    """Each tap of the weight meets an element of the data for each of the gradient."""
    return g.new(
        Conv2DBackwardWeightOp(
            g.value,
            data.value,
            strides=op.window_strides,
            padding=op.pads,
            dilation=op.window_dilation,
            groups=op.groups,
            kernel_size=static_shape(op, weight.value)[2:],
        )
    )


RULES: Mapping[type[Operation], Rule] = {Conv2DOp: conv2d_rule}
