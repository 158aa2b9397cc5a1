"""The derivatives of pooling."""

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from xrelay.dialects.pool.gradient import AvgPool2DGradOp, MaxPool2DGradOp, Pool2DGradOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, MaxPool2DOp, Pool2DOp
from xrelay.dialects.tensor.creation import OnesLikeOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, static_shape


def pool_gradient(op_type: type[Pool2DGradOp], op: Pool2DOp, g: Term) -> Term:
    """The operator that computes the gradient of a pool."""
    return g.new(
        op_type(
            g.value,
            op.data,
            op.pool_size,
            strides=op.strides,
            dilation=op.dilation,
            padding=op.padding,
            ceil_mode=op.ceil_mode,
            layout=op.layout,
            out_layout=op.out_layout,
        )
    )


def max_pool2d_rule(op: MaxPool2DOp, g: Term) -> Sequence[Gradient]:
    """The first of the largest elements of a window gets all."""
    return [pool_gradient(MaxPool2DGradOp, op, g)]


def avg_pool2d_rule(op: AvgPool2DOp, g: Term) -> Sequence[Gradient]:
    """
    Every element of a window gets its share. `relay.nn.avg_pool2d_grad` knows shares of elements only: where padding
    counts, the average of ones is the part of a window that is no padding.
    """
    if op.count_include_pad.value.data:
        ones = g.emit(OnesLikeOp(op.data))
        g = g * g.new(AvgPool2DOp.of([ones], op.properties))
    return [pool_gradient(AvgPool2DGradOp, op, g)]


def global_avg_pool2d_rule(op: GlobalAvgPool2DOp, g: Term) -> Sequence[Gradient]:
    """Every element of an image gets its share."""
    lengths = op.data_layout.lengths(static_shape(op, op.data))
    size = lengths["H"], lengths["W"]
    pool = AvgPool2DGradOp(g.value, op.data, size, layout=op.layout, out_layout=op.out_layout)
    return [g.new(pool)]


RULES: Mapping[type[Operation], Rule] = {
    AvgPool2DOp: avg_pool2d_rule,
    GlobalAvgPool2DOp: global_avg_pool2d_rule,
    MaxPool2DOp: max_pool2d_rule,
}
