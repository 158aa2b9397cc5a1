"""
Kernel code of sparse matrices: the loop over the elements of a row has limits that are read from
memory. Limits and columns are clamped, so that no element outside of the tensors is read.
"""

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.sparse.products import (
    InternalSparseDensePaddedOp,
    SparseAddOp,
    SparseConv2DOp,
    SparseDenseOp,
    SparseProductOp,
    SparseTransposeOp,
)
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import add, multiply_add
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.indexing import index_value


class _Matrix:
    """A sparse matrix in memory."""

    def __init__(self, ctx: KernelContext, data: SSAValue, indices: SSAValue, indptr: SSAValue):
        self.ctx, self.b = ctx, ctx.b
        self.data, self.indices, self.indptr = (
            ctx.in_memory(value) for value in (data, indices, indptr)
        )
        self.count = self.data.shape[0]
        self.height, self.width = (*self.data.shape[1:], 1, 1)[:2]
        self.kind = wide(self.data.element)

    def _number(self, buffer: Buffer, place: Index, length: int) -> Index:
        """An integer of a tensor as an index below `length`."""
        raw = self.b.load(buffer.pointer, place, buffer.element, 1)
        return index_value(self.b, raw, buffer.element, length, "clip")

    def limits(self, row: Index) -> tuple[Index, Index]:
        """The elements of a row."""
        return (
            self._number(self.indptr, row, self.count + 1),
            self._number(self.indptr, self.b.add(row, 1), self.count + 1),
        )

    def column(self, element: Index, columns: int) -> Index:
        """The column, of `columns`, that an element (or block) stands in."""
        return self._number(self.indices, element, columns)

    def value(self, element: Index, i: Index, j: Index) -> SSAValue:
        """An element of a block, in the type that is computed in."""
        b = self.b
        block = b.add(b.mul(element, self.height), i)
        place = b.add(b.mul(block, self.width), j)
        raw = b.load(self.data.pointer, place, self.data.element, 1)
        return convert(b, raw, self.data.element, self.kind)


