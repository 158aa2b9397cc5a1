"""
Random numbers: Relay's generator draws them, from a key made of the seed of the node, or of its name where it has none. So
each run has the same, whether they are constants or drawn when the program runs. ONNX does not say which numbers they are.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import AddOp, LessOp, MaximumOp
from xrelay.dialects.tensor.random import NormalOp, UniformOp
from xrelay.dialects.tensor.reduce import ArgmaxOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.unary import LogOp, NegativeOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import cast
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_size
from xrelay.interpreters.arrays import Array, dtype_of

Drawn: TypeAlias = Callable[[Node, Sequence[int], ElementType], SSAValue]
"""Draws numbers of a shape and of f32 or f64."""
MOST_STORED = 1 << 20
"""So many random numbers are constants where their shape is known; more are drawn in each run."""


def _key(node: Node) -> Array:
    """The first key of the generator of a node: the seed is a word of it, and its path is empty."""
    seed = crc32(node.label.encode())
    if node.has_attribute("seed"):  # A whole number of Dropout, else a real one.
        integral = node.proto.op_type == "Dropout"
        stated = node.integer("seed") if integral else node.real("seed", 0.0)
        seed = stated % 2**64 if integral else int(np.float32(stated).view(np.uint32))
    return np.array([0, 0, 0, seed, 0, 0, 0, 0, 1 << 63, 0], np.uint64)


def _drawn(
    node: Node,
    distribution: type[UniformOp] | type[NormalOp],
    parameters: tuple[float, float],
    shape: Sequence[int],
    dtype: ElementType,
) -> SSAValue:
    """Numbers of a distribution by its two parameters."""
    require_size(shape, "the tensor of random numbers")
    is_small = not any(map(is_open, shape)) and prod(shape) <= MOST_STORED
    first, second = (node.constant(np.asarray(each, dtype_of(dtype))) for each in parameters)
    op = distribution(node.constant(_key(node)), first, second, out_shape=shape)
    numbers = node.emit(TupleGetItemOp(node.emit(op), 1))
    return node.computed(numbers) if is_small else numbers


def uniform(node: Node, shape: Sequence[int], dtype: ElementType) -> SSAValue:
    """Numbers in [0, 1)."""
    return _drawn(node, UniformOp, (0.0, 1.0), shape, dtype)


def _uniform_between(node: Node, shape: Sequence[int], dtype: ElementType) -> SSAValue:
    low, high = node.real("low", 0.0), node.real("high", 1.0)
    if abs(high - low) > float(np.finfo(np.float32).max):
        dtype = f64  # The width of the interval is no number of f32.
    return _drawn(node, UniformOp, (low, high), shape, dtype)


def _normal(node: Node, shape: Sequence[int], dtype: ElementType) -> SSAValue:
    parameters = node.real("mean", 0.0), node.real("scale", 1.0)
    return _drawn(node, NormalOp, parameters, shape, dtype)


def _of_shape(drawn: Drawn) -> Converter:
    """Converts a generator with a shape."""

    def converter(node: Node) -> SSAValue:
        shape = node.integers("shape")
        if shape is None or min(shape, default=0) < 0:
            raise OnnxImportError(f"'shape' is {shape}, expected lengths")
        return _of_type(node, drawn, shape, _stated(node) or f32)

    return converter


def _like(drawn: Drawn) -> Converter:
    """Converts a generator for the shape of another tensor."""

    def converter(node: Node) -> SSAValue:
        data = node.input(0)
        dtype = _stated(node) or node.element_type(data)
        return _of_type(node, drawn, node.shape_of(data), dtype)

    return converter


def _stated(node: Node) -> ElementType | None:
    """The element type that a node states."""
    return node.stated_type("dtype") if node.has_attribute("dtype") else None


def _of_type(node: Node, drawn: Drawn, shape: Sequence[int], dtype: ElementType) -> SSAValue:
    if not is_float(dtype):
        raise OnnxImportError(f"its result has elements of type {dtype}, expected floating point")
    return cast(node, drawn(node, shape, _wide(dtype)), dtype)


def _wide(dtype: ElementType) -> ElementType:
    """The type in which numbers of a type are drawn."""
    return f64 if dtype == f64 else f32


def bernoulli(node: Node) -> SSAValue:
    """Bernoulli: 1 with the probability that each element is."""
    data = node.input(0)
    dtype = _stated(node) or node.element_type(data)
    wide = _wide(node.element_type(data))
    numbers = uniform(node, node.shape_of(data), wide)
    return cast(node, node.emit(LessOp(numbers, cast(node, data, wide))), dtype)


def multinomial(node: Node) -> SSAValue:
    """
    Multinomial: indices drawn by logarithms of probabilities, of each row some: the largest sum of a logarithm and
    a number of Gumbel's distribution.
    """
    count, dtype = node.integer("sample_size", 1), node.stated_type("dtype", TensorProto.INT32)
    if count < 0 or dtype not in (i32, i64):
        raise OnnxImportError(f"'sample_size' is {count} and 'dtype' {dtype}, expected i32 or i64")
    data = node.shaped(0, "input", (None, None))
    rows, classes = node.shape_of(data)
    # Numbers of 52 bits: those of 23 bits would never draw what is less likely than 2**-23.
    numbers = uniform(node, (rows, count, classes), f64)
    tiny: Any = np.finfo(np.float64).tiny
    numbers = node.emit(MaximumOp(numbers, node.scalar(tiny, numbers)))
    for _ in range(2):
        numbers = node.emit(NegativeOp(node.emit(LogOp(numbers))))
    sums = node.emit(AddOp(node.emit(ExpandDimsOp(cast(node, data, f64), 1)), numbers))
    return cast(node, node.emit(ArgmaxOp(sums, [2])), dtype)


CONVERTERS: ConverterTable = {
    "Bernoulli": {15: bernoulli},
    "Multinomial": {7: multinomial},
    "RandomNormal": {1: _of_shape(_normal)},
    "RandomNormalLike": {1: _like(_normal)},
    "RandomUniform": {1: _of_shape(_uniform_between)},
    "RandomUniformLike": {1: _like(_uniform_between)},
}
