"""
Convolution with blocked channels in the tile registers of AMX, on the images and panels of `blocked`.

`blocked-tiles` reads images where they lie. What lies together of a window, a block of input channels at all taps of a
row, is cut into the largest equal parts that fit into a row of a tile: a block of 64 bytes is one part. Of a block of 16
channels and a window of one column there are 8 steps of bf16 or 4 of bytes, where tiles could hold 16. Each register of the image has neighbouring
positions of one row.

`gathered-tiles` first brings together what the windows of a block of positions read, so that tiles are full: 64 bytes
of each window after the other, also of windows in different rows. All panels of output channels read it, and it pays
for many. What lies together in an image is a *piece* here: the channels of a block at a tap, or in the first layer of
a network, where images are NCHW, the taps of a row. A last block that is not full is taken for windows of one tap,
which have one piece with channels that do not count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import Buffer, shape_of
from xrelay.lowering.emit.format import Spacing
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import TILE_ROW_BYTES, Target
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.micro_kernel import DepthLoop, Meanwhile
from xrelay.lowering.loops.tile_code import Gather, SumsInMemory, TileAt
from xrelay.lowering.loops.tile_registers import (
    CONFIGURE_CYCLES,
    NO_TILES,
    ROWS,
    TileDot,
    TileOperands,
    TileRegisters,
    choose_tiles,
    stated_tiles,
    tile_dot_of,
)
from xrelay.lowering.loops.tiles import converted, emit_tiles
from xrelay.lowering.loops.tiling import MOST_ALONG, Tiling, panel_parts, positions_per_block
from xrelay.lowering.operators.conv.blocked import (
    FLAT,
    IMAGE,
    NOT_IN_BLOCKS,
    BlockedCode,
    BlockedPlan,
    blocked_refusal,
    groups_lie_together,
    packed_weights,
    rows_join,
    seen_flat,
)
from xrelay.lowering.operators.conv.geometry import Convolution

GATHER_CYCLES = 1.0
"""To copy a piece of a window."""
FAR_ROW_CYCLES = 2.0
"""To write, and to read for a panel, a row of windows that do not stay in the first-level cache."""
ROWS_AT_ONCE = 8
"""Rows of a tile that are read before they are written."""


def _dot(conv: Convolution, target: Target) -> TileDot | None:
    return tile_dot_of(target, conv.image, conv.weight, conv.kind)


@dataclass(frozen=True)
class _TilePlan(BlockedPlan):
    """A convolution as products of tiles."""

    dot: TileDot
    joined: ClassVar[bool] = False
    """Whether the rows of a tile follow one another in memory."""
    together: ClassVar[int] = 1
    """The steps of the weights are a multiple of so many."""

    @classmethod
    def of(cls, conv: Convolution, target: Target) -> Self:
        """That of a convolution which is not refused."""
        dot = _dot(conv, target)
        assert dot is not None
        return cls(conv, target, dot)

    @property
    def row_steps(self) -> int:
        """Steps that lie together in an image: a block of input channels, at all taps of a row without gaps."""
        columns = self.conv.taps[1] if self.conv.dilation[1] == 1 else 1
        return columns * self.lanes // self.dot.group

    @property
    def round_steps(self) -> int:
        """Steps of a product of tiles: the largest equal parts of what lies together."""
        return max(steps for steps in range(1, ROWS + 1) if self.row_steps % steps == 0)

    @property
    def rounds(self) -> int:
        """How many products of tiles give a sum."""
        steps = self.lanes // self.dot.group * prod(self.conv.taps)
        return self.conv.depth // self.lanes * steps // self.round_steps

    def tiling(self, *, flat: bool) -> Tiling:
        """The cheapest, of an image or of one that is seen as one long row."""
        sizes = *self.conv.likely.extents(flat=flat), self.out_vectors, self.rounds
        return choose_tiles(*sizes, self.joined, self.block_vectors, self.conv.open_positions)

    def cycles(self, *, flat: bool) -> float:
        """What an image takes."""
        return self.tiling(flat=flat).cycles

    def stated(self, parameters: Parameters, *, flat: bool) -> Tiling:
        """The tile that parameters state."""
        height, width = self.conv.likely.extents(flat=flat)
        if self.conv.open_positions:
            height, width = 1, MOST_ALONG
        names, usual = FLAT if flat else IMAGE, self.tiling(flat=flat)
        sizes = height, width, self.out_vectors
        tiling = stated_tiles(parameters, usual, *sizes, names, self.joined)
        # Where the height of images is open, their width may be known.
        across = self.conv.extents(flat=flat)[1]
        if is_open(across) or not self.conv.open_positions:
            return tiling
        return replace(tiling, columns=blocks(across, blocks(across, tiling.columns)))

    @property
    def views(self) -> Sequence[bool]:
        """How images may be seen: as rows (False), or as one long row, as those of open sizes are if that is all the same."""
        if self.conv.open_positions and self.joined:
            return (True,)
        return (False, True) if self.conv.is_pointwise else (False,)

    def sees_flat(self, ctx: KernelContext, image: Buffer) -> bool:
        """Whether images are seen as one long row."""
        if not self.conv.open_positions:
            return seen_flat(ctx, self.conv, image)
        return self.joined or (self.conv.is_pointwise and rows_join(self.conv, image.format))


@dataclass(frozen=True)
class _GatheredPlan(_TilePlan):
    """A convolution as products of full tiles."""

    joined: ClassVar[bool] = True
    together: ClassVar[int] = ROWS

    @property
    def round_steps(self) -> int:
        """Steps of a product of tiles: as many as there can be."""
        return ROWS

    @property
    def piece(self) -> int:
        """Elements of a window that lie together."""
        return self.lanes if self.lanes > 1 else self.taps[1]

    @property
    def places(self) -> tuple[int, int, int]:
        """Of the pieces of a window: blocks of channels or channels, rows, and columns."""
        rows, columns = self.conv.taps
        return blocks(self.conv.depth, self.lanes), rows, columns if self.lanes > 1 else 1

    @property
    def pieces(self) -> int:
        """How many pieces a window has."""
        return prod(self.places)

    @property
    def row(self) -> int:
        """Elements of a row of a tile."""
        return TILE_ROW_BYTES // self.dot.image.bytes

    @property
    def in_row(self) -> int:
        """Pieces in a row of a tile."""
        return self.row // self.piece

    @property
    def rounds(self) -> int:
        """How many products of tiles give a sum."""
        return blocks(self.pieces, self.in_row)

    def position_bytes(self, parts: int) -> int:
        """What one position reads: what was gathered of it."""
        assert parts == 1
        return self.rounds * TILE_ROW_BYTES

    def elements(self, tiling: Tiling) -> int:
        """How many are gathered for a tile."""
        return self.rounds * tiling.positions * self.row

    def gathered_bytes(self, tiling: Tiling, positions: int) -> int:
        """What is gathered for a block of tiles."""
        each = self.rounds * TILE_ROW_BYTES
        weights = self.rounds * ROWS * TILE_ROW_BYTES * self.out_vectors
        block = positions_per_block(self.target, each, positions, weights)
        return max(block, tiling.positions) * each

    def cycles(self, *, flat: bool) -> float:
        """What an image takes: windows are gathered once for the panels of each width."""
        conv, tiling = self.conv.likely, self.tiling(flat=flat)
        height, width = conv.extents(flat=flat)
        rows = blocks(height, tiling.rows) * blocks(width, tiling.columns) * tiling.positions
        rows *= self.rounds
        parts = panel_parts(self.out_vectors, tiling.vectors)
        cycles = tiling.cycles + GATHER_CYCLES * rows * self.in_row * len(parts)
        if self.gathered_bytes(tiling, height * width) > self.target.l1_bytes // 2:
            panels = sum(count for _, count, _ in parts)
            cycles += FAR_ROW_CYCLES * rows * (panels + len(parts))
        return cycles


def _unfit(site: Site, conv: Convolution) -> str | None:
    return unless(conv.out_lanes is not None, NOT_IN_BLOCKS) or blocked_refusal(
        site, conv, _dot(conv, site.target), NO_TILES
    )


def _whole_groups(conv: Convolution, target: Target) -> str | None:
    dot, lanes = _dot(conv, target), conv.data_lanes or 1
    whole = dot is not None and lanes > 1 and lanes % dot.group == 0
    return unless(whole, "blocks of an image are no whole groups")


def _whole_blocks(conv: Convolution) -> str | None:
    return unless(conv.depth % (conv.data_lanes or 1) == 0, "input channels not in whole blocks")


def _refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    return (
        unless(conv.data_lanes is not None, "image not in blocks")
        or _unfit(site, conv)
        or _whole_blocks(conv)
        or _whole_groups(conv, site.target)
    )


def _gathered_refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    unfit = _unfit(site, conv) or (_whole_blocks(conv) if prod(conv.taps) > 1 else None)
    if unfit is not None:
        return unfit
    plan = _GatheredPlan.of(conv, site.target)
    whole = groups_lie_together(conv, plan.dot) and plan.row % plan.piece == 0
    return unless(whole, "pieces of windows do not fill rows")


@dataclass(frozen=True)
class _TileCode(BlockedCode):
    """The code of the tiles of a convolution."""

    plan: _TilePlan

    def registers(self, tiling: Tiling, width: int) -> TileRegisters:
        """Those of a tile of so many columns."""
        return TileRegisters.of(tiling, width, self.plan.round_steps, self.plan.joined)

    def operands(self, where: TileAt) -> TileOperands:
        """What is multiplied for a tile."""
        plan, conv, step = self.plan, self.plan.conv, self.weights.step
        strides, (rows, columns) = self.image.format.strides, conv.taps
        piece, steps = plan.row_steps * step, plan.round_steps
        pieces = columns * (plan.lanes // plan.dot.group) // plan.row_steps
        row = pieces * piece
        loops = [
            DepthLoop(conv.depth // plan.lanes, strides[1], rows * row),
            DepthLoop(rows, conv.dilation[0] * strides[2], row),
            DepthLoop(pieces, conv.dilation[1] * strides[3], piece),
            DepthLoop(plan.row_steps // steps, steps * plan.dot.group, steps * step),
        ]
        image, weights = self.first_window(where), self.first_weights(where)
        return TileOperands(plan.dot, image, weights, loops, self.position_steps, step)

    def compute(self, where: TileAt, vectors: int, sums: SSAValue, meanwhile: Meanwhile) -> None:
        """Writes the sums of a tile."""
        registers = self.registers(where.tiling, where.width)
        registers.multiply(
            self.ctx.b, self.operands(where), vectors, sums, where.prefetch, meanwhile
        )


@dataclass(frozen=True)
class _GatheredCode(_TileCode):
    """The code of full tiles of a convolution."""

    plan: _GatheredPlan

    @property
    def bits(self) -> Element:
        """The elements of the image, which are copied as they are."""
        return element(IntegerType(8 * self.plan.dot.image.bytes))

    def operands(self, where: TileAt) -> TileOperands:
        """What is multiplied for a tile."""
        plan, step, tiling = self.plan, self.weights.step, where.tiling
        assert where.windows is not None
        loop = DepthLoop(plan.rounds, tiling.positions * plan.row, ROWS * step)
        steps = tiling.columns * plan.row, plan.row
        return TileOperands(plan.dot, where.windows, self.first_weights(where), [loop], steps, step)

    def gather(self, where: TileAt) -> None:
        """Copies the windows of a tile, a row of tiles of all positions after the other."""
        b, plan = self.ctx.b, self.plan
        pieces, in_row, rest = plan.pieces, plan.in_row, plan.conv.depth % plan.lanes
        windows = self.windows(where)
        # A row that ends within pieces, or within a piece.
        whole = (pieces - bool(rest)) // in_row
        if whole:
            with b.loop(0, whole) as number:
                self.gather_row(where, windows, number, in_row)
        if whole < plan.rounds:
            self.gather_row(where, windows, whole, pieces - whole * in_row, rest)

    def gather_row(
        self,
        where: TileAt,
        windows: tuple[SSAValue, Sequence[Index]],
        number: Index,
        count: int,
        rest: int = 0,
    ) -> None:
        """
        Copies so many pieces of each window into a row of tiles, and zeros behind them; of the last so many channels as
        `rest` says, unless that is 0.
        """
        b, plan, bits, tiling = self.ctx.b, self.plan, self.bits, where.tiling
        assert where.windows is not None
        image, distances = windows
        first = b.mul(number, plan.in_row)
        sources = [
            b.address(image, self.piece_offset(b.add(first, i)), bits.storage) for i in range(count)
        ]
        target = b.address(where.windows, b.mul(number, tiling.positions * plan.row), bits.storage)
        # Loads that follow stores may have to wait for them: their addresses look alike.
        for start in range(0, len(distances), ROWS_AT_ONCE):
            rows = [
                self.joined(
                    [b.load(source, distance, bits, plan.piece) for source in sources], rest
                )
                for distance in distances[start : start + ROWS_AT_ONCE]
            ]
            for i, row in enumerate(rows, start):
                b.store(target, i * plan.row, bits, row)

    def piece_offset(self, number: Index) -> Index:
        """How far a piece lies behind the beginning of its window."""
        b, conv, strides = self.ctx.b, self.plan.conv, self.image.format.strides
        _, rows, columns = self.plan.places
        block, tap = b.div(number, rows * columns), b.mod(number, rows * columns)
        row, column = b.div(tap, columns), b.mod(tap, columns)
        offset = b.mul(block, strides[1])
        offset = b.add(offset, b.mul(row, conv.dilation[0] * strides[2]))
        return b.add(offset, b.mul(column, conv.dilation[1] * strides[3]))

    def joined(self, pieces: Sequence[SSAValue], rest: int) -> SSAValue:
        """
        A row of a tile: pieces, zeros for the taps that only fill up their last groups and for all but `rest` channels
        of the last block, and zeros behind them.
        """
        b, plan = self.ctx.b, self.plan
        parts, lanes = list(pieces), plan.piece
        zero = b.constant(self.bits.compute, 0, lanes)
        parts += [zero] * (plan.in_row - len(parts))
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [b.merge(one, other, range(2 * lanes)) for one, other in pairs]
            lanes *= 2
        counts = [plan.piece if plan.lanes > 1 else plan.conv.taps[1]] * len(pieces)
        if rest:
            counts[-1] = rest
        if all(count == plan.piece for count in counts):
            return parts[0]
        counts += [0] * (plan.in_row - len(counts))
        zero = b.constant(self.bits.compute, 0, lanes)
        mask = [
            number * plan.piece + i + (0 if i < count else lanes)
            for number, count in enumerate(counts)
            for i in range(plan.piece)
        ]
        return b.merge(parts[0], zero, mask)


def _implementation(
    name: str, kind: type[_TilePlan], refusal: Callable[[Site], str | None]
) -> Implementation:
    """What plans of a kind describe."""

    def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
        assert isinstance(op, Conv2DOp)
        conv = Convolution.of(op)
        plan = kind.of(conv, ctx.target)
        lanes = plan.vector
        image = with_zeros(ctx, op.data, plan.halo, plan.dot.image)
        flat = plan.sees_flat(ctx, image)
        tiling = plan.stated(ctx.parameters, flat=flat)
        panel = tiling.vectors * lanes
        weights = packed_weights(ctx, op, plan, panel, together=plan.together)
        places = tiling, flat, image, weights, shape_of(op.result)
        if isinstance(plan, _GatheredPlan):
            code = _GatheredCode(ctx, plan, *places)
            gather = Gather(code.bits, plan.elements, code.gather)
        else:
            code, gather = _TileCode(ctx, plan, *places), None
        tiles = SumsInMemory(
            code.compute,
            lambda tiling, width: code.registers(tiling, width).configured(ctx),
            gather,
        )
        finish = converted(ctx.b, sink, plan.dot.total, conv.kind)
        grid = code.grid(plan.round_steps)
        emit_tiles(ctx, grid, plan.dot, lanes, tiles, code.place, finish)

    def parameters(site: Site, parameters: Parameters) -> None:
        conv = Convolution.at(site)
        if not conv.is_empty:
            plan = kind.of(conv, site.target)
            for flat in plan.views:
                plan.stated(parameters, flat=flat)

    def spacing(site: Site) -> Spacing:
        return kind.of(Convolution.of(site.op), site.target).spacing

    def cost(site: Site) -> float:
        conv = Convolution.at(site)
        plan = kind.of(conv, site.target)
        cycles = plan.cycles(flat=plan.views[-1])
        seconds = (cycles + CONFIGURE_CYCLES) * site.target.cycle_seconds
        return conv.images * conv.groups * seconds

    return Implementation(name, emit, 20, refusal, cost, spacing, parameters)


BLOCKED_TILES = _implementation("blocked-tiles", _TilePlan, _refusal)
GATHERED_TILES = _implementation("gathered-tiles", _GatheredPlan, _gathered_refusal)
