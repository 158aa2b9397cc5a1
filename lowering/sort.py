"""
Kernel code of sorting, searching and accumulating.

A row is sorted by merging: its keys, integers with the order of the elements, stay where they are,
and their numbers move between two halves of a buffer, in which ever longer runs are in order.
"""

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, TupleType, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects import sort
from xrelay.dialects.shapes import normalize_axis
from xrelay.lowering.binary import add, multiply
from xrelay.lowering.builder import Index, KernelBuilder
from xrelay.lowering.context import KernelContext
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import Element, element, wide
from xrelay.lowering.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.format import row_major
from xrelay.lowering.position import at, linear
from xrelay.lowering.strategy import Implementation, Sink, Strategy

Coords = tuple[Index, ...]

INDEX = element(i64)
I32 = element(i32)
BOOL = element(i1)


def key_element(kind: Element) -> Element:
    """What the order keys of elements are."""
    size = wide(kind).bytes
    integer = IntegerType(8 * size)
    return Element(integer, integer, size, kind.is_float or kind.signed)


def order_key(b: KernelBuilder, value: SSAValue, kind: Element) -> SSAValue:
    """
    An integer with the order of the elements, NaN above all numbers and zeros of both signs equal.
    """
    key = key_element(kind)
    if not kind.is_float:
        return convert(b, value, kind, key) if kind.is_bool else value
    value = convert(b, value, kind, wide(kind))
    zero = b.constant(wide(kind).compute, 0)
    bits = b.bitcast(add(b, value, zero, wide(kind)), key.compute)
    largest = b.constant(key.compute, 2 ** (key.bits - 1) - 1)
    negative = b.compare_integers(bits, "slt", b.constant(key.compute, 0))
    flipped = b.insert(arith.XOrIOp(bits, largest)).result
    return b.select(b.is_nan(value), largest, b.select(negative, flipped, bits))


def _precedes(b: KernelBuilder, x: SSAValue, y: SSAValue, key: Element, relation: str) -> SSAValue:
    return b.compare_integers(x, ("s" if key.signed else "u") + relation, y)


