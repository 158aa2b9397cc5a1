"""Products with weights of few bits, of onnxruntime's domain `com.microsoft`. Source: its ContribOperators.md."""

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xrelay.dialects.qnn.blocks import WIDTHS, QnnDenseBlocksOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.qnn.conversion import finite_scales
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.qnn.blocks import unpacked

EIGHT_BITS = 4
"""The last level of accuracy; those before are none that is asked for, f32, f16 and bf16."""


def matmul_of_bits(node: Node) -> SSAValue:
    """
    MatMulNBits: a product with a matrix [N, K] of 2, 4 or 8 bits, in blocks of a row with a scale each, and a zero point,
    which is the middle of the range where it is absent. `accuracy_level` is the least accuracy of data that is asked for. With
    8 bits (4) they are rounded to that, as in onnxruntime, where the zero points are whole numbers; else they stay f32.
    """
    level = node.integer("accuracy_level", 0)
    if not 0 <= level <= EIGHT_BITS:
        raise OnnxImportError(f"'accuracy_level' is {level}, expected 0 to {EIGHT_BITS}")
    if node.integer("weight_prepacked", 0):
        raise UnsupportedNode(
            "'weight_prepacked' is set: the weights lie as one GPU's code reads them"
        )
    rows, depth = node.integer("N"), node.integer("K")
    bits, size = node.integer("bits", 4), node.integer("block_size")
    for what, number in (("N", rows), ("K", depth)):
        if number < 0:
            raise OnnxImportError(f"'{what}' is {number}, expected a number that is not negative")
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
    op = QnnDenseBlocksOp(
        cast(node, data, f32),
        node.constant(weight),
        node.constant(scales.reshape(rows, blocks)),
        node.constant(_zero_points(node, rows, blocks, bits)),
        block_size=size,
        bits=bits,
    )
    if level == EIGHT_BITS:
        op.round_data()
    product = node.emit(op)
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


MICROSOFT: ConverterTable = {"MatMulNBits": {1: matmul_of_bits}}
"""Of the domain `com.microsoft`."""
