"""
3 x 3 convolution of stride 1 by Winograd's algorithm, on blocked images.

    for image, block of tiles, part of the output channels:               # the threads share these
        for tile, block of input channels:
            transform (m + 2) x (m + 2) elements, write each to the matrix of its component
        for panel of output channels:
            for component:
                product of [tiles x input channels] and [input channels x panel]
            for tile, block of output channels:
                transform back to m x m results, hand them to the sink

There are (m + 2)^2 components, so that a result costs (m + 2)^2 / m^2 products for each channel in
place of 9. Rounding errors grow: relative to the largest result they are about 4e-7 for m = 2 and
5e-6 for m = 4 in single precision. An infinite or NaN element spoils the whole tile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.lengths import certainly, hint, is_open, smaller
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import Buffer, shape_of
from xrelay.lowering.emit.format import NO_SPACING, Halo, Spacing, row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import WinogradPanels, blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.emit.winograd_matrices import Matrix, data_matrix, result_matrix
from xrelay.lowering.loops.dots import SINGLE, dot_of
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.micro_kernel import (
    LINE_BYTES,
    UNROLLED_STEPS,
    DepthLoop,
    Prefetch,
    accumulate,
)
from xrelay.lowering.loops.tiles import converted
from xrelay.lowering.loops.tiling import (
    PANEL_VECTORS,
    Tiling,
    choose_tiling,
    most_vectors,
    panel_parts,
    tile_parameters,
)
from xrelay.lowering.math.arithmetic import add, multiply, multiply_add, subtract
from xrelay.lowering.operators.conv.geometry import Convolution, blocks_refusal, packing_refusal

TRANSFORM_CYCLES = 3.5
"""For each component of a vector of channels, in either direction, memory included."""
TASKS_PER_THREAD = 2
"""So many tasks let the threads end at nearly the same time, also when one core is slower."""
LARGER_IMAGES = 4
"""Where sizes are open, images have up to so many times the tiles of likely ones before they are cut into blocks."""
NO_TILING = Tiling(1, 1, 1)


@dataclass(frozen=True)
class _Plan:
    """How a convolution is computed with tiles of m x m results."""

    conv: Convolution
    outputs: int
    """m"""
    target: Target
    tiles_at_once: int = 1
    """A block has room for so many tiles."""
    shares: int = 1
    """Into how many tasks the output channels of a block of tiles are cut."""
    tiling: Tiling = NO_TILING
    """How the products are cut."""

    @staticmethod
    def of(
        conv: Convolution, outputs: int, target: Target, threads: int, parameters: Parameters
    ) -> "_Plan":
        """As parameters state it."""
        plan, vectors = _Plan(conv, outputs, target), conv.out_blocks
        usual = plan.usual_tiles(threads)
        most = max(usual, prod(plan.likely.grid))
        tiles = parameters.number("tiles", usual, range(1, most + 1))
        plan = replace(plan, tiles_at_once=tiles)
        usual = plan.usual_shares(threads) if threads > 1 else 1
        plan = replace(plan, shares=parameters.number("shares", usual, range(1, vectors + 1)))
        names = ("", "positions", "vectors")
        tiling = tile_parameters(parameters, plan.usual_tiling, 1, tiles, vectors, names)
        return replace(plan, tiling=tiling)

    @property
    def likely(self) -> "_Plan":
        """At likely lengths."""
        return replace(self, conv=self.conv.likely)

    @property
    def kind(self) -> Element:
        """What is computed with: images are converted in memory, weights when they are transformed."""
        return wide(self.conv.kind)

    @property
    def lanes(self) -> int:
        assert self.conv.out_lanes is not None
        return self.conv.out_lanes

    @property
    def components(self) -> int:
        return (self.outputs + 2) ** 2

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tiles."""
        rows, columns = (blocks(size, self.outputs) for size in self.conv.positions)
        return rows, columns

    @property
    def halo(self) -> Halo:
        """The zeros that the tiles reach, beyond the last result too."""
        top, left, bottom, right = self.conv.halo
        below, beside = (
            self.outputs - 1
            if is_open(across * self.outputs - size)
            else across * self.outputs - size
            for across, size in zip(self.grid, self.conv.positions, strict=True)
        )
        return top, left, bottom + below, right + beside

    @property
    def in_blocks(self) -> int:
        return blocks(self.conv.depth, self.lanes)

    def usual_tiles(self, threads: int) -> int:
        """
        So many that their components stay in the second-level cache, in equal blocks. For images of open sizes as many as
        there can be: the number that a block has follows the image.
        """
        tiles = prod(self.likely.grid)
        of_tile = self.components * (self.in_blocks + 4) * self.target.vector_bytes
        most = max(1, self.target.l2_bytes // of_tile)
        if self.conv.open_positions:
            return max(1, min(most, tiles * LARGER_IMAGES))
        count = blocks(tiles, most)
        if count > 1 and threads > 1:
            # As many blocks for every thread.
            count = blocks(count, threads) * threads
        return blocks(tiles, count)

    @property
    def tile_blocks(self) -> int:
        return blocks(prod(self.grid), self.tiles_at_once)

    @property
    def block_tiles(self) -> int:
        """The tiles of a block, of which the last one may have fewer: blocks are of nearly equal size."""
        equal, at_once = blocks(prod(self.grid), self.tile_blocks), self.tiling.columns
        if not is_open(equal):
            return equal
        # All that is multiplied at once is there, but for the end of the last block.
        return smaller(blocks(equal, at_once) * at_once, self.tiles_at_once)

    def usual_shares(self, threads: int) -> int:
        """One share where there are blocks enough for all threads, in the first call where lengths are open."""
        wanted = blocks(TASKS_PER_THREAD * threads, hint(self.tile_blocks * self.conv.images))
        return min(wanted, self.conv.out_blocks)

    @property
    def usual_tiling(self) -> Tiling:
        """The cheapest: for a block, or, where it is not known how many tiles one has, for an image."""
        conv, vectors = self.conv, self.conv.out_blocks
        tiles = prod(self.likely.grid) if conv.open_positions else self.tiles_at_once
        widest = most_vectors(self.target, tiles, self.weight_bytes)
        if self.shares > 1:
            # Equal shares count for more than the best width.
            widest = max(widest, PANEL_VECTORS)
        return choose_tiling(
            self.target, 1, tiles, vectors, conv.depth, widest, self.tiles_at_once,
            shares=self.shares, is_open=conv.open_positions, varies=conv.open_positions,
        )  # fmt: skip

    @property
    def weight_bytes(self) -> int:
        """Of the transformed weights."""
        return self.components * self.conv.depth * self.conv.out_blocks * self.target.vector_bytes

    @property
    def seconds(self) -> float:
        """Estimated for one core: products and transforms, and the time to read the weights."""
        conv = self.conv
        tiles = self.tile_blocks * self.block_tiles
        parts = 1 if conv.open_positions else self.tile_blocks
        products = self.components * parts * self.tiling.cycles
        vectors = tiles * self.components * (self.in_blocks + conv.out_blocks)
        cycles = conv.images * (products + vectors * TRANSFORM_CYCLES)
        memory = self.weight_bytes / self.target.memory_bandwidth
        # Bringing the weights near overlaps with little else: there are few products for each.
        return cycles * self.target.cycle_seconds + memory


def _transform(
    b: KernelBuilder, matrix: Matrix, vectors: Sequence[SSAValue], kind: Element, lanes: int
) -> list[SSAValue]:
    """The product of a matrix of numbers and a column of vectors."""
    return [_combine(b, row, vectors, kind, lanes) for row in matrix]


def _combine(
    b: KernelBuilder, row: Sequence[float], vectors: Sequence[SSAValue], kind: Element, lanes: int
) -> SSAValue:
    terms = [(factor, vector) for factor, vector in zip(row, vectors, strict=True) if factor]
    # Begin with a factor of 1, which needs no multiplication.
    terms.sort(key=lambda term: term[0] != 1.0)
    (first, total), *others = terms
    if first != 1.0:
        total = multiply(b, total, b.constant(kind.compute, first, lanes), kind)
    for factor, vector in others:
        if factor == 1.0:
            total = add(b, total, vector, kind)
        elif factor == -1.0:
            total = subtract(b, total, vector, kind)
        else:
            number = b.constant(kind.compute, factor, lanes)
            total = multiply_add(b, vector, number, total, kind)
    return total


def _two_ways(
    b: KernelBuilder, matrix: Matrix, square: list[list[SSAValue]], kind: Element, lanes: int
) -> list[list[SSAValue]]:
    """matrix * square * transposed matrix"""
    columns = [_transform(b, matrix, column, kind, lanes) for column in zip(*square, strict=True)]
    return [_transform(b, matrix, row, kind, lanes) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class _Emitter:
    ctx: KernelContext
    plan: _Plan
    image: Buffer
    weights: SSAValue
    parts: Buffer
    """The transformed image: [slot, component, block of channels, tile, lane]."""
    products: Buffer
    """[component, vector of the panel, tile, lane]"""

    def corner(self, tile: Index) -> tuple[Index, Index]:
        """The first result of a tile."""
        b, across = self.ctx.b, self.plan.grid[1]
        m = self.plan.outputs
        return b.mul(b.div(tile, across), m), b.mul(b.mod(tile, across), m)

    def count(self, first: Index) -> Index:
        """How many tiles the block has that begins with a tile."""
        b, most, tiles = self.ctx.b, self.plan.block_tiles, prod(self.plan.grid)
        return most if certainly(tiles % most, 0) else b.smaller(most, b.sub(tiles, first))

    def transform_tile(self, n: Index, first: Index, t: Index, slot: Index) -> None:
        """All channels of tile `t` of a block of tiles, into a slot."""
        b, plan = self.ctx.b, self.plan
        kind, size = plan.kind, plan.outputs + 2
        strides = self.image.format.strides
        top, left, _, _ = plan.conv.pads
        with b.loop(0, plan.in_blocks) as block:
            y, x = self.corner(b.add(first, t))
            start = b.add(
                self.image.origin(b, (n, block)),
                b.add(b.mul(b.sub(y, top), strides[2]), b.mul(b.sub(x, left), strides[3])),
            )
            corner = b.address(self.image.pointer, start, kind.storage)
            square = [
                [
                    b.load(corner, i * strides[2] + j * strides[3], kind, plan.lanes)
                    for j in range(size)
                ]
                for i in range(size)
            ]
            result = _two_ways(b, data_matrix(plan.outputs), square, kind, plan.lanes)
            shape = self.parts.shape
            for i, row in enumerate(result):
                for j, vector in enumerate(row):
                    where = b.flatten((slot, i * size + j, block, t, 0), shape)
                    b.store(self.parts.pointer, where, kind, vector)

    def multiply(self, slot: Index, first: Index, panel: Index, vectors: int) -> None:
        """
        The products of every component in a slot, that of a block of tiles, with a panel of the weights; what is multiplied
        beside tiles that are not there is not read.
        """
        b, plan = self.ctx.b, self.plan
        kind, lanes, tiling = plan.kind, plan.lanes, plan.tiling
        tiles = plan.tiles_at_once
        width = tiling.vectors * lanes
        depth = plan.conv.depth
        zero = b.constant(kind.compute, 0, lanes)
        positions = [i * lanes for i in range(tiling.columns)]
        columns = [v * lanes for v in range(vectors)]
        rounds = b.div(b.add(self.count(first), tiling.columns - 1), tiling.columns)
        with b.loop(0, plan.components) as component, b.loop(0, rounds) as i:
            t = b.smaller(b.mul(i, tiling.columns), tiles - tiling.columns)
            start = b.flatten((slot, component, 0, t, 0), self.parts.shape)
            x = b.address(self.parts.pointer, start, kind.storage)
            number = b.add(b.mul(panel, plan.components), component)
            w = b.address(self.weights, b.mul(number, depth * width), kind.storage)
            # While the products of one component are formed, the weights of the next come near.
            lines = blocks(
                blocks(UNROLLED_STEPS * width * kind.bytes, LINE_BYTES),
                blocks(plan.likely.block_tiles, tiling.columns),
            )
            share = b.mul(i, lines * LINE_BYTES // kind.bytes)
            prefetch = Prefetch(b.add(share, depth * width), lines, kind)
            totals: Sequence[SSAValue] = [zero] * (len(positions) * vectors)
            whole, rest = divmod(depth, lanes)
            even = rest - rest % UNROLLED_STEPS
            for block, begin, count, rounds in (
                (0, 0, lanes, whole),
                (whole, 0, even, 1),
                (whole, even, rest - even, 1),
            ):
                if not count or not rounds:
                    continue
                unrolled = UNROLLED_STEPS if count % UNROLLED_STEPS == 0 else 1
                steps = [(begin + k, (begin + k) * width) for k in range(unrolled)]
                loops = [
                    DepthLoop(rounds, tiles * lanes, lanes * width),
                    DepthLoop(count // unrolled, unrolled, unrolled * width),
                ]
                near = b.address(x, block * tiles * lanes, kind.storage)
                wide = b.address(w, block * lanes * width, kind.storage)
                totals = accumulate(
                    b, SINGLE, near, wide, loops, steps, positions, columns, totals, lanes, prefetch
                )
            for i_total, total in enumerate(totals):
                p, v = divmod(i_total, vectors)
                where = b.flatten((component, v, b.add(t, p), 0), self.products.shape)
                b.store(self.products.pointer, where, kind, total)

    def transform_back(
        self, n: Index, first: Index, panel: Index, vectors: int, shape: tuple[int, ...], sink: Sink
    ) -> None:
        """The results of a block of tiles for a panel of output channels."""
        b, plan = self.ctx.b, self.plan
        kind, lanes, m = plan.kind, plan.lanes, plan.outputs
        size = m + 2
        with b.loop(0, vectors) as v, b.loop(0, self.count(first)) as t:
            square = [
                [
                    b.load(
                        self.products.pointer,
                        b.flatten((i * size + j, v, t, 0), self.products.shape),
                        kind,
                        lanes,
                    )
                    for j in range(size)
                ]
                for i in range(size)
            ]
            result = _two_ways(b, result_matrix(m), square, kind, lanes)
            block = b.add(b.mul(panel, plan.tiling.vectors), v)
            y, x = self.corner(b.add(first, t))

            def hand_over(i: Index, j: Index, value: SSAValue) -> None:
                outer = (n, block, b.add(y, i), b.add(x, j))
                sink(Position(shape, outer, 0, lanes), value)

            overlaps = [not certainly(extent % m, 0) for extent in plan.conv.positions]
            if not self.ctx.heavy_epilogue and not any(overlaps):
                for i, row in enumerate(result):
                    for j, vector in enumerate(row):
                        hand_over(i, j, vector)
            else:
                kept = self.ctx.private_scratch(kind, row_major((m, m, lanes)))
                for i, row in enumerate(result):
                    for j, vector in enumerate(row):
                        b.store(kept.pointer, (i * m + j) * lanes, kind, vector)
                rows = b.smaller(m, b.sub(plan.conv.positions[0], y)) if overlaps[0] else m
                columns = b.smaller(m, b.sub(plan.conv.positions[1], x)) if overlaps[1] else m
                with b.loop(0, rows) as i, b.loop(0, columns) as j:
                    where = b.flatten((i, j, 0), kept.shape)
                    hand_over(i, j, b.load(kept.pointer, where, kind, lanes))


def _emit(ctx: KernelContext, op: Operation, sink: Sink, *, outputs: int) -> None:
    assert isinstance(op, Conv2DOp)
    conv, b = Convolution.of(op), ctx.b
    plan = _Plan.of(conv, outputs, ctx.target, ctx.team.size, ctx.parameters)
    tiling, lanes, tiles = plan.tiling, plan.lanes, plan.tiles_at_once
    kind, panels = plan.kind, blocks(conv.out_blocks, tiling.vectors)
    shares = min(panels, plan.shares)
    slots = conv.images * plan.tile_blocks
    transformed = plan.components, plan.in_blocks, tiles, lanes
    emitter = _Emitter(
        ctx,
        plan,
        with_zeros(ctx, op.data, plan.halo, kind),
        ctx.packed(op.weight, WinogradPanels(outputs, tiling.vectors * lanes)),
        ctx.private_scratch(kind, row_major((1, *transformed)))
        if shares == 1
        else ctx.scratch(kind, row_major((slots, *transformed))),
        ctx.private_scratch(kind, row_major((plan.components, tiling.vectors, tiles, lanes))),
    )
    shape, finish = shape_of(op.result), converted(b, sink, kind, conv.kind)

    def transform(indices: tuple[Index, ...]) -> None:
        n, tile = indices
        block, t = b.div(tile, plan.block_tiles), b.mod(tile, plan.block_tiles)
        slot = b.flatten((n, block), (conv.images, plan.tile_blocks))
        emitter.transform_tile(n, b.mul(block, plan.block_tiles), t, slot)

    if shares > 1:
        # The threads share the transformed image.
        ctx.tasks((conv.images, prod(plan.grid)), transform)
        ctx.barrier()

    def task(indices: tuple[Index, ...]) -> None:
        n, block, share = indices
        first, slot = b.mul(block, plan.block_tiles), 0
        if shares == 1:
            with b.loop(0, emitter.count(first)) as t:
                emitter.transform_tile(n, first, t, slot)
        else:
            slot = b.flatten((n, block), (conv.images, plan.tile_blocks))
        for start, count, vectors in panel_parts(conv.out_blocks, tiling.vectors):
            begin = b.div(b.mul(share, count), shares)
            stop = b.div(b.mul(b.add(share, 1), count), shares)
            with b.loop(begin, stop) as i:
                panel = b.add(i, start)
                emitter.multiply(slot, first, panel, vectors)
                emitter.transform_back(n, first, panel, vectors, shape, finish)

    ctx.tasks((conv.images, plan.tile_blocks, shares), task)


def _in_single_precision(conv: Convolution, target: Target) -> bool:
    """Whether products are summed in f32."""
    dot = dot_of(target, conv.image, conv.weight, conv.kind)
    return dot is not None and dot.total == SINGLE.total


def _implementation(outputs: int) -> Implementation:
    def refusal(site: Site) -> str | None:
        conv = Convolution.of(site.op)
        return (
            unless(all(certainly(each, 3) for each in conv.taps), "filters not 3 x 3")
            or unless(conv.strides == conv.dilation == (1, 1), "strides or dilation not 1")
            or unless(conv.groups == 1, "in groups")
            or unless(_in_single_precision(conv, site.target), "elements not f32, f16 or bf16")
            or blocks_refusal(conv, site.target.lanes(SINGLE.total.bytes))
            or packing_refusal(site)
            or unless(not conv.is_empty, "no elements")
        )

    def parameters(site: Site, parameters: Parameters) -> None:
        _Plan.of(Convolution.at(site), outputs, site.target, site.threads, parameters)

    def cost(site: Site) -> float:
        # The choice must not depend on the threads, or the bits of results would.
        return _Plan.of(Convolution.at(site), outputs, site.target, 1, Parameters()).seconds

    def spacing(site: Site) -> Spacing:
        plan = _Plan(Convolution.of(site.op), outputs, site.target)
        return Spacing(plan.halo) if plan.conv.image == plan.kind else NO_SPACING

    emit = partial(_emit, outputs=outputs)
    return Implementation(f"winograd-{outputs}", emit, 20, refusal, cost, spacing, parameters)


WINOGRAD = (_implementation(2), _implementation(4))
WINOGRAD_NAMES = frozenset(each.name for each in WINOGRAD)
"""What to exclude where Winograd's rounding errors are not wanted."""