class RowSorter:
    """Sorts rows of one length, of which every thread has one at a time."""

    def __init__(self, ctx: KernelContext, length: int, kind: Element, *, ascending: bool):
        self.ctx, self.length, self.kind, self.ascending = ctx, length, kind, ascending
        self.keys = ctx.private_scratch(key_element(kind), row_major((max(length, 1),)))
        self.order = ctx.private_scratch(INDEX, row_major((max(2 * length, 1),)))
        self.passes = max(length - 1, 0).bit_length()

    def sort(self, value_at: Callable[[Index], SSAValue]) -> None:
        """Orders the elements that `value_at` gives; then `number` tells which one is where."""
        b, length, key = self.ctx.b, self.length, self.keys.element
        with b.loop(0, length) as i:
            value = order_key(b, value_at(i), self.kind)
            self._store(self.keys, i, value if self.ascending else b.negate(value))
            self._store(self.order, i, b.index(i))
        if self.passes == 0:
            return

        def merge(_: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            width, source, target = state

            def step(k: Index, runs: Sequence[SSAValue]) -> Sequence[SSAValue]:
                # The rest of a run, the rest of the one behind it, and where each ends.
                begins = b.compare_index(k, "eq", runs[3])
                middle = b.index(b.smaller(b.add(k, width), length))
                end = b.index(b.smaller(b.add(middle, width), length))
                fresh = (b.index(k), middle, middle, end)
                pairs = zip(fresh, runs, strict=True)
                left, right, middle, end = (b.select(begins, new, old) for new, old in pairs)
                one, other = self._at(source, left), self._at(source, right)
                ordered = _precedes(b, self._key(one), self._key(other), key, "le")
                exhausted = b.compare_index(right, "sge", end)
                rest = b.compare_index(left, "slt", middle)
                first = b.both(rest, b.either(exhausted, ordered))
                self._store(self.order, b.add(target, k), b.select(first, one, other))
                moved = b.select(first, b.index(b.add(left, 1)), left)
                behind = b.select(first, right, b.index(b.add(right, 1)))
                return moved, behind, middle, end

            b.fold(0, length, 1, [b.index(0)] * 4, step)
            return b.index(b.mul(width, 2)), target, source

        b.fold(0, self.passes, 1, [b.index(1), b.index(0), b.index(length)], merge)

    def number(self, place: Index) -> SSAValue:
        """The number of the element that comes to a place."""
        offset = self.length * (self.passes % 2)
        return self._load(self.order, self.ctx.b.add(place, offset))

    def key(self, number: Index) -> SSAValue:
        """The key of an element."""
        return self._load(self.keys, number)

    def _key(self, number: SSAValue) -> SSAValue:
        return self._load(self.keys, number)

    def _at(self, start: SSAValue, place: SSAValue) -> SSAValue:
        """A number of the buffer's half; that of the last place for those behind it."""
        b = self.ctx.b
        return self._load(self.order, b.add(start, b.smaller(place, self.length - 1)))

    def _load(self, buffer: Buffer, offset: Index) -> SSAValue:
        return self.ctx.b.load(buffer.pointer, offset, buffer.element, 1)

    def _store(self, buffer: Buffer, offset: Index, value: SSAValue) -> None:
        self.ctx.b.store(buffer.pointer, offset, buffer.element, value)


def _sorted_rows(
    ctx: KernelContext,
    data: SSAValue,
    axis: int,
    count: int,
    use: Callable[[Coords, SSAValue, SSAValue], None],
    *,
    ascending: bool,
) -> None:
    """
    Sorts the rows along an axis. `use(coords, number, value)` gets the first `count` elements in
    order: their coordinates in the result, their number along the axis, and themselves.
    """
    shape = shape_of(data)
    outer = [dim for d, dim in enumerate(shape) if d != axis]
    sorter = RowSorter(ctx, shape[axis], element_of(data), ascending=ascending)

    def row(task: Coords) -> None:
        coords = task if outer else ()

        def full(i: Index) -> Coords:
            return (*coords[:axis], i, *coords[axis:])

        def value_at(i: Index) -> SSAValue:
            return ctx.ev.get((data, 0), at(shape, full(i)))

        sorter.sort(value_at)
        with ctx.b.loop(0, count) as i:
            number = sorter.number(i)
            use(full(i), number, value_at(number))

    if count:
        ctx.tasks(outer or (1,), row)


def _sort(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.SortFamilyOp)
    b, axis, shape = ctx.b, op.normalized_axis, shape_of(op.result)
    kind = element_of(op.result)

    def use(coords: Coords, number: SSAValue, value: SSAValue) -> None:
        indices = isinstance(op, sort.ArgsortOp)
        sink(at(shape, coords), convert(b, number, INDEX, kind) if indices else value)

    ascending = bool(op.is_ascend.value.data)
    _sorted_rows(ctx, op.data, axis, shape[axis], use, ascending=ascending)


def _topk(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.TopkOp)
    axis, both = op.normalized_axis, isinstance(op.result.type, TupleType)
    if not both:
        shape, kind = shape_of(op.result), element_of(op.result)
        values_only = op.ret_type.data == "values"

        def use(coords: Coords, number: SSAValue, value: SSAValue) -> None:
            index = convert(ctx.b, number, INDEX, kind)
            sink(at(shape, coords), value if values_only else index)

    else:
        values, indices = (ctx.ev.buffers[op.result, i] for i in range(2))
        shape = values.shape

        def use(coords: Coords, number: SSAValue, value: SSAValue) -> None:
            ctx.store(values, at(shape, coords), value)
            index = convert(ctx.b, number, INDEX, indices.element)
            ctx.store(indices, at(shape, coords), index)

    ascending = bool(op.is_ascend.value.data)
    _sorted_rows(ctx, op.data, axis, shape[axis], use, ascending=ascending)


def _searchsorted(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.SearchsortedOp)
    b, sequence, shape = ctx.b, shape_of(op.sorted_sequence), shape_of(op.values)
    kind, out = element_of(op.values), element_of(op.result)
    length, relation = sequence[-1], "le" if op.right.value.data else "lt"

    def search(task: Coords) -> None:
        coords = task if shape else ()
        wanted = order_key(b, ctx.ev.get((op.values, 0), at(shape, coords)), kind)
        row = coords[:-1] if len(sequence) > 1 else ()

        def halve(_: Index, bounds: Sequence[SSAValue]) -> Sequence[SSAValue]:
            low, high = bounds
            middle = b.index(b.div(b.add(low, high), 2))
            place = at(sequence, (*row, b.smaller(middle, length - 1)))
            key = order_key(b, ctx.ev.get((op.sorted_sequence, 0), place), kind)
            before = _precedes(b, key, wanted, key_element(kind), relation)
            above = b.both(before, b.compare_index(low, "slt", high))
            return (
                b.select(above, b.index(b.add(middle, 1)), low),
                b.select(before, high, middle),
            )

        low = b.fold(0, length.bit_length(), 1, [b.index(0), b.index(length)], halve)[0]
        sink(at(shape, coords), convert(b, low, INDEX, out))

    ctx.tasks(shape or (1,), search)


def _unique(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.UniqueOp)
    b, data = ctx.b, op.data
    (length,), kind = shape_of(data), element_of(data)
    fields = [ctx.ev.buffers[op.result, i] for i in range(4 + bool(op.return_counts.value.data))]
    unique, indices, inverse, total = fields[:4]
    counts = fields[4:]
    sorter = RowSorter(ctx, length, kind, ascending=True)
    # Of each group of equal elements: its number in the result. Of each element: its group.
    rank = ctx.private_scratch(INDEX, row_major((max(length, 1),)))
    group = ctx.private_scratch(INDEX, row_major((max(length, 1),)))
    first = ctx.private_scratch(INDEX, row_major((max(length, 1),)))

    def get(buffer: Buffer, place: Index) -> SSAValue:
        return b.load(buffer.pointer, buffer.origin(b, [place]), buffer.element, 1)

    def element_at(i: Index) -> SSAValue:
        return ctx.ev.get((data, 0), at((length,), [i]))

    def clear() -> None:
        with b.loop(0, length) as i:
            b.store(unique.pointer, i, kind, b.constant(kind.compute, 0))
            for buffer in (indices, *counts):
                b.store(buffer.pointer, i, I32, b.constant(i32, 0))

    def collect(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Groups in ascending order; the sort is stable, so their first member comes first."""
        (found,) = state
        number = sorter.number(i)
        before = sorter.number(b.larger(b.sub(i, 1), 0))
        differs = b.compare_integers(sorter.key(number), "ne", sorter.key(before))
        new = b.either(differs, b.compare_index(i, "eq", 0))
        found = b.index(b.add(found, convert(b, new, BOOL, INDEX)))
        this = b.sub(found, 1)
        b.store(group.pointer, number, INDEX, b.index(this))
        with b.when(new):
            b.store(first.pointer, this, INDEX, number)
        return [found]

    def rank_groups() -> None:
        if op.sorted.value.data:
            with b.loop(0, length) as i:
                b.store(rank.pointer, i, INDEX, b.index(i))
            return

        def by_occurrence(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (known,) = state
            own = get(group, i)
            is_first = b.compare_index(get(first, own), "eq", i)
            with b.when(is_first):
                b.store(rank.pointer, own, INDEX, known)
            return [b.index(b.add(known, convert(b, is_first, BOOL, INDEX)))]

        b.fold(0, length, 1, [b.index(0)], by_occurrence)

    def everything(_: Coords) -> None:
        clear()
        sorter.sort(element_at)
        (found,) = b.fold(0, length, 1, [b.index(0)], collect)
        rank_groups()
        b.store(total.pointer, 0, I32, convert(b, found, INDEX, I32))
        with b.loop(0, found) as i:
            place, member = get(rank, i), get(first, i)
            b.store(unique.pointer, place, kind, element_at(member))
            b.store(indices.pointer, place, I32, convert(b, member, INDEX, I32))
        with b.loop(0, length) as i:
            place = get(rank, get(group, i))
            b.store(inverse.pointer, i, I32, convert(b, place, INDEX, I32))
            for buffer in counts:
                old = b.load(buffer.pointer, place, I32, 1)
                b.store(buffer.pointer, place, I32, add(b, old, b.constant(i32, 1), I32))

    ctx.tasks((1,), everything)


def _scan(combine: Callable[..., SSAValue], start: int) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, sort.ScanOp)
        b, shape, out_shape = ctx.b, shape_of(op.data), shape_of(op.result)
        source, kind = element_of(op.data), element_of(op.result)
        computed, exclusive = wide(kind), bool(op.exclusive.value.data)
        axis = None if op.axis is None else normalize_axis(op.axis.value.data, len(shape))
        outer = [dim for d, dim in enumerate(shape) if d != axis] if axis is not None else []

        def row(coords: Coords) -> None:
            def step(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
                if axis is None:
                    place, target = linear(shape, i), at(out_shape, (i,))
                else:
                    place = target = at(shape, (*coords[:axis], i, *coords[axis:]))
                value = convert(b, ctx.ev.get((op.data, 0), place), source, kind)
                following = combine(b, state[0], convert(b, value, kind, computed), computed)
                own = state[0] if exclusive else following
                sink(target, convert(b, own, computed, kind))
                return [following]

            length = prod(shape) if axis is None else shape[axis]
            b.fold(0, length, 1, [b.constant(computed.compute, start)], step)

        if prod(shape):
            ctx.tasks(outer or (1,), row)

    return (Implementation("loops", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    sort.SortOp: (Implementation("merge sort", _sort),),
    sort.ArgsortOp: (Implementation("merge sort", _sort),),
    sort.TopkOp: (Implementation("merge sort", _topk),),
    sort.SearchsortedOp: (Implementation("binary search", _searchsorted),),
    sort.UniqueOp: (Implementation("merge sort", _unique),),
    sort.CumsumOp: _scan(add, 0),
    sort.CumprodOp: _scan(multiply, 1),
}
