"""
Kernel code of transposes that put another axis last.

    rows of data, each a vector  ──►  transposed in registers  ──►  rows of the result, each a vector

Axes that stay next to each other are one: the images of [0, 2, 3, 1] are the columns of a matrix
[C, H * W]. What is left of the shape then are two axes, the one along which vectors are read and
the one along which they are written, and loops over all others. Tiles at the end of an axis
overlap with the ones before; where a length that is not known turns out to be less than that of a tile,
elements are moved one by one.

Where one of the two is only a few elements long and next to the other, whole vectors are interleaved:

    [3, H * W] to [H * W, 3]:   rrrr gggg bbbb  ──►  rgbr gbrg brgb
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from math import log2, prod

from xdsl.dialects.builtin import i16
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.traits import ReshapeOnly
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index, with_lanes
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.micro_kernel import LINE_BYTES
from xrelay.lowering.loops.transposes import transposed
from xrelay.lowering.operators.tensor.layout import all_fit, each_element, otherwise_each_element

SMALLEST_TILE = 4
"""Smaller ones pay only where a vector has no more elements."""
FEW = 4
"""So many vectors at most are interleaved."""
LARGEST_TILE = 16
"""More vectors than that are more than there are registers."""
NARROW_BYTES = 16
"""The width of vectors of elements of less than four bytes, which wider registers only shuffle in
two steps."""

ELEMENT_CYCLES = 2.0
"""To load and store one element, whose neighbours come from other lines."""
VECTOR_CYCLES = 1.5
"""To load and store a vector, and to merge it with another in one step of a transposition."""


@dataclass(frozen=True)
class _Axes:
    """The axes of a transpose, seen from its vectors."""

    shape: tuple[int, ...]
    """Of the operand."""
    permutation: tuple[int, ...]
    read: tuple[int, ...]
    """Along these axes of the operand, the last ones, vectors are read."""
    written: tuple[int, ...]
    """Along these axes of the operand, the last ones of the result, they are written."""

    @staticmethod
    def find(op: Operation) -> "_Axes | None":
        """The axes; None when neighbours in a row of the operand stay neighbours."""
        assert isinstance(op, TransposeOp)
        shape = shape_of(op.data)
        permutation = tuple(op.permutation)
        longer = [axis for axis, length in enumerate(shape) if not certainly(length, 1)]
        runs: list[list[int]] = []
        for axis in (axis for axis in permutation if axis in longer):
            if runs and longer.index(axis) == longer.index(runs[-1][-1]) + 1:
                runs[-1].append(axis)
            else:
                runs.append([axis])
        if len(runs) < 2 or longer[-1] in runs[-1]:
            return None
        read = next(run for run in runs if longer[-1] in run)
        return _Axes(shape, permutation, tuple(read), tuple(runs[-1]))

    @staticmethod
    def of(op: Operation) -> "_Axes":
        """Those of a transpose that is not refused."""
        axes = _Axes.find(op)
        assert axes is not None
        return axes

    def lengths(self, axes: Sequence[int]) -> tuple[int, ...]:
        """The lengths of axes of the operand."""
        return tuple(self.shape[axis] for axis in axes)

    @property
    def others(self) -> tuple[int, ...]:
        """The axes of the operand that are neither, in the order of the result."""
        vectors = (*self.read, *self.written)
        return tuple(axis for axis in self.permutation if axis not in vectors)

    def interleaved(self, *, back: bool) -> int:
        """
        How many elements the axes that are written have, if they are few and come after those
        that are read in the result; with `back`, those that are read, if they come after those
        that are written in the operand. 0 for other transposes.
        """
        few, many = (self.read, self.written) if back else (self.written, self.read)
        order = range(len(self.shape)) if back else self.permutation
        longer = [axis for axis in order if not certainly(self.shape[axis], 1)]
        beside = tuple(longer[-len(few) - len(many) :]) == (*many, *few)
        count = prod(self.lengths(few))
        return count if beside and not is_open(count) and count <= FEW else 0

    def stripe(self, target: Target, kind: Element, *, back: bool) -> int:
        """The width of vectors that are interleaved; 0 where there are too few elements."""
        most = target.lanes(kind.bytes)
        return _halved(most, likely(prod(self.lengths(self.written if back else self.read))))

    def tile(self, target: Target, kind: Element) -> int:
        """The rows and columns of a tile, a power of two; 0 where there are too few."""
        width = target.vector_bytes if kind.bytes >= 4 else min(target.vector_bytes, NARROW_BYTES)
        lengths = [likely(prod(self.lengths(run))) for run in (self.read, self.written)]
        return _halved(min(width // kind.bytes, LARGEST_TILE), min(lengths))


def _halved(most: int, length: int) -> int:
    """`most`, halved until there are as many elements; 0 where that is too small to pay."""
    size = most
    while size > length:
        size //= 2
    return size if size >= min(most, SMALLEST_TILE) > 1 else 0


def moves_last_axis(op: Operation) -> bool:
    """Whether an operator is a transpose that puts another axis last."""
    return isinstance(op, TransposeOp) and _Axes.find(op) is not None


def _refusal(site: Site) -> str | None:
    axes, kind = _Axes.find(site.op), element_of(site.op.operands[0])
    if axes is None:
        return "rows stay rows"
    if kind.is_bool:
        return "elements are bools"
    return unless(axes.tile(site.target, kind) > 0, "axes shorter than a tile")


def _elements_cost(site: Site) -> float:
    return prod(shape_of(site.op.results[0])) * ELEMENT_CYCLES * site.target.cycle_seconds


def _tiles_cost(site: Site) -> float:
    axes = _Axes.of(site.op)
    size = axes.tile(site.target, element_of(site.op.operands[0]))
    vectors = prod(axes.shape) / size
    return vectors * (1 + log2(size)) * VECTOR_CYCLES * site.target.cycle_seconds


def _is_read_where_it_lies(value: SSAValue) -> bool:
    """Whether a value is a tensor in memory, or a part of one in some shape."""
    op = value.owner
    while isinstance(op, RelayOp) and (op.has_trait(ReshapeOnly) or isinstance(op, StridedSliceOp)):
        op = op.operands[0].owner
    return not isinstance(op, RelayOp)


class _Transposition:
    """What the code of a transpose is made of."""

    def __init__(self, ctx: KernelContext, op: Operation, axes: _Axes, size: int, sink: Sink):
        self.ctx, self.b, self.op, self.axes, self.sink = ctx, ctx.b, op, axes, sink
        self.data = op.operands[0]
        self.kind = element_of(self.data)
        self.size = size

    def first(self, number: Index, length: int) -> Index:
        """Where a vector along an axis begins; the last one overlaps with the one before."""
        start = self.b.mul(number, self.size)
        ends_whole = certainly(length % self.size, 0)
        return start if ends_whole else self.b.smaller(start, length - self.size)

    def as_bits(self, vectors: Sequence[SSAValue]) -> list[SSAValue]:
        """Vectors as they are shuffled: halves as integers, which every CPU has registers for."""
        if not (self.kind.bytes == 2 and self.kind.is_float):
            return list(vectors)
        return [self.b.bitcast(vector, with_lanes(i16, self.size)) for vector in vectors]

    def as_elements(self, vectors: Sequence[SSAValue]) -> list[SSAValue]:
        """Vectors after they were shuffled."""
        own = with_lanes(self.kind.compute, self.size)
        return [vector if vector.type == own else self.b.bitcast(vector, own) for vector in vectors]

    def coordinates(self, run: Sequence[int], first: Index, i: Index) -> dict[int, Index]:
        """The coordinates on neighbouring axes of element `first` + `i` along them."""
        b, lengths = self.b, self.axes.lengths(run)
        if not certainly(lengths[-1] % self.size, 0):
            return dict(zip(run, b.unflatten(b.add(first, i), lengths), strict=True))
        # A tile does not cross the end of a row.
        *before, last = b.unflatten(first, lengths)
        return dict(zip(run, (*before, b.add(last, i)), strict=True))

    def position(
        self, order: Sequence[int], run: Sequence[int], known: dict[int, Index], first: Index
    ) -> Position:
        """
        A vector from element `first` on along the last axes `run` of a tensor whose axes are those
        of the operand in some order.
        """
        split = list(order).index(run[0])
        outer = tuple(known.get(axis, 0) for axis in order[:split])
        in_row = order[-1] == run[-1] and certainly(self.axes.shape[run[-1]] % self.size, 0)
        shape = self.axes.lengths(order)
        return Position(shape, outer, first, self.size, in_one_row=in_row)


class _Tiles(_Transposition):
    """The code of square tiles."""

    def __init__(self, ctx: KernelContext, op: Operation, sink: Sink):
        axes = _Axes.of(op)
        super().__init__(ctx, op, axes, axes.tile(ctx.target, element_of(op.operands[0])), sink)
        rows = row_major((self.size, self.size))
        known = (self.data, 0) in ctx.ev.buffers
        # Code of several operators is repeated in a loop, not written out for every row.
        direct = known or _is_read_where_it_lies(self.data)
        self.before = None if direct else ctx.private_scratch(self.kind, rows)
        self.after = ctx.private_scratch(self.kind, rows) if ctx.heavy_epilogue else None

    def emit(self) -> None:
        """
        Emits the loops. Threads share blocks of as many tiles as it takes to read and write whole
        lines of memory.
        """
        axes, size = self.axes, self.size
        lengths = [prod(axes.lengths(run)) for run in (axes.written, axes.read)]
        tiles = [blocks(length, size) for length in lengths]
        block = max(1, LINE_BYTES // (size * self.kind.bytes))
        outer = axes.lengths(axes.others)
        fit = all_fit(size, lengths)

        def task(indices: tuple[Index, ...]) -> None:
            *others, written, read = indices
            with (
                self.tiles_of(written, block, tiles[0]) as row,
                self.tiles_of(read, block, tiles[1]) as column,
            ):
                known = dict(zip(axes.others, others, strict=True))
                self.tile(known, self.first(row, lengths[0]), self.first(column, lengths[1]))

        written, read = (blocks(count, block) for count in tiles)
        self.ctx.tasks((*outer, written * fit, read), task)
        otherwise_each_element(self.ctx, self.op, self.sink, fit)

    def tiles_of(self, number: Index, block: int, count: int) -> AbstractContextManager[Index]:
        """A loop over the tiles of a block."""
        first = self.b.mul(number, block)
        stop = self.b.add(first, block)
        whole = certainly(count % block, 0)
        return self.b.loop(first, stop if whole else self.b.smaller(stop, count))

    def tile(self, others: dict[int, Index], row: Index, column: Index) -> None:
        """
        The tile from element `row` on along the axes that are written, and from `column` on along
        those that are read.
        """
        vectors = transposed(self.b, self.as_bits(self.read(others, row, column)))
        self.write(others, row, column, self.as_elements(vectors))

    def read(self, others: dict[int, Index], row: Index, column: Index) -> list[SSAValue]:
        """A vector along the axes that are read for every element along those that are written."""
        b, axes, size = self.b, self.axes, self.size
        every = range(len(axes.shape))

        def vector(i: Index) -> SSAValue:
            known = {**others, **self.coordinates(axes.written, row, i)}
            position = self.position(every, axes.read, known, column)
            return self.ctx.ev.get((self.data, 0), position)

        before = self.before
        if before is None:
            return [vector(i) for i in range(size)]
        with b.loop(0, size) as i:
            b.store(before.pointer, b.mul(i, size), self.kind, vector(i))
        return [b.load(before.pointer, i * size, self.kind, size) for i in range(size)]

    def write(
        self,
        others: dict[int, Index],
        row: Index,
        column: Index,
        vectors: Sequence[SSAValue],
    ) -> None:
        """Hands over the rows of a transposed tile."""
        b, axes, size = self.b, self.axes, self.size

        def hand_over(i: Index, vector: SSAValue) -> None:
            known = {**others, **self.coordinates(axes.read, column, i)}
            self.sink(self.position(axes.permutation, axes.written, known, row), vector)

        after = self.after
        if after is None:
            for i, vector in enumerate(vectors):
                hand_over(i, vector)
            return
        for i, vector in enumerate(vectors):
            b.store(after.pointer, i * size, self.kind, vector)
        with b.loop(0, size) as i:
            hand_over(i, b.load(after.pointer, b.mul(i, size), self.kind, size))


def _tiles(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Square tiles, transposed in registers."""
    _Tiles(ctx, op, sink).emit()


