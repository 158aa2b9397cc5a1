"""Rules on casts and clips."""

import numpy as np
from xdsl.dialects.builtin import FloatAttr, i1
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.like import CastLikeOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp
from xrelay.interpreters.arrays import DType, dtype_of
from xrelay.interpreters.numerics import highest, is_float, lowest
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.rewriting import Emitter, is_floating

CASTS = (CastOp, CastLikeOp)


def keeps_values(source: DType, target: DType) -> bool:
    """Whether a cast keeps every value of the type `source`."""
    if source == target or source == np.bool_:
        return True
    if target == np.bool_:
        return False
    if is_float(source):
        # bf16 has fewer bits than f16 and a wider range: only f32 and f64 hold both.
        return is_float(target) and target.itemsize > max(source.itemsize, 2)
    if is_float(target):
        bits = {2: 8 if target.kind != "f" else 11, 4: 24, 8: 53}[target.itemsize]
        return 8 * source.itemsize - (source.kind == "i") <= bits
    return lowest(target) <= lowest(source) and highest(source) <= highest(target)


def merged_casts(op: CastOp | CastLikeOp, emit: Emitter) -> SSAValue | None:
    """cast(cast(x)) ──► cast(x) where the first one keeps every value, and a cast to the same type"""
    if op.data.type == op.result.type:
        return op.data
    inner = op.data.owner
    if not isinstance(inner, CASTS):
        return None
    source, between, target = (
        dtype_of(value.type.element_type) for value in (inner.data, inner.result, op.result)
    )
    if not keeps_values(source, between):
        return None
    # Integers saturate when they come from floating point, and wrap around among themselves.
    saturates = is_float(between) and not is_float(source) and not is_float(target)
    if saturates and not keeps_values(source, target):
        return None
    if inner.data.type == op.result.type:
        return inner.data
    return cast(emit, inner.data, op.result.type.element_type)


def _whole_bounds(op: ClipOp) -> tuple[float, float]:
    low, high = op.a_min, op.a_max
    assert isinstance(low, FloatAttr) and isinstance(high, FloatAttr)
    return low.value.data, high.value.data


def whole_range(op: ClipOp, emit: Emitter) -> SSAValue | None:
    """clip(x) to all that an integer type holds ──► x"""
    if is_floating(op.data) or op.data.type.element_type == i1:
        return None
    dtype = dtype_of(op.data.type.element_type)
    low, high = _whole_bounds(op)
    # The largest 64-bit integers cannot be bounds: as floating point they round out of range.
    if dtype.itemsize > 4:
        return None
    return op.data if low <= lowest(dtype) and high >= highest(dtype) else None


def clipped_round_trip(op: CastOp, emit: Emitter) -> SSAValue | None:
    """cast(cast(clip(x))) back to the type of x ──► clip(x), where the bounds fit in between"""
    inner = op.data.owner
    if not isinstance(inner, CastOp) or inner.data.type != op.result.type:
        return None
    clip = inner.data.owner
    if not isinstance(clip, ClipOp) or is_floating(clip.data) or is_floating(inner.result):
        return None
    low, high = _whole_bounds(clip)
    dtype = dtype_of(inner.result.type.element_type)
    if dtype == np.bool_ or not lowest(dtype) <= low <= high <= highest(dtype):
        return None
    return inner.data
