"""Kernel code of the operators whose elements come from other places of one tensor."""

from xdsl.ir import Block, Operation, SSAValue

from xrelay.dialects.tensor import reorder
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element
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
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.hoist import before_loops
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Coords, Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.operators.tensor.binary import integer_division
from xrelay.lowering.operators.tensor.unary import nearest


def saturated_index(b: KernelBuilder, value: SSAValue, kind: Element) -> SSAValue:
    """An integer element as an i64; unsigned numbers that this lacks become the largest."""
    if kind.signed or kind.bits < 64:
        return convert(b, value, kind, INDEX)
    over = b.compare_integers(value, "slt", b.index(0))
    return b.select(over, b.index(2**63 - 1), value)


def _reverse(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.ReverseOp)
    axes, shape = op.reversed_axes, position.shape

    def source(coords: Coords) -> list[Index]:
        return [
            ev.b.sub(shape[axis] - 1, coord) if axis in axes else coord
            for axis, coord in enumerate(coords)
        ]

    turns = len(shape) - 1 in axes
    return (yield from ev.mapped((op.data, 0), position, source, contiguous=True, backwards=turns))


def _reverse_sequence(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.ReverseSequenceOp)
    if position.lanes > 1 and (breaks_rows(op) or not position.in_row):
        return (yield from EachLane(_reverse_sequence)(ev, op, 0, position))
    b, shape = ev.b, position.shape
    axis, batch = op.axes
    coords = list(position.coords(b))
    lengths = shape_of(op.seq_lengths)
    # Once for all elements of a row that come from one row.
    with before_loops(b, (coords[batch], coords[axis])):
        raw = yield Demand((op.seq_lengths, 0), at(lengths, [coords[batch]]))
        bounded = b.larger(saturated_index(b, raw, element_of(op.seq_lengths)), 0)
        length = b.smaller(bounded, shape[axis])
        place = b.index(coords[axis])
        inside = b.compare_index(place, "slt", length)
        coords[axis] = b.select(inside, b.index(b.sub(b.sub(length, 1), place)), place)
    return (yield Demand((op.data, 0), at(shape, coords, position.lanes)))


def _sequence_mask(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.SequenceMaskOp)
    b, axis = ev.b, op.axis.value.data
    coords = position.coords(b)
    raw = yield Demand((op.valid_length, 0), at(shape_of(op.valid_length), [coords[1 - axis]]))
    length = convert(b, raw, element_of(op.valid_length), REAL)
    place = convert(b, b.index(coords[axis]), INDEX, REAL)
    valid = b.compare_floats(place, "olt", length)
    value = yield Demand((op.data, 0), position)
    kind = element_of(op.data)
    number = op.mask_value.value.data
    # A bool is true from one half on.
    mask = float(number > 0.5) if kind.is_bool else nearest(number, kind)
    return b.select(valid, value, b.constant(kind.compute, mask))


