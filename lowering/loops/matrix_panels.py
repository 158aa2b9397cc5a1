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

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn.dense import DenseOp, MatrixProductOp
from xrelay.lowering.emit.builder import Index
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import Format, Spacing, row_major
from xrelay.lowering.emit.packing import MatrixPanels, blocks
from xrelay.lowering.emit.parameters import Divisors, Parameters
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import MultiplyAdd
from xrelay.lowering.loops.micro_kernel import LINE_BYTES, UNROLLED_STEPS, DepthLoop, accumulate
from xrelay.lowering.loops.panel_writer import PanelWriter
from xrelay.lowering.loops.tiles import Place, TileAt, TileGrid, emit_tiles
from xrelay.lowering.loops.tiling import (
    Tiling,
    choose_tiling,
    depth_parts,
    most_vectors,
    tile_parameters,
)

PAGE_BYTES = 4096
FEW_ROWS = 4
PACK_CYCLES = 3
"""To read a vector of the right operand and to write it into a panel."""
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

    def depth_parts(self, target: Target) -> int:
        """Into how many parts the depth is cut."""
        steps, rest = divmod(self.depth, UNROLLED_STEPS)
        # Few rows use the weights only once anyway.
        whole = rest != 0 or self.rows <= FEW_ROWS
        return 1 if whole else depth_parts(target, self.depth, steps)

    def lies_in_panels(self, target: Target) -> bool:
        """Whether the rows of the right operand are whole vectors."""
        return self.by_rows and self.columns % target.lanes(self.kind.bytes) == 0

    @property
    def rows_collide(self) -> bool:
        """Whether a column of the left operand falls into one set of the first-level cache."""
        return self.depth * self.kind.bytes % PAGE_BYTES == 0

    def tiling(self, target: Target) -> Tiling:
        """How the result is cut."""
        vectors = blocks(self.columns, target.lanes(self.kind.bytes))
        # A set has as many ways as there are pages in the cache.
        ways = target.l1_bytes // PAGE_BYTES if self.rows_collide else None
        depth = self.depth // self.depth_parts(target)
        weight_bytes = self.depth * vectors * target.vector_bytes
        widest = most_vectors(target, self.rows, weight_bytes)
        return choose_tiling(target, 1, self.rows, vectors, depth, widest, ways)


def _tile(product: Product, target: Target, parameters: Parameters) -> Tiling:
    """The tile that parameters state."""
    vectors = blocks(product.columns, target.lanes(product.kind.bytes))
    names = ("", "rows", "vectors")
    return tile_parameters(parameters, product.tiling(target), 1, product.rows, vectors, names)


def _parts(product: Product, target: Target, parameters: Parameters) -> int:
    """Into how many parts the depth is cut, of whole rounds of the inner loop."""
    steps, rest = divmod(product.depth, UNROLLED_STEPS)
    allowed = Divisors(1 if rest else max(1, steps))
    return parameters.number("depth_parts", product.depth_parts(target), allowed)


def _parameters(site: Site, parameters: Parameters) -> None:
    product = Product.of(site.op)
    if 0 not in shape_of(site.op.results[0]):
        _tile(product, site.target, parameters)
        _parts(product, site.target, parameters)


def _refusal(site: Site) -> str | None:
    product = Product.of(site.op)
    kinds = {element_of(value) for value in (*site.op.operands, site.op.results[0])}
    plain = len(kinds) == 1 and product.kind.is_float and product.kind.bytes >= 4
    return unless(plain, "elements not all f32 or all f64") or unless(
        not product.transpose_left, "left operand transposed"
    )


def _spacing(site: Site) -> Spacing:
    product = Product.of(site.op)
    line = LINE_BYTES // product.kind.bytes
    return Spacing(row_gap=line if product.rows_collide else 0)


def _cost(site: Site) -> float:
    product, target = Product.of(site.op), site.target
    cycles = product.batch * product.tiling(target).cycles * product.depth_parts(target)
    if product.right not in site.constants and not product.lies_in_panels(target):
        elements = product.depth * product.columns
        far = elements * product.kind.bytes > target.l2_bytes // 4
        vectors = product.right_batch * elements / target.lanes(product.kind.bytes)
        cycles += vectors * (FAR_PACK_CYCLES if far else PACK_CYCLES)
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


