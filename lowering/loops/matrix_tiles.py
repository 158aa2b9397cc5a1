"""
Matrix products in panels whose tiles are computed in the tile registers of AMX, which take both operands as
`matrix_panels` does.
"""

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import likely
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.matrix_operands import (
    ProductCode,
    left_operand,
    packing_cycles,
    right_operand,
)
from xrelay.lowering.loops.matrix_panels import LEFT_TRANSPOSED, product_grid, product_spacing
from xrelay.lowering.loops.matrix_product import Product, ProductPlan
from xrelay.lowering.loops.micro_kernel import DepthLoop, Meanwhile
from xrelay.lowering.loops.tile_code import SumsInMemory, TileAt
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
from xrelay.lowering.loops.tiling import MOST_ALONG, Tiling


def _dot(product: Product, target: Target) -> TileDot | None:
    left, right = element_of(product.left), element_of(product.right)
    return tile_dot_of(target, left, right, product.kind)


@dataclass(frozen=True)
class TilePlan(ProductPlan):
    """A product of tiles."""

    dot: TileDot

    @staticmethod
    def of(product: Product, target: Target) -> "TilePlan":
        """That of a product which is not refused."""
        dot = _dot(product, target)
        assert dot is not None
        return TilePlan(product, target, dot)

    @property
    def tiling(self) -> Tiling:
        """How the result is cut."""
        rounds = blocks(likely(self.steps), ROWS)
        sizes = 1, likely(self.product.rows), likely(self.vectors), rounds
        return choose_tiles(*sizes, is_open=self.product.open_rows)


def _tile(plan: TilePlan, parameters: Parameters) -> Tiling:
    """The tile that parameters state."""
    rows = MOST_ALONG if plan.product.open_rows else plan.product.rows
    vectors = likely(plan.vectors)
    return stated_tiles(parameters, plan.tiling, 1, rows, vectors)


def _parameters(site: Site, parameters: Parameters) -> None:
    if 0 not in shape_of(site.op.results[0]):
        _tile(TilePlan.of(Product.at(site), site.target), parameters)


def _refusal(site: Site) -> str | None:
    product = Product.of(site.op)
    return unless(_dot(product, site.target) is not None, NO_TILES) or unless(
        not product.transpose_left, LEFT_TRANSPOSED
    )


def _cost(site: Site) -> float:
    plan = TilePlan.of(Product.at(site), site.target)
    tiling = plan.tiling
    # Each task loads the sizes of the registers; with several threads there may be one for each panel.
    tasks = plan.product.batch * blocks(likely(plan.vectors), tiling.vectors)
    cycles = plan.product.batch * tiling.cycles + tasks * CONFIGURE_CYCLES
    return (cycles + packing_cycles(plan, site)) * site.target.cycle_seconds


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    plan = TilePlan.of(Product.of(op), ctx.target)
    tiling = _tile(plan, ctx.parameters)
    left = left_operand(ctx, plan)
    right = right_operand(ctx, plan, tiling.vectors * plan.lanes)
    code = _TileCode(ctx.b, plan, left, right)
    tiles = SumsInMemory(
        code.compute, lambda tiling, width: TileRegisters.of(tiling, width).configured(ctx)
    )
    grid = product_grid(ctx, plan, tiling, ROWS)
    finish = converted(ctx.b, sink, plan.dot.total, plan.product.kind)
    emit_tiles(ctx, grid, plan.dot, plan.lanes, tiles, code.place, finish)


@dataclass(frozen=True)
class _TileCode(ProductCode):
    """The code of the tiles of a product."""

    plan: TilePlan

    def compute(self, where: TileAt, vectors: int, sums: SSAValue, meanwhile: Meanwhile) -> None:
        """Writes the sums of a tile."""
        dot, step = self.plan.dot, self.right.step
        x, w = self.addresses(where, 0)
        loop = DepthLoop(self.plan.steps // ROWS, ROWS * dot.group, ROWS * step)
        operands = TileOperands(dot, x, w, [loop], (0, self.row_step), step)
        TileRegisters.of(where.tiling, where.width).multiply(
            self.b, operands, vectors, sums, where.prefetch, meanwhile
        )


TILE_REGISTERS = Implementation(
    "tile-registers", _emit, 20, _refusal, _cost, product_spacing, _parameters
)
