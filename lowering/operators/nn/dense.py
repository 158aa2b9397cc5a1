"""
Kernel code of matrix products.

With B stored by columns ([N, K]) both operands are read along K: vectors run along K, and each
result is the sum of the lanes of a register. With B stored by rows ([K, N]) vectors run along N
and elements of A are repeated in all lanes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import gcd, prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp, MatrixProductOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import MultiplyAdd, Work
from xrelay.lowering.loops.matrix_panels import PANELS
from xrelay.lowering.loops.matrix_product import Product
from xrelay.lowering.loops.matrix_tiles import TILE_REGISTERS
from xrelay.lowering.loops.reductions import each_across_lanes
from xrelay.lowering.loops.tiling import (
    FAR_LOAD_CYCLES,
    MOST_ALONG,
    MOST_VECTORS,
    STORE_CYCLES,
    TILE_CYCLES,
    step_cycles,
)
from xrelay.lowering.math.arithmetic import add, multiply_add
from xrelay.lowering.math.convert import convert

ACROSS_CYCLES = 3
"""To add up the lanes of a register."""
LARGE_OPERAND = 4
"""An operand this many times as large as the second-level cache comes from memory, or nearly."""
FAR_CACHE = 2
"""How many times faster than from memory a large operand is read for a second time."""


@dataclass(frozen=True)
class _Matrix:
    """One operand: element (row, column) lies at row * row_step + column * column_step."""

    buffer: Buffer
    row_step: int
    column_step: int


def _matrix(ctx: KernelContext, value: SSAValue, *, transposed: bool) -> _Matrix:
    columns = shape_of(value)[-1]
    buffer = ctx.in_memory(value)
    return _Matrix(buffer, 1, columns) if transposed else _Matrix(buffer, columns, 1)


@dataclass(frozen=True)
class _Product:
    """rows x depth times depth x columns, for one pair of matrices."""

    ctx: KernelContext
    a: _Matrix
    b: _Matrix
    rows: int
    depth: int
    columns: int
    kind: Element

    def load(self, matrix: _Matrix, pointer: SSAValue, offset: Index, lanes: int) -> SSAValue:
        """Elements of an operand, as the products are summed."""
        value = self.ctx.b.load(pointer, offset, matrix.buffer.element, lanes)
        return convert(self.ctx.b, value, matrix.buffer.element, self.kind)

    def origin(self, matrix: _Matrix, start: Index) -> SSAValue:
        """The address of one matrix of a batch."""
        return self.ctx.b.address(matrix.buffer.pointer, start, matrix.buffer.element.storage)


def _is_by_columns(op: Operation) -> bool:
    return isinstance(op, DenseOp) or (
        isinstance(op, MatrixProductOp) and bool(op.transpose_b.value.data)
    )


def _operands(ctx: KernelContext, op: Operation) -> _Product:
    kind = wide(element_of(op.results[0]))
    if isinstance(op, DenseOp):
        *outer, depth = shape_of(op.data)
        a = _matrix(ctx, op.data, transposed=False)
        b = _matrix(ctx, op.weight, transposed=True)
        return _Product(ctx, a, b, prod(outer), depth, shape_of(op.weight)[0], kind)
    assert isinstance(op, MatrixProductOp)
    *_, rows, columns = shape_of(op.result)
    transpose_a = bool(op.transpose_a.value.data)
    depth = shape_of(op.tensor_a)[-2 if transpose_a else -1]
    a = _matrix(ctx, op.tensor_a, transposed=transpose_a)
    b = _matrix(ctx, op.tensor_b, transposed=bool(op.transpose_b.value.data))
    return _Product(ctx, a, b, rows, depth, columns, kind)


TileCode: TypeAlias = Callable[
    [_Product, tuple[Index, Index], tuple[Index, Index], int, int, Sink], None
]
"""Computes the results of some rows and columns: where the matrices begin, the first row and column,
and how many."""


def _each_matrix(ctx: KernelContext, op: Operation, sink: Sink, *, by_columns: bool) -> None:
    """Runs the loops for every pair of matrices of a batch."""
    matrices = _operands(ctx, op)
    out_kind, out_shape = element_of(op.results[0]), shape_of(op.results[0])
    b = ctx.b

    def finish(member: Index) -> Sink:
        outer = b.unflatten(member, out_shape[:-2])

        def store(position: Position, value: SSAValue) -> None:
            value = convert(b, value, matrices.kind, out_kind)
            if isinstance(op, DenseOp):
                row, column = position.outer[0], position.inner
                before = b.unflatten(row, out_shape[:-1])
                sink(Position(out_shape, before, column, position.lanes), value)
            else:
                full = (*outer, *position.outer)
                sink(Position(out_shape, full, position.inner, position.lanes), value)

        return store

    # One pair of matrices, or one for each member of a batch; a matrix may serve them all.
    batch = 1 if isinstance(op, DenseOp) else prod(out_shape[:-2])
    sizes = [
        0 if certainly(prod(shape_of(operand)[:-2]), 1) else prod(shape_of(operand)[-2:])
        for operand in op.operands
    ]
    lanes = ctx.target.lanes(matrices.kind.bytes)
    block, across = _tile(
        ctx.target,
        max(likely(matrices.rows), 1),
        max(likely(matrices.columns), 1),
        lanes,
        ctx.parameters,
        by_columns=by_columns,
    )
    whole, left = divmod(matrices.rows, block)
    last = (left, 1) if is_open(left) else (1, left)
    for first, count, rows in ((0, whole, block), (whole * block, *last)):
        if rows:
            code = _tile_of_dots if by_columns else _tile_of_updates
            width = across
            if rows < block:
                width = _columns_at_once(
                    ctx.target, rows, likely(matrices.columns), lanes, by_columns=by_columns
                )
            if by_columns and rows < block and is_open(left) and not is_open(matrices.columns):
                # Few rows are left: code for all columns alike is worth more than speed there.
                width = gcd(width, matrices.columns)

            def tile(
                at: tuple[Index, ...],
                column: Index,
                count: int,
                first: int = first,
                rows: int = rows,
                code: TileCode = code,
            ) -> None:
                member, i = at
                a, b_start = (b.mul(member, size) for size in sizes)
                row = b.add(first, b.mul(i, rows))
                code(matrices, (a, b_start), (row, column), rows, count, finish(member))

            ctx.vector_tasks((batch, count), matrices.columns, width, tile)


def _most_rows(target: Target, *, by_columns: bool) -> int:
    """Rows of the result that are computed at once."""
    many = target.vector_registers >= 32
    if by_columns:
        return 4 if many else 2
    return 8 if many else 4


def _columns_at_once(
    target: Target, rows: int, columns: int, lanes: int, *, by_columns: bool
) -> int:
    """Columns of the result that are computed at once: as many as there are registers for."""
    many = target.vector_registers >= 32
    if by_columns:
        return min(columns, 8 if many and rows == 1 else 4)
    vectors = max(1, min(MOST_VECTORS, (16 if many else 8) // rows))
    return lanes * min(vectors, blocks(columns, lanes))


def _tile(
    target: Target,
    rows: int,
    columns: int,
    lanes: int,
    parameters: Parameters,
    *,
    by_columns: bool,
) -> tuple[int, int]:
    """How many rows and columns of a result of `rows` x `columns` parameters state to compute at once."""
    most = range(1, min(rows, MOST_ALONG) + 1)
    block = min(rows, _most_rows(target, by_columns=by_columns))
    block = parameters.number("rows", block, most)
    width = _columns_at_once(target, block, columns, lanes, by_columns=by_columns)
    if by_columns:
        return block, parameters.number("columns", width, range(1, min(columns, MOST_ALONG) + 1))
    most = range(1, min(blocks(columns, lanes), MOST_VECTORS) + 1)
    return block, lanes * parameters.number("vectors", width // lanes, most)


def _parameters(site: Site, parameters: Parameters, *, by_columns: bool) -> None:
    product, target = Product.of(site.op), site.target
    if 0 not in shape_of(site.op.results[0]):
        lanes = target.lanes(wide(product.kind).bytes)
        _tile(target, product.rows, product.columns, lanes, parameters, by_columns=by_columns)


def _tile_of_dots(
    p: _Product,
    starts: tuple[Index, Index],
    first: tuple[Index, Index],
    rows: int,
    count: int,
    sink: Sink,
) -> None:
    """Both operands are read along the depth: dot products of several rows and columns."""
    b, kind = p.ctx.b, p.kind
    # Where A is stored by columns, its elements along the depth are not neighbours.
    lanes = min(p.ctx.target.lanes(kind.bytes), max(1, likely(p.depth)))
    lanes = lanes if certainly(p.a.column_step, 1) else 1
    whole = p.depth - p.depth % lanes
    a_origin, b_origin = p.origin(p.a, starts[0]), p.origin(p.b, starts[1])
    row, column = first

    def add_products(width: int, k: Index, totals: Sequence[SSAValue]) -> list[SSAValue]:
        a_offset = b.add(b.mul(row, p.a.row_step), b.mul(k, p.a.column_step))
        a_first = b.address(a_origin, a_offset, p.a.buffer.element.storage)
        left = [p.load(p.a, a_first, r * p.a.row_step, width) for r in range(rows)]
        b_offset = b.add(b.mul(column, p.b.column_step), k)
        b_first = b.address(b_origin, b_offset, p.b.buffer.element.storage)
        right = [p.load(p.b, b_first, c * p.b.column_step, width) for c in range(count)]
        pairs = product(left, right)
        return [
            multiply_add(b, x, y, total, kind) for (x, y), total in zip(pairs, totals, strict=True)
        ]

    zeros = [b.constant(kind.compute, 0, lanes)] * (rows * count)
    totals = b.fold(0, whole, lanes, zeros, lambda k, sums: add_products(lanes, k, sums))

    def by_rows(totals: Sequence[SSAValue]) -> list[SSAValue]:
        starts = range(0, rows * count, count)
        return [each_across_lanes(b, totals[i : i + count], add, kind) for i in starts]

    sums, width = by_rows(totals), p.depth - whole
    if is_open(width):
        single = [b.lane(total, i) for total in sums for i in range(count)]
        single = b.fold(whole, p.depth, 1, single, lambda k, totals: add_products(1, k, totals))
        sums = [b.from_lanes(single[i : i + count]) for i in range(0, rows * count, count)]
    elif width:
        zeros = [b.constant(kind.compute, 0, width)] * (rows * count)
        others = by_rows(add_products(width, whole, zeros))
        sums = [add(b, total, other, kind) for total, other in zip(sums, others, strict=True)]
    for r, total in enumerate(sums):
        sink(Position((p.rows, p.columns), (b.add(row, r),), column, count), total)


def _tile_of_updates(
    p: _Product,
    starts: tuple[Index, Index],
    first: tuple[Index, Index],
    rows: int,
    count: int,
    sink: Sink,
) -> None:
    """Rows of B times single elements of A."""
    b, kind = p.ctx.b, p.kind
    lanes = p.ctx.target.lanes(kind.bytes)
    row, column = first
    a_origin, b_origin = p.origin(p.a, starts[0]), p.origin(p.b, starts[1])
    vectors = [(start, min(lanes, count - start)) for start in range(0, count, lanes)]

    def step(k: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        b_offset = b.add(b.mul(k, p.b.row_step), column)
        b_row = b.address(b_origin, b_offset, p.b.buffer.element.storage)
        data = [p.load(p.b, b_row, start, width) for start, width in vectors]
        a_offset = b.add(b.mul(row, p.a.row_step), b.mul(k, p.a.column_step))
        a_first = b.address(a_origin, a_offset, p.a.buffer.element.storage)
        result: list[SSAValue] = []
        for r in range(rows):
            number = p.load(p.a, a_first, r * p.a.row_step, 1)
            for v, (_, width) in enumerate(vectors):
                total = totals[r * len(vectors) + v]
                result.append(multiply_add(b, data[v], b.splat(number, width), total, kind))
        return result

    zeros = [b.constant(kind.compute, 0, width) for _ in range(rows) for _, width in vectors]
    totals = b.fold(0, p.depth, 1, zeros, step)
    for r in range(rows):
        for v, (start, width) in enumerate(vectors):
            place = Position((p.rows, p.columns), (b.add(row, r),), b.add(column, start), width)
            sink(place, totals[r * len(vectors) + v])


def _work(product: Product) -> Work:
    """Of a step: operands are converted to what products are summed in when they are read."""
    kind = wide(product.kind)
    left, right = (int(element_of(operand) != kind) for operand in (product.left, product.right))
    return replace(MultiplyAdd.of(kind).work, factor=left, weight=right)


def _cost(site: Site, *, by_columns: bool) -> float:
    """Seconds for the tiles, and to read a large right operand again for every block of rows."""
    product, target = Product.of(site.op), site.target
    if 0 in (product.batch, product.rows, product.columns):
        return 0.0
    lanes = target.lanes(wide(product.kind).bytes)
    rows = min(product.rows, _most_rows(target, by_columns=by_columns))
    width = _columns_at_once(target, rows, product.columns, lanes, by_columns=by_columns)
    vectors = width if by_columns else width // lanes
    # Where the left operand is stored by columns, dot products are added element by element.
    elements = lanes if by_columns and not product.transpose_left else 1
    matrix_bytes = product.depth * product.columns * product.kind.bytes
    step = step_cycles(rows, vectors, far=False, work=_work(product))
    packed = product.right in site.constants
    if matrix_bytes > target.l2_bytes // 4 and (rows > 1 or packed):
        # One row reads a matrix from end to end, as fast as it comes; panels are asked for ahead.
        slow = packed or product.rows_collide
        step += vectors * (FAR_LOAD_CYCLES if slow else FAR_LOAD_CYCLES / 2)
    finish = TILE_CYCLES + rows * vectors * (ACROSS_CYCLES if by_columns else STORE_CYCLES)
    row_blocks = product.rows / rows
    tiles = product.batch * row_blocks * blocks(product.columns, width)
    seconds = tiles * (blocks(product.depth, elements) * step + finish) * target.cycle_seconds
    if matrix_bytes > LARGE_OPERAND * target.l2_bytes:
        again = product.batch * (row_blocks - 1) * matrix_bytes
        seconds += again / FAR_CACHE / target.memory_bandwidth
    return seconds


def _implementation(name: str, *, by_columns: bool) -> Implementation:
    """The one for right operands that are stored by columns, or by rows."""

    def refusal(site: Site) -> str | None:
        stored = "rows" if by_columns else "columns"
        return unless(_is_by_columns(site.op) == by_columns, f"right operand stored by {stored}")

    return Implementation(
        name,
        partial(_each_matrix, by_columns=by_columns),
        20,
        refusal,
        partial(_cost, by_columns=by_columns),
        parameters=partial(_parameters, by_columns=by_columns),
    )


PRODUCT: Strategy = (
    PANELS,
    TILE_REGISTERS,
    _implementation("dot-products", by_columns=True),
    _implementation("row-updates", by_columns=False),
)

STRATEGIES: dict[type[Operation], Strategy] = dict.fromkeys(
    (DenseOp, MatmulOp, BatchMatmulOp), PRODUCT
)
