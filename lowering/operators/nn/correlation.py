"""Kernel code of the correlation of images, and of convolution with deformed windows."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn.correlation import CorrelationOp, DeformableConv2DOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.axis_order import AxisOrder, in_order, sink_in_order
from xrelay.lowering.loops.windows import COUNT, Window, WindowedImage, prepare_image
from xrelay.lowering.math.arithmetic import add, multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.interpolation import clamped


def _correlation(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Each result element is a sum over the channels and taps; vectors run along rows."""
    assert isinstance(op, CorrelationOp)
    out_shape = shape_of(op.result)
    b, source = ctx.b, element_of(op.data1)
    kind = wide(source)
    _, channels, height, width = shape_of(op.data1)
    top, left, bottom, right = op.pads
    step, gap = op.stride1.value.data, op.stride2.value.data
    most, size, reach = op.max_displacement.value.data, op.kernel_size.value.data, op.reach
    # As windows of one element, the images get their borders.
    whole = (height + top + bottom, width + left + right)
    window = Window((1, 1), (1, 1), (1, 1), op.pads, whole)
    images = [prepare_image(ctx, data, window, 0, kind) for data in (op.data1, op.data2)]
    lanes = ctx.target.lanes(kind.bytes) if step == 1 else 1

    def load(
        image: WindowedImage, n: Index, c: Index, place: Sequence[Index], width: int
    ) -> SSAValue:
        y, x = place
        offset = b.add(image.row_start(n, c, (y,)), x)
        return b.load(image.buffer.pointer, offset, kind, width)

    def elements(outer: tuple[Index, ...], x: Index, count: int) -> None:
        n, q, y = outer
        grid = 2 * reach + 1
        down = b.mul(b.sub(b.div(q, grid), reach), gap)
        across = b.mul(b.sub(b.mod(q, grid), reach), gap)
        first = b.add(b.mul(y, step), most), b.add(b.mul(x, step), most)

        def term(at_tap: tuple[Index, ...], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            c, i, j = at_tap
            own = b.add(first[0], i), b.add(first[1], j)
            other = b.add(own[0], down), b.add(own[1], across)
            one, two = load(images[0], n, c, own, count), load(images[1], n, c, other, count)
            if op.is_multiply.value.data:
                return [multiply_add(b, one, two, totals[0], kind)]
            distance = b.insert(math.AbsFOp(subtract(b, one, two, kind))).result
            return [add(b, totals[0], distance, kind)]

        zero = b.constant(kind.compute, 0, count)
        total = b.fold_nest((channels, size, size), [zero], term)[0]
        divisor = b.constant(kind.compute, max(size**2 * channels, 1), count)
        mean = b.insert(arith.DivfOp(total, divisor)).result
        sink(Position(out_shape, outer, x, count), convert(b, mean, kind, source))

    ctx.vector_tasks(out_shape[:-1], out_shape[-1], lanes, elements)


Corner = tuple[SSAValue, SSAValue, tuple[Index, Index]]
"""A neighbour of a place: whether it exists, its weight, and its coordinates."""


class _Samples:
    """Elements of images at fractional places."""

    def __init__(self, ctx: KernelContext, images: Buffer, kind: Element):
        self.ctx, self.b, self.images, self.kind = ctx, ctx.b, images, kind
        self.size = images.shape[2:]

    def corners(self, place: Sequence[SSAValue]) -> list[Corner]:
        """The four neighbours of a place (row, column); all coordinates are within the image."""
        b, kind = self.b, self.kind
        zero, one = b.constant(kind.compute, 0), b.constant(kind.compute, 1)
        inside: SSAValue | None = None
        axes: list[list[tuple[SSAValue, SSAValue, SSAValue]]] = []
        for value, length in zip(place, self.size, strict=True):
            end = b.constant(kind.compute, length)
            tests = b.compare_floats(zero, "ole", value), b.compare_floats(value, "olt", end)
            for test in tests:
                inside = test if inside is None else b.both(inside, test)
            low = b.insert(math.FloorOp(value)).result
            part = subtract(b, value, low, kind)
            # Saturates, so that places far away are numbers, too.
            first = convert(b, low, kind, COUNT)
            second = b.insert(arith.AddiOp(first, b.constant(i64, 1))).result
            exists = b.compare_integers(second, "slt", b.constant(i64, length))
            places = [clamped(b, number, length) for number in (first, second)]
            axes.append(
                [
                    (b.constant(i1, 1), subtract(b, one, part, kind), places[0]),
                    (exists, part, places[1]),
                ]
            )
        assert inside is not None
        return [
            (
                b.both(inside, b.both(there_y, there_x)),
                multiply(b, share_y, share_x, kind),
                (y, x),
            )
            for there_y, share_y, y in axes[0]
            for there_x, share_x, x in axes[1]
        ]

    def value(self, n: Index, c: Index, corners: Sequence[Corner]) -> SSAValue:
        """The element of a channel between four neighbours."""
        b, kind = self.b, self.kind
        zero = b.constant(kind.compute, 0)
        total = zero
        for exists, share, (y, x) in corners:
            offset = self.images.offset(b, at(self.images.shape, (n, c, y, x)))
            element = b.load(self.images.pointer, offset, self.images.element, 1)
            element = convert(b, element, self.images.element, kind)
            part = b.select(exists, multiply(b, share, element, kind), zero)
            total = add(b, total, part, kind)
        return total


class _Deformable:
    """The kernel: the sampled elements into memory, then sums of products."""

    def __init__(self, ctx: KernelContext, op: DeformableConv2DOp):
        self.ctx, self.b, self.op = ctx, ctx.b, op
        image_layout, kernel_layout, out_layout = op.layouts
        order = AxisOrder(op.IMAGE_LAYOUT, image_layout)
        self.out_order = AxisOrder(op.IMAGE_LAYOUT, out_layout)
        self.kind, self.sample_kind = wide(element_of(op.result)), wide(element_of(op.data))
        self.data = in_order(ctx, op.data, order)
        self.offsets = in_order(ctx, op.offset, order)
        self.weight = in_order(ctx, op.weight, AxisOrder(op.KERNEL_LAYOUT, kernel_layout))
        self.taps = self.weight.shape[2:]
        self.out_shape = self.out_order.canonical(shape_of(op.result))
        shape = (*self.data.shape[:2], *self.taps, *self.out_shape[2:])
        self.columns = ctx.scratch(self.kind, row_major(shape))
        """Samples by image, channel, tap and position."""
        self.samples = _Samples(ctx, self.data, self.sample_kind)

    def sample_all(self) -> None:
        """Fills `columns`."""
        ctx, (batch, _, height, width) = self.ctx, self.data.shape
        if height and width:
            parts = self.op.deformable_groups.value.data
            ctx.tasks((batch, parts, *self.taps, *self.out_shape[2:]), self._sample)
            return
        # There is nothing to sample.
        shape, nothing = self.columns.shape, (self.kind.compute, 0)
        ctx.tasks(
            shape,
            lambda coords: ctx.store(self.columns, at(shape, coords), self.b.constant(*nothing)),
        )

    def _sample(self, coords: tuple[Index, ...]) -> None:
        """A tap at a position, for the channels of one of the groups that are moved together."""
        b, (n, part, i, j, y, x) = self.b, coords
        corners = self.samples.corners(self._place(coords))
        share = self.data.shape[1] // self.op.deformable_groups.value.data
        with b.loop(0, share) as c:
            channel = b.add(b.mul(part, share), c)
            sampled = self.samples.value(n, channel, corners)
            value = convert(b, sampled, self.sample_kind, self.kind)
            self.ctx.store(self.columns, at(self.columns.shape, (n, channel, i, j, y, x)), value)

    def _place(self, coords: tuple[Index, ...]) -> list[SSAValue]:
        """Where a tap at a position lies in the image, by rows and columns."""
        b, op, offsets, (n, part, i, j, y, x) = self.b, self.op, self.offsets, coords
        stored, kind = offsets.element, wide(offsets.element)
        tap = b.flatten((part, i, j), (op.deformable_groups.value.data, *self.taps))
        place: list[SSAValue] = []
        for axis, (step, position) in enumerate(((i, y), (j, x))):
            start = b.add(
                b.mul(position, op.window_strides[axis]), b.mul(step, op.window_dilation[axis])
            )
            base = b.sub(start, op.pads[axis])
            channel = b.add(b.mul(tap, 2), axis)
            where = offsets.offset(b, at(offsets.shape, (n, channel, y, x)))
            shift = b.load(offsets.pointer, where, stored, 1)
            whole = convert(b, b.index(base), COUNT, kind)
            moved = add(b, whole, convert(b, shift, stored, kind), kind)
            place.append(convert(b, moved, kind, self.sample_kind))
        return place

    def sum_all(self, sink: Sink) -> None:
        """The products of samples and weights; vectors run along positions."""
        b, op, kind, taps = self.b, self.op, self.kind, prod(self.taps)
        out_shape = self.out_shape
        finish = sink_in_order(b, sink, shape_of(op.result), self.out_order)
        outputs, depth = self.weight.shape[:2]
        length, steps = prod(out_shape[2:]), depth * taps
        out_kind, weight_kind = element_of(op.result), self.weight.element
        per_group, channels = outputs // op.groups.value.data, self.data.shape[1]

        def elements(outer: tuple[Index, ...], start: Index, count: int) -> None:
            n, o = outer
            first = b.add(b.mul(n, channels), b.mul(b.div(o, per_group), depth))
            base = b.add(b.mul(first, taps * length), start)

            def term(k: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                vector = b.load(self.columns.pointer, b.add(base, b.mul(k, length)), kind, count)
                place = b.add(b.mul(o, steps), k)
                number = b.load(self.weight.pointer, place, weight_kind, 1)
                factor = b.splat(convert(b, number, weight_kind, kind), count)
                return [multiply_add(b, vector, factor, totals[0], kind)]

            total = b.fold(0, steps, 1, [b.constant(kind.compute, 0, count)], term)[0]
            finish(Position(out_shape, outer, start, count), convert(b, total, kind, out_kind))

        self.ctx.vector_tasks(out_shape[:2], length, self.ctx.target.lanes(kind.bytes), elements)


def _deformable(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, DeformableConv2DOp)
    kernel = _Deformable(ctx, op)
    kernel.sample_all()
    ctx.barrier()
    kernel.sum_all(sink)


STRATEGIES: dict[type[Operation], Strategy] = {
    CorrelationOp: (Implementation("sums", _correlation),),
    DeformableConv2DOp: (Implementation("samples", _deformable),),
}
