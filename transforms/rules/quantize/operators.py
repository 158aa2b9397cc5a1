"""
What operators on numbers become on the integers that stand for them: one line an operator in RELAY_RULES, for what
Relay's pass knows, whose parts `moving.py` and `products.py` have, or in MORE_RULES.

A rule gets the operator, its operands on integers (`Quantized`) and the place where it emits; it raises Kept, or leaves
the VerifyException of an operator, where the numbers would be others than roundings explain. What stands for what
afterwards is part of the result.

Source: Relay's functions `FTVMFakeQuantizationToInteger`.
"""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import may_pad
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.pool.adaptive import AdaptiveAvgPool1DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp
from xrelay.dialects.qnn import arithmetic as qnn
from xrelay.dialects.qnn.conversion import QnnConcatenateOp
from xrelay.dialects.shapes import same_shape, shape_of
from xrelay.dialects.tensor.binary import AddOp, MaximumOp, MinimumOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reduce import MeanOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.tensor.unary import (
    AbsOp,
    ErfOp,
    ExpOp,
    LeakyReluOp,
    LogOp,
    RsqrtOp,
    SigmoidOp,
    SqrtOp,
    TanhOp,
)
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.quantize.axes import MORE_MOVES
from xrelay.transforms.rules.quantize.constants import held_constant
from xrelay.transforms.rules.quantize.moving import (
    MOVING_RULES,
    moved,
    on_integers,
    require_elements,
    same,
)
from xrelay.transforms.rules.quantize.products import PRODUCT_RULES
from xrelay.transforms.rules.quantize.values import (
    Affine,
    IntegerRule,
    Kept,
    Quantized,
    Site,
    requantized,
)

# -- functions, sums and means: what they give depends on what the result has to stand for ---------


