"""Kernel code of pooling into a stated number of windows: each result element in a loop nest."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.pool.adaptive import ADAPTIVE_AVG_OPS, ADAPTIVE_MAX_OPS, AdaptivePoolOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.axis_order import AxisOrder, sink_in_order
from xrelay.lowering.loops.reductions import MAXIMUM, SUM, Reducer, average, sum_kind
from xrelay.lowering.loops.windows import COUNT
from xrelay.lowering.math.convert import convert


def _emit(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, AdaptivePoolOp)
        b, order = ctx.b, AxisOrder(op.IMAGE_LAYOUT, op.data_layout)
        source = element_of(op.data)
        kind = sum_kind(source) if mean else wide(source)
        out_shape = order.canonical(shape_of(op.result))
        _, _, *image = order.canonical(shape_of(op.data))
        # Windows overlap: every element is read several times.
        ctx.placed(op.data)
        finish = sink_in_order(b, sink, shape_of(op.result), order)

        def limits(axis: int, place: Index) -> tuple[Index, Index]:
            """Where the window at a place starts and stops."""
            length, count = image[axis], out_shape[2 + axis]
            start = b.div(b.mul(place, length), count)
            end = b.add(b.mul(place, length), length + count - 1)
            return start, b.div(end, count)

        def one(coords: tuple[Index, ...]) -> None:
            n, c, *places = coords
            windows = [limits(axis, place) for axis, place in enumerate(places)]

            def along(inside: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
                if len(inside) < len(image):
                    return b.fold(
                        *windows[len(inside)], 1, values, lambda i, v: along((*inside, i), v)
                    )
                where = at(shape_of(op.data), order.stated(b, (n, c, *inside)))
                value = convert(b, ctx.ev.get((op.data, 0), where), source, kind)
                return [reducer.combine(b, values[0], value, kind)]

            total = along((), [b.constant(kind.compute, reducer.neutral(kind))])[0]
            if mean:
                count: Index = 1
                for start, stop in windows:
                    count = b.mul(count, b.sub(stop, start))
                # Where nothing counts, the sum is 0 and so is the mean.
                divisor = convert(b, b.index(b.larger(count, 1)), COUNT, kind)
                total = average(b, total, divisor, kind)
            finish(at(out_shape, coords), convert(b, total, kind, source))

        ctx.tasks(out_shape, one)

    return (Implementation("windows", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    **dict.fromkeys(ADAPTIVE_MAX_OPS, _emit(MAXIMUM)),
    **dict.fromkeys(ADAPTIVE_AVG_OPS, _emit(SUM, mean=True)),
}
