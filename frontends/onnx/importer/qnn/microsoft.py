"""
Operators of onnxruntime's domain `com.microsoft` on quantised tensors, which ONNX's default domain lacks.

Most are what they are called: `QLinearSigmoid` is Sigmoid of dequantised numbers, quantised. They are imported as
these three nodes. Source: onnxruntime's ContribOperators.md.
"""

from collections.abc import Sequence

import numpy as np
from onnx import NodeProto, helper
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.qnn.blocks import WIDTHS, QnnDenseBlocksOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast
from xrelay.frontends.onnx.importer.node import Body, Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.qnn.conversion import (
    dequantize,
    finite_scales,
    one_or_vector,
    positive_scale,
    quantize,
)
from xrelay.frontends.onnx.importer.qnn.products import product_of_integers, requantized
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.qnn.blocks import unpacked

OPSET = 13
"""The operator set of ONNX whose operators stand in for these."""

Triple = tuple[SSAValue, SSAValue, SSAValue]
"""Integers, their scale and their zero point."""


def _zero_point(node: Node, index: int, like: SSAValue) -> SSAValue:
    """A zero point, which is 0 where it is absent."""
    given = node.optional(index)
    return node.constant(np.zeros((), node.element_dtype(like))) if given is None else given


def _triple(node: Node, index: int) -> Triple:
    data = node.input(index)
    return data, positive_scale(node, index + 1), _zero_point(node, index + 2, data)


def _of_numbers(
    node: Node, op: NodeProto, given: Sequence[Triple], scale: int, opset: int = OPSET
) -> SSAValue:
    """`op`, which takes dequantised tensors x0, x1, … and gives y, quantised with the inputs from `scale` on."""
    values: dict[str, SSAValue] = {}
    nodes: list[NodeProto] = []
    for number, triple in enumerate(given):
        names = [f"{part}{number}" for part in ("q", "scale", "zero_point")]
        values.update(zip(names, triple, strict=True))
        nodes.append(helper.make_node("DequantizeLinear", names, [f"x{number}"]))
    values["scale"] = positive_scale(node, scale)
    values["zero_point"] = _zero_point(node, scale + 1, given[0][0])
    ends = helper.make_node("QuantizeLinear", ["y", "scale", "zero_point"], ["q"])
    (result,) = node.inline(
        Body([*nodes, op, ends], inputs=values, outputs=["q"], opsets={"": opset})
    )
    return result


def _like(node: Node, op_type: str, count: int, *without: str) -> NodeProto:
    """A node of `op_type` with the attributes of this one."""
    op = helper.make_node(op_type, [f"x{number}" for number in range(count)], ["y"])
    attributes = [each for each in node.proto.attribute if each.name not in without]
    op.attribute.extend(attributes)
    node.ignore(*(each.name for each in attributes))
    return op


def unary(op_type: str) -> Converter:
    """Converts an operator with one quantised input."""

    def convert(node: Node) -> SSAValue:
        if node.has_attribute("channels_last") and node.flag("channels_last"):
            raise UnsupportedNode("'channels_last' is 1, expected images with channels first")
        op = _like(node, op_type, 1, "channels_last")
        return _of_numbers(node, op, [_triple(node, 0)], 3)

    return convert


def binary(op_type: str) -> Converter:
    """Converts an operator with two quantised inputs, which broadcast."""

    def convert(node: Node) -> SSAValue:
        return _of_numbers(node, _like(node, op_type, 2), [_triple(node, 0), _triple(node, 3)], 6)

    return convert


def softmax(node: Node) -> SSAValue:
    """QLinearSoftmax, which names the operator set that says what `axis` means."""
    opset = node.integer("opset")
    if opset < 1:
        raise OnnxImportError(f"'opset' is {opset}, expected a positive number")
    op = _like(node, "Softmax", 1, "opset")
    # What the conversions are did not change since operator set 10.
    return _of_numbers(node, op, [_triple(node, 0)], 3, max(opset, 11) if opset < OPSET else OPSET)


def concatenate(node: Node) -> SSAValue:
    """QLinearConcat: the result's scale and zero point, and then those of each input behind it."""
    count, rest = divmod(node.input_count - 2, 3)
    if count < 1 or rest:
        raise OnnxImportError(f"it has {node.input_count} inputs, expected 2 and 3 for each tensor")
    triples = [_triple(node, 2 + 3 * number) for number in range(count)]
    return _of_numbers(node, _like(node, "Concat", count), triples, 0)


