"""Rules on products, quotients and powers, and numbers that change nothing."""

from math import frexp, isfinite

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import same_type
from xrelay.dialects.tensor.binary import (
    AddOp,
    BroadcastBinaryOp,
    DivideOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
)
from xrelay.dialects.tensor.unary import RsqrtOp, SqrtOp
from xrelay.interpreters.arrays import held_elements
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.rewriting import Emitter, is_floating
from xrelay.transforms.rules.simplify.steps import last_place_shows


def divide_by_root(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """x / sqrt(y) ──► x * rsqrt(y)"""
    root = op.rhs.owner
    if not isinstance(root, SqrtOp):
        return None
    return emit(MultiplyOp(op.lhs, emit(RsqrtOp(root.data))))


def divide_by_own_root(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """
    The same where nothing else uses the root, so that there are no two roots afterwards, and the last place of the
    quotient does not show.
    """
    is_alone = op.rhs.has_one_use() and not last_place_shows(op.result, op.lhs)
    return divide_by_root(op, emit) if is_alone else None


def divide_by_power_of_two(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """x / 8 ──► x * 0.125: both are exact, or rounded once."""
    divisor = number_of(op.rhs)
    if not is_floating(op.rhs) or not divisor or not isfinite(divisor):
        return None
    mantissa, exponent = frexp(divisor)
    # Neither number may be subnormal in any type.
    if abs(mantissa) != 0.5 or not -13 <= exponent <= 13:
        return None
    return emit(MultiplyOp(op.lhs, emit.scalar(1 / divisor, op.rhs)))


def divide_by_constant(op: DivideOp, emit: Emitter) -> SSAValue | None:
    """x / c ──► x * (1 / c), with `reassociate`: where the last place of the quotient does not show"""
    divisor = known_array(op.rhs)
    if divisor is None or not is_floating(op.rhs) or divisor.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        factor = divisor.dtype.type(1) / divisor
    smallest = np.finfo(divisor.dtype).tiny
    if not np.all(np.isfinite(factor) & (abs(factor) >= smallest) & (abs(divisor) >= smallest)):
        return None
    if last_place_shows(op.result, op.lhs):
        return None
    return emit(MultiplyOp(op.lhs, emit.constant(np.asarray(factor, divisor.dtype))))


def small_power(op: PowerOp, emit: Emitter) -> SSAValue | None:
    """x ** 1 ──► x, x ** 2 ──► x * x, x ** 3 ──► x * x * x"""
    exponent = number_of(op.rhs)
    if not same_type(op.lhs.type, op.result.type) or exponent not in (1, 2, 3):
        return None
    result = op.lhs
    for _ in range(int(exponent) - 1):
        result = emit(MultiplyOp(result, op.lhs))
    return result


def doubled(op: AddOp, emit: Emitter) -> SSAValue | None:
    """x + x ──► x * 2"""
    if op.lhs is not op.rhs or op.result.type.element_type == i1:
        return None
    return emit(MultiplyOp(op.lhs, emit.scalar(2, op.lhs)))


def _neutral(op: BroadcastBinaryOp) -> SSAValue | None:
    """The operand that an addition, … passes on, were there no signed zeros."""
    number = 0 if isinstance(op, AddOp | SubtractOp) else 1
    if certainly(number_of(op.rhs), number):
        return op.lhs
    if isinstance(op, AddOp | MultiplyOp) and certainly(number_of(op.lhs), number):
        return op.rhs
    return None


def identity(op: BroadcastBinaryOp, emit: Emitter) -> SSAValue | None:
    """x * 1, x / 1, x - 0 and x + (-0) ──► x; for integers x + 0 too"""
    result = _neutral(op)
    if result is None or not isinstance(op, AddOp | SubtractOp) or not is_floating(result):
        return result
    zero = known_array(op.lhs if result is op.rhs else op.rhs)
    assert zero is not None
    signs = np.signbit(held_elements(zero))
    return result if np.all(signs if isinstance(op, AddOp) else ~signs) else None


def zero_identity(op: BroadcastBinaryOp, emit: Emitter) -> SSAValue | None:
    """x + 0 ──► x, with `ignore-signed-zeros`"""
    return _neutral(op)
