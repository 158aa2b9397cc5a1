"""
Einstein's sums by matrix products, two operands at a time.

    bihd,bjhd->bhij    transpose and reshape to [bh, i, d] and [bh, j, d], relay.nn.batch_matmul, reshape
    bsd,dhe->bhse      relay.nn.matmul of [bs, d] and [d, he], reshape, transpose
    ij,jk,kl->il       two products, in the order that multiplies least of those that need little memory
    i,j->ij            relay.multiply
    bi,bi->b           relay.multiply, relay.sum

A label is a *batch* where both operands and what follows have it, *summed* where only both operands do, and *free*
where one has it. Sums of f16 and bf16 are f32, and rounded once at the end, as the operator's own are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, f32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, hint
from xrelay.dialects.nn.dense import BatchMatmulOp, MatmulOp
from xrelay.dialects.shapes import dimension_product, element_type_of, is_empty, shape_of
from xrelay.dialects.tensor.binary import MultiplyOp
from xrelay.dialects.tensor.einsum import EinsumOp, Label
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.transforms.rules.emitting import narrowed, shaped, widened
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.tuples import fields_of

MOST_GROWTH = 16
"""How many times longer than the longest operand or the result tensors between two products may be."""
MOST_TRIED = 5
"""Of more tensors not every order of products is tried."""


@dataclass(frozen=True)
class _Tensor:
    """A tensor and the labels of its axes, each once."""

    value: SSAValue
    labels: tuple[Label, ...]

    def length(self, labels: Sequence[Label]) -> int:
        """How many elements it has along some of its axes."""
        shape = shape_of(self.value)
        return dimension_product([shape[self.labels.index(label)] for label in labels])

    def summed(self, emit: Emitter, kept: Sequence[Label]) -> "_Tensor":
        """Its sums over all axes but `kept`."""
        axes = [axis for axis, label in enumerate(self.labels) if label not in kept]
        if not axes:
            return self
        rest = tuple(label for label in self.labels if label in kept)
        return _Tensor(emit(SumOp(self.value, axes)), rest)

    def ordered(self, emit: Emitter, labels: Sequence[Label]) -> SSAValue:
        """Its elements with the axes in another order."""
        if tuple(labels) == self.labels:
            return self.value
        return emit(TransposeOp(self.value, [self.labels.index(label) for label in labels]))

    def matrices(
        self, emit: Emitter, batch: Sequence[Label], rows: Sequence[Label], columns: Sequence[Label]
    ) -> tuple[SSAValue, bool]:
        """It as a batch of matrices, or as one matrix where there is no batch, and whether these are transposed."""
        transposed = (*batch, *rows, *columns) != self.labels == (*batch, *columns, *rows)
        first, second = (columns, rows) if transposed else (rows, columns)
        shape = [self.length(labels) for labels in (batch, first, second)]
        value = self.ordered(emit, (*batch, *first, *second))
        return shaped(emit, value, shape if batch else shape[1:]), transposed


def _contracted(emit: Emitter, left: _Tensor, right: _Tensor, kept: Sequence[Label]) -> _Tensor:
    """The sums of products of two tensors over the labels that are not `kept`, whose axes have that order where it costs nothing."""
    left = left.summed(emit, (*kept, *right.labels))
    right = right.summed(emit, (*kept, *left.labels))
    own = [label for label in kept if label in left.labels or label in right.labels]
    both = [label for label in left.labels if label in right.labels]
    free = [label for label in own if label not in both]
    if free and free[-1] in left.labels:
        left, right = right, left  # Rather than to transpose the product.
    batch = [label for label in both if label in kept]
    summed = [label for label in both if label not in kept]
    rows = [label for label in left.labels if label not in both]
    columns = [label for label in right.labels if label not in both]
    if not summed or not (rows or columns):
        return _multiplied(emit, left, right, own, summed)
    first, transposed = left.matrices(emit, batch, rows, summed)
    second, plain = right.matrices(emit, batch, columns, summed)
    product = BatchMatmulOp if batch else MatmulOp
    narrow = isinstance(element_type_of(first), Float16Type | BFloat16Type)
    options = {"transpose_a": transposed, "transpose_b": not plain}
    value = emit(product(first, second, out_dtype=f32 if narrow else None, **options))
    lengths = [left.length([label]) for label in (*batch, *rows)]
    lengths += [right.length([label]) for label in columns]
    return _Tensor(shaped(emit, value, lengths), (*batch, *rows, *columns))


def _multiplied(
    emit: Emitter, left: _Tensor, right: _Tensor, kept: Sequence[Label], summed: Sequence[Label]
) -> _Tensor:
    """Products of elements, summed over some axes."""
    labels, operands = (*kept, *summed), list[SSAValue]()
    for tensor in (left, right):
        own = [label for label in labels if label in tensor.labels]
        lengths = [tensor.length([label]) if label in own else 1 for label in labels]
        value = shaped(emit, tensor.ordered(emit, own), lengths)
        operands.append(widened(emit, value) if summed else value)
    return _Tensor(emit(MultiplyOp(*operands)), labels).summed(emit, kept)


def _path(
    tensors: Sequence[_Tensor], output: Sequence[Label], result_size: int
) -> list[tuple[int, ...]]:
    """
    Which tensors to multiply in each step, by their places; products are put at the end. All that are left in one step where
    products of two are too long, or where nothing is summed. The order depends on hints only.
    """
    labels = dict.fromkeys(label for tensor in tensors for label in tensor.labels)
    numbers = {label: number for number, label in enumerate(labels)}
    operands: list[Any] = []
    for tensor in tensors:
        shape = [hint(dim) for dim in shape_of(tensor.value)]
        operands += [np.broadcast_to(np.float32(0), shape), [numbers[x] for x in tensor.labels]]
    # All orders are tried where they are few.
    how = "optimal" if len(tensors) <= MOST_TRIED else "greedy"
    sizes = [prod(hint(dim) for dim in shape_of(tensor.value)) for tensor in tensors]
    limit = MOST_GROWTH * max(*sizes, result_size)
    steps, _ = np.einsum_path(*operands, [numbers[x] for x in output], optimize=(how, limit))
    return [tuple(step) for step in steps[1:]]


def einsum(op: EinsumOp, emit: Emitter) -> SSAValue | None:
    """
    What an Einstein's sum of two or more tensors is of matrix products; None for diagonals, of bools and of nothing, and where
    tensors between two products would be much longer than those that there are.
    """
    equation, lengths = op.parsed, shape_of(op.result)
    if len(equation.inputs) == 1 or element_type_of(op.result) == IntegerType(1):
        return None
    if any(len(set(labels)) < len(labels) for labels in equation.inputs):
        return None
    values = fields_of(op.data, emit)
    if any(is_empty(shape_of(value)) for value in values):
        return None
    # Axes of length 1 are repeated to any length, and change nothing.
    longer = [[not certainly(dim, 1) for dim in shape_of(value)] for value in values]
    own = [tuple(compress(*each)) for each in zip(equation.inputs, longer, strict=True)]
    order = tuple(compress(equation.output, (not certainly(dim, 1) for dim in lengths)))
    uses = Counter(label for labels in (*own, order) for label in labels)
    is_summed = any(label not in order for label in uses)
    is_direct = len(values) == 2 and 1 not in uses.values()
    tensors: list[_Tensor] = []
    for value, labels, kept in zip(values, own, longer, strict=True):
        value = value if is_direct else widened(emit, value)
        flat = shaped(emit, value, tuple(compress(shape_of(value), kept)))
        tensors.append(_Tensor(flat, labels))
    for step in _path(tensors, order, prod(map(hint, lengths))):
        if len(step) > 2 and is_summed:
            return None
        chosen = [tensors[place] for place in step]
        tensors = [each for place, each in enumerate(tensors) if place not in step]
        result = chosen[0]
        for number, other in enumerate(chosen[1:], 2):
            rest = [label for each in (*chosen[number:], *tensors) for label in each.labels]
            kept = list(dict.fromkeys((*order, *rest)))
            result = _contracted(emit, result, other, kept)
        tensors.append(result)
    (result,) = tensors
    return narrowed(emit, shaped(emit, result.ordered(emit, order), lengths), op.result)
