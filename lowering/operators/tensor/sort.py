"""Kernel code of sorting and searching."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects.builtin import TupleType, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import larger, likely, may_exceed
from xrelay.dialects.tensor import sort
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, element
from xrelay.lowering.emit.evaluate import Buffer, element_of, leaf_shape, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Coords, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.math.arithmetic import add
from xrelay.lowering.math.convert import BOOL, convert
from xrelay.lowering.operators.tensor.argsort import (
    Sorter,
    bit_length,
    descending_key,
    key_element,
    order_key,
    precedes,
)
from xrelay.lowering.operators.tensor.argwhere import STRATEGY as ARGWHERE
from xrelay.lowering.operators.tensor.selection import (
    LONGEST,
    KeyAt,
    Selector,
    merge_cycles,
    most_wanted,
    selection_cycles,
)

I32 = element(i32)

Arrange = Callable[[KeyAt], Callable[[Index], SSAValue]]
"""Emits what brings a row with some keys in order; the result gives the number of the element that
comes to a place."""


def _merging(ctx: KernelContext, op: sort.SortFamilyOp | sort.TopkOp) -> Arrange:
    length = shape_of(op.data)[op.normalized_axis]
    sorter = Sorter(ctx, length, element_of(op.data))

    def arrange(key_at: KeyAt) -> Callable[[Index], SSAValue]:
        sorter.sort(length, lambda i: key_at(i, 1))
        return sorter.number

    return arrange


def _selecting(ctx: KernelContext, op: sort.TopkOp) -> Arrange:
    shape, axis = shape_of(op.data), op.normalized_axis
    key, is_last = key_element(element_of(op.data)), axis == len(shape) - 1
    selector = Selector(ctx, shape[axis], _wanted(op), key, in_vectors=is_last)

    def arrange(key_at: KeyAt) -> Callable[[Index], SSAValue]:
        selector.select(key_at)
        return selector.number

    return arrange


def _ordered_rows(
    ctx: KernelContext,
    op: sort.SortFamilyOp | sort.TopkOp,
    count: int,
    use: Callable[[Coords, SSAValue, SSAValue], None],
    arrange: Arrange,
) -> None:
    """
    Brings the rows along an axis in order. `use(coords, number, value)` gets the first `count`
    elements: their coordinates in the result, their number along the axis, and themselves.
    """
    data, axis, kind = op.data, op.normalized_axis, element_of(op.data)
    shape = shape_of(data)
    outer = [dim for d, dim in enumerate(shape) if d != axis]
    key = order_key if op.is_ascend.value.data else descending_key

    def row(coords: Coords) -> None:
        def full(i: Index) -> Coords:
            return (*coords[:axis], i, *coords[axis:])

        def value_at(i: Index, lanes: int = 1) -> SSAValue:
            return ctx.ev.get((data, 0), at(shape, full(i), lanes))

        number_at = arrange(lambda i, lanes: key(ctx.b, value_at(i, lanes), kind))
        with ctx.b.loop(0, count) as i:
            number = number_at(i)
            use(full(i), number, value_at(number))

    ctx.tasks(outer, row)


def _sort(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.SortFamilyOp)
    b, axis, shape = ctx.b, op.normalized_axis, shape_of(op.result)
    kind = element_of(op.result)

    def use(coords: Coords, number: SSAValue, value: SSAValue) -> None:
        indices = isinstance(op, sort.ArgsortOp)
        sink(at(shape, coords), convert(b, number, INDEX, kind) if indices else value)

    if shape[axis]:
        _ordered_rows(ctx, op, shape[axis], use, _merging(ctx, op))


def _wanted(op: sort.TopkOp) -> int:
    """How many elements of each row the result has."""
    return leaf_shape((op.result, 0))[op.normalized_axis]


def _topk(
    arrangement: Callable[[KernelContext, sort.TopkOp], Arrange],
) -> Callable[[KernelContext, Operation, Sink], None]:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, sort.TopkOp)
        if not isinstance(op.result.type, TupleType):
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

        if _wanted(op):
            _ordered_rows(ctx, op, _wanted(op), use, arrangement(ctx, op))

    return emit


def _refuses_selection(site: Site) -> str | None:
    op = site.op
    assert isinstance(op, sort.TopkOp)
    most = most_wanted(site.target, key_element(element_of(op.data)))
    length = shape_of(op.data)[op.normalized_axis]
    # A number of elements that is not known may be small, and sorting serves all.
    few = not may_exceed(_wanted(op), most)
    return unless(few, f"more than {most} elements of a row") or unless(
        length <= LONGEST, f"rows of more than {LONGEST} elements"
    )


def _topk_seconds(row_cycles: Callable[[Target, Element, int, int], float], site: Site) -> float:
    op = site.op
    assert isinstance(op, sort.TopkOp)
    shape = [likely(length) for length in shape_of(op.data)]
    length, wanted = shape[op.normalized_axis], likely(_wanted(op))
    rows = prod(shape) // max(length, 1)
    cycles = row_cycles(site.target, key_element(element_of(op.data)), length, wanted)
    return rows * cycles * site.target.cycle_seconds


TOPK: Strategy = (
    Implementation(
        "selection",
        _topk(_selecting),
        refusal=_refuses_selection,
        cost=partial(_topk_seconds, selection_cycles),
    ),
    Implementation("merge sort", _topk(_merging), cost=partial(_topk_seconds, merge_cycles)),
)


def _searchsorted(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.SearchsortedOp)
    b, sequence, shape = ctx.b, shape_of(op.sorted_sequence), shape_of(op.values)
    kind, out = element_of(op.values), element_of(op.result)
    length, relation = sequence[-1], "le" if op.right.value.data else "lt"

    def search(coords: Coords) -> None:
        wanted = order_key(b, ctx.ev.get((op.values, 0), at(shape, coords)), kind)
        row = coords[:-1] if len(sequence) > 1 else ()

        def halve(_: Index, bounds: Sequence[SSAValue]) -> Sequence[SSAValue]:
            low, high = bounds
            middle = b.index(b.div(b.add(low, high), 2))
            place = at(sequence, (*row, b.smaller(middle, length - 1)))
            key = order_key(b, ctx.ev.get((op.sorted_sequence, 0), place), kind)
            before = precedes(b, key, wanted, key_element(kind), relation)
            above = b.both(before, b.compare_index(low, "slt", high))
            return (
                b.select(above, b.index(b.add(middle, 1)), low),
                b.select(before, high, middle),
            )

        low = b.fold(0, bit_length(b, length), 1, [b.index(0), b.index(length)], halve)[0]
        sink(at(shape, coords), convert(b, low, INDEX, out))

    ctx.tasks(shape, search)


@dataclass(frozen=True)
class _Groups:
    """Groups of equal elements of a vector, in ascending order."""

    ctx: KernelContext
    data: SSAValue
    sorter: Sorter
    group: Buffer
    """The group of each element."""
    first: Buffer
    """The first element of each group."""
    rank: Buffer
    """The place of each group in the result."""

    @staticmethod
    def of(ctx: KernelContext, data: SSAValue) -> "_Groups":
        """Room for the groups of a vector."""
        (length,) = shape_of(data)
        places = row_major((larger(length, 1, of_empty=True),))
        sorter = Sorter(ctx, length, element_of(data))
        rank, group, first = (ctx.private_scratch(INDEX, places) for _ in range(3))
        return _Groups(ctx, data, sorter, group, first, rank)

    @property
    def length(self) -> int:
        """How many elements there are."""
        return shape_of(self.data)[0]

    def element_at(self, i: Index) -> SSAValue:
        """An element."""
        return self.ctx.ev.get((self.data, 0), at((self.length,), [i]))

    def get(self, buffer: Buffer, place: Index) -> SSAValue:
        """An entry of one of the tables."""
        b = self.ctx.b
        return b.load(buffer.pointer, buffer.origin(b, [place]), buffer.element, 1)

    def collect(self) -> SSAValue:
        """Sorts the elements and fills `group` and `first`; the number of groups."""
        b, kind = self.ctx.b, element_of(self.data)
        self.sorter.sort(self.length, lambda i: order_key(b, self.element_at(i), kind))

        def add(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            """The sort is stable, so the first member of a group comes first."""
            (found,) = state
            number = self.sorter.number(i)
            before = self.sorter.number(b.larger(b.sub(i, 1), 0))
            differs = b.compare_integers(self.sorter.key(number), "ne", self.sorter.key(before))
            new = b.either(differs, b.compare_index(i, "eq", 0))
            found = b.index(b.add(found, convert(b, new, BOOL, INDEX)))
            this = b.sub(found, 1)
            b.store(self.group.pointer, number, INDEX, b.index(this))
            with b.when(new):
                b.store(self.first.pointer, this, INDEX, number)
            return [found]

        (count,) = b.fold(0, self.length, 1, [b.index(0)], add)
        return count

    def rank_ascending(self) -> None:
        """Groups come in the order of their elements' values."""
        b = self.ctx.b
        with b.loop(0, self.length) as i:
            b.store(self.rank.pointer, i, INDEX, b.index(i))

    def rank_by_occurrence(self) -> None:
        """Groups come in the order of their first elements' places."""
        b = self.ctx.b

        def number(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (known,) = state
            own = self.get(self.group, i)
            is_first = b.compare_index(self.get(self.first, own), "eq", i)
            with b.when(is_first):
                b.store(self.rank.pointer, own, INDEX, known)
            return [b.index(b.add(known, convert(b, is_first, BOOL, INDEX)))]

        b.fold(0, self.length, 1, [b.index(0)], number)


def _unique(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.UniqueOp)
    b, kind = ctx.b, element_of(op.data)
    fields = [ctx.ev.buffers[op.result, i] for i in range(4 + bool(op.return_counts.value.data))]
    unique, indices, inverse, total = fields[:4]
    counts = fields[4:]
    groups = _Groups.of(ctx, op.data)

    def everything(_: Coords) -> None:
        with b.loop(0, groups.length) as i:
            b.store(unique.pointer, i, kind, b.constant(kind.compute, 0))
            for buffer in (indices, *counts):
                b.store(buffer.pointer, i, I32, b.constant(i32, 0))
        found = groups.collect()
        if op.sorted.value.data:
            groups.rank_ascending()
        else:
            groups.rank_by_occurrence()
        b.store(total.pointer, 0, I32, convert(b, found, INDEX, I32))
        with b.loop(0, found) as i:
            place, member = groups.get(groups.rank, i), groups.get(groups.first, i)
            b.store(unique.pointer, place, kind, groups.element_at(member))
            b.store(indices.pointer, place, I32, convert(b, member, INDEX, I32))
        with b.loop(0, groups.length) as i:
            place = groups.get(groups.rank, groups.get(groups.group, i))
            b.store(inverse.pointer, i, I32, convert(b, place, INDEX, I32))
            for buffer in counts:
                old = b.load(buffer.pointer, place, I32, 1)
                b.store(buffer.pointer, place, I32, add(b, old, b.constant(i32, 1), I32))

    ctx.tasks((1,), everything)


STRATEGIES: dict[type[Operation], Strategy] = {
    sort.SortOp: (Implementation("merge sort", _sort),),
    sort.ArgsortOp: (Implementation("merge sort", _sort),),
    sort.TopkOp: TOPK,
    sort.SearchsortedOp: (Implementation("binary search", _searchsorted),),
    sort.UniqueOp: (Implementation("merge sort", _unique),),
    sort.BoundedArgwhereOp: ARGWHERE,
}
