"""
`legalize-quantized-conversions`: conversions of quantised tensors, element by element in floating point.

    %0 = relay.qnn.quantize %x, %s, %z       relay.cast (round (%x / %s) + %z) to ui8, which clamps

    %0 = relay.qnn.dequantize %q, %s, %z     (cast %q to f32 - %z) * %s, for each operator that uses it
         (%z that is not known is taken off 32-bit integers, which may wrap around)

    %0 = relay.qnn.requantize %q, %s, …      relay.cast (round (cast %q to f32 * (%s / %t)) + %z)
         (in f32 or f64, halves to even)

What is known is computed at once, zero points of 0 are left out. These operators fuse with others, and images may
get other layouts around them. Of `relay.qnn.dequantize` of integers of 8 or 16 bits each user gets its own, so that
what lies in memory are these integers.

Leaves alone: other roundings of `relay.qnn.requantize`, which have kernels of their own; dequantized integers of 32
bits with a zero point, whose difference wraps around; `relay.composite`, which a backend knows by its shape, and
functions for other compilers. Run it after passes that take algebra for exact (`simplify-expr` with
`reassociate`): what they would make of a quotient rounds to other integers.

Source: Relay's qnn.Canonicalize.
"""

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Operation, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp, QnnRequantizeOp
from xrelay.dialects.qnn.parameters import is_scalar
from xrelay.dialects.shapes import element_type_of, shape_of
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import CastOp, RoundOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.folding import folded
from xrelay.transforms.rules.rewriting import Emitter, apply_rule

EXACT = 2**23
"""Whole numbers below this differ by numbers that f32 has."""


def _along(emit: Emitter, parameter: SSAValue, axis: int, like: SSAValue) -> SSAValue:
    """A scale or zero point, in a shape that broadcasts with a tensor."""
    rank = len(shape_of(like))
    if is_scalar(parameter):
        return folded(emit, ReshapeOp(parameter, [])) if shape_of(parameter) else parameter
    return folded(emit, ReshapeOp(parameter, [-1, *[1] * (rank - axis - 1)]))


def _has_only(value: SSAValue, number: float) -> bool:
    known = known_array(value)
    return known is not None and bool(np.all(known == number))


def _is_small(zero: SSAValue) -> bool:
    """Whether differences of bytes and a zero point are numbers of f32, and do not wrap around in 32 bits."""
    known = known_array(zero)
    return known is not None and bool(np.all(np.abs(known.astype(np.int64)) < EXACT))


def _minus_zero_point(
    emit: Emitter, data: SSAValue, zero: SSAValue, axis: int, dtype: TypeAttribute
) -> SSAValue:
    wide = cast(emit, data, dtype)
    if _has_only(zero, 0):
        return wide
    real = folded(emit, CastOp(_along(emit, zero, axis, data), dtype))
    return emit(SubtractOp(wide, real))


def _rounded(
    emit: Emitter, value: SSAValue, zero: SSAValue, axis: int, dtype: TypeAttribute
) -> SSAValue:
    """The whole numbers next to others, moved by a zero point and clamped to the range of a dtype."""
    whole = emit(RoundOp(value))
    if not _has_only(zero, 0):
        real = folded(emit, CastOp(_along(emit, zero, axis, value), element_type_of(value)))
        whole = emit(AddOp(whole, real))
    return emit(CastOp(whole, dtype))


def quantized(op: QnnQuantizeOp, emit: Emitter) -> SSAValue:
    """round(x / scale) + zero point"""
    axis, scale, value = op.channel_axis, op.output_scale, op.data
    if not _has_only(scale, 1):
        value = emit(DivideOp(value, _along(emit, scale, axis, value)))
    return _rounded(emit, value, op.output_zero_point, axis, op.out_dtype)


def dequantized(op: QnnDequantizeOp, emit: Emitter) -> SSAValue | None:
    """(q - zero point) * scale"""
    if element_type_of(op.data) == i32 and not _has_only(op.input_zero_point, 0):
        return None
    if _is_small(op.input_zero_point):
        centered = _minus_zero_point(emit, op.data, op.input_zero_point, op.channel_axis, f32)
    else:
        whole = _minus_zero_point(emit, op.data, op.input_zero_point, op.channel_axis, i32)
        centered = emit(CastOp(whole, f32))
    return emit(MultiplyOp(centered, _along(emit, op.input_scale, op.channel_axis, op.data)))


def requantized(op: QnnRequantizeOp, emit: Emitter) -> SSAValue | None:
    """round((q - zero point) * (scale / new scale)) + new zero point"""
    real = op.float_dtype
    if not op.rounds_to_even or real is None:
        return None
    axis, dtype = op.channel_axis, op.result.type.element_type
    assert isinstance(dtype, TypeAttribute)
    centered = _minus_zero_point(emit, op.data, op.input_zero_point, axis, real)
    scales = (folded(emit, CastOp(scale, real)) for scale in (op.input_scale, op.output_scale))
    ratio = folded(emit, DivideOp(*scales))
    moved = emit(MultiplyOp(centered, _along(emit, ratio, axis, op.data)))
    return _rounded(emit, moved, op.output_zero_point, 0, dtype)


class LegalizeConversion(RewritePattern):
    """Rewrites a conversion as operators on elements."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match op:
            case QnnQuantizeOp():
                apply_rule(quantized, op, rewriter)
            case QnnDequantizeOp():
                for each in one_for_each_user(op):
                    apply_rule(dequantized, each, PatternRewriter(each))
            case QnnRequantizeOp():
                apply_rule(requantized, op, rewriter)
            case _:
                pass


def one_for_each_user(op: QnnDequantizeOp) -> list[QnnDequantizeOp]:
    """An operation and copies of it, each with one user; itself where its integers are no smaller than numbers."""
    if element_type_of(op.data) == i32:
        return [op]
    ops: list[QnnDequantizeOp] = []
    for user in dict.fromkeys(use.operation for use in op.result.uses):
        each = op
        if ops:
            each = op.clone()
            Rewriter.insert_op(each, InsertPoint.before(op))
            each.result.name_hint = op.result.name_hint
            for index, operand in enumerate(user.operands):
                if operand is op.result:
                    user.operands[index] = each.result
        ops.append(each)
    return ops or [op]


@dataclass(frozen=True)
class LegalizeQuantizedConversionsPass(RelayPass):
    """Computes conversions of quantised tensors element by element in floating point."""

    name = "legalize-quantized-conversions"

    def rewrite(self, op: ModuleOp) -> None:
        PatternWalker(
            Outside(belongs_to_backend, LegalizeConversion()), apply_recursively=False
        ).rewrite_module(op)
