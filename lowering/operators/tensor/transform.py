"""Kernel code of the operators that move, repeat or select elements."""

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.dialects.shapes import leaf_count, leaf_types, normalize_axis
from xrelay.dialects.tensor import transform
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import element
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
from xrelay.lowering.emit.index import Condition, Index
from xrelay.lowering.emit.position import Coords, Position, Rows, at
from xrelay.lowering.emit.target import AVX512
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.core.values import source_leaves

LONG_ROW = 64
"""Elements of a row most of whose vectors lie inside of what is padded or repeated."""


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


def broadcast_rule(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    """The elements of the first operand that broadcasting puts at a position."""
    return (yield from ev.broadcast(op.operands[0], position))


def _tile(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    leaf, shape = (op.operands[0], 0), shape_of(op.operands[0])

    def source(coords: Coords) -> list[Index]:
        own = coords[len(coords) - len(shape) :]
        return [ev.b.mod(coord, dim) for coord, dim in zip(own, shape, strict=True)]

    if shape and certainly(shape[-1], 1) and position.in_row:
        coords = source(position.coords(ev.b))
        return ev.b.splat((yield Demand(leaf, at(shape, coords))), position.lanes)
    together = _lies_in_tile(ev.b, shape, position)
    return (yield from ev.mapped(leaf, position, source, contiguous=together))


def _lies_in_tile(b: KernelBuilder, shape: tuple[int, ...], position: Position) -> Condition:
    """Whether neighbours are elements of one tile of a shape: not where a vector goes on in the next one."""
    if not shape or shape[-1] == position.shape[-1]:
        return True
    lanes, width = position.lanes, shape[-1]
    place = b.mod(position.coords(b)[-1], width)
    if not is_open(width) and width % lanes == b.divisor(place) % lanes == 0:
        return True
    return b.within(place, None, width - lanes + 1)


def rows_of(op: Operation) -> Rows | None:
    """What the rows of a repeated tensor are made of."""
    if not isinstance(op, transform.TileOp) or not _repeats_rows(op):
        return None
    width, repeats = shape_of(op.data)[-1], op.reps.get_values()[-1]
    if certainly(width, 1):
        return Rows((repeats,))
    return Rows((width,), repeats)


def _repeats_rows(op: transform.TileOp) -> bool:
    shape = shape_of(op.data)
    return bool(shape) and shape[-1] != shape_of(op.result)[-1]


def reads_again(op: Operation) -> bool:
    """Whether elements of the operand become several elements of the result."""
    return isinstance(op, transform.TileOp | transform.RepeatOp)


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

    step = slices[-1].step if slices else 1
    is_unit = not is_open(step) and abs(step) == 1
    return (
        yield from ev.mapped(
            (op.data, 0), position, source, contiguous=is_unit, backwards=is_unit and step < 0
        )
    )


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
        if certainly(start, first):
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


def _where(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, transform.WhereOp)
    condition = yield from ev.broadcast(op.condition, position)
    truth = convert(ev.b, condition, element_of(op.condition), element(i1))
    x = yield from ev.broadcast(op.x, position)
    y = yield from ev.broadcast(op.y, position)
    return ev.b.select(truth, x, y)


def breaks_rows(op: Operation) -> bool:
    """Whether neighbouring elements of the result come from places that are not neighbours."""
    rank = len(leaf_shape((op.results[0], 0)))
    last = rank - 1
    match op:
        case transform.TransposeOp():
            return rank > 0 and op.permutation[-1] != last
        case transform.RepeatOp():
            return normalize_axis(op.axis.value.data, rank) == last
        case transform.TileOp():
            if not _repeats_rows(op):
                return False
            width, widest = shape_of(op.data)[-1], AVX512.lanes(element_of(op.data).bytes)
            if certainly(width, 1) or likely(width) >= LONG_ROW:
                return False
            return is_open(width) or width % widest != 0
        case transform.StridedSliceOp():
            step = op.slices[-1].step if rank else 1
            return is_open(step) or abs(step) != 1
        case transform.ConcatenateOp() | transform.StackOp():
            return op.normalized_axis == last
        case _:
            return False


RULES: dict[type[Operation], RuleFunction] = {
    transform.TransposeOp: _transpose,
    transform.BroadcastToOp: broadcast_rule,
    transform.TileOp: _tile,
    transform.RepeatOp: _repeat,
    transform.StridedSliceOp: _strided_slice,
    transform.ConcatenateOp: _concatenate,
    transform.StackOp: _stack,
    transform.SplitOp: _split,
    transform.WhereOp: _where,
}
