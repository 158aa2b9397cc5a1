"""
Kernel code of random numbers from keys.

Every thread computes the state of the generator, a few dozen scalars, and the blocks of its share;
block after block in scalar registers, since the four words of a block are neighbours.
"""

from collections.abc import Callable, Sequence
from math import pi, prod

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerType, f64, i32, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.tensor import random
from xrelay.dialects.tensor.random import BLOCK, PARITY, ROTATIONS, ROUNDS
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import Buffer, element_of, leaf_element, leaf_shape, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at, linear
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math import trigonometry as vector_math_trigonometry
from xrelay.lowering.math.convert import REAL, SINGLE, convert
from xrelay.lowering.math.lanes import Lanes

WORD = element(random.WORD)


class Generator:
    """The state of a generator, with room for `count` words."""

    def __init__(self, ctx: KernelContext, key: SSAValue, count: int | None = None):
        self.ctx = ctx
        self.b = ctx.b
        buffer = ctx.in_memory(key)
        self.words = [self.b.load(buffer.pointer, i, WORD, 1) for i in range(10)]
        """Those of the key; after `make_room`, those that the blocks are computed with."""
        if count is not None:
            self._make_room(count)
        self.schedule = self._schedule()

    # -- arithmetic ---------------------------------------------------------------------------

    def number(self, value: int) -> SSAValue:
        """A word."""
        return self.b.constant(i64, value)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y"""
        return self.b.insert(arith.AddiOp(x, y)).result

    def shifted(self, x: SSAValue, bits: int) -> SSAValue:
        """x shifted to lower places."""
        return self.b.insert(arith.ShRUIOp(x, self.number(bits))).result

    def exclusive(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x or y, but not both, bit by bit."""
        return self.b.insert(arith.XOrIOp(x, y)).result

    def rotated(self, x: SSAValue, bits: int) -> SSAValue:
        """x shifted to higher places, the highest bits becoming the lowest."""
        return self.b.intrinsic("fshl", [x, x, self.number(bits)], i64)

    def is_zero(self, x: SSAValue) -> SSAValue:
        """Whether x is 0."""
        return self.b.compare_integers(x, "eq", self.number(0))

    # -- the cipher ---------------------------------------------------------------------------

    def _schedule(self) -> list[SSAValue]:
        fifth = self.number(PARITY)
        for word in self.words[:4]:
            fifth = self.exclusive(fifth, word)
        return [*self.words[:4], fifth]

    def encrypted(self, counter: Sequence[SSAValue]) -> list[SSAValue]:
        """The block of four words."""
        words = list(counter)
        for turn in range(ROUNDS):
            if turn % 4 == 0:
                added = turn // 4
                words = [
                    self.add(word, self.schedule[(added + i) % 5]) for i, word in enumerate(words)
                ]
                words[3] = self.add(words[3], self.number(added))
            for i, bits in zip((0, 2), ROTATIONS[turn % len(ROTATIONS)], strict=True):
                other = words[i + 1]
                words[i] = self.add(words[i], other)
                words[i + 1] = self.exclusive(self.rotated(other, bits), words[i])
            words[1], words[3] = words[3], words[1]
        return words

    # -- states -------------------------------------------------------------------------------

    def next_place(self) -> tuple[SSAValue, SSAValue]:
        """The place of the step after that at the place in the path."""
        b, (high, low) = self.b, self.words[8:]
        is_last = b.compare_integers(high, "eq", self.number(1))
        zero = self.number(0)
        second = b.select(self.is_zero(high), self.shifted(low, 1), zero)
        second = b.select(is_last, self.number(1 << 63), second)
        return self.shifted(high, 1), second

    def extended_path(self) -> list[SSAValue]:
        """The path with a one at its place."""
        return [self.b.either(self.words[4 + i], self.words[8 + i]) for i in (0, 1)]

    def path_is_full(self) -> SSAValue:
        """Whether there is no place left in the path."""
        return self.b.both(self.is_zero(self.words[8]), self.is_zero(self.words[9]))

    def _make_room(self, count: int) -> None:
        b, zero = self.b, self.number(0)
        # Both are unsigned; numbers of more words are refused elsewhere, by the memory they take.
        fits = b.compare_integers(self.words[7], "ult", self.number(-1 - count))
        full = self.path_is_full()
        self.schedule = self._schedule()
        fresh = self.encrypted([self.number(-1)] * 4)
        longer = [*self.words[:4], *self.extended_path(), zero, zero, *self.next_place()]
        new = [*fresh, zero, zero, zero, zero, self.number(1 << 63), zero]
        self.words = [
            b.select(fits, old, b.select(full, first, second))
            for old, first, second in zip(self.words, new, longer, strict=True)
        ]

    def next_key(self, count: int) -> list[SSAValue]:
        """The key after `count` words."""
        used = self.number((count + BLOCK - 1) // BLOCK * BLOCK)
        return [*self.words[:6], self.number(0), self.add(self.words[7], used), *self.words[8:]]

    def blocks(self, count: int, write: Callable[[Index, SSAValue], None]) -> None:
        """Hands `count` words with their offsets to `write`; the threads share the blocks."""
        b = self.b
        whole = count // BLOCK
        rest = count - BLOCK * whole

        def block(indices: tuple[Index, ...]) -> None:
            (i,) = indices
            words = self.encrypted([self.add(word, b.index(i)) for word in self.words[4:8]])
            for j, word in enumerate(words):
                write(b.add(b.mul(i, BLOCK), j), word)

        self.ctx.tasks((whole,), block)
        if certainly(rest, 0):
            return
        *others, last = self.words[4:8]

        def remainder(_: tuple[Index, ...]) -> None:
            moved = self.add(last, self.number(BLOCK * whole))
            for j, word in enumerate(self.encrypted([*others, moved])[: BLOCK - 1]):
                if is_open(rest):
                    with b.when(b.compare_index(j, "slt", rest)):
                        write(BLOCK * whole + j, word)
                elif j < rest:
                    write(BLOCK * whole + j, word)

        self.ctx.tasks((1,), remainder)


def _write_key(ctx: KernelContext, words: Sequence[SSAValue], sink: Sink) -> None:
    def write(_: tuple[Index, ...]) -> None:
        for i, word in enumerate(words):
            sink(at((10,), (i,)), word)

    ctx.tasks((1,), write)


def _generate(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, random.ThreefryGenerateOp)
    shape = leaf_shape((op.result, 1))
    count = prod(shape)
    generator = Generator(ctx, op.key, count)
    _write_key(ctx, generator.next_key(count), sink)
    numbers = ctx.sinks[1]
    generator.blocks(count, lambda offset, word: numbers(linear(shape, offset), word))


def _split(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, random.ThreefrySplitOp)
    generator = Generator(ctx, op.key)
    b, zero = ctx.b, generator.number(0)
    full, words = generator.path_is_full(), generator.words
    place = generator.next_place()
    fresh = generator.encrypted(words[4:8])
    rest = [zero, zero, generator.number(1 << 62), zero]
    pairs = (
        ([*words[:8], *place], [*fresh, zero, zero, *rest]),
        (
            [*words[:4], *generator.extended_path(), *words[6:8], *place],
            [*fresh, generator.number(1 << 63), zero, *rest],
        ),
    )
    for target, (longer, new) in zip((sink, ctx.sinks[1]), pairs, strict=True):
        chosen = [b.select(full, *both) for both in zip(new, longer, strict=True)]
        _write_key(ctx, chosen, target)


def _standard_uniform(b: KernelBuilder, word: SSAValue, kind: Element) -> SSAValue:
    """A word as a number between 0 and 1."""
    integer = IntegerType(kind.bits)
    if kind.bytes == 4:
        word = b.insert(llvm.TruncOp(word, integer)).res
    dropped, one = {4: (9, 0x3F800000), 8: (12, 0x3FF0000000000000)}[kind.bytes]
    digits = b.insert(arith.ShRUIOp(word, b.constant(integer, dropped))).result
    number = b.bitcast(b.either(digits, b.constant(integer, one)), kind.compute)
    return b.insert(arith.SubfOp(number, b.constant(kind.compute, 1.0))).result


def _uniform(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, random.UniformOp)
    b, shape, kind = ctx.b, leaf_shape((op.result, 1)), leaf_element((op.result, 1))
    count, numbers = prod(shape), ctx.sinks[1]
    low, high = (ctx.scalar(value) for value in (op.low, op.high))
    width = b.insert(arith.SubfOp(high, low)).result
    generator = Generator(ctx, op.key, count)
    _write_key(ctx, generator.next_key(count), sink)

    def write(offset: Index, word: SSAValue) -> None:
        scaled = b.insert(arith.MulfOp(_standard_uniform(b, word, kind), width)).result
        numbers(linear(shape, offset), b.insert(arith.AddfOp(scaled, low)).result)

    generator.blocks(count, write)


def _uniform_scratch(ctx: KernelContext, generator: Generator, count: int, kind: Element) -> Buffer:
    """Numbers between 0 and 1 in memory."""
    b, buffer = ctx.b, ctx.scratch(kind, row_major((count,)))

    def write(offset: Index, word: SSAValue) -> None:
        b.store(buffer.pointer, offset, kind, _standard_uniform(b, word, kind))

    generator.blocks(count, write)
    ctx.barrier()
    return buffer


def _normal(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, random.NormalOp)
    b, shape, kind = ctx.b, leaf_shape((op.result, 1)), leaf_element((op.result, 1))
    count, numbers = prod(shape), ctx.sinks[1]
    mean, scale = (ctx.scalar(value) for value in (op.mean, op.scale))
    generator = Generator(ctx, op.key, 2 * count)
    _write_key(ctx, generator.next_key(2 * count), sink)
    uniform = _uniform_scratch(ctx, generator, 2 * count, kind)

    def elements(_: tuple[Index, ...], start: Index, lanes: int) -> None:
        first = b.load(uniform.pointer, start, kind, lanes)
        second = b.load(uniform.pointer, b.add(start, count), kind, lanes)
        v = Lanes.of(b, first)
        logarithm = vector_math.natural_log(b, v.sub(v.number(1.0), first))
        size = v.sqrt(v.mul(v.number(-2.0), logarithm))
        sine = vector_math_trigonometry.sin(b, v.mul(v.number(2 * pi), second))
        scaled = v.mul(v.mul(size, sine), b.splat(scale, lanes))
        numbers(linear(shape, start, lanes), v.add(scaled, b.splat(mean, lanes)))

    ctx.vector_tasks((), count, ctx.target.lanes(kind.bytes), elements)


def _multinomial(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, random.MultinomialOp)
    b, shape = ctx.b, leaf_shape((op.result, 1))
    *rows, length = shape_of(op.probs)
    samples, count, numbers = shape[-1], prod(shape), ctx.sinks[1]
    kind = element_of(op.probs)
    generator = Generator(ctx, op.key, count)
    _write_key(ctx, generator.next_key(count), sink)
    uniform = _uniform_scratch(ctx, generator, count, SINGLE)
    probs = ctx.in_memory(op.probs)
    sums = ctx.private_scratch(REAL, row_major((max(length, 1),)))
    zero = b.constant(f64, 0.0)

    def row(indices: tuple[Index, ...]) -> None:
        (number,) = indices

        def add(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            raw = b.load(probs.pointer, b.add(b.mul(number, length), i), kind, 1)
            weight = convert(b, raw, kind, REAL)
            counted = b.select(b.compare_floats(zero, "olt", weight), weight, zero)
            total = b.insert(arith.AddfOp(totals[0], counted)).result
            b.store(sums.pointer, i, REAL, total)
            return [total]

        (total,) = b.fold(0, length, 1, [zero], add)

        def sample(indices: tuple[Index, ...]) -> None:
            offset = b.add(b.mul(number, samples), indices[0])
            u = convert(b, b.load(uniform.pointer, offset, SINGLE, 1), SINGLE, REAL)
            bound = b.insert(arith.MulfOp(u, total)).result
            numbers(linear(shape, offset), _first_above(b, sums, length, bound))

        b.loop_nest((samples,), sample)

    ctx.tasks((prod(rows),), row)


def _first_above(b: KernelBuilder, sums: Buffer, length: int, bound: SSAValue) -> SSAValue:
    """The index of the first of ascending numbers that is above a bound, 0 where none is."""
    low, high = b.index(0), b.index(length)
    for _ in range(length.bit_length()):
        # Once low = high, the element read is not used.
        middle = b.div(b.add(low, high), 2)
        inside = b.smaller(middle, max(length - 1, 0))
        above = b.compare_floats(bound, "olt", b.load(sums.pointer, inside, REAL, 1))
        open_ = b.compare_index(low, "slt", high)
        after = b.index(b.add(middle, 1))
        moves = b.both(open_, b.negate(above))
        high = b.select(b.both(open_, above), b.index(middle), high)
        low = b.select(moves, after, low)
    none = b.compare_index(low, "sge", length)
    found = b.select(none, b.index(0), low)
    return b.insert(llvm.TruncOp(found, i32)).res


STRATEGIES: dict[type[Operation], Strategy] = {
    random.ThreefryGenerateOp: (Implementation("blocks", _generate),),
    random.ThreefrySplitOp: (Implementation("block", _split),),
    random.UniformOp: (Implementation("blocks", _uniform),),
    random.NormalOp: (Implementation("pairs", _normal),),
    random.MultinomialOp: (Implementation("search", _multinomial),),
}
