"""
Slices of a size at places that move with the rounds of a loop, which are elements that are taken.

    Loop n times: Slice(x, 2 * i, 2 * i + 2)    take(x, 2 * i + [0, 1])
"""

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open, may_exceed
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.frontends.onnx.importer.core.counting import GrowingNumbers
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import Node


def moving_slice(node: Node) -> SSAValue | None:
    """
    The result of Slice along one axis where it takes as many elements in each round of a loop around it, which are there in
    all of them; None where that is not certain.
    """
    data, shape = node.input(0), node.shape_of(node.input(0))
    start, stop = map(GrowingNumbers(node).find, (node.input(1), node.input(2)))
    if start is None or stop is None or start.of is None:
        return None
    if is_open(start.offset) or is_open(stop.offset):
        return None
    rounds, size = node.rounds_of(start.of), stop.offset - start.offset
    if rounds is None or (start.of, start.times) != (stop.of, stop.times) or size < 1:
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
