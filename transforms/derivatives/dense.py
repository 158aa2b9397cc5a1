"""
The derivatives of matrix products: of c = a b they are g bᵀ and aᵀ g, each in the order in which the operand is given.
"""

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp, MatrixProductOp
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, static_shape
from xrelay.transforms.rules.emitting import reshaped


def factors(
    product: type[MatrixProductOp], a: Term, b: Term, g: Term, turned_a: bool, turned_b: bool
) -> tuple[Term, Term]:
    """The gradients of both factors of a product, which are given transposed or not."""

    def times(x: Term, y: Term, *, turned_x: bool, turned_y: bool) -> Term:
        return g.new(product(x.value, y.value, transpose_a=turned_x, transpose_b=turned_y))

    if turned_a:
        of_a = times(b, g, turned_x=turned_b, turned_y=True)
    else:
        of_a = times(g, b, turned_x=False, turned_y=not turned_b)
    if turned_b:
        return of_a, times(g, a, turned_x=True, turned_y=turned_a)
    return of_a, times(a, g, turned_x=not turned_a, turned_y=False)


def batch_matmul_rule(op: BatchMatmulOp, g: Term) -> Sequence[Gradient]:
    """A batch of 1 gets the sum of all others."""
    a, b = (g.of(value).typed_as(g.value) for value in (op.tensor_a, op.tensor_b))
    turned = bool(op.transpose_a.value.data), bool(op.transpose_b.value.data)
    found = factors(BatchMatmulOp, a, b, g, *turned)
    return [
        each.summed_to(value).typed_as(value)
        for each, value in zip(found, (op.tensor_a, op.tensor_b), strict=True)
    ]


def matmul_rule(op: MatmulOp, g: Term) -> Sequence[Gradient]:
    """A batch of matrices, of which `tensor_b` multiplies each, is one of all their rows."""
    turned_a, turned_b = bool(op.transpose_a.value.data), bool(op.transpose_b.value.data)
    a, b = op.tensor_a, g.of(op.tensor_b).typed_as(g.value)
    if turned_a and op.tensor_a.type.get_num_dims() > 2:
        a = g.emit(TransposeOp(a, _last_axes_swapped(a)))
        of_a, of_b = _row_products(op, a, b, g, False, turned_b)
        of_a = of_a.new(TransposeOp(of_a.value, _last_axes_swapped(a)))
    else:
        of_a, of_b = _row_products(op, a, b, g, turned_a, turned_b)
    return [of_a.typed_as(op.tensor_a), of_b.typed_as(op.tensor_b)]


def dense_rule(op: DenseOp, g: Term) -> Sequence[Gradient]:
    """The weight is a transposed factor."""
    weight = g.of(op.weight).typed_as(g.value)
    of_data, of_weight = _row_products(op, op.data, weight, g, False, True)
    return [of_data.typed_as(op.data), of_weight.typed_as(op.weight)]


def _row_products(
    op: Operation, a: SSAValue, b: Term, g: Term, turned_a: bool, turned_b: bool
) -> tuple[Term, Term]:
    """The gradients of the factors of a product of a batch of rows and a matrix."""
    rows = g.of(_as_matrix(op, g.of(a).typed_as(g.value)))
    of_a, of_b = factors(MatmulOp, rows, b, g.of(_as_matrix(op, g)), turned_a, turned_b)
    return of_a.shaped_as(a), of_b


def _as_matrix(op: Operation, term: Term) -> SSAValue:
    """A tensor with its first axes as one."""
    if term.type.get_num_dims() == 2:
        return term.value
    *first, last = static_shape(op, term.value)
    return reshaped(term.emit, term.value, [prod(first), last])


def _last_axes_swapped(value: SSAValue) -> list[int]:
    rank = len(shape_of(value))
    return [*range(rank - 2), rank - 1, rank - 2]


RULES: Mapping[type[Operation], Rule] = {
    BatchMatmulOp: batch_matmul_rule,
    DenseOp: dense_rule,
    MatmulOp: matmul_rule,
}
