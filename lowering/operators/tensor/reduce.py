"""Kernel code of reductions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.pool.pool import GlobalAvgPool2DOp, GlobalMaxPool2DOp, GlobalPool2DOp
from xrelay.dialects.tensor import reduce as reduction
from xrelay.lowering.emit.builder import Index, KernelBuilder, lanes_of
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.binary import add, multiply, subtract
from xrelay.lowering.operators.tensor.unary import highest, lowest, maximum, minimum

Combine = Callable[[KernelBuilder, SSAValue, SSAValue, Element], SSAValue]

INDEX = element(i64)


@dataclass(frozen=True)
class Reducer:
    """An associative combination of elements and its neutral element."""

    combine: Combine
    neutral: Callable[[Element], float]


SUM = Reducer(add, lambda kind: 0)
PRODUCT = Reducer(multiply, lambda kind: 1)
MAXIMUM = Reducer(maximum, lowest)
MINIMUM = Reducer(minimum, highest)
ALL = Reducer(lambda b, x, y, _: b.both(x, y), lambda kind: 1)
ANY = Reducer(lambda b, x, y, _: b.either(x, y), lambda kind: 0)


def sum_kind(kind: Element) -> Element:
    """What means are summed in: 64 bits for integers."""
    if kind.is_float:
        return wide(kind)
    return kind if kind.bytes == 8 else INDEX


def average(b: KernelBuilder, total: SSAValue, divisor: SSAValue, kind: Element) -> SSAValue:
    """total / divisor; integers round towards zero."""
    if kind.is_float:
        return b.insert(arith.DivfOp(total, divisor)).result
    return b.insert((arith.DivSIOp if kind.signed else arith.DivUIOp)(total, divisor)).result


def across_lanes(b: KernelBuilder, value: SSAValue, combine: Combine, kind: Element) -> SSAValue:
    """All lanes of a vector combined into one, in a tree."""
    rest: list[SSAValue] = []
    while (lanes := lanes_of(value)) > 1:
        half = lanes // 2
        if lanes % 2:
            rest.append(b.bitcast(b.shuffle(value, [lanes - 1]), kind.compute))
        low, high = b.shuffle(value, range(half)), b.shuffle(value, range(half, 2 * half))
        if half == 1:
            low, high = b.bitcast(low, kind.compute), b.bitcast(high, kind.compute)
        value = combine(b, low, high, kind)
    for other in rest:
        value = combine(b, value, other, kind)
    return value


@dataclass(frozen=True)
class Term:
    """One of the results of a reduction, and how the elements are read for it."""

    reducer: Reducer
    kind: Element

    def combine(self, b: KernelBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        """Two partial results as one."""
        return self.reducer.combine(b, x, y, self.kind)


ElementAt: TypeAlias = Callable[[tuple[Index, ...], Index, int], SSAValue]
"""Elements of a row: the indices of the loops inside, the offset among the neighbours, how many lanes."""

ACCUMULATORS = 4
"""Vectors of partial results: so many additions can be under way at once."""


def reduce_elements(
    ctx: KernelContext,
    outer: Sequence[int],
    length: int,
    terms: Sequence[Term],
    element_at: ElementAt,
    accumulators: int = ACCUMULATORS,
) -> list[SSAValue]:
    """
    Combines `length` elements in each round of the loops over `outer` into a scalar for each of
    `terms`. `element_at(outer indices, offset, lanes)` gives the elements.

    The order depends on the lengths and the width of a vector only:

        lanes of accumulator 0, 1, ...: elements 0, 1, ... of every group of vectors
        the accumulators in pairs, then the halves of a vector, then the elements behind the
        last whole vector
    """
    b = ctx.b
    lanes = min(ctx.target.lanes(max(term.kind.bytes for term in terms)), max(1, length))
    vectors, rest = divmod(length, lanes)
    count = max(1, min(accumulators, vectors))
    looped = vectors - vectors % count

    def started(width: int) -> list[SSAValue]:
        return [
            b.constant(term.kind.compute, term.reducer.neutral(term.kind), width) for term in terms
        ]

    def combined(old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[SSAValue]:
        pairs = zip(terms, old, new, strict=True)
        return [term.combine(b, x, y) for term, x, y in pairs]

    def part(values: Sequence[SSAValue], number: int) -> Sequence[SSAValue]:
        return values[number * len(terms) : (number + 1) * len(terms)]

    def row(indices: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def vector(values: Sequence[SSAValue], number: int, i: Index, width: int) -> list[SSAValue]:
            value = element_at(indices, i, width)
            return combined(part(values, number), [value] * len(terms))

        def step(i: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
            places = [(n, b.add(i, n * lanes)) for n in range(count)]
            return [value for n, place in places for value in vector(inner, n, place, lanes)]

        whole = count * len(terms)
        result = list(b.fold(0, looped * lanes, count * lanes, values[:whole], step))
        for number in range(vectors - looped):
            changed = vector(result, number, (looped + number) * lanes, lanes)
            result[number * len(terms) : (number + 1) * len(terms)] = changed
        if rest:
            result += vector(values, count, vectors * lanes, rest)
        return result

    initial = started(lanes) * count + (started(rest) if rest else [])
    values = b.fold_nest(outer, initial, row)
    sums: list[Sequence[SSAValue]] = [part(values, number) for number in range(count)]
    while len(sums) > 1:
        pairs = zip(sums[::2], sums[1::2], strict=False)
        merged = [combined(x, y) for x, y in pairs]
        sums = [*merged, *sums[2 * len(merged) :]]

    def across(values: Sequence[SSAValue]) -> list[SSAValue]:
        pairs = zip(terms, values, strict=True)
        return [across_lanes(b, value, term.reducer.combine, term.kind) for term, value in pairs]

    total = across(sums[0])
    return combined(total, across(part(values, count))) if rest else total


ENOUGH_PARTS = 16
"""Fewer long rows than this are cut into so many parts together, which the threads share."""
PART_ELEMENTS = 16384
"""The least that a part has: work that is worth a barrier."""


PartBody: TypeAlias = Callable[[tuple[Index, ...], Index, Index, tuple[int, ...], int], None]
"""Code for a part: of which row, its number, where it begins along the first loop of the row, and
its own loops and length."""


class Rows:
    """
    Rows of elements: one for each round of the loops over `extents`, whose elements the loops over
    `outer` and then `length` neighbours run through. Few long rows are cut into parts along the
    first of these loops. That depends on the shape alone, so that the number of threads does not
    change the order of additions.
    """

    def __init__(
        self, ctx: KernelContext, extents: Sequence[int], outer: Sequence[int], length: int
    ):
        self.ctx, self.b = ctx, ctx.b
        self.extents, self.outer, self.length = tuple(extents), tuple(outer), length
        self.first = self.outer[0] if self.outer else length
        rows, size = prod(self.extents), prod(self.outer) * length
        wanted = min(blocks(ENOUGH_PARTS, max(rows, 1)), size // PART_ELEMENTS, self.first)
        # Whole vectors in each of the registers that are added to.
        step = 1 if self.outer else ACCUMULATORS * ctx.target.vector_bytes
        self.part = blocks(blocks(self.first, max(wanted, 1)), step) * step
        self.parts = blocks(self.first, self.part) if self.first else 1

    @property
    def is_cut(self) -> bool:
        """Whether rows have more than one part."""
        return self.parts > 1

    def each_part(self, body: PartBody) -> None:
        """Loops over all parts of all rows, which the threads share."""
        b, last = self.b, self.parts - 1
        for start, count, size in ((0, last, self.part), (last, 1, self.first - last * self.part)):

            def one(indices: tuple[Index, ...], start: int = start, size: int = size) -> None:
                *row, i = indices
                number = b.add(i, start)
                begin = b.mul(number, self.part)
                loops = (size, *self.outer[1:]) if self.outer else ()
                body(tuple(row), number, begin, loops, self.length if self.outer else size)

            self.ctx.tasks((*self.extents, count), one)

    def place(
        self, begin: Index, indices: tuple[Index, ...], offset: Index
    ) -> tuple[tuple[Index, ...], Index]:
        """The indices of the loops over `outer`, and the offset, in the whole row."""
        if self.outer:
            return (self.b.add(indices[0], begin), *indices[1:]), offset
        return (), self.b.add(offset, begin)

    def reduce_parts(
        self, terms: Sequence[Term], elements_of: Callable[[tuple[Index, ...]], ElementAt]
    ) -> "PartialResults":
        """Reduces every part, and waits for all. `elements_of` starts the code of a row's part."""
        ctx, b = self.ctx, self.b
        shape = (prod(self.extents), self.parts)
        buffers = [ctx.scratch(term.kind, row_major(shape)) for term in terms]

        def one(
            row: tuple[Index, ...],
            number: Index,
            begin: Index,
            loops: tuple[int, ...],
            length: int,
        ) -> None:
            element_at = elements_of(row)

            def element(indices: tuple[Index, ...], offset: Index, lanes: int) -> SSAValue:
                return element_at(*self.place(begin, indices, offset), lanes)

            where = b.flatten((b.flatten(row, self.extents), number), shape)
            values = reduce_elements(ctx, loops, length, terms, element)
            for buffer, value in zip(buffers, values, strict=True):
                b.store(buffer.pointer, where, buffer.element, value)

        self.each_part(one)
        ctx.barrier()
        return PartialResults(self, tuple(terms), tuple(buffers))


