"""
Random numbers. They are drawn when the model is imported, so each run has the same; a generator of NumPy's
draws them by the seed of the node, or by its name where it has none. ONNX does not say which numbers they are.
"""

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import AddOp, LessOp
from xrelay.dialects.tensor.reduce import ArgmaxOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import cast
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_size, require_table
from xrelay.frontends.onnx.tensors import Array, element_type_of
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.numerics import convert

Drawn = Callable[[Node, Sequence[int]], Array]


def _generator(node: Node) -> np.random.Generator:
    """The source of random numbers of a node."""
    if node.has_attribute("seed"):  # A whole number of Dropout, else a real one.
        integral = node.proto.op_type == "Dropout"
        seed = node.integer("seed") if integral else np.float32(node.real("seed", 0.0))
        return np.random.default_rng(list(np.asarray(seed).tobytes()))
    return np.random.default_rng(crc32(node.label.encode()))


def _require_drawn(shape: Sequence[int]) -> None:
    require_size(shape, "the tensor of random numbers")
    require_table(shape, "the tensor of random numbers")


def uniform(node: Node, shape: Sequence[int]) -> Array:
    """Numbers in [0, 1), of f64."""
    _require_drawn(shape)
    return _generator(node).random(shape)


def _uniform_between(node: Node, shape: Sequence[int]) -> Array:
    low, high = node.real("low", 0.0), node.real("high", 1.0)
    with np.errstate(all="ignore"):
        return low + (high - low) * uniform(node, shape)


def _normal(node: Node, shape: Sequence[int]) -> Array:
    mean, scale = node.real("mean", 0.0), node.real("scale", 1.0)
    _require_drawn(shape)
    with np.errstate(all="ignore"):
        return mean + scale * _generator(node).standard_normal(shape)


def _of_shape(drawn: Drawn) -> Converter:
    """Converts a generator with a shape."""

    def converter(node: Node) -> SSAValue:
        shape = node.integers("shape")
        if shape is None or min(shape, default=0) < 0:
            raise OnnxImportError(f"'shape' is {shape}, expected lengths")
        return _constant(node, drawn(node, shape), _stated(node) or f32)

    return converter


def _like(drawn: Drawn) -> Converter:
    """Converts a generator for the shape of another tensor."""

    def converter(node: Node) -> SSAValue:
        data = node.input(0)
        dtype = _stated(node) or node.element_type(data)
        return _constant(node, drawn(node, node.shape_of(data)), dtype)

    return converter


def _stated(node: Node) -> ElementType | None:
    """The element type that a node states."""
    if not node.has_attribute("dtype"):
        return None
    return element_type_of(node.integer("dtype"), "attribute 'dtype'")


def _constant(node: Node, numbers: Array, dtype: ElementType) -> SSAValue:
    if not is_float(dtype):
        raise OnnxImportError(f"its result has elements of type {dtype}, expected floating point")
    return node.constant(convert(numbers, dtype_of(dtype)))


def bernoulli(node: Node) -> SSAValue:
    """Bernoulli: 1 with the probability that each element is."""
    data = node.input(0)
    dtype = _stated(node) or node.element_type(data)
    numbers = node.constant(uniform(node, node.shape_of(data)).astype(node.element_dtype(data)))
    return cast(node, node.emit(LessOp(numbers, data)), dtype)


def multinomial(node: Node) -> SSAValue:
    """
    Multinomial: indices drawn by logarithms of probabilities, of each row some: the largest sum of a logarithm and
    a number of Gumbel's distribution.
    """
    count, code = node.integer("sample_size", 1), node.integer("dtype", TensorProto.INT32)
    dtype = element_type_of(code, "attribute 'dtype'")
    if count < 0 or dtype not in (i32, i64):
        raise OnnxImportError(f"'sample_size' is {count} and 'dtype' {dtype}, expected i32 or i64")
    data = node.shaped(0, "input", (None, None))
    rows, classes = node.shape_of(data)
    tiny: Any = np.finfo(np.float64).tiny
    numbers = -np.log(-np.log(np.maximum(uniform(node, (rows, count, classes)), tiny)))
    drawn = node.constant(numbers.astype(node.element_dtype(data)))
    sums = node.emit(AddOp(node.emit(ExpandDimsOp(data, 1)), drawn))
    return cast(node, node.emit(ArgmaxOp(sums, [2])), dtype)


CONVERTERS: ConverterTable = {
    "Bernoulli": {15: bernoulli},
    "Multinomial": {7: multinomial},
    "RandomNormal": {1: _of_shape(_normal)},
    "RandomNormalLike": {1: _like(_normal)},
    "RandomUniform": {1: _of_shape(_uniform_between)},
    "RandomUniformLike": {1: _like(_uniform_between)},
}
