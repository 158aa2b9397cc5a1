"""
Kernel code of normalisation by statistics of the data itself.

    the mean ──► the mean square of the distances from it ──► (x - mean) * factor * gamma + beta
                 the mean square of the elements          ──► x * factor * gamma
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn import norm
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index, lanes_of
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.reductions import (
    SUM,
    ElementAt,
    PartialResults,
    Rows,
    Term,
    average,
    fold_columns,
    reduce_elements,
)
from xrelay.lowering.math.arithmetic import add, multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.elementary import rsqrt


@dataclass(frozen=True)
class Sets:
    """
    The elements that share statistics: for each round of the loops over `extents` one set, whose
    elements the loops over `inner` and then `length` neighbours run through.
    """

    extents: tuple[int, ...]
    inner: tuple[int, ...]
    length: int
    place: Callable[[KernelBuilder, tuple[Index, ...], tuple[Index, ...], Index, int], Position]
    """The position of elements: of the set, in the inner loops, and among the neighbours."""

    @property
    def size(self) -> int:
        """How many elements a set has."""
        return prod(self.inner) * self.length


def sets_of(op: norm.StandardizingOp | norm.RmsNormOp) -> Sets | None:
    """The sets of neighbours; None where the last axis tells sets apart."""
    shape, axis = shape_of(op.data), op.channel_axis
    last = len(shape) - 1
    match op:
        case norm.GroupNormOp():
            groups = op.num_groups.value.data
            channels = shape[axis] // groups

            def place(
                b: KernelBuilder,
                outer: tuple[Index, ...],
                inner: tuple[Index, ...],
                offset: Index,
                lanes: int,
            ) -> Position:
                first = b.mul(outer[-1], channels)
                if axis == last:
                    return at(shape, [*outer[:-1], b.add(first, offset)], lanes)
                return Position(shape, (*outer[:-1], b.add(first, inner[0])), offset, lanes)

            extents = (*shape[:axis], groups)
            if axis == last:
                return Sets(extents, (), channels, place)
            return Sets(extents, (channels,), prod(shape[axis + 1 :]), place)
        case norm.InstanceNormOp():
            reduced = op.reduced_axes
        case _:
            reduced = (axis,)
    if last not in reduced:
        return None
    kept = [i for i in range(last + 1) if i not in reduced]
    # The last reduced axes, as far as nothing lies between them, are one row.
    tail = last - max(kept, default=-1)
    inner_axes = [i for i in reduced if i <= last - tail]

    def row_place(
        b: KernelBuilder,
        outer: tuple[Index, ...],
        inner: tuple[Index, ...],
        offset: Index,
        lanes: int,
    ) -> Position:
        own = dict(zip([*kept, *inner_axes], [*outer, *inner], strict=True))
        return Position(shape, tuple(own[i] for i in range(last + 1 - tail)), offset, lanes)

    return Sets(
        tuple(shape[i] for i in kept),
        tuple(shape[i] for i in inner_axes),
        prod(shape[last + 1 - tail :]),
        row_place,
    )


class _Standardization:
    """
    The code of (data - mean) / sqrt(variance + epsilon) * gamma + beta; of RMS normalisation, in
    which the mean is 0 and there is no beta.
    """

    def __init__(self, ctx: KernelContext, op: norm.StandardizingOp | norm.RmsNormOp, sink: Sink):
        self.ctx, self.b, self.op, self.sink = ctx, ctx.b, op, sink
        self.source = element_of(op.data)
        self.kind = wide(self.source)
        self.gamma = op.gamma if op.scale.value.data else None
        self.beta: SSAValue | None = None
        if isinstance(op, norm.StandardizingOp) and op.center.value.data:
            self.beta = op.beta
        self.has_mean = isinstance(op, norm.StandardizingOp)

    def load(self, value: SSAValue, position: Position) -> SSAValue:
        """Elements of an operand as they are computed with."""
        return convert(self.b, self.ctx.ev.get((value, 0), position), self.source, self.kind)

    def distance(self, position: Position, mean: SSAValue | None) -> SSAValue:
        """How far elements are from the mean, where there is one."""
        value = self.load(self.op.data, position)
        if mean is None:
            return value
        return subtract(self.b, value, self.b.splat(mean, position.lanes), self.kind)

    def square(self, position: Position, mean: SSAValue | None) -> SSAValue:
        """The square of the distance from the mean."""
        distance = self.distance(position, mean)
        return multiply(self.b, distance, distance, self.kind)

    def average(self, total: SSAValue, count: int) -> SSAValue:
        """A sum divided by how many elements it is of."""
        divisor = self.b.constant(self.kind.compute, count, lanes_of(total))
        return average(self.b, total, divisor, self.kind)

    def factor(self, variance: SSAValue) -> SSAValue:
        """1 / sqrt(variance + epsilon)"""
        b, epsilon = self.b, self.op.epsilon.value.data
        shift = b.constant(self.kind.compute, epsilon, lanes_of(variance))
        return rsqrt(b, add(b, variance, shift, self.kind))

    def channel(self, value: SSAValue, position: Position) -> SSAValue:
        """The elements of `gamma` or `beta` that belong to a position."""
        axis, last = self.op.channel_axis, len(position.shape) - 1
        if axis < len(position.outer):
            own, lanes = position.outer[axis], 1
        else:
            assert axis == last and position.span == 1, "a row lies along one channel or all"
            own, lanes = position.inner, position.lanes
        element = self.load(value, at(shape_of(value), [own], lanes))
        return self.b.splat(element, position.lanes)

    def finish(self, position: Position, mean: SSAValue | None, factor: SSAValue) -> None:
        """Hands on the result at a position."""
        b, kind = self.b, self.kind
        value = self.distance(position, mean)
        result = multiply(b, value, b.splat(factor, position.lanes), kind)
        gamma = None if self.gamma is None else self.channel(self.gamma, position)
        beta = None if self.beta is None else self.channel(self.beta, position)
        if gamma is not None and beta is not None:
            result = multiply_add(b, result, gamma, beta, kind)
        elif gamma is not None:
            result = multiply(b, result, gamma, kind)
        elif beta is not None:
            result = add(b, result, beta, kind)
        self.sink(position, convert(b, result, kind, self.source))

    def statistics(
        self, total: Callable[[Callable[[Position], SSAValue]], SSAValue], count: int
    ) -> tuple[SSAValue | None, SSAValue]:
        """The mean and the factor, by sums over a set of `count` elements."""
        mean = None
        if self.has_mean:
            mean = self.average(total(lambda place: self.load(self.op.data, place)), count)
        variance = self.average(total(lambda place: self.square(place, mean)), count)
        return mean, self.factor(variance)

    def of_sets(self, sets: Sets) -> None:
        """Statistics of sets of neighbours: scalars."""
        ctx, b = self.ctx, self.b
        rows = Rows(ctx, sets.extents, sets.inner, sets.length)
        if rows.is_cut:
            self.of_cut_sets(sets, rows)
            return

        def one(outer: tuple[Index, ...]) -> None:
            def total(code: Callable[[Position], SSAValue]) -> SSAValue:
                def element_at(inner: tuple[Index, ...], offset: Index, lanes: int) -> SSAValue:
                    return code(sets.place(b, outer, inner, offset, lanes))

                terms = [Term(SUM, self.kind)]
                return reduce_elements(ctx, sets.inner, sets.length, terms, element_at)[0]

            mean, factor = self.statistics(total, sets.size)

            def inner(indices: tuple[Index, ...]) -> None:
                def elements(offset: Index, lanes: int) -> None:
                    self.finish(sets.place(b, outer, indices, offset, lanes), mean, factor)

                ctx.vectors(sets.length, ctx.target.lanes(self.kind.bytes), elements)

            b.loop_nest(sets.inner, inner)

        ctx.tasks(sets.extents, one)

    def of_cut_sets(self, sets: Sets, rows: Rows) -> None:
        """The same for few large sets, whose parts the threads share."""
        ctx, b = self.ctx, self.b
        terms = [Term(SUM, self.kind)]
        sums: PartialResults | None = None

        def mean_of(row: tuple[Index, ...]) -> SSAValue | None:
            return None if sums is None else self.average(sums.of(row)[0], sets.size)

        def elements_of(row: tuple[Index, ...], code: Callable[[Position], SSAValue]) -> ElementAt:
            return lambda indices, offset, lanes: code(sets.place(b, row, indices, offset, lanes))

        if self.has_mean:
            sums = rows.reduce_parts(
                terms, lambda row: elements_of(row, lambda place: self.load(self.op.data, place))
            )

        def squares_of(row: tuple[Index, ...]) -> ElementAt:
            mean = mean_of(row)
            return elements_of(row, lambda place: self.square(place, mean))

        squares = rows.reduce_parts(terms, squares_of)

        def finish(
            row: tuple[Index, ...], _: Index, begin: Index, loops: tuple[int, ...], length: int
        ) -> None:
            mean = mean_of(row)
            factor = self.factor(self.average(squares.of(row)[0], sets.size))

            def inner(indices: tuple[Index, ...]) -> None:
                def elements(offset: Index, lanes: int) -> None:
                    place = sets.place(b, row, *rows.place(begin, indices, offset), lanes)
                    self.finish(place, mean, factor)

                ctx.vectors(length, ctx.target.lanes(self.kind.bytes), elements)

            b.loop_nest(loops, inner)

        rows.each_part(finish)

    def of_columns(self, reduced: Sequence[int]) -> None:
        """The last axis tells sets apart: every lane has its own statistics."""
        ctx, b, shape = self.ctx, self.b, shape_of(self.op.data)
        kept = [i for i in range(len(shape) - 1) if i not in reduced]
        extents = [shape[i] for i in reduced]

        def column(outer: tuple[Index, ...], start: Index, width: int) -> None:
            def place(indices: tuple[Index, ...]) -> Position:
                own = dict(zip([*kept, *reduced], [*outer, *indices], strict=True))
                return at(shape, [*(own[i] for i in range(len(shape) - 1)), start], width)

            def total(code: Callable[[Position], SSAValue]) -> SSAValue:
                ((_, value),) = fold_columns(
                    ctx, extents, width, SUM, self.kind, lambda i, _, lanes: code(place(i))
                )
                return value

            mean, factor = self.statistics(total, prod(extents))
            b.loop_nest(extents, lambda indices: self.finish(place(indices), mean, factor))

        lanes = ctx.target.lanes(self.kind.bytes)
        ctx.vector_tasks([shape[i] for i in kept], shape[-1], lanes, column)


def _standardize(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """The mean, then the variance as the mean square of the distances from it."""
    assert isinstance(op, norm.StandardizingOp | norm.RmsNormOp)
    if (op.data, 0) not in ctx.ev.buffers:
        # Every element is read three times.
        ctx.placed(op.data)
    code, sets = _Standardization(ctx, op, sink), sets_of(op)
    if sets is not None:
        code.of_sets(sets)
    else:
        reduced = op.reduced_axes if isinstance(op, norm.InstanceNormOp) else (op.channel_axis,)
        code.of_columns(reduced)


STRATEGIES: dict[type[Operation], Strategy] = dict.fromkeys(
    (norm.LayerNormOp, norm.InstanceNormOp, norm.GroupNormOp, norm.RmsNormOp),
    (Implementation("two-pass", _standardize),),
)
