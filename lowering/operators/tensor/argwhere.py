"""
Kernel code that finds the elements that are not 0.

    part 0 | part 1 | part 2 | …       as many parts for any number of threads
    count    count    count            each thread counts in some of them
    ───────────── barrier ─────────────
    write    write    write            each part's rows begin where the counts of those before it end

One thread knows where a row goes as it finds it, and reads the elements once. Vectors in which all elements are 0, of which there are
many where few are found, take a comparison.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32
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
from xrelay.lowering.math.convert import BOOL, convert
from xrelay.lowering.operators.tensor.selection import any_lane, count_lanes

COUNT = element(i32)

MOST_LANES = 32
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
        self.kind = element_of(op.condition)
        self.lanes = min(ctx.target.lanes(self.kind.bytes), MOST_LANES)

    def found(self, place: Index, lanes: int = 1) -> SSAValue:
        """Whether elements from a row-major offset on are not 0."""
        value = self.ctx.ev.get((self.condition, 0), linear(self.shape, place, lanes))
        return convert(self.b, value, self.kind, BOOL)

    def count(self, start: Index, stop: Index) -> SSAValue:
        """How many elements of a part are not 0."""
        return self._each(start, stop, self.b.index(0), lambda place, lanes, found, row: None)

    def write(
        self, start: Index, stop: Index, first: SSAValue, *, is_all: bool = False
    ) -> SSAValue:
        """Writes the rows of a part, or of all, from row `first` on; the row after them."""
        b = self.b

        def write(place: Index, lanes: int, found: SSAValue, row: SSAValue) -> None:
            if lanes == 1 and is_all:
                # What is not found is written over by what is found next: no processor guesses well which it is.
                self._write_row(row, b.unflatten(place, self.shape))
                return
            if lanes == 1:
                with b.when(found):
                    self._write_row(row, b.unflatten(place, self.shape))
                return
            with b.when(any_lane(b, found)):
                self._each(place, b.add(place, lanes), row, write, vectors=False)

        return self._each(start, stop, first, write)

    def _each(
        self,
        start: Index,
        stop: Index,
        first: SSAValue,
        use: Callable[[Index, int, SSAValue, SSAValue], None],
        *,
        vectors: bool = True,
    ) -> SSAValue:
        """
        Code for vectors of a part, and for the elements after the last whole one. `use(place, lanes, found, row)` gets which elements
        are not 0, and `first` more than how many were not before; the result is that after the last.
        """
        b = self.b

        def step(lanes: int) -> Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]]:
            def step(place: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
                (row,) = state
                found = self.found(place, lanes)
                use(place, lanes, found, row)
                number = b.insert(llvm.ZExtOp(count_lanes(b, found), INDEX.compute)).res
                return [b.index(b.add(row, number))]

            return step

        whole = start
        row = first
        if vectors and self.lanes > 1:
            count = b.div(b.sub(stop, start), self.lanes)
            whole = b.add(start, b.mul(count, self.lanes))
            (row,) = b.fold(start, whole, self.lanes, [row], step(self.lanes))
        return b.fold(whole, stop, 1, [row], step(1))[0]

    def set_total(self, total: SSAValue) -> None:
        """Writes how many elements are not 0."""
        self.b.store(self.total.pointer, 0, COUNT, convert(self.b, total, INDEX, COUNT))

    def _write_row(self, row: Index, coords: Sequence[Index]) -> None:
        b, rank = self.b, len(self.shape)
        for axis, coordinate in enumerate(coords):
            number = convert(b, b.index(coordinate), INDEX, COUNT)
            b.store(self.rows.pointer, b.add(b.mul(row, rank), axis), COUNT, number)


def _argwhere(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sort.BoundedArgwhereOp)
    finder = _Finder(ctx, op)
    shared = is_open(finder.size) or finder.size >= FEWEST
    if ctx.team.size > 1 and shared:
        _in_parts(ctx, finder)
        return

    def everything(_: Coords) -> None:
        finder.set_total(finder.write(0, finder.size, ctx.b.index(0), is_all=True))

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
        with b.when(b.compare_index(part, "eq", 0)):
            finder.set_total(total)

    ctx.tasks((PARTS,), count)
    ctx.barrier()
    ctx.tasks((PARTS,), write)


STRATEGY: Strategy = (Implementation("loops", _argwhere),)
