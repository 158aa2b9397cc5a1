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
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import is_open, likely
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import Spacing
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.loops.dots import NO_DOT
from xrelay.lowering.loops.matrix_operands import Panels, left_operand, right_operand
from xrelay.lowering.loops.matrix_product import PanelPlan, Product
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, UNROLLED_STEPS, DepthLoop, accumulate
from xrelay.lowering.loops.tiles import Place, PrepareCode, TileAt, TileGrid, converted, emit_tiles
from xrelay.lowering.loops.tiling import Tiling, tile_parameters

PACK_CYCLES = 3
"""To read a vector of the right operand and to write it into a panel."""
COPY_CYCLES = 3
"""To read a vector of the left operand and to write it into rows of whole groups."""
FAR_PACK_CYCLES = 5
"""The same where the panels do not stay in the near caches."""


def panel_tile(plan: PanelPlan, parameters: Parameters) -> Tiling:
    """The tile that parameters state."""
    vectors, rows = likely(plan.vectors), likely(plan.product.rows)
    names = ("", "rows", "vectors")
    return tile_parameters(parameters, plan.tiling, 1, rows, vectors, names)


def _parts(plan: PanelPlan, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, of whole rounds of the inner loop."""
    rounds, rest = divmod(plan.steps, UNROLLED_STEPS)
    allowed = Divisors(1 if rest else max(1, rounds))
    return parameters.number("depth_parts", plan.depth_parts, allowed)


def _parameters(site: Site, parameters: Parameters) -> None:
    plan = PanelPlan.of(Product.of(site.op), site.target)
    if 0 not in shape_of(site.op.results[0]):
        panel_tile(plan, parameters)
        _parts(plan, parameters)


def _refusal(site: Site) -> str | None:
    product = Product.of(site.op)
    return unless(product.dot(site.target) is not None, NO_DOT) or unless(
        not product.transpose_left, "left operand transposed"
    )


def _spacing(site: Site) -> Spacing:
    return row_spacing(Product.of(site.op))


def row_spacing(product: Product) -> Spacing:
    """The gap between rows of the left operand that keeps columns apart in the first-level cache."""
    line = LINE_BYTES // element_of(product.left).bytes
    return Spacing(row_gap=line if product.rows_collide else 0)


def _cost(site: Site) -> float:
    plan = PanelPlan.of(Product.of(site.op), site.target)
    product, target = plan.product, site.target
    cycles = product.batch * plan.tiling.cycles * plan.depth_parts
    if product.right not in site.constants and not plan.lies_in_panels:
        size = plan.steps * product.columns
        far = size * plan.dot.group * plan.dot.weight.bytes > target.l2_bytes // 4
        vectors = product.right_batch * size / plan.lanes
        cycles += vectors * (FAR_PACK_CYCLES if far else PACK_CYCLES)
    if not plan.left_is_ready:
        cycles += product.left_batch * product.rows * product.depth / plan.lanes * COPY_CYCLES
    return cycles * target.cycle_seconds


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    plan = PanelPlan.of(Product.of(op), ctx.target)
    tiling = panel_tile(plan, ctx.parameters)
    left = left_operand(ctx, plan)
    right = right_operand(ctx, plan, tiling.vectors * plan.lanes)
    emit_panels(ctx, plan, tiling, _parts(plan, ctx.parameters), left, right, sink)


@dataclass(frozen=True)
class _PanelCode:
    """The code of the tiles of a product."""

    b: KernelBuilder
    plan: PanelPlan
    steps: int
    """Those in a part of the depth."""
    left: Buffer
    right: Panels

    def tile(self, where: TileAt, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Adds a part of the depth to the registers of a tile."""
        b, product, dot, lanes = self.b, self.plan.product, self.plan.dot, self.plan.lanes
        left, right, steps = self.left, self.right, self.steps
        row_step = left.format.strides[-2] if len(left.shape) > 1 else product.depth
        left_member = 0 if product.left_batch == 1 else product.rows * row_step
        (member, panel), row = where.place, where.x
        first = b.mul(where.part, steps)
        x = b.address(
            left.pointer,
            b.add(b.add(b.mul(member, left_member), b.mul(row, row_step)), b.mul(first, dot.group)),
            dot.image.storage,
        )
        w = b.address(right.pointer, right.weights(b, member, panel, first), dot.weight.storage)
        rows = [i * row_step for i in range(where.tiling.positions)]
        columns = [v * lanes * dot.group for v in range(len(totals) // where.tiling.positions)]
        whole = steps - steps % UNROLLED_STEPS
        for begin, count in ((0, whole), (whole, steps - whole)):
            if not count:
                continue
            unrolled = min(count, UNROLLED_STEPS)
            loop = DepthLoop(count // unrolled, unrolled * dot.group, unrolled * right.step)
            offsets = [((begin + i) * dot.group, (begin + i) * right.step) for i in range(unrolled)]
            totals = accumulate(
                b, dot, x, w, [loop], offsets, rows, columns, totals, lanes, where.prefetch
            )
        return totals

    def start(self, place: Place, vectors: int) -> Sequence[SSAValue]:
        """What the sums of a panel begin with."""
        b, right, dot, lanes = self.b, self.right, self.plan.dot, self.plan.lanes
        first = b.address(right.pointer, right.start(b, *place), dot.weight.storage)
        return [b.load(first, v * lanes, dot.total, lanes) for v in range(vectors)]

    def place(self, place: Place, _: Index, row: Index, vector: Index, count: int) -> Position:
        """Where a vector of a row lies in the result."""
        b, shape = self.b, self.plan.product.out_shape
        column = b.mul(vector, self.plan.lanes)
        if self.plan.product.batch == 1:
            return Position(shape, b.unflatten(row, shape[:-1]), column, count)
        member = b.unflatten(place[0], shape[:-2])
        return Position(shape, (*member, row), column, count)


def emit_panels(
    ctx: KernelContext,
    plan: PanelPlan,
    tiling: Tiling,
    parts: int,
    left: Buffer,
    right: Panels,
    sink: Sink,
    prepare: PrepareCode | None = None,
) -> None:
    """
    The loops of a product whose operands lie as steps of its dot product read them, with the depth in `parts`
    parts; `prepare` as `emit_tiles` has it.
    """
    product, dot, lanes = plan.product, plan.dot, plan.lanes
    steps = plan.steps // parts
    step_elements = tiling.vectors * lanes * dot.group
    grid = TileGrid(
        (product.batch,),
        1,
        product.rows,
        tiling,
        plan.vectors,
        steps * dot.group * dot.image.bytes,
        plan.steps * likely(product.columns) * dot.group * dot.weight.bytes,
        parts,
        steps * step_elements if product.right in ctx.packings and prepare is None else 0,
        UNROLLED_STEPS * step_elements,
        0 if is_open(product.columns) else product.columns % lanes,
        columns=product.columns,
    )
    code = _PanelCode(ctx.b, plan, steps, left, right)
    finish = converted(ctx.b, sink, dot.total, product.kind)
    start = code.start if dot.shift else None
    emit_tiles(ctx, grid, dot, lanes, code.tile, code.place, finish, start, prepare)


PANELS = Implementation("panels", _emit, 20, _refusal, _cost, _spacing, _parameters)
