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
from xrelay.dialects.lengths import is_open, smaller
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.axis_order import FIRST_TO_LAST, AxisOrder, in_order, sink_in_order
from xrelay.lowering.loops.windows import Window, WindowedImage, fold_taps, prepare_image, row_tiles
from xrelay.lowering.math.arithmetic import multiply_add
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.conv.blocked import DIRECT_BLOCKED
from xrelay.lowering.operators.conv.blocked_tiles import BLOCKED_TILES, GATHERED_TILES
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


@dataclass(frozen=True)
class _Direct:
    """A convolution whose tiles are some output channels at some vectors of a row."""

    ctx: KernelContext
    op: Conv2DOp | Conv3DOp
    orders: _Orders
    window: Window
    kind: Element
    """What it computes in."""
    image: WindowedImage
    weight: Buffer
    finish: Sink

    @staticmethod
    def of(ctx: KernelContext, op: Conv2DOp | Conv3DOp, sink: Sink) -> "_Direct":
        """Its operands made ready: images in memory with their padding, weights in their order."""
        orders, kind = _Orders.of(op), wide(element_of(op.result))
        positions = orders.result.canonical(shape_of(op.result))[2:]
        taps = orders.weight.canonical(shape_of(op.weight))[2:]
        window = Window(
            tuple(taps), op.window_strides, op.window_dilation, op.pads, tuple(positions)
        )
        return _Direct(
            ctx,
            op,
            orders,
            window,
            kind,
            prepare_image(ctx, op.data, window, 0, kind, orders.images),
            in_order(ctx, op.weight, orders.weight),
            sink_in_order(ctx.b, sink, shape_of(op.result), orders.result),
        )

    @property
    def out_shape(self) -> tuple[int, ...]:
        """Images, channels and positions of the result."""
        return self.orders.result.canonical(shape_of(self.op.result))

    @property
    def depth(self) -> int:
        """Input channels of a group."""
        return self.orders.weight.canonical(shape_of(self.op.weight))[1]

    @property
    def group_channels(self) -> int:
        """Output channels of a group."""
        return self.out_shape[1] // self.op.groups.value.data

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.ctx.target.lanes(self.kind.bytes)

    def emit(self) -> None:
        """The loops over images, groups, blocks of channels, and lines."""
        b, positions = self.ctx.b, self.window.positions
        *lines, columns = (1, prod(positions)) if self.image.is_pointwise else positions
        block = _channels_at_once(self.ctx.target, self.ctx.parameters)
        blocks, left = divmod(self.group_channels, block)
        rest = (left, 1) if is_open(left) else (1, left)
        for first, count, channels in ((0, blocks, block), (blocks * block, *rest)):
            if channels:

                def place(
                    at: tuple[Index, ...], first: int = first, channels: int = channels
                ) -> None:
                    n, group, part, *line = at
                    begin = b.mul(group, self.group_channels)
                    channel = b.add(begin, b.add(first, b.mul(part, channels)))
                    self._row((n, channel, *line), columns, channels)

                extents = (self.out_shape[0], self.op.groups.value.data, count, *lines)
                self.ctx.tasks(extents, place)

    def _row(self, place: tuple[Index, ...], columns: int, channels: int) -> None:
        """Output channels from the second index on, at one row."""
        if is_open(columns):
            self._open_row(place, columns, channels)
            return
        vectors = 2 if columns > self.lanes else 1
        whole, (full, rest) = row_tiles(columns, self.lanes, vectors)
        if whole:
            with self.ctx.b.loop(0, whole, self.lanes * vectors) as start:
                self._tile(place, start, full, channels)
        if rest:
            self._tile(place, whole, rest, channels)

    def _open_row(self, place: tuple[Index, ...], columns: int, channels: int) -> None:
        """
        The same where it is not known how long a row is: vectors, the last of which overlaps with the one before, or
        single elements where the row is shorter than a vector.
        """
        b, lanes = self.ctx.b, self.lanes
        is_long = smaller(columns // lanes, 1)
        with b.loop(0, -(-columns // lanes) * is_long) as i:
            start = b.smaller(b.mul(i, lanes), columns - lanes)
            self._tile(place, start, [lanes], channels)
        with b.loop(0, columns * (1 - is_long)) as start:
            self._tile(place, start, [1], channels)

    def _tile(
        self, place: tuple[Index, ...], start: Index, widths: Sequence[int], channels: int
    ) -> None:
        """Output channels from the second index on, at `widths` elements of a row."""
        b, kind = self.ctx.b, self.kind
        n, channel, *line = place
        first_input = b.mul(b.div(channel, self.group_channels), self.depth)
        loaded = [self.lanes if self.image.overrun else width for width in widths]
        starts = [sum(widths[:v]) for v in range(len(widths))]
        taps = prod(self.window.taps)

        def input_channel(c: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            base = b.add(self.image.row_start(n, b.add(first_input, c), line), start)
            pixels = b.address(self.image.buffer.pointer, base, kind.storage)
            plane = b.mul(b.add(b.mul(channel, self.depth), c), taps)
            numbers = b.address(self.weight.pointer, plane, self.weight.element.storage)
            return self._add_taps(pixels, numbers, starts, loaded, totals)

        zeros = [b.constant(kind.compute, 0, width) for _ in range(channels) for width in loaded]
        totals = b.fold(0, self.depth, 1, zeros, input_channel)
        for o in range(channels):
            own = b.add(channel, o)
            for v, width in enumerate(widths):
                value = b.first_lanes(totals[o * len(widths) + v], width)
                value = convert(b, value, kind, element_of(self.op.result))
                column = b.add(start, starts[v])
                outer = (n, own) if self.image.is_pointwise else (n, own, *line)
                self.finish(Position(self.out_shape, outer, column, width), value)

    def _add_taps(
        self,
        pixels: SSAValue,
        numbers: SSAValue,
        starts: Sequence[int],
        widths: Sequence[int],
        totals: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Adds the taps of one input channel to the totals of all output channels of a tile."""
        b, kind, weight = self.ctx.b, self.kind, self.weight.element
        channels, taps = len(totals) // len(widths), self.window.taps

        def add_tap(at: tuple[Index, ...], sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            offset, tap = self.image.tap_offset(at), b.flatten(at, taps)
            data = [
                b.load(pixels, b.add(offset, start), kind, width)
                for start, width in zip(starts, widths, strict=True)
            ]
            result: list[SSAValue] = []
            for o in range(channels):
                where = b.add(tap, o * self.depth * prod(taps))
                number = convert(b, b.load(numbers, where, weight, 1), weight, kind)
                for v, width in enumerate(widths):
                    factor = b.splat(number, width)
                    total = sums[o * len(widths) + v]
                    result.append(multiply_add(b, data[v], factor, total, kind))
            return result

        return fold_taps(b, taps, totals, add_tap)


def _direct(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp | Conv3DOp)
    if 0 not in shape_of(op.result):
        _Direct.of(ctx, op, sink).emit()


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

_OF_IMAGES: Strategy = (
    replace(DIRECT, refusal=_blocks_refusal),
    DIRECT_BLOCKED,
    BLOCKED_TILES,
    GATHERED_TILES,
    DEPTHWISE,
    *WINOGRAD,
)
"""Those of images whose axes lie in the usual order."""

STRATEGIES: dict[type[Operation], Strategy] = {
    Conv2DOp: tuple(map(_of_plain, _OF_IMAGES)),
    Conv3DOp: (replace(DIRECT, refusal=_volume_refusal),),
}
