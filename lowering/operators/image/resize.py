"""
Kernel code of images in other sizes, and of morphology.

    for all axes of the result but the last one:          # shared between the threads
        for each element of the last one, or vector of channels:
            coordinates -> elements of each axis and their weights -> sum

What depends on the outer loops alone, LLVM computes there.
"""

from collections.abc import Callable, Sequence
from math import isnan, trunc

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.windows import expand_padding, positive_pair
from xrelay.dialects.image import resize as image
from xrelay.dialects.image.resize import CROPPING, LINEAR, NEAREST
from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, highest, lowest, maximum
from xrelay.lowering.math.convert import REAL, SINGLE, convert
from xrelay.lowering.math.interpolation import (
    Tap,
    blended,
    clamped,
    extent,
    is_inside,
    raw_taps,
    real,
    taps,
)
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.image.rows import RowResizer, TapsAt, blending_kind, refuses_rows

Elements = Callable[[tuple[Index, ...], int], SSAValue]
"""Computes elements of the result from a position on, along the last axis."""


def each_element(
    ctx: KernelContext, shape: tuple[int, ...], lanes: int, elements: Elements, sink: Sink
) -> None:
    """Hands all elements of a result to the sink, `lanes` along the last axis at once."""

    def row(outer: tuple[Index, ...]) -> None:
        def part(start: Index, width: int) -> None:
            coords = (*outer, start)
            sink(at(shape, coords, width), elements(coords, width))

        ctx.vectors(shape[-1], lanes, part)

    ctx.tasks(shape[:-1], row)


def channel_lanes(ctx: KernelContext, kind: Element, channel: int, rank: int) -> int:
    """A vector of channels where they are neighbours, else one element."""
    return ctx.target.lanes(kind.bytes) if channel == rank - 1 else 1


def _constant(b: KernelBuilder, number: float, kind: Element, lanes: int) -> SSAValue:
    """A number, converted to a kind of elements as by a cast."""
    if kind.is_bool:
        number = number != 0
    elif not kind.is_float:
        number = 0 if isnan(number) else trunc(min(max(number, lowest(kind)), highest(kind)))
    return b.constant(kind.compute, number, lanes)


class _Blending:
    """How the elements of one operator are blended."""

    def __init__(
        self, ctx: KernelContext, data: SSAValue, result: SSAValue, method: str, axes: Sequence[int]
    ):
        self.b = ctx.b
        self.source, self.out = element_of(data), element_of(result)
        self.buffer: Buffer = ctx.in_memory(data)
        self.kind = blending_kind(method, self.source, self.out)
        self.axes = axes

    def blend(
        self,
        coords: Sequence[Index],
        choices: Sequence[Sequence[Tap]],
        lanes: int,
        outside: SSAValue | None,
        otherwise: float,
    ) -> SSAValue:
        """Elements of the result; `otherwise` where the coordinates are outside of the image."""
        b = self.b

        def load(indices: tuple[SSAValue, ...], _: SSAValue | None) -> SSAValue:
            own = list(coords)
            for axis, index in zip(self.axes, indices, strict=True):
                own[axis] = index
            offset = b.flatten(own, self.buffer.shape)
            value = b.load(self.buffer.pointer, offset, self.source, lanes)
            return convert(b, value, self.source, self.kind)

        value = blended(b, choices, self.kind, lanes, load)
        if outside is not None:
            value = b.select(
                b.splat(outside, lanes), _constant(b, otherwise, self.kind, lanes), value
            )
        return convert(b, value, self.kind, self.out)


def _is_beyond(b: KernelBuilder, c: SSAValue, length: int) -> SSAValue:
    """Whether a coordinate is outside of an axis."""
    v = Lanes.of(b, c)
    below = b.compare_floats(c, "olt", v.number(0.0))
    return b.either(below, b.compare_floats(extent(v, length - 1), "olt", c))


Coordinate = Callable[[int, Index], SSAValue]
"""The f64 coordinate in the image, along a spatial axis counted from 0, of a place in the result."""


