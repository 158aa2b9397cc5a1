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
the one before. In images of open sizes, whose rows no tile fits, a tile takes positions that follow one
another beyond the end of a row, and computes where the window of each begins. Weights are packed in
the order in which they are read. In NCHW, where neighbours in memory are columns, a group are taps of
a row of the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, shape_of
from xrelay.lowering.emit.format import NO_SPACING, Format, Halo, Spacing, row_major
from xrelay.lowering.emit.index import Index, parts_of
from xrelay.lowering.emit.packing import ConvolutionPanels, blocks
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import NO_DOT, Dot, Operands, dot_of
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS, DepthLoop, Prefetch, accumulate
from xrelay.lowering.loops.tile_code import TileAt
from xrelay.lowering.loops.tile_grid import NARROW_IMAGES, PackedWeights, Place, TileGrid
from xrelay.lowering.loops.tiles import converted, emit_tiles
from xrelay.lowering.loops.tiling import (
    Tiling,
    choose_tiling,
    converts_ahead,
    depth_parts,
    most_vectors,
    tile_parameters,
)
from xrelay.lowering.loops.wide_panels import widen, widening_cycles
from xrelay.lowering.operators.conv.geometry import Convolution, packing_refusal

IMAGE = ("rows", "columns", "vectors")
FLAT = ("", "flat_columns", "flat_vectors")
"""The parameters of a tile of an image, and of one long row: a pointwise convolution takes what the
tensors allow when they have their places, and either may have gaps between its rows. Images of open sizes are
always seen as long rows: tiles of their rows would leave much of each."""
MOST_WINDOWS = 8
"""Positions of a tile whose windows may be anywhere: as many addresses are in registers."""

NOT_IN_BLOCKS = "result not in blocks"
"""Why an implementation that writes blocks of channels refuses a site."""


@dataclass(frozen=True)
class BlockedPlan:
    """A convolution whose weights lie in panels, and how its images are read."""

    conv: Convolution
    target: Target
    dot: Operands

    @property
    def lanes(self) -> int:
        """Channels of the images in a block."""
        return self.conv.data_lanes or 1

    @property
    def vector(self) -> int:
        """Output channels in a vector of sums."""
        return self.target.lanes(self.dot.total.bytes)

    @property
    def block_vectors(self) -> int:
        """Vectors of sums in a block of output channels."""
        assert self.conv.out_lanes is not None
        return self.conv.out_lanes // self.vector

    @property
    def out_vectors(self) -> int:
        """Vectors of output channels of a group."""
        return self.conv.out_blocks * self.block_vectors

    @property
    def taps(self) -> tuple[int, int]:
        """Those of whole groups, where a group are taps of a row."""
        height, width = self.conv.taps
        group = self.dot.group
        return height, width if self.lanes > 1 else blocks(width, group) * group

    @property
    def halo(self) -> Halo:
        """How far the windows reach beyond the images, with the taps that fill up their last groups."""
        top, left, bottom, right = self.conv.pads
        # Of open sizes the pad is what says how far that may be.
        pads = top, left, bottom, right + self.taps[1] - self.conv.taps[1]
        return replace(self.conv, taps=self.taps, pads=pads).halo

    def position_bytes(self, parts: int) -> int:
        """What one position reads of the image that others do not, for each of so many parts of the depth."""
        # Windows of one tap skip what lies between them.
        met = prod(map(min, self.conv.strides, self.conv.taps))
        return self.conv.depth // parts * met * self.dot.image.bytes

    @property
    def spacing(self) -> Spacing:
        """The zeros around images that are read where they lie."""
        return Spacing(self.halo) if self.conv.image == self.dot.image else NO_SPACING


