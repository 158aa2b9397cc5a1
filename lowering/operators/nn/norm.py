"""Kernel code of bias, normalisation, softmax and dropout."""

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import is_open, likely
from xrelay.dialects.nn import norm
from xrelay.lowering.emit.context import KernelContext, VectorBody
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    leaf_shape,
    shape_of,
)
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Coords, Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.loops.reductions import (
    ACCUMULATORS,
    MAXIMUM,
    SUM,
    ElementAt,
    Rows,
    Term,
    reduce_elements,
)
from xrelay.lowering.loops.row_peak import largest_element, largest_elements_of_parts
from xrelay.lowering.math.arithmetic import add, multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.elementary import (
    decay_to_zero,
    natural_log,
    power_of_constant,
    reciprocal,
)
from xrelay.lowering.operators.nn import standardize


def channel_elements(ev: Evaluator, value: SSAValue, axis: int, position: Position) -> Rule:
    """
    The elements of a vector that belong to a position of a tensor with it along `axis`; a scalar
    where all lanes are known to have the same.
    """
    b, shape = ev.b, shape_of(value)
    if axis < len(position.outer):
        return (yield Demand((value, 0), at(shape, [position.outer[axis]])))
    if position.in_row:
        lanes = position.lanes if axis == len(position.shape) - 1 else 1
        return (yield Demand((value, 0), at(shape, [position.coords(b)[axis]], lanes)))
    coords = [position.lane(b, i).coords(b)[axis] for i in range(position.lanes)]
    return (yield from ev.each_lane((value, 0), [at(shape, [coord]) for coord in coords]))


def _channel(ev: Evaluator, value: SSAValue, axis: int, position: Position) -> Rule:
    """The same for every lane."""
    return ev.b.splat((yield from channel_elements(ev, value, axis, position)), position.lanes)


def _bias_add(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, norm.BiasAddOp)
    kind = element_of(op.data)
    data = yield Demand((op.data, 0), position)
    bias = yield from _channel(ev, op.bias, op.channel_axis, position)
    x, y = (convert(ev.b, value, kind, wide(kind)) for value in (data, bias))
    return convert(ev.b, add(ev.b, x, y, wide(kind)), wide(kind), kind)


def _prelu(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, norm.PReluOp)
    b, source = ev.b, element_of(op.data)
    kind = wide(source)
    data = yield Demand((op.data, 0), position)
    alpha = yield from _channel(ev, op.alpha, op.channel_axis, position)
    x, slope = (convert(b, value, source, kind) for value in (data, alpha))
    zero = b.constant(kind.compute, 0, position.lanes)
    if kind.is_float:
        positive = b.compare_floats(zero, "olt", x)
    else:
        positive = b.compare_integers(zero, "slt" if kind.signed else "ult", x)
    return convert(b, b.select(positive, x, multiply(b, x, slope, kind)), kind, source)


