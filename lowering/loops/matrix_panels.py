"""
Matrix products whose right operand lies in panels of columns.

    for member of the batch, block of rows, panel of columns:       # the threads share these
        for tile of the block:
            registers [rows x vectors of the panel] = 0
            for every step of the depth:
                registers += element of the left operand (in all lanes) * vector of the panel
            hand the registers to the sink

A constant right operand is packed when the model is compiled. Another one is read where it lies
when its rows are whole vectors; otherwise it is packed into scratch memory first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import Spacing, row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.loops.dots import NO_DOT
from xrelay.lowering.loops.matrix_operands import (
    Panels,
    ProductCode,
    left_operand,
    packing_cycles,
    right_operand,
)
from xrelay.lowering.loops.matrix_product import PanelPlan, Product, ProductPlan
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, UNROLLED_STEPS, DepthLoop, accumulate
from xrelay.lowering.loops.tile_code import PrepareCode, TileAt
from xrelay.lowering.loops.tile_grid import PackedWeights, Place, TileGrid
from xrelay.lowering.loops.tiles import converted, emit_tiles
from xrelay.lowering.loops.tiling import Tiling, tile_parameters
from xrelay.lowering.loops.wide_panels import WidePanel, widen, widening_cycles

LEFT_TRANSPOSED = "left operand transposed"
"""Why an implementation that reads it by rows refuses a site."""


def panel_tile(plan: PanelPlan, parameters: Parameters) -> Tiling:
    """The tile that parameters state."""
    vectors, rows = likely(plan.vectors), likely(plan.product.rows)
    names = ("", "rows", "vectors")
    return tile_parameters(parameters, plan.tiling, 1, rows, vectors, names)


def _parts(plan: PanelPlan, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, of whole rounds of the inner loop."""
    rounds, rest = (1, 0) if plan.product.open_depth else divmod(plan.steps, UNROLLED_STEPS)
    allowed = Divisors(1 if rest else max(1, rounds))
    return parameters.number("depth_parts", plan.depth_parts, allowed)


def _parameters(site: Site, parameters: Parameters) -> None:
    plan = PanelPlan.of(Product.at(site), site.target).computed(site.constants, site.threads)
    if 0 not in shape_of(site.op.results[0]):
        panel_tile(plan, parameters)
        _parts(plan, parameters)


def _refusal(site: Site) -> str | None:
    product = Product.of(site.op)
    return unless(product.dot(site.target) is not None, NO_DOT) or unless(
        not product.transpose_left, LEFT_TRANSPOSED
    )


def product_spacing(site: Site) -> Spacing:
    """What the implementations of a product want between the elements of its left operand."""
    return row_spacing(Product.of(site.op))


def row_spacing(product: Product) -> Spacing:
    """The gap between rows of the left operand that keeps columns apart in the first-level cache."""
    line = LINE_BYTES // element_of(product.left).bytes
    return Spacing(row_gap=line if product.rows_collide else 0)


def _cost(site: Site) -> float:
    stored = PanelPlan.of(Product.at(site), site.target)
    plan = stored.computed(site.constants, site.threads)
    cycles = plan.tiling.cycles * plan.depth_parts
    if plan != stored:
        steps, rows = likely(plan.steps) // plan.depth_parts, likely(plan.product.rows)
        each = steps * plan.dot.image.bytes
        cycles += widening_cycles(plan.target, likely(plan.steps * plan.vectors), rows, each)
    cycles = likely(plan.product.batch) * cycles + packing_cycles(stored, site)
    return cycles * site.target.cycle_seconds


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    stored = PanelPlan.of(Product.of(op), ctx.target)
    plan = stored.computed(ctx.known, ctx.team.size)
    tiling, parts = panel_tile(plan, ctx.parameters), _parts(plan, ctx.parameters)
    b, steps, width = ctx.b, plan.steps // parts, tiling.vectors * plan.lanes
    left = left_operand(ctx, plan)
    panels = right_operand(ctx, stored, width)
    if plan == stored:
        emit_panels(ctx, plan, tiling, parts, left, panels, sink)
        return
    room = ctx.private_scratch(plan.dot.weight, row_major((steps, width)))

    kind = stored.dot.weight

    def address(place: Place, part: Index) -> SSAValue:
        return b.address(
            panels.pointer, panels.weights(b, place[0], place[1], b.mul(part, steps)), kind.storage
        )

    def prepare(place: Place, part: Index) -> None:
        source = address(place, part)
        widen(b, stored.dot, source, room.pointer, steps * tiling.vectors, plan.lanes)

    packed = PackedWeights(kind, address)
    wide = WidePanel(room.pointer, 0, 0, width)
    emit_panels(ctx, plan, tiling, parts, left, wide, sink, prepare, packed)


