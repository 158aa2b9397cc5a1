"""Products with a matrix of a few bits a number, which stays so."""

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.nn.dense import DenseOp, MatmulOp
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp, QnnDequantizeBlocksOp
from xrelay.dialects.shapes import element_type_of
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.rewriting import Emitter

PRODUCTS_OF_BLOCKS = (DenseOp, MatmulOp)
"""The operators that `product_of_blocks` replaces."""


HALF: tuple[Attribute, ...] = (f16, bf16)
"""The dtypes that products compute in f32, too."""


def _matrix(op: DenseOp | MatmulOp, dtype: Attribute) -> QnnDequantizeBlocksOp | None:
    """The constant matrix [N, K] in blocks, converted to `dtype`, that a product has on the right."""
    transposed = True
    if isinstance(op, DenseOp):
        value = op.weight
    elif op.transpose_a.value.data:
        return None
    else:
        value, transposed = op.tensor_b, bool(op.transpose_b.value.data)
    if dtype in HALF and isinstance(value.owner, CastOp) and element_type_of(value) == dtype:
        value = value.owner.data
    if not transposed:
        if not isinstance(value.owner, TransposeOp) or value.owner.permutation != (1, 0):
            return None
        value = value.owner.data
    source = value.owner
    if not isinstance(source, QnnDequantizeBlocksOp):
        return None
    known = all(isinstance(operand.owner, ConstantOp) for operand in source.operands)
    return source if known and source.has_whole_words(source.length.value.data) else None


def product_of_blocks(op: DenseOp | MatmulOp, emit: Emitter) -> SSAValue | None:
    """
    dense %x, (dequantize_blocks %w, …)  ──►  dense_blocks %x, %w, …

    Of f16 and bf16 the data are converted before, and the result behind: the weights are not rounded to these.
    """
    data, dtype = op.operands[0], element_type_of(op.result)
    if element_type_of(data) != dtype or dtype not in (f32, *HALF):
        return None
    matrix = _matrix(op, dtype)
    if matrix is None:
        return None
    if dtype in HALF:
        data = emit(CastOp(data, f32))
    parameters = matrix.data, matrix.scale, matrix.zero_point
    result = emit(
        QnnDenseBlocksOp(data, *parameters, block_size=matrix.block_size, bits=matrix.bits)
    )
    return emit(CastOp(result, dtype)) if dtype in HALF else result
