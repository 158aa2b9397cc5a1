"""Writes the right operand of a matrix product into panels of columns when the program runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, is_open, smaller
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import Index, lanes_of, with_lanes
from xrelay.lowering.loops.transposes import transposed

ReadRow: TypeAlias = Callable[[Index, Index, int], SSAValue]
"""A number of neighbours in a row of a matrix, given the row and the first column."""


def part_groups(depth: int, group: int) -> int:
    """How many groups of a depth are not whole: one or none."""
    return smaller(1, depth % group)


@dataclass(frozen=True)
class PanelWriter:
    """
    A matrix of `depth` times `columns` as panels [columns / width, depth / group, width, group], with zeros
    up to the end of the vector that holds the last column, and of the last group.
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
    group: int = 1
    """How many neighbours along the depth lie together."""
    rows_between: int = 0
    """How many rows of `width` groups there are between one panel and the next."""

    @property
    def whole_vectors(self) -> int:
        """How many vectors have columns in all lanes."""
        return self.columns // self.lanes

    @property
    def rest(self) -> int:
        """How many columns are left behind them."""
        return self.columns % self.lanes

    @property
    def whole_steps(self) -> int:
        """How many groups are whole."""
        return self.depth // self.group

    @property
    def last_group(self) -> int:
        """How much of the depth is left behind them."""
        return self.depth % self.group

    @property
    def _whole_group(self) -> IntegerType:
        """A group as one number."""
        return IntegerType(8 * self.kind.bytes * self.group)

    def write(self) -> None:
        """All of the matrix."""
        if not certainly(self.whole_vectors, 0):
            with self.b.loop(0, self.whole_vectors) as number:
                self.write_vector(number)
        if not certainly(self.rest, 0):
            with self.b.loop(0, self.whole_steps) as k:
                self.write_rest(k)
            self._if_last_group(self.end_rest)

    def write_vector(self, number: Index) -> None:
        """The columns of a vector, at all steps of the depth."""
        b, lanes, steps = self.b, self.lanes, self.whole_steps
        first = b.mul(number, lanes)
        squares = 0 if self.by_rows or lanes == 1 else steps - steps % lanes
        if not certainly(squares, 0):
            with b.loop(0, squares, lanes) as k:
                self._square(first, k)
        if not certainly(steps - squares, 0):
            with b.loop(squares, steps) as k:
                self._step(first, k, lanes, self.group)
        self._if_last_group(lambda: self._step(first, steps, lanes, self.last_group))

    def write_rest(self, k: Index) -> None:
        """The columns behind the whole vectors, at a step of the depth that is a whole group."""
        self._rest(k, self.group)

    def end_rest(self) -> None:
        """The same at the last step, where that is not a whole group."""
        self._rest(self.whole_steps, self.last_group)

    def _if_last_group(self, write: Callable[[], None]) -> None:
        """What is written only where the last group is not whole."""
        count = part_groups(self.depth, self.group)
        if not certainly(count, 0):
            with self.b.loop(0, count):
                write()

    def _rest(self, k: Index, members: int) -> None:
        """The columns behind the whole vectors, one by one where it is not known how many they are."""
        b, first = self.b, self.whole_vectors * self.lanes
        if not is_open(self.rest):
            self._step(first, k, self.rest, members)
            return
        with b.loop(0, smaller(1, self.rest)):
            self._clear(self._offset(first, k))
        with b.loop(first, self.columns) as column:
            self._step(column, k, 1, members, cleared=True)

    def _step(
        self, first: Index, k: Index, count: int, members: int, *, cleared: bool = False
    ) -> None:
        """
        `count` columns at one step, whose group has so many members; `cleared` says that there are zeros behind them.
        """
        b, start = self.b, self.b.mul(k, self.group)
        if self.by_rows:
            rows = self._members(members, lambda j: self.read(b.add(start, j), first, count))
            value = self._interleaved(rows, count)
        else:
            columns = [b.add(first, i) for i in range(count)]
            groups = [self._group(column, start, members) for column in columns]
            value = b.from_lanes([self._as_one(group) for group in groups])
        self._store(first, k, value, count, cleared=cleared)

    def _group(self, column: Index, start: Index, members: int) -> SSAValue:
        """A group of a column, or its beginning."""
        if not is_open(members):
            return self.read(column, start, members)
        b = self.b
        return b.from_lanes(self._members(members, lambda j: self.read(column, b.add(start, j), 1)))

    def _members(self, members: int, read: Callable[[Index], SSAValue]) -> list[SSAValue]:
        """
        What is read for each member of a group, or its beginning. Where it is not known how many members that has, they are
        1 to `group` - 1: what is read for others is the last one, and becomes zeros.
        """
        if not is_open(members):
            return [read(j) for j in range(members)]
        b, found = self.b, [read(0)]
        zero = b.constant(self.kind.compute, 0, lanes_of(found[0]))
        for j in range(1, self.group - 1):
            value = read(smaller(j, members - 1))
            found.append(b.select(b.compare_index(j, "slt", members), value, zero))
        return found

    def _interleaved(self, rows: list[SSAValue], count: int) -> SSAValue:
        """Rows of a group as one vector, the elements of a column next to each other."""
        if self.group == 1:
            return rows[0]
        missing = self.group - len(rows)
        rows = rows + [self.b.constant(self.kind.compute, 0, count)] * missing if missing else rows
        order = [i + count * j for i in range(count) for j in (0, 1)]
        if count == 1:
            return self.b.from_lanes(rows)
        if self.group == 2:
            return self.b.merge(rows[0], rows[1], order)
        even, odd = (self.b.merge(rows[i], rows[i + 2], order) for i in (0, 1))
        return self.b.merge(
            even, odd, [i + 2 * count * j for i in range(2 * count) for j in (0, 1)]
        )

    def _as_one(self, group: SSAValue) -> SSAValue:
        """A group, or the beginning of one, as one number."""
        if self.group == 1:
            return group
        missing = self.group - lanes_of(group)
        if missing:
            members = [self.b.lane(group, i) for i in range(lanes_of(group))]
            zero = self.b.constant(self.kind.compute, 0)
            group = self.b.from_lanes(members + [zero] * missing)
        return self.b.bitcast(group, self._whole_group)

    def _square(self, first: Index, k: Index) -> None:
        """As many columns as lanes at as many steps: transposed in registers."""
        b, lanes, group = self.b, self.lanes, self.group
        rows = [self.read(b.add(first, i), b.mul(k, group), lanes * group) for i in range(lanes)]
        if group > 1:
            rows = [b.bitcast(row, with_lanes(self._whole_group, lanes)) for row in rows]
        for i, value in enumerate(transposed(b, rows)):
            self._store(first, b.add(k, i), value, lanes)

    def _offset(self, first: Index, k: Index) -> Index:
        """Where a column lies at a step."""
        b, width, group = self.b, self.width, self.group
        panel, column = b.div(first, width), b.mod(first, width)
        rows = -(-self.depth // group) + self.rows_between
        row = b.mul(b.add(b.mul(panel, rows), k), width * group)
        return b.add(row, b.mul(column, group))

    def _clear(self, offset: Index) -> None:
        """Zeros in a vector of columns."""
        type_ = self.kind.compute if self.group == 1 else self._whole_group
        self.b.store(self.pointer, offset, self.kind, self.b.constant(type_, 0, self.lanes))

    def _store(
        self, first: Index, k: Index, value: SSAValue, count: int, *, cleared: bool = False
    ) -> None:
        offset = self._offset(first, k)
        if count < self.lanes and not cleared:
            self._clear(offset)
        self.b.store(self.pointer, offset, self.kind, value)
