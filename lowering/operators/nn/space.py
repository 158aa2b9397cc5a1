"""Kernel code of the operators that move elements between the axes of images and batches."""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.lengths import certainly, likely, may_exceed
from xrelay.dialects.nn import space
from xrelay.dialects.nn.upsampling import UpsamplingFamilyOp
from xrelay.dialects.tensor.layout import IMAGE
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Coords, Position, at
from xrelay.lowering.loops.axis_order import AxisOrder
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.nn.upsampling import keeps_rows
from xrelay.lowering.operators.tensor.transform import LONG_ROW, join_fields
from xrelay.lowering.operators.tensor.unary import nearest


def _mirror_pad(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.MirrorPadOp)
    b, border, shape = ev.b, op.border, shape_of(op.data)

    def source(coords: Coords) -> list[Index]:
        places: list[Index] = []
        for coord, length, (before, after) in zip(coords, shape, op.widths, strict=False):
            place = b.sub(coord, before)
            if before:
                # A mirror in front of element 0, or on it.
                place = b.larger(place, b.sub(border - 1, place))
            if after:
                place = b.smaller(place, b.sub(2 * length - 1 - border, place))
            places.append(place)
        return places

    straight = not shape or not any(op.widths[-1])
    mirrored = ev.mapped((op.data, 0), position, source, contiguous=straight)
    if straight or position.lanes == 1 or not position.in_row:
        return (yield from mirrored)
    *outer, column = position.coords(b)
    place = b.sub(column, op.widths[-1][0])
    places = [*source(tuple(outer)), place]
    return (yield from _row(ev, op.data, places, position.lanes, mirrored))


def _row(ev: Evaluator, data: SSAValue, coords: Sequence[Index], lanes: int, each: Rule) -> Rule:
    """Neighbours in a row of a tensor, the first of which has some coordinates; where it has not all, what `each` makes."""
    shape, place = shape_of(data), coords[-1]
    # Behind the last place at which a vector begins.
    end = shape[-1] - lanes + 1
    if not may_exceed(end, 0):
        return (yield from each)
    inside = ev.b.both(ev.b.compare_index(place, "sge", 0), ev.b.compare_index(place, "slt", end))
    return (
        yield from ev.neighbours_or_each(Demand((data, 0), at(shape, coords, lanes)), inside, each)
    )


def _depth_to_space(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.DepthToSpaceOp)
    b, size, order = ev.b, op.block, AxisOrder(IMAGE, op.data_layout)
    channels = order.canonical(shape_of(op.result))[1]

    def source(coords: Coords) -> list[Index]:
        n, c, y, x = order.named(b, coords)
        pixel = b.add(b.mul(b.mod(y, size), size), b.mod(x, size))
        if op.mode.data == "DCR":
            channel = b.add(b.mul(pixel, channels), c)
        else:
            channel = b.add(b.mul(c, size**2), pixel)
        return order.stated(b, (n, channel, b.div(y, size), b.div(x, size)))

    return (yield from ev.mapped((op.data, 0), position, source, contiguous=size == 1))


def _space_to_depth(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.SpaceToDepthOp)
    b, size, order = ev.b, op.block, AxisOrder(IMAGE, op.data_layout)
    channels = order.canonical(shape_of(op.data))[1]

    def source(coords: Coords) -> list[Index]:
        n, channel, y, x = order.named(b, coords)
        pixel, c = b.div(channel, channels), b.mod(channel, channels)
        row = b.add(b.mul(y, size), b.div(pixel, size))
        column = b.add(b.mul(x, size), b.mod(pixel, size))
        return order.stated(b, (n, c, row, column))

    return (yield from ev.mapped((op.data, 0), position, source, contiguous=size == 1))


