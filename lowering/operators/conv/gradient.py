"""
Kernel code of the gradient of convolution with respect to its weight.

    for output channel, input channel of its group, tap:          # the threads share these
        sum over images, output rows: products of a row of the gradient and the row of the image
        that the tap meets

Vectors run along the rows.
"""

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.conv.windows import positive_pair
from xrelay.dialects.tensor.layout import IMAGE
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.axis_order import AxisOrder, in_order, sink_in_order
from xrelay.lowering.loops.reductions import SUM, Term, reduce_elements
from xrelay.lowering.loops.windows import Window, prepare_image
from xrelay.lowering.math.arithmetic import multiply
from xrelay.lowering.math.convert import convert


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DBackwardWeightOp)
    b = ctx.b
    grads, images, kernels = op.layouts
    grad_order, order = AxisOrder(IMAGE, grads), AxisOrder(op.KERNEL_LAYOUT, kernels)
    out_kind, source = element_of(op.result), element_of(op.grad)
    kind = wide(out_kind)
    batch, outputs, rows, columns = grad_order.canonical(shape_of(op.grad))
    window = Window(
        op.taps,
        positive_pair(op.strides, "strides"),
        positive_pair(op.dilation, "dilation"),
        op.pads,
        (rows, columns),
    )
    grad = in_order(ctx, op.grad, grad_order)
    image = prepare_image(ctx, op.data, window, 0, kind, AxisOrder(IMAGE, images))
    out_shape = order.canonical(shape_of(op.result))
    group_outputs, depth = outputs // op.groups.value.data, out_shape[1]
    finish = sink_in_order(b, sink, shape_of(op.result), order)

    def one(coords: tuple[Index, ...]) -> None:
        o, c, *tap = coords
        channel = b.add(b.mul(b.div(o, group_outputs), depth), c)
        offset = image.tap_offset(tap)

        def product(line: tuple[Index, ...], x: Index, lanes: int) -> SSAValue:
            n, y = line
            start = b.add(image.row_start(n, channel, (y,)), b.add(offset, x))
            pixels = b.load(image.buffer.pointer, start, kind, lanes)
            where = grad.offset(b, at(grad.shape, (n, o, y, x), lanes))
            values = convert(b, b.load(grad.pointer, where, source, lanes), source, kind)
            return multiply(b, values, pixels, kind)

        (total,) = reduce_elements(ctx, (batch, rows), columns, [Term(SUM, kind)], product)
        finish(at(out_shape, coords), convert(b, total, kind, out_kind))

    ctx.tasks(out_shape, one)


STRATEGIES: dict[type[Operation], Strategy] = {
    Conv2DBackwardWeightOp: (Implementation("row-products", _emit),),
}