@dataclass(frozen=True)
class _PanelCode(ProductCode):
    """The code of the tiles of a product."""

    plan: PanelPlan
    steps: int
    """Those in a part of the depth."""

    def tile(self, where: TileAt, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Adds a part of the depth to the registers of a tile."""
        b, dot, lanes = self.b, self.plan.dot, self.plan.lanes
        right, steps = self.right, self.steps
        x, w = self.addresses(where, b.mul(where.part, steps))
        rows = [row * self.row_step for row in where.columns]
        columns = [v * lanes * dot.group for v in range(len(totals) // where.tiling.positions)]
        rest = steps % UNROLLED_STEPS
        for begin, count, unrolled in (
            (0, steps - rest, UNROLLED_STEPS),
            (steps - rest, rest, 1),
        ):
            if certainly(count, 0):
                continue
            image, weights = x, w
            if is_open(begin):
                image = b.address(x, begin * dot.group, dot.image.storage)
                weights = b.address(w, begin * right.step, dot.weight.storage)
                begin = 0
            if not is_open(count):
                unrolled = min(count, UNROLLED_STEPS)
            loops = [DepthLoop(count // unrolled, unrolled * dot.group, unrolled * right.step)]
            if where.is_rare and unrolled > 1:
                loops.append(DepthLoop(unrolled, dot.group, right.step))
                unrolled = 1
            offsets = [((begin + i) * dot.group, (begin + i) * right.step) for i in range(unrolled)]
            totals = accumulate(
                *(b, dot, image, weights, loops, offsets, rows, columns, totals, lanes),
                where.prefetch,
                loops_in_round=len(loops) - 1,
            )
        return totals

    def start(self, place: Place, vectors: int) -> Sequence[SSAValue]:
        """What the sums of a panel begin with."""
        b, right, dot, lanes = self.b, self.right, self.plan.dot, self.plan.lanes
        first = b.address(right.pointer, right.start(b, *place), dot.weight.storage)
        return [b.load(first, v * lanes, dot.total, lanes) for v in range(vectors)]


def product_grid(
    ctx: KernelContext,
    plan: ProductPlan,
    tiling: Tiling,
    steps: int,
    parts: int = 1,
    packed: PackedWeights | None = None,
) -> TileGrid:
    """
    The tiles of a product, whose inner loop takes so many steps in a round, with the depth in `parts` parts; `packed` as
    `TileGrid` has it.
    """
    product, dot = plan.product, plan.dot
    part_steps = plan.steps // parts
    step_elements = tiling.vectors * plan.lanes * dot.group
    return TileGrid(
        (product.batch,),
        1,
        product.rows,
        tiling,
        plan.vectors,
        likely(part_steps) * dot.group * dot.image.bytes,
        likely(plan.steps * product.columns) * dot.group * dot.weight.bytes,
        parts,
        part_steps * step_elements if product.right in ctx.packings else 0,
        steps * step_elements,
        0 if is_open(product.columns) else product.columns % plan.lanes,
        columns=product.columns,
        packed=packed,
    )


def emit_panels(
    ctx: KernelContext,
    plan: PanelPlan,
    tiling: Tiling,
    parts: int,
    left: Buffer,
    right: Panels,
    sink: Sink,
    prepare: PrepareCode | None = None,
    packed: PackedWeights | None = None,
) -> None:
    """
    The loops of a product whose operands lie as steps of its dot product read them, with the depth in `parts`
    parts; `prepare` as `emit_tiles` has it, and `packed` as `TileGrid`.
    """
    dot = plan.dot
    grid = product_grid(ctx, plan, tiling, UNROLLED_STEPS, parts, packed)
    if prepare is not None and packed is None:
        grid = replace(grid, part_elements=0)  # Nothing is asked for ahead of memory of the thread.
    code = _PanelCode(ctx.b, plan, left, right, plan.steps // parts)
    finish = converted(ctx.b, sink, dot.total, plan.product.kind)
    start = code.start if dot.shift else None
    emit_tiles(ctx, grid, dot, plan.lanes, code.tile, code.place, finish, start, prepare)


PANELS = Implementation("panels", _emit, 20, _refusal, _cost, product_spacing, _parameters)
