"""
The first few of a row in order, without sorting all of it.

    for each vector of the row:
        if a lane is not beyond the limit: its candidates go to the end of a list
        if the list is full: cut it to the first `wanted`, which sets the limit
    cut the list once more; place each candidate by counting those before it

The elements are compared by integer keys, as in `argsort`. Cutting searches the key of the last
candidate that stays by halving the range of keys, and counts the keys on each side in vectors:
its cost does not depend on the order of the elements. The list is always in the order of the row,
so of equal keys the first ones stay, and the limit is below the last key that stays.
"""

from collections.abc import Callable, Sequence
from math import log2

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, larger, smaller
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, element
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index, lanes_of, with_lanes
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.reductions import across_lanes
from xrelay.lowering.math.arithmetic import add, highest, lowest, maximum, minimum, subtract
from xrelay.lowering.operators.tensor.argsort import precedes

KeyAt = Callable[[Index, int], SSAValue]
"""The keys of so many elements of a row, from a number on."""

Counter = Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]]
"""A round of a loop that carries counts."""

NUMBER = element(i32)
"""What candidates are numbered in."""
LONGEST = 2**31 - 1
ACCUMULATORS = 4
"""Vectors that are counted at once."""
TOGETHER = 2
"""Keys that a round of a loop compares with a vector; every vector has as many lanes."""
SMALLEST_LIST = 256
CANDIDATES = 4
"""The list has room for so many times the wanted elements: it fills up rarely, and stays near."""
MOST_WANTED = 128
"""Placing by counting is for at most so many vectors of wanted elements: its time is a square."""


def count_element(key: Element) -> Element:
    """What keys are counted in: as many lanes as keys have, and no fewer than 32 bits."""
    size = max(key.bytes, 4)
    return Element(IntegerType(8 * size), IntegerType(8 * size), size, True)


def most_wanted(target: Target, key: Element) -> int:
    """How many elements of a row are selected at most."""
    return MOST_WANTED * target.lanes(count_element(key).bytes)


def selection_cycles(target: Target, key: Element, length: int, wanted: int) -> float:
    """An estimate for one row: reading it, filling and cutting lists, placing."""
    if not 0 < wanted <= length:
        return 0.0
    lanes = target.lanes(count_element(key).bytes)
    room = _room(lanes, length, wanted)
    # Of a row in random order so many become candidates.
    lists = 1 + max(0.0, log2(length / room) / log2(room / wanted))
    cut = room * (4 + 2 * key.bits / lanes)
    return 3 * length / lanes + lists * (3 * room + cut) + 2 * wanted * wanted / lanes


def merge_cycles(target: Target, key: Element, length: int, wanted: int) -> float:
    """An estimate for sorting one row by merging."""
    del target, key, wanted
    return 20 * length * max(1.0, log2(max(length, 1)))


