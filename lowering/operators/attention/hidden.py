"""
Blocks of scores that a mask hides, which need not be computed.

    scores      keys 0 …   128 …   256 …        a causal mask of -inf
    rows 0 …        s s     - -     - -         -: hidden, not computed
    rows 64 …       s s     - -     - -         s: computed
    rows 128 …      s s     s s     - -

A block of some rows and keys is hidden where no score can be so large, once it is masked, that its weight is more than 0 beside
the largest score so far of each of the rows, and where all values are finite: weights and products would be zeros. Before the
scores are known, they are at most twice what depth, queries and keys allow:

    |score| <= 2 · depth · largest |query| · largest |key|

The operators between the scores and the softmax rise or fall with them, so that no element is more than what becomes of one of
these two ends. That is true of any mask, which the block is looked through for; where its last row sees its first key, which
is what causal masks decide, nothing else is looked at.
"""

from collections.abc import Sequence
from math import log
from typing import TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Block, SSAValue

from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import Buffer, Evaluator, shape_of
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.loops.reductions import MAXIMUM, MINIMUM, ElementAt, Term, reduce_elements
from xrelay.lowering.math.arithmetic import maximum, multiply, subtract
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.attention.parts import Attention

Magnitudes: TypeAlias = tuple[SSAValue, SSAValue, SSAValue]
"""The largest absolute values of queries, keys and values; NaN where one of them is."""


class HiddenBlocks:
    """Tells blocks of scores that need not be computed."""

    def __init__(self, ctx: KernelContext, parts: Attention, keys: int):
        """For blocks of at most so many keys."""
        self.ctx, self.b, self.parts, self.kind = ctx, ctx.b, parts, parts.kind
        self.lanes = ctx.target.lanes(self.kind.bytes)
        self.ends = [ctx.private_scratch(self.kind, row_major((keys,))) for _ in range(2)]
        """A row of the largest scores, and one of the smallest."""

    def largest_magnitude(
        self, outer: Sequence[int], length: int, element_at: ElementAt
    ) -> SSAValue:
        """The largest absolute value of elements; NaN if one is."""

        def magnitude_at(indices: tuple[Index, ...], offset: Index, lanes: int) -> SSAValue:
            value = element_at(indices, offset, lanes)
            return Lanes.of(self.b, value).abs(value)

        terms = [Term(MAXIMUM, self.kind)]
        return reduce_elements(self.ctx, outer, length, terms, magnitude_at)[0]

    def is_hidden(
        self,
        member: Index,
        row: Index,
        rows: int,
        first_key: Index,
        keys: int,
        magnitudes: Magnitudes,
        peaks: ElementAt,
    ) -> SSAValue:
        """
        Whether a block is hidden, from magnitudes that are none of its elements', and the largest scores so far of
        its rows.
        """
        b, kind = self.b, self.kind
        queries, key, value = magnitudes
        factor = b.constant(kind.compute, 2 * self.parts.first.depth)
        most = multiply(b, multiply(b, queries, key, kind), factor, kind)
        evaluators = self._evaluators(most, first_key, keys)
        lowest_peak = reduce_elements(self.ctx, [], rows, [Term(MINIMUM, kind)], peaks)[0]
        limit = subtract(b, lowest_peak, b.constant(kind.compute, vanishing_distance(kind)), kind)
        data = self.parts.softmax.data

        def largest_at(indices: tuple[Index, ...], key: Index, lanes: int) -> SSAValue:
            coords = self.parts.row_coords(b, member, b.add(row, indices[0]), data)
            place = at(shape_of(data), (*coords, b.add(first_key, key)), lanes)
            high, low = (each.get((data, 0), place) for each in evaluators)
            return maximum(b, high, low, kind)

        finite = b.compare_floats(value, "olt", b.constant(kind.compute, float("inf")))
        corner = b.compare_floats(largest_at((rows - 1,), 0, 1), "olt", limit)
        whole, none = Block(), Block()
        with b.inside(whole):
            terms = [Term(MAXIMUM, kind)]
            (largest,) = reduce_elements(self.ctx, [rows], keys, terms, largest_at)
            hidden = b.compare_floats(largest, "olt", limit)
        with b.inside(none):
            seen = b.constant(i1, 0)
        return b.join(b.both(finite, corner), (whole, hidden), (none, seen))

    def _evaluators(self, most: SSAValue, first_key: Index, keys: int) -> list[Evaluator]:
        """What computes elements of the block that would come of the largest, and of the smallest scores."""
        b, scores = self.b, self.parts.scores.result
        found: list[Evaluator] = []
        for end, number in zip(self.ends, (most, Lanes.of(b, most).neg(most)), strict=True):

            def fill(key: Index, lanes: int, end: Buffer = end, number: SSAValue = number) -> None:
                b.store(end.pointer, key, self.kind, b.splat(number, lanes))

            self.ctx.vectors(keys, self.lanes, fill)
            pointer = b.address(end.pointer, b.sub(0, first_key), self.kind.storage)
            strides = (*(0 for _ in shape_of(scores)[1:]), 1)
            row = Buffer(pointer, Format(shape_of(scores), strides, 0, end.format.size), self.kind)
            buffers = {**self.ctx.ev.buffers, (scores, 0): row}
            found.append(Evaluator(b, self.ctx.ev.rules, buffers))
        return found


def vanishing_distance(kind: Element) -> float:
    """How far below the largest score weights are zeros: `decay_to_zero` has none there."""
    return (127 if kind.bytes == 4 else 1023) * log(2) + 8
