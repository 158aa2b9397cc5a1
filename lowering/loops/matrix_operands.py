"""
The operands of matrix products in panels: where the left one has rows of whole groups, and the right one
panels of columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import Format, row_major, with_row_gap
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import MatrixPanels, blocks
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.loops.dots import FLIP, Dot
from xrelay.lowering.loops.matrix_product import PAGE_BYTES, ProductPlan
from xrelay.lowering.loops.micro_kernel import LINE_BYTES
from xrelay.lowering.loops.panel_writer import PanelWriter, part_groups
from xrelay.lowering.loops.tile_code import TileAt
from xrelay.lowering.loops.tile_grid import Place
from xrelay.lowering.math.arithmetic import subtract
from xrelay.lowering.math.convert import convert

PACK_CYCLES = 3
"""To read a vector of the right operand and to write it into a panel."""
COPY_CYCLES = 3
"""To read a vector of the left operand and to write it into rows of whole groups."""
FAR_PACK_CYCLES = 5
"""The same where the panels do not stay in the near caches."""


def packing_cycles(plan: ProductPlan, site: Site) -> float:
    """To bring the operands of a product to where its steps read them."""
    product, cycles = plan.product.likely, 0.0
    if product.right not in site.constants and not plan.lies_in_panels:
        size = likely(plan.steps) * product.columns
        far = size * plan.dot.group * plan.dot.weight.bytes > plan.target.l2_bytes // 4
        vectors = likely(product.right_batch) * size / plan.lanes
        cycles += vectors * (FAR_PACK_CYCLES if far else PACK_CYCLES)
    if not plan.left_is_ready:
        cycles += (
            likely(product.left_batch) * product.rows * product.depth / plan.lanes * COPY_CYCLES
        )
    return cycles


@dataclass(frozen=True)
class Panels:
    """The right operand: where each panel begins, and the way from one step to the next."""

    pointer: SSAValue
    member: int
    """Elements from one member of the batch to the next."""
    panel: int
    """Elements from one panel to the next."""
    step: int
    before: int = 0
    """Elements of what the sums begin with, in front of the weights of each panel."""

    def start(self, b: KernelBuilder, member: Index, panel: Index) -> Index:
        """Where a panel begins."""
        return b.add(b.mul(member, self.member), b.mul(panel, self.panel))

    def weights(self, b: KernelBuilder, member: Index, panel: Index, step: Index) -> Index:
        """Where the weights of a step begin, at which a part of the depth does."""
        start = b.add(self.start(b, member, panel), b.mul(step, self.step))
        return b.add(start, self.before)


@dataclass(frozen=True)
class ProductCode:
    """Where the tiles of a product find their operands, and where their results go."""

    b: KernelBuilder
    plan: ProductPlan
    left: Buffer
    right: Panels

    @property
    def row_step(self) -> int:
        """Elements from one row of the left operand to the next."""
        left = self.left
        return left.format.strides[-2] if len(left.shape) > 1 else self.plan.product.depth

    def addresses(self, where: TileAt, step: Index) -> tuple[SSAValue, SSAValue]:
        """The addresses of a tile's operands at a step: in the left operand, and in a panel."""
        b, product, dot, right = self.b, self.plan.product, self.plan.dot, self.right
        row_step = self.row_step
        left_member = 0 if certainly(product.left_batch, 1) else product.rows * row_step
        (member, panel), row = where.place, where.x
        start = b.add(b.mul(member, left_member), b.mul(row, row_step))
        x = b.address(self.left.pointer, b.add(start, b.mul(step, dot.group)), dot.image.storage)
        w = b.address(right.pointer, right.weights(b, member, panel, step), dot.weight.storage)
        return x, w

    def place(self, place: Place, _: Index, row: Index, vector: Index, count: int) -> Position:
        """Where a vector of a row lies in the result."""
        b, shape = self.b, self.plan.product.out_shape
        column = b.mul(vector, self.plan.lanes)
        if certainly(self.plan.product.batch, 1):
            return Position(shape, b.unflatten(row, shape[:-1]), column, count)
        member = b.unflatten(place[0], shape[:-2])
        return Position(shape, (*member, row), column, count)


def right_operand(ctx: KernelContext, plan: ProductPlan, width: int) -> Panels:
    """The right operand in panels of `width` columns, where it lies or packed."""
    product, dot = plan.product, plan.dot
    panels = blocks(product.columns, width)
    member = 0 if certainly(product.right_batch, 1) else 1
    step = width * dot.group
    before = step if dot.shift else 0
    size = plan.steps * step + before
    if product.right in ctx.known:
        packing = MatrixPanels(width, product.by_rows, dot.group, dot.shift, dot.together)
        pointer = ctx.packed(product.right, packing)
        return Panels(pointer, member * panels * size, size, step, before)
    # Of a panel that ends before its end, all vectors are read.
    whole = not is_open(product.columns) or certainly(product.columns % width, 0)
    if plan.lies_in_panels and whole:
        pointer = ctx.in_memory(product.right).pointer
        return Panels(pointer, member * product.depth * product.columns, width, product.columns)
    buffer = ctx.scratch(dot.weight, row_major((product.right_batch, panels, size)))
    found = Panels(buffer.pointer, member * panels * size, size, step, before)
    _pack(ctx, plan, found, width)
    ctx.barrier()
    return found


