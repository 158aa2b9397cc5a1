"""Kernel code of reductions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import larger
from xrelay.dialects.pool.pool import GlobalAvgPool2DOp, GlobalMaxPool2DOp, GlobalPool2DOp
from xrelay.dialects.tensor import reduce as reduction
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index, lanes_of
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.reductions import (
    ACCUMULATORS,
    ALL,
    ANY,
    MAXIMUM,
    MINIMUM,
    PRODUCT,
    SUM,
    Reducer,
    Rows,
    Term,
    average,
    fold_columns,
    reduce_elements,
    sum_kind,
)
from xrelay.lowering.math.arithmetic import multiply, subtract
from xrelay.lowering.math.convert import convert


def axes_of_row(ctx: KernelContext, data: SSAValue, axes: Sequence[int]) -> int:
    """How many of the last reduced axes, the last of a tensor among them, are one long row: all that lie in memory so."""
    tail, last = (1 if axes else 0), len(shape_of(data)) - 1
    while (data, 0) in ctx.ev.buffers and tail < len(axes) and last - tail in axes:
        tail += 1
    return tail


@dataclass(frozen=True)
class _Axes:
    """A reduction over axes of an operand, computed in `kind`."""

    ctx: KernelContext
    op: Operation
    axes: Sequence[int]
    """The reduced ones."""
    reducer: Reducer
    sink: Sink
    kind: Element
    divisor: int | None
    """What the results are divided by."""
    out_axes: Sequence[int]
    """The axes of the operand that the result has."""
    term: Callable[[SSAValue, Position], SSAValue] | None
    """What is reduced for an element at a position."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the operand."""
        return shape_of(self.op.operands[0])

    @property
    def kept(self) -> list[int]:
        """The axes that are not reduced."""
        return [axis for axis in range(len(self.shape)) if axis not in self.axes]

    def load(self, position: Position) -> SSAValue:
        """What is reduced at a position of the operand."""
        data = self.op.operands[0]
        value = self.ctx.ev.get((data, 0), position)
        value = convert(self.ctx.b, value, element_of(data), self.kind)
        return value if self.term is None else self.term(value, position)

    def finish(self, coords: Sequence[Index], value: SSAValue) -> None:
        """Hands over the result at coordinates of the kept axes."""
        b, kind, lanes = self.ctx.b, self.kind, lanes_of(value)
        if self.divisor is not None:
            # Narrow integers have no room for the divisor.
            exact = sum_kind(kind)
            value = convert(b, value, kind, exact)
            value = average(b, value, b.constant(exact.compute, self.divisor, lanes), exact)
            value = convert(b, value, exact, kind)
        own = dict(zip(self.kept, coords, strict=True))
        place = at(
            shape_of(self.op.results[0]), [own.get(axis, 0) for axis in self.out_axes], lanes
        )
        self.sink(place, convert(b, value, kind, element_of(self.op.operands[0])))

    def reduce_columns(self) -> None:
        """The last axis is kept: lanes are neighbouring results."""
        ctx, b, shape, kept = self.ctx, self.ctx.b, self.shape, self.kept

        def block(outer: tuple[Index, ...], start: Index, width: int) -> None:
            def element_at(indices: tuple[Index, ...], column: Index, lanes: int) -> SSAValue:
                coords = [*outer, b.add(start, column)]
                own = dict(zip([*kept, *self.axes], [*coords, *indices], strict=True))
                return self.load(at(shape, [own[axis] for axis in range(len(shape))], lanes))

            extents = [shape[axis] for axis in self.axes]
            totals = fold_columns(ctx, extents, width, self.reducer, self.kind, element_at)
            for column, value in totals:
                self.finish((*outer, b.add(start, column)), value)

        outer = [shape[axis] for axis in kept[:-1]]
        width = ACCUMULATORS * ctx.target.lanes(self.kind.bytes)
        ctx.vector_tasks(outer, shape[-1], width, block)

    def reduce_rows(self) -> None:
        """The last axis is reduced: lanes are neighbours that become one result."""
        ctx, shape, kept = self.ctx, self.shape, self.kept
        tail = axes_of_row(ctx, self.op.operands[0], self.axes)
        outer_axes = list(self.axes[: len(self.axes) - tail])
        length = prod(shape[len(shape) - tail :])

        def element_at(
            coords: tuple[Index, ...], indices: tuple[Index, ...], offset: Index, lanes: int
        ) -> SSAValue:
            own = dict(zip([*kept, *outer_axes], [*coords, *indices], strict=True))
            before = tuple(own[axis] for axis in range(len(shape) - tail))
            return self.load(Position(shape, before, offset if tail else 0, lanes))

        extents, outer = ([shape[axis] for axis in each] for each in (kept, outer_axes))
        rows, terms = Rows(ctx, extents, outer, length), [Term(self.reducer, self.kind)]
        if rows.is_cut:
            totals = rows.reduce_parts(terms, lambda coords: partial(element_at, coords))
            ctx.tasks(extents, lambda coords: self.finish(coords, *totals.of(coords)))
            return

        def one(coords: tuple[Index, ...]) -> None:
            elements = partial(element_at, coords)
            self.finish(coords, *reduce_elements(ctx, outer, length, terms, elements))

        ctx.tasks(extents, one)


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
    rank = len(shape_of(op.operands[0]))
    kept = [axis for axis in range(rank) if axis not in axes]
    if out_axes is None:
        out_axes = range(rank) if len(shape_of(op.results[0])) == rank else kept
    code = _Axes(ctx, op, axes, reducer, sink, kind, divisor, out_axes, term)
    if kept and kept[-1] == rank - 1:
        code.reduce_columns()
    else:
        code.reduce_rows()


def _emit(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, reduction.ReductionOp)
        axes, kind = op.reduced_axes, wide(element_of(op.data))
        count = prod(shape_of(op.data)[axis] for axis in axes) if mean else None
        if count is not None and not kind.is_float:
            # For no elements: 0, where floating point has NaN.
            count = larger(count, 1, of_empty=True)
        reduce_axes(ctx, op, axes, reducer, sink, kind, count)

    return (Implementation("loops", emit),)


def _emit_global(reducer: Reducer, *, mean: bool = False) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, GlobalPool2DOp)
        source, shape = element_of(op.data), shape_of(op.data)
        axes = sorted(op.data_layout.index(name) for name in "HW")
        kind = sum_kind(source) if mean else wide(source)
        count = max(prod(shape[axis] for axis in axes), 1) if mean else None
        reduce_axes(ctx, op, axes, reducer, sink, kind, count)

    return (Implementation("loops", emit),)


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
    GlobalAvgPool2DOp: _emit_global(SUM, mean=True),
    GlobalMaxPool2DOp: _emit_global(MAXIMUM),
}
