"""Kernel code of what is inside of boxes on images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.image.resize import LINEAR
from xrelay.dialects.lengths import larger
from xrelay.dialects.vision import regions
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.evaluate import (
    Buffer,
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import Position, at, linear
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, lowest, maximum
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.math.interpolation import (
    Tap,
    blended,
    clamped,
    extent,
    floor,
    raw_taps,
    real,
    taps,
)
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.image.resize import channel_lanes, each_element
from xrelay.lowering.operators.qnn.parameters import Arithmetic
from xrelay.lowering.operators.vision.boxes import multibox_prior, multibox_transform_loc, proposal

EPSILON = 1e-5
"""What the edges of parts are moved inwards before they are rounded outwards."""


CHANNELS_AT_ONCE = 64
"""Channels apart from each other that are read at a place: lines of a few rows of so many stay near the core."""


def _ceil(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The smallest whole number that is not below x."""
    v = Lanes.of(b, x)
    return v.neg(floor(b, v.neg(x)))


class _Region:
    """A region, in f64: the number of its image, and where it begins and ends on each axis."""

    def __init__(self, ctx: KernelContext, op: regions.RegionOp, rois: Buffer, number: Index):
        b = ctx.b
        batch, _, *_ = op.axes

        def load(i: int) -> SSAValue:
            value = b.load(rois.pointer, b.add(b.mul(number, 5), i), rois.element, 1)
            return convert(b, value, rois.element, REAL)

        whole = convert(b, load(0), REAL, INDEX)
        self.image = clamped(b, whole, shape_of(op.data)[batch])
        scale = b.constant(f64, op.spatial_scale.value.data)
        shift = b.constant(f64, 0.5)

        def edge(i: int) -> SSAValue:
            place = b.insert(arith.MulfOp(load(i), scale)).result
            aligned = isinstance(op, regions.RoiAlignOp) and op.aligned.value.data
            return b.insert(arith.SubfOp(place, shift)).result if aligned else place

        self.edges = [[edge(i - axis) for i in (2, 4)] for axis in (0, 1)]


@dataclass(frozen=True)
class _Samples:
    """The points of one cell of a region along its axes."""

    ctx: KernelContext
    lengths: Sequence[int]
    """Of the axes of the image."""
    firsts: Sequence[SSAValue]
    """Where the cell begins."""
    sizes: Sequence[SSAValue]
    counts: Sequence[Index]
    """How many points there are."""

    @staticmethod
    def of(
        ctx: KernelContext, op: regions.RoiAlignOp, region: _Region, coords: Sequence[Index]
    ) -> "_Samples":
        """Those of the cell at a position of the result."""
        b, ratio, shape = ctx.b, op.sample_ratio.value.data, shape_of(op.result)
        _, _, *spatial = op.axes
        firsts: list[SSAValue] = []
        sizes: list[SSAValue] = []
        counts: list[Index] = []
        for axis, (start, end) in zip(spatial, region.edges, strict=True):
            v = Lanes.of(b, start)
            whole = v.sub(end, start)
            if not op.aligned.value.data:
                whole = v.at_least(whole, 1.0)
            size = v.div(whole, extent(v, shape[axis]))
            counts.append(ratio if ratio > 0 else convert(b, _ceil(b, size), REAL, INDEX))
            firsts.append(v.add(start, v.mul(real(b, coords[axis]), size)))
            sizes.append(size)
        lengths = [shape_of(op.data)[axis] for axis in spatial]
        return _Samples(ctx, lengths, firsts, sizes, counts)

    def taps(self, i: int, number: Index, kind: Element) -> tuple[list[Tap], SSAValue]:
        """What a point reads along an axis, and whether it lies outside of the image."""
        b = self.ctx.b
        v, length = Lanes.of(b, self.sizes[i]), self.lengths[i]
        moved = v.mul(v.add(real(b, number), v.number(0.5)), self.sizes[i])
        c = v.add(self.firsts[i], v.div(moved, real(b, self.counts[i])))
        outside = b.either(
            b.compare_floats(c, "olt", v.number(-1.0)),
            b.compare_floats(extent(v, length), "olt", c),
        )
        c = v.at_most(v.at_least(c, 0.0), extent(v, length - 1))
        return taps(b, raw_taps(b, c, length, LINEAR), length, kind), outside