def _pack(ctx: KernelContext, plan: ProductPlan, panels: Panels, width: int) -> None:
    """Writes the right operand panel by panel; the threads share the vectors of columns."""
    b, product, dot = ctx.b, plan.product, plan.dot
    right = shape_of(product.right)

    def writer(member: Index) -> PanelWriter:
        def read(row: Index, column: Index, count: int) -> SSAValue:
            before = (member,) if len(right) > 2 else ()
            return ctx.ev.get((product.right, 0), at(right, (*before, row, column), count))

        size = blocks(product.columns, width) * panels.panel
        start = b.add(b.mul(member, size), panels.before)
        pointer = b.address(panels.pointer, start, dot.weight.storage)
        columns, by_rows = product.columns, product.by_rows
        return PanelWriter(
            b, dot.weight, plan.lanes, pointer, product.depth, columns, width, by_rows, read,
            dot.group, int(panels.before > 0) + plan.steps - blocks(product.depth, dot.group),
        )  # fmt: skip

    whole, rest = divmod(product.columns, plan.lanes)
    ctx.tasks((product.right_batch, whole), lambda i: writer(i[0]).write_vector(i[1]))
    if not certainly(rest, 0):
        steps = product.depth // dot.group
        ctx.tasks((product.right_batch, steps), lambda i: writer(i[0]).write_rest(i[1]))
        ends = part_groups(product.depth, dot.group)
        ctx.tasks((product.right_batch, ends), lambda i: writer(i[0]).end_rest())
    padding = plan.steps - blocks(product.depth, dot.group)
    if not certainly(padding, 0):
        _write_padding(ctx, plan, panels, width, padding)
    if isinstance(dot, Dot) and dot.shift:
        ctx.barrier()
        _write_starts(ctx, plan, dot, panels, width)


def _write_padding(
    ctx: KernelContext, plan: ProductPlan, panels: Panels, width: int, padding: int
) -> None:
    """Zeros in the last steps of each panel, which are beyond the depth."""
    b, dot = ctx.b, plan.dot
    size = width * dot.group
    zeros = b.constant(dot.weight.compute, 0, plan.lanes * dot.group)

    def write(indices: tuple[Index, ...]) -> None:
        member, panel, vector = indices
        start = b.add(panels.start(b, member, panel), panels.panel - padding * size)
        place = b.add(start, b.mul(vector, plan.lanes * dot.group))
        b.store(panels.pointer, place, dot.weight, zeros)

    vectors = padding * (width // plan.lanes)
    ctx.tasks((plan.product.right_batch, blocks(plan.product.columns, width), vectors), write)


def _write_starts(
    ctx: KernelContext, plan: ProductPlan, dot: Dot, panels: Panels, width: int
) -> None:
    """Writes what the sums of each panel begin with, in front of its weights."""
    b, lanes = ctx.b, plan.lanes
    zero = b.constant(dot.total.compute, 0, lanes)
    shift = b.constant(i32, FLIP, lanes)

    def write(indices: tuple[Index, ...]) -> None:
        member, vector = indices
        panel, inside = b.div(vector, width // lanes), b.mod(vector, width // lanes)
        start = b.address(panels.pointer, panels.start(b, member, panel), dot.weight.storage)
        column = b.mul(inside, lanes)
        weights = b.address(
            start, b.add(b.mul(column, dot.group), panels.before), dot.weight.storage
        )

        def step(k: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            numbers = dot.weights(b, weights, b.mul(k, panels.step), lanes)
            return [dot.step(b, numbers, shift, sums[0])]

        (total,) = b.fold(0, plan.steps, 1, [zero], step)
        b.store(start, column, dot.total, subtract(b, zero, total, dot.total))

    ctx.tasks((plan.product.right_batch, plan.vectors), write)


def left_operand(ctx: KernelContext, plan: ProductPlan) -> Buffer:
    """The left operand, with rows the same distance apart of whole groups for the dot product."""
    product, dot, b = plan.product, plan.dot, ctx.b
    if plan.left_is_ready:
        left = ctx.placed(product.left)
        return left if _has_even_rows(left.format) else ctx.in_memory(product.left)
    shape, kind = shape_of(product.left), element_of(product.left)
    gap = plan.steps * dot.group - product.depth
    if likely(product.depth + gap) * dot.image.bytes % PAGE_BYTES == 0:
        gap += LINE_BYTES // dot.image.bytes
    copy = ctx.scratch(dot.image, with_row_gap(shape, gap))
    lanes = ctx.target.lanes(dot.image.bytes)

    def row(outer: tuple[Index, ...]) -> None:
        def vector(start: Index, count: int) -> None:
            position = Position(shape, outer, start, count)
            value = convert(b, ctx.ev.get((product.left, 0), position), kind, dot.image)
            b.store(copy.pointer, copy.offset(b, position), dot.image, value)

        ctx.vectors(product.depth, lanes, vector)
        ctx.clear(copy, b.add(copy.origin(b, outer), product.depth), gap)

    ctx.tasks(shape[:-1], row)
    ctx.barrier()
    return copy


def _has_even_rows(format: Format) -> bool:
    """Whether all rows along the last axis are the same distance apart."""
    rows = zip(format.shape[-2::-1], format.strides[-2::-1], strict=True)
    expected = 0
    for dim, stride in rows:
        if expected and not certainly(dim, 1) and stride != expected:
            return False
        expected = stride * dim
    return True
