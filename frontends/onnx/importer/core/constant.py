"""Operators whose result is known while importing."""

from math import isfinite

import numpy as np
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.node import ConverterTable, Node, require_size, require_table
from xrelay.interpreters.arrays import Array


def constant(node: Node) -> SSAValue:
    """Constant: one of several attributes holds the value."""
    tensor = node.tensor("value")
    if tensor is not None:
        return node.constant(tensor)
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


def constant_of_shape(node: Node) -> SSAValue:
    """ConstantOfShape: a splat, of which one element is stored."""
    value = node.tensor("value")
    if value is None:
        value = np.zeros(1, np.float32)
    if value.size != 1:
        raise OnnxImportError(f"attribute 'value' has {value.size} elements, expected one")
    shape = node.known_lengths(0, "input")
    require_size(shape, "the result")
    return node.constant(np.broadcast_to(value.reshape(()), shape))


def shape(node: Node) -> SSAValue:
    """Shape: all dimensions, or those from `start` to `end`."""
    start = node.integer("start", 0)
    end = node.integer("end", 2**31)
    return node.constant(np.array(node.shape_of(node.input(0))[start:end], np.int64))


def size(node: Node) -> SSAValue:
    """Size: the number of elements."""
    return node.constant(np.array(np.prod(node.shape_of(node.input(0)), dtype=np.int64)))


def number_range(node: Node) -> SSAValue:
    """Range: the numbers from start to limit in steps of delta."""
    node.ignore("stash_type")
    bounds = [node.known(index, name) for index, name in enumerate(("start", "limit", "delta"))]
    start, limit, delta = (_scalar(bound) for bound in bounds)
    if delta == 0 or not all(map(isfinite, (start, limit, delta))):
        raise OnnxImportError(f"it is the range from {start} to {limit} in steps of {delta}")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    require_table((count,), "the result")
    numbers = start + delta * np.arange(count, dtype=type(start))
    return node.constant(np.asarray(numbers).astype(bounds[0].dtype))


def _scalar(array: Array) -> int | float:
    """The one element of an array as a Python number."""
    if array.size != 1:
        raise OnnxImportError(f"an input has {array.size} elements, expected one")
    element = array.reshape(-1)[0]
    return int(element) if array.dtype.kind in "iu" else float(element)


CONSTANT_CONVERTERS: ConverterTable = {
    "Constant": {1: constant},
    "ConstantOfShape": {9: constant_of_shape},
    "Range": {11: number_range},
    "Shape": {1: shape},
    "Size": {1: size},
}
