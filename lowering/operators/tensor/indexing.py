"""Kernel code of the operators that read or write elements at computed indices."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.lengths import certainly
from xrelay.dialects.tensor import indexing
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import (
    Buffer,
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    leaf_element,
    shape_of,
)
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.hoist import before_loops
from xrelay.lowering.emit.index import Index, lanes_of
from xrelay.lowering.emit.position import Coords, Position, at, linear
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, maximum, minimum, multiply
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.interpolation import clamped
from xrelay.lowering.operators.tensor.reorder import saturated_index
from xrelay.lowering.operators.tensor.transform import field_shapes

Combine = Callable[[KernelBuilder, SSAValue, SSAValue, Element], SSAValue]

COMBINE: dict[str, Combine] = {"add": add, "mul": multiply, "min": minimum, "max": maximum}


# Reading


def _gather(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, indexing.GatherOp)
    axis, shape = op.normalized_axis, shape_of(op.data)
    raw = yield Demand((op.indices, 0), position)
    own = list(position.coords(ev.b))
    own[axis] = index_value(ev.b, raw, element_of(op.indices), shape[axis], "clip")
    return (yield Demand((op.data, 0), at(shape, own)))


def _adv_index(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, indexing.AdvIndexOp)
    b = ev.b
    shape, *others = field_shapes(op.inputs)
    coords = position.coords(b)
    rank = len(op.index_shape())
    own: list[Index] = []
    for i, other in enumerate(others):
        aligned = coords[rank - len(other) : rank]
        place = [0 if certainly(dim, 1) else c for dim, c in zip(other, aligned, strict=True)]
        raw = yield Demand((op.inputs, i + 1), at(other, place))
        own.append(index_value(b, raw, leaf_element((op.inputs, i + 1)), shape[i], "clip"))
    return (yield Demand((op.inputs, 0), at(shape, [*own, *coords[rank:]])))


def _strided_set(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, indexing.StridedSetOp)
    b, shape, new_shape = ev.b, position.shape, shape_of(op.v)
    if 0 in new_shape:
        return (yield Demand((op.data, 0), position))
    coords = position.coords(b)
    source: list[Index] = [
        b.smaller(coord, dim - 1) for coord, dim in zip(coords, new_shape, strict=True)
    ]
    inside: SSAValue | None = None
    lists = op.begin, op.end, op.strides
    for axis in range(max(shape_of(operand)[0] for operand in lists)):
        numbers: list[SSAValue | None] = []
        for operand in lists:
            (count,), number = shape_of(operand), None
            if axis < count:
                raw = yield Demand((operand, 0), at((count,), [axis]))
                number = saturated_index(b, raw, element_of(operand))
            numbers.append(number)
        taken, step = _slice_step(b, coords[axis], shape[axis], *numbers)
        inside = taken if inside is None else b.both(inside, taken)
        source[axis] = b.smaller(b.larger(step, 0), new_shape[axis] - 1)
    new = Demand((op.v, 0), at(new_shape, source))
    if inside is None:
        return (yield new)
    then, otherwise = Block(), Block()
    with b.inside(then):
        value = yield new
    with b.inside(otherwise):
        old = yield Demand((op.data, 0), position)
    return b.join(inside, (then, value), (otherwise, old))


def _slice_step(
    b: KernelBuilder,
    coord: Index,
    dim: int,
    begin: SSAValue | None,
    end: SSAValue | None,
    stride: SSAValue | None,
) -> tuple[SSAValue, SSAValue]:
    """Whether a slice takes an element of an axis, and as which one; None is left out in Python."""
    zero = b.index(0)
    stride = b.index(1) if stride is None else stride
    forward = b.compare_integers(stride, "sgt", zero)
    low, high = (
        b.select(forward, zero, b.index(-1)),
        b.select(forward, b.index(dim), b.index(dim - 1)),
    )

    def bound(value: SSAValue) -> SSAValue:
        negative = b.compare_integers(value, "slt", zero)
        shifted = b.select(negative, b.index(b.add(value, dim)), value)
        return b.index(b.smaller(b.larger(shifted, low), high))

    first = b.select(forward, low, high) if begin is None else bound(begin)
    last = b.select(forward, high, low) if end is None else bound(end)
    place = b.index(coord)
    # Backwards, everything is mirrored.
    ahead = b.select(forward, b.index(b.sub(place, first)), b.index(b.sub(first, place)))
    room = b.select(forward, b.index(b.sub(last, first)), b.index(b.sub(first, last)))
    # Larger steps than the axis is long take one element (the least number has no opposite); none is
    # taken for a step of 0.
    longest = max(dim, 1)
    backwards = b.sub(0, b.larger(stride, -longest))
    size = b.select(forward, b.index(b.smaller(stride, longest)), b.index(backwards))
    positive = b.compare_integers(size, "sgt", zero)
    divisor = b.select(positive, size, b.index(1))
    quotient = b.insert(arith.DivSIOp(ahead, divisor)).result
    exact = b.compare_index(b.mul(quotient, divisor), "eq", ahead)
    within = b.both(b.compare_index(ahead, "sge", 0), b.compare_index(ahead, "slt", room))
    return b.both(b.both(within, exact), positive), quotient


# Writing


def from_the_end(
    b: KernelBuilder, raw: SSAValue, kind: Element, length: int
) -> tuple[Index, SSAValue]:
    """The place that an index names, negative ones counting from the end, and whether it exists."""
    value = saturated_index(b, raw, kind)
    negative = b.compare_integers(value, "slt", b.index(0))
    place = b.select(negative, b.index(b.add(value, length)), value)
    inside = b.both(b.compare_index(place, "sge", 0), b.compare_index(place, "slt", length))
    return place, inside


Initial = Callable[[Position], SSAValue]
Placed = tuple[Sequence[Index], SSAValue | None]
"""The coordinates of the first element of a row of updates, and whether they exist; always for None."""
Updates = Callable[[Coords, Index, int], SSAValue]
"""So many elements of a row of updates, from one on."""


def _scatter(
    ctx: KernelContext,
    initial: Initial,
    shape: tuple[int, ...],
    kind: Element,
    extents: Sequence[int],
    width: int,
    place_of: Callable[[Coords], Placed],
    updates: Updates,
    mode: str,
    sink: Sink,
) -> None:
    """
    A tensor that begins as `initial` and takes rows of `width` updates along its last axis, one after the other, by one
    thread: for each of the nested loops, `place_of` tells where. It is computed where it goes, unless others compute with
    it first.
    """
    b, lanes = ctx.b, ctx.target.lanes(kind.bytes)
    buffer = ctx.places[0] if ctx.places else ctx.scratch(kind, row_major(shape))
    outer, inner = (shape[:-1], shape[-1]) if shape else ((), 1)

    def position(indices: Coords, start: Index, width: int) -> Position:
        return at(shape, (*indices, start)[: len(shape)], width)

    def begin(indices: Coords, start: Index, width: int) -> None:
        place = position(indices, start, width)
        ctx.store(buffer, place, initial(place))

    def change(coords: Coords, place: Sequence[Index]) -> None:
        first = buffer.origin(b, place)
        ctx.vectors(
            width,
            lanes,
            lambda i, n: _change(b, buffer, b.add(first, i), updates(coords, i, n), mode),
        )

    def update(coords: Coords) -> None:
        place, inside = place_of(coords)
        if inside is None:
            change(coords, place)
            return
        with b.when(inside):
            change(coords, place)

    def finish(indices: Coords, start: Index, width: int) -> None:
        place = buffer.origin(b, (*indices, start)[: len(shape)])
        sink(position(indices, start, width), b.load(buffer.pointer, place, kind, width))

    if not ctx.is_begun:
        ctx.vector_tasks(outer, inner, lanes, begin)
        ctx.barrier()
    ctx.tasks((1,), lambda _: b.loop_nest(extents, update))
    if not ctx.places:
        ctx.barrier()
        ctx.vector_tasks(outer, inner, lanes, finish)


def _change(b: KernelBuilder, buffer: Buffer, offset: Index, value: SSAValue, mode: str) -> None:
    """Changes neighbours in memory by an update of each."""
    kind = buffer.element
    if mode != "update":
        computed = wide(kind)
        old = b.load(buffer.pointer, offset, kind, lanes_of(value))
        old = convert(b, old, kind, computed)
        result = COMBINE[mode](b, old, convert(b, value, kind, computed), computed)
        value = convert(b, result, computed, kind)
    b.store(buffer.pointer, offset, kind, value)


def _scatter_elements(mode: str) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, indexing.ElementScatterOp)
        b, axis, shape = ctx.b, op.normalized_axis, shape_of(op.data)
        inner, kind = shape_of(op.indices), element_of(op.indices)

        def place_of(coords: Coords) -> Placed:
            raw = ctx.ev.get((op.indices, 0), at(inner, coords))
            place, inside = from_the_end(b, raw, kind, shape[axis])
            return [*coords[:axis], place, *coords[axis + 1 :]], inside

        def updates(coords: Coords, _: Index, lanes: int) -> SSAValue:
            return ctx.ev.get((op.updates, 0), at(inner, coords, lanes))

        initial = partial(ctx.ev.get, (op.data, 0))
        _scatter(ctx, initial, shape, element_of(op.data), inner, 1, place_of, updates, mode, sink)

    return (Implementation("loops", emit),)


def _scatter_nd(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, indexing.ScatterNDOp)
    b, shape, kind = ctx.b, shape_of(op.data), element_of(op.indices)
    (count, *places), new_shape = shape_of(op.indices), shape_of(op.updates)
    # What is behind the axes that indices name is updated together: rows of the last axis, if there are any.
    in_rows = len(new_shape) > len(places)
    extents, width = (new_shape[:-1], new_shape[-1]) if in_rows else (new_shape, 1)

    def place_of(coords: Coords) -> Placed:
        own: list[Index] = []
        exists: SSAValue | None = None
        for i in range(count):
            where = at((count, *places), (i, *coords[: len(places)]))
            raw = ctx.ev.get((op.indices, 0), where)
            place, inside = from_the_end(b, raw, kind, shape[i])
            own.append(place)
            exists = inside if exists is None else b.both(exists, inside)
        return [*own, *coords[len(places) :], *([0] if in_rows else [])], exists

    def updates(coords: Coords, start: Index, lanes: int) -> SSAValue:
        place = (*coords, start) if in_rows else coords
        return ctx.ev.get((op.updates, 0), at(new_shape, place, lanes))

    initial, mode, data_kind = partial(ctx.ev.get, (op.data, 0)), op.mode.data, element_of(op.data)
    _scatter(ctx, initial, shape, data_kind, extents, width, place_of, updates, mode, sink)


def _sparse_to_dense(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, indexing.SparseToDenseOp)
    b, shape, kind = ctx.b, shape_of(op.result), element_of(op.sparse_indices)
    indices, values = shape_of(op.sparse_indices), shape_of(op.sparse_values)
    count = indices[0] if indices else 1

    def place_of(coords: Coords) -> Placed:
        own: list[Index] = []
        exists: SSAValue | None = None
        for axis, dim in enumerate(shape):
            where = at(indices, (*coords, axis)[: len(indices)])
            place = saturated_index(b, ctx.ev.get((op.sparse_indices, 0), where), kind)
            below = b.compare_index(place, "slt", dim)
            inside = b.both(b.compare_index(place, "sge", 0), below)
            own.append(place)
            exists = inside if exists is None else b.both(exists, inside)
        return own, exists

    def updates(coords: Coords, _: Index, lanes: int) -> SSAValue:
        return ctx.ev.get((op.sparse_values, 0), at(values, coords[: len(values)], lanes))

    def initial(position: Position) -> SSAValue:
        value = ctx.ev.get((op.default_value, 0), at((), ()))
        value = convert(b, value, element_of(op.default_value), element_of(op.result))
        return b.splat(value, position.lanes)

    kind_of_result = element_of(op.result)
    _scatter(ctx, initial, shape, kind_of_result, (count,), 1, place_of, updates, "update", sink)


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
    return clamped(b, value, length)


def _take(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, indexing.TakeOp)
    b, axis, batch = ev.b, op.normalized_axis, op.batch_dims.value.data
    shape, index_shape = shape_of(op.data), shape_of(op.indices)
    kind, mode = element_of(op.indices), op.mode.data
    # Positions in the result: data axes before `axis`, index axes after the batch, data axes.
    first = 0 if axis is None else axis
    trailing = len(position.shape) - first - (len(index_shape) - batch)
    if position.lanes > 1 and not (trailing and position.in_row):
        return (yield from EachLane(_take)(ev, op, 0, position))
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
    assert isinstance(op, indexing.GatherNDOp)
    b, batch = ev.b, op.batch_dims.value.data
    shape, (count, *places) = shape_of(op.data), shape_of(op.indices)
    kind = element_of(op.indices)
    trailing = len(shape) - count - batch
    if position.lanes > 1 and not (trailing and position.in_row):
        return (yield from EachLane(_gather_nd)(ev, op, 0, position))
    coords = position.coords(b)
    own: list[Index] = list(coords[:batch])
    for i in range(count):
        where = (i, *coords[: len(places)])
        with before_loops(b, where):
            raw = yield Demand((op.indices, 0), at((count, *places), where))
            own.append(index_value(b, raw, kind, shape[batch + i], "clip"))
    own.extend(coords[len(places) :])
    return (yield Demand((op.data, 0), at(shape, own, position.lanes)))


def breaks_rows(op: Operation) -> bool:
    """Whether neighbouring elements of the result come from places that are not neighbours."""
    match op:
        case indexing.TakeOp():
            return op.normalized_axis is None or op.normalized_axis == len(shape_of(op.data)) - 1
        case indexing.GatherNDOp():
            named = shape_of(op.indices)[0] + op.batch_dims.value.data
            return named == len(shape_of(op.data))
        case _:
            return False


RULES: dict[type[Operation], RuleFunction] = {
    indexing.GatherOp: EachLane(_gather),
    indexing.AdvIndexOp: EachLane(_adv_index),
    indexing.GatherNDOp: _gather_nd,
    indexing.TakeOp: _take,
    indexing.StridedSetOp: EachLane(_strided_set),
}

STRATEGIES: dict[type[Operation], Strategy] = {
    indexing.ScatterOp: _scatter_elements("update"),
    indexing.ScatterAddOp: _scatter_elements("add"),
    indexing.ScatterNDOp: (Implementation("loops", _scatter_nd),),
    indexing.SparseToDenseOp: (Implementation("loops", _sparse_to_dense),),
}
