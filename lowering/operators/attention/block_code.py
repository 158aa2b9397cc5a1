"""Attention of blocks of rows, all keys at once: see `xrelay.lowering.operators.attention.parts`."""

from collections.abc import Callable
from math import prod

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.dots import Dot
from xrelay.lowering.loops.matrix_product import Product
from xrelay.lowering.loops.micro_kernel import LINE_BYTES
from xrelay.lowering.loops.panel_writer import PanelWriter, ReadRow
from xrelay.lowering.loops.reductions import SUM, ElementAt, Term, reduce_elements
from xrelay.lowering.loops.row_peak import largest_element
from xrelay.lowering.loops.tile_grid import TileGrid
from xrelay.lowering.loops.tiling import Tiling
from xrelay.lowering.math.arithmetic import multiply, subtract
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.elementary import decay_to_zero, reciprocal
from xrelay.lowering.operators.attention.block_product import Finish, multiply_rows
from xrelay.lowering.operators.attention.parts import Attention, Cut


class BlockCode:
    """Blocks of rows with all keys at once."""

    def __init__(self, ctx: KernelContext, parts: Attention, cut: Cut, sink: Sink):
        self.ctx, self.b, self.parts, self.cut, self.sink = ctx, ctx.b, parts, cut, sink
        self.first, self.second, self.kind = parts.first, parts.second, parts.kind
        self.lanes = ctx.target.lanes(self.kind.bytes)
        line = LINE_BYTES // self.kind.bytes

        def padded(length: int) -> int:
            """The length of rows that do not fall into one set of the cache."""
            return blocks(length, line) * line + line

        self.key_dot, self.value_dot = parts.dots(ctx.target)
        self.keys = self.panels(self.key_dot, cut.keys, self.first.depth, cut.scores)
        self.values = self.panels(self.value_dot, self.second.columns, cut.keys, cut.output)
        depth = self.key_dot.steps(self.first.depth) * self.key_dot.group
        self.queries = self.private(cut.rows, padded(depth), kind=self.key_dot.image)
        whole_keys = self.key_vectors(cut.keys) * self.lanes
        self.scores = self.private(cut.rows, padded(whole_keys))
        self.weights = self.scores
        """Where weights are when they are multiplied: in the place of the scores if they are of their type."""
        if self.value_dot.image != self.kind:
            self.weights = self.private(cut.rows, padded(whole_keys), kind=self.value_dot.image)

    def key_vectors(self, keys: int) -> int:
        """In how many vectors the scores of some keys lie: whole panels where it is not known how many these are."""
        wide = self.cut.scores.vectors if is_open(self.first.columns) else 1
        return blocks(keys, wide * self.lanes) * wide

    def private(self, *shape: int, kind: Element | None = None) -> Buffer:
        """Memory of the thread, for elements of the type of the scores where none is stated."""
        return self.ctx.private_scratch(kind or self.kind, row_major(shape))

    def panels(self, dot: Dot, columns: int, depth: int, tiling: Tiling) -> Buffer:
        """Memory of the thread for the right operand of a product."""
        width = tiling.vectors * self.lanes
        shape = blocks(columns, width), dot.steps(depth), width * dot.group
        return self.private(*shape, kind=dot.weight)

    # -- loops --------------------------------------------------------------------------------

    def emit(self) -> None:
        """The loops over members, groups and blocks."""
        extents = (self.first.batch, self.cut.groups)
        self.ctx.tasks(extents, lambda indices: self.task(*indices))

    def blocks_of(self, group: Index) -> tuple[Index, Index]:
        """The blocks of rows of a group: from a number up to another."""
        start = self.b.mul(group, self.cut.blocks_of_group)
        stop = self.b.add(start, self.cut.blocks_of_group)
        return start, self.b.smaller(stop, self.cut.row_blocks)

    def first_row(self, block: Index) -> Index:
        """Where a block of rows begins."""
        return self.b.smaller(self.b.mul(block, self.cut.rows), self.first.rows - self.cut.rows)

    def task(self, member: Index, group: Index) -> None:
        """A group of rows."""
        keys = self.first.columns
        self.pack(member, 0, keys)
        with self.b.loop(*self.blocks_of(group)) as block:
            row = self.first_row(block)
            self.read_queries(member, row)
            self.multiply_keys(keys)
            self.show_scores(self.parts.scores.result, member, row, 0)
            self.show_scores(self.parts.softmax.result, member, row, 0)
            with self.b.loop(0, self.cut.rows) as i:
                self.softmax(member, row, i, keys)

            def finish(i: Index, vector: Index, value: SSAValue, lanes: int) -> None:
                column = self.b.mul(vector, self.lanes)
                self.hand_over(member, self.b.add(row, i), column, value, lanes)

            self.multiply_values(keys, finish)

    # -- operands -----------------------------------------------------------------------------

    def read(
        self, value: SSAValue, batch: int, member: Index, row: Index, column: Index, lanes: int
    ) -> SSAValue:
        """Neighbours in a row of a matrix of a batch."""
        shape = shape_of(value)
        before = (0 if certainly(batch, 1) else member,) if len(shape) > 2 else ()
        return self.ctx.ev.get((value, 0), at(shape, (*before, row, column), lanes))

    def key_operand(
        self, product: Product, member: Index, first_key: Index
    ) -> tuple[bool, ReadRow]:
        """
        The right operand of a product from a key on, whose keys are its columns, or along its depth: whether they run along
        its last axis, and neighbours in a row of it.
        """
        b = self.b
        # As columns that are stored by rows, or along a depth that is stored by columns.
        keys_are_last = product.by_rows == (product is self.first)

        def read(row: Index, column: Index, lanes: int) -> SSAValue:
            if keys_are_last:
                column = b.add(first_key, column)
            else:
                row = b.add(first_key, row)
            return self.read(product.right, product.right_batch, member, row, column, lanes)

        return keys_are_last, read

    def pack(self, member: Index, first_key: Index, keys: int) -> None:
        """Writes the panels of some keys and their values."""

        def write(product: Product, panels: Buffer, dot: Dot, depth: int, columns: int) -> None:
            width = panels.shape[-1] // dot.group
            _, read = self.key_operand(product, member, first_key)
            PanelWriter(
                self.b, dot.weight, self.lanes, panels.pointer, depth, columns, width, product.by_rows, read, dot.group
            ).write()  # fmt: skip

        write(self.first, self.keys, self.key_dot, self.first.depth, keys)
        write(self.second, self.values, self.value_dot, keys, self.second.columns)

    def read_queries(self, member: Index, row: Index) -> None:
        """Copies the queries of a block."""
        b, first, image = self.b, self.first, self.key_dot.image
        kind = element_of(first.left)
        with b.loop(0, self.cut.rows) as i:

            def vector(k: Index, lanes: int) -> None:
                value = self.read(first.left, first.left_batch, member, b.add(row, i), k, lanes)
                offset = self.row_offset(self.queries, i, k)
                b.store(self.queries.pointer, offset, image, convert(b, value, kind, image))

            self.ctx.vectors(first.depth, self.lanes, vector)
            self.fill_group(self.queries, i, first.depth, self.key_dot)

    def fill_group(self, rows: Buffer, i: Index, length: int, dot: Dot) -> None:
        """Zeros behind the elements of a row, up to the end of the last group for a dot product."""
        b, image = self.b, dot.image
        missing = dot.steps(length) * dot.group - length
        if certainly(missing, 0):
            return

        def fill(offset: Index, lanes: int) -> None:
            b.store(rows.pointer, offset, image, b.constant(image.compute, 0, lanes))

        self.ctx.vectors(missing, self.lanes, fill, self.row_offset(rows, i, length))

    # -- products -----------------------------------------------------------------------------

    def multiply_keys(self, keys: int) -> None:
        """The scores of a block."""

        def finish(i: Index, vector: Index, value: SSAValue, _: int) -> None:
            offset = self.score_offset(i, self.b.mul(vector, self.lanes))
            self.b.store(self.scores.pointer, offset, self.kind, value)

        grid = self.grid(self.cut.scores, self.key_vectors(keys), 0)
        depth = self.first.depth
        multiply_rows(self.b, self.key_dot, grid, self.queries, self.keys, depth, finish)

    def multiply_values(self, keys: int, finish: Finish) -> None:
        """The weighted sums of the values for a block."""
        columns = self.second.columns
        vectors = blocks(columns, self.lanes)
        grid = self.grid(self.cut.output, vectors, columns % self.lanes)
        multiply_rows(self.b, self.value_dot, grid, self.weights, self.values, keys, finish)

    def grid(self, tiling: Tiling, vectors: int, last_lanes: int) -> TileGrid:
        """The result of a product for a block of rows."""
        return TileGrid((), 1, self.cut.rows, tiling, vectors, 0, 0, last_lanes=last_lanes)

    def hand_over(
        self, member: Index, row: Index, column: Index, value: SSAValue, lanes: int
    ) -> None:
        """Finished elements of the second product go to their places."""
        value = self.parts.rounded(self.b, value)
        for lane, position in self.parts.places(self.b, member, row, column, lanes):
            part = value if position.lanes == lanes else self.b.lane(value, lane)
            self.sink(position, part)

    # -- softmax ------------------------------------------------------------------------------

    def row_offset(self, rows: Buffer, i: Index, column: Index) -> Index:
        """Where an element of row `i` lies."""
        return self.b.add(self.b.mul(i, rows.format.strides[0]), column)

    def score_offset(self, i: Index, key: Index) -> Index:
        """Where a score of row `i` of a block lies."""
        return self.row_offset(self.scores, i, key)

    def store_weights(self, i: Index, key: Index, value: SSAValue) -> None:
        """Weights of row `i`, in the type of the scores, go to where they are multiplied."""
        b, image = self.b, self.value_dot.image
        rounded = convert(b, value, self.kind, element_of(self.parts.output.tensor_a))
        rounded = convert(b, rounded, element_of(self.parts.output.tensor_a), image)
        b.store(self.weights.pointer, self.row_offset(self.weights, i, key), image, rounded)

    def show_scores(self, value: SSAValue, member: Index, row: Index, first_key: Index) -> None:
        """
        Lets operators find the scores, or the weights in their place, of the block that begins at
        `row` of a member of the batch and at `first_key`.
        """
        b, rows, (*batch, own_rows, _) = self.b, self.first.rows, shape_of(value)
        step = self.scores.format.strides[0]
        strides = [0] * len(batch)
        if not certainly(own_rows, rows):  # Rows are counted over all axes before the last.
            strides = [prod(shape_of(value)[axis + 1 : -1]) * step for axis in range(len(batch))]
            row = b.add(b.mul(member, rows), row)
        before = b.add(b.mul(row, step), first_key)
        pointer = b.address(self.scores.pointer, b.sub(0, before), self.kind.storage)
        format = Format(shape_of(value), (*strides, step, 1), 0, self.scores.format.size)
        self.ctx.ev.buffers[value, 0] = Buffer(pointer, format, self.kind)

    def score_at(
        self, member: Index, row: Index, i: Index, first_key: Index
    ) -> Callable[[Index, int], SSAValue]:
        """
        The scores of row `i` of a block, which are in memory as the softmax wants them once they have been read.
        """
        b, parts = self.b, self.parts
        data = parts.softmax.data
        coords = parts.row_coords(b, member, b.add(row, i), data)

        def element_at(key: Index, lanes: int) -> SSAValue:
            place = at(shape_of(data), (*coords, b.add(first_key, key)), lanes)
            value = self.ctx.ev.get((data, 0), place)
            if data is not parts.scores.result:
                b.store(self.scores.pointer, self.score_offset(i, key), self.kind, value)
            return value

        return element_at

    def raised_at(
        self, i: Index, peak: SSAValue, store: Callable[[Index, Index, SSAValue], None]
    ) -> ElementAt:
        """The exponentials of the distances from `peak` of the scores of a row, which are stored."""
        b, kind = self.b, self.kind

        def term_at(_: tuple[Index, ...], key: Index, lanes: int) -> SSAValue:
            score = b.load(self.scores.pointer, self.score_offset(i, key), kind, lanes)
            raised = decay_to_zero(b, subtract(b, score, b.splat(peak, lanes), kind))
            store(i, key, raised)
            return raised

        return term_at

    def softmax(self, member: Index, row: Index, i: Index, keys: int) -> None:
        """Weights replace the scores of a row."""
        b, kind = self.b, self.kind
        peak = largest_element(self.ctx, keys, kind, self.score_at(member, row, i, 0))

        def keep(i: Index, key: Index, value: SSAValue) -> None:
            b.store(self.scores.pointer, self.score_offset(i, key), kind, value)

        terms = self.raised_at(i, peak, keep)
        (total,) = reduce_elements(self.ctx, [], keys, [Term(SUM, kind)], terms)
        factor = reciprocal(b, total)

        def normalize(key: Index, lanes: int) -> None:
            offset = self.score_offset(i, key)
            value = b.load(self.scores.pointer, offset, kind, lanes)
            value = multiply(b, value, b.splat(factor, lanes), kind)
            if self.parts.changed_weights:
                b.store(self.scores.pointer, offset, kind, value)
            else:
                self.store_weights(i, key, value)

        self.ctx.vectors(keys, self.lanes, normalize)
        if self.parts.changed_weights:
            self.change_weights(member, row, i, keys)
        self.fill_group(self.weights, i, keys, self.value_dot)

    def change_weights(self, member: Index, row: Index, i: Index, keys: int) -> None:
        """What is computed from the weights of a row replaces them."""
        b, weights, image = self.b, self.parts.output.tensor_a, self.value_dot.image
        coords = self.parts.row_coords(b, member, b.add(row, i), weights)

        def change(key: Index, lanes: int) -> None:
            value = self.ctx.ev.get((weights, 0), at(shape_of(weights), (*coords, key), lanes))
            value = convert(b, value, element_of(weights), image)
            b.store(self.weights.pointer, self.row_offset(self.weights, i, key), image, value)

        self.ctx.vectors(keys, self.lanes, change)
