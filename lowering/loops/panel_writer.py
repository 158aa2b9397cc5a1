"""Writes the right operand of a matrix product into panels of columns when the program runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import Index, KernelBuilder
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.loops.transposes import transposed

ReadRow: TypeAlias = Callable[[Index, Index, int], SSAValue]
"""A number of neighbours in a row of a matrix, given the row and the first column."""


@dataclass(frozen=True)
class PanelWriter:
    """
    A matrix of `depth` times `columns` as panels [columns / width, depth, width], with zeros up to
    the end of the vector that holds the last column.
    """

    b: KernelBuilder
    kind: Element
    lanes: int
    pointer: SSAValue
    """Where the first panel begins."""
    depth: int
    columns: int
    width: int
    by_rows: bool
    """Whether the matrix is stored as [depth, columns], not as [columns, depth]."""
    read: ReadRow
    """Elements of the stored matrix."""

    @property
    def whole_vectors(self) -> int:
        """How many vectors have columns in all lanes."""
        return self.columns // self.lanes

    @property
    def rest(self) -> int:
        """How many columns are left behind them."""
        return self.columns % self.lanes

    def write(self) -> None:
        """All of the matrix."""
        if self.whole_vectors:
            with self.b.loop(0, self.whole_vectors) as number:
                self.write_vector(number)
        if self.rest:
            with self.b.loop(0, self.depth) as k:
                self.write_rest(k)

    def write_vector(self, number: Index) -> None:
        """The columns of a vector, at all steps of the depth."""
        b, lanes = self.b, self.lanes
        first = b.mul(number, lanes)
        squares = 0 if self.by_rows or lanes == 1 else self.depth - self.depth % lanes
        if squares:
            with b.loop(0, squares, lanes) as k:
                self._square(first, k)
        if self.depth > squares:
            with b.loop(squares, self.depth) as k:
                self._step(first, k, lanes)

    def write_rest(self, k: Index) -> None:
        """The columns behind the whole vectors, at a step of the depth."""
        self._step(self.whole_vectors * self.lanes, k, self.rest)

    def _step(self, first: Index, k: Index, count: int) -> None:
        """`count` columns at one step."""
        if self.by_rows:
            value = self.read(k, first, count)
        else:
            rows = [self.b.add(first, i) for i in range(count)]
            value = self.b.from_lanes([self.read(row, k, 1) for row in rows])
        self._store(first, k, value, count)

    def _square(self, first: Index, k: Index) -> None:
        """As many columns as lanes at as many steps: transposed in registers."""
        b, lanes = self.b, self.lanes
        rows = [self.read(b.add(first, i), k, lanes) for i in range(lanes)]
        for i, value in enumerate(transposed(b, rows)):
            self._store(first, b.add(k, i), value, lanes)

    def _store(self, first: Index, k: Index, value: SSAValue, count: int) -> None:
        b, width = self.b, self.width
        panel, column = b.div(first, width), b.mod(first, width)
        offset = b.add(b.mul(b.add(b.mul(panel, self.depth), k), width), column)
        if count < self.lanes:
            zero = b.constant(self.kind.compute, 0, self.lanes)
            b.store(self.pointer, offset, self.kind, zero)
        b.store(self.pointer, offset, self.kind, value)