@dataclass(frozen=True)
class PartialResults:
    """What the parts of rows were reduced to."""

    rows: Rows
    terms: tuple[Term, ...]
    buffers: tuple[Buffer, ...]

    def of(self, row: tuple[Index, ...]) -> list[SSAValue]:
        """The results for a row: those of its parts, combined from the first on."""
        b = self.rows.b
        start = b.mul(b.flatten(row, self.rows.extents), self.rows.parts)

        def parts(number: Index) -> list[SSAValue]:
            where = b.add(start, number)
            return [b.load(each.pointer, where, each.element, 1) for each in self.buffers]

        def step(number: Index, values: Sequence[SSAValue]) -> list[SSAValue]:
            combined = zip(self.terms, values, parts(number), strict=True)
            return [term.combine(b, old, new) for term, old, new in combined]

        return list(b.fold(1, self.rows.parts, 1, parts(0), step))


def fold_columns(
    ctx: KernelContext,
    extents: Sequence[int],
    width: int,
    reducer: Reducer,
    kind: Element,
    element_at: Callable[[tuple[Index, ...], Index, int], SSAValue],
) -> list[tuple[int, SSAValue]]:
    """
    Combines the elements of each of `width` neighbouring columns over nested loops: vectors,
    each with the number of its first column. `element_at(indices, column, lanes)` gives elements.
    """
    b, lanes = ctx.b, ctx.target.lanes(kind.bytes)
    columns = [(start, min(lanes, width - start)) for start in range(0, width, lanes)]
    initial = [b.constant(kind.compute, reducer.neutral(kind), count) for _, count in columns]

    def step(indices: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        places = zip(columns, values, strict=True)
        return [
            reducer.combine(b, value, element_at(indices, start, count), kind)
            for (start, count), value in places
        ]

    totals = b.fold_nest(extents, initial, step)
    return [(start, total) for (start, _), total in zip(columns, totals, strict=True)]


def reduce_axes(
    ctx: KernelContext,
    op: Operation,
    axes: Sequence[int],
    reducer: Reducer,
    sink: Sink,
    kind: Element,
    divisor: int | None = None,
    out_axes: Sequence[int] | None = None,
    term: Callable[[SSAValue, Position], SSAValue] | None = None,
) -> None:
    """
    A reduction, computed in `kind`, whose result has the kept axes in order, possibly with axes of
    length 1 between; or those axes of the operand that `out_axes` names, in order, all kept ones
    among them. `term` is what is reduced for an element at a position.
    """
    b, data = ctx.b, op.operands[0]
    shape, out_shape = shape_of(data), shape_of(op.results[0])
    source = element_of(data)
    kept = [axis for axis in range(len(shape)) if axis not in axes]

    def load(position: Position) -> SSAValue:
        value = convert(b, ctx.ev.get((data, 0), position), source, kind)
        return value if term is None else term(value, position)

    if out_axes is None:
        out_axes = range(len(shape)) if len(out_shape) == len(shape) else kept

    def finish(coords: Sequence[Index], value: SSAValue) -> None:
        lanes = lanes_of(value)
        if divisor is not None:
            # Narrow integers have no room for the divisor.
            exact = sum_kind(kind)
            value = convert(b, value, kind, exact)
            value = average(b, value, b.constant(exact.compute, divisor, lanes), exact)
            value = convert(b, value, exact, kind)
        own = dict(zip(kept, coords, strict=True))
        full: list[Index] = [own.get(axis, 0) for axis in out_axes]
        sink(at(out_shape, full, lanes), convert(b, value, kind, source))

    if kept and kept[-1] == len(shape) - 1:
        _reduce_columns(ctx, shape, kept, axes, reducer, kind, load, finish)
        return
    # Trailing reduced axes of a tensor in memory are one long row.
    tail = 1 if axes else 0
    while (data, 0) in ctx.ev.buffers and tail < len(axes) and len(shape) - 1 - tail in axes:
        tail += 1
    outer_axes = list(axes[: len(axes) - tail])
    length = prod(shape[len(shape) - tail :])

    def element_at(
        coords: tuple[Index, ...], indices: tuple[Index, ...], offset: Index, lanes: int
    ) -> SSAValue:
        own = dict(zip([*kept, *outer_axes], [*coords, *indices], strict=True))
        before = tuple(own[axis] for axis in range(len(shape) - tail))
        return load(Position(shape, before, offset if tail else 0, lanes))

    extents, outer = ([shape[axis] for axis in each] for each in (kept, outer_axes))
    rows, terms = Rows(ctx, extents, outer, length), [Term(reducer, kind)]
    if rows.is_cut:
        totals = rows.reduce_parts(terms, lambda coords: partial(element_at, coords))
        ctx.tasks(extents, lambda coords: finish(coords, *totals.of(coords)))
        return

    def one(coords: tuple[Index, ...]) -> None:
        finish(coords, *reduce_elements(ctx, outer, length, terms, partial(element_at, coords)))

    ctx.tasks(extents, one)


def _reduce_columns(
    ctx: KernelContext,
    shape: Sequence[int],
    kept: Sequence[int],
    axes: Sequence[int],
    reducer: Reducer,
    kind: Element,
    load: Callable[[Position], SSAValue],
    finish: Callable[[Sequence[Index], SSAValue], None],
) -> None:
    """The last axis is kept: lanes are neighbouring results."""
    b = ctx.b

    def block(outer: tuple[Index, ...], start: Index, width: int) -> None:
        def element_at(indices: tuple[Index, ...], column: Index, lanes: int) -> SSAValue:
            coords = [*outer, b.add(start, column)]
            own = dict(zip([*kept, *axes], [*coords, *indices], strict=True))
            return load(at(shape, [own[axis] for axis in range(len(shape))], lanes))

        extents = [shape[axis] for axis in axes]
        for column, value in fold_columns(ctx, extents, width, reducer, kind, element_at):
            finish((*outer, b.add(start, column)), value)

    outer = [shape[axis] for axis in kept[:-1]]
    width = ACCUMULATORS * ctx.target.lanes(kind.bytes)
    ctx.vector_tasks(outer, shape[-1], width, block)


def _emit(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, reduction.ReductionOp)
        axes, kind = op.reduced_axes, wide(element_of(op.data))
        count = prod(shape_of(op.data)[axis] for axis in axes)
        if not kind.is_float:
            count = max(1, count)  # For no elements: 0, where floating point has NaN.
        reduce_axes(ctx, op, axes, reducer, sink, kind, count if mean else None)

    return (Implementation("loops", emit),)


def _emit_global(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, GlobalPool2DOp)
        source, shape = element_of(op.data), shape_of(op.data)
        axes = sorted(op.data_layout.index(name) for name in "HW")
        if mean:
            count = max(1, prod(shape[axis] for axis in axes))
            reduce_axes(ctx, op, axes, reducer, sink, sum_kind(source), count)
        else:
            reduce_axes(ctx, op, axes, reducer, sink, wide(source))

    return (Implementation("loops", emit),)


def _emit_arg(*, largest: bool) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, reduction.ArgReductionOp)
        _reduce_to_index(ctx, op, sink, largest=largest)

    return (Implementation("loops", emit),)