def _coordinate(ctx: KernelContext, op: image.ResizeOp) -> Coordinate:
    b, lengths = ctx.b, _spatial_lengths(op)
    places = op.coordinates(lengths)

    def coordinate(axis: int, index: Index) -> SSAValue:
        x, place = real(b, index), places[axis]
        v = Lanes.of(b, x)
        usual = _coordinate_at(v, x, place)
        if place.alone is None:
            return usual
        beside, alone = place.alone
        is_alone = b.compare_floats(extent(v, beside), "ole", v.number(0.0))
        return b.select(is_alone, _coordinate_at(v, x, alone), usual)

    return coordinate


def _coordinate_at(v: Lanes, x: SSAValue, place: image.Coordinates) -> SSAValue:
    scaled = v.mul(v.add(x, v.number(place.before)), _scale(v, place))
    return v.add(scaled, _offset(v, place))


def _scale(v: Lanes, place: image.Coordinates) -> SSAValue:
    """How far the coordinates of neighbours are apart."""
    if is_open(place.length) or is_open(place.target):
        length = v.mul(v.number(place.part), extent(v, place.length))
        return v.div(length, extent(v, place.target))
    return v.number(place.scale)


def _offset(v: Lanes, place: image.Coordinates) -> SSAValue:
    """What is added to all coordinates."""
    if place.start and is_open(place.length):
        from_start = v.mul(v.number(place.start), extent(v, place.length))
        return v.add(from_start, v.number(place.after))
    return v.number(place.after if is_open(place.length) else place.offset)


def _spatial_lengths(op: image.ResizeOp) -> list[int]:
    return [shape_of(op.data)[axis] for axis in op.axes[2:]]


def _taps_along(
    ctx: KernelContext, op: image.ResizeOp, axis: int, c: SSAValue, kind: Element
) -> list[Tap]:
    """The elements along a spatial axis that make the one at a coordinate."""
    b, length = ctx.b, _spatial_lengths(op)[axis]
    raw = raw_taps(
        b,
        c,
        length,
        op.method.data,
        rounding=op.rounding,
        alpha=op.cubic_alpha.value.data,
        exclude=op.cubic_exclude.value.data != 0,
    )
    return taps(b, raw, length, kind)


def _resize(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, image.ResizeOp)
    b, shape, lengths = ctx.b, shape_of(op.result), _spatial_lengths(op)
    spatial, coordinate = op.axes[2:], _coordinate(ctx, op)
    crops = op.coordinate_transformation_mode.data == CROPPING
    blending = _Blending(ctx, op.data, op.result, op.method.data, spatial)
    lanes = channel_lanes(ctx, blending.kind, op.axes[1], len(shape))

    def elements(coords: tuple[Index, ...], width: int) -> SSAValue:
        choices: list[list[Tap]] = []
        outside: SSAValue | None = None
        for i, axis in enumerate(spatial):
            c = coordinate(i, coords[axis])
            choices.append(_taps_along(ctx, op, i, c, blending.kind))
            if crops:
                beyond = _is_beyond(b, c, lengths[i])
                outside = beyond if outside is None else b.either(outside, beyond)
        otherwise = op.extrapolation_value.value.data
        return blending.blend(coords, choices, width, outside, otherwise)

    each_element(ctx, shape, lanes, elements, sink)


def _resize_rows(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, image.ResizeOp)
    coordinate = _coordinate(ctx, op)

    def taps_of(kind: Element) -> TapsAt:
        return lambda axis, place: _taps_along(ctx, op, axis, coordinate(axis, place), kind)

    RowResizer(ctx, op, taps_of).emit(sink)


