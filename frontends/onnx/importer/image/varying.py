"""
Places on an axis that is resized, indices of the nearest elements, and matrices of weights, as arithmetic of the program:
their lengths may be known when it runs only.

    columns of the matrix: places of the result
    rows: elements of the axis, and those that a kernel reaches beyond its ends, which repeat the ends

    data ──► its elements at the rows ──► product with the matrix
"""

from collections.abc import Callable, Mapping
from functools import reduce
from math import ceil

import numpy as np
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.lengths import is_open, larger, smaller
from xrelay.dialects.tensor.binary import EqualOp, LessEqualOp, LessOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import AbsOp, CeilOp, FloorOp
from xrelay.frontends.onnx.importer.emitting import Arithmetic, cast, reshaped
from xrelay.frontends.onnx.importer.image.axes import Axis, Interpolation
from xrelay.frontends.onnx.importer.node import Node


class Places(Arithmetic):
    """Arithmetic of places on an axis, in f64, which are tensors or numbers."""

    def __init__(self, node: Node):
        super().__init__(node)
        self.like = node.constant(np.zeros((), np.float64))

    def number(self, value: float) -> SSAValue:
        """A number, or a length."""
        return self.node.scalar(value, self.like)

    def counting(self, length: int) -> SSAValue:
        """The numbers from 0 up to a length."""
        return cast(self.node, self.node.counting(length), f64)

    def within(self, places: SSAValue, length: int) -> SSAValue:
        """Indices of the elements of an axis at whole places; those of its ends for what is beyond."""
        return cast(self.node, self.larger(self.smaller(places, length - 1), 0.0), i64)


def places_of(at: Places, axis: Axis, coordinates: str) -> SSAValue:
    """The coordinates of the elements of the result on an axis, as ONNX's Resize defines them."""
    x = at.counting(axis.target)
    match coordinates:
        case "asymmetric":
            return _on_axis(at, axis, x)
        case "align_corners":
            last = at.subtract(_whole(at, axis), 1.0)
            # One place is at the start.
            is_alone = at.node.emit(EqualOp(last, at.number(0.0)))
            last = at.node.emit(WhereOp(is_alone, at.number(1.0), last))
            return at.divide(at.multiply(x, axis.length - 1), last)
        case "pytorch_half_pixel":
            half = at.subtract(_on_axis(at, axis, at.add(x, 0.5)), 0.5)
            # One place is at the start.
            return at.multiply(half, smaller(axis.target - 1, 1))
        case "tf_half_pixel_for_nn":
            return _on_axis(at, axis, at.add(x, 0.5))
        case "half_pixel_symmetric":
            # The middle of the result lies on that of the axis.
            part = at.divide(at.number(axis.target), _whole(at, axis))
            middle = at.divide(at.number(axis.length), 2.0)
            first = at.multiply(middle, at.subtract(at.number(1.0), part))
            return at.subtract(at.add(first, _on_axis(at, axis, at.add(x, 0.5))), 0.5)
        case _:
            return at.subtract(_on_axis(at, axis, at.add(x, 0.5)), 0.5)


def _on_axis(at: Places, axis: Axis, places: SSAValue) -> SSAValue:
    """Places of the result on the axis: whole ones are exact where the scale is a quotient of lengths."""
    if axis.scale is not None:
        return at.divide(places, axis.scale)
    found = [_share(at, places, pair) for pair in axis.pairs]
    # Places are not negative.
    return reduce(at.larger if axis.fit and axis.fit.is_least else at.smaller, found)


def _whole(at: Places, axis: Axis) -> SSAValue:
    """The scaled length, which may have a fraction."""
    length = at.number(axis.length)
    if axis.scale is not None:
        return at.multiply(length, axis.scale)
    if axis.fit is None:
        return at.number(axis.target)
    found = [_share(at, length, (size, own)) for own, size in axis.pairs]
    return reduce(at.smaller if axis.fit.is_least else at.larger, found)


def _share(at: Places, value: SSAValue, pair: tuple[int, int]) -> SSAValue:
    """A value times the first one of two lengths divided by the second one."""
    return at.divide(at.multiply(value, pair[0]), pair[1])


def _scale(at: Places, axis: Axis) -> SSAValue:
    """The scale of an axis."""
    if axis.scale is not None:
        return at.number(axis.scale)
    found = [at.divide(at.number(size), length) for length, size in axis.pairs]
    return reduce(at.smaller if axis.fit and axis.fit.is_least else at.larger, found)


