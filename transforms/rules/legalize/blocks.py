"""Products with a matrix of a few bits a number, which stays so."""

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.nn.dense import DenseOp, MatmulOp
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.transforms.rules.rewriting import Emitter, element_type_of

PRODUCTS_OF_BLOCKS = (DenseOp, MatmulOp)
"""The operators that `product_of_blocks` replaces."""


def _matrix(op: DenseOp | MatmulOp) -> QnnDequantizeBlocksOp | None:
    """The constant matrix [N, K] in blocks that a product has on the right."""
    if isinstance(op, DenseOp):
        value = op.weight
    elif op.transpose_a.value.data:
        return None
    elif op.transpose_b.value.data:
        value = op.tensor_b
    else:
        transpose = op.tensor_b.owner
        if not isinstance(transpose, TransposeOp) or transpose.permutation != (1, 0):
            return None
        value = transpose.data
    source = value.owner
    if not isinstance(source, QnnDequantizeBlocksOp):
        return None
    known = all(isinstance(operand.owner, ConstantOp) for operand in source.operands)
    return source if known and source.has_whole_words(source.length.value.data) else None


def product_of_blocks(op: DenseOp | MatmulOp, emit: Emitter) -> SSAValue | None:
    """dense %x, (dequantize_blocks %w, …)  ──►  dense_blocks %x, %w, …"""
    data = op.operands[0]
    if element_type_of(data) != f32 or element_type_of(op.result) != f32:
        return None
    matrix = _matrix(op)
    if matrix is None:
        return None
    parameters = matrix.data, matrix.scale, matrix.zero_point
    return emit(QnnDenseBlocksOp(data, *parameters, block_size=matrix.block_size, bits=matrix.bits))
