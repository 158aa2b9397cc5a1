"""
What targets have in place of operators on quantised tensors: factors of other integers, and look-up tables.

    int16      factors without their zero points, as `relay.nn.conv2d` and `relay.nn.dense` of 16-bit integers
    ui8 × i8   the same operator on factors of other dtypes: 128 more or less than before, as the zero point
    look-up    relay.take of a table of 256 elements, for functions of 8-bit integers

Source: Relay's `FTVMQnnLegalize`.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerType, i8, i16, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.arithmetic import QNN_UNARY_OPS, QnnUnaryOp
from xrelay.dialects.qnn.parameters import is_scalar, ui8
from xrelay.dialects.qnn.products import QnnConv2DOp, QnnConv2DTransposeOp, QnnDenseOp, QnnProductOp
from xrelay.dialects.shapes import element_type_of, shape_of
from xrelay.dialects.tensor.binary import AddOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import constant_op, known_array
from xrelay.transforms.rules.emitting import cast
from xrelay.transforms.rules.folding import folded
from xrelay.transforms.rules.legalize.tables import LegalTable
from xrelay.transforms.rules.rewriting import Emitter, Rule

Pairs: TypeAlias = Mapping[tuple[IntegerType, IntegerType], tuple[IntegerType, IntegerType]]
"""The dtypes that factors get, by those that they have."""

SHIFT = 128
"""How far the numbers of `ui8` are from those of `i8`."""


def without_zero_point(
    emit: Emitter,
    value: SSAValue,
    zero_point: SSAValue,
    axis: int | None,
    dtype: IntegerType,
) -> SSAValue:
    """`value` - `zero_point` as integers of `dtype`; the zero point may have one element for each index of `axis`."""
    wide = emit(CastOp(value, dtype))
    known = known_array(zero_point)
    if known is not None and not known.any():
        return wide
    zero_point = cast(emit, zero_point, dtype)
    if shape_of(zero_point):
        rank = len(shape_of(value))
        whole = axis is None or is_scalar(zero_point)
        newshape = [1 if whole or each != axis else -1 for each in range(rank)]
        zero_point = emit(ReshapeOp(zero_point, newshape))
    return emit(SubtractOp(wide, zero_point))


def of_short_integers(op: QnnProductOp, emit: Emitter) -> SSAValue | None:
    """A product of 16-bit integers, which hold what is left of 8-bit ones without zero points that are such."""
    zeros = [known_array(zero) for zero in op.operands[2:4]]
    for factor, zero in zip(op.operands[:2], zeros, strict=True):
        limits = np.iinfo(dtype_of(element_type_of(factor)))
        if zero is None or not np.all((limits.min <= zero) & (zero <= limits.max)):
            return None
    lhs = without_zero_point(emit, op.operands[0], op.operands[2], None, i16)
    rhs = without_zero_point(emit, op.operands[1], op.operands[3], op.channel_axis, i16)
    return emit(op.integer_product(lhs, rhs))


def _other_integers(
    emit: Emitter, value: SSAValue, zero_point: SSAValue, dtype: IntegerType
) -> tuple[SSAValue, SSAValue]:
    """Quantized numbers as integers of the other sign, and their zero point."""
    if element_type_of(value) == dtype:
        return value, zero_point
    shift = SHIFT if dtype == ui8 else -SHIFT
    wide = cast(emit, value, i32)
    moved = cast(emit, emit(AddOp(wide, emit.scalar(shift, wide))), dtype)
    return moved, folded(emit, AddOp(zero_point, emit.scalar(shift, zero_point)))


def of_dtypes(pairs: Pairs) -> Rule:
    """A product with factors of the dtypes that `pairs` has for theirs."""

    def build(op: QnnProductOp, emit: Emitter) -> SSAValue | None:
        lhs, rhs, lhs_zero, rhs_zero, *scales = op.operands
        for found, wanted in pairs.items():
            if (element_type_of(lhs), element_type_of(rhs)) == found:
                lhs, lhs_zero = _other_integers(emit, lhs, lhs_zero, wanted[0])
                rhs, rhs_zero = _other_integers(emit, rhs, rhs_zero, wanted[1])
                return emit(type(op).of([lhs, rhs, lhs_zero, rhs_zero, *scales], op.properties))
        return None

    return build


def looked_up(op: QnnUnaryOp, emit: Emitter) -> SSAValue | None:
    """A function of 8-bit integers as a table of its values, in the order of the integers."""
    if any(known_array(parameter) is None for parameter in op.operands[1:]):
        return None
    limits = np.iinfo(dtype_of(element_type_of(op.data)))
    every = constant_op(np.arange(limits.min, limits.max + 1).astype(limits.dtype))
    table = folded(emit, type(op).of([every.result, *op.operands[1:]], op.properties))
    place = cast(emit, op.data, i32)
    if limits.min:
        place = emit(SubtractOp(place, emit.scalar(limits.min, place)))
    return emit(TakeOp(table, place, axis=0))


FUNCTIONS: LegalTable = dict.fromkeys(QNN_UNARY_OPS, looked_up)
GENERIC: LegalTable = {**FUNCTIONS, QnnConv2DTransposeOp: of_short_integers}
"""What all targets have."""

VNNI: Pairs = {(i8, i8): (ui8, i8), (i8, ui8): (ui8, i8), (ui8, ui8): (ui8, i8)}
SIGNED: Pairs = {(i8, ui8): (i8, i8), (ui8, i8): (i8, i8), (ui8, ui8): (i8, i8)}
ALIKE: Pairs = {(i8, ui8): (ui8, ui8), (ui8, i8): (i8, i8)}


def _table(rule: Rule) -> LegalTable:
    factors: tuple[type[Operation], ...] = (QnnConv2DOp, QnnDenseOp)
    return {**GENERIC, **dict.fromkeys(factors, rule)}


INTEGER_TABLES: Mapping[str, LegalTable] = {
    "arm": _table(of_short_integers),
    "arm-dotprod": _table(of_dtypes(ALIKE)),
    "cuda": _table(of_dtypes(SIGNED)),
    "generic": GENERIC,
    "x86": _table(of_short_integers),
    "x86-vnni": _table(of_dtypes(VNNI)),
}
"""The tables of targets: those without instructions for products of bytes prefer 16 bits."""
