"""
Pooling of blocked images: lanes are channels.

    for image, block of channels, output row:                 # the threads share these
        for output columns whose window lies inside of the image, several at once:
            for row of the window inside of the image:
                combine the columns that the windows meet, each loaded once
        for the output columns at the left and right border:
            combine the elements of the window that exist
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, larger, smaller
from xrelay.dialects.pool.pool import AvgPool2DOp, Pool2DOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.reductions import Reducer, average
from xrelay.lowering.loops.windows import COUNT, Window, taps_between
from xrelay.lowering.math.convert import convert

COLUMNS = 4
"""Output columns that are computed at once."""


@dataclass(frozen=True)
class BlockedPool:
    """A pooling operator on images [N, C / lanes, H, W, lanes], computed in `kind`."""

    ctx: KernelContext
    op: Pool2DOp
    window: Window
    reducer: Reducer
    kind: Element
    mean: bool
    image: Buffer
    sink: Sink

    def taps(self, axis: int, place: Index, low: int, high: int) -> tuple[Index, Index]:
        """The taps of a window at an output position that lie from `low` up to `high`."""
        return taps_between(self.ctx.b, self.window, axis, place, low, high)

    def finish(self, coords: Sequence[Index], total: SSAValue) -> None:
        """Hands over a result."""
        b, op = self.ctx.b, self.op
        source, lanes = element_of(op.data), self.image.shape[4]
        if self.mean:
            assert isinstance(op, AvgPool2DOp)
            counts: list[Index] = []
            for axis in (0, 1):
                size, pads = self.image.shape[2 + axis], self.window.pads
                low, high = 0, size
                if op.count_include_pad.value.data:
                    low, high = -pads[axis], size + pads[axis + 2]
                start, stop = self.taps(axis, coords[2 + axis], low, high)
                counts.append(b.sub(stop, start))
            # Where nothing counts, the sum is 0 and so is the mean.
            count = b.index(b.larger(b.mul(*counts), 1))
            divisor = b.splat(convert(b, count, COUNT, self.kind), lanes)
            total = average(b, total, divisor, self.kind)
        where = Position(shape_of(op.result), tuple(coords), 0, lanes)
        self.sink(where, convert(b, total, self.kind, source))

    def row(self, n: Index, block: Index, y: Index) -> "_Row":
        """A row of the result, and what its windows meet."""
        b, window, kind, image = self.ctx.b, self.window, self.kind, self.image
        neutral = b.constant(kind.compute, self.reducer.neutral(kind), image.shape[4])
        rows = self.taps(0, y, 0, image.shape[2])
        top = b.sub(b.mul(y, window.strides[0]), window.pads[0])
        return _Row(self, (n, block, y), image.origin(b, (n, block, top)), rows, neutral)

    def emit_row(self, indices: tuple[Index, ...]) -> None:
        """One row of the result."""
        b, window, row = self.ctx.b, self.window, self.row(*indices)
        stride, pad, positions = window.strides[1], window.pads[1], window.positions[1]
        reach = (window.taps[1] - 1) * window.dilation[1]
        first = smaller(positions, -(-pad // stride))
        last = (self.image.shape[3] - 1 - reach + pad) // stride + 1
        last = larger(first, smaller(positions, last))
        if not certainly(first, 0):
            with b.loop(0, first) as x:
                row.at_border(x)
        self.ctx.vectors(last - first, COLUMNS, row.inside, first)
        if not certainly(last, positions):
            with b.loop(last, positions) as x:
                row.at_border(x)


@dataclass(frozen=True)
class _Row:
    """A row of the result."""

    pool: BlockedPool
    coords: tuple[Index, Index, Index]
    """Which image, block of channels and row."""
    origin: Index
    """Where the first row of the windows begins in memory."""
    taps: tuple[Index, Index]
    """The rows of the windows that lie inside of the image."""
    neutral: SSAValue

    def load(self, row: Index, column: Index) -> SSAValue:
        """The elements at a row of the windows and a column of the image."""
        pool, b, image = self.pool, self.pool.ctx.b, self.pool.image
        strides, source = image.format.strides, image.element
        offset = b.add(self.origin, b.mul(row, pool.window.dilation[0] * strides[2]))
        offset = b.add(offset, b.mul(column, strides[3]))
        value = b.load(image.pointer, offset, source, image.shape[4])
        return convert(b, value, source, pool.kind)

    def first_column(self, x: Index) -> Index:
        """The column of the image at which the window of an output column begins."""
        b, window = self.pool.ctx.b, self.pool.window
        return b.sub(b.mul(x, window.strides[1]), window.pads[1])

    def inside(self, x: Index, count: int) -> None:
        """Output columns from `x` on whose windows lie inside of the image."""
        b, window, kind = self.pool.ctx.b, self.pool.window, self.pool.kind
        left, combine = self.first_column(x), self.pool.reducer.combine

        def window_row(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            result = list(totals)
            loaded: dict[int, SSAValue] = {}
            for c in range(count):
                for tap in range(window.taps[1]):
                    column = c * window.strides[1] + tap * window.dilation[1]
                    if column not in loaded:
                        loaded[column] = self.load(i, b.add(left, column))
                    result[c] = combine(b, result[c], loaded[column], kind)
            return result

        totals = b.fold(*self.taps, 1, [self.neutral] * count, window_row)
        for c, total in enumerate(totals):
            self.pool.finish((*self.coords, b.add(x, c)), total)

    def at_border(self, x: Index) -> None:
        """An output column whose window reaches beyond the image."""
        pool, b = self.pool, self.pool.ctx.b
        left, step = self.first_column(x), pool.window.dilation[1]
        columns = pool.taps(1, x, 0, pool.image.shape[3])

        def window_row(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def tap(j: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
                value = self.load(i, b.add(left, b.mul(j, step)))
                return [pool.reducer.combine(b, inner[0], value, pool.kind)]

            return b.fold(*columns, 1, totals, tap)

        total = b.fold(*self.taps, 1, [self.neutral], window_row)[0]
        pool.finish((*self.coords, x), total)


def emit_blocked_pool(
    ctx: KernelContext,
    op: Operation,
    sink: Sink,
    window: Window,
    reducer: Reducer,
    kind: Element,
    *,
    mean: bool,
) -> None:
    """The loops of a pooling operator with a blocked layout."""
    assert isinstance(op, Pool2DOp)
    pool = BlockedPool(ctx, op, window, reducer, kind, mean, ctx.placed(op.data), sink)
    ctx.tasks(shape_of(op.result)[:3], pool.emit_row)
