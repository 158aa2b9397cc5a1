"""
Loops over tensors whose elements are computed on demand: in vectors, where neighbours come from neighbours.

    rows of a padded tensor:   │ 2 │ vectors … │ 2 │        of a repeated one:   │ vectors … │ vectors … │ vectors … │

Rows that an operator makes of several stretches are computed stretch by stretch. So no vector lies on both sides of a seam, and what
rules ask about the place of a vector is known when the kernel is built. Which operators have such rows: `rows_of` in `registry.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from xdsl.ir import Operation

from xrelay.dialects.core.values import ConstantOp, TupleOp
from xrelay.dialects.elementwise import LIGHT_OPS
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import same_shape
from xrelay.dialects.tensor.unary import CastOp
from xrelay.lowering.emit.context import KernelContext, Part
from xrelay.lowering.emit.evaluate import Buffer, Leaf, element_of, leaf_element, leaf_shape
from xrelay.lowering.emit.group import Group
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position
from xrelay.lowering.math.convert import converts_quickly
from xrelay.lowering.operators.nn.norm import channel_shape
from xrelay.lowering.program.anchors import BROADCASTING, ELEMENTWISE, can_be_anchor
from xrelay.lowering.program.registry import breaks_rows, rows_of
from xrelay.lowering.program.storage import leaves_of


@dataclass(frozen=True)
class Rest:
    """
    The part of a result that a kernel computes: all but the first so many elements along an axis, which are there. Where all
    are, an operator replaces some of them.
    """

    axis: int
    first: int


def is_light(ctx: KernelContext, op: Operation) -> bool:
    """Whether an operator is a few instructions."""
    if not isinstance(op, CastOp):
        return isinstance(op, LIGHT_OPS)
    old, new = element_of(op.data), element_of(op.result)
    return converts_quickly(ctx.b, old, new)


def emit_on_demand(
    ctx: KernelContext, group: Group, results: dict[Leaf, Buffer], rest: Rest | None = None
) -> None:
    """Loops over all elements of tensors of one shape, or a part. What they share is computed once."""
    buffers = list(results.values())
    shape = buffers[0].shape
    if 0 in shape:
        return
    span = min(_widest_span(group, shape), *(_dense_span(ctx, buffer) for buffer in buffers))
    if rest is not None:
        span = min(span, len(shape) - rest.axis)
    outer, inner = shape[: len(shape) - span], prod(shape[len(shape) - span :])
    before: list[Index] = [0] * (len(outer) + 1)
    if rest is not None and rest.axis < len(outer):
        before[rest.axis] = rest.first
        length = outer[rest.axis] - rest.first
        outer = (*outer[: rest.axis], length, *outer[rest.axis + 1 :])
    elif rest is not None:
        before[-1] = skipped = rest.first * prod(shape[rest.axis + 1 :])
        inner -= skipped

    def elements(indices: tuple[Index, ...], start: Index, width: int) -> None:
        indices = tuple(map(ctx.b.add, indices, before))
        start = ctx.b.add(start, before[-1])
        position = Position(shape, indices, start, width)
        values = [ctx.ev.get(leaf, position) for leaf in results]
        for buffer, value in zip(buffers, values, strict=True):
            ctx.store(buffer, position, value)

    on_demand = [op for op in group.ops if (op.results[0], 0) not in ctx.ev.buffers]
    computes_much = any(
        isinstance(op, ELEMENTWISE) and not is_light(ctx, op) and can_be_anchor(op, group)
        for op in on_demand
    )
    begins_in_rows = rest is not None and rest.axis >= len(outer)
    cut = None if begins_in_rows else _cut_operator(group, on_demand, shape)
    whole = [op for op in on_demand if op is not cut]
    # Vectors are put together only where much is computed of them.
    lanes = 1 if any(map(breaks_rows, whole)) and not computes_much else _widest_lanes(ctx, group)
    rows = None if cut is None else rows_of(cut)
    if rows is None:
        ctx.vector_tasks(outer, inner, lanes, elements)
        return
    starts = [0, *accumulate(rows.lengths)]
    parts = list(map(Part, starts, rows.lengths))

    def repeated(indices: tuple[Index, ...], start: Index, width: int) -> None:
        *own, number = indices
        elements(tuple(own), ctx.b.add(ctx.b.mul(number, starts[-1]), start), width)

    ctx.row_tasks((*outer, rows.repeats), parts, lanes, repeated)


def _cut_operator(
    group: Group, on_demand: Sequence[Operation], shape: tuple[int, ...]
) -> Operation | None:
    """The first operator that makes rows of several stretches, and whose rows are those of the result."""
    for op in on_demand:
        is_own = rows_of(op) is not None and can_be_anchor(op, group)
        if is_own and same_shape(leaf_shape((op.results[0], 0)), shape):
            return op
    return None


def _dense_span(ctx: KernelContext, result: Buffer) -> int:
    """How many of the last axes have no gaps in any tensor of the rank of the result."""
    rank = len(result.shape)
    formats = [buffer.format for buffer in (result, *ctx.ev.buffers.values())]
    return min(each.dense_axes for each in formats if len(each.shape) == rank)


def _widest_lanes(ctx: KernelContext, group: Group) -> int:
    """As many lanes as fit for the widest elements."""
    leaves = leaves_of(*group.values)
    return ctx.target.lanes(max(leaf_element(leaf).bytes for leaf in leaves))


def _widest_span(group: Group, shape: tuple[int, ...]) -> int:
    """
    How many of the last axes can be run through as one: those on which every operand of the
    group either has all the lengths of the result or only lengths of 1.
    """
    rank = len(shape)
    span = rank
    for op in group.ops:
        puts_together = isinstance(op, TupleOp) and op.result is group.result
        if isinstance(op, ConstantOp) or puts_together:
            continue
        if not isinstance(op, BROADCASTING) or not same_shape(
            leaf_shape((op.results[0], 0)), shape
        ):
            return 1 if rank else 0
        for i in range(len(op.operands)):
            operand = channel_shape(op, i) or leaf_shape((op.operands[i], 0))
            padded = (1,) * (rank - len(operand)) + operand
            while span > 1 and not (
                same_shape(padded[rank - span :], shape[rank - span :])
                or all(certainly(dim, 1) for dim in padded[rank - span :])
            ):
                span -= 1
    return span
