"""The shape of a tensor as numbers."""

from math import prod

from xdsl.ir import SSAValue

from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.shape_arithmetic import number_array


def shape(node: Node) -> SSAValue:
    """Shape: all dimensions, or those from `start` to `end`."""
    start = node.integer("start", 0)
    end = node.integer("end", 2**31)
    return node.constant(number_array(node.shape_of(node.input(0))[start:end]))


def size(node: Node) -> SSAValue:
    """Size: the number of elements."""
    return node.constant(number_array([prod(node.shape_of(node.input(0)))], ()))


CONVERTERS: ConverterTable = {
    "Shape": {1: shape},
    "Size": {1: size},
}
