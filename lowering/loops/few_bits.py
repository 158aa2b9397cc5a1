"""
Numbers of 2, 4 or 8 bits in lanes of 32 bits, as kernels read them from packed weights.

Panels of columns hold, for each group of neighbours along the depth, a word for each column:

    word of column c = numbers [k .. k + 32 / bits) of row c of the weight, the lowest bits first

A word is loaded once. Each of its numbers is shifted down and becomes one of f32: by a table in a register where
processors pick lanes by the lowest four bits of a number, else by masking and conversion.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, VectorType, f32, i8, i32
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import Index, KernelBuilder, with_lanes
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.target import AVX512, Target
from xrelay.lowering.math.arithmetic import subtract
from xrelay.lowering.math.convert import convert

SINGLE = element(f32)
WORD = element(i32)
WORD_BYTES = 4
BYTE = element(i8)
TABLE_LANES = 16
"""Numbers that a table in a register has: as many as four bits tell apart."""


def has_tables(target: Target, bits: int) -> bool:
    """Whether numbers of so many bits are looked up in a register."""
    return target.vector_bytes == AVX512.vector_bytes and TABLE_LANES % 2**bits == 0


@dataclass(frozen=True)
class Numbers:
    """How the numbers of a word become f32."""

    b: KernelBuilder
    bits: int
    lanes: int
    table: SSAValue | None
    """What each number becomes."""
    zero_point: SSAValue | None
    """What is subtracted, where the table does not do so."""

    @staticmethod
    def of(b: KernelBuilder, bits: int, zero_point: SSAValue | None) -> "Numbers":
        """
        Less the zero point that all have, in every lane, when there is one. What does not change is computed at the top
        of the kernel.
        """
        lanes = b.target.lanes(SINGLE.bytes)
        if not has_tables(b.target, bits):
            return Numbers(b, bits, lanes, None, zero_point)
        numbers = [float(i % 2**bits) for i in range(TABLE_LANES)]
        table = b.attribute(
            DenseIntOrFPElementsAttr.from_list(VectorType(f32, [TABLE_LANES]), numbers)
        )
        if zero_point is not None:
            with b.inside(b.entry):
                table = subtract(b, table, zero_point, SINGLE)
        return Numbers(b, bits, lanes, table, None)

    def each(self, word: SSAValue, count: int, zero_point: SSAValue | None) -> Iterator[SSAValue]:
        """The first `count` numbers of the words in all lanes, less `zero_point` when there is one."""
        b = self.b
        below = self.zero_point if zero_point is None else zero_point
        for place in range(count):
            value = word
            if place:
                shift = b.constant(i32, place * self.bits, self.lanes)
                value = b.insert(arith.ShRUIOp(word, shift)).result
            number = self._number(value, is_last=(place + 1) * self.bits == WORD.bits)
            yield number if below is None else subtract(b, number, below, SINGLE)

    def _number(self, value: SSAValue, *, is_last: bool) -> SSAValue:
        """What the lowest bits stand for. Nothing is above the last number of a word."""
        b = self.b
        if self.table is not None:
            # Bits above the fourth do not count, and tables of fewer bits repeat.
            type_ = with_lanes(f32, self.lanes)
            return b.instruction("llvm.x86.avx512.permvar.sf.512", [self.table, value], type_)
        if not is_last:
            value = b.both(value, b.constant(i32, 2**self.bits - 1, self.lanes))
        return convert(b, value, WORD, SINGLE)


def unpacking_work(target: Target, bits: int, *, many_zero_points: bool) -> float:
    """Instructions that a vector of numbers takes, beside the load of the words."""
    if has_tables(target, bits):
        return 2 + many_zero_points
    return 4


@dataclass(frozen=True)
class Parameter:
    """Packed scales or zero points: a number for each block and column of each panel."""

    pointer: SSAValue
    kind: Element
    width: int
    """Columns of a panel."""
    blocks: int

    def vectors(
        self, b: KernelBuilder, panel: Index, block: Index, count: int, lanes: int
    ) -> list[SSAValue]:
        """Those of a block, for each of the first `count` vectors of columns."""
        first = b.mul(b.add(b.mul(panel, self.blocks), block), self.width)
        place = b.address(self.pointer, first, self.kind.storage)
        loaded = [b.load(place, v * lanes, self.kind, lanes) for v in range(count)]
        return [convert(b, each, self.kind, SINGLE) for each in loaded]


@dataclass(frozen=True)
class BlockPanels:
    """A packed matrix in blocks."""

    b: KernelBuilder
    pointer: SSAValue
    width: int
    """Columns of a panel."""
    steps: int
    """Words of a column."""
    size: int
    """Numbers of a block."""
    numbers: Numbers
    scales: Parameter
    zero_points: Parameter | None
    """Where each block has one."""

    @property
    def group(self) -> int:
        """Numbers of a word."""
        return WORD.bits // self.numbers.bits

    @property
    def step_bytes(self) -> int:
        """Bytes from the words of a group to the next."""
        return self.width * WORD_BYTES

    def block(self, panel: Index, block: Index) -> SSAValue:
        """Where the words of a block begin."""
        b = self.b
        start = b.address(self.pointer, b.mul(panel, self.steps * self.step_bytes), i8)
        return b.address(start, b.mul(block, self.size // self.group * self.step_bytes), i8)

    def scales_of(self, panel: Index, block: Index, vectors: int) -> list[SSAValue]:
        """The scales of a block, for each vector of columns."""
        return self.scales.vectors(self.b, panel, block, vectors, self.numbers.lanes)

    def zeros_of(self, panel: Index, block: Index, vectors: int) -> Sequence[SSAValue | None]:
        """The zero points of a block, for each vector of columns; None where there is one for all."""
        if self.zero_points is None:
            return [None] * vectors
        return self.zero_points.vectors(self.b, panel, block, vectors, self.numbers.lanes)

    def columns(
        self, words: SSAValue, step: int, count: int, zeros: Sequence[SSAValue | None]
    ) -> list[list[SSAValue]]:
        """The first `count` numbers of a group less the zero points, for each vector of columns."""
        b, lanes = self.b, self.numbers.lanes
        result: list[list[SSAValue]] = []
        for v, zero in enumerate(zeros):
            place = step * self.step_bytes + v * lanes * WORD_BYTES
            word = b.load_bits(words, place, BYTE, with_lanes(i32, lanes))
            result.append(list(self.numbers.each(word, count, zero)))
        return result
