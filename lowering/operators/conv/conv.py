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
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp, Conv3DOp, ConvolutionOp
from xrelay.lowering.emit.builder import Index
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.axis_order import FIRST_TO_LAST, AxisOrder, in_order, sink_in_order
from xrelay.lowering.loops.windows import Window, fold_taps, prepare_image, row_tiles
from xrelay.lowering.math.arithmetic import multiply_add
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.conv.blocked import DIRECT_BLOCKED
from xrelay.lowering.operators.conv.depthwise import DEPTHWISE
from xrelay.lowering.operators.conv.geometry import Convolution
from xrelay.lowering.operators.conv.winograd import WINOGRAD

MOST_CHANNELS = 32
"""More at once than the largest register file has registers help nobody."""


@dataclass(frozen=True)
class _Orders:
    """Where the elements of the tensors of a convolution lie."""

    images: AxisOrder = FIRST_TO_LAST
    weight: AxisOrder = FIRST_TO_LAST
    result: AxisOrder = FIRST_TO_LAST

    @staticmethod
    def of(op: ConvolutionOp) -> "_Orders":
        """Those that the layouts of an operator state."""
        if isinstance(op, Conv2DOp):
            return _Orders()  # Only of plain ones, not in blocks.
        images, weight, result = op.layouts
        return _Orders(
            AxisOrder(op.IMAGE_LAYOUT, images),
            AxisOrder(op.KERNEL_LAYOUT, weight),
            AxisOrder(op.IMAGE_LAYOUT, result),
        )


def _direct(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp | Conv3DOp)
    b, orders = ctx.b, _Orders.of(op)
    out_kind = element_of(op.result)
    kind = wide(out_kind)
    weight_kind = element_of(op.weight)
    out_shape = orders.result.canonical(shape_of(op.result))
    if 0 in out_shape:
        return
    images, out_channels, *positions = out_shape
    _, depth, *taps = orders.weight.canonical(shape_of(op.weight))
    window = Window(tuple(taps), op.window_strides, op.window_dilation, op.pads, tuple(positions))
    finish = sink_in_order(b, sink, shape_of(op.result), orders.result)
    groups = op.groups.value.data
    group_channels = out_channels // groups
    image = prepare_image(ctx, op.data, window, 0, kind, orders.images)
    weight = in_order(ctx, op.weight, orders.weight)
    *lines, columns = (1, prod(positions)) if image.is_pointwise else positions
    lanes = ctx.target.lanes(kind.bytes)
    vectors = 2 if columns > lanes else 1
    block = _channels_at_once(ctx.target, ctx.parameters)

    def tile(place: tuple[Index, ...], start: Index, widths: Sequence[int], channels: int) -> None:
        """`channels` output channels from the second index on, at `widths` elements of a row."""
        n, channel, *line = place
        group = b.div(channel, group_channels)
        first_input = b.mul(group, depth)
        loaded = [lanes if image.overrun else width for width in widths]
        starts = [sum(widths[:v]) for v in range(len(widths))]

        def input_channel(c: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            base = b.add(image.row_start(n, b.add(first_input, c), line), start)
            pixels = b.address(image.buffer.pointer, base, kind.storage)
            plane = b.mul(b.add(b.mul(channel, depth), c), prod(taps))
            numbers = b.address(weight.pointer, plane, weight_kind.storage)

            def add_tap(at: tuple[Index, ...], sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                offset, tap = image.tap_offset(at), b.flatten(at, taps)
                data = [
                    b.load(pixels, b.add(offset, starts[v]), kind, width)
                    for v, width in enumerate(loaded)
                ]
                result: list[SSAValue] = []
                for o in range(channels):
                    where = b.add(tap, o * depth * prod(taps))
                    number = b.load(numbers, where, weight_kind, 1)
                    number = convert(b, number, weight_kind, kind)
                    for v, width in enumerate(loaded):
                        total = sums[o * len(loaded) + v]
                        factor = b.splat(number, width)
                        result.append(multiply_add(b, data[v], factor, total, kind))
                return result

            return fold_taps(b, window.taps, totals, add_tap)

        zeros = [b.constant(kind.compute, 0, width) for _ in range(channels) for width in loaded]
        totals = b.fold(0, depth, 1, zeros, input_channel)
        for o in range(channels):
            own = b.add(channel, o)
            for v, width in enumerate(widths):
                value = b.first_lanes(totals[o * len(widths) + v], width)
                value = convert(b, value, kind, out_kind)
                column = b.add(start, starts[v])
                outer = (n, own) if image.is_pointwise else (n, own, *line)
                finish(Position(out_shape, outer, column, width), value)

    whole, (full, rest) = row_tiles(columns, lanes, vectors)

    def row_at(place: tuple[Index, ...], channels: int) -> None:
        if whole:
            with b.loop(0, whole, lanes * vectors) as start:
                tile(place, start, full, channels)
        if rest:
            tile(place, whole, rest, channels)

    blocks, left = divmod(group_channels, block)
    for first, count, channels in ((0, blocks, block), (blocks * block, 1, left)):
        if channels:

            def place(at: tuple[Index, ...], first: int = first, channels: int = channels) -> None:
                n, group, part, *line = at
                channel = b.add(b.mul(group, group_channels), b.add(first, b.mul(part, block)))
                row_at((n, channel, *line), channels)

            ctx.tasks((images, groups, count, *lines), place)


def _channels_at_once(target: Target, parameters: Parameters) -> int:
    """How many output channels are computed together."""
    usual = 8 if target.vector_registers >= 32 else 4
    return parameters.number("channels", usual, range(1, MOST_CHANNELS + 1))


def _parameters(site: Site, parameters: Parameters) -> None:
    _channels_at_once(site.target, parameters)


def _blocks_refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    return unless(conv.data_lanes is None and conv.out_lanes is None, "images in blocks")


def _volume_refusal(site: Site) -> str | None:
    op = site.op
    assert isinstance(op, Conv3DOp)
    blocks = any(layout.blocks for layout in op.layouts)
    return unless(not blocks and not op.multiplies_depth, "tensors in blocks")


def _of_plain(implementation: Implementation) -> Implementation:
    """An implementation that knows one order of axes: `legalize-layouts` leaves no other."""

    def refusal(site: Site) -> str | None:
        assert isinstance(site.op, Conv2DOp)
        return unless(site.op.is_plain, "axes in another order") or implementation.refusal(site)

    return replace(implementation, refusal=refusal)


DIRECT = Implementation("direct", _direct, parameters=_parameters)

STRATEGIES: dict[type[Operation], Strategy] = {
    Conv2DOp: tuple(
        map(
            _of_plain,
            (
                replace(DIRECT, refusal=_blocks_refusal),
                DIRECT_BLOCKED,
                DEPTHWISE,
                *WINOGRAD,
            ),
        )
    ),
    Conv3DOp: (replace(DIRECT, refusal=_volume_refusal),),
}
