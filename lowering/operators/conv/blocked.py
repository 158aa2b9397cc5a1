"""
Convolution with blocked output channels: NCHW[x]c, from blocked images or, in the first layer of a
network, from NCHW ones.

    for image, group, block of positions, panel of output channels:     # the threads share these
        for tile of the block:
            registers [positions x vectors of the panel] = 0
            for block of input channels, tap, channel of the block:
                registers += element of the image (in all lanes) * vector of the panel
            hand the registers to the sink

Images have the zeros of the padding around them in memory; the last tile of a row overlaps with
the one before. Weights are packed in the order in which they are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.lowering.emit.builder import Index
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, shape_of
from xrelay.lowering.emit.packing import ConvolutionPanels, blocks
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import MultiplyAdd
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS, DepthLoop, Prefetch, accumulate
from xrelay.lowering.loops.tiles import Place, TileAt, TileGrid, emit_tiles
from xrelay.lowering.loops.tiling import (
    Tiling,
    choose_tiling,
    depth_parts,
    most_vectors,
    tile_parameters,
)
from xrelay.lowering.operators.conv.geometry import Convolution, packing_refusal, wanted_halo

IMAGE = ("rows", "columns", "vectors")
FLAT = ("", "flat_columns", "flat_vectors")
"""The parameters of a tile of an image, and of one long row: a pointwise convolution takes what the
tensors allow when they have their places, and either may have gaps between its rows."""


def _depth_parts(conv: Convolution, target: Target) -> int:
    """Into how many parts the blocks of input channels are cut."""
    whole, rest = divmod(conv.depth, conv.data_lanes or max(1, conv.depth))
    return 1 if rest else depth_parts(target, conv.steps, whole)


def _tiling(conv: Convolution, target: Target, *, flat: bool) -> Tiling:
    height, width = (1, prod(conv.positions)) if flat else conv.positions
    depth = conv.steps // _depth_parts(conv, target)
    weight_bytes = conv.steps * conv.out_blocks * target.vector_bytes
    widest = most_vectors(target, prod(conv.positions), weight_bytes)
    return choose_tiling(target, height, width, conv.out_blocks, depth, widest)


def _tile(conv: Convolution, target: Target, parameters: Parameters, *, flat: bool) -> Tiling:
    """The tile that parameters state, of an image or of one that is seen as one long row."""
    height, width = (1, prod(conv.positions)) if flat else conv.positions
    names = FLAT if flat else IMAGE
    usual = _tiling(conv, target, flat=flat)
    return tile_parameters(parameters, usual, height, width, conv.out_blocks, names)


def _parts(conv: Convolution, target: Target, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, which must be whole blocks."""
    whole, rest = divmod(conv.depth, conv.data_lanes or max(1, conv.depth))
    return parameters.number(
        "depth_parts", _depth_parts(conv, target), Divisors(1 if rest else whole)
    )


def _parameters(site: Site, parameters: Parameters) -> None:
    conv = Convolution.of(site.op)
    if conv.is_empty:
        return
    _parts(conv, site.target, parameters)
    for flat in (False, True) if conv.is_pointwise else (False,):
        _tile(conv, site.target, parameters, flat=flat)


def _refusal(site: Site) -> str | None:
    """
    Blocks of channels must not lie in two groups, and the vectors of the result are those of
    the target.
    """
    conv = Convolution.of(site.op)
    lanes = conv.out_lanes
    if lanes is None:
        return "result not in blocks"
    whole = conv.groups == 1 or (
        conv.depth % (conv.data_lanes or 1) == 0 and conv.group_channels % lanes == 0
    )
    return (
        packing_refusal(site)
        or unless(whole, "blocks lie in two groups")
        or unless(lanes == site.target.lanes(conv.kind.bytes), "blocks are not vectors")
    )


def _cost(site: Site) -> float:
    """Seconds: cycles of the tiles at the rate at which the target multiplies and adds."""
    conv = Convolution.of(site.op)
    tiling = _tiling(conv, site.target, flat=conv.is_pointwise)
    cycles = tiling.cycles * _depth_parts(conv, site.target)
    return conv.images * conv.groups * cycles * site.target.cycle_seconds


