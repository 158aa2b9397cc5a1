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

    def _taps(self, axis: int, place: Index, low: int, high: int) -> tuple[Index, Index]:
        """The taps of a window at an output position that lie from `low` up to `high`."""
        return taps_between(self.ctx.b, self.window, axis, place, low, high)

    def _finish(self, coords: Sequence[Index], total: SSAValue, sink: Sink) -> None:
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
                start, stop = self._taps(axis, coords[2 + axis], low, high)
                counts.append(b.sub(stop, start))
            # Where nothing counts, the sum is 0 and so is the mean.
            count = b.index(b.larger(b.mul(*counts), 1))
            divisor = b.splat(convert(b, count, COUNT, self.kind), lanes)
            total = average(b, total, divisor, self.kind)
        where = Position(shape_of(op.result), tuple(coords), 0, lanes)
        sink(where, convert(b, total, self.kind, source))

    def emit_row(self, indices: tuple[Index, ...], sink: Sink) -> None:
        """One row of the result."""
        b, window, kind = self.ctx.b, self.window, self.kind
        n, block, y = indices
        lanes, strides = self.image.shape[4], self.image.format.strides
        width, step = window.strides[1], window.dilation[1]
        source = self.image.element
        neutral = b.constant(kind.compute, self.reducer.neutral(kind), lanes)
        rows = self._taps(0, y, 0, self.image.shape[2])
        top = b.sub(b.mul(y, window.strides[0]), window.pads[0])
        origin = self.image.origin(b, (n, block, top))

        def load(row: Index, column: Index) -> SSAValue:
            offset = b.add(origin, b.mul(row, window.dilation[0] * strides[2]))
            offset = b.add(offset, b.mul(column, strides[3]))
            return convert(b, b.load(self.image.pointer, offset, source, lanes), source, kind)

        def inside(x: Index, count: int) -> None:
            left = b.sub(b.mul(x, width), window.pads[1])

            def window_row(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                result = list(totals)
                loaded: dict[int, SSAValue] = {}
                for c in range(count):
                    for tap in range(window.taps[1]):
                        column = c * width + tap * step
                        if column not in loaded:
                            loaded[column] = load(i, b.add(left, column))
                        result[c] = self.reducer.combine(b, result[c], loaded[column], kind)
                return result

            totals = b.fold(*rows, 1, [neutral] * count, window_row)
            for c, total in enumerate(totals):
                self._finish((n, block, y, b.add(x, c)), total, sink)

        def at_border(x: Index) -> None:
            left = b.sub(b.mul(x, width), window.pads[1])
            columns = self._taps(1, x, 0, self.image.shape[3])

            def window_row(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                def tap(j: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
                    value = load(i, b.add(left, b.mul(j, step)))
                    return [self.reducer.combine(b, inner[0], value, kind)]

                return b.fold(*columns, 1, totals, tap)

            total = b.fold(*rows, 1, [neutral], window_row)[0]
            self._finish((n, block, y, x), total, sink)

        positions = window.positions[1]
        reach = (window.taps[1] - 1) * step
        first = min(positions, -(-window.pads[1] // width))
        last = (self.image.shape[3] - 1 - reach + window.pads[1]) // width + 1
        last = max(first, min(positions, last))
        if first:
            with b.loop(0, first) as x:
                at_border(x)
        self.ctx.vectors(last - first, COLUMNS, inside, first)
        if last < positions:
            with b.loop(last, positions) as x:
                at_border(x)


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
    pool = BlockedPool(ctx, op, window, reducer, kind, mean, ctx.placed(op.data))
    ctx.tasks(shape_of(op.result)[:3], lambda indices: pool.emit_row(indices, sink))