def _meshgrid(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
    assert isinstance(op, reorder.MeshgridOp)
    axis = op.axis_of(leaf)
    shape = position.shape[axis : axis + 1] if leaf_shape((op.data, leaf)) else ()

    def source(coords: Coords) -> Coords:
        return (coords[axis],) if shape else ()

    if axis != len(position.shape) - 1 and position.in_row and position.lanes > 1:
        # All lanes are one element.
        coords = position.coords(ev.b)
        value = yield Demand((op.data, leaf), at(shape, source(coords)))
        return ev.b.splat(value, position.lanes)
    contiguous = axis == len(position.shape) - 1 and bool(shape)
    return (yield from ev.mapped((op.data, leaf), position, source, contiguous=contiguous))


def _sliding_window(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.SlidingWindowOp)
    axis, strides = op.normalized_axis, op.strides.get_values()
    count = len(strides)

    def source(coords: Coords) -> list[Index]:
        windows, inner = coords[axis : axis + count], coords[axis + count :]
        moved = [
            ev.b.add(ev.b.mul(window, stride), i)
            for window, stride, i in zip(windows, strides, inner, strict=True)
        ]
        return [*coords[:axis], *moved]

    return (yield from ev.mapped((op.data, 0), position, source, contiguous=True))


def _trilu(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.TriluOp)
    if not position.in_row:
        return (yield from EachLane(_trilu)(ev, op, 0, position))
    b, kind, lanes = ev.b, element_of(op.data), position.lanes
    row, column = position.coords(b)[-2:]
    rows, columns = position.shape[-2:]
    with before_loops(b, ()):
        raw = yield Demand((op.k, 0), at((), ()))
        # No diagonal is beyond the corners of the matrix.
        bound = b.smaller(saturated_index(b, raw, element_of(op.k)), columns)
        bound = b.larger(bound, b.sub(0, rows))
    predicate = "sge" if op.upper.value.data else "sle"
    kept = b.compare_lanes(predicate, b.sub(b.add(bound, row), column), lanes, kind)
    value = yield Demand((op.data, 0), position)
    return b.select(kept, value, b.constant(kind.compute, 0, lanes))


def _matrix_set_diag(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.MatrixSetDiagOp)
    b, (low, high) = ev.b, op.range
    rows, columns = position.shape[-2:]
    *outer, row, column = position.coords(b)
    number = b.sub(column, row)
    above = b.compare_index(number, "sge", low)
    inside = b.both(above, b.compare_index(number, "sle", high))
    then, otherwise = Block(), Block()
    with b.inside(then):
        # Where each diagonal begins in its row: chosen among the numbers of all.
        start: Index = op.offset(high, rows, columns)
        for k in range(low, high):
            this = b.compare_index(number, "eq", k)
            chosen = op.offset(k, rows, columns)
            start = b.select(this, b.index(chosen), b.index(start))
        place = b.add(b.smaller(row, column), start)
        middle = () if low == high else (b.sub(high, number),)
        shape = shape_of(op.diagonal)
        new = yield Demand((op.diagonal, 0), at(shape, (*outer, *middle, place)))
    with b.inside(otherwise):
        old = yield Demand((op.input, 0), position)
    return b.join(inside, (then, new), (otherwise, old))


def _unravel_index(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, reorder.UnravelIndexOp)
    b, kind = ev.b, element_of(op.data)
    row, *own = position.coords(b)
    shape = shape_of(op.shape)
    rest = yield Demand((op.data, 0), at(shape_of(op.data), own))
    result: SSAValue | None = None
    for axis in reversed(range(shape[0])):
        dim = yield Demand((op.shape, 0), at(shape, [axis]))
        rest, remainder = integer_division(b, rest, dim, kind)
        if result is None:
            result = remainder
        else:
            result = b.select(b.compare_index(row, "eq", axis), remainder, result)
    assert result is not None, "a result without rows has no elements"
    return result


def _invert_permutation(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    b, data = ctx.b, op.operands[0]
    (length,), kind = shape_of(data), element_of(data)
    buffer = ctx.scratch(kind, row_major((length,)))

    def cleared(coords: Coords) -> None:
        b.store(buffer.pointer, coords[0], kind, b.constant(kind.compute, 0))

    def permute(_: Coords) -> None:
        with b.loop(0, length) as i:
            place = saturated_index(b, ctx.ev.get((data, 0), at((length,), [i])), kind)
            inside = b.both(b.compare_index(place, "sge", 0), b.compare_index(place, "slt", length))
            with b.when(inside):
                b.store(buffer.pointer, place, kind, convert(b, b.index(i), INDEX, kind))

    ctx.tasks((length,), cleared)
    ctx.barrier()
    ctx.tasks((1,) if length else (0,), permute)
    ctx.barrier()
    ctx.tasks(
        (length,),
        lambda coords: sink(at((length,), coords), b.load(buffer.pointer, coords[0], kind, 1)),
    )


def breaks_rows(op: Operation) -> bool:
    """Whether neighbouring elements of the result come from places that are not neighbours."""
    return isinstance(op, reorder.ReverseSequenceOp) and len(shape_of(op.data)) - 1 in op.axes


RULES: dict[type[Operation], RuleFunction] = {
    reorder.ReverseOp: _reverse,
    reorder.ReverseSequenceOp: _reverse_sequence,
    reorder.SequenceMaskOp: EachLane(_sequence_mask),
    reorder.MeshgridOp: _meshgrid,
    reorder.SlidingWindowOp: _sliding_window,
    reorder.TriluOp: _trilu,
    reorder.MatrixSetDiagOp: EachLane(_matrix_set_diag),
    reorder.UnravelIndexOp: EachLane(_unravel_index),
}

STRATEGIES: dict[type[Operation], Strategy] = {
    reorder.InvertPermutationOp: (Implementation("loops", _invert_permutation),),
}
