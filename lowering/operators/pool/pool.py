"""Kernel code of pooling: vectors run along the output row."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.pool.pool import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    AvgPoolOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
    Pool2DOp,
    PoolOp,
)
from xrelay.dialects.tensor.layout import blocked_lanes
from xrelay.lowering.emit.builder import Index, KernelBuilder, lanes_of
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.axis_order import AxisOrder, sink_in_order
from xrelay.lowering.loops.reductions import MAXIMUM, SUM, Reducer, average, sum_kind
from xrelay.lowering.loops.windows import COUNT, Window, fold_taps, prepare_image
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.pool.blocked import emit_blocked_pool


def _order(op: PoolOp) -> AxisOrder:
    """Where elements of images and results lie."""
    return AxisOrder(op.IMAGE_LAYOUT, op.data_layout)


def _window(op: PoolOp) -> Window:
    """The window of a pool, without taps that lie beyond the padded image wherever it starts."""
    order, axes = _order(op), op.spatial_axes
    image, positions = (
        order.canonical(shape_of(value))[2 : 2 + axes] for value in (op.data, op.result)
    )
    taps, strides, dilation = op.window_numbers()
    before, after = op.pads[:axes], op.pads[axes:]
    padded = map(sum, zip(before, image, after, strict=True))
    taps = tuple(
        min(count, -(-length // step))
        for count, length, step in zip(taps, padded, dilation, strict=True)
    )
    return Window(taps, strides, dilation, op.pads, positions)


def _taps_inside(
    b: KernelBuilder, window: Window, axis: int, place: SSAValue, limits: tuple[int, int]
) -> SSAValue:
    """
    How many taps of the window at output positions `place` (i64, any lanes) lie within limits,
    counted from the first element of the image.
    """
    lanes = lanes_of(place)

    def number(value: int) -> SSAValue:
        return b.constant(i64, value, lanes)

    scaled = b.insert(arith.MuliOp(place, number(window.strides[axis]))).result

    def count(tap: tuple[Index, ...], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shift = b.sub(b.mul(tap[0], window.dilation[axis]), window.pads[axis])
        coordinate = b.insert(arith.AddiOp(scaled, b.splat(b.index(shift), lanes))).result
        inside = b.both(
            b.compare_integers(coordinate, "sge", number(limits[0])),
            b.compare_integers(coordinate, "slt", number(limits[1])),
        )
        more = b.insert(arith.AddiOp(totals[0], number(1))).result
        return [b.select(inside, more, totals[0])]

    return fold_taps(b, (window.taps[axis],), [number(0)], count)[0]


def _divisor(
    ctx: KernelContext,
    op: AvgPoolOp,
    window: Window,
    image: Sequence[int],
    place: tuple[Index, ...],
    lanes: int,
) -> SSAValue:
    """The number of elements that count in the windows of `lanes` neighbours, as i64."""
    b, axes = ctx.b, range(window.axes)
    limits: list[tuple[int, int]] = []
    for axis in axes:
        before, after = window.pads[axis], window.pads[axis + window.axes]
        if op.count_include_pad.value.data:
            limits.append((-before, image[axis] + after))
        else:
            limits.append((0, image[axis]))
    extents = window.extent
    if all(
        limits[axis][0] <= -window.pads[axis]
        and extents[axis] - window.pads[axis] <= limits[axis][1]
        for axis in axes
    ):
        return b.constant(i64, prod(window.taps), lanes)
    *row, column = place
    start = b.splat(b.index(column), lanes)
    places = b.insert(arith.AddiOp(start, b.lane_numbers(lanes))).result if lanes > 1 else start
    count = _taps_inside(b, window, window.axes - 1, places, limits[-1])
    for axis, at_row in enumerate(row):
        others = _taps_inside(b, window, axis, b.index(at_row), limits[axis])
        count = b.insert(arith.MuliOp(b.splat(others, lanes), count)).result
    # Where nothing counts, the sum is 0 and so is the mean.
    return b.insert(arith.MaxSIOp(count, b.constant(i64, 1, lanes))).result


def _emit(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, PoolOp)
        b, window, order = ctx.b, _window(op), _order(op)
        source = element_of(op.data)
        kind = sum_kind(source) if mean else wide(source)
        if 0 in shape_of(op.result):
            return
        if isinstance(op, Pool2DOp) and blocked_lanes(op.data_layout) is not None:
            emit_blocked_pool(ctx, op, sink, window, reducer, kind, mean=mean)
            return
        finish = sink_in_order(b, sink, shape_of(op.result), order)
        out_shape = order.canonical(shape_of(op.result))
        sizes = order.canonical(shape_of(op.data))[2:]
        image = prepare_image(ctx, op.data, window, reducer.neutral(kind), kind, order)
        lanes = ctx.target.lanes(kind.bytes)

        def row(indices: tuple[Index, ...]) -> None:
            n, c, *line = indices
            start = image.row_start(n, c, line)

            def elements(x: Index, width: int) -> None:
                loaded = lanes if image.overrun else width
                pixels = b.address(image.buffer.pointer, b.add(start, x), kind.storage)

                def add_tap(
                    tap: tuple[Index, ...], totals: Sequence[SSAValue]
                ) -> Sequence[SSAValue]:
                    value = b.load(pixels, image.tap_offset(tap), kind, loaded)
                    return [reducer.combine(b, totals[0], value, kind)]

                neutral = b.constant(kind.compute, reducer.neutral(kind), loaded)
                total = fold_taps(b, window.taps, [neutral], add_tap)[0]
                value = b.first_lanes(total, width)
                if mean:
                    assert isinstance(op, AvgPoolOp)
                    divisor = _divisor(ctx, op, window, sizes, (*line, x), width)
                    value = average(b, value, convert(b, divisor, COUNT, kind), kind)
                finish(at(out_shape, (*indices, x), width), convert(b, value, kind, source))

            ctx.vectors(out_shape[-1], lanes, elements)

        ctx.tasks(out_shape[:-1], row)

    return (Implementation("windows", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    **dict.fromkeys((MaxPool1DOp, MaxPool2DOp, MaxPool3DOp), _emit(MAXIMUM)),
    **dict.fromkeys((AvgPool1DOp, AvgPool2DOp, AvgPool3DOp), _emit(SUM, mean=True)),
}
