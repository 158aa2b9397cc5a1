"""Kernel code of pooling: vectors run along the output row."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.layout import image_lanes
from xrelay.dialects.pool import AvgPool2DOp, MaxPool2DOp, Pool2DOp
from xrelay.dialects.windows import expand_padding, positive_pair
from xrelay.lowering.builder import Index, KernelBuilder, lanes_of
from xrelay.lowering.context import KernelContext
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import wide
from xrelay.lowering.evaluate import element_of, shape_of
from xrelay.lowering.pool_blocked import emit_blocked_pool
from xrelay.lowering.position import at
from xrelay.lowering.reduction import MAXIMUM, SUM, Reducer, average, sum_kind
from xrelay.lowering.strategy import Implementation, Sink, Strategy
from xrelay.lowering.windows import COUNT, Window, fold_taps, prepare_image


def _window(op: Pool2DOp) -> Window:
    positions = shape_of(op.result)[2:4]
    return Window(
        positive_pair(op.pool_size, "pool_size"),
        positive_pair(op.strides, "strides"),
        positive_pair(op.dilation, "dilation"),
        expand_padding(op.padding.get_values()),
        (positions[0], positions[1]),
    )


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

    def count(_: Index, tap: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shift = b.sub(b.mul(tap, window.dilation[axis]), window.pads[axis])
        coordinate = b.insert(arith.AddiOp(scaled, b.splat(b.index(shift), lanes))).result
        inside = b.both(
            b.compare_integers(coordinate, "sge", number(limits[0])),
            b.compare_integers(coordinate, "slt", number(limits[1])),
        )
        more = b.insert(arith.AddiOp(totals[0], number(1))).result
        return [b.select(inside, more, totals[0])]

    return fold_taps(b, (1, window.taps[axis]), [number(0)], count)[0]


def _divisor(
    ctx: KernelContext, op: AvgPool2DOp, window: Window, row: Index, column: Index, lanes: int
) -> SSAValue:
    """The number of elements that count in each window, as i64."""
    b = ctx.b
    shape = shape_of(op.data)
    limits: list[tuple[int, int]] = []
    for axis in (0, 1):
        size = shape[2 + axis]
        if op.count_include_pad.value.data:
            limits.append((-window.pads[axis], size + window.pads[axis + 2]))
        else:
            limits.append((0, size))
    extents = window.extent
    if all(
        limits[axis][0] <= -window.pads[axis]
        and extents[axis] - window.pads[axis] <= limits[axis][1]
        for axis in (0, 1)
    ):
        return b.constant(i64, window.taps[0] * window.taps[1], lanes)
    rows = _taps_inside(b, window, 0, b.index(row), limits[0])
    start = b.splat(b.index(column), lanes)
    places = b.insert(arith.AddiOp(start, b.lane_numbers(lanes))).result if lanes > 1 else start
    columns = _taps_inside(b, window, 1, places, limits[1])
    count = b.insert(arith.MuliOp(b.splat(rows, lanes), columns)).result
    # Where nothing counts, the sum is 0 and so is the mean.
    return b.insert(arith.MaxSIOp(count, b.constant(i64, 1, lanes))).result


def _emit(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, Pool2DOp)
        b, window = ctx.b, _window(op)
        source = element_of(op.data)
        kind = sum_kind(source) if mean else wide(source)
        out_shape = shape_of(op.result)
        if 0 in out_shape:
            return
        if image_lanes(op.layout, "layout") is not None:
            emit_blocked_pool(ctx, op, sink, window, reducer, kind, mean=mean)
            return
        image = prepare_image(ctx, op.data, window, reducer.neutral(kind), kind)
        lanes = ctx.target.lanes(kind.bytes)

        def row(indices: tuple[Index, ...]) -> None:
            n, c, y = indices
            start = image.row_start(n, c, y)

            def elements(x: Index, width: int) -> None:
                loaded = lanes if image.overrun else width
                pixels = b.address(image.buffer.pointer, b.add(start, x), kind.storage)

                def add_tap(
                    y_tap: Index, x_tap: Index, totals: Sequence[SSAValue]
                ) -> Sequence[SSAValue]:
                    tap = b.load(pixels, image.tap_offset(y_tap, x_tap), kind, loaded)
                    return [reducer.combine(b, totals[0], tap, kind)]

                neutral = b.constant(kind.compute, reducer.neutral(kind), loaded)
                total = fold_taps(b, window.taps, [neutral], add_tap)[0]
                value = b.first_lanes(total, width)
                if mean:
                    assert isinstance(op, AvgPool2DOp)
                    divisor = _divisor(ctx, op, window, y, x, width)
                    value = average(b, value, convert(b, divisor, COUNT, kind), kind)
                sink(at(out_shape, (n, c, y, x), width), convert(b, value, kind, source))

            ctx.vectors(out_shape[3], lanes, elements)

        ctx.tasks(out_shape[:3], row)

    return (Implementation("windows", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    MaxPool2DOp: _emit(MAXIMUM),
    AvgPool2DOp: _emit(SUM, mean=True),
}
