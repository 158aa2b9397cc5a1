"""
Kernel code of argmax and argmin: the places of extreme elements.

Elements become integers that have their order, which vectors compare with one instruction. Each lane keeps the best one that it has met and where that was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.tensor import reduce as reduction
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index, lanes_of
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.reductions import ACCUMULATORS, MAXIMUM, MINIMUM, Reducer, across_lanes
from xrelay.lowering.math.arithmetic import add, lowest
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.argsort import key_element, order_key, precedes, score_key
from xrelay.lowering.operators.tensor.reduce import axes_of_row

NUMBER = element(i32)
"""Of results, and of elements where keys have 32 bits."""

Best: TypeAlias = tuple[SSAValue, SSAValue]
"""The key of the best element so far, and its number among the reduced ones."""


@dataclass(frozen=True)
class _ArgReduction:
    """The index of the largest or smallest element along some axes."""

    ctx: KernelContext
    op: reduction.ArgReductionOp
    sink: Sink
    largest: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the operand."""
        return shape_of(self.op.data)

    @property
    def axes(self) -> tuple[int, ...]:
        """The reduced ones."""
        return self.op.reduced_axes

    @property
    def kept(self) -> list[int]:
        """The others."""
        return [axis for axis in range(len(self.shape)) if axis not in self.axes]

    @property
    def key(self) -> Element:
        """What keys are, which have no fewer bits than numbers."""
        key = key_element(element_of(self.op.data))
        return key if key.bytes >= 4 else NUMBER

    @property
    def number(self) -> Element:
        """What the numbers of elements are, of which vectors have as many as of keys."""
        return INDEX if self.key.bytes == 8 else NUMBER

    @property
    def is_last(self) -> bool:
        """Whether the last of equal elements wins."""
        return bool(self.op.select_last_index.value.data)

    @property
    def lanes(self) -> int:
        """Keys in a vector."""
        return self.ctx.target.lanes(self.key.bytes)

    def key_at(self, position: Position) -> SSAValue:
        """Of elements of the operand, integers of which the best one is the largest."""
        b, kind = self.ctx.b, element_of(self.op.data)
        key_of = order_key if self.largest else score_key
        key = key_of(b, self.ctx.ev.get((self.op.data, 0), position), kind)
        return convert(b, key, key_element(kind), self.key)

    def started(self, lanes: int) -> Best:
        """
        Before the first element. No other is found where all have the lowest key: the first of them is at 0. Where the last
        one wins, lanes that meet no element come before all others.
        """
        b, key, number = self.ctx.b, self.key, self.number
        place = lowest(number) if self.is_last else 0
        return b.constant(key.compute, lowest(key), lanes), b.constant(number.compute, place, lanes)

    def after(self, best: Best, key: SSAValue, number: Index) -> Best:
        """The best ones after elements that come behind all others, each of its lane, which count as `number`."""
        b = self.ctx.b
        wins = precedes(b, best[0], key, self.key, "le" if self.is_last else "lt")
        place = b.splat(convert(b, b.index(number), INDEX, self.number), lanes_of(key))
        return b.select(wins, key, best[0]), b.select(wins, place, best[1])

    def best_of(self, found: Sequence[Best]) -> SSAValue:
        """The number of the best element of all lanes of vectors."""
        b, choose = self.ctx.b, MAXIMUM if self.is_last else MINIMUM

        def all_of(values: Sequence[SSAValue], reducer: Reducer, kind: Element) -> SSAValue:
            scalars = [across_lanes(b, value, reducer.combine, kind) for value in values]
            return reduce(lambda x, y: reducer.combine(b, x, y, kind), scalars)

        top, numbers = all_of([key for key, _ in found], MAXIMUM, self.key), list[SSAValue]()
        for key, number in found:
            lanes = lanes_of(key)
            equal = b.compare_integers(key, "eq", b.splat(top, lanes))
            other = b.constant(self.number.compute, choose.neutral(self.number), lanes)
            numbers.append(b.select(equal, number, other))
        return all_of(numbers, choose, self.number)

    def finish(self, coords: Sequence[Index], number: SSAValue) -> None:
        """Hands over the result at coordinates of the kept axes."""
        out_shape = shape_of(self.op.result)
        own = dict(zip(self.kept, coords, strict=True))
        if len(out_shape) == len(self.shape):
            coords = [own.get(axis, 0) for axis in range(len(out_shape))]
        place = at(out_shape, coords, lanes_of(number))
        self.sink(place, convert(self.ctx.b, number, self.number, NUMBER))

    def reduce_columns(self) -> None:
        """The last axis is kept: lanes are neighbouring results."""
        ctx, b, shape, kept, axes = self.ctx, self.ctx.b, self.shape, self.kept, self.axes
        extents = [shape[axis] for axis in axes]

        def block(outer: tuple[Index, ...], start: Index, width: int) -> None:
            columns = [(i, min(self.lanes, width - i)) for i in range(0, width, self.lanes)]

            def step(indices: tuple[Index, ...], state: Sequence[SSAValue]) -> list[SSAValue]:
                number, after = b.flatten(indices, extents), list[SSAValue]()
                for i, (column, lanes) in enumerate(columns):
                    coords = [*outer, b.add(start, column), *indices]
                    own = dict(zip([*kept, *axes], coords, strict=True))
                    key = self.key_at(at(shape, [own[axis] for axis in range(len(shape))], lanes))
                    after += self.after((state[2 * i], state[2 * i + 1]), key, number)
                return after

            initial = [value for _, lanes in columns for value in self.started(lanes)]
            found = b.fold_nest(extents, initial, step)
            for (column, _), number in zip(columns, found[1::2], strict=True):
                self.finish((*outer, b.add(start, column)), number)

        outer = [shape[axis] for axis in kept[:-1]]
        ctx.vector_tasks(outer, shape[-1], ACCUMULATORS * self.lanes, block)

    def reduce_rows(self) -> None:
        """The last axis is reduced: lanes are neighbours, the best of which is the result."""
        ctx, shape, kept, axes = self.ctx, self.shape, self.kept, self.axes
        tail = axes_of_row(ctx, self.op.data, axes)
        outer, length = axes[: len(axes) - tail], prod(shape[len(shape) - tail :])

        def key_at(
            coords: tuple[Index, ...], indices: tuple[Index, ...], offset: Index, lanes: int
        ) -> SSAValue:
            own = dict(zip([*kept, *outer], [*coords, *indices], strict=True))
            before = tuple(own[axis] for axis in range(len(shape) - tail))
            return self.key_at(Position(shape, before, offset if tail else 0, lanes))

        extents = [shape[axis] for axis in outer]
        ctx.tasks(
            [shape[axis] for axis in kept],
            lambda coords: self.finish(
                coords, self._best_of_row(extents, length, partial(key_at, coords))
            ),
        )

    def _best_of_row(
        self,
        outer: Sequence[int],
        length: int,
        key_at: Callable[[tuple[Index, ...], Index, int], SSAValue],
    ) -> SSAValue:
        """
        The number of the best of `length` neighbours in each round of the loops over `outer`. Of a group of vectors that are
        read together, a lane remembers where that begins.
        """
        b, varies = self.ctx.b, is_open(length)
        lanes = self.lanes if varies else min(self.lanes, length)
        count = ACCUMULATORS if varies else min(ACCUMULATORS, length // lanes)
        whole, vectors = length - length % (count * lanes), length - length % lanes
        # Groups of vectors, vectors behind the last group, and what is behind the last vector.
        rest = 1 if varies else length - vectors
        parts = [(0, whole, lanes, count), (whole, vectors, lanes, 1), (vectors, length, rest, 1)]
        parts = [part for part in parts if varies or part[0] < part[1]]

        def row(indices: tuple[Index, ...], state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            begin, result = b.mul(b.flatten(indices, outer), length), list[SSAValue]()
            for start, stop, width, together in parts:

                def step(
                    i: Index, old: Sequence[SSAValue], width: int = width, together: int = together
                ) -> list[SSAValue]:
                    number, new = b.add(begin, i), list[SSAValue]()
                    for n in range(together):
                        key = key_at(indices, b.add(i, n * width), width)
                        new += self.after((old[2 * n], old[2 * n + 1]), key, number)
                    return new

                own = state[len(result) : len(result) + 2 * together]
                result += b.fold(start, stop, width * together, own, step)
            return result

        widths = [(n, width) for _, _, width, together in parts for n in range(together)]
        initial = [value for _, width in widths for value in self.started(width)]
        state = b.fold_nest(outer, initial, row)
        found: list[Best] = []
        for (n, width), key, number in zip(widths, state[::2], state[1::2], strict=True):
            places = convert(b, b.lane_numbers(width), INDEX, self.number) if width > 1 else None
            number = number if places is None else add(b, number, places, self.number)
            ahead = b.constant(self.number.compute, n * width, width)
            found.append((key, add(b, number, ahead, self.number)))
        return self.best_of(found)


def _emit(largest: bool) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, reduction.ArgReductionOp)
        code = _ArgReduction(ctx, op, sink, largest)
        if code.kept and code.kept[-1] == len(code.shape) - 1:
            code.reduce_columns()
        else:
            code.reduce_rows()

    return (Implementation("loops", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    reduction.ArgmaxOp: _emit(largest=True),
    reduction.ArgminOp: _emit(largest=False),
}
