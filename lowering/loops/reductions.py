"""Loops that combine elements: all of a row, of some axes, or of columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.llvm import InsertElementOp
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index, lanes_of
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.math.arithmetic import add, highest, lowest, maximum, minimum, multiply

Combine = Callable[[KernelBuilder, SSAValue, SSAValue, Element], SSAValue]


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


def each_across_lanes(
    b: KernelBuilder, values: Sequence[SSAValue], combine: Combine, kind: Element
) -> SSAValue:
    """
    A vector of what `across_lanes` makes of each of some vectors. The same trees, as many branches of them at once as a vector has
    lanes:

        a0 a1 a2 a3   b0 b1 b2 b3   becomes   a0+a2 a1+a3 b0+b2 b1+b3
    """
    lanes = lanes_of(values[0])
    if not 1 < len(values) <= lanes or lanes & (lanes - 1):
        return b.from_lanes([across_lanes(b, value, combine, kind) for value in values])
    vectors, width = list(values), lanes
    while width > 1:
        if len(vectors) % 2:
            vectors.append(vectors[-1])  # Behind those that count.
        width //= 2
        low = [start + i for start in range(0, 2 * lanes, 2 * width) for i in range(width)]
        high = [i + width for i in low]
        vectors = [
            combine(b, b.merge(first, second, low), b.merge(first, second, high), kind)
            for first, second in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return b.first_lanes(vectors[0], len(values))


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
"""Vectors of partial results, which is how many additions can be under way at once."""


@dataclass(frozen=True)
class _Registers:
    """
    Partial results of several terms in registers: for each of `count` accumulators, then for the elements behind
    the last whole vector, a value for each term.
    """

    b: KernelBuilder
    terms: Sequence[Term]
    count: int

    def started(self, lanes: int) -> list[SSAValue]:
        """Those of one accumulator before the first element."""
        return [
            self.b.constant(term.kind.compute, term.reducer.neutral(term.kind), lanes)
            for term in self.terms
        ]

    def part(self, values: Sequence[SSAValue], number: int) -> Sequence[SSAValue]:
        """Those of an accumulator."""
        return values[number * len(self.terms) : (number + 1) * len(self.terms)]

    def combined(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[SSAValue]:
        """Two accumulators as one."""
        pairs = zip(self.terms, old, new, strict=True)
        return [term.combine(self.b, x, y) for term, x, y in pairs]

    def across(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """An accumulator as scalars."""
        pairs = zip(self.terms, values, strict=True)
        return [
            across_lanes(self.b, value, term.reducer.combine, term.kind) for term, value in pairs
        ]

    def merged(self, lhs: Sequence[SSAValue], rhs: Sequence[SSAValue]) -> list[SSAValue]:
        """All accumulators combined with others."""
        numbers = range(len(lhs) // len(self.terms))
        return [
            value
            for number in numbers
            for value in self.combined(self.part(lhs, number), self.part(rhs, number))
        ]

    def joined(self, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """All accumulators as one, in pairs."""
        sums: list[Sequence[SSAValue]] = [self.part(values, number) for number in range(self.count)]
        while len(sums) > 1:
            pairs = zip(sums[::2], sums[1::2], strict=False)
            merged = [self.combined(x, y) for x, y in pairs]
            sums = [*merged, *sums[2 * len(merged) :]]
        return sums[0]

    def total(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """All accumulators as scalars: in pairs, then the lanes, then what is behind the last vector."""
        total, rest = self.across(self.joined(values)), self.part(values, self.count)
        return self.combined(total, self.across(rest)) if rest else total

    def vectors(self, values: Sequence[SSAValue], lanes: int) -> list[SSAValue]:
        """All accumulators as vectors of so many lanes, with what is behind the last vector in the first ones."""
        total, rest = self.padded(self.joined(values), lanes), self.part(values, self.count)
        return self.combined(total, self.padded(rest, lanes)) if rest else total

    def padded(self, values: Sequence[SSAValue], lanes: int) -> list[SSAValue]:
        """Vectors of more lanes, which change nothing."""
        result: list[SSAValue] = []
        for value, neutral in zip(values, self.started(lanes), strict=True):
            own = lanes_of(value)
            if own == 1 < lanes:
                value = self.b.insert(InsertElementOp(neutral, value, self.b.index(0))).res
            elif own < lanes:
                wider = self.b.shuffle(value, [min(i, own - 1) for i in range(lanes)])
                mask = [i if i < own else lanes + i for i in range(lanes)]
                value = self.b.merge(wider, neutral, mask)
            result.append(value)
        return result


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

    Where the length is known when the program runs, vectors behind the last whole group go to accumulator 0, and each of
    the loops over `outer` combines what the one inside gives.
    """
    return _Registers.total(*_in_registers(ctx, outer, length, terms, element_at, accumulators))