def _roi_align(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """The points of a cell, and what they read, are found once for many channels, whose sums are in memory of the thread."""
    assert isinstance(op, regions.RoiAlignOp)
    b, source = ctx.b, element_of(op.data)
    kind = wide(source)
    shape, (batch, channel, *spatial) = shape_of(op.result), op.axes
    lanes, channels = channel_lanes(ctx, kind, channel, len(shape)), shape[channel]
    at_once = channels if lanes > 1 else CHANNELS_AT_ONCE
    data, rois = ctx.in_memory(op.data), ctx.in_memory(op.rois)
    sums = ctx.private_scratch(kind, row_major((larger(at_once, 1, of_empty=True),)))
    means = op.mode.data == "avg"

    def cell(indices: tuple[Index, ...]) -> None:
        number, group, *cells = indices
        first = b.mul(group, at_once)
        coords: list[Index] = [0] * len(shape)
        coords[batch] = number
        for axis, place in zip(spatial, cells, strict=True):
            coords[axis] = place
        region = _Region(ctx, op, rois, number)
        samples = _Samples.of(ctx, op, region, coords)

        def each_channel(body: Callable[[Index, int], None]) -> None:
            """For the channels of the group, counted from its first one."""
            if lanes > 1:
                ctx.vectors(channels, lanes, body)
                return
            with b.loop(0, b.smaller(b.sub(channels, first), at_once)) as i:
                body(i, 1)

        def clear(i: Index, width: int) -> None:
            neutral = b.constant(kind.compute, 0.0 if means else lowest(kind), width)
            b.store(sums.pointer, i, kind, neutral)

        def read(place: Sequence[SSAValue], i: Index, width: int) -> SSAValue:
            own = list(coords)
            own[batch], own[channel] = region.image, b.add(first, i)
            for axis, index in zip(spatial, place, strict=True):
                own[axis] = index
            loaded = b.load(data.pointer, b.flatten(own, data.shape), source, width)
            return convert(b, loaded, source, kind)

        def finish(i: Index, width: int) -> None:
            total = b.load(sums.pointer, i, kind, width)
            if means:
                count = b.larger(b.mul(*samples.counts), 1)
                product = convert(b, b.index(count), INDEX, kind)
                total = b.insert(arith.DivfOp(total, b.splat(product, width))).result
            coords[channel] = b.add(first, i)
            sink(at(shape, coords, width), convert(b, total, kind, source))

        each_channel(clear)
        with b.loop(0, samples.counts[0]) as y, b.loop(0, samples.counts[1]) as x:
            (y_taps, y_outside), (x_taps, x_outside) = (
                samples.taps(axis, place, kind) for axis, place in enumerate((y, x))
            )
            is_outside = b.either(y_outside, x_outside)

            def sample(i: Index, width: int) -> None:
                value = blended(
                    b, (y_taps, x_taps), kind, width, lambda place, _: read(place, i, width)
                )
                zero = b.constant(kind.compute, 0.0, width)
                value = b.select(b.splat(is_outside, width), zero, value)
                old = b.load(sums.pointer, i, kind, width)
                new = add(b, old, value, kind) if means else maximum(b, old, value, kind)
                b.store(sums.pointer, i, kind, new)

            each_channel(sample)
        each_channel(finish)

    groups = blocks(channels, at_once) if at_once else 0
    ctx.tasks((shape[batch], groups, *(shape[axis] for axis in spatial)), cell)


def _roi_pool(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, regions.RoiPoolOp)
    b, source = ctx.b, element_of(op.data)
    kind = wide(source)
    shape, (batch, channel, *spatial) = shape_of(op.result), op.axes
    lanes = channel_lanes(ctx, kind, channel, len(shape))
    data, rois = ctx.in_memory(op.data), ctx.in_memory(op.rois)
    a = Arithmetic(b, 1)

    def elements(coords: tuple[Index, ...], width: int) -> SSAValue:
        region = _Region(ctx, op, rois, coords[batch])
        ranges: list[list[SSAValue]] = []
        for axis, edges in zip(spatial, region.edges, strict=True):
            start, end = map(a.round_half_away, edges)
            v, number = Lanes.of(b, start), real(b, coords[axis])
            size = v.add(v.sub(end, start), v.number(1.0))
            size = v.div(v.at_least(size, 1.0), extent(v, shape[axis]))
            first = floor(b, v.add(v.mul(number, size), v.number(EPSILON)))
            after = v.mul(v.add(number, v.number(1.0)), size)
            last = _ceil(b, v.sub(after, v.number(EPSILON)))
            length = extent(v, data.shape[axis])
            ranges.append(
                [
                    convert(b, v.at_most(v.at_least(v.add(e, start), 0.0), length), REAL, INDEX)
                    for e in (first, last)
                ]
            )
        own = list(coords)
        own[batch] = region.image

        def row(y: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def element(x: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                place = list(own)
                place[spatial[0]], place[spatial[1]] = y, x
                loaded = b.load(data.pointer, b.flatten(place, data.shape), source, width)
                return [maximum(b, best[0], convert(b, loaded, source, kind), kind)]

            return b.fold(ranges[1][0], ranges[1][1], 1, values, element)

        least = b.constant(kind.compute, lowest(kind), width)
        (best,) = b.fold(ranges[0][0], ranges[0][1], 1, [least], row)
        some = b.both(*(b.compare_index(low, "slt", high) for low, high in ranges))
        zero = b.constant(kind.compute, 0.0, width)
        return convert(b, b.select(b.splat(some, width), best, zero), kind, source)

    each_element(ctx, shape, lanes, elements, sink)


def _yolo_reorg(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, regions.YoloReorgOp)
    b, stride = ev.b, op.stride.value.data
    batch, channels, height, width = shape_of(op.data)
    small = channels // (stride * stride)
    parts: list[SSAValue] = []
    for i in range(position.lanes):
        # Of the data, [N, C', H, s, W, s]; of the result, [N, s, s, C', H, W].
        offset = position.lane(b, i).offset(b)
        image, down, right, channel, row, column = b.unflatten(
            offset, (batch, stride, stride, small, height, width)
        )
        own = b.flatten(
            (image, channel, row, down, column, right),
            (batch, small, height, stride, width, stride),
        )
        parts.append((yield Demand((op.data, 0), linear(shape_of(op.data), own))))
    return b.from_lanes(parts)


RULES: dict[type[Operation], RuleFunction] = {regions.YoloReorgOp: _yolo_reorg}

STRATEGIES: dict[type[Operation], Strategy] = {
    regions.MultiboxPriorOp: (Implementation("places", multibox_prior),),
    regions.MultiboxTransformLocOp: (Implementation("anchors", multibox_transform_loc),),
    regions.ProposalOp: (Implementation("images", proposal),),
    regions.RoiAlignOp: (Implementation("samples", _roi_align),),
    regions.RoiPoolOp: (Implementation("parts", _roi_pool),),
}
