"""
Numbers of 2, 4 or 8 bits in lanes of 32 bits, as kernels read them from packed weights.

Panels of columns hold, for each group of neighbours along the depth, a word for each column:

    word of column c = numbers [k .. k + 32 / bits) of row c of the weight, the lowest bits first

Dot products of integers take numbers of all parts of a word at once, which are in another order (`BitPanels`). Else a word is
loaded once, and each of its numbers is shifted down and becomes one of f32 less the zero point:

    one zero point for all, AVX-512, up to 4 bits    a table in a register, of which lanes are picked by their lowest four bits
    else                                             the lowest bits of 2**23, from which 2**23 and the zero point are taken
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, f32, i8, i32
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.index import Index, lanes_of, with_lanes
from xrelay.lowering.emit.target import AVX512, Target
from xrelay.lowering.loops.dots import Dot
from xrelay.lowering.math.arithmetic import add, subtract
from xrelay.lowering.math.convert import convert

SINGLE = element(f32)
WORD = element(i32)
WORD_BYTES = 4
BYTE = element(i8)
TABLE_LANES = 16
"""Numbers that a table in a register has: as many as four bits tell apart."""


def has_tables(target: Target, bits: int) -> bool:
    """Whether numbers of so many bits can be looked up in a register."""
    return target.vector_bytes == AVX512.vector_bytes and TABLE_LANES % 2**bits == 0


BASE = 2.0**23
"""Beside this number the steps of f32 are 1: its lowest bits are those of the number that is added."""
BASE_BITS = 0x4B000000
Below: TypeAlias = tuple[SSAValue, ...]
"""What is subtracted from numbers, one after the other, in every lane."""


@dataclass(frozen=True)
class Numbers:
    """How the numbers of a word become f32."""

    b: KernelBuilder
    bits: int
    lanes: int
    table: SSAValue | None
    """What each number becomes, less the zero point."""
    common: Below
    """What is subtracted from all: nothing where the table did so, or where each block has a zero point."""

    @staticmethod
    def of(b: KernelBuilder, bits: int, zero_point: SSAValue | None, kind: Element) -> "Numbers":
        """
        Less a zero point of `kind` that all have, in every lane, when there is one. What does not change is computed at
        the top of the kernel.
        """
        lanes = b.target.lanes(SINGLE.bytes)
        if zero_point is None:
            return Numbers(b, bits, lanes, None, ())
        with b.inside(b.entry):
            zero_point = b.splat(convert(b, zero_point, kind, SINGLE), lanes)
            if not has_tables(b.target, bits):
                return Numbers(b, bits, lanes, None, below(b, zero_point, kind))
            numbers = [float(i % 2**bits) for i in range(TABLE_LANES)]
            table = b.attribute(
                DenseIntOrFPElementsAttr.from_list(VectorType(f32, [TABLE_LANES]), numbers)
            )
            return Numbers(b, bits, lanes, subtract(b, table, zero_point, SINGLE), ())

    def each(self, word: SSAValue, count: int, subtracted: Below) -> Iterator[SSAValue]:
        """The first `count` numbers of the words in all lanes, less what is subtracted from all of them."""
        b = self.b
        for place in range(count):
            value = word
            if place:
                shift = b.constant(i32, place * self.bits, self.lanes)
                value = b.insert(arith.ShRUIOp(word, shift)).result
            number = self._number(value)
            for each in subtracted:
                number = subtract(b, number, each, SINGLE)
            yield number

    def _number(self, value: SSAValue) -> SSAValue:
        """What the lowest bits stand for."""
        b, type_ = self.b, with_lanes(f32, self.lanes)
        if self.table is not None:
            # Bits above the fourth do not count, and tables of fewer bits repeat.
            return b.instruction("llvm.x86.avx512.permvar.sf.512", [self.table, value], type_)
        value = b.both(value, b.constant(i32, 2**self.bits - 1, self.lanes))
        value = b.either(value, b.constant(i32, BASE_BITS, self.lanes))
        return b.bitcast(value, type_)


def below(b: KernelBuilder, zero_point: SSAValue, kind: Element) -> Below:
    """
    What takes the base and a zero point, in f32 but of `kind`, from numbers: exactly. The sum of the base and a whole
    number is a number of f32, that with others may not be.
    """
    base = b.constant(f32, BASE, lanes_of(zero_point))
    return (base, zero_point) if kind.is_float else (add(b, base, zero_point, SINGLE),)


def unpacking_work(target: Target, bits: int, *, many_zero_points: bool) -> float:
    """Instructions that a vector of numbers takes, beside the load of the words."""
    if has_tables(target, bits) and not many_zero_points:
        return 2
    # Masks and the base are put together by one instruction there.
    return 3 if target.vector_bytes == AVX512.vector_bytes else 4


@dataclass(frozen=True)
class Parameter:
    """Packed scales or zero points: a number for each block and column of each panel."""

    pointer: SSAValue
    kind: Element
    width: int
    """Columns of a panel."""
    blocks: int

    def vectors(
        self, b: KernelBuilder, panel: Index, block: Index, count: int, lanes: int, kind: Element
    ) -> list[SSAValue]:
        """Those of a block as elements of `kind`, for each of the first `count` vectors of columns."""
        first = b.mul(b.add(b.mul(panel, self.blocks), block), self.width)
        place = b.address(self.pointer, first, self.kind.storage)
        loaded = [b.load(place, v * lanes, self.kind, lanes) for v in range(count)]
        return [convert(b, each, self.kind, kind) for each in loaded]


@dataclass(frozen=True)
class BlockPanels:
    """A packed matrix in blocks."""

    b: KernelBuilder
    pointer: SSAValue
    bits: int
    """Of a number."""
    width: int
    """Columns of a panel."""
    steps: int
    """Words of a column."""
    size: int
    """Numbers of a block."""
    scales: Parameter
    zero_points: Parameter | None
    """Where each block has one."""

    @property
    def lanes(self) -> int:
        """Columns of a vector."""
        return self.b.target.lanes(WORD_BYTES)

    @property
    def group(self) -> int:
        """Numbers of a word."""
        return WORD.bits // self.bits

    @property
    def step_bytes(self) -> int:
        """Bytes from the words of a group to the next."""
        return self.width * WORD_BYTES

    def block(self, panel: Index, block: Index) -> SSAValue:
        """Where the words of a block begin."""
        b = self.b
        start = b.address(self.pointer, b.mul(panel, self.steps * self.step_bytes), i8)
        return b.address(start, b.mul(block, self.size // self.group * self.step_bytes), i8)

    def words(self, start: SSAValue, step: int, vector: int) -> SSAValue:
        """A vector of words, so many groups behind others."""
        place = step * self.step_bytes + vector * self.lanes * WORD_BYTES
        return self.b.load_bits(start, place, BYTE, with_lanes(i32, self.lanes))

    def scales_of(self, panel: Index, block: Index, vectors: int) -> list[SSAValue]:
        """The scales of a block, for each vector of columns."""
        return self.scales.vectors(self.b, panel, block, vectors, self.lanes, SINGLE)


@dataclass(frozen=True)
class FloatPanels(BlockPanels):
    """Its numbers are read as f32."""

    numbers: Numbers

    def zeros_of(self, panel: Index, block: Index, vectors: int) -> Sequence[Below]:
        """What is subtracted from the numbers of a block, for each vector of columns."""
        points, b = self.zero_points, self.b
        if points is None:
            return [self.numbers.common] * vectors
        found = points.vectors(b, panel, block, vectors, self.lanes, SINGLE)
        return [below(b, each, points.kind) for each in found]

    def columns(
        self, words: SSAValue, step: int, count: int, zeros: Sequence[Below]
    ) -> list[list[SSAValue]]:
        """The first `count` numbers of a group less their zero points, for each vector of columns."""
        return [
            list(self.numbers.each(self.words(words, step, v), count, zero))
            for v, zero in enumerate(zeros)
        ]


@dataclass(frozen=True)
class IntegerPanels(BlockPanels):
    """Its numbers are read as weights of dot products, with the zero points in them."""

    dot: Dot

    def zeros_of(self, panel: Index, block: Index, vectors: int) -> Sequence[SSAValue | None]:
        """The zero points of a block as integers of 32 bits, for each vector of columns; None where all have the same."""
        points = self.zero_points
        if points is None:
            return [None] * vectors
        return points.vectors(self.b, panel, block, vectors, self.lanes, WORD)

    def weights(self, word: SSAValue) -> Iterator[SSAValue]:
        """What each step of the dot product takes of words: numbers of one place in all parts of these."""
        b, parts = self.b, self.dot.group
        mask = sum((2**self.bits - 1) << part * (WORD.bits // parts) for part in range(parts))
        steps = self.group // parts
        for step in range(steps):
            value = word
            if step:
                shift = b.constant(i32, step * self.bits, self.lanes)
                value = b.insert(arith.ShRUIOp(word, shift)).result
            yield b.both(value, b.constant(i32, mask, self.lanes)) if steps > 1 else value
