"""Kernel code of changes of layout."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, likely, smaller
from xrelay.dialects.tensor.layout import IMAGE, Layout, LayoutTransformOp, blocked_lanes
from xrelay.lowering.emit.context import KernelContext
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
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.loops.axis_order import AxisOrder
from xrelay.lowering.loops.transposes import transposed


def _layout_transform(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    """Every element from its own place; 0 where an axis was padded."""
    assert isinstance(op, LayoutTransformOp)
    source, target = op.layouts
    padded = padded_axes(op)
    straight = keeps_rows(source, target) and target.axes[-1].name not in padded
    if position.lanes > 1 and not (straight and position.in_row):
        return (yield from EachLane(_layout_transform)(ev, op, 0, position))
    b, names = ev.b, "".join(target.names)
    whole = AxisOrder(names, target).named(b, position.coords(b))
    places = dict(zip(names, whole, strict=True))
    inside: SSAValue | None = None
    for name, length in padded.items():
        place = places[name]
        test = b.compare_index(place, "slt", length)
        inside = test if inside is None else b.both(inside, test)
        # What is read in place of padding does not matter, but it must be there.
        places[name] = b.smaller(place, length - 1)
    coords = AxisOrder(names, source).stated(b, list(places.values()))
    value = yield Demand((op.data, 0), at(shape_of(op.data), coords, position.lanes))
    if inside is None:
        return value
    zero = b.constant(element_of(op.data).compute, 0, position.lanes)
    return b.select(inside, value, zero)


def padded_axes(op: LayoutTransformOp) -> dict[str, int]:
    """The axes that the result has padding of its own in, and their lengths in `data`."""
    source, target = op.layouts
    before = source.lengths(shape_of(op.data))
    after = target.lengths(shape_of(op.result))
    return {name: length for name, length in before.items() if length < after[name]}


def keeps_rows(source: Layout, target: Layout) -> bool:
    """Whether neighbours in a row of `target` are neighbours in a row of `source`."""
    old, new = source.axes[-1], target.axes[-1]
    if old.name != new.name:
        return False
    if new.block is None:
        return old.block is None and old.name not in target.blocks
    return old.block is None or old.block % new.block == 0


# -- tiles of vectors, transposed in registers -------------------------------------------------


def _blocked_lanes(op: LayoutTransformOp) -> tuple[int, bool] | None:
    """The channels in a block, and whether the transform goes into blocks; None for others."""
    source, target = op.layouts
    before, after = blocked_lanes(source), blocked_lanes(target)
    if before is not None and str(target) == IMAGE:
        return before, False
    if after is not None and str(source) == IMAGE:
        return after, True
    return None


def _tiles_refusal(site: Site) -> str | None:
    """For images of f32 with blocks of whole vectors, and rows enough for a tile."""
    op, lanes = site.op, site.target.lanes(4)
    assert isinstance(op, LayoutTransformOp)
    blocks = _blocked_lanes(op)
    if blocks is None:
        return "neither into nor out of blocks of channels"
    _, _, height, width, *_ = shape_of(op.data)
    return (
        unless(op.data.type.element_type == f32, "elements not f32")
        or unless(lanes > 1 and blocks[0] % lanes == 0, "blocks are not whole vectors")
        or unless(likely(height * width) >= lanes, "images smaller than a tile")
    )


def _tiles(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """
    A tile is one vector of pixels for each channel of a vector; transposed, it is one vector of
    channels for each pixel. The last tile of an image overlaps the one before it; images that turn out to be smaller are
    moved element by element.
    """
    assert isinstance(op, LayoutTransformOp)
    blocks = _blocked_lanes(op)
    assert blocks is not None
    block, inwards = blocks
    b, lanes = ctx.b, ctx.target.lanes(4)
    source, target = shape_of(op.data), shape_of(op.result)
    plane, images = (source, target) if inwards else (target, source)
    batch, channels, height, width = plane
    pixels = height * width
    zero = b.constant(f32, 0, lanes)

    def tile(n: Index, channel: Index, number: Index, present: int) -> None:
        """`present` channels of a vector from `channel` on, at one vector of pixels."""
        first = b.smaller(b.mul(number, lanes), pixels - lanes)
        planes = [Position(plane, (n, b.add(channel, i)), first, lanes) for i in range(present)]
        places: list[Position] = []
        for i in range(lanes):
            row, column = b.unflatten(b.add(first, i), (height, width))
            place = (n, b.div(channel, block), row, column, b.mod(channel, block))
            places.append(at(images, place, lanes))
        come, go = (planes, places) if inwards else (places, planes)
        vectors = [ctx.ev.get((op.data, 0), position) for position in come]
        vectors += [zero] * (lanes - len(vectors))
        for position, vector in zip(go, transposed(b, vectors), strict=False):
            sink(position, vector)

    padded, fit = images[1] * block, all_fit(lanes, [pixels])
    for start, stop, present in (
        (0, channels // lanes, lanes),
        (channels // lanes, -(-channels // lanes), channels % lanes),
        (-(-channels // lanes), padded // lanes, 0),
    ):
        extents = (batch * fit, stop - start, -(-pixels // lanes))
        ctx.tasks(
            extents,
            lambda i, start=start, present=present: tile(
                i[0], b.mul(b.add(i[1], start), lanes), i[2], present
            ),
        )
    otherwise_each_element(ctx, op, sink, fit)


def all_fit(size: int, lengths: Sequence[int]) -> int:
    """1 where all lengths are at least a size, 0 elsewhere: those that are not known before the program runs may be less."""
    return prod(smaller(1, length // size) for length in lengths)


def otherwise_each_element(ctx: KernelContext, op: Operation, sink: Sink, fit: int) -> None:
    """Every element by the rule, where `fit` is 0."""
    if not certainly(fit, 1):
        with ctx.b.loop(0, 1 - fit):
            each_element(ctx, op, sink)


def each_element(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Every element by the rule."""
    leaf = (op.results[0], 0)
    shape = shape_of(op.results[0])
    ctx.tasks(shape, lambda coords: sink(at(shape, coords), ctx.ev.get(leaf, at(shape, coords))))


RULES: dict[type[Operation], RuleFunction] = {LayoutTransformOp: _layout_transform}
STRATEGIES: dict[type[Operation], Strategy] = {
    LayoutTransformOp: (
        Implementation("element by element", each_element, plevel=5),
        Implementation("transposed tiles", _tiles, refusal=_tiles_refusal),
    )
}