def _right_operand(ctx: KernelContext, op: Operation, product: Product, width: int) -> _Panels:
    lanes = ctx.target.lanes(product.kind.bytes)
    panels = blocks(product.columns, width)
    member = 0 if product.right_batch == 1 else 1
    size = product.depth * width
    if product.right in ctx.known:
        pointer = ctx.packed(product.right, MatrixPanels(width, product.by_rows))
        return _Panels(pointer, member * panels * size, size, width)
    if product.lies_in_panels(ctx.target):
        pointer = ctx.in_memory(product.right).pointer
        return _Panels(pointer, member * product.depth * product.columns, width, product.columns)
    buffer = ctx.scratch(
        product.kind, row_major((product.right_batch, panels, product.depth, width))
    )
    _pack(ctx, product, buffer.shape, buffer.pointer, lanes)
    ctx.barrier()
    return _Panels(buffer.pointer, member * panels * size, size, width)


def _pack(
    ctx: KernelContext, product: Product, shape: tuple[int, ...], pointer: SSAValue, lanes: int
) -> None:
    """Writes the right operand panel by panel; the threads share the vectors of columns."""
    b, kind = ctx.b, product.kind
    right = shape_of(product.right)
    members, panels, depth, width = shape

    def writer(member: Index) -> PanelWriter:
        def read(row: Index, column: Index, count: int) -> SSAValue:
            before = (member,) if len(right) > 2 else ()
            return ctx.ev.get((product.right, 0), at(right, (*before, row, column), count))

        start = b.address(pointer, b.mul(member, panels * depth * width), kind.storage)
        columns, by_rows = product.columns, product.by_rows
        return PanelWriter(b, kind, lanes, start, depth, columns, width, by_rows, read)

    whole, rest = divmod(product.columns, lanes)
    ctx.tasks((members, whole), lambda i: writer(i[0]).write_vector(i[1]))
    if rest:
        ctx.tasks((members, depth), lambda i: writer(i[0]).write_rest(i[1]))


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
    kind, dot = product.kind, MultiplyAdd.of(product.kind)
    lanes = ctx.target.lanes(kind.bytes)
    tiling = _tile(product, ctx.target, ctx.parameters)
    width = tiling.vectors * lanes
    left = ctx.placed(product.left)
    if not _has_even_rows(left.format):
        left = ctx.in_memory(product.left)
    row_step = left.format.strides[-2] if len(left.shape) > 1 else product.depth
    right = _right_operand(ctx, op, product, width)
    left_member = 0 if product.left_batch == 1 else product.rows * row_step
    parts = _parts(product, ctx.target, ctx.parameters)
    depth = product.depth // parts

    def tile(where: TileAt, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (member, panel), row = where.place, where.x
        first = b.mul(where.part, depth)
        x = b.address(
            left.pointer,
            b.add(b.add(b.mul(member, left_member), b.mul(row, row_step)), first),
            kind.storage,
        )
        start = b.add(b.mul(member, right.member), b.mul(panel, right.panel))
        start = b.add(start, b.mul(first, right.step))
        w = b.address(right.pointer, start, kind.storage)
        vectors = len(totals) // tiling.columns
        rows = [i * row_step for i in range(tiling.columns)]
        columns = [v * lanes for v in range(vectors)]
        whole = depth - depth % UNROLLED_STEPS
        for begin, count in ((0, whole), (whole, depth - whole)):
            if not count:
                continue
            unrolled = min(count, UNROLLED_STEPS)
            loop = DepthLoop(count // unrolled, unrolled, unrolled * right.step)
            steps = [(begin + i, (begin + i) * right.step) for i in range(unrolled)]
            totals = accumulate(
                b, dot, x, w, [loop], steps, rows, columns, totals, lanes, where.prefetch
            )
        return totals

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
        blocks(product.columns, lanes),
        depth * kind.bytes,
        product.depth * product.columns * kind.bytes,
        parts,
        depth * width if product.right in ctx.packings else 0,
        UNROLLED_STEPS * width,
        product.columns % lanes,
    )
    emit_tiles(ctx, grid, dot, lanes, tile, place_of, sink)


PANELS = Implementation("panels", _emit, 20, _refusal, _cost, _spacing, _parameters)
