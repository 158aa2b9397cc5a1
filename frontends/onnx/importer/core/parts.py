"""
Sequences that are the parts of one size along an axis of a tensor, of which the last one may be shorter, where the length of the
axis is known when the program runs only.

    SplitToSequence(x [n, 4], 3)       x, with its axis and size
    SequenceAt(…, 1)                   x[3:min(6, n)]
    ConcatFromSequence(…)              x
"""

from collections.abc import Iterable
from itertools import pairwise

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import smaller
from xrelay.dialects.tensor.transform import StridedSliceOp
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.importer.sequence_forms import Parts


def parts_of(node: Node, value: SSAValue) -> Parts | None:
    """The parts that a sequence is in this form."""
    form = node.form(value)
    return form if isinstance(form, Parts) else None


def count_of(node: Node, parts: Parts) -> int:
    """How many parts there are."""
    return (_length(node, parts) + parts.size - 1) // parts.size


def part(node: Node, parts: Parts, place: int) -> SSAValue:
    """A part that there is."""
    start = place * parts.size
    stop = smaller(start + parts.size, _length(node, parts))
    return node.emit(StridedSliceOp(parts.tensor, [start], [stop], axes=[parts.axis]))


def all_parts(node: Node, parts: Parts) -> list[SSAValue]:
    """The parts, of which there must be a known number."""
    length = _length(node, parts)
    places = (*range(0, length, parts.size), length)
    node.require_operations(len(places))
    return slices(node, parts.tensor, parts.axis, places)


def _length(node: Node, parts: Parts) -> int:
    return node.shape_of(parts.tensor)[parts.axis]


def slices(node: Node, data: SSAValue, axis: int, places: Iterable[int]) -> list[SSAValue]:
    """What lies along an axis between places that follow one another."""
    return [
        node.emit(StridedSliceOp(data, [first], [end], axes=[axis]))
        for first, end in pairwise(places)
    ]