def nearest(node: Node, data: SSAValue, position: int, axis: Axis, how: Interpolation) -> SSAValue:
    """The data with the elements of an axis that are nearest to the places of the result."""
    at = Places(node)
    places = places_of(at, axis, how.coordinates)
    if how.coordinates == "tf_half_pixel_for_nn" and axis.scale is None:
        # An axis that keeps its length keeps its elements, which lie half an element further then.
        stays = node.emit(EqualOp(_scale(at, axis), at.number(1.0)))
        places = node.emit(WhereOp(stays, at.counting(axis.target), places))
    whole = node.emit(ROUNDINGS[how.rounding](at, places))
    indices = node.computed(at.within(whole, axis.length))
    return node.emit(TakeOp(data, indices, axis=position))


ROUNDINGS: Mapping[str, Callable[[Places, SSAValue], RelayOp]] = {
    "round_prefer_floor": lambda at, places: CeilOp(at.subtract(places, 0.5)),
    "round_prefer_ceil": lambda at, places: FloorOp(at.add(places, 0.5)),
    "floor": lambda at, places: FloorOp(places),
    "ceil": lambda at, places: CeilOp(places),
}
"""What is nearest to a place, by the names of `nearest_mode`."""


def weights(
    node: Node, data: SSAValue, position: int, axis: Axis, how: Interpolation
) -> tuple[SSAValue, SSAValue, int]:
    """
    What a matrix of weights is multiplied with, the matrix [rows, places] in f64, and how many rows it has. Elements beyond the
    ends of the axis are those at its ends, or have no weight with `exclude_outside`.
    """
    at = Places(node)
    beyond = 0 if how.exclude_outside else _reach(axis, how)
    rows = axis.length + 2 * beyond
    row = at.subtract(at.counting(rows), beyond)
    places = reshaped(node, places_of(at, axis, how.coordinates), (1, axis.target))
    distances = node.emit(AbsOp(at.subtract(reshaped(node, row, (rows, 1)), places)))
    if how.antialias:
        distances = at.multiply(distances, at.smaller(_scale(at, axis), 1.0))
    matrix = _linear(at, distances) if how.mode == "linear" else _cubic(at, distances, how.alpha)
    if how.antialias or how.exclude_outside:
        sums = node.emit(SumOp(matrix, [0], keepdims=True))
        is_outside = node.emit(EqualOp(sums, at.number(0.0)))
        matrix = at.divide(matrix, node.emit(WhereOp(is_outside, at.number(1.0), sums)))
    if is_open(beyond) or beyond:
        data = node.emit(TakeOp(data, at.within(row, axis.length), axis=position))
    return data, matrix, rows


def _reach(axis: Axis, how: Interpolation) -> int:
    """So many elements beyond an end may have a weight: a kernel is as wide as the places are apart, with antialias."""
    reach = 1 if how.mode == "linear" else 2
    if axis.scale is not None:
        step = ceil(max(1 / axis.scale, 1))
    else:
        steps = [-(-length // size) for length, size in axis.pairs]
        step = larger(reduce(larger if axis.fit and axis.fit.is_least else smaller, steps), 1)
    # A place is at most one step beyond an end, where the middles of axis and result are the same. Behind the corners it is half of
    # (length - 1) / (whole - 1), where the whole size of 1.5 or more is rounded up.
    beyond = 2 * step if axis.fit and how.coordinates == "align_corners" else step
    return (reach * step if how.antialias else reach) + beyond + 1


def _linear(at: Places, distances: SSAValue) -> SSAValue:
    return at.larger(at.subtract(at.number(1.0), distances), 0.0)


def _cubic(at: Places, x: SSAValue, a: float) -> SSAValue:
    """The kernel of cubic convolution (Keys, 1981)."""
    near = at.subtract(at.multiply(x, a + 2), a + 3)
    near = at.add(at.multiply(near, at.multiply(x, x)), 1.0)
    far = at.add(at.multiply(at.subtract(x, 5.0), x), 8.0)
    far = at.multiply(at.subtract(at.multiply(far, x), 4.0), a)
    node = at.node
    is_near = node.emit(LessEqualOp(x, at.number(1.0)))
    is_far = node.emit(LessOp(x, at.number(2.0)))
    outside = node.emit(WhereOp(is_far, far, at.number(0.0)))
    return node.emit(WhereOp(is_near, near, outside))