def _batch_to_space(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.BatchToSpaceNDOp)
    b, blocks, cuts = ev.b, op.blocks, op.cuts
    batch = shape_of(op.result)[0]

    def source(coords: Coords) -> list[Index]:
        n, *rest = coords
        places = [b.add(place, cut[0]) for place, cut in zip(rest, cuts, strict=False)]
        offsets = [b.mod(place, block) for place, block in zip(places, blocks, strict=True)]
        image = b.add(b.mul(b.flatten(offsets, blocks), batch), n)
        parts = [b.div(place, block) for place, block in zip(places, blocks, strict=True)]
        return [image, *parts, *rest[len(blocks) :]]

    straight = len(blocks) < len(position.shape) - 1
    return (yield from ev.mapped((op.data, 0), position, source, contiguous=straight))


def _space_to_batch(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.SpaceToBatchNDOp)
    b, blocks, shape = ev.b, op.blocks, shape_of(op.data)
    straight = len(blocks) < len(shape) - 1
    if position.lanes > 1 and not (straight and position.in_row):
        return (yield from EachLane(_space_to_batch)(ev, op, 0, position))
    image, *rest = position.coords(b)
    offsets = b.unflatten(b.div(image, shape[0]), blocks)
    places: list[Index] = []
    inside: SSAValue | None = None
    columns = zip(rest, blocks, offsets, op.widths, shape[1:], strict=False)
    for coord, block, offset, (before, after), length in columns:
        place = b.sub(b.add(b.mul(coord, block), offset), before)
        places.append(place)
        for predicate, bound in [("sge", 0)] * bool(before) + [("slt", length)] * bool(after):
            test = b.compare_index(place, predicate, bound)
            inside = test if inside is None else b.both(inside, test)
    coords = (b.mod(image, shape[0]), *places, *rest[len(blocks) :])
    element = Demand((op.data, 0), at(shape, coords, position.lanes))
    if inside is None:
        return (yield element)
    kind = element_of(op.data)
    number = nearest(op.pad_value.value.data, kind)
    then, otherwise = Block(), Block()
    with b.inside(then):
        value = yield element
    with b.inside(otherwise):
        fill = b.splat(b.constant(kind.compute, number), position.lanes)
    return b.join(inside, (then, value), (otherwise, fill))


