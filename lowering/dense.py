"""
Kernel code of matrix products.

With B stored by columns ([N, K]) both operands are read along K: vectors run along K, and each
result is the sum of the lanes of a register. With B stored by rows ([K, N]) vectors run along N
and elements of A are repeated in all lanes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.dense import BatchMatmulOp, DenseOp, MatmulOp, MatrixProductOp
from xrelay.lowering.binary import add, multiply_add
from xrelay.lowering.builder import Index
from xrelay.lowering.context import KernelContext
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import Element, wide
from xrelay.lowering.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.matrix_panels import PANELS
from xrelay.lowering.position import Position
from xrelay.lowering.reduction import across_lanes
from xrelay.lowering.strategy import Implementation, Sink, Site, Strategy, unless
from xrelay.lowering.windows import row_tiles


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


def _each_matrix(ctx: KernelContext, op: Operation, sink: Sink, *, by_columns: bool) -> None:
    """Runs the loops for every pair of matrices of a batch."""
    if 0 in shape_of(op.results[0]):
        return
    product = _operands(ctx, op)
    out_kind, out_shape = element_of(op.results[0]), shape_of(op.results[0])
    loops = _by_columns if by_columns else _by_rows
    b = ctx.b

    def finish(outer: tuple[Index, ...]) -> Sink:
        def store(position: Position, value: SSAValue) -> None:
            value = convert(b, value, product.kind, out_kind)
            if isinstance(op, DenseOp):
                row, column = position.outer[0], position.inner
                before = b.unflatten(row, out_shape[:-1])
                sink(Position(out_shape, before, column, position.lanes), value)
            else:
                full = (*outer, *position.outer) if len(out_shape) > 2 else position.outer
                sink(Position(out_shape, full, position.inner, position.lanes), value)

        return store

    # One pair of matrices, or one for each member of a batch; a matrix may serve them all.
    batch = out_shape[0] if isinstance(op, BatchMatmulOp) else 1
    sizes = [
        prod(shape_of(operand)[1:]) if batch > 1 and shape_of(operand)[0] > 1 else 0
        for operand in op.operands
    ]
    block = 1 if by_columns else min(product.rows, 8 if ctx.target.vector_registers >= 32 else 4)
    whole, left = divmod(product.rows, block)
    for first, count, rows in ((0, whole, block), (whole * block, 1, left)):
        if rows:

            def part(at: tuple[Index, ...], first: int = first, rows: int = rows) -> None:
                member, i = at
                starts = [b.mul(member, size) for size in sizes]
                row = b.add(first, b.mul(i, block))
                loops(product, starts[0], starts[1], row, rows, finish((member,)))

            ctx.tasks((batch, count), part)


def _by_columns(
    p: _Product, a_start: Index, b_start: Index, row: Index, _: int, sink: Sink
) -> None:
    """Both operands are read along the depth: dot products of several columns at a time."""
    b, kind = p.ctx.b, p.kind
    # Where A is stored by columns, its elements along the depth are not neighbours.
    lanes = min(p.ctx.target.lanes(kind.bytes), max(1, p.depth)) if p.a.column_step == 1 else 1
    whole = p.depth - p.depth % lanes
    block = 8 if p.ctx.target.vector_registers >= 32 else 4
    a_origin, b_origin = p.origin(p.a, a_start), p.origin(p.b, b_start)

    def dots(column: Index, count: int) -> None:
        def add_products(width: int, k: Index, totals: Sequence[SSAValue]) -> list[SSAValue]:
            a_offset = b.add(b.mul(row, p.a.row_step), b.mul(k, p.a.column_step))
            left = p.load(p.a, a_origin, a_offset, width)
            start = b.address(
                b_origin, b.add(b.mul(column, p.b.column_step), k), p.b.buffer.element.storage
            )
            return [
                multiply_add(b, left, p.load(p.b, start, i * p.b.column_step, width), total, kind)
                for i, total in enumerate(totals)
            ]

        zeros = [b.constant(kind.compute, 0, lanes)] * count
        totals = b.fold(0, whole, lanes, zeros, lambda k, sums: add_products(lanes, k, sums))
        sums = [across_lanes(b, total, add, kind) for total in totals]
        if p.depth > whole:
            width = p.depth - whole
            rest = add_products(width, whole, [b.constant(kind.compute, 0, width)] * count)
            sums = [
                add(b, total, across_lanes(b, other, add, kind), kind)
                for total, other in zip(sums, rest, strict=True)
            ]
        sink(Position((p.rows, p.columns), (row,), column, count), b.from_lanes(sums))

    p.ctx.vectors(p.columns, block, dots)


def _by_rows(
    p: _Product, a_start: Index, b_start: Index, row: Index, rows: int, sink: Sink
) -> None:
    """Rows of B times single elements of A, for `rows` rows of the result at a time."""
    b, kind = p.ctx.b, p.kind
    lanes = p.ctx.target.lanes(kind.bytes)
    vectors = 2 if p.columns > lanes else 1
    a_origin, b_origin = p.origin(p.a, a_start), p.origin(p.b, b_start)

    def tile(start: Index, widths: Sequence[int]) -> None:
        starts = [sum(widths[:v]) for v in range(len(widths))]

        def step(k: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            b_row = b.address(
                b_origin, b.add(b.mul(k, p.b.row_step), start), p.b.buffer.element.storage
            )
            data = [p.load(p.b, b_row, starts[v], width) for v, width in enumerate(widths)]
            a_first = b.address(
                a_origin,
                b.add(b.mul(row, p.a.row_step), b.mul(k, p.a.column_step)),
                p.a.buffer.element.storage,
            )
            result: list[SSAValue] = []
            for r in range(rows):
                number = p.load(p.a, a_first, r * p.a.row_step, 1)
                for v, width in enumerate(widths):
                    total = totals[r * len(widths) + v]
                    factor = b.splat(number, width)
                    result.append(multiply_add(b, data[v], factor, total, kind))
            return result

        zeros = [b.constant(kind.compute, 0, width) for _ in range(rows) for width in widths]
        totals = b.fold(0, p.depth, 1, zeros, step)
        for r in range(rows):
            for v, width in enumerate(widths):
                place = Position(
                    (p.rows, p.columns), (b.add(row, r),), b.add(start, starts[v]), width
                )
                sink(place, totals[r * len(widths) + v])

    whole, (full, rest) = row_tiles(p.columns, lanes, vectors)
    if whole:
        with b.loop(0, whole, lanes * vectors) as start:
            tile(start, full)
    if rest:
        tile(whole, rest)


def _emit_by_columns(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    _each_matrix(ctx, op, sink, by_columns=True)


def _emit_by_rows(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    _each_matrix(ctx, op, sink, by_columns=False)


def _refusal_by_columns(site: Site) -> str | None:
    return unless(_is_by_columns(site.op), "right operand stored by rows")


def _refusal_by_rows(site: Site) -> str | None:
    return unless(not _is_by_columns(site.op), "right operand stored by columns")


PRODUCT: Strategy = (
    Implementation("dot-products", _emit_by_columns, refusal=_refusal_by_columns),
    Implementation("row-updates", _emit_by_rows, refusal=_refusal_by_rows),
    PANELS,
)

STRATEGIES: dict[type[Operation], Strategy] = {
    DenseOp: PRODUCT,
    MatmulOp: PRODUCT,
    BatchMatmulOp: PRODUCT,
}
