"""Kernel code of the operators that move elements between the axes of images and batches."""

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.lengths import certainly, larger, likely, may_exceed, smaller
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
    leaf_shape,
    shape_of,
)
from xrelay.lowering.emit.index import Condition, Index
from xrelay.lowering.emit.position import Coords, Position, Rows, at
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
        for coord, length, (before, after) in zip(coords, shape, op.widths, strict=True):
            place = b.sub(coord, before)
            if before:
                # A mirror in front of element 0, or on it.
                place = b.larger(place, b.sub(border - 1, place))
            if after:
                place = b.smaller(place, b.sub(2 * length - 1 - border, place))
            places.append(place)
        return places

    if not shape or not any(op.widths[-1]):
        return (yield from ev.mapped((op.data, 0), position, source, contiguous=True))
    place = b.sub(position.coords(b)[-1], op.widths[-1][0])
    return (yield from _mirrored(ev, op.data, position, source, place))


def _mirrored(
    ev: Evaluator,
    data: SSAValue,
    position: Position,
    source: Callable[[Coords], Sequence[Index]],
    place: Index,
) -> Rule:
    """Elements of mirrored rows, whose coordinates `source` computes: `place` is where the first lane is in a row of the data."""
    b, length, lanes = ev.b, shape_of(data)[-1], position.lanes
    turns = b.known_within(place, None, 1 - lanes) or b.known_within(place, length, None)
    together = turns or _in_row(b, place, length, position)
    return (
        yield from ev.mapped(
            (data, 0), position, source, contiguous=together, backwards=bool(turns)
        )
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
        case space.PadOp() | space.MirrorPadOp():
            is_long = not op.widths or likely(shape_of(op.data)[-1]) >= LONG_ROW
            return not is_long and _is_padded(op.widths[-1])
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


def rows_of(op: Operation) -> Rows | None:
    """What the rows of a padded tensor are made of."""
    if not isinstance(op, space.PadOp | space.MirrorPadOp) or not op.widths:
        return None
    if not _is_padded(op.widths[-1]):
        return None
    length = leaf_shape((op.result, 0))[-1]
    # Where more is left out at one end than there is, some of what is added at the other is, too.
    before, after = (
        smaller(larger(added, 0), length) if may_exceed(-other, 0) else larger(added, 0)
        for added, other in (op.widths[-1], op.widths[-1][::-1])
    )
    parts = (before, length - before - after, after)
    return Rows(tuple(part for part in parts if not certainly(part, 0)))


def reads_again(op: Operation) -> bool:
    """Whether elements of the operand become several elements of the result."""
    if isinstance(op, space.MirrorPadOp):
        return True
    return isinstance(op, space.PadOp) and op.pad_mode.data != "constant"


def _pad(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, space.PadOp)
    b, widths, shape = ev.b, op.widths, shape_of(op.data)
    mode = op.pad_mode.data

    def shifted(coords: Coords) -> list[Index]:
        return [b.sub(coord, width[0]) for coord, width in zip(coords, widths, strict=True)]

    def nearest(coords: Coords) -> list[Index]:
        places = zip(shifted(coords), shape, widths, strict=True)
        return [_pad_coordinate(b, *place, mode) for place in places]

    coords = position.coords(b)
    places = shifted(coords)
    in_row = not widths or not _grows(widths[-1]) or _in_row(b, places[-1], shape[-1], position)
    if mode == "constant":
        return (yield from _pad_constant(ev, op, position, places, in_row))
    if mode == "edge" and in_row is False and position.in_row:
        starts = b.known_within(places[-1], None, 2 - position.lanes)
        if starts or b.known_within(places[-1], shape[-1] - 1, None):
            # All are the element at one border.
            border = (*nearest(coords)[:-1], 0 if starts else shape[-1] - 1)
            return b.splat((yield Demand((op.data, 0), at(shape, border))), position.lanes)
    if mode == "reflect" and in_row is not True:
        return (yield from _mirrored(ev, op.data, position, nearest, places[-1]))
    return (yield from ev.mapped((op.data, 0), position, nearest, contiguous=in_row))


def _in_row(b: KernelBuilder, place: Index, length: int, position: Position) -> Condition:
    """Whether all lanes of a position, of which the first is at a place, are elements of a row that is padded."""
    return position.lanes == 1 or b.within(place, 0, length - position.lanes + 1)


def _pad_constant(
    ev: Evaluator, op: space.PadOp, position: Position, places: Sequence[Index], in_row: Condition
) -> Rule:
    """Elements of rows: at once where all are those of the data or none is, else one by one."""
    b, shape, lanes = ev.b, shape_of(op.data), position.lanes
    if not position.in_row:
        return (yield from EachLane(_pad)(ev, op, 0, position))

    def whole() -> Rule:
        return (yield Demand((op.data, 0), at(shape, places, lanes)))

    def fill() -> Rule:
        value = yield Demand((op.pad_val, 0), at((), ()))
        converted = convert(b, value, element_of(op.pad_val), element_of(op.data))
        return b.splat(converted, lanes)

    def apart() -> Rule:
        return (yield from EachLane(_pad)(ev, op, 0, position))

    if in_row is False and b.known_within(places[-1], 1 - lanes, shape[-1]) is False:
        return (yield from fill())
    tests: list[Condition] = [in_row]
    # Of several lanes, `in_row` says it of the last axis.
    for axis in range(len(shape) if lanes == 1 else len(shape) - 1):
        before, after = (may_exceed(each, 0) for each in op.widths[axis])
        limits = (0 if before else None, shape[axis] if after else None)
        tests.append(b.within(places[axis], *limits))
    otherwise = fill if in_row is True else apart
    return (yield from ev.chosen(b.all_of(tests), whole, otherwise))


def _pad_coordinate(
    b: KernelBuilder, coord: Index, dim: int, width: Sequence[int], mode: str
) -> Index:
    if not _grows(width) or b.known_within(coord, 0, dim):
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