def _reduce_to_index(
    ctx: KernelContext, op: reduction.ArgReductionOp, sink: Sink, *, largest: bool
) -> None:
    b, axes = ctx.b, op.reduced_axes
    shape, out_shape = shape_of(op.data), shape_of(op.result)
    source, last_wins = element_of(op.data), bool(op.select_last_index.value.data)
    kind = wide(source)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    extents = [shape[axis] for axis in axes]

    def better(new: SSAValue, old: SSAValue) -> SSAValue:
        """Whether a later element replaces the best one so far."""
        lesser, greater = (old, new) if largest else (new, old)
        if not kind.is_float:
            sign = "s" if kind.signed else "u"
            return b.compare_integers(lesser, sign + ("le" if last_wins else "lt"), greater)
        wins = b.compare_floats(lesser, "ole" if last_wins else "olt", greater)
        new_is_nan, old_is_nan = b.is_nan(new), b.is_nan(old)
        if last_wins:
            return b.either(new_is_nan, wins)
        return b.either(b.both(new_is_nan, b.negate(old_is_nan)), wins)

    def one(coords: tuple[Index, ...]) -> None:
        def element_at(indices: Sequence[Index]) -> SSAValue:
            own = dict(zip([*kept, *axes], [*coords, *indices], strict=True))
            value = ctx.ev.get((op.data, 0), at(shape, [own[d] for d in range(len(shape))]))
            return convert(b, value, source, kind)

        def step(indices: tuple[Index, ...], best: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = element_at(indices)
            # The first element is compared with itself, which changes nothing.
            wins = better(value, best[0])
            number = b.index(b.flatten(indices, extents))
            return [b.select(wins, value, best[0]), b.select(wins, number, best[1])]

        first = element_at([0] * len(axes))
        best = b.fold_nest(extents, [first, b.index(0)], step)
        index = convert(b, best[1], INDEX, element(i32))
        if len(out_shape) == len(shape):
            own = dict(zip(kept, coords, strict=True))
            coords = tuple(own.get(axis, 0) for axis in range(len(shape)))
        sink(at(out_shape, coords), index)

    ctx.tasks([shape[axis] for axis in kept], one)


def _variance(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, reduction.VarianceOp)
    b, source = ctx.b, element_of(op.data)
    kind = wide(source)

    def square(value: SSAValue, position: Position) -> SSAValue:
        mean = convert(b, ctx.ev.run(ctx.ev.broadcast(op.mean, position)), source, kind)
        difference = subtract(b, value, mean, kind)
        return multiply(b, difference, difference, kind)

    count = prod(shape_of(op.data)[axis] for axis in op.reduced_axes)
    divisor = count - 1 if op.unbiased.value.data else count
    reduce_axes(ctx, op, op.reduced_axes, SUM, sink, kind, divisor, term=square)


STRATEGIES: dict[type[Operation], Strategy] = {
    reduction.SumOp: _emit(SUM),
    reduction.ProdOp: _emit(PRODUCT),
    reduction.MaxOp: _emit(MAXIMUM),
    reduction.MinOp: _emit(MINIMUM),
    reduction.MeanOp: _emit(SUM, mean=True),
    reduction.VarianceOp: (Implementation("loops", _variance),),
    reduction.AllOp: _emit(ALL),
    reduction.AnyOp: _emit(ANY),
    reduction.ArgmaxOp: _emit_arg(largest=True),
    reduction.ArgminOp: _emit_arg(largest=False),
    GlobalAvgPool2DOp: _emit_global(SUM, mean=True),
    GlobalMaxPool2DOp: _emit_global(MAXIMUM),
}
