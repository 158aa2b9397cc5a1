"""
Convolution with blocked channels in the tile registers of AMX, on the images and panels of `blocked`.

A product of tiles takes one block of input channels at one tap of the window: 16 channels, 8 steps of bf16 or 4 of
bytes, where tiles could hold 16. Each register of the image has neighbouring positions of one row.
"""

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import shape_of
from xrelay.lowering.emit.format import Spacing
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.halo import with_zeros
from xrelay.lowering.loops.micro_kernel import DepthLoop
from xrelay.lowering.loops.tile_registers import (
    CONFIGURE_CYCLES,
    NO_TILES,
    TileDot,
    TileRegisters,
    choose_tiles,
    stated_tiles,
    tile_dot_of,
)
from xrelay.lowering.loops.tiles import SumsInMemory, TileAt, converted, emit_tiles
from xrelay.lowering.loops.tiling import Tiling
from xrelay.lowering.operators.conv.blocked import (
    FLAT,
    IMAGE,
    NOT_IN_BLOCKS,
    BlockedCode,
    BlockedPlan,
    blocked_refusal,
    packed_weights,
    seen_flat,
)
from xrelay.lowering.operators.conv.geometry import Convolution


def _dot(conv: Convolution, target: Target) -> TileDot | None:
    return tile_dot_of(target, conv.image, conv.weight, conv.kind)


@dataclass(frozen=True)
class _TilePlan(BlockedPlan):
    """A convolution as products of tiles."""

    dot: TileDot

    @staticmethod
    def of(conv: Convolution, target: Target) -> "_TilePlan":
        """That of a convolution which is not refused."""
        dot = _dot(conv, target)
        assert dot is not None
        return _TilePlan(conv, target, dot)

    @property
    def block_steps(self) -> int:
        """Steps of a block of input channels: those of a product of tiles."""
        return self.lanes // self.dot.group

    def tiling(self, *, flat: bool) -> Tiling:
        """The cheapest, of an image or of one that is seen as one long row."""
        conv = self.conv.likely
        rounds = conv.depth // self.lanes * prod(conv.taps)
        tallest = conv.most_rows(flat=flat)
        return choose_tiles(*conv.extents(flat=flat), conv.out_blocks, rounds, tallest)

    def stated(self, parameters: Parameters, *, flat: bool) -> Tiling:
        """The tile that parameters state."""
        conv = self.conv.likely
        height, width = conv.extents(flat=flat)
        rows, names = min(height, conv.most_rows(flat=flat)), FLAT if flat else IMAGE
        usual = self.tiling(flat=flat)
        return stated_tiles(parameters, usual, rows, width, conv.out_blocks, names)


def _refusal(site: Site) -> str | None:
    conv = Convolution.of(site.op)
    lanes = conv.data_lanes
    return (
        unless(conv.out_lanes is not None, NOT_IN_BLOCKS)
        or unless(
            lanes is not None and conv.depth % lanes == 0, "input channels not in whole blocks"
        )
        or blocked_refusal(site, conv, _dot(conv, site.target), NO_TILES)
        or unless(lanes == conv.out_lanes, "blocks are not vectors")
    )


def _parameters(site: Site, parameters: Parameters) -> None:
    conv = Convolution.at(site)
    if not conv.is_empty:
        for flat in (False, True) if conv.is_pointwise else (False,):
            _TilePlan.of(conv, site.target).stated(parameters, flat=flat)


def _spacing(site: Site) -> Spacing:
    return _TilePlan.of(Convolution.of(site.op), site.target).spacing


def _cost(site: Site) -> float:
    conv = Convolution.at(site)
    cycles = _TilePlan.of(conv, site.target).tiling(flat=conv.is_pointwise).cycles
    return conv.images * conv.groups * (cycles + CONFIGURE_CYCLES) * site.target.cycle_seconds


@dataclass(frozen=True)
class _TileCode(BlockedCode):
    """The code of the tiles of a convolution."""

    plan: _TilePlan

    def registers(self, tiling: Tiling) -> TileRegisters:
        """Those of a tile."""
        return TileRegisters.of(tiling, self.plan.block_steps)

    def compute(self, where: TileAt, vectors: int, sums: SSAValue) -> None:
        """Writes the sums of a tile."""
        plan, conv, step = self.plan, self.plan.conv, self.weights.step
        strides = self.image.format.strides
        block = plan.block_steps * step
        row = conv.taps[1] * block
        loops = [
            DepthLoop(conv.depth // plan.lanes, strides[1], conv.taps[0] * row),
            DepthLoop(conv.taps[0], conv.dilation[0] * strides[2], row),
            DepthLoop(conv.taps[1], conv.dilation[1] * strides[3], block),
        ]
        image, weights = self.addresses(where)
        self.registers(where.tiling).multiply(
            self.ctx.b, plan.dot, image, weights, loops, self.position_steps, step, vectors, sums, where.prefetch
        )  # fmt: skip


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, Conv2DOp)
    conv = Convolution.of(op)
    plan, lanes = _TilePlan.of(conv, ctx.target), conv.out_lanes
    assert lanes is not None
    image = with_zeros(ctx, op.data, plan.halo, plan.dot.image)
    flat = seen_flat(ctx, conv, image)
    tiling = plan.stated(ctx.parameters, flat=flat)
    weights = packed_weights(ctx, op, plan, tiling.vectors * lanes)
    code = _TileCode(ctx, plan, tiling, flat, image, weights, shape_of(op.result))
    tiles = SumsInMemory(code.compute, lambda tiling: code.registers(tiling).configured(ctx))
    finish = converted(ctx.b, sink, plan.dot.total, conv.kind)
    emit_tiles(ctx, code.grid(plan.block_steps), plan.dot, lanes, tiles, code.place, finish)


BLOCKED_TILES = Implementation("blocked-tiles", _emit, 20, _refusal, _cost, _spacing, _parameters)