def _fifo_buffer(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    """The end of `buffer`, then `data`: two fields along the axis."""
    assert isinstance(op, space.FifoBufferOp)
    b, axis = ev.b, op.normalized_axis
    data, buffer = shape_of(op.data), shape_of(op.buffer)
    kept = max(buffer[axis] - data[axis], 0)
    # How many elements at the start of each operand are not there any more.
    fields = ((op.buffer, buffer[axis] - kept), (op.data, data[axis] - (buffer[axis] - kept)))

    def field_rule(field: int, place: Position) -> Rule:
        value, first = fields[field]

        def source(coords: Coords) -> Coords:
            return (*coords[:axis], b.add(coords[axis], first), *coords[axis + 1 :])

        return (yield from ev.mapped((value, 0), place, source, contiguous=True))

    shapes = [
        (*buffer[:axis], length, *buffer[axis + 1 :]) for length in (kept, buffer[axis] - kept)
    ]
    return (yield from join_fields(b, position, shapes, axis, field_rule))


def breaks_rows(op: Operation) -> bool:
    """Whether neighbouring elements of the result come from places that are not neighbours."""
    match op:
        case space.PadOp() | space.MirrorPadOp() if op.widths:
            return _is_padded(op.widths[-1]) and likely(shape_of(op.data)[-1]) < LONG_ROW
        case space.SubPixelOp():
            return op.block > 1
        case space.BlockOp():
            return len(op.blocks) == len(shape_of(op.data)) - 1
        case UpsamplingFamilyOp():
            return not keeps_rows(op)
        case space.FifoBufferOp():
            return op.normalized_axis == len(shape_of(op.buffer)) - 1
        case _:
            return False


def _is_padded(width: Sequence[int]) -> bool:
    """Whether elements may be added to an axis, or left out."""
    return not all(certainly(each, 0) for each in width)


def _grows(width: Sequence[int]) -> bool:
    """Whether elements may be added to an axis."""
    return any(may_exceed(each, 0) for each in width)


def _pad(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.PadOp)
    b, widths, shape = ev.b, op.widths, shape_of(op.data)
    last_is_padded = bool(widths) and _grows(widths[-1])
    mode = op.pad_mode.data
    if position.lanes > 1 and (last_is_padded or not position.in_row):
        each = EachLane(_pad)(ev, op, 0, position)
        return (yield from _pad_row(ev, op, position, each) if position.in_row else each)
    shifted: list[Index] = [
        b.sub(coord, width[0]) for coord, width in zip(position.coords(b), widths, strict=True)
    ]
    if mode != "constant":
        nearest = [
            _pad_coordinate(b, coord, dim, width, mode)
            for coord, dim, width in zip(shifted, shape, widths, strict=True)
        ]
        return (yield Demand((op.data, 0), at(shape, nearest, position.lanes)))
    inside = _is_inside(b, shifted, shape, widths)
    element = Demand((op.data, 0), at(shape, shifted, position.lanes))
    if inside is None:
        return (yield element)
    then, otherwise = Block(), Block()
    with b.inside(then):
        value = yield element
    with b.inside(otherwise):
        value_outside = yield Demand((op.pad_val, 0), at((), ()))
        converted = convert(b, value_outside, element_of(op.pad_val), element_of(op.data))
        fill = b.splat(converted, position.lanes)
    return b.join(inside, (then, value), (otherwise, fill))


def _is_inside(
    b: KernelBuilder,
    shifted: Sequence[Index],
    shape: Sequence[int],
    widths: Sequence[tuple[int, ...]],
) -> SSAValue | None:
    """Whether coordinates are those of an element of the data; None where they always are."""
    inside: SSAValue | None = None
    for coord, dim, width in zip(shifted, shape, widths, strict=True):
        before, after = (may_exceed(each, 0) for each in width)
        tests = [("sge", 0)] * before + [("slt", dim)] * after
        for predicate, bound in tests:
            test = b.compare_index(coord, predicate, bound)
            inside = test if inside is None else b.both(inside, test)
    return inside


def _pad_row(ev: Evaluator, op: space.PadOp, position: Position, each: Rule) -> Rule:
    """Elements of a row: at once where all are those of the data, else one by one."""
    b, widths, shape, mode = ev.b, op.widths, shape_of(op.data), op.pad_mode.data
    shifted: list[Index] = [
        b.sub(coord, width[0]) for coord, width in zip(position.coords(b), widths, strict=True)
    ]
    if mode != "constant":
        outer = [
            _pad_coordinate(b, coord, dim, width, mode)
            for coord, dim, width in zip(shifted[:-1], shape, widths, strict=False)
        ]
        return (yield from _row(ev, op.data, [*outer, shifted[-1]], position.lanes, each))
    inside = _is_inside(b, shifted[:-1], shape[:-1], widths[:-1])
    if inside is None:
        return (yield from _row(ev, op.data, shifted, position.lanes, each))
    within, without = Block(), Block()
    with b.inside(within):
        value = yield from _row(ev, op.data, shifted, position.lanes, each)
    with b.inside(without):
        raw = yield Demand((op.pad_val, 0), at((), ()))
        fill = convert(b, raw, element_of(op.pad_val), element_of(op.data))
        fill = b.splat(fill, position.lanes)
    return b.join(inside, (within, value), (without, fill))


def _pad_coordinate(
    b: KernelBuilder, coord: Index, dim: int, width: Sequence[int], mode: str
) -> Index:
    if not _grows(width):
        return coord
    if mode == "edge":
        return b.smaller(b.larger(coord, 0), dim - 1)
    mirrored = b.larger(coord, b.sub(0, coord))
    return b.smaller(mirrored, b.sub(2 * (dim - 1), mirrored))


RULES: dict[type[Operation], RuleFunction] = {
    space.MirrorPadOp: _mirror_pad,
    space.PadOp: _pad,
    space.DepthToSpaceOp: _depth_to_space,
    space.SpaceToDepthOp: _space_to_depth,
    space.BatchToSpaceNDOp: _batch_to_space,
    space.SpaceToBatchNDOp: _space_to_batch,
    space.FifoBufferOp: _fifo_buffer,
}
