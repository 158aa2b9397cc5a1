"""Constants."""

import numpy as np
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def constant(node: Node) -> SSAValue:
    """Constant: one of several attributes holds the value."""
    tensor = node.tensor_constant("value")
    if tensor is not None:
        return tensor
    if node.has_attribute("value_int"):
        return node.constant(np.array(node.integer("value_int"), np.int64))
    if node.has_attribute("value_float"):
        return node.constant(np.array(node.real("value_float", 0), np.float32))
    integers = node.integers("value_ints")
    if integers is not None:
        return node.constant(np.array(integers, np.int64))
    reals = node.reals("value_floats")
    if reals is not None:
        return node.constant(np.array(reals, np.float32))
    node.require_known_attributes()
    raise OnnxImportError("it has no value")


CONVERTERS: ConverterTable = {
    "Constant": {1: constant},
}
