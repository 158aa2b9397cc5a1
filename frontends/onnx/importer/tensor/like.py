"""The shape of a tensor as numbers."""

import numpy as np
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def shape(node: Node) -> SSAValue:
    """Shape: all dimensions, or those from `start` to `end`."""
    start = node.integer("start", 0)
    end = node.integer("end", 2**31)
    return node.constant(np.array(node.shape_of(node.input(0))[start:end], np.int64))


def size(node: Node) -> SSAValue:
    """Size: the number of elements."""
    return node.constant(np.array(np.prod(node.shape_of(node.input(0)), dtype=np.int64)))


CONVERTERS: ConverterTable = {
    "Shape": {1: shape},
    "Size": {1: size},
}
