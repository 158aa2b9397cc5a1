"""Kernel code of the operators that move, repeat or select elements."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.shapes import leaf_count, leaf_types, normalize_axis
from xrelay.dialects.tensor import creation, indexing, reorder, transform
from xrelay.lowering.emit.builder import Index, KernelBuilder
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import (
    Demand,
    Evaluator,
    Leaf,
    Rule,
    RuleFunction,
    element_of,
    leaf_shape,
    shape_of,
)
from xrelay.lowering.emit.hoist import before_loops
from xrelay.lowering.emit.position import Position, at, linear
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.core.values import source_leaves

Coords = tuple[Index, ...]


def _transpose(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.TransposeOp)
    permutation = op.permutation

    def source(coords: Coords) -> Coords:
        own: list[Index] = [0] * len(coords)
        for axis, coord in zip(permutation, coords, strict=True):
            own[axis] = coord
        return tuple(own)

    stays = not permutation or permutation[-1] == len(permutation) - 1
    return (yield from ev.mapped((op.data, 0), position, source, contiguous=stays))


def _broadcast_to(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    yield from ()
    return (yield from ev.broadcast(op.operands[0], position))


def _tile(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    shape = shape_of(op.operands[0])

    def source(coords: Coords) -> list[Index]:
        own = coords[len(coords) - len(shape) :]
        return [ev.b.mod(coord, dim) for coord, dim in zip(own, shape, strict=True)]

    whole = not shape or shape[-1] == position.shape[-1]
    return (yield from ev.mapped((op.operands[0], 0), position, source, contiguous=whole))


def _repeat(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.RepeatOp)
    rank = len(position.shape)
    axis = normalize_axis(op.axis.value.data, rank)
    repeats = op.repeats.value.data

    def source(coords: Coords) -> Coords:
        return (*coords[:axis], ev.b.div(coords[axis], repeats), *coords[axis + 1 :])

    return (yield from ev.mapped((op.data, 0), position, source, contiguous=axis != rank - 1))


def _strided_slice(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.StridedSliceOp)
    slices = op.slices

    def source(coords: Coords) -> list[Index]:
        return [
            ev.b.add(ev.b.mul(coord, taken.step), taken.start)
            for coord, taken in zip(coords, slices, strict=True)
        ]

    unit = not slices or slices[-1].step == 1
    return (yield from ev.mapped((op.data, 0), position, source, contiguous=unit))


FieldRule = Callable[[int, Position], Rule]
"""Computes elements of one field of a tuple."""


def _choose(
    b: KernelBuilder, index: Index, choices: Sequence[tuple[int, Callable[[], Rule]]]
) -> Rule:
    """The first choice whose bound is above `index`, found by halving; the last one otherwise."""
    if len(choices) == 1:
        return (yield from choices[0][1]())
    middle = len(choices) // 2
    bound = choices[middle - 1][0]
    if isinstance(index, int):
        half = choices[:middle] if index < bound else choices[middle:]
        return (yield from _choose(b, index, half))
    condition = b.compare_index(index, "slt", bound)
    then, otherwise = Block(), Block()
    with b.inside(then):
        low = yield from _choose(b, index, choices[:middle])
    with b.inside(otherwise):
        high = yield from _choose(b, index, choices[middle:])
    return b.join(condition, (then, low), (otherwise, high))


def join_fields(
    b: KernelBuilder,
    position: Position,
    shapes: Sequence[tuple[int, ...]],
    axis: int,
    field_rule: FieldRule,
    *,
    new_axis: bool = False,
) -> Rule:
    """
    Elements of fields of the given shapes that stand one after the other along `axis`; with
    `new_axis` each is one element there.
    """
    if position.lanes > 1 and (axis == len(position.shape) - 1 or not position.in_row):
        parts: list[SSAValue] = []
        for i in range(position.lanes):
            lane = position.lane(b, i)
            rule = join_fields(b, lane, shapes, axis, field_rule, new_axis=new_axis)
            parts.append((yield from rule))
        return b.from_lanes(parts)
    coords = position.coords(b)
    choices: list[tuple[int, Callable[[], Rule]]] = []
    start = 0
    for field, shape in enumerate(shapes):
        first, start = start, start + (1 if new_axis else shape[axis])
        if start == first:
            continue  # an empty field has no element to choose
        middle = () if new_axis else (b.sub(coords[axis], first),)
        place = at(shape, (*coords[:axis], *middle, *coords[axis + 1 :]), position.lanes)
        choices.append((start, partial(field_rule, field, place)))
    return (yield from _choose(b, coords[axis], choices))


def fields_of(ev: Evaluator, data: SSAValue) -> list[Leaf]:
    """The tensors in a tuple: what it was made of, unless they are parameters in memory."""
    fields = [(data, number) for number in range(leaf_count(data.type))]
    return fields if all(field in ev.buffers for field in fields) else source_leaves(data)


def _field_of(ev: Evaluator, data: SSAValue) -> FieldRule:
    fields = fields_of(ev, data)

    def rule(field: int, place: Position) -> Rule:
        return (yield Demand(fields[field], place))

    return rule


def field_shapes(data: SSAValue) -> list[tuple[int, ...]]:
    """The shapes of the tensors in a tuple."""
    return [tuple(type_.get_shape()) for type_ in leaf_types(data.type)]


def _concatenate(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.ConcatenateOp)
    shapes, rule = field_shapes(op.data), _field_of(ev, op.data)
    return (yield from join_fields(ev.b, position, shapes, op.normalized_axis, rule))


def _stack(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.StackOp)
    shapes, rule, axis = field_shapes(op.data), _field_of(ev, op.data), op.normalized_axis
    return (yield from join_fields(ev.b, position, shapes, axis, rule, new_axis=True))


def _split(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
    assert isinstance(op, transform.SplitOp)
    axis, start = op.normalized_axis, op.part_starts()[leaf]

    def source(coords: Coords) -> Coords:
        return (*coords[:axis], ev.b.add(coords[axis], start), *coords[axis + 1 :])

    return (yield from ev.mapped((op.data, 0), position, source, contiguous=True))


def _pad(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.PadOp)
    b, widths, shape = ev.b, op.widths, shape_of(op.data)
    last_is_padded = bool(widths) and max(widths[-1]) > 0
    if position.lanes > 1 and (last_is_padded or not position.in_row):
        parts: list[SSAValue] = []
        for i in range(position.lanes):
            parts.append((yield from _pad(ev, op, 0, position.lane(b, i))))
        return b.from_lanes(parts)
    shifted: list[Index] = [
        b.sub(coord, width[0]) for coord, width in zip(position.coords(b), widths, strict=True)
    ]
    mode = op.pad_mode.data
    if mode != "constant":
        nearest = [
            _pad_coordinate(b, coord, dim, width, mode)
            for coord, dim, width in zip(shifted, shape, widths, strict=True)
        ]
        return (yield Demand((op.data, 0), at(shape, nearest, position.lanes)))
    inside: SSAValue | None = None
    for coord, dim, width in zip(shifted, shape, widths, strict=True):
        tests = [("sge", 0)] * (width[0] > 0) + [("slt", dim)] * (width[1] > 0)
        for predicate, bound in tests:
            test = b.compare_index(coord, predicate, bound)
            inside = test if inside is None else b.both(inside, test)
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


def _pad_coordinate(
    b: KernelBuilder, coord: Index, dim: int, width: Sequence[int], mode: str
) -> Index:
    if max(width) <= 0:
        return coord
    if mode == "edge":
        return b.smaller(b.larger(coord, 0), dim - 1)
    mirrored = b.larger(coord, b.sub(0, coord))
    return b.smaller(mirrored, b.sub(2 * (dim - 1), mirrored))


def index_value(
    b: KernelBuilder, value: SSAValue, kind: Element, length: int, mode: str
) -> SSAValue:
    """An index tensor's element as an i64 within the range of its axis."""
    if kind.bits < 64:
        value = b.insert((llvm.SExtOp if kind.signed else llvm.ZExtOp)(value, i64)).res
    if mode == "wrap":
        # The remainder has the sign of the index; adding the length once more mends that.
        size = b.index(length)
        op = arith.RemSIOp if kind.signed else arith.RemUIOp
        remainder = b.insert(op(value, size)).result
        again = b.insert(arith.AddiOp(remainder, size)).result
        negative = b.compare_integers(remainder, "slt", b.index(0))
        return b.select(negative, again, remainder)
    if not kind.signed:
        over = b.compare_integers(value, "ugt", b.index(length - 1))
        return b.select(over, b.index(length - 1), value)
    return cast(SSAValue, b.smaller(b.larger(value, 0), length - 1))


