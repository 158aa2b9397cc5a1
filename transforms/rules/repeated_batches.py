"""
Matrix products of a batch that repeats its right operand, as attention does whose queries share keys and values.

    keys [B, G, N, K] ──► broadcast_to [B, G, R, N, K] ──► reshape [B * G * R, N, K]

The rows of the left operand that meet one matrix are one after the other: as rows of one product they read it once,
and nothing is repeated.

Source: grouped-query attention, J. Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models from
Multi-Head Checkpoints, 2023, arXiv:2305.13245.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, divides, is_open
from xrelay.dialects.nn.dense import BatchMatmulOp
from xrelay.dialects.shapes import is_empty, is_tensor_type, shape_of, with_shape
from xrelay.dialects.tensor.binary import DivideOp, MultiplyOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeFamilyOp
from xrelay.dialects.tensor.transform import BroadcastToOp, RepeatOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.emitting import reshaped
from xrelay.transforms.rules.rewriting import Emitter, has_static_type
from xrelay.transforms.rules.scaling import scaled_operand

_SCALINGS = (MultiplyOp, DivideOp)
_RESHAPES = (ReshapeFamilyOp, ExpandDimsOp)

MOST_STEPS = 8
"""So many operators move or scale what was repeated, at most."""

Build = Callable[[Emitter], SSAValue]


@dataclass(frozen=True)
class _Repeated:
    """A tensor whose neighbours along an axis are equal, `count` of them at a time."""

    count: int
    axis: int
    once: Build
    """Emits the tensor in which each is there once."""


def product_of_more_rows(op: BatchMatmulOp, emit: Emitter) -> SSAValue | None:
    """batch_matmul(x, repeated y) ──► reshape(batch_matmul(reshape(x), y))"""
    if op.transpose_a.value.data or not all(map(has_static_type, (*op.operands, op.result))):
        return None
    right = _repeated(op.tensor_b, MOST_STEPS)
    batch, rows, depth = shape_of(op.tensor_a)
    if right is None or right.axis or not certainly(shape_of(op.tensor_b)[0], batch):
        return None
    left = reshaped(emit, op.tensor_a, (batch // right.count, right.count * rows, depth))
    flip = bool(op.transpose_b.value.data)
    product = emit(BatchMatmulOp(left, right.once(emit), transpose_b=flip, out_dtype=op.out_dtype))
    return reshaped(emit, product, shape_of(op.result))


def _repeated(value: SSAValue, steps: int) -> _Repeated | None:
    """How a tensor is repeated, where so many operators move or scale its elements afterwards."""
    op = value.owner
    if steps < 0 or not isinstance(
        op, (BroadcastToOp, RepeatOp, TransposeOp, CastOp, *_RESHAPES, *_SCALINGS)
    ):
        return None
    if not all(map(has_static_type, (*op.operands, value))) or is_empty(shape_of(value)):
        return None
    if isinstance(op, BroadcastToOp | RepeatOp):
        return _source(op)
    place = 0
    if isinstance(op, _SCALINGS):
        place = scaled_operand(op)
        if place is None:
            return None
    inner = _repeated(op.operands[place], steps - 1)
    axis = None if inner is None else _axis_after(op, inner)
    if inner is None or axis is None:
        return None
    shape = list(shape_of(value))
    shape[axis] //= inner.count

    def once(emit: Emitter) -> SSAValue:
        source = inner.once(emit)
        if isinstance(op, _RESHAPES):
            return reshaped(emit, source, shape)
        operands = [*op.operands]
        operands[place] = source
        assert is_tensor_type(value.type)
        return emit(
            type(op).create(
                operands=operands,
                result_types=[with_shape(value.type, shape)],
                properties=op.properties.copy(),
            )
        )

    return _Repeated(inner.count, axis, once)


def _source(op: BroadcastToOp | RepeatOp) -> _Repeated | None:
    """What an operator repeats along one axis, as often as the program says."""
    old, new = shape_of(op.data), shape_of(op.result)
    old = (*[1] * (len(new) - len(old)), *old)
    axes = [axis for axis, pair in enumerate(zip(old, new, strict=True)) if not certainly(*pair)]
    if len(axes) != 1 or (isinstance(op, BroadcastToOp) and not certainly(old[axes[0]], 1)):
        return None
    count = op.repeats.value.data if isinstance(op, RepeatOp) else new[axes[0]]
    if is_open(count) or count < 2:
        return None

    def once(emit: Emitter) -> SSAValue:
        return op.data if len(old) == len(shape_of(op.data)) else reshaped(emit, op.data, old)

    return _Repeated(count, axes[0], once)


def _axis_after(op: Operation, data: _Repeated) -> int | None:
    """The axis of a result along which neighbours are equal, those of the data being so."""
    old, new = shape_of(op.operands[0]), shape_of(op.results[0])
    if isinstance(op, TransposeOp):
        return op.permutation.index(data.axis)
    if not isinstance(op, _RESHAPES):
        return data.axis
    distance = prod(old[data.axis + 1 :])
    for axis in range(len(new)):
        behind = prod(new[axis + 1 :])
        if certainly(behind, distance) and divides(data.count, new[axis]):
            return axis
    return None
