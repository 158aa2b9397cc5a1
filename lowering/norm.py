"""Kernel code of bias, normalisation, softmax and dropout."""

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from xrelay.dialects import norm
from xrelay.lowering.binary import add, multiply, multiply_add, power, subtract
from xrelay.lowering.builder import Index
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import wide
from xrelay.lowering.evaluate import (
    Demand,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    leaf_shape,
    shape_of,
)
from xrelay.lowering.position import Position, at
from xrelay.lowering.reduction import MAXIMUM, SUM, reduce_elements
from xrelay.lowering.strategy import Implementation, KernelContext, Sink, Strategy


def _channel(ev: Evaluator, value: SSAValue, axis: int, position: Position) -> Rule:
    """The elements of a vector that belong to a position of a tensor with it along `axis`."""
    b, shape = ev.b, shape_of(value)
    if axis < len(position.outer):
        scalar = yield Demand((value, 0), at(shape, [position.outer[axis]]))
        return b.splat(scalar, position.lanes)
    if position.in_row:
        last = axis == len(position.shape) - 1
        start = position.coords(b)[axis]
        own = at(shape, [start], position.lanes if last else 1)
        return b.splat((yield Demand((value, 0), own)), position.lanes)
    lanes = [position.lane(b, i).coords(b)[axis] for i in range(position.lanes)]
    return (yield from ev.each_lane((value, 0), [at(shape, [lane]) for lane in lanes]))


def _bias_add(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, norm.BiasAddOp)
    kind = element_of(op.data)
    data = yield Demand((op.data, 0), position)
    bias = yield from _channel(ev, op.bias, op.channel_axis, position)
    x, y = (convert(ev.b, value, kind, wide(kind)) for value in (data, bias))
    return convert(ev.b, add(ev.b, x, y, wide(kind)), wide(kind), kind)


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
    norm.BatchNormOp: _batch_norm,
    norm.DropoutOp: _dropout,
}


def channel_shape(op: Operation, operand: int) -> tuple[int, ...] | None:
    """The shape that a per-channel operand broadcasts from; None for other operands."""
    if operand == 0 or not isinstance(op, norm.BiasAddOp | norm.BatchNormOp):
        return None
    shape = leaf_shape((op.results[0], 0))
    return tuple(dim if axis == op.channel_axis else 1 for axis, dim in enumerate(shape))


def _softmax(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Three passes over each row: the maximum, the sum of exponentials, the result."""
    assert isinstance(op, norm.SoftmaxFamilyOp)
    b, shape, axis = ctx.b, shape_of(op.data), op.normalized_axis
    source = element_of(op.data)
    kind = wide(source)
    logarithmic = isinstance(op, norm.LogSoftmaxOp)
    lanes = ctx.target.lanes(kind.bytes)

    def load(position: Position) -> SSAValue:
        return convert(b, ctx.ev.get((op.data, 0), position), source, kind)

    def exponential(value: SSAValue, peak: SSAValue, width: int) -> SSAValue:
        return b.insert(math.ExpOp(subtract(b, value, b.splat(peak, width), kind))).result

    def finish(position: Position, peak: SSAValue, total: SSAValue) -> None:
        width = position.lanes
        value = load(position)
        if logarithmic:
            log = b.insert(math.LogOp(b.splat(total, width))).result
            result = subtract(b, subtract(b, value, b.splat(peak, width), kind), log, kind)
        else:
            raised = exponential(value, peak, width)
            result = b.insert(arith.DivfOp(raised, b.splat(total, width))).result
        sink(position, convert(b, result, kind, source))

    def along_last_axis(outer: tuple[Index, ...]) -> None:
        def element_at(_: tuple[Index, ...], offset: Index, width: int) -> SSAValue:
            return load(at(shape, [*outer, offset], width))

        peak = reduce_elements(ctx, [], shape[-1], MAXIMUM, kind, element_at)

        def raised_at(none: tuple[Index, ...], offset: Index, width: int) -> SSAValue:
            return exponential(element_at(none, offset, width), peak, width)

        total = reduce_elements(ctx, [], shape[-1], SUM, kind, raised_at)
        ctx.vectors(
            shape[-1],
            lanes,
            lambda start, width: finish(at(shape, [*outer, start], width), peak, total),
        )

    def across_rows(outer: tuple[Index, ...]) -> None:
        def columns(start: Index, width: int) -> None:
            def position(i: Index) -> Position:
                return at(shape, [*outer[:axis], i, *outer[axis:], start], width)

            def peak_step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [MAXIMUM.combine(b, values[0], load(position(i)), kind)]

            def sum_step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [add(b, values[0], exponential(load(position(i)), peak, width), kind)]

            lowest = b.constant(kind.compute, MAXIMUM.neutral(kind), width)
            peak = b.fold(0, shape[axis], 1, [lowest], peak_step)[0]
            total = b.fold(0, shape[axis], 1, [b.constant(kind.compute, 0, width)], sum_step)[0]
            with b.loop(0, shape[axis]) as i:
                finish(position(i), peak, total)

        ctx.vectors(shape[-1], lanes, columns)

    if axis == len(shape) - 1:
        b.loop_nest(shape[:-1], along_last_axis)
    else:
        b.loop_nest([*shape[:axis], *shape[axis + 1 : -1]], across_rows)


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

    def elements(coords: tuple[Index, ...], lanes: int) -> None:
        center = coords[axis]
        first = b.larger(b.sub(center, before), 0)
        stop = b.smaller(b.add(center, after + 1), shape[axis])

        def step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = load([*coords[:axis], i, *coords[axis + 1 :]], lanes)
            return [multiply_add(b, value, value, values[0], kind)]

        zero = b.constant(kind.compute, 0, lanes)
        squares = b.fold(first, stop, 1, [zero], step)[0]
        scale = b.constant(kind.compute, op.alpha.value.data / size, lanes)
        bias = b.constant(kind.compute, op.bias.value.data, lanes)
        base = add(b, bias, multiply(b, scale, squares, kind), kind)
        beta = b.constant(kind.compute, op.beta.value.data, lanes)
        value = load(coords, lanes)
        result = b.insert(arith.DivfOp(value, power(b, base, beta, kind))).result
        sink(at(shape, coords, lanes), convert(b, result, kind, source))

    # Along the last axis the window of every lane is another one.
    width = 1 if axis == last else ctx.target.lanes(kind.bytes)
    b.loop_nest(
        shape[:-1],
        lambda outer: ctx.vectors(
            shape[last], width, lambda start, lanes: elements((*outer, start), lanes)
        ),
    )


STRATEGIES: dict[type[Operation], Strategy] = {
    norm.SoftmaxOp: (Implementation("three-pass", _softmax),),
    norm.LogSoftmaxOp: (Implementation("three-pass", _softmax),),
    norm.LrnOp: (Implementation("window-sum", _lrn),),
}
