"""
Products of many rows with a matrix of a few bits a number: they unpack the weights of a panel into memory of the thread,
times the scales, and go on as other products of f32 do (`xrelay.lowering.loops.matrix_panels`).
"""

from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Operation, SSAValue

from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.strategy import Implementation, Sink, Site
from xrelay.lowering.loops.few_bits import SINGLE, FloatPanels
from xrelay.lowering.loops.matrix_operands import left_operand
from xrelay.lowering.loops.matrix_panels import emit_panels, panel_tile
from xrelay.lowering.loops.tile_grid import Place
from xrelay.lowering.loops.tiling import positions_per_block
from xrelay.lowering.loops.wide_panels import WidePanel
from xrelay.lowering.math.arithmetic import multiply
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct, refusal, spacing

UNPACKED_WORK = 12
"""To write a vector of unpacked numbers into the second-level cache, as so many instructions: measured."""


def _unpacked_parameters(site: Site, parameters: Parameters) -> None:
    product = BlocksProduct.of(site.op, site.target)
    if not product.is_empty:
        panel_tile(product.plan, parameters)


def _unpacked_cost(site: Site) -> float:
    """Seconds for the product, and to unpack panels for each block of rows."""
    product, target = BlocksProduct.of(site.op, site.target), site.target
    if product.is_empty:
        return 0.0
    part_bytes = product.depth // product.parts * SINGLE.bytes
    weight_bytes = product.depth * product.vectors * product.lanes * SINGLE.bytes
    block = positions_per_block(target, part_bytes, product.rows, weight_bytes)
    unpacking = blocks(product.rows, block) * product.cycles(0, UNPACKED_WORK)
    return (product.plan.tiling.cycles * product.parts + unpacking) * target.cycle_seconds


def _emit_unpacked(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product = BlocksProduct.of(op, ctx.target)
    plan, parts = product.plan, product.parts
    tiling = panel_tile(plan, ctx.parameters)
    left = left_operand(ctx, plan)
    width = tiling.vectors * product.lanes
    panels = product.float_panels(ctx, width)
    length = product.depth // parts
    room = ctx.private_scratch(SINGLE, row_major((length, width)))

    def prepare(place: Place, part: Index) -> None:
        _unpack(panels, room.pointer, place[-1], part, length)

    right = WidePanel(room.pointer, 0, 0, width)
    emit_panels(ctx, plan, tiling, parts, left, right, sink, prepare)


def _unpack(panels: FloatPanels, room: SSAValue, panel: Index, part: Index, length: int) -> None:
    """Writes `length` rows of a panel as f32, those of a part."""
    b, size, group, lanes = panels.b, panels.size, panels.group, panels.lanes
    vectors = panels.width // lanes

    def block(i: Index, numbers: int) -> None:
        whole = b.add(b.mul(part, length // size), i)
        scales = panels.scales_of(panel, whole, vectors)
        zeros = panels.zeros_of(panel, whole, vectors)
        words = panels.block(panel, whole)

        def step(number: Index, count: int) -> None:
            start = b.address(words, b.mul(number, panels.step_bytes), i8)
            row = b.add(b.mul(i, size), b.mul(number, group))
            place = b.address(room, b.mul(row, panels.width), f32)
            for v, column in enumerate(panels.columns(start, 0, count, zeros)):
                for k, value in enumerate(column):
                    scaled = multiply(b, value, scales[v], SINGLE)
                    b.store(place, k * panels.width + v * lanes, SINGLE, scaled)

        with b.loop(0, numbers // group) as number:
            step(number, group)
        if numbers % group:
            step(numbers // group, numbers % group)

    whole, rest = divmod(length, size)
    with b.loop(0, whole) as i:
        block(i, size)
    if rest:
        block(whole, rest)


UNPACKED = Implementation(
    "unpacked-blocks", _emit_unpacked, 20, refusal, _unpacked_cost, spacing, _unpacked_parameters
)
