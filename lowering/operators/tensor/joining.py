"""
Kernel code of operators that join or cut tensors.

Fields that are joined along the last axis are computed one after the other, each in vectors: on demand every element of a
vector of the result would look for its field by itself.

Many fields, along any axis, have one nest of loops over a table of addresses:

    field 0 │ address ──► ▒▒▒▒            ┌──────┬────────┬───
    field 1 │ address ──► ▓▓▓▓▓▓    ──►   │ ▒▒▒▒ │ ▓▓▓▓▓▓ │ …     a row of the joined tensor
    …                                     └──────┴────────┴───

On demand, every element is found by comparisons with the places of all fields, and a tuple of parts is
computed by one loop that loads and stores an element of each: code that grows with the number of fields,
for which LLVM takes more than linear time. Here only the instructions that fill the table grow.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.shapes import leaf_count
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StackOp
from xrelay.lowering.emit.context import ENOUGH_TASKS, KernelContext
from xrelay.lowering.emit.elements import INDEX
from xrelay.lowering.emit.evaluate import Buffer, Leaf, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.operators.tensor.transform import field_shapes, fields_of

MANY_FIELDS = 64
"""With more fields than this, a table is shorter and faster than comparisons."""


Move: TypeAlias = Callable[[SSAValue, Index, Index, Index, int], None]
"""
Moves elements: the address of a piece of a field, the number of the row, the offset from the address, the
place in the row of the joined tensor, how many.
"""

Column: TypeAlias = Callable[[Index], Index]
"""From the number of a piece to its entry in a column of the table."""


def has_many_fields(op: Operation) -> bool:
    """Whether an operator joins or cuts so many tensors that it gets loops of its own."""
    match op:
        case ConcatenateOp() | StackOp():
            return leaf_count(op.data.type) > MANY_FIELDS
        case SplitOp():
            return leaf_count(op.result.type) > MANY_FIELDS
        case _:
            return False


def joins_rows(op: Operation) -> bool:
    """Whether an operator joins tensors along the last axis."""
    return isinstance(op, ConcatenateOp) and op.normalized_axis == len(shape_of(op.result)) - 1


def _join_rows(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, ConcatenateOp)
    b, shape, lanes = ctx.b, shape_of(op.result), ctx.target.lanes(element_of(op.result).bytes)
    start: Index = 0
    fields = zip(fields_of(ctx.ev, op.data), field_shapes(op.data), strict=True)
    for number, (leaf, field) in enumerate(fields):
        if number == 0 and ctx.is_begun:
            start = field[-1]
            continue

        def vector(
            outer: tuple[Index, ...],
            place: Index,
            count: int,
            leaf: Leaf = leaf,
            field: tuple[int, ...] = field,
            start: Index = start,
        ) -> None:
            value = ctx.ev.get(leaf, Position(field, outer, place, count))
            sink(Position(shape, outer, b.add(start, place), count), value)

        ctx.vector_tasks(field[:-1], field[-1], lanes, vector)
        start = b.add(start, field[-1])


def _rows_refusal(site: Site) -> str | None:
    if has_many_fields(site.op):
        return f"more than {MANY_FIELDS} tensors"
    return unless(joins_rows(site.op), "tensors that are joined along another axis than the last")


def _table_refusal(site: Site) -> str | None:
    return unless(has_many_fields(site.op), f"{MANY_FIELDS} tensors or fewer")


def _join(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, ConcatenateOp | StackOp)
    b, shape, axis = ctx.b, shape_of(op.result), op.normalized_axis
    kind = element_of(op.result)
    behind = prod(shape[axis + 1 :])
    lengths = [
        behind * (1 if isinstance(op, StackOp) else field[axis]) for field in field_shapes(op.data)
    ]
    fields = [ctx.in_memory(value, number) for value, number in fields_of(ctx.ev, op.data)]

    def move(pointer: SSAValue, row: Index, offset: Index, place: Index, lanes: int) -> None:
        outer = b.unflatten(row, shape[:axis]) if axis else ()
        sink(Position(shape, outer, place, lanes), b.load(pointer, offset, kind, lanes))

    _each_piece(ctx, fields, lengths, prod(shape[:axis]), move)


def _cut(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    del sink  # Of the first part; all of them have places.
    assert isinstance(op, SplitOp)
    b, shape, axis = ctx.b, shape_of(op.data), op.normalized_axis
    data, total = ctx.in_memory(op.data), prod(shape[axis:])
    behind = prod(shape[axis + 1 :])
    parts: list[Buffer] = []
    for place in ctx.places:
        plain = row_major(place.shape)
        parts.append(place if place.format == plain else ctx.scratch(place.element, plain))

    def move(pointer: SSAValue, row: Index, offset: Index, place: Index, lanes: int) -> None:
        start = b.add(b.mul(row, total), place)
        b.store(pointer, offset, data.element, b.load(data.pointer, start, data.element, lanes))

    lengths = [behind * part.shape[axis] for part in parts]
    _each_piece(ctx, parts, lengths, prod(shape[:axis]), move)
    spaced = [pair for pair in zip(parts, ctx.places, strict=True) if pair[0] is not pair[1]]
    if spaced:
        ctx.barrier()
    for part, place in spaced:
        _copy(ctx, part, place)


def _copy(ctx: KernelContext, source: Buffer, target: Buffer) -> None:
    """Copies a tensor into another format."""

    def copied(coords: tuple[Index, ...]) -> None:
        offset = source.origin(ctx.b, coords)
        value = ctx.b.load(source.pointer, offset, source.element, 1)
        ctx.store(target, at(target.shape, coords), value)

    ctx.tasks(source.shape, copied)


def _each_piece(
    ctx: KernelContext, fields: Sequence[Buffer], lengths: Sequence[int], rows: int, move: Move
) -> None:
    """
    Moves all elements of row-major fields, of which the joined tensor has `lengths` one after the other
    in each of its `rows`. Long fields are several pieces, so that threads share them.
    """
    b, kind = ctx.b, fields[0].element
    lanes = ctx.target.lanes(kind.bytes)
    starts = [0, *accumulate(lengths)]
    longest = max(1, -(-starts[-1] // (ENOUGH_TASKS * lanes))) * lanes
    addresses: list[SSAValue] = []
    pieces: list[tuple[int, int, int]] = []
    for field, (first, end) in zip(fields, pairwise(starts), strict=True):
        for start in range(first, end, longest):
            address = b.address(field.pointer, start - first, kind.storage)
            addresses.append(b.insert(llvm.PtrToIntOp(address)).output)
            pieces.append((start, min(longest, end - start), end - first))
    address_of = _table(ctx, addresses)
    place_of, length_of, stride_of = (_numbers(ctx, each) for each in zip(*pieces, strict=True))

    def piece(indices: tuple[Index, ...]) -> None:
        number, row = indices
        pointer = b.insert(llvm.IntToPtrOp(b.index(address_of(number)))).output
        place, length = place_of(number), length_of(number)
        before = b.mul(row, stride_of(number)) if rows > 1 else 0
        whole = b.sub(length, b.mod(length, lanes))
        for start, stop, width in ((0, whole, lanes), (whole, length, 1)):
            if start != stop:
                with b.loop(start, stop, width) as i:
                    move(pointer, row, b.add(before, i), b.add(place, i), width)

    ctx.tasks((len(pieces), rows), piece)


def _numbers(ctx: KernelContext, values: Sequence[int]) -> Column:
    """Numbers that are known: by a formula, where there is one."""
    first, *others = values
    step = others[0] - first if others else 0
    if all(value == first + i * step for i, value in enumerate(values)):
        return lambda i: ctx.b.add(ctx.b.mul(i, step), first)
    return _table(ctx, values)


def _table(ctx: KernelContext, values: Sequence[Index]) -> Column:
    """Values that are written to memory first, by each thread for itself."""
    memory = ctx.private_scratch(INDEX, row_major((len(values),)))
    for i, value in enumerate(values):
        ctx.b.store(memory.pointer, i, INDEX, ctx.b.index(value))
    return lambda i: ctx.b.load(memory.pointer, i, INDEX, 1)


ROWS = Implementation("rows", _join_rows, refusal=_rows_refusal)
"""It leaves out the first tensor where that is in its place already."""

STRATEGIES: dict[type[Operation], Strategy] = {
    ConcatenateOp: (
        Implementation("table", _join, refusal=_table_refusal),
        ROWS,
    ),
    StackOp: (Implementation("table", _join),),
    SplitOp: (Implementation("table", _cut),),
}