@dataclass(frozen=True)
class _Direct:
    ctx: KernelContext
    conv: Convolution
    image: Buffer
    weights: SSAValue
    panel: int
    """Output channels in a packed panel."""
    parts: int
    """Into how many parts the blocks of input channels are cut."""

    @property
    def lanes(self) -> int:
        return self.conv.data_lanes or 1

    def steps(self, first: int, count: int) -> tuple[list[DepthLoop], list[tuple[int, int]]]:
        """Channels of one block: the loop over them, and the steps in each round."""
        unrolled = UNROLLED_STEPS if count % UNROLLED_STEPS == 0 else 1
        offsets = [(first + i, (first + i) * self.panel) for i in range(unrolled)]
        return [DepthLoop(count // unrolled, unrolled, unrolled * self.panel)], offsets

    def add_part(
        self,
        image: SSAValue,
        weights: SSAValue,
        positions: Sequence[int],
        sums: Sequence[SSAValue],
        prefetch: Prefetch | None,
    ) -> Sequence[SSAValue]:
        """Adds a part of the depth for a tile whose first window begins at `image`."""
        conv, b = self.conv, self.ctx.b
        kind, dot, lanes = conv.kind, MultiplyAdd.of(conv.kind), self.lanes
        strides = self.image.format.strides
        taps = prod(conv.taps)
        vertical = DepthLoop(
            conv.taps[0], conv.dilation[0] * strides[2], conv.taps[1] * lanes * self.panel
        )
        step = conv.dilation[1] * strides[3]
        horizontal = DepthLoop(conv.taps[1], step, lanes * self.panel)
        width = conv.out_lanes or 1
        columns = [v * width for v in range(len(sums) // len(positions))]

        def add(
            x: SSAValue,
            w: SSAValue,
            loops: Sequence[DepthLoop],
            steps: Sequence[tuple[int, int]],
        ) -> None:
            nonlocal sums
            sums = accumulate(b, dot, x, w, loops, steps, positions, columns, sums, width, prefetch)

        whole, rest = divmod(conv.depth, lanes)
        outer = DepthLoop(whole // self.parts, strides[1], taps * lanes * self.panel)
        if lanes == 1:
            # Images that are not blocked: the taps of a row are the steps.
            offsets = [(i * step, i * self.panel) for i in range(conv.taps[1])]
            add(image, weights, [outer, vertical], offsets)
            return sums
        if whole:
            loop, steps = self.steps(0, lanes)
            add(image, weights, [outer, vertical, horizontal, *loop], steps)
        image = b.address(image, whole * strides[1], kind.storage)
        weights = b.address(weights, whole * taps * lanes * self.panel, kind.storage)
        even = rest - rest % UNROLLED_STEPS
        for first, count in ((0, even), (even, rest - even)):
            if count:
                loop, steps = self.steps(first, count)
                add(image, weights, [vertical, horizontal, *loop], steps)
        return sums


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp)
    conv, b = Convolution.of(op), ctx.b
    if conv.is_empty:
        return
    lanes = conv.out_lanes
    assert lanes is not None
    image = with_zeros(ctx, op.data, conv.halo, conv.kind)
    # A pointwise window sees the image as one long row.
    formats = [image.format, *(result.format for result in ctx.results)]
    inner = 3 if conv.data_lanes else 2
    flat = conv.is_pointwise and all(each.dense_axes >= inner for each in formats)
    tiling = _tile(conv, ctx.target, ctx.parameters, flat=flat)
    panel = tiling.vectors * lanes
    packing = ConvolutionPanels(panel, conv.data_lanes or 1, conv.groups)
    weight_shape = shape_of(op.weight)
    weights = ctx.packed(op.weight, packing)
    parts = _parts(conv, ctx.target, ctx.parameters)
    direct = _Direct(ctx, conv, image, weights, panel, parts)
    out_shape = shape_of(op.result)
    panels = blocks(conv.out_blocks, tiling.vectors)
    panel_elements = packing.elements(weight_shape) // (conv.groups * panels)
    strides = image.format.strides
    top, left, _, _ = conv.pads
    group_blocks = conv.depth // direct.lanes

    def tile(where: TileAt, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (n, group, number), y, x, part = where.place, where.y, where.x, where.part
        first = b.mul(part, group_blocks // parts)
        coords = (n, b.add(b.mul(group, group_blocks), first))
        start = b.add(
            image.origin(b, coords),
            b.add(
                b.mul(b.sub(b.mul(y, conv.strides[0]), top), strides[2]),
                b.mul(b.sub(b.mul(x, conv.strides[1]), left), strides[3]),
            ),
        )
        weight = b.add(
            b.mul(b.add(b.mul(group, panels), number), panel_elements),
            b.mul(part, panel_elements // parts),
        )
        return direct.add_part(
            b.address(image.pointer, start, conv.kind.storage),
            b.address(weights, weight, conv.kind.storage),
            [
                row * conv.strides[0] * strides[2] + column * conv.strides[1] * strides[3]
                for row in range(tiling.rows)
                for column in range(tiling.columns)
            ],
            sums,
            where.prefetch,
        )

    def place_of(place: Place, y: Index, x: Index, vector: Index, _: int) -> Position:
        n, group = place[:2]
        block = b.add(b.mul(group, conv.out_blocks), vector)
        if flat:
            return Position(out_shape, (n, block), b.mul(x, lanes), lanes, in_one_row=True)
        return Position(out_shape, (n, block, y, x), 0, lanes)

    height, width = (1, prod(conv.positions)) if flat else conv.positions
    # Windows of one tap skip what lies between them.
    met = prod(map(min, conv.strides, conv.taps))
    position_bytes = conv.depth // parts * met * conv.kind.bytes
    grid = TileGrid(
        (conv.images, conv.groups),
        height,
        width,
        tiling,
        conv.out_blocks,
        position_bytes,
        packing.elements(weight_shape) // conv.groups * conv.kind.bytes,
        parts,
        panel_elements // parts,
        (UNROLLED_STEPS if direct.lanes > 1 else conv.taps[1]) * panel,
    )
    emit_tiles(ctx, grid, MultiplyAdd.of(conv.kind), lanes, tile, place_of, sink)


DIRECT_BLOCKED = Implementation("blocked", _emit, 20, _refusal, _cost, wanted_halo, _parameters)
