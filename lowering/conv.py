"""
Kernel code of convolution.

    for image, group, block of output channels, output row, tile of the row:
        registers = 0                                     # channels of the block x vectors
        for input channel of the group, tap:
            registers[o, v] += image vector v at the tap * weight[o]
        hand the registers to the sink

Vectors run along the row, weights are single numbers in all lanes.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv import Conv2DOp
from xrelay.dialects.windows import expand_padding, positive_pair
from xrelay.lowering.binary import multiply_add
from xrelay.lowering.builder import Index
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import wide
from xrelay.lowering.evaluate import element_of, shape_of
from xrelay.lowering.position import Position
from xrelay.lowering.strategy import Implementation, KernelContext, Sink, Strategy
from xrelay.lowering.windows import Window, prepare_image, row_tiles

UNROLLED_TAPS = 9
"""Windows of at most this many taps are unrolled whole, larger ones row by row."""


def _window(op: Conv2DOp) -> Window:
    _, _, *taps = shape_of(op.weight)
    _, _, *positions = shape_of(op.result)
    return Window(
        (taps[0], taps[1]),
        positive_pair(op.strides, "strides"),
        positive_pair(op.dilation, "dilation"),
        expand_padding(op.padding.get_values()),
        (positions[0], positions[1]),
    )


def _direct(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp)
    b, window = ctx.b, _window(op)
    out_kind = element_of(op.result)
    kind = wide(out_kind)
    weight_kind = element_of(op.weight)
    out_shape = shape_of(op.result)
    images, out_channels, out_rows, out_columns = out_shape
    _, depth, taps_y, taps_x = shape_of(op.weight)
    groups = op.groups.value.data
    group_channels = out_channels // groups
    image = prepare_image(ctx, op.data, window, 0, kind)
    weight = ctx.in_memory(op.weight)
    # A pointwise window sees the image as one long row.
    flat = window.is_pointwise
    rows, columns = (1, out_rows * out_columns) if flat else (out_rows, out_columns)
    lanes = ctx.target.lanes(kind.bytes)
    vectors = 2 if columns > lanes else 1
    block = 8 if ctx.target.vector_registers >= 32 else 4

    def tile(
        place: tuple[Index, Index, Index], start: Index, widths: Sequence[int], channels: int
    ) -> None:
        """`channels` output channels from the second index on, at `widths` elements of a row."""
        n, channel, row = place
        group = b.div(channel, group_channels)
        first_input = b.mul(group, depth)
        loaded = [lanes if image.overrun else width for width in widths]
        starts = [sum(widths[:v]) for v in range(len(widths))]

        def add_taps(
            c: Index, y_taps: Sequence[int], weight_row: Index, totals: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            totals = list(totals)
            base = b.add(image.row_start(n, b.add(first_input, c), row), start)
            pixels = b.address(image.buffer.pointer, base, kind.storage)
            numbers = b.address(weight.pointer, weight_row, weight_kind.storage)
            for y in y_taps:
                for x in range(taps_x):
                    offset = image.tap_offset(y, x)
                    data = [
                        b.load(pixels, offset + starts[v], kind, width)
                        for v, width in enumerate(loaded)
                    ]
                    for o in range(channels):
                        where = o * depth * taps_y * taps_x + (y - y_taps[0]) * taps_x + x
                        number = b.load(numbers, where, weight_kind, 1)
                        number = convert(b, number, weight_kind, kind)
                        for v, width in enumerate(loaded):
                            i = o * len(loaded) + v
                            factor = b.splat(number, width)
                            totals[i] = multiply_add(b, data[v], factor, totals[i], kind)
            return totals

        def input_channel(c: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            plane = b.add(b.mul(channel, depth), c)
            weights = b.mul(plane, taps_y * taps_x)
            if taps_y * taps_x <= UNROLLED_TAPS:
                return add_taps(c, range(taps_y), weights, totals)
            for y in range(taps_y):
                totals = add_taps(c, [y], b.add(weights, y * taps_x), totals)
            return totals

        zeros = [b.constant(kind.compute, 0, width) for _ in range(channels) for width in loaded]
        totals = b.fold(0, depth, 1, zeros, input_channel)
        for o in range(channels):
            own = b.add(channel, o)
            for v, width in enumerate(widths):
                value = b.first_lanes(totals[o * len(widths) + v], width)
                value = convert(b, value, kind, out_kind)
                column = b.add(start, starts[v])
                outer = (n, own) if flat else (n, own, row)
                sink(Position(out_shape, outer, column, width), value)

    def channels_at(n: Index, first: Index, channels: int) -> None:
        whole, (full, rest) = row_tiles(columns, lanes, vectors)
        with b.loop(0, rows) as row:
            if whole:
                with b.loop(0, whole, lanes * vectors) as start:
                    tile((n, first, row), start, full, channels)
            if rest:
                tile((n, first, row), whole, rest, channels)

    if 0 in out_shape:
        return
    with b.loop(0, images) as n, b.loop(0, groups) as group:
        first = b.mul(group, group_channels)
        whole = group_channels - group_channels % block
        if whole:
            with b.loop(0, whole, block) as offset:
                channels_at(n, b.add(first, offset), block)
        if group_channels > whole:
            channels_at(n, b.add(first, whole), group_channels - whole)


STRATEGIES: dict[type[Operation], Strategy] = {Conv2DOp: (Implementation("direct", _direct),)}
