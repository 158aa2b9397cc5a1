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
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn.dense import DenseOp, MatrixProductOp
from xrelay.lowering.emit.builder import Index, KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import Format, Spacing, row_major, with_row_gap
from xrelay.lowering.emit.packing import MatrixPanels, blocks
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import FLIP, NO_DOT, Dot, dot_of
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, UNROLLED_STEPS, DepthLoop, accumulate
from xrelay.lowering.loops.panel_writer import PanelWriter
from xrelay.lowering.loops.tiles import Place, TileAt, TileGrid, converted, emit_tiles
from xrelay.lowering.loops.tiling import (
    Tiling,
    choose_tiling,
    depth_parts,
    most_vectors,
    tile_parameters,
)
from xrelay.lowering.math.arithmetic import subtract
from xrelay.lowering.math.convert import convert

PAGE_BYTES = 4096
FEW_ROWS = 4
PACK_CYCLES = 3
"""To read a vector of the right operand and to write it into a panel."""
COPY_CYCLES = 3
"""To read a vector of the left operand and to write it into rows of whole groups."""
FAR_PACK_CYCLES = 5
"""The same where the panels do not stay in the near caches."""


@dataclass(frozen=True)
class Product:
    """[batch, rows, depth] times [batch or 1, depth, columns]."""

    left: SSAValue
    right: SSAValue
    batch: int
    rows: int
    depth: int
    columns: int
    left_batch: int
    right_batch: int
    by_rows: bool
    """Whether the right operand is stored as [depth, columns], not as [columns, depth]."""
    transpose_left: bool
    kind: Element
    """Of the result."""

    @staticmethod
    def of(op: Operation) -> "Product":
        """The sizes of an operator."""
        kind = element_of(op.results[0])
        if isinstance(op, DenseOp):
            *outer, depth = shape_of(op.data)
            columns = shape_of(op.weight)[0]
            rows = prod(outer)
            return Product(op.data, op.weight, 1, rows, depth, columns, 1, 1, False, False, kind)
        assert isinstance(op, MatrixProductOp)
        *outer, rows, columns = shape_of(op.result)
        left, right = shape_of(op.tensor_a), shape_of(op.tensor_b)
        transpose_left = bool(op.transpose_a.value.data)
        return Product(
            op.tensor_a,
            op.tensor_b,
            prod(outer),
            rows,
            left[-2 if transpose_left else -1],
            columns,
            prod(left[:-2]),
            prod(right[:-2]),
            not op.transpose_b.value.data,
            transpose_left,
            kind,
        )

    def dot(self, target: Target) -> Dot | None:
        """How its products are summed; None where only general code does so."""
        return dot_of(target, element_of(self.left), element_of(self.right), self.kind)

    @property
    def rows_collide(self) -> bool:
        """Whether a column of the left operand falls into one set of the first-level cache."""
        return self.depth * element_of(self.left).bytes % PAGE_BYTES == 0


@dataclass(frozen=True)
class _Plan:
    """A product as steps of a dot product."""

    product: Product
    target: Target
    dot: Dot

    @staticmethod
    def of(product: Product, target: Target) -> "_Plan":
        """That of a product which is not refused."""
        dot = product.dot(target)
        assert dot is not None
        return _Plan(product, target, dot)

    @property
    def lanes(self) -> int:
        """Columns in a vector of sums."""
        return self.target.lanes(self.dot.total.bytes)

    @property
    def vectors(self) -> int:
        """Vectors of columns."""
        return blocks(self.product.columns, self.lanes)

    @property
    def steps(self) -> int:
        """How many steps the depth takes."""
        return self.dot.steps(self.product.depth)

    @property
    def depth_parts(self) -> int:
        """Into how many parts the depth is cut."""
        rounds, rest = divmod(self.steps, UNROLLED_STEPS)
        # Few rows use the weights only once anyway.
        whole = rest != 0 or self.product.rows <= FEW_ROWS
        return 1 if whole else depth_parts(self.target, self.steps, rounds, self.dot)

    @property
    def lies_in_panels(self) -> bool:
        """Whether the rows of the right operand are whole vectors."""
        product = self.product
        return product.by_rows and self.dot.group == 1 and product.columns % self.lanes == 0

    @property
    def left_is_ready(self) -> bool:
        """Whether the rows of the left operand are whole groups of the elements that steps take."""
        return (
            element_of(self.product.left) == self.dot.image
            and self.product.depth % self.dot.group == 0
        )

    @property
    def tiling(self) -> Tiling:
        """How the result is cut."""
        target, rows = self.target, self.product.rows
        # A set has as many ways as there are pages in the cache.
        collide = self.left_is_ready and self.product.rows_collide
        ways = target.l1_bytes // PAGE_BYTES if collide else None
        steps = self.steps // self.depth_parts
        weight_bytes = self.steps * self.vectors * self.dot.step_bytes(target)
        widest = most_vectors(target, rows, weight_bytes)
        return choose_tiling(target, 1, rows, self.vectors, steps, widest, ways, dot=self.dot)


