"""
Depthwise convolution of blocked images: every channel with its own filter.

    for image, block of channels, tile of positions:          # the threads share these
        registers [positions] = 0
        for group of rows of the filter:
            for column of the image that the tile meets:
                load its vector once, use it for every tap of the row that meets it

Lanes are channels. A group is one row, or two of bf16, whose elements of a channel lie in one lane.
"""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import shape_of
from xrelay.lowering.emit.format import Spacing
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import DepthwiseBlocks, blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import NO_DOT, ChannelDot, channel_dot
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.tile_code import TileAt
from xrelay.lowering.loops.tile_grid import NARROW_IMAGES, Place, TileGrid
from xrelay.lowering.loops.tiles import converted, emit_tiles
from xrelay.lowering.loops.tiling import (
    LOAD_CYCLES,
    MULTIPLY_ADDS_PER_CYCLE,
    TILE_CYCLES,
    Tiling,
    tile_parameters,
)
from xrelay.lowering.operators.conv.geometry import Convolution, blocks_refusal, packing_refusal

MOST_COLUMNS = 16
"""Wider tiles are more code and no faster."""


def _refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    dot = _dot(conv, site.target)
    if dot is None:
        return NO_DOT
    lanes = site.target.lanes(dot.total.bytes)
    return (
        unless(conv.is_depthwise, "not depthwise")
        or blocks_refusal(conv, lanes)
        or packing_refusal(site)
    )


def _dot(conv: Convolution, target: Target) -> ChannelDot | None:
    """How its products are summed; None where only general code does so."""
    return channel_dot(target, conv.image, conv.weight, conv.kind)


def _spacing(site: Site) -> Spacing:
    """The zeros that a convolution wants around its images."""
    return Spacing(Convolution.of(site.op).halo)


def _tiling(conv: Convolution, target: Target) -> Tiling:
    """The width of tiles that computes the fewest positions twice; among equals the widest."""
    (height, width), dot = conv.likely.positions, _dot(conv, target)
    assert dot is not None
    steps = dot.steps(conv.taps[0])
    registers = target.vector_registers - conv.taps[1] - 4
    best: Tiling | None = None
    for columns in range(1, max(1, min(width, registers, MOST_COLUMNS)) + 1):
        met = (columns - 1) * conv.strides[1] + (conv.taps[1] - 1) * conv.dilation[1] + 1
        row = columns * conv.taps[1] / MULTIPLY_ADDS_PER_CYCLE + (met + conv.taps[1]) * LOAD_CYCLES
        cycles = height * blocks(width, columns) * (steps * row + TILE_CYCLES + columns)
        if best is None or cycles <= best.cycles:
            best = Tiling(1, columns, 1, cycles)
    assert best is not None
    return best


def _tile(conv: Convolution, target: Target, parameters: Parameters) -> Tiling:
    """The tile that parameters state."""
    return tile_parameters(
        parameters, _tiling(conv, target), 1, conv.likely.positions[1], 1, ("", "columns", "")
    )


def _parameters(site: Site, parameters: Parameters) -> None:
    conv = Convolution.at(site)
    if not conv.is_empty:
        _tile(conv, site.target, parameters)


def _cost(site: Site) -> float:
    conv = Convolution.at(site)
    lanes = conv.out_lanes
    assert lanes is not None
    cycles = _tiling(conv, site.target).cycles * conv.images * blocks(conv.out_channels, lanes)
    return cycles * site.target.cycle_seconds


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp)
    conv, b = Convolution.of(op), ctx.b
    dot, lanes, out_shape = _dot(conv, ctx.target), conv.out_lanes, shape_of(op.result)
    assert dot is not None and lanes is not None
    image = with_zeros(ctx, op.data, conv.halo, dot.image)
    weights = ctx.packed(op.weight, DepthwiseBlocks(lanes, dot.group))
    tiling = _tile(conv, ctx.target, ctx.parameters)
    strides = image.format.strides
    top, left, _, _ = conv.pads
    rows, columns = conv.taps
    step = lanes * dot.group

    def tile(where: TileAt, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (n, block, _), y, x = where.place, where.y, where.x
        start = b.add(
            image.origin(b, (n, block)),
            b.add(
                b.mul(b.sub(b.mul(y, conv.strides[0]), top), strides[2]),
                b.mul(b.sub(b.mul(x, conv.strides[1]), left), strides[3]),
            ),
        )
        pixels = b.address(image.pointer, start, dot.image.storage)
        filters = b.address(
            weights, b.mul(block, dot.steps(rows) * columns * step), dot.weight.storage
        )

        def filter_rows(group: Index, totals: Sequence[SSAValue], count: int) -> Sequence[SSAValue]:
            result, first = list(totals), b.mul(group, dot.group)
            lines = [
                b.address(
                    pixels,
                    b.mul(b.add(first, i), conv.dilation[0] * strides[2]),
                    dot.image.storage,
                )
                for i in range(count)
            ]
            taps = b.address(filters, b.mul(group, columns * step), dot.weight.storage)
            factors = [dot.weights(b, taps, j * step, lanes) for j in range(columns)]
            for column, uses in _columns_met(conv, where.columns):
                vector = dot.column(b, lines, column * strides[3], lanes)
                for p, j in uses:
                    result[p] = dot.step(b, vector, factors[j], result[p])
            return result

        groups, rest = divmod(rows, dot.group)
        sums = b.fold(0, groups, 1, sums, lambda i, totals: filter_rows(i, totals, dot.group))
        return filter_rows(groups, sums, rest) if rest else sums

    def place_of(place: Place, y: Index, x: Index, _: Index, __: int) -> Position:
        n, block, _ = place
        return Position(out_shape, (n, block, y, x), 0, lanes)

    grid = TileGrid(
        (conv.images, blocks(conv.out_channels, lanes)),
        *conv.positions,
        tiling,
        1,
        lanes * dot.image.bytes,
        0,
        narrow=NARROW_IMAGES,
    )
    finish = converted(b, sink, dot.total, conv.kind)
    emit_tiles(ctx, grid, dot, lanes, tile, place_of, finish)


def _columns_met(
    conv: Convolution, columns: Sequence[int]
) -> list[tuple[int, list[tuple[int, int]]]]:
    """The columns of an image that positions in a row meet, each with the positions and the taps that meet it."""
    met = [
        (column * conv.strides[1] + j * conv.dilation[1], (p, j))
        for p, column in enumerate(columns)
        for j in range(conv.taps[1])
    ]
    if is_open(columns[-1]):
        return [(column, [use]) for column, use in met]
    uses: dict[int, list[tuple[int, int]]] = {}
    for column, use in met:
        uses.setdefault(column, []).append(use)
    return sorted(uses.items())


DEPTHWISE = Implementation("depthwise", _emit, 30, _refusal, _cost, _spacing, _parameters)
