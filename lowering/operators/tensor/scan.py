"""Kernel code of cumulative sums and products."""

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor import sort
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Coords, Position, at, linear
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.reductions import ACCUMULATORS
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import convert

Places: TypeAlias = tuple[Position, Position]
"""Where elements are read, and where what they add up to is written."""


def _scan(combine: Callable[..., SSAValue], start: int) -> Strategy:
    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, sort.ScanOp)
        b, shape, out_shape = ctx.b, shape_of(op.data), shape_of(op.result)
        source, kind = element_of(op.data), element_of(op.result)
        computed, exclusive = wide(kind), bool(op.exclusive.value.data)
        axis = None if op.axis is None else normalize_axis(op.axis.value.data, len(shape))
        length = prod(shape) if axis is None else shape[axis]

        def scan(lanes: Sequence[int], places_of: Callable[[Index, int], Places]) -> None:
            """Neighbours of each other that are scanned at once, in vectors of so many `lanes`."""

            def step(i: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
                new: list[SSAValue] = []
                for number, old in enumerate(state):
                    place, target = places_of(i, number)
                    value = convert(b, ctx.ev.get((op.data, 0), place), source, kind)
                    following = combine(b, old, convert(b, value, kind, computed), computed)
                    own = old if exclusive else following
                    sink(target, convert(b, own, computed, kind))
                    new.append(following)
                return new

            initial = [b.constant(computed.compute, start, count) for count in lanes]
            b.fold(0, length, 1, initial, step)

        def row(coords: Coords) -> None:
            def places_of(i: Index, _: int) -> Places:
                if axis is None:
                    return linear(shape, i), at(out_shape, (i,))
                place = at(shape, (*coords[:axis], i, *coords[axis:]))
                return place, place

            scan([1], places_of)

        def columns(coords: Coords, first: Index, width: int) -> None:
            vectors = [(i, min(lanes, width - i)) for i in range(0, width, lanes)]

            def places_of(i: Index, number: int) -> Places:
                column, count = vectors[number]
                own = (*coords[:axis], i, *coords[axis:], b.add(first, column))
                place = at(shape, own, count)
                return place, place

            scan([count for _, count in vectors], places_of)

        if not prod(shape):
            return
        outer = [dim for d, dim in enumerate(shape) if d != axis] if axis is not None else []
        if axis is None or axis == len(shape) - 1:
            ctx.tasks(outer or (1,), row)
        else:
            # As long parts of rows as registers hold: the next row may lie on another page of memory.
            lanes = ctx.target.lanes(computed.bytes)
            ctx.vector_tasks(outer[:-1], shape[-1], 2 * ACCUMULATORS * lanes, columns)

    return (Implementation("loops", emit),)


STRATEGIES: dict[type[Operation], Strategy] = {
    sort.CumsumOp: _scan(add, 0),
    sort.CumprodOp: _scan(multiply, 1),
}