def _dot(
    matrix: _Matrix, row: Index, columns: int, dense_at: Callable[[Index], SSAValue]
) -> SSAValue:
    """A row of a sparse matrix times a vector of `columns` elements."""
    b, kind = matrix.b, matrix.kind
    zero = b.constant(kind.compute, 0)
    if not columns:
        return zero
    block, inside = b.div(row, matrix.height), b.mod(row, matrix.height)

    def element(e: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first = b.mul(matrix.column(e, columns // matrix.width), matrix.width)

        def step(j: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number = dense_at(b.add(first, j))
            return [multiply_add(b, matrix.value(e, inside, j), number, inner[0], kind)]

        return b.fold(0, matrix.width, 1, totals, step)

    return b.fold(*matrix.limits(block), 1, [zero], element)[0]


def _product(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Rows of the sparse matrix times those of the dense tensor along the axis of its channels."""
    assert isinstance(op, SparseProductOp | SparseConv2DOp)
    b, out_shape = ctx.b, shape_of(op.result)
    dense_value, *operands = op.operands
    matrix = _Matrix(ctx, *operands)
    dense, kind = ctx.in_memory(dense_value), matrix.kind
    axis = op.channel_axis if isinstance(op, SparseConv2DOp) else 1
    is_transposed = isinstance(op, SparseProductOp) and op.sparse_lhs.value.data

    def one(coords: tuple[Index, ...]) -> None:
        own = coords[::-1] if is_transposed else coords

        def dense_at(k: Index) -> SSAValue:
            place = (*own[:axis], k, *own[axis + 1 :])
            offset = dense.offset(b, at(dense.shape, place))
            return convert(b, b.load(dense.pointer, offset, dense.element, 1), dense.element, kind)

        total = _dot(matrix, own[axis], dense.shape[axis], dense_at)
        sink(at(out_shape, coords), convert(b, total, kind, dense.element))

    ctx.tasks(out_shape, one)


def _add(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """The sums of a row in memory of the thread, where its elements are added up."""
    assert isinstance(op, SparseAddOp)
    b, shape = ctx.b, shape_of(op.result)
    rows, columns = shape
    matrix = _Matrix(ctx, op.sparse_data, op.sparse_indices, op.sparse_indptr)
    source, kind = element_of(op.dense_data), matrix.kind
    sums = ctx.private_scratch(kind, row_major((columns,)))

    def row(indices: tuple[Index, ...]) -> None:
        with b.loop(0, columns) as j:
            b.store(sums.pointer, j, kind, b.constant(kind.compute, 0))
        start, stop = matrix.limits(indices[0])
        with b.loop(start, stop) as e:
            j = matrix.column(e, columns)
            total = add(b, b.load(sums.pointer, j, kind, 1), matrix.value(e, 0, 0), kind)
            b.store(sums.pointer, j, kind, total)
        with b.loop(0, columns) as j:
            place = at(shape, (*indices, j))
            value = convert(b, ctx.ev.get((op.dense_data, 0), place), source, kind)
            total = add(b, value, b.load(sums.pointer, j, kind, 1), kind)
            sink(place, convert(b, total, kind, source))

    ctx.tasks((rows,), row)


def _transpose(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """One thread counts the elements of each column, and then puts them to their places."""
    del sink
    assert isinstance(op, SparseTransposeOp)
    b = ctx.b
    matrix = _Matrix(ctx, *op.operands)
    results = [ctx.ev.buffers[op.result, number] for number in range(3)]
    size, count = matrix.indptr.shape[0] - 1, matrix.count
    following = ctx.scratch(INDEX, row_major((size + 1,)))

    def counter(j: Index) -> SSAValue:
        return b.load(following.pointer, j, INDEX, 1)

    def write(buffer: Buffer, place: Index, number: SSAValue) -> None:
        value = convert(b, number, INDEX, buffer.element)
        b.store(buffer.pointer, place, buffer.element, value)

    def advance(j: Index) -> None:
        more = b.insert(arith.AddiOp(counter(j), b.constant(i64, 1))).result
        b.store(following.pointer, j, INDEX, more)

    def transposed(_: tuple[Index, ...]) -> None:
        for buffer in results:
            with b.loop(0, buffer.shape[0]) as i:
                zero = b.constant(buffer.element.compute, 0)
                b.store(buffer.pointer, i, buffer.element, zero)
        if not size:
            return
        with b.loop(0, size + 1) as j:
            b.store(following.pointer, j, INDEX, b.constant(i64, 0))
        if count:
            with b.loop(0, count) as e:
                advance(b.add(matrix.column(e, size), 1))

        # following[j] becomes the number of elements in the columns before j.
        def running(j: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            total = b.insert(arith.AddiOp(values[0], counter(j))).result
            b.store(following.pointer, j, INDEX, total)
            write(results[2], j, total)
            return [total]

        b.fold(0, size + 1, 1, [b.constant(i64, 0)], running)
        if not count:
            return
        with b.loop(0, size) as row:
            start, stop = matrix.limits(row)
            with b.loop(start, stop) as e:
                column = matrix.column(e, size)
                place = cast(SSAValue, b.smaller(counter(column), count - 1))
                data = results[0]
                value = b.load(matrix.data.pointer, e, matrix.data.element, 1)
                b.store(data.pointer, place, data.element, value)
                write(results[1], place, b.index(row))
                advance(column)

    ctx.tasks((1,), transposed)


PRODUCT: Strategy = (Implementation("rows", _product),)

STRATEGIES: dict[type[Operation], Strategy] = {
    SparseDenseOp: PRODUCT,
    InternalSparseDensePaddedOp: PRODUCT,
    SparseConv2DOp: PRODUCT,
    SparseAddOp: (Implementation("rows", _add),),
    SparseTransposeOp: (Implementation("columns", _transpose),),
}