@dataclass(frozen=True)
class _Plan(BlockedPlan):
    """A convolution as steps of a dot product."""

    dot: Dot

    @staticmethod
    def of(conv: Convolution, target: Target) -> "_Plan":
        """That of a convolution which is not refused."""
        dot = _dot(conv, target)
        assert dot is not None
        return _Plan(conv, target, dot)

    def computed(self, threads: int, *, flat: bool) -> "_Plan":
        """How tiles compute it: where there are many, weights are converted before them."""
        plan = replace(self, dot=self.dot.ahead)
        if plan == self:
            return self
        conv, tiling = self.conv.likely, plan.tiling(flat=flat)
        height, width = conv.extents(flat=flat)
        tiles = blocks(height, tiling.rows) * blocks(width, tiling.columns)
        panels = conv.images * conv.groups * blocks(self.out_vectors, tiling.vectors)
        panel_bytes = (
            plan.steps // plan.depth_parts * tiling.vectors * plan.dot.step_bytes(self.target)
        )
        pays = converts_ahead(self.target, threads, tiles, panels, panel_bytes)
        return plan if pays else self

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
        # The same whether weights are converted as they are read, or before.
        return 1 if rest else depth_parts(self.target, self.steps, whole, self.dot.ahead)

    @property
    def views(self) -> Sequence[bool]:
        """How images may be seen: as rows (False), or as one long row."""
        if self.conv.open_positions:
            return (True,)
        return (False, True) if self.conv.is_pointwise else (False,)

    def tiling(self, *, flat: bool) -> Tiling:
        """The cheapest, of an image or of one that is seen as one long row."""
        conv, target = self.conv.likely, self.target
        height, width = conv.extents(flat=flat)
        steps = self.steps // self.depth_parts
        weight_bytes = self.steps * self.out_vectors * self.dot.step_bytes(target)
        widest = most_vectors(target, prod(conv.positions), weight_bytes)
        return choose_tiling(
            target, height, width, self.out_vectors, steps, widest,
            MOST_WINDOWS if self.conv.open_positions else None,
            dot=self.dot, is_open=self.conv.open_positions, varies=self.conv.open_positions,
        )  # fmt: skip


def _dot(conv: Convolution, target: Target) -> Dot | None:
    """How its products are summed; None where only general code does so."""
    dot = dot_of(target, conv.image, conv.weight, conv.kind)
    if dot is None or dot.group == 1:
        return dot
    return dot if groups_lie_together(conv, dot) else dot.single


def groups_lie_together(conv: Convolution, dot: Operands) -> bool:
    """Whether what a step takes are neighbours in memory: channels of a block, or columns."""
    lanes = conv.data_lanes or 1
    return lanes % dot.group == 0 if lanes > 1 else conv.dilation[1] == 1


def _tile(plan: _Plan, parameters: Parameters, *, flat: bool) -> Tiling:
    """The tile that parameters state, of an image or of one that is seen as one long row."""
    conv = plan.conv.likely
    height, width = conv.extents(flat=flat)
    names = FLAT if flat else IMAGE
    usual = plan.tiling(flat=flat)
    return tile_parameters(parameters, usual, height, width, plan.out_vectors, names)


