"""Boxes that were chosen, which others are compared with in vectors."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import larger
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index, with_lanes
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.vision.nms import Corners


class Rivals:
    """The corners and areas of boxes side by side. Every thread has its own."""

    def __init__(self, ctx: KernelContext, capacity: int, kind: Element):
        self.ctx, self.b, self.kind = ctx, ctx.b, kind
        self.lanes = ctx.target.lanes(kind.bytes)
        size = blocks(larger(capacity, 1, of_empty=True), self.lanes) * self.lanes
        self.numbers = [ctx.private_scratch(kind, row_major((size,))) for _ in range(5)]
        """Left, top, right, bottom and area; NaN behind the last box, up to the end of a vector."""

    def add(self, box: Corners, count: Index) -> None:
        """One more box behind so many."""
        b = self.b
        begins = b.compare_index(b.mod(count, self.lanes), "eq", 0)
        with b.when(begins):
            for buffer in self.numbers:
                nothing = b.constant(self.kind.compute, float("nan"), self.lanes)
                b.store(buffer.pointer, count, self.kind, nothing)
        for buffer, number in zip(self.numbers, (*box, self._area(box)), strict=True):
            b.store(buffer.pointer, count, self.kind, number)

    def overlap(self, box: Corners, count: Index, threshold: SSAValue) -> SSAValue:
        """
        Whether the part of the area of a box and of one of the first `count` together that they have in common is at least
        a threshold, which is positive. The same arithmetic as `nms.overlap`. Boxes with NaN overlap with none: their areas
        are NaN, and so are the parts.
        """
        b, lanes, kind = self.b, self.lanes, self.kind
        left, top, right, bottom = (b.splat(number, lanes) for number in box)
        own_area, threshold = (b.splat(x, lanes) for x in (self._area(box), threshold))
        zero, bits = b.constant(kind.compute, 0.0, lanes), IntegerType(8 * kind.bytes)

        def as_bits(value: SSAValue) -> SSAValue:
            """Numbers that are not negative have the order of their bits."""
            return b.bitcast(value, with_lanes(bits, lanes))

        def length(low: SSAValue, high: SSAValue, others: tuple[SSAValue, SSAValue]) -> SSAValue:
            first = b.insert(arith.MaxnumfOp(low, others[0])).result
            last = b.insert(arith.MinnumfOp(high, others[1])).result
            shared = b.insert(arith.SubfOp(last, first)).result
            return b.insert(arith.MaxnumfOp(shared, zero)).result

        def step(number: Index, found: Sequence[SSAValue]) -> list[SSAValue]:
            start = b.mul(number, lanes)
            others = [b.load(each.pointer, start, kind, lanes) for each in self.numbers]
            v = Lanes.of(b, others[0])
            width = length(left, right, (others[0], others[2]))
            height = length(top, bottom, (others[1], others[3]))
            common = v.mul(height, width)
            both = v.sub(v.add(own_area, others[4]), common)
            part = v.div(common, both)
            nothing = b.constant(bits, 0, lanes)
            large = b.compare_integers(as_bits(threshold), "sle", as_bits(part))
            large = b.both(large, b.compare_integers(as_bits(both), "sgt", nothing))
            return [b.either(found[0], b.both(large, b.negate(b.is_nan(part))))]

        vectors = b.div(b.add(count, lanes - 1), lanes)
        (found,) = b.fold(0, vectors, 1, [b.constant(i1, 0, lanes)], step)
        word = IntegerType(lanes)
        return b.compare_integers(b.bitcast(found, word), "ne", b.constant(word, 0))

    def _area(self, box: Corners) -> SSAValue:
        v = Lanes.of(self.b, box[0])
        return v.mul(v.sub(box[2], box[0]), v.sub(box[3], box[1]))