def _unary(integers: type[RelayOp]) -> IntegerRule:
    def build(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
        kind, out = args[0].affine, _out_of(args[0].affine, site)
        operands = [args[0].value, *kind.parameters, *out.parameters]
        return Quantized(site.emit(integers.of(operands, op.properties)), out)

    return IntegerRule(build, needs_out=True)


def _out_of(kind: Affine, site: Site) -> Affine:
    """
    What a result stands for whose integers are of the dtype of the operand: the numbers of the region's end where they
    have that dtype, and those of the operand where this has 32 bits, which hold about all numbers.
    """
    if kind.dtype == site.wanted.dtype:
        return site.wanted
    if kind.dtype != i32:
        raise Kept(f"integers of {kind.dtype} become {site.wanted.dtype} in between")
    return kind


def _operands(op: Operation, args: list[Quantized], site: Site) -> tuple[Quantized, Quantized]:
    """Both operands as integers: a constant takes the scale and the zero point of the other one."""
    if all(arg.kind is None for arg in args):
        raise Kept("no operand is quantized")
    found: list[Quantized] = []
    for number, arg in enumerate(args):
        if arg.kind is None:
            arg = held_constant(op, arg, args[1 - number].affine, site)
        found.append(arg)
    return found[0], found[1]


def _binary(integers: type[qnn.QnnBinaryOp]) -> IntegerRule:
    def build(op: Operation, args: list[Quantized], site: Site) -> Quantized:
        left, right = _operands(op, args, site)
        one, other = left.affine, right.affine
        if isinstance(op, AddOp) and _is_biased(left, right):
            return Quantized(site.emit(AddOp(left.value, right.value)), one)
        out = _out_of(one, site)
        new = integers(
            left.value,
            right.value,
            *one.parameters,
            *other.parameters,
            *out.parameters,
            lhs_axis=one.axis,
            rhs_axis=other.axis,
        )
        return Quantized(site.emit(new), out)

    return IntegerRule(build, needs_out=True)


def _is_biased(left: Quantized, right: Quantized) -> bool:
    """Whether both are sums of products with one scale, so that their integers can be added."""
    one, other = left.affine, right.affine
    if one.dtype != i32 or other.dtype != i32 or not (one.is_centred and other.is_centred):
        return False
    if not (one.is_whole and other.is_whole) and not same_shape(
        shape_of(left.value), shape_of(right.value)
    ):
        return False
    return one.is_near(other, left.value)


def _extreme(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    left, right = _operands(op, args, site)
    out = _out_of(left.affine, site)
    if not out.is_whole:
        raise Kept(f"the result of {op.name} has scales of channels")
    same_kind = [
        each
        if each.affine.is_near(out, each.value)
        else requantized(site.emit, each, out, out.dtype)
        for each in (left, right)
    ]
    return Quantized(on_integers(op, same_kind, site), out)


def _concatenate(op: ConcatenateOp, args: list[Quantized], site: Site) -> Quantized:
    kinds, out = args[0].kind, site.wanted
    if not isinstance(kinds, tuple) or any(kind.dtype != out.dtype for kind in kinds):
        raise Kept(f"fields of {op.name} are not all of {out.dtype}")
    scales = site.emit(TupleOp([kind.scale for kind in kinds]))
    zeros = site.emit(TupleOp([kind.zero_point for kind in kinds]))
    new = QnnConcatenateOp(args[0].value, scales, zeros, *out.parameters, axis=op.axis)
    return Quantized(site.emit(new), out)


def _average(op: RelayOp, args: list[Quantized], site: Site) -> Quantized:
    """Means of integers of 32 bits that stand for numbers of the region's end."""
    data, kind, out = args[0], args[0].affine, site.wanted
    wide = replace(out, dtype=i32)
    if kind.is_near(out, data.value):
        data = Quantized(cast(site.emit, data.value, i32), replace(wide, axis=kind.axis))
    else:
        data = requantized(site.emit, data, out, i32)
    if not out.is_centred and isinstance(op, AvgPool2DOp) and _counts_padding(op):
        raise Kept(f"{op.name} counts zeros around images whose zero point is another")
    return Quantized(on_integers(op, [data], site), moved(op, wide))


def _counts_padding(op: AvgPool2DOp) -> bool:
    return bool(op.count_include_pad.value.data) and may_pad(op.pads)


def _mean(op: MeanOp, args: list[Quantized], site: Site) -> Quantized:
    """Sums have twice the width at least."""
    require_elements(op)
    kind = args[0].affine
    wide = cast(site.emit, args[0].value, i64 if kind.dtype == i32 else i32)
    result = on_integers(op, [Quantized(wide, kind)], site)
    return Quantized(cast(site.emit, result, kind.dtype), moved(op, kind))


RELAY_RULES: Mapping[type[Operation], IntegerRule] = {
    **MOVING_RULES,
    **PRODUCT_RULES,
    AbsOp: _unary(qnn.QnnAbsOp),
    AdaptiveAvgPool1DOp: IntegerRule(_average, needs_out=True),
    AddOp: _binary(qnn.QnnAddOp),
    AvgPool2DOp: IntegerRule(_average, needs_out=True),
    ConcatenateOp: IntegerRule(_concatenate, needs_out=True),
    ErfOp: _unary(qnn.QnnErfOp),
    ExpOp: _unary(qnn.QnnExpOp),
    GlobalAvgPool2DOp: IntegerRule(_average, needs_out=True),
    LeakyReluOp: _unary(qnn.QnnLeakyReluOp),
    LogOp: _unary(qnn.QnnLogOp),
    MaximumOp: IntegerRule(_extreme, needs_out=True),
    MeanOp: IntegerRule(_mean),
    MinimumOp: IntegerRule(_extreme, needs_out=True),
    MultiplyOp: _binary(qnn.QnnMulOp),
    RsqrtOp: _unary(qnn.QnnRsqrtOp),
    SigmoidOp: _unary(qnn.QnnSigmoidOp),
    SqrtOp: _unary(qnn.QnnSqrtOp),
    SubtractOp: _binary(qnn.QnnSubtractOp),
    TanhOp: _unary(qnn.QnnTanhOp),
}
"""What Relay's pass knows, and tuples."""

MORE_RULES: Mapping[type[Operation], IntegerRule] = {op: IntegerRule(same) for op in MORE_MOVES}
"""What is used for operators that are asked for by name."""
