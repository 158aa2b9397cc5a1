"""
The inner loop of convolutions and matrix products.

    registers [positions x vectors] += image group [position, k] (in all lanes)
                                       * weights [k, vector]      for every group k of the depth

Positions are rows of a matrix, or places of an image; vectors are output channels. All registers
live through the whole depth; the loops over the depth run outside, and a few steps of the
innermost are unrolled. Addresses are a pointer and constants.

The number of registers is what matters: one dot product per register and step has to cover the
loads of the step, and one register too many is kept in memory instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import Dot

UNROLLED_STEPS = 4
"""More do not pay, and cost compile time."""


@dataclass(frozen=True)
class DepthLoop:
    """A loop over a part of the depth: how far each operand moves in a round, in elements."""

    rounds: int
    image_step: int
    weight_step: int


@dataclass(frozen=True)
class Prefetch:
    """
    Lines of the weights to bring into the second-level cache while others are used: in each round of the innermost loop
    `lines` at a distance, which is in elements after those that the round reads.
    """

    distance: Index
    lines: Index
    stored: Element
    """The elements as they lie in memory."""
    first: SSAValue | None = None
    """Where the weights of the first step lie there, if a tile reads others that were made of them."""

    def moved(self, b: KernelBuilder, elements: Index) -> "Prefetch":
        """That of steps which begin so many elements later."""
        first = self.first
        if first is None:
            return self
        return replace(self, first=b.address(first, elements, self.stored.storage))

    def emit(self, b: KernelBuilder, read: SSAValue) -> None:
        """Asks for the lines of a round that reads what begins at an address."""
        line = LINE_BYTES // self.stored.bytes
        first = b.address(read, self.distance, self.stored.storage)
        if isinstance(self.lines, int) and not is_open(self.lines):
            for i in range(self.lines):
                b.prefetch(b.address(first, i * line, self.stored.storage))
            return
        with b.loop(0, self.lines) as i:
            b.prefetch(b.address(first, b.mul(i, line), self.stored.storage))


Meanwhile: TypeAlias = Callable[[Index, int], None]
"""What is done beside a round of products: gets its number, and how many there are."""

LINE_BYTES = 64


def most_positions(target: Target, vectors: int, others: int = 0) -> int:
    """
    How many positions of a number of vectors fit into the registers, beside the weights of a step,
    a group of the image and `others`, as many of 16. LLVM's register allocator needs a few more of many.
    """
    spare = 4 if target.vector_registers >= 32 else 2
    spare += others * target.vector_registers // 16
    return (target.vector_registers - spare - vectors) // vectors


def accumulate(
    b: KernelBuilder,
    dot: Dot,
    image: SSAValue,
    weights: SSAValue,
    loops: Sequence[DepthLoop],
    steps: Sequence[tuple[int, int]],
    positions: Sequence[Index],
    vectors: Sequence[int],
    totals: Sequence[SSAValue],
    lanes: int,
    prefetch: Prefetch | None = None,
    counted: int = 0,
    loops_in_round: int = 0,
) -> Sequence[SSAValue]:
    """
    Adds the products of a part of the depth to `totals`, position by position.

    `image` and `weights` are the addresses for the first step; `steps` are the offsets of both in
    the steps of the innermost round, `positions` and `vectors` those of the operands of a step, all
    in elements. Of the group of the last step only the first `counted` elements count, unless that is 0. What is
    prefetched counts rounds of the innermost loop, or of the one that has `loops_in_round` loops in it.
    Runs of loops with one round are no loops.
    """

    def round_at(
        level: int, x: SSAValue, w: SSAValue, sums: Sequence[SSAValue], far: SSAValue | None
    ) -> Sequence[SSAValue]:
        if prefetch is not None and level == len(loops) - loops_in_round:
            prefetch.emit(b, w if far is None else far)
        if level < len(loops):
            loop = loops[level]

            def body(i: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
                near = b.address(x, b.mul(i, loop.image_step), dot.image.storage)
                step = b.mul(i, loop.weight_step)
                wide = b.address(w, step, dot.weight.storage)
                ahead = None
                if prefetch is not None and far is not None:
                    ahead = b.address(far, step, prefetch.stored.storage)
                return round_at(level + 1, near, wide, inner, ahead)

            return b.fold(0, loop.rounds, 1, sums, body)
        result = list(sums)
        for number, (image_offset, weight_offset) in enumerate(steps, 1):
            counts = counted if counted and number == len(steps) else dot.group
            columns = [dot.weights(b, w, weight_offset + vector, lanes) for vector in vectors]
            for p, position in enumerate(positions):
                factor = dot.factor(b, x, b.add(position, image_offset), lanes, counts)
                for v, column in enumerate(columns):
                    i = p * len(columns) + v
                    result[i] = dot.step(b, column, factor, result[i])
        return result

    far = None if prefetch is None or prefetch.first is None else b.opaque(prefetch.first)
    return round_at(0, b.opaque(image), b.opaque(weights), totals, far)