def _tile(plan: _Plan, parameters: Parameters) -> Tiling:
    """The tile that parameters state."""
    vectors, rows = plan.vectors, plan.product.rows
    names = ("", "rows", "vectors")
    return tile_parameters(parameters, plan.tiling, 1, rows, vectors, names)


def _parts(plan: _Plan, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, of whole rounds of the inner loop."""
    rounds, rest = divmod(plan.steps, UNROLLED_STEPS)
    allowed = Divisors(1 if rest else max(1, rounds))
    return parameters.number("depth_parts", plan.depth_parts, allowed)


def _parameters(site: Site, parameters: Parameters) -> None:
    plan = _Plan.of(Product.of(site.op), site.target)
    if 0 not in shape_of(site.op.results[0]):
        _tile(plan, parameters)
        _parts(plan, parameters)


def _refusal(site: Site) -> str | None:
    product = Product.of(site.op)
    return unless(product.dot(site.target) is not None, NO_DOT) or unless(
        not product.transpose_left, "left operand transposed"
    )


def _spacing(site: Site) -> Spacing:
    product = Product.of(site.op)
    line = LINE_BYTES // element_of(product.left).bytes
    return Spacing(row_gap=line if product.rows_collide else 0)


def _cost(site: Site) -> float:
    plan = _Plan.of(Product.of(site.op), site.target)
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


@dataclass(frozen=True)
class _Panels:
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


def _right_operand(ctx: KernelContext, plan: _Plan, width: int) -> _Panels:
    product, dot = plan.product, plan.dot
    panels = blocks(product.columns, width)
    member = 0 if product.right_batch == 1 else 1
    step = width * dot.group
    before = step if dot.shift else 0
    size = plan.steps * step + before
    if product.right in ctx.known:
        packing = MatrixPanels(width, product.by_rows, dot.group, dot.shift)
        pointer = ctx.packed(product.right, packing)
        return _Panels(pointer, member * panels * size, size, step, before)
    if plan.lies_in_panels:
        pointer = ctx.in_memory(product.right).pointer
        return _Panels(pointer, member * product.depth * product.columns, width, product.columns)
    buffer = ctx.scratch(dot.weight, row_major((product.right_batch, panels, size)))
    found = _Panels(buffer.pointer, member * panels * size, size, step, before)
    _pack(ctx, plan, found, width)
    ctx.barrier()
    return found


def _pack(ctx: KernelContext, plan: _Plan, panels: _Panels, width: int) -> None:
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
            dot.group, int(panels.before > 0),
        )  # fmt: skip

    whole, rest = divmod(product.columns, plan.lanes)
    ctx.tasks((product.right_batch, whole), lambda i: writer(i[0]).write_vector(i[1]))
    if rest:
        steps = product.depth // dot.group
        ctx.tasks((product.right_batch, steps), lambda i: writer(i[0]).write_rest(i[1]))
        if product.depth % dot.group:
            ctx.tasks((product.right_batch,), lambda i: writer(i[0]).end_rest())
    if dot.shift:
        ctx.barrier()
        _write_starts(ctx, plan, panels, width)


def _write_starts(ctx: KernelContext, plan: _Plan, panels: _Panels, width: int) -> None:
    """Writes what the sums of each panel begin with, in front of its weights."""
    b, dot, lanes = ctx.b, plan.dot, plan.lanes
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


def _left_operand(ctx: KernelContext, plan: _Plan) -> Buffer:
    """The left operand, with rows the same distance apart of whole groups for the dot product."""
    product, dot, b = plan.product, plan.dot, ctx.b
    if plan.left_is_ready:
        left = ctx.placed(product.left)
        return left if _has_even_rows(left.format) else ctx.in_memory(product.left)
    shape, kind = shape_of(product.left), element_of(product.left)
    gap = plan.steps * dot.group - product.depth
    if (product.depth + gap) * dot.image.bytes % PAGE_BYTES == 0:
        gap += LINE_BYTES // dot.image.bytes
    copy = ctx.scratch(dot.image, with_row_gap(shape, gap))
    lanes = ctx.target.lanes(dot.image.bytes)

    def row(outer: tuple[Index, ...]) -> None:
        def vector(start: Index, count: int) -> None:
            position = Position(shape, outer, start, count)
            value = convert(b, ctx.ev.get((product.left, 0), position), kind, dot.image)
            b.store(copy.pointer, copy.offset(b, position), dot.image, value)

        ctx.vectors(product.depth, lanes, vector)
        end = b.add(copy.origin(b, outer), product.depth)
        ctx.vectors(
            gap,
            lanes,
            lambda i, n: b.store(copy.pointer, i, dot.image, b.constant(dot.image.compute, 0, n)),
            end,
        )

    ctx.tasks(shape[:-1], row)
    ctx.barrier()
    return copy


def _has_even_rows(format: Format) -> bool:
    """Whether all rows along the last axis are the same distance apart."""
    rows = zip(format.shape[-2::-1], format.strides[-2::-1], strict=True)
    expected = 0
    for dim, stride in rows:
        if expected and dim != 1 and stride != expected:
            return False
        expected = stride * dim
    return True


def _emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    product, b = Product.of(op), ctx.b
    out_shape = shape_of(op.results[0])
    if 0 in out_shape:
        return
    plan = _Plan.of(product, ctx.target)
    dot, lanes = plan.dot, plan.lanes
    tiling = _tile(plan, ctx.parameters)
    width = tiling.vectors * lanes
    left = _left_operand(ctx, plan)
    row_step = left.format.strides[-2] if len(left.shape) > 1 else product.depth
    right = _right_operand(ctx, plan, width)
    left_member = 0 if product.left_batch == 1 else product.rows * row_step
    parts = _parts(plan, ctx.parameters)
    steps = plan.steps // parts

    def tile(where: TileAt, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (member, panel), row = where.place, where.x
        first = b.mul(where.part, steps)
        x = b.address(
            left.pointer,
            b.add(b.add(b.mul(member, left_member), b.mul(row, row_step)), b.mul(first, dot.group)),
            dot.image.storage,
        )
        start = b.add(right.start(b, member, panel), b.mul(first, right.step))
        w = b.address(right.pointer, b.add(start, right.before), dot.weight.storage)
        vectors = len(totals) // tiling.columns
        rows = [i * row_step for i in range(tiling.columns)]
        columns = [v * lanes * dot.group for v in range(vectors)]
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

    def start_of(place: Place, vectors: int) -> Sequence[SSAValue]:
        first = b.address(right.pointer, right.start(b, *place), dot.weight.storage)
        return [b.load(first, v * lanes, dot.total, lanes) for v in range(vectors)]

    def place_of(place: Place, _: Index, row: Index, vector: Index, count: int) -> Position:
        column = b.mul(vector, lanes)
        if isinstance(op, DenseOp):
            return Position(out_shape, b.unflatten(row, out_shape[:-1]), column, count)
        member = b.unflatten(place[0], out_shape[:-2])
        return Position(out_shape, (*member, row), column, count)

    grid = TileGrid(
        (product.batch,),
        1,
        product.rows,
        tiling,
        plan.vectors,
        steps * dot.group * dot.image.bytes,
        plan.steps * product.columns * dot.group * dot.weight.bytes,
        parts,
        steps * width * dot.group if product.right in ctx.packings else 0,
        UNROLLED_STEPS * width * dot.group,
        product.columns % lanes,
    )
    finish = converted(b, sink, dot.total, product.kind)
    emit_tiles(ctx, grid, dot, lanes, tile, place_of, finish, start_of if dot.shift else None)


PANELS = Implementation("panels", _emit, 20, _refusal, _cost, _spacing, _parameters)
