"""
Slices of a size at places that move with the rounds of a loop, which are elements that are taken.

    Loop n times: Slice(x, 2 * i, 2 * i + 2)    take(x, 2 * i + [0, 1])
"""

from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open, may_exceed
from xrelay.dialects.shapes import element_count, normalize_axis
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import Node

MOST_VALUES = 64
"""Places that are computed from more values are not looked into."""


@dataclass(frozen=True)
class _Place:
    """A number: that of a round, a number of times, and an offset."""

    round: SSAValue | None
    """None for a number that is known."""
    times: int
    offset: int


def moving_slice(node: Node) -> SSAValue | None:
    """
    The result of Slice along one axis where it takes as many elements in each round of a loop around it, which are there in
    all of them; None where that is not certain.
    """
    data, shape = node.input(0), node.shape_of(node.input(0))
    start, stop = map(_Places(node).of, (node.input(1), node.input(2)))
    if start is None or stop is None or start.round is None:
        return None
    rounds, size = node.rounds_of(start.round), stop.offset - start.offset
    if rounds is None or (start.round, start.times) != (stop.round, stop.times) or size < 1:
        return None
    axes = node.known_integers(3, "axes") if node.has_input(3) else range(1)
    steps = node.known_integers(4, "steps") if node.has_input(4) else [1]
    if len(axes) != 1 or list(steps) != [1]:
        return None
    axis = normalize_axis(axes[0], len(shape))
    behind = start.times * (rounds - 1) + start.offset + size
    if start.times < 0 or start.offset < 0 or may_exceed(behind, shape[axis]):
        return None
    places = reshaped(node, node.input(1), (1,))
    if size > 1:
        places = node.emit(AddOp(places, node.counting(size)))
    return node.emit(TakeOp(data, places, axis=axis))


class _Places:
    """Finds how indices of one element are computed from the number of a round. Each value is looked at once."""

    def __init__(self, node: Node):
        self.node = node
        self._known: dict[SSAValue, _Place | None] = {}

    def of(self, value: SSAValue) -> _Place | None:
        """None for an index that is computed otherwise, or from many values."""
        if value not in self._known:
            # Places of rounds are whole numbers of 64 bits; others may be rounded, or wrap around, on the way.
            is_index = self.node.element_type(value) == i64
            single = element_count(self.node.shape_of(value)) == 1
            self._known[value] = None  # Until more is known, and where that would take too long.
            if is_index and single and len(self._known) <= MOST_VALUES:
                self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: SSAValue) -> _Place | None:
        known = self.node.known_value(value)
        if known is not None:
            number = known.item()
            return None if is_open(number) else _Place(None, 0, number)
        match value.owner:
            case tensor.FromElementsOp(elements=[SSAValue(owner=arith.IndexCastOp() as cast)]):
                has_rounds = self.node.rounds_of(cast.input) is not None
                return _Place(cast.input, 1, 0) if has_rounds else None
            case ReshapeOp() | ExpandDimsOp() | SqueezeOp() as op:
                return self.of(op.operands[0])
            case AddOp() | SubtractOp() | MultiplyOp() as op:
                return _combined(op, *map(self.of, op.operands))
            case _:
                return None


def _combined(
    op: AddOp | SubtractOp | MultiplyOp, left: _Place | None, right: _Place | None
) -> _Place | None:
    """A sum, a difference or a product of places in rounds of one loop."""
    if left is None or right is None:
        return None
    if isinstance(op, MultiplyOp):
        factor, other = (left, right) if left.round is None else (right, left)
        if factor.round is not None:
            return None
        return _Place(other.round, factor.offset * other.times, factor.offset * other.offset)
    rounds = {each.round for each in (left, right)} - {None}
    if len(rounds) > 1:
        return None
    sign = -1 if isinstance(op, SubtractOp) else 1
    times, offset = left.times + sign * right.times, left.offset + sign * right.offset
    return _Place(next(iter(rounds), None), times, offset)
