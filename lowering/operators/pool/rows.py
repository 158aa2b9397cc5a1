"""
Pooling of images whose rows lie in memory as rows: first across rows, then along them.

    for each row of the result:                                  # shared
        vectors of the rows of the image under it -> one row, into memory of the thread
        vectors of that row, every so many lanes by the stride -> vectors of the result

What is padded across rows is left out; the row has its padding around it. Windows that overlap
along a row, and strides, cost shuffles of one row instead of a copy of the image.
"""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import larger, may_exceed, smaller
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.loops.axis_order import AxisOrder
from xrelay.lowering.loops.reductions import Reducer
from xrelay.lowering.loops.windows import Window, fold_taps, taps_between
from xrelay.lowering.math.convert import convert

Step = Callable[[tuple[Index, ...], Sequence[SSAValue]], Sequence[SSAValue]]
"""Combines what a tap meets with what others did."""
Fold = Callable[[Sequence[SSAValue], Step], Sequence[SSAValue]]
"""Carries values through taps."""

MOST_PHASES = 4
"""Up to this stride along a row, shuffles are faster than elements one by one."""


class RowPool:
    """The code of one operator, without what is done with its sums or maxima."""

    def __init__(
        self,
        ctx: KernelContext,
        data: SSAValue,
        window: Window,
        reducer: Reducer,
        kind: Element,
        order: AxisOrder,
    ):
        self.ctx, self.b, self.data, self.window = ctx, ctx.b, data, window
        self.reducer, self.kind, self.order = reducer, kind, order
        self.image = order.canonical(shape_of(data))[2:]
        self.lanes = ctx.target.lanes(kind.bytes)
        self.stride = window.strides[-1]
        self.left = window.before[-1]
        self.columns = smaller(self.image[-1], larger(0, window.extent[-1] - self.left))
        # The vectors of the last elements are loaded whole.
        length = window.extent[-1] + self.lanes * self.stride
        self.row = ctx.private_scratch(kind, row_major((length,)))
        for start, stop in ((0, self.left), (self.left + self.columns, length)):
            if may_exceed(stop, start):
                ctx.vectors(stop - start, self.lanes, self._write_padding, start)

    def _neutral(self, lanes: int) -> SSAValue:
        return self.b.constant(self.kind.compute, self.reducer.neutral(self.kind), lanes)

    def _write_padding(self, x: Index, lanes: int) -> None:
        self.b.store(self.row.pointer, x, self.kind, self._neutral(lanes))

    def write_row(self, place: tuple[Index, ...]) -> None:
        """
        Combines the rows of the image under a row of the result: `place` are its image, its
        channel and its coordinates.
        """
        b, window = self.b, self.window
        line = place[2:]
        inside: SSAValue | None = None
        for axis, start in enumerate(self._starts(line)):
            reach, length = (window.taps[axis] - 1) * window.dilation[axis], self.image[axis]
            if may_exceed(window.before[axis], 0):
                inside = self._and(inside, b.compare_index(start, "sge", 0))
            if may_exceed(window.extent[axis] - window.before[axis], length):
                inside = self._and(inside, b.compare_index(start, "slt", length - reach))
        if inside is None:
            self._write_vectors(place, self._all_taps)
            return
        with b.when(inside):
            self._write_vectors(place, self._all_taps)
        with b.when(b.negate(inside)):
            bounds = [
                taps_between(b, window, axis, each, 0, self.image[axis])
                for axis, each in enumerate(line)
            ]
            self._write_vectors(place, lambda value, step: self._some_taps(bounds, value, step))

    def _and(self, known: SSAValue | None, condition: SSAValue) -> SSAValue:
        return condition if known is None else self.b.both(known, condition)

    def _starts(self, line: Sequence[Index]) -> list[Index]:
        """Where in the image the window begins, along all axes but the last one."""
        b, window = self.b, self.window
        numbers = zip(line, window.strides, window.before, strict=False)
        return [b.sub(b.mul(place, stride), before) for place, stride, before in numbers]

    def _write_vectors(self, place: tuple[Index, ...], fold: Fold) -> None:
        b, kind, source = self.b, self.kind, element_of(self.data)
        starts, shape = self._starts(place[2:]), shape_of(self.data)

        def vector(x: Index, lanes: int) -> None:
            def step(tap: tuple[Index, ...], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                steps = zip(starts, tap, self.window.dilation, strict=False)
                rows = [b.add(start, b.mul(number, by)) for start, number, by in steps]
                own = self.order.stated(b, (*place[:2], *rows, x))
                value = self.ctx.ev.get((self.data, 0), at(shape, own, lanes))
                value = convert(b, value, source, kind)
                return [self.reducer.combine(b, totals[0], value, kind)]

            (total,) = fold([self._neutral(lanes)], step)
            b.store(self.row.pointer, b.add(x, self.left), kind, total)

        self.ctx.vectors(self.columns, self.lanes, vector)

    def _all_taps(self, initial: Sequence[SSAValue], step: Step) -> Sequence[SSAValue]:
        return fold_taps(self.b, self.window.taps[:-1], initial, step)

    def _some_taps(
        self,
        bounds: Sequence[tuple[Index, Index]],
        initial: Sequence[SSAValue],
        step: Step,
    ) -> Sequence[SSAValue]:
        """The taps between bounds along each axis but the last one."""

        def nest(tap: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if len(tap) == len(bounds):
                return step(tap, values)
            start, stop = bounds[len(tap)]
            return self.b.fold(start, stop, 1, values, lambda i, inner: nest((*tap, i), inner))

        return nest((), initial)

    def combined(self, x: Index, lanes: int) -> SSAValue:
        """Elements of the result from column x on, of the row that was written last."""
        b, window, stride = self.b, self.window, self.stride
        start, step = b.mul(x, stride), window.dilation[-1]
        loaded: dict[Index, SSAValue] = {}

        def add_tap(tap: tuple[Index, ...], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            column = b.mul(tap[0], step)
            # Taps of one stride lie in the same vectors.
            phase = column % stride if isinstance(column, int) else 0
            first = b.sub(column, phase)
            if first not in loaded or not isinstance(first, int):
                offset, count = b.add(start, first), self.lanes * stride
                loaded[first] = b.load(self.row.pointer, offset, self.kind, count)
            value = loaded[first]
            if stride > 1:
                value = b.shuffle(value, range(phase, self.lanes * stride, stride))
            return [self.reducer.combine(b, totals[0], value, self.kind)]

        (total,) = fold_taps(b, window.taps[-1:], [self._neutral(self.lanes)], add_tap)
        return b.first_lanes(total, lanes)