def _batch_norm(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
    assert isinstance(op, norm.BatchNormOp)
    if leaf:
        statistic = op.moving_mean if leaf == 1 else op.moving_var
        return (yield Demand((statistic, 0), position))
    b, axis, source = ev.b, op.channel_axis, element_of(op.data)
    kind = wide(source)

    def channel(value: SSAValue) -> Rule:
        element = yield from _channel(ev, value, axis, position)
        return convert(b, element, source, kind)

    data = convert(b, (yield Demand((op.data, 0), position)), source, kind)
    mean = yield from channel(op.moving_mean)
    variance = yield from channel(op.moving_var)
    epsilon = b.constant(kind.compute, op.epsilon.value.data, position.lanes)
    deviation = b.insert(math.SqrtOp(add(b, variance, epsilon, kind))).result
    result = b.insert(arith.DivfOp(subtract(b, data, mean, kind), deviation)).result
    if op.scale.value.data:
        gamma = yield from channel(op.gamma)
        result = multiply(b, result, gamma, kind)
    if op.center.value.data:
        beta = yield from channel(op.beta)
        result = add(b, result, beta, kind)
    return convert(b, result, kind, source)


def _dropout(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
    assert isinstance(op, norm.DropoutOp)
    if leaf == 0:
        return (yield Demand((op.data, 0), position))
    return ev.b.constant(element_of(op.data).compute, 1, position.lanes)


RULES: dict[type[Operation], RuleFunction] = {
    norm.BiasAddOp: _bias_add,
    norm.PReluOp: _prelu,
    norm.BatchNormOp: _batch_norm,
    norm.DropoutOp: _dropout,
}


def channel_shape(op: Operation, operand: int) -> tuple[int, ...] | None:
    """The shape that a per-channel operand broadcasts from; None for other operands."""
    if operand == 0 or not isinstance(op, norm.BiasAddOp | norm.BatchNormOp | norm.PReluOp):
        return None
    shape = leaf_shape((op.results[0], 0))
    return tuple(dim if axis == op.channel_axis else 1 for axis, dim in enumerate(shape))


def _softmax(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """
    Three passes over each row: the maximum, the exponentials and their sum, the result. What a
    pass computes is kept in memory of the thread for the next one.
    """
    assert isinstance(op, norm.SoftmaxFamilyOp)
    shape, axis = shape_of(op.data), op.normalized_axis
    if axis == len(shape) - 1:
        _softmax_of_rows(ctx, op, sink)
        return
    columns = _softmax_of_columns(ctx, op, sink)
    lanes = ctx.target.lanes(wide(element_of(op.data)).bytes)
    ctx.vector_tasks([*shape[:axis], *shape[axis + 1 : -1]], shape[-1], lanes, columns)


SOFTMAX_ROWS = 4
"""So many short rows go through each pass together: the passes of one wait for one another."""
SHORT_ROW = 16
"""The most vectors of one. Longer rows keep a processor busy, and its caches."""
PART_OF_ROW = 8192
"""The least elements of a part of a long row, which a thread raises in the time of some barriers."""


def _softmax_of_rows(ctx: KernelContext, op: norm.SoftmaxFamilyOp, sink: Sink) -> None:
    b, shape, kind = ctx.b, shape_of(op.data), wide(element_of(op.data))
    parts = Rows(ctx, shape[:-1], (), shape[-1], PART_OF_ROW)
    if parts.is_cut:
        _SoftmaxOfRow(ctx, op, sink, None).emit_parts(parts)
        return
    if len(shape) == 1:
        row = _SoftmaxOfRow(ctx, op, sink)
        ctx.tasks((), lambda _: row.emit([()]))
        return
    *outer, rows, length = shape
    short = likely(length) <= SHORT_ROW * ctx.target.lanes(kind.bytes)
    together = SOFTMAX_ROWS if short and (is_open(rows) or rows >= SOFTMAX_ROWS) else 1
    code = _SoftmaxOfRow(ctx, op, sink, together)
    rest = rows % together
    for start, count, size in ((0, rows // together, together), (rows - rest, rest, 1)):

        def group(task: tuple[Index, ...], start: int = start, size: int = size) -> None:
            *before, number = task
            first = b.add(b.mul(number, size), start)
            code.emit([(*before, b.add(first, i)) for i in range(size)])

        ctx.tasks((*outer, count), group)


class _SoftmaxOfRow:
    """The code for some rows, given their coordinates."""

    def __init__(
        self, ctx: KernelContext, op: norm.SoftmaxFamilyOp, sink: Sink, together: int | None = 1
    ):
        """A thread has so many rows at a time; None where the threads share the parts of each."""
        self.ctx, self.b, self.ev, self.sink = ctx, ctx.b, ctx.ev, sink
        self.leaf, self.shape = (op.data, 0), shape_of(op.data)
        self.source = element_of(op.data)
        self.kind = wide(self.source)
        self.lanes = ctx.target.lanes(self.kind.bytes)
        self.logarithmic = isinstance(op, norm.LogSoftmaxOp)
        self.is_computed = self.leaf not in self.ev.buffers
        plain = (self.kind, row_major(self.shape))
        places = [each for each in ctx.places if (each.element, each.format) == plain]
        # Rows that fill the nearest cache are kept where the result goes: one less in the next.
        is_long = 2 * likely(self.shape[-1]) * self.kind.bytes > ctx.target.l1_bytes
        self.all_rows = places[0].pointer if places and is_long else None
        if together is None:
            self.all_rows = self.all_rows or ctx.scratch(*plain).pointer
        elif self.all_rows is None:
            format = row_major((together, self.shape[-1]))
            self.own_rows = ctx.private_scratch(self.kind, format).pointer

    def emit(self, coords: Sequence[Coords]) -> None:
        """Emits the passes."""
        length = self.shape[-1]
        rows = [(outer, self._kept(outer, i)) for i, outer in enumerate(coords)]
        peaks = [largest_element(self.ctx, length, self.kind, self._elements(*row)) for row in rows]
        factors: list[SSAValue] = []
        for row, peak in zip(rows, peaks, strict=True):
            raised = self._raised(*row, peak)
            (total,) = reduce_elements(self.ctx, [], length, [Term(SUM, self.kind)], raised)
            factors.append(self._factor(total))
        for row, factor in zip(rows, factors, strict=True):
            self._finish(*row, factor, 0, length)

    def emit_parts(self, rows: Rows) -> None:
        """Emits the passes, each for all parts of all rows."""
        peak_of = largest_elements_of_parts(
            rows, self.kind, lambda outer: self._elements(outer, self._kept(outer))
        )

        def raised(outer: Coords) -> ElementAt:
            return self._raised(outer, self._kept(outer), peak_of(outer))

        totals = rows.reduce_parts([Term(SUM, self.kind)], raised)

        def finish(outer: Coords, _: Index, begin: Index, __: Coords, length: int) -> None:
            factor = self._factor(*totals.of(outer))
            self._finish(outer, self._kept(outer), factor, begin, length)

        rows.each_part(finish)

    def _kept(self, outer: Coords, number: int = 0) -> SSAValue:
        """Where a row is kept between the passes: of those that a thread has at a time, that with a number."""
        b, length = self.b, self.shape[-1]
        if self.all_rows is None:
            return b.address(self.own_rows, number * length, self.kind.storage)
        start = b.mul(b.flatten(outer, self.shape[:-1]), length)
        return b.address(self.all_rows, start, self.kind.storage)

    def _elements(self, outer: Coords, kept: SSAValue) -> Callable[[Index, int], SSAValue]:
        """The elements of a row, which are kept where they are computed."""

        def element_at(offset: Index, width: int) -> SSAValue:
            value = self._operand(outer, offset, width)
            if self.is_computed:
                self.b.store(kept, offset, self.kind, value)
            return value

        return element_at

    def _raised(self, outer: Coords, kept: SSAValue, peak: SSAValue) -> ElementAt:
        """The exponentials, which are kept, or of the logarithm the exponents."""
        b, kind = self.b, self.kind

        def raised_at(_: Coords, offset: Index, width: int) -> SSAValue:
            if self.is_computed:
                element = b.load(kept, offset, kind, width)
            else:
                element = self._operand(outer, offset, width)
            difference = subtract(b, element, b.splat(peak, width), kind)
            raised = decay_to_zero(b, difference)
            b.store(kept, offset, kind, difference if self.logarithmic else raised)
            return raised

        return raised_at

    def _factor(self, total: SSAValue) -> SSAValue:
        """What kept elements are multiplied with, or lowered by."""
        return natural_log(self.b, total) if self.logarithmic else reciprocal(self.b, total)

    def _finish(
        self, outer: Coords, kept: SSAValue, factor: SSAValue, begin: Index, length: int
    ) -> None:
        """Hands on so many results of a row, from one on."""
        b, kind, lanes = self.b, self.kind, self.lanes
        code = subtract if self.logarithmic else multiply

        def vectors(start: Index, count: int) -> None:
            for first in range(0, count, lanes):
                offset, width = b.add(start, first), min(lanes, count - first)
                value = b.load(kept, offset, kind, width)
                result = convert(b, code(b, value, b.splat(factor, width), kind), kind, self.source)
                self.sink(at(self.shape, [*outer, offset], width), result)

        self.ctx.vectors(length, ACCUMULATORS * lanes, vectors, begin)

    def _operand(self, outer: Coords, offset: Index, width: int) -> SSAValue:
        """Elements of the operand."""
        value = self.ev.get(self.leaf, at(self.shape, [*outer, offset], width))
        return convert(self.b, value, self.source, self.kind)


def _softmax_of_columns(ctx: KernelContext, op: norm.SoftmaxFamilyOp, sink: Sink) -> VectorBody:
    """The axis is not the last one: every lane is a softmax of its own."""
    b, shape, axis = ctx.b, shape_of(op.data), op.normalized_axis
    source, length = element_of(op.data), shape_of(op.data)[op.normalized_axis]
    kind = wide(source)
    logarithmic = isinstance(op, norm.LogSoftmaxOp)
    lanes = ctx.target.lanes(kind.bytes)
    kept = ctx.private_scratch(kind, row_major((length, lanes)))

    def emit(outer: tuple[Index, ...], start: Index, width: int) -> None:
        def position(i: Index) -> Position:
            return at(shape, [*outer[:axis], i, *outer[axis:], start], width)

        def peak_step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = convert(b, ctx.ev.get((op.data, 0), position(i)), source, kind)
            b.store(kept.pointer, b.mul(i, lanes), kind, value)
            return [MAXIMUM.combine(b, values[0], value, kind)]

        def sum_step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = b.load(kept.pointer, b.mul(i, lanes), kind, width)
            difference = subtract(b, value, peak, kind)
            raised = decay_to_zero(b, difference)
            b.store(kept.pointer, b.mul(i, lanes), kind, difference if logarithmic else raised)
            return [add(b, values[0], raised, kind)]

        lowest = b.constant(kind.compute, MAXIMUM.neutral(kind), width)
        peak = b.fold(0, length, 1, [lowest], peak_step)[0]
        total = b.fold(0, length, 1, [b.constant(kind.compute, 0, width)], sum_step)[0]
        factor = natural_log(b, total) if logarithmic else reciprocal(b, total)
        with b.loop(0, length) as i:
            value = b.load(kept.pointer, b.mul(i, lanes), kind, width)
            result = (subtract if logarithmic else multiply)(b, value, factor, kind)
            sink(position(i), convert(b, result, kind, source))

    return emit


def _lrn(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """A sum over the window around each element, in vectors along the last axis."""
    assert isinstance(op, norm.LrnOp)
    b, shape, axis = ctx.b, shape_of(op.data), op.normalized_axis
    source = element_of(op.data)
    kind = wide(source)
    size = op.size.value.data
    before, after = (size - 1) // 2, size // 2
    last = len(shape) - 1

    def load(coords: Sequence[Index], lanes: int) -> SSAValue:
        return convert(b, ctx.ev.get((op.data, 0), at(shape, coords, lanes)), source, kind)

    def elements(coords: tuple[Index, ...], first: Index, stop: Index, lanes: int) -> None:
        """The window reaches from `first` up to `stop` along the axis."""

        def step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = load([*coords[:axis], i, *coords[axis + 1 :]], lanes)
            return [multiply_add(b, value, value, values[0], kind)]

        zero = b.constant(kind.compute, 0, lanes)
        squares = b.fold(first, stop, 1, [zero], step)[0]
        scale = b.constant(kind.compute, op.alpha.value.data / size, lanes)
        bias = b.constant(kind.compute, op.bias.value.data, lanes)
        base = add(b, bias, multiply(b, scale, squares, kind), kind)
        divisor = power_of_constant(b, base, op.beta.value.data)
        result = b.insert(arith.DivfOp(load(coords, lanes), divisor)).result
        sink(at(shape, coords, lanes), convert(b, result, kind, source))

    def inside(coords: tuple[Index, ...], lanes: int) -> None:
        center = coords[axis]
        first = b.larger(b.sub(center, before), 0)
        elements(coords, first, b.smaller(b.add(center, after + 1), shape[axis]), lanes)

    width = ctx.target.lanes(kind.bytes)
    if axis != last:
        ctx.vector_tasks(
            shape[:-1], shape[-1], width, lambda outer, i, lanes: inside((*outer, i), lanes)
        )
        return

    def row(outer: tuple[Index, ...]) -> None:
        """The windows of neighbouring lanes are neighbours, except where they are cut off."""
        left, right = min(before, shape[-1]), max(min(before, shape[-1]), shape[-1] - after)

        def whole(i: Index, lanes: int) -> None:
            elements((*outer, i), b.sub(i, before), b.add(i, after + 1), lanes)

        for start, stop in ((0, left), (right, shape[-1])):
            if start < stop:
                with b.loop(start, stop) as i:
                    inside((*outer, i), 1)
        ctx.vectors(right - left, width, whole, left)

    ctx.tasks(shape[:-1], row)


STRATEGIES: dict[type[Operation], Strategy] = {
    norm.SoftmaxOp: (Implementation("three-pass", _softmax),),
    norm.FastSoftmaxOp: (Implementation("three-pass", _softmax),),
    norm.LogSoftmaxOp: (Implementation("three-pass", _softmax),),
    norm.LrnOp: (Implementation("window-sum", _lrn),),
    **standardize.STRATEGIES,
}
