"""
Convolution with blocked output channels: NCHW[x]c, from blocked images or, in the first layer of a
network, from NCHW ones.

    for image, group, block of positions, panel of output channels:     # the threads share these
        for tile of the block:
            registers [positions x vectors of the panel] = 0
            for block of input channels, tap, group of channels of the block:
                registers += group of the image (in all lanes) * vector of the panel
            hand the registers to the sink

Images have the zeros of the padding around them in memory; the last tile of a row overlaps with
the one before. Weights are packed in the order in which they are read. In NCHW, where neighbours in
memory are columns, a group are taps of a row of the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, shape_of
from xrelay.lowering.emit.format import NO_SPACING, Halo, Spacing
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import ConvolutionPanels, blocks
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import NO_DOT, Dot, dot_of
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS, DepthLoop, Prefetch, accumulate
from xrelay.lowering.loops.tiles import Place, TileAt, TileGrid, converted, emit_tiles
from xrelay.lowering.loops.tiling import (
    Tiling,
    choose_tiling,
    depth_parts,
    most_vectors,
    tile_parameters,
)
from xrelay.lowering.operators.conv.geometry import Convolution, packing_refusal

IMAGE = ("rows", "columns", "vectors")
FLAT = ("", "flat_columns", "flat_vectors")
"""The parameters of a tile of an image, and of one long row: a pointwise convolution takes what the
tensors allow when they have their places, and either may have gaps between its rows."""


@dataclass(frozen=True)
class _Plan:
    """A convolution as steps of a dot product."""

    conv: Convolution
    target: Target
    dot: Dot

    @staticmethod
    def of(conv: Convolution, target: Target) -> "_Plan":
        """That of a convolution which is not refused."""
        dot = _dot(conv, target)
        assert dot is not None
        return _Plan(conv, target, dot)

    @property
    def lanes(self) -> int:
        """Channels of the images in a block."""
        return self.conv.data_lanes or 1

    @property
    def taps(self) -> tuple[int, int]:
        """Those of whole groups, where a group are taps of a row."""
        height, width = self.conv.taps
        return height, width if self.lanes > 1 else self.dot.steps(width) * self.dot.group

    @property
    def halo(self) -> Halo:
        """How far the windows reach beyond the images."""
        return replace(self.conv, taps=self.taps).halo

    @property
    def steps(self) -> int:
        """How many steps give an element of the result."""
        if self.lanes == 1:
            return self.conv.depth * self.taps[0] * self.dot.steps(self.taps[1])
        whole, rest = divmod(self.conv.depth, self.lanes)
        return (whole * self.dot.steps(self.lanes) + self.dot.steps(rest)) * prod(self.taps)

    @property
    def depth_parts(self) -> int:
        """Into how many parts the blocks of input channels are cut."""
        whole, rest = divmod(self.conv.depth, self.conv.data_lanes or max(1, self.conv.depth))
        return 1 if rest else depth_parts(self.target, self.steps, whole, self.dot)

    def tiling(self, *, flat: bool) -> Tiling:
        """The cheapest, of an image or of one that is seen as one long row."""
        conv, target = self.conv, self.target
        height, width = (1, prod(conv.positions)) if flat else conv.positions
        steps = self.steps // self.depth_parts
        weight_bytes = self.steps * conv.out_blocks * self.dot.step_bytes(target)
        widest = most_vectors(target, prod(conv.positions), weight_bytes)
        return choose_tiling(target, height, width, conv.out_blocks, steps, widest, dot=self.dot)


def _dot(conv: Convolution, target: Target) -> Dot | None:
    """How its products are summed; None where only general code does so."""
    dot = dot_of(target, conv.image, conv.weight, conv.kind)
    if dot is None or dot.group == 1:
        return dot
    lanes = conv.data_lanes or 1
    # Neighbours in memory are channels of a block, or columns.
    together = lanes % dot.group == 0 if lanes > 1 else conv.dilation[1] == 1
    return dot if together else dot.single


def _tile(plan: _Plan, parameters: Parameters, *, flat: bool) -> Tiling:
    """The tile that parameters state, of an image or of one that is seen as one long row."""
    conv = plan.conv
    height, width = (1, prod(conv.positions)) if flat else conv.positions
    names = FLAT if flat else IMAGE
    usual = plan.tiling(flat=flat)
    return tile_parameters(parameters, usual, height, width, conv.out_blocks, names)


def _parts(plan: _Plan, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, which must be whole blocks."""
    conv = plan.conv
    whole, rest = divmod(conv.depth, conv.data_lanes or max(1, conv.depth))
    return parameters.number("depth_parts", plan.depth_parts, Divisors(1 if rest else whole))


