"""Rules on tensors of one number, and on operators that take their type from another tensor."""

from typing import TypeAlias, get_args

import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.shapes import element_type_of, same_type, shape_of
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.creation import FullOp, OnesLikeOp, OnesOp, ZerosLikeOp, ZerosOp
from xrelay.dialects.tensor.like import (
    BroadcastToLikeOp,
    CastLikeOp,
    CollapseSumLikeOp,
    CollapseSumToOp,
    FullLikeOp,
    ReshapeLikeOp,
)
from xrelay.dialects.tensor.transform import BroadcastToOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.emitting import reshaped
from xrelay.transforms.rules.rewriting import Emitter, has_static_type

LikeOp: TypeAlias = (
    BroadcastToLikeOp | CollapseSumLikeOp | FullLikeOp | OnesLikeOp | ReshapeLikeOp | ZerosLikeOp
)
"""Operators that take the shape of another tensor."""
LIKE_OPS: tuple[type[Operation], ...] = get_args(LikeOp)


def stated_shape(op: LikeOp, emit: Emitter) -> SSAValue | None:
    """zeros_like(x) ──► zeros, reshape_like(x, y) ──► reshape(x), …, where the shape is known"""
    if not has_static_type(op.result):
        return None
    shape = shape_of(op.result)
    match op:
        case BroadcastToLikeOp():
            return emit(BroadcastToOp(op.data, shape))
        case CollapseSumLikeOp():
            small = max(shape, default=0) <= np.iinfo(np.int32).max
            lengths = np.asarray(shape, np.int32 if small else np.int64)
            return emit(CollapseSumToOp(op.data, emit.constant(lengths)))
        case FullLikeOp():
            return emit(FullOp(op.fill_value, shape, element_type_of(op.result)))
        case OnesLikeOp():
            return emit(OnesOp(shape, element_type_of(op.result)))
        case ReshapeLikeOp():
            return reshaped(emit, op.data, shape)
        case ZerosLikeOp():
            return emit(ZerosOp(shape, element_type_of(op.result)))


def stated_dtype(op: CastLikeOp, emit: Emitter) -> SSAValue | None:
    """cast_like(x, y) ──► cast(x)"""
    return emit(CastOp(op.data, element_type_of(op.result)))


def scalar_operand(op: BroadcastBinaryOp, emit: Emitter) -> SSAValue | None:
    """x + ones(…) ──► x + 1, where x has the type of the result."""
    for index, (filled, other) in enumerate(((op.lhs, op.rhs), (op.rhs, op.lhs))):
        if not same_type(other.type, op.result.type) or not has_static_type(other):
            continue
        match filled.owner:
            case ZerosOp() | ZerosLikeOp():
                scalar = emit.scalar(0, filled)
            case OnesOp() | OnesLikeOp():
                scalar = emit.scalar(1, filled)
            case (FullOp() | FullLikeOp()) as full if element_type_of(
                full.fill_value
            ) == element_type_of(filled):
                scalar = full.fill_value
            case _:
                continue
        return emit(type(op)(scalar, other) if index == 0 else type(op)(other, scalar))
    return None