class _Stripes(_Transposition):
    """The code of interleaved vectors."""

    def __init__(self, ctx: KernelContext, op: Operation, sink: Sink, *, back: bool):
        axes = _Axes.of(op)
        size = axes.stripe(ctx.target, element_of(op.operands[0]), back=back)
        super().__init__(ctx, op, axes, size, sink)
        self.count, self.back = axes.interleaved(back=back), back
        self.few, self.many = (axes.read, axes.written) if back else (axes.written, axes.read)

    def emit(self) -> None:
        """Emits the loops."""
        axes = self.axes
        length = prod(axes.lengths(self.many))
        fit = all_fit(self.size, [length])
        extents = (*axes.lengths(axes.others), blocks(length, self.size) * fit)

        def task(indices: tuple[Index, ...]) -> None:
            *others, number = indices
            known = dict(zip(axes.others, others, strict=True))
            self.stripe(known, self.first(number, length))

        self.ctx.tasks(extents, task)
        otherwise_each_element(self.ctx, self.op, self.sink, fit)

    def stripe(self, others: dict[int, Index], first: Index) -> None:
        """As many vectors as there are few elements, from an element of the many on."""
        b, size, count, every = self.b, self.size, self.count, range(len(self.axes.shape))
        apart_in, together_in = (
            (self.axes.permutation, every) if self.back else (every, self.axes.permutation)
        )
        apart: list[Position] = []
        together: list[Position] = []
        for i in range(count):
            place = dict(zip(self.few, b.unflatten(i, self.axes.lengths(self.few)), strict=True))
            apart.append(self.position(apart_in, self.many, {**others, **place}, first))
            start = b.add(b.mul(first, count), i * size)
            row = (*self.many, *self.few)
            together.append(
                replace(self.position(together_in, row, others, start), in_one_row=False)
            )
        come, go = (together, apart) if self.back else (apart, together)
        vectors = self.as_bits([self.ctx.ev.get((self.data, 0), each) for each in come])
        results = [self.picked(vectors, i) for i in range(count)]
        for position, vector in zip(go, self.as_elements(results), strict=True):
            self.sink(position, vector)

    def picked(self, vectors: Sequence[SSAValue], number: int) -> SSAValue:
        """A vector of the result, whose elements come from all vectors."""
        count, size = self.count, self.size
        if self.back:
            sources = [divmod(lane * count + number, size) for lane in range(size)]
        else:
            places = [divmod(number * size + lane, count) for lane in range(size)]
            sources = [(source, lane) for lane, source in places]
        result = vectors[0]
        for i, vector in enumerate(vectors[1:], 1):
            mask: list[int] = []
            for lane, (source, place) in enumerate(sources):
                own = place if i == 1 and source == 0 else lane
                mask.append(size + place if source == i else own)
            result = self.b.merge(result, vector, mask)
        return result


