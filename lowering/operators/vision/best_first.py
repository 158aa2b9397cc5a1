"""Rows of which the best elements are wanted one after the other, without an order of all of them."""

from collections.abc import Callable

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import larger
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.loops.reductions import MAXIMUM, MINIMUM, Term, reduce_elements
from xrelay.lowering.math.arithmetic import add, highest, lowest
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.vision.nms import COUNT


class BestFirst:
    """
    The keys of a row, and the largest one of each block of them: the best element is found in a few vectors.

        keys      3 9 1 2   7 8 4 4   9 0 5 6        take: the first 9, at 1
        largest      9         8         9

    Of equal ones the first comes first. Every thread has a row of its own.
    """

    def __init__(self, ctx: KernelContext, count: int, key: Element):
        """For rows of `count` keys, which are signed integers; the lowest one stands for none."""
        self.ctx, self.b, self.count, self.key = ctx, ctx.b, count, key
        self.lanes = ctx.target.lanes(key.bytes)
        self.block = self.lanes * self.lanes
        self.blocks = larger(blocks(count, self.block), 1, of_empty=True)
        self.whole_blocks = blocks(self.blocks, self.lanes) * self.lanes
        self.keys = ctx.private_scratch(key, row_major((self.blocks * self.block,)))
        self.largest = ctx.private_scratch(key, row_major((self.whole_blocks,)))

    def fill(self, key_at: Callable[[Index, int], SSAValue]) -> None:
        """Reads the keys, of which `key_at` gives neighbours."""
        b, keys, largest = self.b, self.keys, self.largest

        def store(i: Index, lanes: int) -> None:
            b.store(keys.pointer, i, self.key, key_at(i, lanes))

        self.ctx.vectors(self.count, self.lanes, store)
        self._clear(keys, self.count, self.blocks * self.block)
        with b.loop(0, self.blocks) as number:
            self._renew(number)
        self._clear(largest, self.blocks, self.whole_blocks)

    def take(self) -> tuple[SSAValue, SSAValue]:
        """The best key and the number of its element, which is not there any more; the lowest key where none is left."""
        b = self.b
        best = self._largest(self.largest, 0, self.whole_blocks)
        number = self._first(self.largest, 0, self.whole_blocks, best)
        start = b.mul(number, self.block)
        place = b.index(b.add(start, self._first(self.keys, start, self.block, best)))
        none = b.constant(self.key.compute, lowest(self.key))
        b.store(self.keys.pointer, place, self.key, none)
        self._renew(number)
        return best, place

    def _clear(self, buffer: Buffer, start: int, stop: int) -> None:
        """There are no keys from a place up to another."""
        b = self.b

        def clear(i: Index, lanes: int) -> None:
            b.store(
                buffer.pointer, i, self.key, b.constant(self.key.compute, lowest(self.key), lanes)
            )

        self.ctx.vectors(stop - start, self.lanes, clear, start)

    def _renew(self, number: Index) -> None:
        """Finds the largest key of a block."""
        b = self.b
        found = self._largest(self.keys, b.mul(number, self.block), self.block)
        b.store(self.largest.pointer, number, self.key, found)

    def _largest(self, buffer: Buffer, start: Index, length: int) -> SSAValue:
        """The largest of some neighbours."""
        b = self.b

        def key_at(_: tuple[Index, ...], i: Index, lanes: int) -> SSAValue:
            return b.load(buffer.pointer, b.add(start, i), self.key, lanes)

        return reduce_elements(self.ctx, [], length, [Term(MAXIMUM, self.key)], key_at)[0]

    def _first(self, buffer: Buffer, start: Index, length: int, key: SSAValue) -> SSAValue:
        """The number of the first of some neighbours that is a key which is among them."""
        b = self.b

        def number_at(_: tuple[Index, ...], i: Index, lanes: int) -> SSAValue:
            found = b.load(buffer.pointer, b.add(start, i), self.key, lanes)
            number = b.splat(convert(b, b.index(i), INDEX, COUNT), lanes)
            if lanes > 1:
                number = add(b, number, convert(b, b.lane_numbers(lanes), INDEX, COUNT), COUNT)
            none = b.constant(i32, highest(COUNT), lanes)
            return b.select(b.compare_integers(found, "eq", b.splat(key, lanes)), number, none)

        (number,) = reduce_elements(self.ctx, [], length, [Term(MINIMUM, COUNT)], number_at)
        return convert(b, number, COUNT, INDEX)