def reduce_to_vectors(
    ctx: KernelContext, length: int, terms: Sequence[Term], element_at: ElementAt
) -> list[SSAValue]:
    """
    Combines `length` elements into a vector for each of `terms`, of which what is left to do is to combine the lanes.
    The vectors are as long as those of the target, and elements behind the last whole vector in their first lanes.
    """
    registers, values = _in_registers(ctx, [], length, terms, element_at, ACCUMULATORS)
    return registers.vectors(values, ctx.target.lanes(max(term.kind.bytes for term in terms)))


def _in_registers(
    ctx: KernelContext,
    outer: Sequence[int],
    length: int,
    terms: Sequence[Term],
    element_at: ElementAt,
    accumulators: int,
) -> tuple[_Registers, Sequence[SSAValue]]:
    """Partial results in the registers that hold them."""
    b = ctx.b
    lanes = ctx.target.lanes(max(term.kind.bytes for term in terms))
    varies = is_open(length)
    lanes = lanes if varies else min(lanes, max(1, length))
    vectors, rest = divmod(length, lanes)
    count = accumulators if varies else max(1, min(accumulators, vectors))
    # Behind the last whole vector come single elements where it is not known how many there are.
    rest = 1 if varies else rest
    looped = vectors - vectors % count
    registers = _Registers(b, terms, count)

    def row(indices: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def vector(values: Sequence[SSAValue], number: int, i: Index, width: int) -> list[SSAValue]:
            value = element_at(indices, i, width)
            return registers.combined(registers.part(values, number), [value] * len(terms))

        def step(i: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
            places = [(n, b.add(i, n * lanes)) for n in range(count)]
            return [value for n, place in places for value in vector(inner, n, place, lanes)]

        whole = count * len(terms)
        result = list(b.fold(0, looped * lanes, count * lanes, values[:whole], step))
        if varies:
            end = vectors * lanes
            first = b.fold(
                looped * lanes,
                end,
                lanes,
                registers.part(result, 0),
                lambda i, old: vector(old, 0, i, lanes),
            )
            last = b.fold(end, length, 1, values[whole:], lambda i, old: vector(old, 0, i, 1))
            return [*first, *result[len(terms) :], *last]
        for number in range(vectors - looped):
            changed = vector(result, number, (looped + number) * lanes, lanes)
            result[number * len(terms) : (number + 1) * len(terms)] = changed
        if rest:
            result += vector(values, count, vectors * lanes, rest)
        return result

    initial = registers.started(lanes) * count + (registers.started(rest) if rest else [])
    if varies or any(map(is_open, outer)):
        return registers, _in_levels(b, registers, outer, initial, row)
    return registers, b.fold_nest(outer, initial, row)


def _in_levels(
    b: KernelBuilder,
    registers: _Registers,
    extents: Sequence[int],
    initial: Sequence[SSAValue],
    row: Callable[[tuple[Index, ...], Sequence[SSAValue]], Sequence[SSAValue]],
    indices: tuple[Index, ...] = (),
) -> Sequence[SSAValue]:
    """
    Nested loops each of which combines what the one inside gives, started anew: errors grow with the
    lengths of the loops, not with their product, which nothing bounds.
    """
    if len(indices) == len(extents):
        return row(indices, initial)

    def step(i: Index, old: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return registers.merged(old, _in_levels(b, registers, extents, initial, row, (*indices, i)))

    return b.fold(0, extents[len(indices)], 1, initial, step)


ENOUGH_PARTS = 16
"""Fewer long rows than this are cut into so many parts together, which the threads share."""


PART_ELEMENTS = 16384
"""The least that a part has: work that is worth a barrier, where it is little for each element."""


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
        self,
        ctx: KernelContext,
        extents: Sequence[int],
        outer: Sequence[int],
        length: int,
        least: int = PART_ELEMENTS,
    ):
        """A part has at least so many elements."""
        self.ctx, self.b = ctx, ctx.b
        self.extents, self.outer, self.length = tuple(extents), tuple(outer), length
        self.first = self.outer[0] if self.outer else length
        rows, size = prod(self.extents), prod(self.outer) * length
        if is_open(rows * size):
            self.part, self.parts = self.first, 1
            return
        wanted = min(blocks(ENOUGH_PARTS, max(rows, 1)), size // least, self.first)
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
