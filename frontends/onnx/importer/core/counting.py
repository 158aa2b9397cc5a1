"""
Numbers that grow by the same in each round of a loop: places where rounds take slices, and what conditions compare.

    Loop: j = j + 2, goes on while j < n    n / 2 rounds, rounded up
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import element_count
from xrelay.dialects.tensor.binary import (
    AddOp,
    ComparisonOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    LogicalAndOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.unary import LogicalNotOp
from xrelay.frontends.onnx.errors import UnsupportedNode
from xrelay.frontends.onnx.importer.core.loop_inputs import single
from xrelay.frontends.onnx.importer.core.looping import INDEX, number_of_round
from xrelay.frontends.onnx.importer.functions import default_domain
from xrelay.frontends.onnx.importer.node import Body, Node

MOST_VALUES = 64
"""Numbers that are computed from more values are not looked into."""
MOST, MOST_STEP, MOST_ROUNDS = 1 << 62, 1 << 20, 1 << 41
"""
Conditions that compare larger numbers, such that grow faster or for longer are not looked into: these might wrap around. What is
an expression of lengths is at most some 2^40.
"""
COUNTING = frozenset(
    (
        *("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And"),
        *("Add", "Sub", "Mul", "Cast", "Constant", "Identity"),
    )
)
"""Operators of conditions that are looked into."""
INVERSES: dict[type[ComparisonOp], type[ComparisonOp]] = {
    LessOp: GreaterEqualOp,
    GreaterEqualOp: LessOp,
    GreaterOp: LessEqualOp,
    LessEqualOp: GreaterOp,
}
"""What a comparison is not, of whole numbers."""


@dataclass(frozen=True)
class Growing:
    """A number: another one, which may be that of a round, a number of times, and an offset."""

    of: SSAValue | None
    """None for a number that is known."""
    times: int
    offset: int
    """Which may be a length, of a number that is known."""


class GrowingNumbers:
    """Finds how whole numbers are computed from the number of a round, or from others. Each value is looked at once."""

    def __init__(self, node: Node, others: Sequence[SSAValue] = ()):
        self.node = node
        self._known: dict[SSAValue, Growing | None] = {each: Growing(each, 1, 0) for each in others}
        self._most = MOST_VALUES + len(self._known)

    def find(self, value: SSAValue) -> Growing | None:
        """None for a number that is computed otherwise, or from many values."""
        if value not in self._known:
            # Numbers of 64 bits; others may be rounded, or wrap around, on the way.
            is_whole = self.node.element_type(value) == i64
            is_single = element_count(self.node.shape_of(value)) == 1
            self._known[value] = None  # Until more is known, and where that would take too long.
            if is_whole and is_single and len(self._known) <= self._most:
                self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: SSAValue) -> Growing | None:
        known = self.node.known_value(value)
        if known is not None:
            return Growing(None, 0, known.item())
        match value.owner:
            case tensor.FromElementsOp(elements=[SSAValue(owner=arith.IndexCastOp() as cast)]):
                has_rounds = self.node.rounds_of(cast.input) is not None
                return Growing(cast.input, 1, 0) if has_rounds else None
            case ReshapeOp() | ExpandDimsOp() | SqueezeOp() as op:
                return self.find(op.operands[0])
            case AddOp() | SubtractOp() | MultiplyOp() as op:
                return _combined(op, *map(self.find, op.operands))
            case _:
                return None


def _combined(
    op: AddOp | SubtractOp | MultiplyOp, left: Growing | None, right: Growing | None
) -> Growing | None:
    """A sum, a difference or a product of numbers that come of one other number."""
    if left is None or right is None:
        return None
    if isinstance(op, MultiplyOp):
        factor, other = (left, right) if left.of is None else (right, left)
        if factor.of is not None or is_open(factor.offset) and other.of is not None:
            return None
        return Growing(other.of, factor.offset * other.times, factor.offset * other.offset)
    bases = {each.of for each in (left, right)} - {None}
    if len(bases) > 1:
        return None
    sign = -1 if isinstance(op, SubtractOp) else 1
    times, offset = left.times + sign * right.times, left.offset + sign * right.offset
    return Growing(next(iter(bases), None), times, offset)


def counted_rounds(node: Node) -> int | None:
    """
    How many rounds a Loop makes that goes on while a number, which grows or falls by the same in each round, is on one side of a
    number that is known; None for another condition.
    """
    body, limit = node.graph("body"), None
    carried = max(node.input_count - 2, 0)
    if len(body.input) != 2 + carried or len(body.output) < 1 + carried:
        return None
    if node.has_input(1) and node.known_value(node.input(1)) is None:
        return None
    if node.has_input(0):
        if node.known_value(node.input(0)) is None:
            return None
        limit = single(node, 0, "M")
    try:
        found = _Condition(node, body).rounds()
    except UnsupportedNode:
        return None
    if found is None:
        return None
    if node.has_input(1) and not single(node, 1, "cond"):
        found = 0
    return found if limit is None or limit >= found else max(limit, 0)


class _Condition:
    """What the body of a Loop computes of the numbers that it is given, without anything else of it."""

    def __init__(self, node: Node, body: GraphProto):
        self.node, self.body = node, body
        self.count = number_of_round(node, Block(arg_types=[INDEX]).args[0])
        self.initial = [node.input(position) for position in range(2, node.input_count)]
        self.carried = Block(arg_types=[value.type for value in self.initial]).args
        self.numbers = GrowingNumbers(node, [self.count, *self.carried])
        self.producers = {name: each for each in body.node for name in each.output}

    def rounds(self) -> int | None:
        """How many rounds the loop makes, when it begins."""
        condition, is_true = self.output(0), True
        op = None if condition is None else condition.owner
        while True:
            match op:
                case LogicalNotOp():
                    op, is_true = op.operands[0].owner, not is_true
                case LogicalAndOp() if is_true:
                    left, right = op.operands
                    rest = [each for each in (left, right) if not self._is_always(each)]
                    if len(rest) != 1:
                        return None
                    op = rest[0].owner
                case ReshapeOp() | ExpandDimsOp() | SqueezeOp():
                    op = op.operands[0].owner
                case LessOp() | LessEqualOp() | GreaterOp() | GreaterEqualOp():
                    kind = type(op) if is_true else INVERSES[type(op)]
                    return self._compared(kind, *op.operands)
                case _:
                    return None

    def _is_always(self, value: SSAValue) -> bool:
        """Whether a condition is known to be true."""
        known = self.node.known_value(value)
        return known is not None and known.size == 1 and bool(known.item())

    def output(self, position: int) -> SSAValue | None:
        """
        An output of a round in which the condition was true before; None where more than operators that count computes it: loops
        within would be imported once more at each level.
        """
        name = self.body.output[position].name
        pending, seen = [name], {name}
        while pending:
            producer = self.producers.get(pending.pop())
            if producer is None:
                continue
            if producer.op_type not in COUNTING or default_domain(producer.domain):
                return None
            new = [each for each in producer.input if each not in seen]
            seen.update(new)
            pending += new
        going = self.node.constant(np.array(True))
        given = (each.name for each in self.body.input)
        values = dict(zip(given, [self.count, going, *self.carried], strict=True))
        (found,) = self.node.inline(Body(self.body.node, self.body.initializer, values, [name]))
        return found

    def _compared(self, kind: type[ComparisonOp], left: SSAValue, right: SSAValue) -> int | None:
        """The rounds until a comparison is false, which is made after each."""
        less, more = self._of_round(left), self._of_round(right)
        if kind in (GreaterOp, GreaterEqualOp):
            less, more = more, less
        if less is None or more is None:
            return None
        (begin, step), (other, other_step) = less, more
        # It is `begin + round * step`, on both sides.
        if any(not is_open(each) and abs(each) >= MOST for each in (begin, other)):
            return None
        if max(abs(step), abs(other_step)) >= MOST_STEP:
            return None
        step, distance = step - other_step, other - begin
        if kind in (LessEqualOp, GreaterEqualOp):
            distance += 1
        if step < 1:
            return None
        behind = max((distance + step - 1) // step + 1, 1)
        return behind if is_open(behind) or behind < MOST_ROUNDS else None

    def _of_round(self, value: SSAValue) -> tuple[int, int] | None:
        """What a number is in the first round, and by how much it grows in each."""
        found = self.numbers.find(value)
        if found is None:
            return None
        if found.of is None:
            return found.offset, 0
        if found.of is self.count:
            return found.offset, found.times
        position = next((i for i, each in enumerate(self.carried) if each is found.of), None)
        if position is None:
            return None  # It is the number of a round of a loop around.
        before, following = self.node.known_value(self.initial[position]), self.output(1 + position)
        after = None if following is None else self.numbers.find(following)
        if before is None or before.size != 1 or after is None:
            return None
        if after.of is not found.of or after.times != 1 or is_open(after.offset):
            return None
        start = found.times * before.item() + found.offset
        return start, found.times * after.offset