def _parts(plan: _Plan, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, which must be whole blocks."""
    conv = plan.conv
    whole, rest = divmod(conv.depth, conv.data_lanes or max(1, conv.depth))
    return parameters.number("depth_parts", plan.depth_parts, Divisors(1 if rest else whole))


def _parameters(site: Site, parameters: Parameters) -> None:
    conv = Convolution.at(site)
    if conv.is_empty:
        return
    plan = _Plan.of(conv, site.target)
    _parts(plan, parameters)
    for flat in plan.views:
        _tile(plan.computed(site.threads, flat=flat), parameters, flat=flat)


def _refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    return unless(conv.out_lanes is not None, NOT_IN_BLOCKS) or blocked_refusal(
        site, conv, _dot(conv, site.target), NO_DOT
    )


def blocked_refusal(site: Site, conv: Convolution, dot: Operands | None, no_dot: str) -> str | None:
    """
    Blocks of channels must not lie in two groups, and those of the result are vectors of the target, or several in full
    blocks. `no_dot` is said where nothing sums the products.
    """
    lanes = conv.out_lanes or 1
    fills = conv.group_channels % lanes == 0
    whole = conv.groups == 1 or (conv.depth % (conv.data_lanes or 1) == 0 and fills)
    if dot is None:
        return no_dot
    vector = site.target.lanes(dot.total.bytes)
    return (
        packing_refusal(site)
        or unless(whole, "blocks lie in two groups")
        or unless(lanes % vector == 0, "blocks are not whole vectors")
        or unless(lanes == vector or fills, "large blocks are not full")
    )


def _spacing(site: Site) -> Spacing:
    return _Plan.of(Convolution.of(site.op), site.target).spacing


def _cost(site: Site) -> float:
    """Seconds: cycles of the tiles at the rate at which the target multiplies and adds."""
    conv = Convolution.at(site)
    stored = _Plan.of(conv, site.target)
    flat = stored.views[-1]
    plan = stored.computed(site.threads, flat=flat)
    tiling = plan.tiling(flat=flat)
    cycles = tiling.cycles * plan.depth_parts
    if plan != stored:
        positions, each = prod(conv.likely.positions), plan.position_bytes(plan.depth_parts)
        cycles += widening_cycles(site.target, plan.steps * plan.out_vectors, positions, each)
    return conv.images * conv.groups * cycles * site.target.cycle_seconds


@dataclass(frozen=True)
class Weights:
    """Packed weights: panels of steps. Where the dot product has a shift, the first says what sums begin with."""

    b: KernelBuilder
    dot: Operands
    pointer: SSAValue
    shape: tuple[int, ...]
    """[groups, panels, steps, elements of a step]."""
    parts: int
    """Into how many parts the depth is cut."""

    @property
    def step(self) -> int:
        """Elements in a step."""
        return self.shape[3]

    @property
    def before(self) -> int:
        """Elements of a panel before the depth."""
        return self.step if self.dot.shift else 0

    @property
    def part_elements(self) -> int:
        """Elements of a panel in a part of the depth."""
        return (self.shape[2] * self.step - self.before) // self.parts

    @property
    def group_bytes(self) -> int:
        """The size of those of a group."""
        return prod(self.shape[1:]) * self.dot.weight.bytes

    def panel(self, group: Index, number: Index) -> Index:
        """Where a panel begins."""
        _, panels, steps, step = self.shape
        return self.b.mul(self.b.add(self.b.mul(group, panels), number), steps * step)

    def address(self, offset: Index) -> SSAValue:
        """The address of an element."""
        return self.b.address(self.pointer, offset, self.dot.weight.storage)

    def of_part(self, group: Index, number: Index, part: Index) -> SSAValue:
        """The address of a part of the depth of a panel."""
        start = self.b.add(self.panel(group, number), self.b.mul(part, self.part_elements))
        return self.address(self.b.add(start, self.before))


@dataclass(frozen=True)
class WideWeights(Weights):
    """The part of a panel that is in memory of the thread: the one that is multiplied."""

    def panel(self, group: Index, number: Index) -> Index:
        del group, number
        return 0

    def of_part(self, group: Index, number: Index, part: Index) -> SSAValue:
        del group, number, part
        return self.pointer


@dataclass(frozen=True)
class BlockedCode:
    """Where the tiles of a convolution find image and weights, and where their results go."""

    ctx: KernelContext
    plan: BlockedPlan
    tiling: Tiling
    flat: bool
    """Whether the image is seen as one long row."""
    image: Buffer
    weights: Weights
    out_shape: tuple[int, ...]

    @property
    def out_lanes(self) -> int:
        """Channels of the result in a block."""
        return self.plan.conv.out_lanes or 1

    @property
    def results_join(self) -> bool:
        """Whether nothing lies between the rows of any result."""
        return all(rows_join(self.plan.conv, each.format) for each in self.ctx.results)

    @property
    def position_steps(self) -> tuple[int, int]:
        """Elements of the image from one row, and from one column, of positions to the next."""
        vertical, horizontal = self.image.format.strides[2:4]
        return self.plan.conv.strides[0] * vertical, self.plan.conv.strides[1] * horizontal

    def origin(self, where: TileAt) -> SSAValue:
        """The address of the window of the first position of all, for a part of the depth."""
        b, conv = self.ctx.b, self.plan.conv
        n, group, _ = where.place
        vertical, horizontal = self.image.format.strides[2:4]
        top, left, _, _ = conv.pads
        group_blocks = conv.depth // self.plan.lanes
        first = b.mul(where.part, group_blocks // self.weights.parts)
        start = self.image.origin(b, (n, b.add(b.mul(group, group_blocks), first)))
        start = b.sub(start, b.add(b.mul(top, vertical), b.mul(left, horizontal)))
        return b.address(self.image.pointer, start, self.plan.dot.image.storage)

    def distance(self, y: Index, x: Index) -> Index:
        """How far the window of a position lies behind that of the first one."""
        b, (down, right) = self.ctx.b, self.position_steps
        return b.add(b.mul(y, down), b.mul(x, right))

    def first_window(self, where: TileAt) -> SSAValue:
        """The address of the first window of a tile, for a part of the depth."""
        distance = self.distance(where.y, where.x)
        return self.ctx.b.address(self.origin(where), distance, self.plan.dot.image.storage)

    def windows(self, where: TileAt) -> tuple[SSAValue, Sequence[Index]]:
        """An address, and how far behind it the windows of a tile begin, position by position."""
        b, conv = self.ctx.b, self.plan.conv
        if self.flat and not (conv.is_pointwise and rows_join(conv, self.image.format)):
            numbers = [b.add(where.x, column) for column in where.columns]
            width = conv.positions[1]
            places = [(b.div(number, width), b.mod(number, width)) for number in numbers]
            return self.origin(where), [self.distance(*place) for place in places]
        down, right = self.position_steps
        rows = range(where.tiling.rows)
        distances = [row * down + column * right for row in rows for column in where.columns]
        return self.first_window(where), distances

    def first_weights(self, where: TileAt) -> SSAValue:
        """The address of the weights of a tile, for a part of the depth."""
        _, group, number = where.place
        return self.weights.of_part(group, number, where.part)

    def place(self, place: Place, y: Index, x: Index, vector: Index, _: int) -> Position:
        """Where a vector of a position lies in the result."""
        b, shape, lanes, width = self.ctx.b, self.out_shape, self.out_lanes, self.plan.vector
        n, group = place[:2]
        number = b.add(b.mul(group, self.plan.out_vectors), vector)
        block, inner = self.in_block(number)
        if self.flat and not self.results_join:
            columns = shape[3]
            return Position(shape, (n, block, b.div(x, columns), b.mod(x, columns)), inner, width)
        if self.flat:
            inner = b.add(b.mul(x, lanes), inner)
            return Position(shape, (n, block), inner, width, in_one_row=True)
        return Position(shape, (n, block, y, x), inner, width)

    def in_block(self, number: Index) -> tuple[Index, Index]:
        """The block that has a vector of output channels, and where in it that begins."""
        b, width, together = self.ctx.b, self.plan.vector, self.tiling.vectors
        vectors = self.plan.block_vectors
        if vectors % together:
            return b.div(number, vectors), b.mul(b.mod(number, vectors), width)
        # A block has all vectors of a panel, so that it is known how far they lie behind the first one.
        computed, constant = parts_of(number)
        first = b.add(computed or 0, constant // together * together)
        inner = b.add(b.mul(b.mod(first, vectors), width), constant % together * width)
        return b.div(first, vectors), inner

    def grid(self, round_steps: int, packed: PackedWeights | None = None) -> TileGrid:
        """
        The results as a grid of tiles, whose innermost loop takes so many steps in a round; `packed` as `TileGrid` has it.
        """
        conv, weights = self.plan.conv, self.weights
        return TileGrid(
            (conv.images, conv.groups),
            *conv.extents(flat=self.flat),
            self.tiling,
            self.plan.out_vectors,
            self.plan.position_bytes(weights.parts),
            weights.group_bytes,
            weights.parts,
            weights.part_elements,
            round_steps * weights.step,
            packed=packed,
            narrow=NARROW_IMAGES,
        )


@dataclass(frozen=True)
class _Direct(BlockedCode):
    """The code of the tiles of a convolution."""

    plan: _Plan

    @property
    def round_steps(self) -> int:
        """Steps in a round of the innermost loop."""
        plan = self.plan
        return UNROLLED_STEPS if plan.lanes > 1 else plan.dot.steps(plan.conv.taps[1])

    def tile(self, where: TileAt, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Adds a part of the depth to the registers of a tile."""
        image, positions = self.windows(where)
        weights = self.first_weights(where)
        if where.is_rare:
            return self.add_part(image, weights, positions, sums, None, 1)
        return self.add_part(image, weights, positions, sums, where.prefetch, UNROLLED_STEPS)

    def start(self, place: Place, vectors: int) -> Sequence[SSAValue]:
        """What the sums of a panel begin with."""
        b, lanes = self.ctx.b, self.plan.vector
        first = self.weights.address(self.weights.panel(*place[1:]))
        return [b.load(first, v * lanes, self.plan.dot.total, lanes) for v in range(vectors)]

    def steps(
        self, first: int, count: int, most: int
    ) -> tuple[list[DepthLoop], list[tuple[int, int]]]:
        """Steps along a block: the loop over them, and those in each round, `most` if that divides them."""
        group, panel = self.plan.dot.group, self.weights.step
        unrolled = most if count % most == 0 else 1
        offsets = [((first + i) * group, (first + i) * panel) for i in range(unrolled)]
        return [DepthLoop(count // unrolled, unrolled * group, unrolled * panel)], offsets

    def add_part(
        self,
        image: SSAValue,
        weights: SSAValue,
        positions: Sequence[Index],
        sums: Sequence[SSAValue],
        prefetch: Prefetch | None,
        unrolled: int,
    ) -> Sequence[SSAValue]:
        """Adds a part of the depth for a tile whose first window begins at `image`, some steps in a round."""
        conv, b = self.plan.conv, self.ctx.b
        dot, lanes = self.plan.dot, self.plan.lanes
        strides, taps, panel = self.image.format.strides, conv.taps, self.weights.step
        step = conv.dilation[1] * strides[3]
        width = self.plan.vector
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
        block = dot.steps(lanes) * panel
        row = taps[1] * block if lanes > 1 else dot.steps(taps[1]) * panel
        vertical = DepthLoop(taps[0], conv.dilation[0] * strides[2], row)
        horizontal = DepthLoop(taps[1], step, block)
        outer = DepthLoop(whole // self.weights.parts, strides[1], taps[0] * row)
        if lanes == 1:
            # Images that are not blocked: the taps of a row are the steps.
            count = dot.steps(taps[1])
            offsets = [(i * dot.group * step, i * panel) for i in range(count)]
            add(image, weights, [outer, vertical], offsets, taps[1] % dot.group)
            return sums
        if whole:
            loop, steps = self.steps(0, dot.steps(lanes), unrolled)
            add(image, weights, [outer, vertical, horizontal, *loop], steps)
        image = b.address(image, whole * strides[1], dot.image.storage)
        weights = b.address(weights, whole * taps[0] * row, dot.weight.storage)
        if prefetch is not None:
            prefetch = prefetch.moved(b, whole * taps[0] * row)
        groups, left = divmod(rest, dot.group)
        even = groups - groups % unrolled
        parts = (0, even, 0), (even, groups - even, 0), (groups, int(left > 0), left)
        for first, count, counted in parts:
            if count:
                loop, steps = self.steps(first, count, unrolled)
                add(image, weights, [vertical, horizontal, *loop], steps, counted)
        return sums


def rows_join(conv: Convolution, format: Format) -> bool:
    """Whether nothing lies between the rows of an image."""
    return format.dense_axes >= (3 if conv.data_lanes else 2)


def seen_flat(ctx: KernelContext, conv: Convolution, image: Buffer) -> bool:
    """Whether images are seen as one long row: by a pointwise window, where nothing lies between their rows."""
    formats = [image.format, *(result.format for result in ctx.results)]
    return conv.is_pointwise and all(rows_join(conv, each) for each in formats)


def packed_weights(
    ctx: KernelContext,
    op: Conv2DOp,
    plan: BlockedPlan,
    panel: int,
    parts: int = 1,
    together: int = 1,
) -> Weights:
    """The weights in panels of so many channels, whose depth is filled up to a multiple of so many steps."""
    dot = plan.dot
    packing = ConvolutionPanels(panel, plan.lanes, plan.conv.groups, dot.group, dot.shift, together)
    pointer = ctx.packed(op.weight, packing)
    return Weights(ctx.b, dot, pointer, packing.packed_shape(shape_of(op.weight)), parts)


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp)
    conv = Convolution.of(op)
    stored = _Plan.of(conv, ctx.target)
    image = with_zeros(ctx, op.data, stored.halo, stored.dot.image)
    flat = conv.open_positions or seen_flat(ctx, conv, image)
    plan = stored.computed(ctx.team.size, flat=flat)
    b, dot, lanes = ctx.b, plan.dot, plan.vector
    tiling, parts = _tile(plan, ctx.parameters, flat=flat), _parts(plan, ctx.parameters)
    weights = packed_weights(ctx, op, stored, tiling.vectors * lanes, parts)
    read, packed, prepare = weights, None, None
    if plan != stored:
        room = ctx.private_scratch(dot.weight, row_major((weights.part_elements,)))

        def address(place: Place, part: Index) -> SSAValue:
            return weights.of_part(place[1], place[2], part)

        def convert_part(place: Place, part: Index) -> None:
            vectors = weights.part_elements // lanes
            widen(b, stored.dot, address(place, part), room.pointer, vectors, lanes)

        read = WideWeights(b, dot, room.pointer, weights.shape, parts)
        packed, prepare = PackedWeights(stored.dot.weight, address), convert_part
    code = _Direct(ctx, plan, tiling, flat, image, read, shape_of(op.result))
    finish = converted(b, sink, dot.total, conv.kind)
    start = code.start if dot.shift else None
    grid = code.grid(code.round_steps, packed)
    emit_tiles(ctx, grid, dot, lanes, code.tile, code.place, finish, start, prepare)


DIRECT_BLOCKED = Implementation("blocked", _emit, 20, _refusal, _cost, _spacing, _parameters)