def _take(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.TakeOp)
    b, axis, batch = ev.b, op.normalized_axis, op.batch_dims.value.data
    shape, index_shape = shape_of(op.data), shape_of(op.indices)
    kind, mode = element_of(op.indices), op.mode.data
    # Positions in the result: data axes before `axis`, index axes after the batch, data axes.
    first = 0 if axis is None else axis
    trailing = len(position.shape) - first - (len(index_shape) - batch)
    if position.lanes > 1 and not (trailing and position.in_row):
        parts: list[SSAValue] = []
        for i in range(position.lanes):
            parts.append((yield from _take(ev, op, 0, position.lane(b, i))))
        return b.from_lanes(parts)
    coords = position.coords(b)
    middle = coords[first : first + len(index_shape) - batch]
    where = (*coords[:batch], *middle)
    length = prod(shape) if axis is None else shape[axis]
    # Once for all elements of a row that come from one row.
    with before_loops(b, where):
        raw = yield Demand((op.indices, 0), at(index_shape, where))
        index = index_value(b, raw, kind, length, mode)
    if axis is None:
        return (yield Demand((op.data, 0), linear(shape, index)))
    own = (*coords[:axis], index, *coords[first + len(middle) :])
    return (yield Demand((op.data, 0), at(shape, own, position.lanes)))


