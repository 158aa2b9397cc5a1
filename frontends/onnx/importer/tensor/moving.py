"""
Slices of a size at places that move with the rounds of a loop, which are elements that are taken.

    Loop n times: Slice(x, 2 * i, 2 * i + 2)    take(x, 2 * i + [0, 1])
"""

from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open, may_exceed
from xrelay.dialects.shapes import element_count, normalize_axis
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import Node


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
    start, stop = (_place_of(node, node.input(index)) for index in (1, 2))
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
        places = node.emit(
            AddOp(places, node.emit(CastOp(node.counting(size), node.element_type(places))))
        )
    return node.emit(TakeOp(data, places, axis=axis))


def _place_of(node: Node, value: SSAValue) -> _Place | None:
    """An index of one element that is computed from the number of a round; None for another one."""
    if element_count(node.shape_of(value)) != 1:
        return None
    known = node.known_value(value)
    if known is not None:
        number = known.item()
        return None if is_open(number) else _Place(None, 0, int(number))
    match value.owner:
        case tensor.FromElementsOp(elements=[SSAValue(owner=arith.IndexCastOp() as cast)]):
            return None if node.rounds_of(cast.input) is None else _Place(cast.input, 1, 0)
        case ReshapeOp() | ExpandDimsOp() | SqueezeOp() | CastOp() as op:
            return _place_of(node, op.operands[0])
        case AddOp() | SubtractOp() | MultiplyOp() as op:
            return _combined(op, *(_place_of(node, each) for each in op.operands))
        case _:
            return None


def _combined(
    op: AddOp | SubtractOp | MultiplyOp, left: _Place | None, right: _Place | None
) -> _Place | None:
    """A sum, a difference or a product."""
    if left is None or right is None:
        return None
    if left.round is not None and right.round is not None:
        return None
    number = left.round if right.round is None else right.round
    if isinstance(op, MultiplyOp):
        factor, other = (left, right) if left.round is None else (right, left)
        return _Place(number, factor.offset * other.times, factor.offset * other.offset)
    sign = -1 if isinstance(op, SubtractOp) else 1
    return _Place(number, left.times + sign * right.times, left.offset + sign * right.offset)
