"""
Kernel code of the gradients of pooling.

    for every window: what it adds to its elements, or which element it adds to    # into memory
    for every element of the image: the sum over the windows that it lies in

No two threads write one element, and sums have the same order for every number of threads.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.pool.gradient import AvgPool2DGradOp, MaxPool2DGradOp, Pool2DGradOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.axis_order import AxisOrder, in_order, sink_in_order
from xrelay.lowering.loops.reductions import average
from xrelay.lowering.loops.windows import COUNT, Window, fold_taps, taps_between
from xrelay.lowering.math.arithmetic import add
from xrelay.lowering.math.convert import convert

Shares = Callable[[KernelContext, "_Gradient"], "Share"]
Share = Callable[[tuple[Index, ...], tuple[Index, Index], SSAValue], SSAValue]
"""What the window at some coordinates [n, c, y, x] adds to an element (row, column), of which it
has a part when the i1 holds."""


class _Gradient:
    """The operands of a gradient, in the order of axes NCHW."""

    def __init__(self, ctx: KernelContext, op: Pool2DGradOp):
        order = AxisOrder(op.IMAGE_LAYOUT, op.data_layout)
        self.order = order
        self.source = element_of(op.data)
        self.kind = wide(self.source)
        self.shape = order.canonical(shape_of(op.data))
        self.pooled = order.canonical(shape_of(op.grad))
        rows, columns = self.pooled[2:]
        self.window = Window(*op.window_numbers(), op.pads, (rows, columns))
        self.grad = in_order(ctx, op.grad, order)
        self.data = in_order(ctx, op.data, order) if isinstance(op, MaxPool2DGradOp) else None

    def load(self, ctx: KernelContext, buffer: Buffer, coords: Sequence[Index]) -> SSAValue:
        """An element of an operand, in the type that is computed in."""
        offset = buffer.offset(ctx.b, at(buffer.shape, coords))
        value = ctx.b.load(buffer.pointer, offset, buffer.element, 1)
        return convert(ctx.b, value, buffer.element, self.kind)


def _mean_shares(ctx: KernelContext, own: _Gradient) -> Share:
    """Each window adds the same to all of its elements."""
    b, kind = ctx.b, own.kind
    # Rounded to the dtype, as the operator that divides would do.
    shares = ctx.scratch(own.source, row_major(own.pooled))

    def one(coords: tuple[Index, ...]) -> None:
        count: Index = 1
        for axis in (0, 1):
            start, stop = taps_between(
                b, own.window, axis, coords[2 + axis], 0, own.shape[2 + axis]
            )
            count = b.mul(count, b.sub(stop, start))
        divisor = convert(b, b.index(b.larger(count, 1)), COUNT, kind)
        share = average(b, own.load(ctx, own.grad, coords), divisor, kind)
        ctx.store(shares, at(own.pooled, coords), convert(b, share, kind, own.source))

    ctx.tasks(own.pooled, one)
    ctx.barrier()

    def share(coords: tuple[Index, ...], _: tuple[Index, Index], meets: SSAValue) -> SSAValue:
        value = own.load(ctx, shares, coords)
        return b.select(meets, value, b.constant(kind.compute, 0))

    return share


def _largest_shares(ctx: KernelContext, own: _Gradient) -> Share:
    """Each window adds to its largest element only."""
    b, kind, data = ctx.b, own.kind, own.data
    assert data is not None
    _, _, height, width = own.shape
    chosen = ctx.scratch(COUNT, row_major(own.pooled))

    def one(coords: tuple[Index, ...]) -> None:
        n, c, y, x = coords
        window = own.window
        rows = taps_between(b, window, 0, y, 0, height)
        columns = taps_between(b, window, 1, x, 0, width)
        top = b.sub(b.mul(y, window.strides[0]), window.pads[0])
        left = b.sub(b.mul(x, window.strides[1]), window.pads[1])

        def tap(i: Index, j: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = b.add(top, b.mul(i, window.dilation[0]))
            column = b.add(left, b.mul(j, window.dilation[1]))
            value = own.load(ctx, data, (n, c, row, column))
            number = b.index(b.add(b.mul(row, width), column))
            none_yet = b.compare_integers(best[1], "slt", b.constant(i64, 0))
            if kind.is_float:
                wins = b.compare_floats(best[0], "olt", value)
                first_nan = b.both(b.is_nan(value), b.negate(b.is_nan(best[0])))
                wins = b.either(wins, first_nan)
            else:
                wins = b.compare_integers(best[0], "slt" if kind.signed else "ult", value)
            wins = b.either(wins, none_yet)
            return [b.select(wins, value, best[0]), b.select(wins, number, best[1])]

        def line(i: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.fold(*columns, 1, best, lambda j, inner: tap(i, j, inner))

        initial = [b.constant(kind.compute, 0), b.constant(i64, -1)]
        best = b.fold(*rows, 1, initial, line)
        ctx.store(chosen, at(own.pooled, coords), best[1])

    ctx.tasks(own.pooled, one)
    ctx.barrier()

    def share(coords: tuple[Index, ...], element: tuple[Index, Index], meets: SSAValue) -> SSAValue:
        offset = chosen.offset(b, at(own.pooled, coords))
        place = b.load(chosen.pointer, offset, COUNT, 1)
        row, column = element
        number = b.index(b.add(b.mul(row, width), column))
        wins = b.both(meets, b.compare_integers(place, "eq", number))
        value = own.load(ctx, own.grad, coords)
        return b.select(wins, value, b.constant(kind.compute, 0))

    return share


def _emit(shares: Shares) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, Pool2DGradOp)
        own, b = _Gradient(ctx, op), ctx.b
        window, kind = own.window, own.kind
        finish = sink_in_order(b, sink, shape_of(op.result), own.order)
        share = shares(ctx, own)

        def one(coords: tuple[Index, ...]) -> None:
            n, c, row, column = coords

            def add_tap(tap: tuple[Index, ...], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                places: list[Index] = []
                meets: SSAValue | None = None
                for axis, element in enumerate((row, column)):
                    shift = b.sub(window.pads[axis], b.mul(tap[axis], window.dilation[axis]))
                    distance = b.add(element, shift)
                    ahead = b.larger(distance, 0)
                    stride, last = window.strides[axis], window.positions[axis] - 1
                    place = b.div(ahead, stride)
                    # Every place is read, where it exists.
                    places.append(b.smaller(place, last))
                    for test in (
                        b.compare_index(distance, "sge", 0),
                        b.compare_index(b.mod(ahead, stride), "eq", 0),
                        b.compare_index(place, "sle", last),
                    ):
                        meets = test if meets is None else b.both(meets, test)
                assert meets is not None
                part = share((n, c, *places), (row, column), meets)
                return [add(b, totals[0], part, kind)]

            zero = b.constant(kind.compute, 0)
            total = fold_taps(b, window.taps, [zero], add_tap)[0]
            finish(at(own.shape, coords), convert(b, total, kind, own.source))

        ctx.tasks(own.shape, one)

    return (Implementation("windows", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    AvgPool2DGradOp: _emit(_mean_shares),
    MaxPool2DGradOp: _emit(_largest_shares),
}