def _crop_and_resize(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, image.CropAndResizeOp)
    b, shape, source_shape = ctx.b, shape_of(op.result), shape_of(op.data)
    batch, channel, *spatial = op.axes
    method = NEAREST if op.method.data == NEAREST else LINEAR
    blending = _Blending(ctx, op.data, op.result, method, spatial)
    boxes, numbers = ctx.in_memory(op.boxes), ctx.in_memory(op.box_indices)
    lanes = channel_lanes(ctx, blending.kind, channel, len(shape))

    def corner(box: Index, i: int) -> SSAValue:
        loaded = b.load(boxes.pointer, b.add(b.mul(box, 4), i), boxes.element, 1)
        return convert(b, loaded, SINGLE, REAL)

    def elements(coords: tuple[Index, ...], width: int) -> SSAValue:
        box = coords[batch]
        choices: list[list[Tap]] = []
        outside: SSAValue | None = None
        for i, axis in enumerate(spatial):
            length, target = source_shape[axis], shape[axis]
            start, end = corner(box, i), corner(box, 2 + i)
            v = Lanes.of(b, start)
            last = extent(v, length - 1)
            if target == 1:
                c = v.mul(v.mul(v.number(0.5), v.add(start, end)), last)
            else:
                step = v.div(v.mul(v.sub(end, start), last), extent(v, target - 1))
                first = v.mul(start, last)
                c = v.add(v.mul(real(b, coords[axis]), step), first)
            choices.append(taps(b, raw_taps(b, c, length, method), length, blending.kind))
            beyond = _is_beyond(b, c, length)
            outside = beyond if outside is None else b.either(outside, beyond)
        number = b.load(numbers.pointer, box, numbers.element, 1)
        wide_number = convert(b, number, numbers.element, INDEX)
        own = list(coords)
        own[batch] = clamped(b, wide_number, source_shape[batch])
        otherwise = op.extrapolation_value.value.data
        return blending.blend(own, choices, width, outside, otherwise)

    each_element(ctx, shape, lanes, elements, sink)


def _dilation2d(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, image.Dilation2DOp)
    b, shape, source_shape = ctx.b, shape_of(op.result), shape_of(op.data)
    out = element_of(op.result)
    kind, rank = wide(out), len(shape)
    data, weight = ctx.in_memory(op.data), ctx.in_memory(op.weight)
    batch, channel, *spatial = op.data_axes
    weight_channel, *weight_spatial = op.weight_axes
    strides, steps = positive_pair(op.strides, "strides"), positive_pair(op.dilations, "dilations")
    pads = expand_padding(op.padding.get_values())
    counts = [weight.shape[axis] for axis in weight_spatial]
    together = channel == rank - 1 and weight_channel == 2
    lanes = ctx.target.lanes(kind.bytes) if together else 1

    def elements(coords: tuple[Index, ...], width: int) -> SSAValue:
        zero = b.constant(kind.compute, 0, width)

        def tap(place: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            inside: SSAValue | None = None
            own: list[Index] = [0] * rank
            own[batch], own[channel] = coords[batch], coords[channel]
            taken: list[Index] = [0] * 3
            taken[weight_channel] = coords[channel]
            for i, axis in enumerate(spatial):
                start = b.sub(b.mul(coords[axis], strides[i]), pads[i])
                index = b.index(b.add(start, b.mul(place[i], steps[i])))
                held = is_inside(b, index, source_shape[axis])
                inside = held if inside is None else b.both(inside, held)
                own[axis] = clamped(b, index, source_shape[axis])
                taken[weight_spatial[i]] = place[i]
            assert inside is not None
            loaded = b.load(data.pointer, b.flatten(own, source_shape), data.element, width)
            pixel = convert(b, convert(b, loaded, data.element, out), out, kind)
            pixel = b.select(b.splat(inside, width), pixel, zero)
            loaded = b.load(weight.pointer, b.flatten(taken, weight.shape), weight.element, width)
            more = convert(b, convert(b, loaded, weight.element, out), out, kind)
            return [maximum(b, values[0], add(b, pixel, more, kind), kind)]

        least = b.constant(kind.compute, lowest(kind), width)
        (value,) = b.fold_nest(counts, [least], tap)
        return convert(b, value, kind, out)

    each_element(ctx, shape, lanes, elements, sink)


RESIZE: Strategy = (
    Implementation("interpolated rows", _resize_rows, plevel=11, refusal=refuses_rows),
    Implementation("gather", _resize),
)

STRATEGIES: dict[type[Operation], Strategy] = {
    image.Resize1DOp: RESIZE,
    image.Resize2DOp: RESIZE,
    image.Resize3DOp: RESIZE,
    image.CropAndResizeOp: (Implementation("gather", _crop_and_resize),),
    image.Dilation2DOp: (Implementation("taps", _dilation2d),),
}
