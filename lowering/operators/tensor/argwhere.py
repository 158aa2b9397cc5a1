"""
Kernel code that finds the elements that are not 0.

    part 0 | part 1 | part 2 | …       as many parts for any number of threads
    count    count    count            each thread counts in some of them
    ───────────── barrier ─────────────
    write    write    write            each part's rows begin where the counts of those before it end

One thread knows where a row goes as it finds it, and reads the elements once.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import element_count
from xrelay.dialects.tensor import sort
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Coords, linear
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.convert import convert

COUNT = element(i32)
BOOL = element(i1)

PARTS = 64
"""Of the elements, which threads share."""
FEWEST = 4096
"""So many elements are worth to be shared."""


class _Finder:
    """The loops over the elements of a condition."""

    def __init__(self, ctx: KernelContext, op: sort.BoundedArgwhereOp):
        self.ctx, self.b = ctx, ctx.b
        self.condition = op.condition
        self.shape = shape_of(op.condition)
        self.size = element_count(self.shape)
        self.rows, self.total = (ctx.ev.buffers[op.result, field] for field in range(2))

    def found(self, place: Index) -> SSAValue:
        """Whether the element at a row-major offset is not 0."""
        value = self.ctx.ev.get((self.condition, 0), linear(self.shape, place))
        return convert(self.b, value, element_of(self.condition), BOOL)

    def count(self, start: Index, stop: Index) -> SSAValue:
        """How many elements of a part are not 0."""

        def step(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self._counted(state[0], self.found(i))]

        return self.b.fold(start, stop, 1, [self.b.index(0)], step)[0]

    def write(self, start: Index, stop: Index, first: SSAValue) -> SSAValue:
        """Writes the rows of a part from row `first` on; the row after them."""
        b = self.b

        def step(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (row,) = state
            found = self.found(i)
            with b.when(found):
                self._write_row(row, b.unflatten(i, self.shape))
            return [self._counted(row, found)]

        return b.fold(start, stop, 1, [first], step)[0]

    def clear(self, start: Index, stop: Index) -> None:
        """Writes rows of 0."""
        with self.b.loop(start, stop) as row:
            self._write_row(row, [0] * len(self.shape))

    def set_total(self, total: SSAValue) -> None:
        """Writes how many elements are not 0."""
        self.b.store(self.total.pointer, 0, COUNT, convert(self.b, total, INDEX, COUNT))

    def _write_row(self, row: Index, coords: Sequence[Index]) -> None:
        b, rank = self.b, len(self.shape)
        for axis, coordinate in enumerate(coords):
            number = convert(b, b.index(coordinate), INDEX, COUNT)
            b.store(self.rows.pointer, b.add(b.mul(row, rank), axis), COUNT, number)

    def _counted(self, count: SSAValue, found: SSAValue) -> SSAValue:
        return self.b.index(self.b.add(count, convert(self.b, found, BOOL, INDEX)))


def _argwhere(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.BoundedArgwhereOp)
    finder = _Finder(ctx, op)
    shared = is_open(finder.size) or finder.size >= FEWEST
    if ctx.team.size > 1 and shared:
        _in_parts(ctx, finder)
        return

    def everything(_: Coords) -> None:
        total = finder.write(0, finder.size, ctx.b.index(0))
        finder.clear(total, finder.size)
        finder.set_total(total)

    ctx.tasks((1,), everything)


def _in_parts(ctx: KernelContext, finder: _Finder) -> None:
    b, size = ctx.b, finder.size
    counts = ctx.scratch(INDEX, row_major((PARTS,)))
    step = -(-size // PARTS)

    def bounds(part: Index, length: Index) -> tuple[Index, Index]:
        """The beginning and the end of a part of so many."""
        start = b.smaller(b.mul(part, length), size)
        return start, b.smaller(b.add(start, length), size)

    def count(coords: Coords) -> None:
        (part,) = coords
        b.store(counts.pointer, part, INDEX, finder.count(*bounds(part, step)))

    def write(coords: Coords) -> None:
        (part,) = coords

        def add(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            before, total = state
            number = b.load(counts.pointer, i, INDEX, 1)
            counted = b.select(b.compare_index(i, "slt", part), number, b.index(0))
            return [b.index(b.add(before, counted)), b.index(b.add(total, number))]

        before, total = b.fold(0, PARTS, 1, [b.index(0), b.index(0)], add)
        start, stop = bounds(part, step)
        finder.write(start, stop, before)
        finder.clear(b.larger(start, total), b.larger(stop, total))
        with b.when(b.compare_index(part, "eq", 0)):
            finder.set_total(total)

    ctx.tasks((PARTS,), count)
    ctx.barrier()
    ctx.tasks((PARTS,), write)


STRATEGY: Strategy = (Implementation("loops", _argwhere),)
