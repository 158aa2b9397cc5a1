"""The largest elements in order, and running sums and products."""

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.reorder import ReverseOp
from xrelay.dialects.tensor.sort import CumprodOp, CumsumOp, TopkOp
from xrelay.frontends.onnx.importer.emitting import fields
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node


def top_by_attribute(node: Node) -> list[SSAValue]:
    """TopK before operator set 10, where `k` is an attribute."""
    return _top(node, node.integer("k"))


def top(node: Node) -> list[SSAValue]:
    """TopK: a constant number of the largest elements, or the smallest, in order."""
    return _top(node, node.known_integer(1, "K", is_length=True))


def _top(node: Node, k: int) -> list[SSAValue]:
    axis, largest = node.integer("axis", -1), node.flag("largest", default=True)
    node.ignore("sorted")  # without it the order is left open
    data = node.input(0)
    if k == 0:  # which is all elements in Relay
        shape = list(node.shape_of(data))
        shape[normalize_axis(axis, len(shape))] = 0
        return [node.zeros(shape, data), node.filled(np.zeros((), np.int64), shape)]
    both = node.emit(TopkOp(data, k, axis=axis, is_ascend=not largest, dtype=i64))
    return fields(node, both, 2)


def accumulation(op: type[CumsumOp] | type[CumprodOp]) -> Converter:
    """Converts CumSum or CumProd along a constant axis, from its start or its end."""

    def convert(node: Node) -> SSAValue:
        exclusive, reverse = node.flag("exclusive"), node.flag("reverse")
        place, data = node.known_integer(1, "axis"), node.input(0)
        axis = normalize_axis(place, len(node.shape_of(data)))
        if reverse:
            data = node.emit(ReverseOp(data, axis))
        result = node.emit(op(data, axis=axis, exclusive=exclusive))
        return node.emit(ReverseOp(result, axis)) if reverse else result

    return convert


CONVERTERS: ConverterTable = {
    "CumProd": {26: accumulation(CumprodOp)},
    "CumSum": {11: accumulation(CumsumOp)},
    "TopK": {1: top_by_attribute, 10: top},
}