def _parameters(site: Site, parameters: Parameters) -> None:
    conv = Convolution.of(site.op)
    if conv.is_empty:
        return
    plan = _Plan.of(conv, site.target)
    _parts(plan, parameters)
    for flat in (False, True) if conv.is_pointwise else (False,):
        _tile(plan, parameters, flat=flat)


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
    dot = _dot(conv, site.target)
    if dot is None:
        return NO_DOT
    return (
        packing_refusal(site)
        or unless(whole, "blocks lie in two groups")
        or unless(lanes == site.target.lanes(dot.total.bytes), "blocks are not vectors")
    )


def _spacing(site: Site) -> Spacing:
    """The zeros around images that are read where they lie."""
    plan = _Plan.of(Convolution.of(site.op), site.target)
    return Spacing(plan.halo) if plan.conv.image == plan.dot.image else NO_SPACING


def _cost(site: Site) -> float:
    """Seconds: cycles of the tiles at the rate at which the target multiplies and adds."""
    conv = Convolution.of(site.op)
    plan = _Plan.of(conv, site.target)
    tiling = plan.tiling(flat=conv.is_pointwise)
    cycles = tiling.cycles * plan.depth_parts
    return conv.images * conv.groups * cycles * site.target.cycle_seconds


@dataclass(frozen=True)
class _Direct:
    ctx: KernelContext
    plan: _Plan
    image: Buffer
    panel: int
    """Elements of the weights in a step."""
    parts: int
    """Into how many parts the blocks of input channels are cut."""

    def steps(self, first: int, count: int) -> tuple[list[DepthLoop], list[tuple[int, int]]]:
        """Steps along a block: the loop over them, and those in each round."""
        group = self.plan.dot.group
        unrolled = UNROLLED_STEPS if count % UNROLLED_STEPS == 0 else 1
        offsets = [((first + i) * group, (first + i) * self.panel) for i in range(unrolled)]
        return [DepthLoop(count // unrolled, unrolled * group, unrolled * self.panel)], offsets

    def add_part(
        self,
        image: SSAValue,
        weights: SSAValue,
        positions: Sequence[int],
        sums: Sequence[SSAValue],
        prefetch: Prefetch | None,
    ) -> Sequence[SSAValue]:
        """Adds a part of the depth for a tile whose first window begins at `image`."""
        conv, b = self.plan.conv, self.ctx.b
        dot, lanes = self.plan.dot, self.plan.lanes
        strides, taps = self.image.format.strides, conv.taps
        step = conv.dilation[1] * strides[3]
        width = conv.out_lanes or 1
        columns = [v * width * dot.group for v in range(len(sums) // len(positions))]

        def add(
            x: SSAValue,
            w: SSAValue,
            loops: Sequence[DepthLoop],
            steps: Sequence[tuple[int, int]],
            counted: int = 0,
        ) -> None:
            nonlocal sums
            sums = accumulate(
                b, dot, x, w, loops, steps, positions, columns, sums, width, prefetch, counted
            )

        whole, rest = divmod(conv.depth, lanes)
        # What the steps at one place of the window read of the weights, and those in a row of it.
        block = dot.steps(lanes) * self.panel
        row = taps[1] * block if lanes > 1 else dot.steps(taps[1]) * self.panel
        vertical = DepthLoop(taps[0], conv.dilation[0] * strides[2], row)
        horizontal = DepthLoop(taps[1], step, block)
        outer = DepthLoop(whole // self.parts, strides[1], taps[0] * row)
        if lanes == 1:
            # Images that are not blocked: the taps of a row are the steps.
            count = dot.steps(taps[1])
            offsets = [(i * dot.group * step, i * self.panel) for i in range(count)]
            add(image, weights, [outer, vertical], offsets, taps[1] % dot.group)
            return sums
        if whole:
            loop, steps = self.steps(0, dot.steps(lanes))
            add(image, weights, [outer, vertical, horizontal, *loop], steps)
        image = b.address(image, whole * strides[1], dot.image.storage)
        weights = b.address(weights, whole * taps[0] * row, dot.weight.storage)
        groups, left = divmod(rest, dot.group)
        even = groups - groups % UNROLLED_STEPS
        parts = (0, even, 0), (even, groups - even, 0), (groups, int(left > 0), left)
        for first, count, counted in parts:
            if count:
                loop, steps = self.steps(first, count)
                add(image, weights, [vertical, horizontal, *loop], steps, counted)
        return sums


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp)
    conv, b = Convolution.of(op), ctx.b
    if conv.is_empty:
        return
    plan, lanes = _Plan.of(conv, ctx.target), conv.out_lanes
    assert lanes is not None
    dot = plan.dot
    image = with_zeros(ctx, op.data, plan.halo, dot.image)
    # A pointwise window sees the image as one long row.
    formats = [image.format, *(result.format for result in ctx.results)]
    inner = 3 if conv.data_lanes else 2
    flat = conv.is_pointwise and all(each.dense_axes >= inner for each in formats)
    tiling = _tile(plan, ctx.parameters, flat=flat)
    panel = tiling.vectors * lanes
    packing = ConvolutionPanels(panel, plan.lanes, conv.groups, dot.group, dot.shift)
    weight_shape = shape_of(op.weight)
    weights = ctx.packed(op.weight, packing)
    parts = _parts(plan, ctx.parameters)
    direct = _Direct(ctx, plan, image, panel * dot.group, parts)
    out_shape = shape_of(op.result)
    panels = blocks(conv.out_blocks, tiling.vectors)
    panel_elements = packing.elements(weight_shape) // (conv.groups * panels)
    before = panel * dot.group if dot.shift else 0
    part_elements = (panel_elements - before) // parts
    strides = image.format.strides
    top, left, _, _ = conv.pads
    group_blocks = conv.depth // plan.lanes

    def panel_start(group: Index, number: Index) -> Index:
        return b.mul(b.add(b.mul(group, panels), number), panel_elements)

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
        weight = b.add(panel_start(group, number), b.mul(part, part_elements))
        return direct.add_part(
            b.address(image.pointer, start, dot.image.storage),
            b.address(weights, b.add(weight, before), dot.weight.storage),
            [
                row * conv.strides[0] * strides[2] + column * conv.strides[1] * strides[3]
                for row in range(tiling.rows)
                for column in range(tiling.columns)
            ],
            sums,
            where.prefetch,
        )

    def start_of(place: Place, vectors: int) -> Sequence[SSAValue]:
        first = b.address(weights, panel_start(*place[1:]), dot.weight.storage)
        return [b.load(first, v * lanes, dot.total, lanes) for v in range(vectors)]

    def place_of(place: Place, y: Index, x: Index, vector: Index, _: int) -> Position:
        n, group = place[:2]
        block = b.add(b.mul(group, conv.out_blocks), vector)
        if flat:
            return Position(out_shape, (n, block), b.mul(x, lanes), lanes, in_one_row=True)
        return Position(out_shape, (n, block, y, x), 0, lanes)

    height, width = (1, prod(conv.positions)) if flat else conv.positions
    # Windows of one tap skip what lies between them.
    met = prod(map(min, conv.strides, conv.taps))
    position_bytes = conv.depth // parts * met * dot.image.bytes
    grid = TileGrid(
        (conv.images, conv.groups),
        height,
        width,
        tiling,
        conv.out_blocks,
        position_bytes,
        packing.elements(weight_shape) // conv.groups * dot.weight.bytes,
        parts,
        part_elements,
        (UNROLLED_STEPS if plan.lanes > 1 else dot.steps(conv.taps[1])) * direct.panel,
    )
    finish = converted(b, sink, dot.total, conv.kind)
    emit_tiles(ctx, grid, dot, lanes, tile, place_of, finish, start_of if dot.shift else None)


DIRECT_BLOCKED = Implementation("blocked", _emit, 20, _refusal, _cost, _spacing, _parameters)
