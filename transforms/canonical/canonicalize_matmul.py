"""
`canonicalize-matmul`: products with a constant matrix become `relay.nn.dense`, whose weight is
laid out [N, K] once and for all. Products of two computed matrices read the right one as it lies.

    %0 = relay.nn.matmul %x, %w               %0 = relay.transpose %w
                                        ──►   %1 = relay.nn.dense %x, %0

    %0 = relay.nn.batch_matmul %x, %w         %0 = relay.reshape %x           [B * M, K]
      (%w with a batch of 1)            ──►   %1 = relay.reshape %w           [K, N]
                                              %2 = relay.transpose %1         [N, K]
                                              %3 = relay.nn.dense %0, %2
                                              %4 = relay.reshape %3           [B, M, N]

    %0 = relay.nn.dense %x, %w                %0 = relay.reshape %x           [A * B, K]
      (%x of rank 3 or more)            ──►   %1 = relay.nn.dense %0, %w
                                              %2 = relay.reshape %1           [A, B, N]

    %0 = relay.transpose %k  (0, 2, 3, 1)     %0 = relay.transpose %k  (0, 2, 1, 3)
    %1 = relay.reshape %0       [B, K, N]     %1 = relay.reshape %0               [B, N, K]
    %2 = relay.nn.batch_matmul %q, %1   ──►   %2 = relay.nn.batch_matmul %q, %1 {transpose_b}
      (the keys of attention, which may be
      multiplied by a number before)

    %0 = relay.broadcast_to %k  [G, 1, N, K] ──► [G, R, N, K]
    %1 = relay.reshape %0       [G * R, N, K]
    %2 = relay.nn.batch_matmul %q, %1             %0 = relay.reshape %q         [G, R * M, K]
      (heads of attention that share      ──►     %1 = relay.nn.batch_matmul %0, %k
      keys, which may be moved and                %2 = relay.reshape %1         [G * R, M, N]
      multiplied by a number)

The operations on the constant disappear in `fold-constant`, the reshapes around are merged with
others by `sink-reshape` and `simplify-expr`. Of a computed right operand, a transpose moves into the
operator when its rows are then those of the tensor before it. A left operand that has to be
transposed first stays with its operator, and so do other products of two computed operands, results
with unknown dimensions, the bodies of `relay.fused` and `relay.composite` and functions for other
compilers.
"""

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.shapes import is_empty, same_shape, shape_of
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.transforms.rules.emitting import shaped
from xrelay.transforms.rules.repeated_batches import product_of_more_rows
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter, has_static_type


def dense_of_matrices(op: MatmulOp | BatchMatmulOp | DenseOp, emit: Emitter) -> SSAValue | None:
    """A product with a constant matrix on the right ──► a dense of rank 2"""
    if isinstance(op, DenseOp):
        data, weight, transposed = op.data, op.weight, True
        if op.data.type.get_num_dims() == 2:
            return None
    else:
        data, weight, transposed = op.tensor_a, op.tensor_b, bool(op.transpose_b.value.data)
        if op.transpose_a.value.data:
            return None
    if not isinstance(weight.owner, ConstantOp) or not has_static_type(op.result):
        return None
    *batch, rows, columns = shape_of(weight)
    if any(not certainly(length, 1) for length in batch) or not has_static_type(data):
        return None
    if is_empty(shape_of(data)) or is_empty((rows, columns)):
        return None
    depth = shape_of(data)[-1]
    matrix = shaped(emit, weight, (rows, columns))
    if not transposed:
        matrix = emit(TransposeOp(matrix, [1, 0]))
    flat = shaped(emit, data, (prod(shape_of(data)[:-1]), depth))
    product = emit(DenseOp(flat, matrix, out_dtype=op.out_dtype))
    return shaped(emit, product, shape_of(op.result))


def _is_number(value: SSAValue) -> bool:
    """Whether a tensor has one element and at most one axis."""
    if not has_static_type(value) or len(shape_of(value)) > 1:
        return False
    return all(certainly(length, 1) for length in shape_of(value))


def right_as_it_lies(op: MatmulOp | BatchMatmulOp, emit: Emitter) -> SSAValue | None:
    """A product with a transposed matrix ──► the product with the matrix before the transpose"""
    if op.transpose_b.value.data:
        return None
    value: SSAValue = op.tensor_b
    factors: list[SSAValue] = []
    while isinstance(owner := value.owner, ReshapeOp | MultiplyOp):
        source = owner.operands[0]
        if isinstance(owner, MultiplyOp):
            source, factor = owner.operands if _is_number(owner.rhs) else reversed(owner.operands)
            if not _is_number(factor):
                return None
            factors.append(factor)
        if not has_static_type(source):
            return None
        if not same_shape(shape_of(source)[-2:], shape_of(op.tensor_b)[-2:]):
            return None
        value = source
    if not isinstance(value.owner, TransposeOp) or not has_static_type(value):
        return None
    *outer, row, column = value.owner.permutation
    if row != len(outer) + 1:
        return None
    *batch, rows, columns = shape_of(op.tensor_b)
    matrix: SSAValue = value.owner.data
    if [*outer, column, row] != list(range(len(outer) + 2)):
        matrix = emit(TransposeOp(matrix, [*outer, column, row]))
    matrix = shaped(emit, matrix, (*batch, columns, rows))
    for factor in reversed(factors):
        matrix = emit(MultiplyOp(matrix, factor))
    flip = bool(op.transpose_a.value.data)
    return emit(
        type(op)(op.tensor_a, matrix, transpose_a=flip, transpose_b=True, out_dtype=op.out_dtype)
    )


PATTERNS = (
    ApplyRule((BatchMatmulOp, DenseOp, MatmulOp), dense_of_matrices),
    ApplyRule((BatchMatmulOp, MatmulOp), right_as_it_lies),
    ApplyRule(BatchMatmulOp, product_of_more_rows),
)
"""Each is applied to the whole program before the next one is."""


@dataclass(frozen=True)
class CanonicalizeMatmulPass(RelayPass):
    """Products with a constant matrix become a dense; transposes and repetitions of others move into them."""

    name = "canonicalize-matmul"

    def rewrite(self, op: ModuleOp) -> None:
        for pattern in PATTERNS:
            PatternWalker(Outside(keeps_body, pattern), apply_recursively=False).rewrite_module(op)
