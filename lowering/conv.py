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
from xrelay.lowering.context import KernelContext
from xrelay.lowering.conv_blocked import DIRECT_BLOCKED
from xrelay.lowering.conv_depthwise import DEPTHWISE
from xrelay.lowering.conv_geometry import Convolution
from xrelay.lowering.conv_winograd import WINOGRAD
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import wide
from xrelay.lowering.evaluate import element_of, shape_of
from xrelay.lowering.position import Position
from xrelay.lowering.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.windows import Window, fold_taps, prepare_image, row_tiles


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

        def input_channel(c: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            base = b.add(image.row_start(n, b.add(first_input, c), row), start)
            pixels = b.address(image.buffer.pointer, base, kind.storage)
            plane = b.mul(b.add(b.mul(channel, depth), c), taps_y * taps_x)
            numbers = b.address(weight.pointer, plane, weight_kind.storage)

            def add_tap(y: Index, x: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                offset, tap = image.tap_offset(y, x), b.add(b.mul(y, taps_x), x)
                data = [
                    b.load(pixels, b.add(offset, starts[v]), kind, width)
                    for v, width in enumerate(loaded)
                ]
                result: list[SSAValue] = []
                for o in range(channels):
                    where = b.add(tap, o * depth * taps_y * taps_x)
                    number = b.load(numbers, where, weight_kind, 1)
                    number = convert(b, number, weight_kind, kind)
                    for v, width in enumerate(loaded):
                        total = sums[o * len(loaded) + v]
                        factor = b.splat(number, width)
                        result.append(multiply_add(b, data[v], factor, total, kind))
                return result

            return fold_taps(b, (taps_y, taps_x), totals, add_tap)

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

    if 0 in out_shape:
        return
    whole, (full, rest) = row_tiles(columns, lanes, vectors)

    def row_at(place: tuple[Index, Index, Index], channels: int) -> None:
        if whole:
            with b.loop(0, whole, lanes * vectors) as start:
                tile(place, start, full, channels)
        if rest:
            tile(place, whole, rest, channels)

    blocks, left = divmod(group_channels, block)
    for first, count, channels in ((0, blocks, block), (blocks * block, 1, left)):
        if channels:

            def place(at: tuple[Index, ...], first: int = first, channels: int = channels) -> None:
                n, group, part, row = at
                channel = b.add(b.mul(group, group_channels), b.add(first, b.mul(part, block)))
                row_at((n, channel, row), channels)

            ctx.tasks((images, groups, count, rows), place)


def _refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    return unless(conv.data_lanes is None and conv.out_lanes is None, "images in blocks")


STRATEGIES: dict[type[Operation], Strategy] = {
    Conv2DOp: (
        Implementation("direct", _direct, refusal=_refusal),
        DIRECT_BLOCKED,
        DEPTHWISE,
        *WINOGRAD,
    ),
}