def _gather_nd(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.GatherNDOp)
    b, batch = ev.b, op.batch_dims.value.data
    shape, (count, *places) = shape_of(op.data), shape_of(op.indices)
    kind = element_of(op.indices)
    trailing = len(shape) - count - batch
    if position.lanes > 1 and not (trailing and position.in_row):
        parts: list[SSAValue] = []
        for i in range(position.lanes):
            parts.append((yield from _gather_nd(ev, op, 0, position.lane(b, i))))
        return b.from_lanes(parts)
    coords = position.coords(b)
    own: list[Index] = list(coords[:batch])
    for i in range(count):
        where = (i, *coords[: len(places)])
        with before_loops(b, where):
            raw = yield Demand((op.indices, 0), at((count, *places), where))
            own.append(index_value(b, raw, kind, shape[batch + i], "clip"))
    own.extend(coords[len(places) :])
    return (yield Demand((op.data, 0), at(shape, own, position.lanes)))


def _where(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.WhereOp)
    condition = yield from ev.broadcast(op.condition, position)
    truth = convert(ev.b, condition, element_of(op.condition), element(i1))
    x = yield from ev.broadcast(op.x, position)
    y = yield from ev.broadcast(op.y, position)
    return ev.b.select(truth, x, y)


def varies_along_row(op: Operation) -> bool:
    """
    Whether neighbouring elements of the result come from places that are not neighbours, so that
    vectors would have to be put together lane by lane.
    """
    rank = len(leaf_shape((op.results[0], 0)))
    last = rank - 1
    match op:
        case transform.TransposeOp():
            return rank > 0 and op.permutation[-1] != last
        case transform.RepeatOp():
            return normalize_axis(op.axis.value.data, rank) == last
        case transform.TileOp():
            shape = shape_of(op.data)
            return bool(shape) and shape[-1] != leaf_shape((op.result, 0))[-1]
        case transform.StridedSliceOp():
            return rank > 0 and op.slices[-1].step != 1
        case transform.ConcatenateOp() | transform.StackOp():
            return op.normalized_axis == last
        case transform.PadOp():
            return rank > 0 and any(op.widths[-1])
        case transform.TakeOp():
            return op.normalized_axis is None or op.normalized_axis == len(shape_of(op.data)) - 1
        case transform.GatherNDOp():
            named = shape_of(op.indices)[0] + op.batch_dims.value.data
            return named == len(shape_of(op.data))
        case reorder.ReverseOp():
            return last in op.reversed_axes
        case (
            reorder.ReverseSequenceOp()
            | reorder.SequenceMaskOp()
            | reorder.TriluOp()
            | reorder.MatrixSetDiagOp()
            | reorder.UnravelIndexOp()
            | indexing.GatherOp()
            | indexing.AdvIndexOp()
            | indexing.StridedSetOp()
            | creation.ArangeOp()
            | creation.OneHotOp()
        ):
            return True
        case _:
            return False


RULES: dict[type[Operation], RuleFunction] = {
    transform.TransposeOp: _transpose,
    transform.BroadcastToOp: _broadcast_to,
    transform.TileOp: _tile,
    transform.RepeatOp: _repeat,
    transform.StridedSliceOp: _strided_slice,
    transform.ConcatenateOp: _concatenate,
    transform.StackOp: _stack,
    transform.SplitOp: _split,
    transform.PadOp: _pad,
    transform.TakeOp: _take,
    transform.GatherNDOp: _gather_nd,
    transform.WhereOp: _where,
}