def _stripes_refusal(site: Site, *, back: bool) -> str | None:
    axes, kind = _Axes.find(site.op), element_of(site.op.operands[0])
    if axes is None:
        return "rows stay rows"
    if axes.interleaved(back=back) == 0:
        what = "interleaves in the operand" if back else "interleaves in the result"
        return f"no axis of at most {FEW} elements {what}"
    return unless(not kind.is_bool, "elements are bools") or unless(
        axes.stripe(site.target, kind, back=back) > 0, "axes shorter than a vector"
    )


def _stripes_cost(site: Site, *, back: bool) -> float:
    axes = _Axes.of(site.op)
    size = axes.stripe(site.target, element_of(site.op.operands[0]), back=back)
    vectors = prod(axes.shape) / size
    return vectors * axes.interleaved(back=back) * VECTOR_CYCLES * site.target.cycle_seconds


def _stripes(name: str, *, back: bool) -> Implementation:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        _Stripes(ctx, op, sink, back=back).emit()

    refusal, cost = partial(_stripes_refusal, back=back), partial(_stripes_cost, back=back)
    return Implementation(name, emit, refusal=refusal, cost=cost)


STRATEGIES: dict[type[Operation], Strategy] = {
    TransposeOp: (
        Implementation("element by element", each_element, plevel=5, cost=_elements_cost),
        Implementation("transposed tiles", _tiles, refusal=_refusal, cost=_tiles_cost),
        _stripes("interleaved vectors", back=False),
        _stripes("separated vectors", back=True),
    )
}
