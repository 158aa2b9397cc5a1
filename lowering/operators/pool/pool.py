"""Kernel code of pooling: vectors run along the output row."""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import may_exceed
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
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index, lanes_of
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.loops.axis_order import AxisOrder, sink_in_order
from xrelay.lowering.loops.reductions import MAXIMUM, SUM, Reducer, average, sum_kind
from xrelay.lowering.loops.windows import COUNT, Window, fold_taps, prepare_image
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.pool.blocked import emit_blocked_pool
from xrelay.lowering.operators.pool.rows import MOST_PHASES, RowPool

Emit = Callable[[KernelContext, Operation, Sink], None]


def _order(op: PoolOp) -> AxisOrder:
    """Where elements of images and results lie."""
    return AxisOrder(op.IMAGE_LAYOUT, op.data_layout)


def _window(op: PoolOp) -> Window:
    """The window of a pool, without taps that lie beyond the padded image wherever it starts."""
    order, axes = _order(op), op.spatial_axes
    image, positions = (order.canonical(shape_of(value))[2:] for value in (op.data, op.result))
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
        not may_exceed(limits[axis][0], -window.pads[axis])
        and not may_exceed(extents[axis] - window.pads[axis], limits[axis][1])
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


def _finished(
    ctx: KernelContext, op: PoolOp, sink: Sink, kind: Element, *, mean: bool
) -> Callable[[tuple[Index, ...], SSAValue], None]:
    """What takes sums or maxima, in elements of type `kind`, from a place of the result on."""
    b, window, order = ctx.b, _window(op), _order(op)
    finish, source = sink_in_order(b, sink, shape_of(op.result), order), element_of(op.data)
    shape, sizes = (order.canonical(shape_of(value)) for value in (op.result, op.data))

    def take(place: tuple[Index, ...], value: SSAValue) -> None:
        width = lanes_of(value)
        if mean:
            assert isinstance(op, AvgPoolOp)
            divisor = _divisor(ctx, op, window, sizes[2:], place[2:], width)
            value = average(b, value, convert(b, divisor, COUNT, kind), kind)
        finish(at(shape, place, width), convert(b, value, kind, source))

    return take


def _rows(reducer: Reducer, *, mean: bool) -> Emit:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, PoolOp)
        order, kind = _order(op), _kind(op, mean=mean)
        shape = order.canonical(shape_of(op.result))
        pool = RowPool(ctx, op.data, _window(op), reducer, kind, order)
        take = _finished(ctx, op, sink, kind, mean=mean)

        def row(place: tuple[Index, ...]) -> None:
            pool.write_row(place)
            ctx.vectors(
                shape[-1], pool.lanes, lambda x, width: take((*place, x), pool.combined(x, width))
            )

        ctx.tasks(shape[:-1], row)

    return emit


def _windows(reducer: Reducer, *, mean: bool) -> Emit:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, PoolOp)
        b, window, order, kind = ctx.b, _window(op), _order(op), _kind(op, mean=mean)
        if isinstance(op, Pool2DOp) and blocked_lanes(op.data_layout) is not None:
            emit_blocked_pool(ctx, op, sink, window, reducer, kind, mean=mean)
            return
        out_shape = order.canonical(shape_of(op.result))
        image = prepare_image(ctx, op.data, window, reducer.neutral(kind), kind, order)
        lanes = ctx.target.lanes(kind.bytes)
        take = _finished(ctx, op, sink, kind, mean=mean)

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
                take((*indices, x), b.first_lanes(total, width))

            ctx.vectors(out_shape[-1], lanes, elements)

        ctx.tasks(out_shape[:-1], row)

    return emit


def _kind(op: PoolOp, *, mean: bool) -> Element:
    """What is computed in."""
    source = element_of(op.data)
    return sum_kind(source) if mean else wide(source)


def _refuses_rows(site: Site) -> str | None:
    op = site.op
    assert isinstance(op, PoolOp)
    return unless(_order(op).keeps_rows, "rows are not along the last axis") or unless(
        _window(op).strides[-1] <= MOST_PHASES, f"steps of more than {MOST_PHASES} along rows"
    )


def _strategy(reducer: Reducer, *, mean: bool) -> Strategy:
    return (
        Implementation("rows first", _rows(reducer, mean=mean), plevel=11, refusal=_refuses_rows),
        Implementation("windows", _windows(reducer, mean=mean)),
    )


STRATEGIES: dict[type[Operation], Strategy] = {
    **dict.fromkeys((MaxPool1DOp, MaxPool2DOp, MaxPool3DOp), _strategy(MAXIMUM, mean=False)),
    **dict.fromkeys((AvgPool1DOp, AvgPool2DOp, AvgPool3DOp), _strategy(SUM, mean=True)),
}
