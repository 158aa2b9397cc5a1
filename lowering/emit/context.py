"""
What kernel code is emitted with: memory, and a share of the work.

A kernel is run by every thread of a team at once. `tasks` gives each thread its part of the
rounds of a loop nest; between loops where one reads what another wrote stands a `barrier`. The
rounds are independent, and what each computes depends neither on how many threads there are nor on
which of them computes it.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i8, i64
from xdsl.ir import SSAValue

from xrelay.analysis.facts.memory_plan import ALIGNMENT
from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer, Evaluator, Leaf, leaf_element, leaf_shape
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import Packing
from xrelay.lowering.emit.parameters import Numbers, Parameters
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.target import Target

BARRIER = "xrelay_barrier"
"""The function of the run time that waits for the other threads: void (ptr team, i64 threads)."""
NEXT_TASK = "xrelay_next_task"
"""The function of the run time that hands out the tasks of a loop: i64 (ptr team, i64 thread,
i64 threads, i64 loop, i64 tasks, i64 last)."""
LOOPS_BETWEEN_BARRIERS = 16
"""The run time has counters for the tasks of this many loops between two barriers."""

ENOUGH_TASKS = 64
"""Loop nests are cut along as many leading axes as give this many rounds."""
MOST_TASKS_PER_THREAD = 32
"""Rounds of long loops are handed out several at a time, so that each thread gets about so many
tasks."""

ROUNDS_PER_THREAD = 4
"""With so many rounds of the outer loops, these are shared and not the elements of each: a thread then
mostly reads what it wrote itself in the step before."""


@dataclass(frozen=True)
class Part:
    """Elements of a row."""

    start: int
    length: int


VectorBody: TypeAlias = Callable[[tuple[Index, ...], Index, int], None]
"""Code for the vector of a number of lanes at an offset, in a round of the loops around it."""


@dataclass(frozen=True)
class Team:
    """The threads that run a kernel together."""

    size: int
    """How many there are at most."""
    thread: SSAValue
    """The number of the thread that runs this code, an i64."""
    count: SSAValue
    """How many there are, an i64: fewer than `size` where the system does not grant them all."""
    pointer: SSAValue
    """What the run time knows the team by."""


@dataclass(eq=False)
class KernelContext:
    """What an implementation works with."""

    b: KernelBuilder
    ev: Evaluator
    workspace: SSAValue
    """Pointer to the kernel's scratch memory, which all threads share."""
    team: Team
    results: list[Buffer]
    """Where the tensors of the result go."""
    known: frozenset[SSAValue]
    """Constants in memory that may be asked for in another order of elements."""
    packings: dict[SSAValue, Packing] = field(default_factory=dict[SSAValue, Packing])
    """Constants that the kernel wants in another order of elements."""
    places: list[Buffer] = field(default_factory=list[Buffer])
    """Where the tensors of the operator that is emitted go, unless others compute with them first."""
    is_begun: bool = False
    """Whether the places hold what the operator begins with: an operator that replaces elements computes these alone."""
    heavy_epilogue: bool = False
    """Whether the operators after the anchor are too many instructions to repeat for every
    register."""
    weights_are_kept: bool = False
    """Whether weights come from a cache, whose lines do not have to be asked for long before."""
    numbers: Numbers = field(default_factory=dict[str, int])
    """What the loops of the operator that is emitted are made with."""
    scratch_bytes: int = 0
    """How much scratch memory the kernel uses so far."""
    shares: bool = False
    """Whether there is work that the threads share: several rounds of which each has a part."""
    _loops: int = 0
    """How many loops since the last barrier have their tasks handed out."""

    @property
    def target(self) -> Target:
        """The CPU."""
        return self.b.target

    @property
    def parameters(self) -> Parameters:
        """The numbers, for the function that chose them to ask for again."""
        return Parameters(self.numbers)

    @property
    def sinks(self) -> list[Callable[[Position, SSAValue], None]]:
        """The sinks of the tensors of a tuple, where the operator that is emitted computes one."""
        return [partial(self.store, place) for place in self.places]

    # -- memory -------------------------------------------------------------------------------

    def scratch(self, kind: Element, format: Format) -> Buffer:
        """Scratch memory for a tensor, which all threads share."""
        return self._buffer(kind, format, self._reserve(kind, format.size))

    def private_scratch(self, kind: Element, format: Format) -> Buffer:
        """Scratch memory for a tensor; every thread has its own."""
        size = -(-format.size * kind.bytes // ALIGNMENT) * ALIGNMENT
        start = self._reserve(kind, size * self.team.size // kind.bytes)
        if self.team.size == 1:
            return self._buffer(kind, format, start)
        with self.b.inside(self.b.entry):
            offset = self.b.add(self.b.mul(self.team.thread, size), start)
        return self._buffer(kind, format, offset)

    def _reserve(self, kind: Element, elements: int) -> int:
        offset = self.scratch_bytes
        self.scratch_bytes = offset + -(-elements * kind.bytes // ALIGNMENT) * ALIGNMENT
        return offset

    def _buffer(self, kind: Element, format: Format, offset: Index) -> Buffer:
        with self.b.inside(self.b.entry):
            pointer = self.b.address(
                self.workspace, self.b.add(offset, format.before * kind.bytes), i8
            )
        return Buffer(pointer, format, kind)

    def placed(self, value: SSAValue, number: int = 0) -> Buffer:
        """A tensor operand, or one of a tuple, in memory, in whatever format it has there."""
        leaf = (value, number)
        return self.ev.buffers.get(leaf) or self.materialize(leaf)

    def in_memory(self, value: SSAValue, number: int = 0) -> Buffer:
        """A tensor operand, or one of a tuple, in memory, row-major without gaps."""
        buffer = self.placed(value, number)
        if buffer.format != row_major(buffer.shape):
            self.materialize((value, number))
        return self.ev.buffers[value, number]

    @property
    def writes_bytes(self) -> bool:
        """Whether the results of the kernel are integers of 8 bits."""
        kinds = [buffer.element for buffer in self.results]
        return all(not (kind.is_float or kind.is_bool) and kind.bits == 8 for kind in kinds)

    def scalar(self, value: SSAValue) -> SSAValue:
        """The one element of a tensor operand."""
        buffer = self.in_memory(value)
        return self.b.load(buffer.pointer, 0, buffer.element, 1)

    def materialize(self, leaf: Leaf) -> Buffer:
        """Computes a tensor into scratch memory, where later demands find it."""
        shape = leaf_shape(leaf)
        buffer = self.scratch(leaf_element(leaf), row_major(shape))

        def element(coords: tuple[Index, ...]) -> None:
            position = at(shape, coords)
            self.store(buffer, position, self.ev.get(leaf, position))

        self.tasks(shape, element)
        self.barrier()
        self.ev.buffers[leaf] = buffer
        return buffer

    def store(self, buffer: Buffer, position: Position, value: SSAValue) -> None:
        """Writes elements to their places."""
        b = self.b
        if not buffer.format.holds_in_order(position):
            for i in range(position.lanes):
                lane = position.lane(b, i)
                b.store(buffer.pointer, buffer.offset(b, lane), buffer.element, b.lane(value, i))
            return
        b.store(buffer.pointer, buffer.offset(b, position), buffer.element, value)

    def clear(self, buffer: Buffer, start: Index, length: int) -> None:
        """Writes zeros to neighbouring elements from an offset on."""
        b, kind = self.b, buffer.element

        def zeros(offset: Index, lanes: int) -> None:
            b.store(buffer.pointer, offset, kind, b.constant(kind.compute, 0, lanes))

        self.vectors(length, self.target.lanes(kind.bytes), zeros, start)

    def packed(self, value: SSAValue, packing: Packing) -> SSAValue:
        """The address of a constant operand whose elements lie as `packing` says."""
        known = self.packings.setdefault(value, packing)
        assert known == packing, "a constant is packed one way in a kernel"
        return self.ev.buffers[value, 0].pointer

    # -- work ---------------------------------------------------------------------------------

    def share(self, rounds: int) -> tuple[Index, Index]:
        """Which of `rounds` rounds are this thread's: from the first number up to the second."""
        if self.team.size == 1:
            return 0, rounds
        self.shares |= is_open(rounds) or rounds > 1
        b, thread = self.b, self.team.thread
        start = b.div(b.mul(thread, rounds), self.team.count)
        return start, b.div(b.mul(b.add(thread, 1), rounds), self.team.count)

    def tasks(self, extents: Sequence[int], body: Callable[[tuple[Index, ...]], None]) -> None:
        """
        Nested loops from 0 to each extent, whose rounds the threads share. Which thread computes
        what is settled when the code runs: each begins with an equal share, in order, and then
        takes what others have not begun.
        """
        if any(certainly(extent, 0) for extent in extents):
            return
        b, count = self.b, 0
        if self.team.size == 1:
            b.loop_nest(extents, body)
            return
        while count < len(extents) and likely(prod(extents[:count])) < ENOUGH_TASKS:
            count += 1
        with self._shared_rounds(prod(extents[:count])) as task:
            indices = b.unflatten(task, extents[:count])
            b.loop_nest(extents[count:], lambda inner: body((*indices, *inner)))

    @contextmanager
    def _shared_rounds(self, rounds: int) -> Generator[Index]:
        """A loop over all rounds; each thread runs a part of them."""
        b = self.b
        self.shares |= is_open(rounds) or rounds > 1
        if b.block is not b.entry or self._loops == LOOPS_BETWEEN_BARRIERS:
            # There are no more counters, or this loop runs more than once, and a counter serves one run.
            with b.loop(*self.share(rounds)) as i:
                yield i
            return
        each = max(1, likely(rounds) // (MOST_TASKS_PER_THREAD * self.team.size))
        count, loop = -(-rounds // each), self._loops
        self._loops += 1

        def following(last: Index) -> SSAValue:
            numbers = [b.index(number) for number in (loop, count, last)]
            team = self.team
            call = llvm.CallOp(
                NEXT_TASK, team.pointer, team.thread, team.count, *numbers, return_type=i64
            )
            return b.insert(call).results[0]

        with b.loop_while_below(count, following) as task, b.loop(*b.part(task, each, rounds)) as i:
            yield i

    def vector_tasks(
        self, extents: Sequence[int], length: int, lanes: int, body: VectorBody
    ) -> None:
        """
        Covers `length` elements for each round of the nested loops in vectors of `lanes`, and
        what is left in a shorter one. The threads share the rounds, or the vectors of each.
        """
        self.row_tasks(extents, (Part(0, length),), lanes, body)

    def row_tasks(
        self, extents: Sequence[int], parts: Sequence[Part], lanes: int, body: VectorBody
    ) -> None:
        """The same of several parts of a row for each round."""
        shares_rounds = (
            self.team.size == 1
            or any(certainly(extent, 0) for extent in extents)
            or likely(prod(extents)) >= ROUNDS_PER_THREAD * self.team.size
        )

        def row(indices: tuple[Index, ...]) -> None:
            for part in parts:
                cover = self.vectors if shares_rounds else self._shared_vectors
                cover(part.length, lanes, lambda i, n: body(indices, i, n), part.start)

        if shares_rounds:
            self.tasks(extents, row)
        else:
            self.b.loop_nest(extents, row)

    def _shared_vectors(
        self, length: int, lanes: int, body: Callable[[Index, int], None], start: Index
    ) -> None:
        """What `vectors` does, of which each thread has a part."""
        b = self.b
        whole = length - length % lanes
        if not certainly(whole, 0):
            with b.loop(*self.share(whole // lanes)) as i:
                b.bound(i, 0, whole // lanes - 1)
                body(b.add(start, b.mul(i, lanes)), lanes)
        if is_open(length - whole):
            with b.loop(*self.share(length - whole)) as i:
                body(b.add(start, b.add(i, whole)), 1)
        elif length > whole:
            # The last thread has the rest.
            with b.loop(*self.share(1)):
                body(b.add(start, whole), length - whole)

    def vectors(
        self, length: int, lanes: int, body: Callable[[Index, int], None], start: Index = 0
    ) -> None:
        """
        Covers `length` elements in vectors of `lanes`, and what is left in a shorter one, or by single elements where
        it is not known how much that is.
        """
        whole = length - length % lanes
        if not certainly(whole, 0):
            with self.b.loop(0, whole, lanes) as i:
                body(self.b.add(start, i), lanes)
        if is_open(length - whole):
            with self.b.loop(whole, length) as i:
                body(self.b.add(start, i), 1)
        elif length > whole:
            body(self.b.add(start, whole), length - whole)

    def barrier(self) -> None:
        """Waits until every thread is here."""
        if self.team.size > 1:
            assert self.b.block is self.b.entry, "all threads must reach a barrier"
            self._loops = 0
            self.b.insert(llvm.CallOp(BARRIER, self.team.pointer, self.team.count))