def _room(lanes: int, length: int, wanted: int) -> int:
    """How many candidates the list takes: whole groups of vectors."""
    room = larger(CANDIDATES * wanted, SMALLEST_LIST)
    if not is_open(length):
        room = smaller(room, length + lanes)
    group = lanes * ACCUMULATORS
    return -(-larger(room, wanted + 2 * lanes) // group) * group


class Selector:
    """
    Finds the first `wanted` of rows of `length` elements in ascending order of their keys; every
    thread has one row at a time.
    """

    def __init__(
        self, ctx: KernelContext, length: int, wanted: int, key: Element, *, in_vectors: bool
    ):
        """`in_vectors` tells whether keys of neighbours can be asked for at once."""
        self.b, self.key = ctx.b, key
        self.length, self.wanted = length, wanted
        self.count_kind = count_element(key)
        self.in_vectors = in_vectors
        self.lanes = lanes = ctx.target.lanes(self.count_kind.bytes)
        self.room = _room(lanes, length, wanted)
        # Vectors are stored whole, also behind the last candidate.
        self.keys = ctx.private_scratch(key, row_major((self.room + lanes,)))
        self.numbers = ctx.private_scratch(NUMBER, row_major((self.room + lanes,)))
        self.order = ctx.private_scratch(NUMBER, row_major((wanted,)))
        self.ranks = ctx.private_scratch(self.count_kind, row_major((lanes,)))
        self.cells = ctx.private_scratch(INDEX, row_major((3,)))
        self.limit = ctx.private_scratch(key, row_major((1,)))

    def select(self, key_at: KeyAt) -> None:
        """
        Selects from a row, of which `key_at` gives the keys; then `number` tells which element is
        where.
        """
        b, key = self.b, self.key
        is_long = is_open(self.length) or self.length >= self.lanes
        step = self.lanes if self.in_vectors and is_long else 1
        rest = self.length % step
        if not certainly(rest, 0):
            with b.loop(0, rest) as i:
                self._store_key(i, key_at(i, 1))
                b.store(self.numbers.pointer, i, NUMBER, self._narrow(b.index(i)))
        self._set(self.COUNT, rest)
        self._set(self.NEXT, rest)
        b.store(self.limit.pointer, 0, key, b.constant(key.compute, highest(key)))
        with b.loop_while_below(self.length, lambda _: self._get(self.NEXT)):
            self._fill(key_at, step)
            self._cut()
        if step > 1 and is_open(self.length):
            with b.when(b.compare_index(self.length, "slt", step)):
                self._cut()
        self._place()

    def number(self, place: Index) -> SSAValue:
        """The number of the element that comes to a place."""
        number = self.b.load(self.order.pointer, place, NUMBER, 1)
        return self.b.insert(llvm.ZExtOp(number, INDEX.compute)).res

    # -- state: in memory, as it changes in branches only -------------------------------------

    COUNT, NEXT, QUOTA = range(3)

    def _get(self, cell: int) -> SSAValue:
        return self.b.load(self.cells.pointer, cell, INDEX, 1)

    def _set(self, cell: int, value: Index) -> None:
        self.b.store(self.cells.pointer, cell, INDEX, self.b.index(value))

    def _load_keys(self, offset: Index, lanes: int) -> SSAValue:
        return self.b.load(self.keys.pointer, offset, self.key, lanes)

    def _store_key(self, offset: Index, value: SSAValue) -> None:
        self.b.store(self.keys.pointer, offset, self.key, value)

    def _narrow(self, value: SSAValue) -> SSAValue:
        return self.b.insert(llvm.TruncOp(value, i32)).res

    def _splat(self, value: SSAValue) -> SSAValue:
        return self.b.splat(value, self.lanes)

    # -- phases -------------------------------------------------------------------------------

    def _fill(self, key_at: KeyAt, step: int) -> None:
        """Reads the row until it ends or the list is full."""
        b, room = self.b, self.room - step
        limit = b.load(self.limit.pointer, 0, self.key, 1)

        def following(last: Index) -> SSAValue:
            if last == -1:
                return self._get(self.NEXT)
            after = b.add(last, step)
            full = b.compare_index(self._get(self.COUNT), "sgt", room)
            return b.select(full, b.index(self.length), b.index(after))

        with b.loop_while_below(self.length, following) as place:
            keys = key_at(place, step)
            enters = precedes(b, keys, b.splat(limit, step), self.key, "le")
            self._set(self.NEXT, b.add(place, step))
            with b.when(any_lane(b, enters)):
                numbers = self._numbered(place, step)
                self._set(self.COUNT, self._append(self._get(self.COUNT), enters, keys, numbers))

    def _numbered(self, first: Index, lanes: int) -> SSAValue:
        """The numbers of neighbours in a row."""
        b = self.b
        start = self._narrow(b.index(first))
        if lanes == 1:
            return start
        return b.insert(arith.AddiOp(b.splat(start, lanes), b.lane_numbers(lanes, i32))).result

    def _append(
        self, count: Index, chosen: SSAValue, keys: SSAValue, numbers: SSAValue
    ) -> SSAValue:
        """Writes the chosen candidates behind the first `count`; returns how many there are then."""
        b = self.b
        if lanes_of(keys) > 1:
            keys, numbers = (self._compressed(each, chosen) for each in (keys, numbers))
        found = count_lanes(b, chosen)
        self._store_key(count, keys)
        b.store(self.numbers.pointer, count, NUMBER, numbers)
        more = b.insert(llvm.ZExtOp(found, INDEX.compute)).res
        return b.index(b.add(count, more))

    def _compressed(self, values: SSAValue, chosen: SSAValue) -> SSAValue:
        """The lanes that are chosen, side by side from the first lane on."""
        b = self.b
        anything = b.insert(llvm.UndefOp(values.type)).res
        name = "experimental.vector.compress"
        return b.intrinsic(name, [values, chosen, anything], values.type)

    def _cut(self) -> None:
        """Keeps the first `wanted` candidates, in the order of the row."""
        b, key, lanes = self.b, self.key, self.lanes
        most = b.constant(key.compute, highest(key), lanes)
        with b.loop(self._get(self.COUNT), self.room, lanes) as i:
            self._store_key(i, most)
        last = self._last_key()
        before = self._count_keys(last, "lt", self.room)
        self._set(self.QUOTA, b.sub(self.wanted, before))
        self._set(self.COUNT, 0)
        with b.loop(0, self.room, lanes) as i:
            keys = self._load_keys(i, lanes)
            ties = any_lane(b, b.compare_integers(keys, "eq", self._splat(last)))
            with b.when(ties):
                self._keep_each(i, last)
            with b.when(b.negate(ties)):
                self._keep(i, keys, precedes(b, keys, self._splat(last), key, "lt"))
        least = b.constant(key.compute, lowest(key))
        below = subtract(b, last, b.constant(key.compute, 1), key)
        is_least = b.compare_integers(last, "eq", least)
        # Nothing is below the least key: those that are equal come in, and are cut again.
        b.store(self.limit.pointer, 0, key, b.select(is_least, least, below))

    def _keep(self, start: Index, keys: SSAValue, chosen: SSAValue) -> None:
        """Moves the chosen ones of a vector of candidates to the front of the list."""
        numbers = self.b.load(self.numbers.pointer, start, NUMBER, self.lanes)
        self._set(self.COUNT, self._append(self._get(self.COUNT), chosen, keys, numbers))

    def _keep_each(self, start: Index, last: SSAValue) -> None:
        """The same for a vector with the last key that stays, as often as there is room for it."""
        b = self.b
        with b.loop(start, b.add(start, self.lanes)) as i:
            key, quota = self._load_keys(i, 1), self._get(self.QUOTA)
            number = b.load(self.numbers.pointer, i, NUMBER, 1)
            ties = b.compare_integers(key, "eq", last)
            tie = b.both(ties, b.compare_index(quota, "sgt", 0))
            one = b.insert(llvm.ZExtOp(tie, INDEX.compute)).res
            self._set(self.QUOTA, b.sub(quota, one))
            chosen = b.either(tie, precedes(b, key, last, self.key, "lt"))
            self._set(self.COUNT, self._append(self._get(self.COUNT), chosen, key, number))

    def _last_key(self) -> SSAValue:
        """A key that `wanted` candidates are not beyond, and fewer are before."""
        b, key, kind = self.b, self.key, self.key.compute

        def halve(_: Index, bounds: Sequence[SSAValue]) -> Sequence[SSAValue]:
            low, high = bounds
            open_ = b.compare_integers(low, "ne", high)
            width = subtract(b, high, low, key)
            half = b.insert(arith.ShRUIOp(width, b.constant(kind, 1))).result
            middle = add(b, low, half, key)
            stop = b.select(open_, b.index(self.room), b.index(0))
            count = self._count_keys(middle, "le", stop)
            enough = b.compare_index(count, "sge", self.wanted)
            exact = b.compare_index(count, "eq", self.wanted)
            above = add(b, middle, b.constant(kind, 1), key)
            raised = b.select(exact, middle, b.select(enough, low, above))
            return (
                b.select(open_, raised, low),
                b.select(b.both(open_, enough), middle, high),
            )

        low = self._extreme(minimum, highest(key), self.room)
        high = self._extreme(maximum, lowest(key), self.wanted)
        return b.fold(0, key.bits, 1, [low, high], halve)[1]

    def _extreme(self, combine: Callable[..., SSAValue], end: float, stop: int) -> SSAValue:
        """The least key of the list, or the largest of its first ones; `end` is that of the range of keys."""
        b, key, lanes = self.b, self.key, self.lanes
        whole = stop - stop % lanes

        def step(i: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [combine(b, values[0], self._load_keys(i, values_lanes), key)]

        results: list[SSAValue] = []
        for first, last, values_lanes in ((0, whole, lanes), (whole, stop, 1)):
            if not certainly(last - first, 0):
                initial = b.constant(key.compute, end, values_lanes)
                (value,) = b.fold(first, last, values_lanes, [initial], step)
                results.append(across_lanes(b, value, combine, key))
        return results[0] if len(results) == 1 else combine(b, *results, key)

    def _count_keys(self, limit: SSAValue, relation: str, stop: Index) -> SSAValue:
        """How many keys of the list are on one side of a limit."""
        b, kind, lanes = self.b, self.count_kind, self.lanes
        limits = self._splat(limit)

        def step(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [
                self._plus(total, self._load_keys(b.add(i, n * lanes), lanes), limits, relation)
                for n, total in enumerate(totals)
            ]

        zero = b.constant(kind.compute, 0, lanes)
        first, *others = b.fold(0, stop, lanes * ACCUMULATORS, [zero] * ACCUMULATORS, step)
        for other in others:
            first = add(b, first, other, kind)
        total = across_lanes(b, first, add, kind)
        if kind.bytes == INDEX.bytes:
            return total
        return b.insert(llvm.SExtOp(total, INDEX.compute)).res

    def _plus(self, total: SSAValue, keys: SSAValue, limits: SSAValue, relation: str) -> SSAValue:
        """One more in the lanes where a relation of keys holds."""
        found = precedes(self.b, keys, limits, self.key, relation)
        return self._counting(total, found)

    def _counting(self, total: SSAValue, found: SSAValue) -> SSAValue:
        b, kind = self.b, self.count_kind
        minus = b.insert(llvm.SExtOp(found, with_lanes(kind.compute, self.lanes))).res
        return subtract(b, total, minus, kind)

    def _place(self) -> None:
        """Writes the numbers of the first `wanted` candidates in the order of their keys."""
        b, key, lanes, wanted = self.b, self.key, self.lanes, self.wanted
        end = -(-wanted // lanes) * lanes
        # The keys behind them are before none.
        self._store_key(wanted, b.constant(key.compute, highest(key), lanes))
        with b.loop(0, end, lanes) as start:
            own, middle = self._load_keys(start, lanes), b.add(start, lanes)
            totals: Sequence[SSAValue] = [b.constant(self.count_kind.compute, 0, lanes)]
            totals = b.fold(0, start, TOGETHER, totals, self._counter(own, "le"))
            totals = b.fold(start, middle, 1, totals, self._neighbour_counter(own, start))
            totals = b.fold(middle, end, TOGETHER, totals, self._counter(own, "lt"))
            self._write_order(start, b.index(b.smaller(middle, wanted)), totals[0])

    def _counter(self, own: SSAValue, relation: str) -> Counter:
        """Counts keys that are before those of a vector, some in a round."""

        def step(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (total,) = totals
            for n in range(TOGETHER):
                other = self._splat(self._load_keys(self.b.add(i, n), 1))
                total = self._plus(total, other, own, relation)
            return [total]

        return step

    def _neighbour_counter(self, own: SSAValue, start: Index) -> Counter:
        """The same for the keys of the vector itself: equal ones are before those behind them."""
        b, lanes = self.b, self.lanes

        def step(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            other = self._splat(self._load_keys(i, 1))
            place = b.splat(b.index(b.sub(i, start)), lanes)
            earlier = b.compare_integers(place, "slt", b.lane_numbers(lanes))
            equal = b.both(b.compare_integers(other, "eq", own), earlier)
            before = precedes(b, other, own, self.key, "lt")
            return [self._counting(totals[0], b.either(before, equal))]

        return step

    def _write_order(self, start: Index, end: Index, ranks: SSAValue) -> None:
        b, kind = self.b, self.count_kind
        b.store(self.ranks.pointer, 0, kind, ranks)
        with b.loop(start, end) as i:
            rank = b.load(self.ranks.pointer, b.sub(i, start), kind, 1)
            if kind.bytes < INDEX.bytes:
                rank = b.insert(llvm.SExtOp(rank, INDEX.compute)).res
            number = b.load(self.numbers.pointer, i, NUMBER, 1)
            b.store(self.order.pointer, rank, NUMBER, number)


def any_lane(b: KernelBuilder, condition: SSAValue) -> SSAValue:
    """Whether a condition holds in some lane."""
    if (lanes := lanes_of(condition)) == 1:
        return condition
    bits = IntegerType(lanes)
    return b.compare_integers(b.bitcast(condition, bits), "ne", b.constant(bits, 0))


def count_lanes(b: KernelBuilder, condition: SSAValue) -> SSAValue:
    """In how many lanes a condition holds, as an integer of as many bits as there are lanes."""
    if (lanes := lanes_of(condition)) == 1:
        return condition
    bits = IntegerType(lanes)
    return b.intrinsic("ctpop", [b.bitcast(condition, bits)], bits)
