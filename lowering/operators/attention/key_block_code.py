"""Attention a block of keys at a time, with a softmax along the way: see `xrelay.lowering.operators.attention.parts`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from math import inf

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, SSAValue

from xrelay.dialects.lengths import certainly, is_open, smaller
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.matrix_product import Product
from xrelay.lowering.loops.reductions import SUM, Term, across_lanes, reduce_to_vectors
from xrelay.lowering.loops.row_peak import largest_elements, peaks_by_lane
from xrelay.lowering.math.arithmetic import add, maximum, multiply, multiply_add, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.elementary import decay_to_zero, reciprocal
from xrelay.lowering.operators.attention.block_code import BlockCode
from xrelay.lowering.operators.attention.hidden import HiddenBlocks, Magnitudes
from xrelay.lowering.operators.attention.parts import MOST_BLOCK_ROWS, Attention, Cut


class KeyBlockCode(BlockCode):
    """Blocks of rows with blocks of keys, of which those are left out that a mask hides."""

    def __init__(self, ctx: KernelContext, parts: Attention, cut: Cut, sink: Sink):
        super().__init__(ctx, parts, cut, sink)
        slots = cut.blocks_of_group * cut.rows
        columns = blocks(self.second.columns, self.lanes) * self.lanes
        self.peaks, self.totals = self.private(slots), self.private(slots, self.lanes)
        self.factors = self.private(cut.rows)
        bits = element(IntegerType(8 * self.kind.bytes))
        self.extremes = [self.private(cut.rows, self.lanes, kind=bits) for _ in range(2)]
        self.sums = self.private(slots, columns)
        self.added = self.private(cut.rows, columns)
        self.hidden = HiddenBlocks(ctx, parts, cut.keys) if parts.hides_blocks else None

    def task(self, member: Index, group: Index) -> None:
        """A group of rows, a block of keys at a time."""
        start, stop = self.blocks_of(group)
        rows = self.b.mul(self.b.sub(stop, start), self.cut.rows)
        self.forget(rows)
        queries: SSAValue | None = None
        if self.hidden is not None:
            queries = self.where_worthwhile(lambda: self.largest_query(member, start))
        whole, rest = self.blocks_of_keys
        with self.b.loop(0, whole) as number:
            first_key = self.b.mul(number, self.cut.keys)
            self.key_block(member, start, stop, first_key, self.cut.keys, queries)
        if not certainly(rest, 0):
            self.key_block(member, start, stop, whole * self.cut.keys, rest, queries)
        with self.b.loop(start, stop) as block, self.b.loop(0, self.cut.rows) as i:
            self.finish_row(
                member, self.b.add(self.first_row(block), i), self.slot(start, block, i)
            )

    @property
    def blocks_of_keys(self) -> tuple[int, int]:
        """The number of whole blocks, and the keys behind them. Where it is not known how many there are, some are."""
        keys, all_keys = self.cut.keys, self.first.columns
        if not is_open(all_keys):
            return divmod(all_keys, keys)
        whole = (all_keys - 1) // keys
        return whole, all_keys - whole * keys

    def slot(self, start: Index, block: Index, i: Index) -> Index:
        """
        The number of row `i` of a block among those of its group. Rows that two blocks have in
        common are computed twice.
        """
        b = self.b
        return b.add(b.mul(b.sub(block, start), self.cut.rows), i)

    def forget(self, rows: Index) -> None:
        """Nothing is known of the rows of a group."""
        b, kind = self.b, self.kind
        lowest_score = b.constant(kind.compute, _lowest_finite(kind))
        zeros = b.constant(kind.compute, 0, self.lanes)
        with b.loop(0, rows) as slot:
            b.store(self.peaks.pointer, slot, kind, lowest_score)
            b.store(self.totals.pointer, self.row_offset(self.totals, slot, 0), kind, zeros)
            with b.loop(0, self.sums.format.strides[0], self.lanes) as column:
                b.store(self.sums.pointer, self.row_offset(self.sums, slot, column), kind, zeros)

    def key_block(
        self,
        member: Index,
        start: Index,
        stop: Index,
        first_key: Index,
        keys: int,
        queries: SSAValue | None,
    ) -> None:
        """Adds some keys to what is known of the rows of a group, whose queries have a largest magnitude if it is asked for."""
        b = self.b
        self.pack(member, first_key, keys)
        magnitudes: Magnitudes | None = None
        if queries is not None:
            largest = self.largest_of
            magnitudes = (
                queries,
                self.where_worthwhile(lambda: largest(self.first, member, first_key, keys)),
                self.where_worthwhile(lambda: largest(self.second, member, first_key, keys)),
            )
        with b.loop(start, stop) as block:
            row, slot = self.first_row(block), self.slot(start, block, 0)
            with self.where_seen(member, row, slot, first_key, keys, magnitudes):
                self.seen_block(member, row, slot, first_key, keys)

    def where_seen(
        self,
        member: Index,
        row: Index,
        slot: Index,
        first_key: Index,
        keys: int,
        magnitudes: Magnitudes | None,
    ) -> AbstractContextManager[None]:
        """What is done unless a mask hides a block; always where no mask can."""
        b, rows = self.b, self.cut.rows
        if self.hidden is None or magnitudes is None:
            return nullcontext()

        def peaks(_: tuple[Index, ...], i: Index, lanes: int) -> SSAValue:
            return b.load(self.peaks.pointer, b.add(slot, i), self.kind, lanes)

        hidden = self.hidden.is_hidden(member, row, rows, first_key, keys, magnitudes, peaks)
        return b.when(b.negate(hidden))

    def seen_block(
        self, member: Index, row: Index, slot: Index, first_key: Index, keys: int
    ) -> None:
        """Adds some keys to what is known of the rows of a block, the first of which is at `slot` in its group."""
        b = self.b
        self.read_queries(member, row)
        self.multiply_keys(keys)
        self.show_scores(self.parts.scores.result, member, row, first_key)
        with b.loop(0, self.cut.rows) as i:
            score_at = self.score_at(member, row, i, first_key)
            for buffer, value in zip(
                self.extremes, peaks_by_lane(self.ctx, keys, self.kind, score_at), strict=True
            ):
                b.store(buffer.pointer, self.row_offset(buffer, i, 0), buffer.element, value)
        self.ctx.vectors(
            self.cut.rows, self.lanes, lambda i, count: self.raise_peaks(i, b.add(slot, i), count)
        )
        with b.loop(0, self.cut.rows) as i:
            self.weigh(i, b.add(slot, i), keys)

        def keep(i: Index, vector: Index, value: SSAValue, _: int) -> None:
            offset = self.row_offset(self.added, i, b.mul(vector, self.lanes))
            b.store(self.added.pointer, offset, self.kind, value)

        self.multiply_values(keys, keep)
        with b.loop(0, self.cut.rows) as i:
            self.add_sums(i, b.add(slot, i))

    def where_worthwhile(self, compute: Callable[[], SSAValue]) -> SSAValue:
        """
        A magnitude; infinity, for which nothing is hidden, where the program finds that there are few rows, or one block
        of keys: to look for what is hidden takes longer then than to compute it.
        """
        b, first = self.b, self.first
        if not is_open(first.rows) and not is_open(first.columns):
            return compute()
        many, few = Block(), Block()
        with b.inside(many):
            largest = compute()
        with b.inside(few):
            nothing = b.constant(self.kind.compute, inf)
        many_rows = b.compare_index(first.rows, "sge", MOST_BLOCK_ROWS)
        many_keys = b.compare_index(first.columns, "sgt", self.cut.keys)
        return b.join(b.both(many_rows, many_keys), (many, largest), (few, nothing))

    def largest_of(self, product: Product, member: Index, first_key: Index, keys: int) -> SSAValue:
        """
        The largest magnitude among some keys, or among their values. They are read again for that: a composite does no more
        than move, scale and round what its products take.
        """
        assert self.hidden is not None
        width = self.first.depth if product is self.first else self.second.columns
        keys_are_last, read = self.key_operand(product, member, first_key)
        rows, columns = (width, keys) if keys_are_last else (keys, width)
        kind = element_of(product.right)

        def element_at(indices: tuple[Index, ...], column: Index, lanes: int) -> SSAValue:
            return convert(self.b, read(indices[0], column, lanes), kind, self.kind)

        return self.hidden.largest_magnitude([rows], columns, element_at)

    def largest_query(self, member: Index, start: Index) -> SSAValue:
        """The largest magnitude among the queries of the group that begins with a block of rows."""
        assert self.hidden is not None
        b, first = self.b, self.first
        rows = smaller(self.cut.blocks_of_group * self.cut.rows, first.rows)
        row = b.smaller(b.mul(start, self.cut.rows), first.rows - rows)
        kind = element_of(first.left)

        def element_at(indices: tuple[Index, ...], k: Index, lanes: int) -> SSAValue:
            value = self.read(
                first.left, first.left_batch, member, b.add(row, indices[0]), k, lanes
            )
            return convert(b, value, kind, self.kind)

        return self.hidden.largest_magnitude([rows], first.depth, element_at)

    def raise_peaks(self, i: Index, slot: Index, rows: int) -> None:
        """
        The largest scores so far of some rows of a block, no more than a vector has lanes. They are finite or larger, so
        that masked scores of minus infinity become zeros.
        """
        b, kind = self.b, self.kind

        def extreme(buffer: Buffer, number: int) -> SSAValue:
            offset = self.row_offset(buffer, b.add(i, number), 0)
            return b.load(buffer.pointer, offset, buffer.element, self.lanes)

        high, low = self.extremes
        found = [(extreme(high, number), extreme(low, number)) for number in range(rows)]
        old = b.load(self.peaks.pointer, slot, kind, rows)
        peaks = maximum(b, old, largest_elements(b, found, kind), kind)
        b.store(self.peaks.pointer, slot, kind, peaks)
        b.store(self.factors.pointer, i, kind, decay_to_zero(b, subtract(b, old, peaks, kind)))

    def weigh(self, i: Index, slot: Index, keys: int) -> None:
        """Exponentials relative to the largest score so far replace the scores of a row."""
        b, kind = self.b, self.kind
        terms = self.raised_at(i, b.load(self.peaks.pointer, slot, kind, 1), self.store_weights)
        (added,) = reduce_to_vectors(self.ctx, keys, [Term(SUM, kind)], terms)
        self.fill_group(self.weights, i, keys, self.value_dot)
        factor = b.splat(b.load(self.factors.pointer, i, kind, 1), self.lanes)
        place = self.row_offset(self.totals, slot, 0)
        known = b.load(self.totals.pointer, place, kind, self.lanes)
        b.store(self.totals.pointer, place, kind, multiply_add(b, known, factor, added, kind))

    def add_sums(self, i: Index, slot: Index) -> None:
        """Adds the weighted sums over a block of keys to those of a row."""
        b, kind = self.b, self.kind
        factor = b.splat(b.load(self.factors.pointer, i, kind, 1), self.lanes)
        with b.loop(0, self.sums.format.strides[0], self.lanes) as column:
            offset = self.row_offset(self.added, i, column)
            added = b.load(self.added.pointer, offset, kind, self.lanes)
            place = self.row_offset(self.sums, slot, column)
            known = b.load(self.sums.pointer, place, kind, self.lanes)
            b.store(self.sums.pointer, place, kind, multiply_add(b, known, factor, added, kind))

    def finish_row(self, member: Index, row: Index, slot: Index) -> None:
        """The weighted sums of a row, divided by the sum of its weights."""
        b, kind, replaced = self.b, self.kind, self.parts.row_weight
        totals = b.load(
            self.totals.pointer, self.row_offset(self.totals, slot, 0), kind, self.lanes
        )
        total = across_lanes(b, totals, add, kind)
        if replaced is None:
            self.divide_sums(member, row, slot, total)
            return
        if replaced.condition is None:
            keeps = b.compare_floats(b.constant(kind.compute, 0), "olt", total)
        else:
            shape = shape_of(replaced.weights)
            coords = self.parts.row_coords(b, member, row, replaced.weights)
            evaluator = self.ctx.ev
            is_replaced = evaluator.broadcast(replaced.condition, at(shape, (*coords, 0)))
            keeps = b.negate(evaluator.run(is_replaced))
        with b.when(keeps):
            self.divide_sums(member, row, slot, total)
        with b.when(b.negate(keeps)):
            place = at(shape_of(replaced.number), [0] * len(shape_of(replaced.number)))
            self.sum_values(member, row, self.ctx.ev.get((replaced.number, 0), place))

    def divide_sums(self, member: Index, row: Index, slot: Index, total: SSAValue) -> None:
        """The weighted sums of a row, of which so much is the sum of the weights."""
        b, kind = self.b, self.kind
        factor = reciprocal(b, total)

        def finish(column: Index, lanes: int) -> None:
            offset = self.row_offset(self.sums, slot, column)
            value = b.load(self.sums.pointer, offset, kind, lanes)
            value = multiply(b, value, b.splat(factor, lanes), kind)
            self.hand_over(member, row, column, value, lanes)

        self.ctx.vectors(self.second.columns, self.lanes, finish)

    def sum_values(self, member: Index, row: Index, weight: SSAValue) -> None:
        """A row whose weights are all the same number."""
        b, kind, source = self.b, self.kind, element_of(self.second.right)
        assert self.parts.row_weight is not None
        stated = element_of(self.parts.row_weight.number)
        for old, new in pairwise((stated, element_of(self.parts.output.tensor_a), kind)):
            weight = convert(b, weight, old, new)
        keys_are_last, read = self.key_operand(self.second, member, 0)

        def finish(column: Index, lanes: int) -> None:
            def step(key: Index, total: Sequence[SSAValue]) -> list[SSAValue]:
                place = (column, key) if keys_are_last else (key, column)
                value = convert(b, read(*place, lanes), source, kind)
                return [multiply_add(b, value, b.splat(weight, lanes), total[0], kind)]

            zero = b.constant(kind.compute, 0, lanes)
            (value,) = b.fold(0, self.first.columns, 1, [zero], step)
            self.hand_over(member, row, column, value, lanes)

        # Neighbours in a column of values are no neighbours in memory where keys are.
        self.ctx.vectors(self.second.columns, 1 if keys_are_last else self.lanes, finish)


def _lowest_finite(kind: Element) -> float:
    """The smallest finite number."""
    mantissa, exponent = (23, 127) if kind.bytes == 4 else (52, 1023)
    return -(2.0 - 2.0**-mantissa) * 2.0**exponent