def gemm(node: Node) -> SSAValue:
    """QGemm: alpha * A' * B' + C, where C is of 32 bits with the product's scale; without a scale of its own, f32."""
    alpha = node.real("alpha", 1.0)
    a, b = node.input(0), node.input(3)
    if node.flag("transA"):
        a = node.emit(TransposeOp(a, [1, 0]))
    if node.flag("transB"):
        b = node.emit(TransposeOp(b, [1, 0]))
    total = product_of_integers(node, a, b, node.optional(2), node.optional(5))
    if node.has_input(6):
        bias = node.input(6)
        vector = node.shape_of(bias) == node.shape_of(total)[1:]
        total = node.emit((BiasAddOp if vector else AddOp)(total, bias))
    scales = [one_or_vector(node, cast(node, positive_scale(node, index), f32)) for index in (1, 4)]
    scale = node.emit(MultiplyOp(*scales))
    if alpha != 1:
        scale = node.emit(MultiplyOp(scale, node.scalar(alpha, scale)))
    if not node.has_input(7):
        zero = node.constant(np.zeros(node.shape_of(scale), np.int32))
        return node.emit(QnnDequantizeOp(total, scale, zero, axis=1))
    zero_point = _zero_point(node, 8, a)
    return requantized(node, total, scale, positive_scale(node, 7), zero_point, axis=1)


# -- weights of few bits ----------------------------------------------------------------------------


def matmul_of_bits(node: Node) -> SSAValue:
    """
    MatMulNBits: a product with a matrix [N, K] of 2, 4 or 8 bits, in blocks of a row with a scale each, and a zero point,
    which is the middle of the range where it is absent. `accuracy_level` is the least accuracy that is asked for: f32.
    """
    node.ignore("accuracy_level", "weight_prepacked")
    rows, depth = node.integer("N"), node.integer("K")
    bits, size = node.integer("bits", 4), node.integer("block_size")
    if bits not in WIDTHS:
        raise UnsupportedNode(f"'bits' is {bits}, expected 2, 4 or 8")
    if size < 16 or size & (size - 1):
        raise OnnxImportError(f"'block_size' is {size}, expected a power of two from 16 on")
    if node.has_input(4):
        raise UnsupportedNode("it has input 4 ('g_idx')")
    blocks, row_bytes = -(-depth // size), -(-depth * bits // 8)
    finite_scales(node, 2)
    packed, scales = node.known(1, "B"), node.known(2, "scales")
    _require_size(
        packed, rows * blocks * size * bits // 8, "B", f"[{rows}, {blocks}, {size * bits // 8}]"
    )
    _require_size(scales, rows * blocks, "scales", f"[{rows}, {blocks}]")
    data = node.input(0)
    shape = node.shape_of(data)
    if not shape or shape[-1] != depth:
        raise OnnxImportError(f"input 0 ('A') has the shape {list(shape)}, 'K' is {depth}")
    dtype = node.element_type(data)
    # The last block is stored whole.
    weight = np.ascontiguousarray(packed.reshape(rows, -1)[:, :row_bytes])
    product = node.emit(
        QnnDenseBlocksOp(
            cast(node, data, f32),
            node.constant(weight),
            node.constant(scales.reshape(rows, blocks)),
            node.constant(_zero_points(node, rows, blocks, bits)),
            block_size=size,
            bits=bits,
        )
    )
    if node.has_input(5):
        product = node.emit(AddOp(product, cast(node, node.input(5), f32)))
    return cast(node, product, dtype)


def _zero_points(node: Node, rows: int, blocks: int, bits: int) -> Array:
    """The zero points of blocks [N, blocks], or that of all."""
    if not node.has_input(3):
        return np.asarray(2 ** (bits - 1), np.uint8)
    given = node.known(3, "zero_points")
    if given.dtype == np.uint8:
        width = -(-blocks * bits // 8)
        _require_size(given, rows * width, "zero_points", f"[{rows}, {width}]")
        given = unpacked(given.reshape(rows, width), bits, blocks)
    _require_size(given, rows * blocks, "zero_points", f"[{rows}, {blocks}]")
    return np.ascontiguousarray(given.reshape(rows, blocks))


def _require_size(array: Array, size: int, what: str, expected: str) -> None:
    if array.size != size:
        raise OnnxImportError(
            f"input '{what}' has the shape {list(array.shape)}, expected {expected}"
        )


CONVERTERS: ConverterTable = {
    "DequantizeLinear": {1: dequantize},
    "MatMulNBits": {1: matmul_of_bits},
    "QGemm": {1: gemm},
    "QLinearAdd": {1: binary("Add")},
    "QLinearAveragePool": {1: unary("AveragePool")},
    "QLinearConcat": {1: concatenate},
    "QLinearGlobalAveragePool": {1: unary("GlobalAveragePool")},
    "QLinearLeakyRelu": {1: unary("LeakyRelu")},
    "QLinearMul": {1: binary("Mul")},
    "QLinearSigmoid": {1: unary("Sigmoid")},
    "QLinearSoftmax": {1: softmax},
    "QuantizeLinear": {1: quantize},
}
"""Of the domain `com.microsoft`."""
