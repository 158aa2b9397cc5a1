"""
Sorting in kernels by merging: keys, integers with the order of the elements, stay where they are, and
the numbers of the elements move between two halves of a buffer, in which ever longer runs are in
order.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open, larger
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.evaluate import Buffer
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index, lanes_of, with_lanes
from xrelay.lowering.math.arithmetic import add
from xrelay.lowering.math.convert import convert


def key_element(kind: Element) -> Element:
    """What the order keys of elements are."""
    size = wide(kind).bytes
    integer = IntegerType(8 * size)
    return Element(integer, integer, size, kind.is_float or kind.signed)


def order_key(b: KernelBuilder, value: SSAValue, kind: Element) -> SSAValue:
    """
    An integer with the order of the elements, NaN above all numbers and zeros of both signs equal,
    lane by lane.
    """
    key = key_element(kind)
    if not kind.is_float:
        return convert(b, value, kind, key) if kind.is_bool else value
    value, lanes = convert(b, value, kind, wide(kind)), lanes_of(value)
    zero = b.constant(wide(kind).compute, 0, lanes)
    bits = b.bitcast(add(b, value, zero, wide(kind)), with_lanes(key.compute, lanes))
    largest = b.constant(key.compute, 2 ** (key.bits - 1) - 1, lanes)
    negative = b.compare_integers(bits, "slt", b.constant(key.compute, 0, lanes))
    flipped = b.insert(arith.XOrIOp(bits, largest)).result
    return b.select(b.is_nan(value), largest, b.select(negative, flipped, bits))


def descending_key(b: KernelBuilder, value: SSAValue, kind: Element) -> SSAValue:
    """An integer with the opposite order: NaN below all numbers."""
    return b.negate(order_key(b, value, kind))


def score_key(b: KernelBuilder, score: SSAValue, kind: Element) -> SSAValue:
    """An integer that puts scores best first and NaN last, lane by lane."""
    key, descending = key_element(kind), descending_key(b, score, kind)
    if not kind.is_float:
        return descending
    largest = b.constant(key.compute, 2 ** (key.bits - 1) - 1, lanes_of(score))
    return b.select(b.is_nan(convert(b, score, kind, wide(kind))), largest, descending)


def bit_length(b: KernelBuilder, count: int) -> Index:
    """How many bits a number has that is not negative. It may be known when the program runs only."""
    if not is_open(count):
        return count.bit_length()
    zeros = b.instruction("llvm.ctlz.i64", [b.index(count), b.constant(i1, 0)], INDEX.compute)
    return b.index(b.sub(64, zeros))


def precedes(b: KernelBuilder, x: SSAValue, y: SSAValue, key: Element, relation: str) -> SSAValue:
    """Whether `relation`, "le" or "lt", is true of two keys."""
    return b.compare_integers(x, ("s" if key.signed else "u") + relation, y)


class Sorter:
    """Sorts rows of at most `capacity` elements; every thread sorts one row at a time."""

    def __init__(self, ctx: KernelContext, capacity: int, kind: Element):
        self.b, self.capacity = ctx.b, capacity
        self.keys = ctx.private_scratch(
            key_element(kind), row_major((larger(capacity, 1, of_empty=True),))
        )
        self.order = ctx.private_scratch(
            INDEX, row_major((larger(2 * capacity, 1, of_empty=True),))
        )
        self._sorted: Index = 0
        """Where the half of the buffer begins that has the order."""

    def sort(self, count: Index, key_at: Callable[[Index], SSAValue]) -> None:
        """
        Orders `count` elements by their keys, equal ones by their numbers; then `number` tells
        which one is where.
        """
        b, key, last = self.b, self.keys.element, self.b.sub(count, 1)
        with b.loop(0, count) as i:
            self._store(self.keys, i, key_at(i))
            self._store(self.order, i, b.index(i))
        passes = bit_length(b, larger(self.capacity - 1, 0, of_empty=True))
        if passes == 0:
            return

        def at(half: SSAValue, place: SSAValue) -> SSAValue:
            """The number at a place; that at the last place for those behind it."""
            return self._load(self.order, b.add(half, b.smaller(place, last)))

        def merge(_: Index, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            width, source, target = state

            def step(k: Index, runs: Sequence[SSAValue]) -> Sequence[SSAValue]:
                # The rest of a run, the rest of the one behind it, and where each ends.
                begins = b.compare_index(k, "eq", runs[3])
                middle = b.index(b.smaller(b.add(k, width), count))
                end = b.index(b.smaller(b.add(middle, width), count))
                fresh = (b.index(k), middle, middle, end)
                pairs = zip(fresh, runs, strict=True)
                left, right, middle, end = (b.select(begins, new, old) for new, old in pairs)
                one, other = at(source, left), at(source, right)
                ordered = precedes(b, self.key(one), self.key(other), key, "le")
                exhausted = b.compare_index(right, "sge", end)
                rest = b.compare_index(left, "slt", middle)
                first = b.both(rest, b.either(exhausted, ordered))
                self._store(self.order, b.add(target, k), b.select(first, one, other))
                moved = b.select(first, b.index(b.add(left, 1)), left)
                behind = b.select(first, right, b.index(b.add(right, 1)))
                return moved, behind, middle, end

            b.fold(0, count, 1, [b.index(0)] * 4, step)
            return b.index(b.mul(width, 2)), target, source

        halves = b.index(0), b.index(self.capacity)
        _, found, _ = b.fold(0, passes, 1, [b.index(1), *halves], merge)
        self._sorted = self.capacity * (passes % 2) if isinstance(passes, int) else found

    def number(self, place: Index) -> SSAValue:
        """The number of the element that comes to a place."""
        return self._load(self.order, self.b.add(place, self._sorted))

    def key(self, number: Index) -> SSAValue:
        """The key of an element."""
        return self._load(self.keys, number)

    def _load(self, buffer: Buffer, offset: Index) -> SSAValue:
        return self.b.load(buffer.pointer, offset, buffer.element, 1)

    def _store(self, buffer: Buffer, offset: Index, value: SSAValue) -> None:
        self.b.store(buffer.pointer, offset, buffer.element, value)
