"""Kernel code of the sampling of images at computed places."""

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.image import sampling
from xrelay.dialects.image.resize import CUBIC, LINEAR, NEAREST
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.math.interpolation import (
    FAR,
    MARGIN,
    Tap,
    blended,
    clamped,
    extent,
    floor,
    raw_taps,
    taps,
)
from xrelay.lowering.math.lanes import Lanes

METHODS = {"nearest": NEAREST, "bilinear": LINEAR, "bicubic": CUBIC}


def _affine_grid(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, sampling.AffineGridOp)
    b = ev.b
    if not position.in_row:
        return (yield from EachLane(_affine_grid)(ev, op, 0, position))
    kind = element_of(op.data)
    computed, lanes = wide(kind), position.lanes
    image, number, row, column = position.coords(b)
    factors: list[SSAValue] = []
    for i in range(3):
        raw = yield Demand((op.data, 0), at(shape_of(op.data), (image, number, i)))
        factors.append(b.splat(convert(b, raw, kind, computed), lanes))

    def coordinate(index: Index, step: float, *, vector: bool) -> SSAValue:
        whole = b.splat(b.index(index), lanes)
        if vector and lanes > 1:
            whole = add(b, whole, b.lane_numbers(lanes), INDEX)
        scaled = convert(b, whole, INDEX, computed)
        moved = multiply(b, scaled, b.constant(computed.compute, step, lanes), computed)
        return add(b, moved, b.constant(computed.compute, -1.0, lanes), computed)

    y = coordinate(row, op.steps[0], vector=False)
    x = coordinate(column, op.steps[1], vector=True)
    products = [
        multiply(b, factor, c, computed) for factor, c in zip(factors, (x, y), strict=False)
    ]
    linear = add(b, products[0], products[1], computed)
    result = add(b, linear, factors[2], computed)
    return convert(b, result, computed, kind)


def _reflected(b: KernelBuilder, c: SSAValue, length: int, *, corners: bool) -> SSAValue:
    """A coordinate mirrored at the corners of an axis until it is between them."""
    v = Lanes.of(b, c)
    start, whole = (0.0, length - 1) if corners else (-0.5, length)
    if whole == 0:
        return v.number(0.0)
    size = extent(v, whole)
    distance = v.abs(v.sub(c, v.number(start)))
    times = floor(b, v.div(distance, size))
    rest = v.sub(distance, v.mul(times, size))
    even = v.mul(v.number(2.0), floor(b, v.div(times, v.number(2.0))))
    odd = b.compare_floats(v.sub(times, even), "oeq", v.number(1.0))
    return v.add(b.select(odd, v.sub(size, rest), rest), v.number(start))


def _axis_taps(
    b: KernelBuilder, op: sampling.GridSampleOp, place: SSAValue, length: int, kind: Element
) -> list[Tap]:
    """The elements of an axis and their weights; those outside of it are 0."""
    corners, mode = bool(op.align_corners.value.data), op.padding_mode.data
    v = Lanes.of(b, place)
    size = extent(v, length - 1 if corners else length)
    c = v.div(v.mul(v.add(place, v.number(1.0)), size), v.number(2.0))
    if not corners:
        c = v.sub(c, v.number(0.5))
    method = METHODS[op.method.data]
    if method != CUBIC and mode != "zeros":
        if mode == "reflection":
            c = _reflected(b, c, length, corners=corners)
        c = v.at_most(v.at_least(c, 0.0), extent(v, length - 1))
    margin = FAR if mode == "reflection" else MARGIN
    raw = raw_taps(b, c, length, method, rounding="even", alpha=-0.75, margin=margin)
    if method == CUBIC and mode != "zeros":
        raw = [(_moved(b, index, length, mode, corners=corners), weight) for index, weight in raw]
    return taps(b, raw, length, kind, outside_is_zero=True)


def _moved(b: KernelBuilder, index: SSAValue, length: int, mode: str, *, corners: bool) -> SSAValue:
    """The index of an element within an axis for one that may be outside of it."""
    if mode == "reflection":
        mirrored = _reflected(b, convert(b, index, INDEX, REAL), length, corners=corners)
        index = convert(b, mirrored, REAL, INDEX)
    return clamped(b, index, length)


def _grid_sample(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, sampling.GridSampleOp)
    b, shape, source_shape = ctx.b, shape_of(op.result), shape_of(op.data)
    kind = element_of(op.data)
    computed, axes = wide(kind), len(shape) - 2
    data, grid = ctx.in_memory(op.data), ctx.in_memory(op.grid)

    def place(indices: tuple[Index, ...]) -> None:
        image, *where = indices
        choices: list[list[Tap]] = []
        for i in range(axes):
            # The first number of a place is that along the last axis.
            offset = b.flatten((image, axes - 1 - i, *where), grid.shape)
            number = b.load(grid.pointer, offset, grid.element, 1)
            c = convert(b, number, grid.element, REAL)
            choices.append(_axis_taps(b, op, c, source_shape[2 + i], computed))
        with b.loop(0, shape[1]) as channel:

            def load(found: tuple[SSAValue, ...], inside: SSAValue | None) -> SSAValue:
                offset = b.flatten((image, channel, *found), source_shape)
                value = b.load(data.pointer, offset, kind, 1)
                value = convert(b, value, kind, computed)
                assert inside is not None
                return b.select(inside, value, b.constant(computed.compute, 0.0))

            value = blended(b, choices, computed, 1, load)
            coords = (image, channel, *where)
            sink(at(shape, coords), convert(b, value, computed, kind))

    ctx.tasks((shape[0], *shape[2:]), place)


RULES: dict[type[Operation], RuleFunction] = {sampling.AffineGridOp: _affine_grid}

STRATEGIES: dict[type[Operation], Strategy] = {
    sampling.GridSampleOp: (Implementation("gather", _grid_sample),),
}
