"""
`canonicalize-cast`: each elementwise user of a widening cast gets a cast of its own.

    %0 = relay.cast %x : i8 to i32             %0 = relay.cast %x
    %1 = relay.add %0, %a               ──►    %1 = relay.add %0, %a
    %2 = relay.add %0, %b                      %2 = relay.cast %x
                                               %3 = relay.add %2, %b

Groups of fusion then hand on the narrow tensor, and each widens it for itself. The first use by an elementwise or
broadcasting operator keeps the cast, and so do all uses by others (products, tuples, results of functions), which it
shares. What a copied cast widens further is copied with it, which the original leaves to a second run. Casts to as many
or fewer bits stay shared. In the bodies of `relay.fused` and `relay.composite`, and in functions for other compilers,
nothing changes.

Run it before `fuse-ops`. `eliminate-common-subexpr` undoes it.

Source: Relay's CanonicalizeCast.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.unary import CastOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind


def _bits(dtype: Attribute) -> int:
    assert isinstance(dtype, FixedBitwidthType)
    return dtype.bitwidth


def is_widening(value: SSAValue) -> bool:
    """Whether a value is what a cast to more bits gives."""
    op = value.owner
    if not isinstance(op, CastOp) or not is_tensor_type(op.data.type):
        return False
    return _bits(op.data.type.element_type) < _bits(op.dtype)


def copied_casts(op: Operation, used: set[SSAValue]) -> None:
    """Gives an operator casts of its own for those that are used already, and notes the others."""
    operands = list(op.operands)
    for index, operand in enumerate(operands):
        if not is_widening(operand):
            continue
        if operand not in used:
            used.add(operand)
            continue
        cast = operand.owner
        assert isinstance(cast, CastOp)
        new = CastOp(cast.data, cast.dtype)
        new.location = cast.location
        new.result.name_hint = operand.name_hint
        Rewriter.insert_op(new, InsertPoint.before(op))
        used.add(new.result)
        operands[index] = new.result
        # A cast is elementwise, too: of a chain of widening casts, which is short, all are copied.
        copied_casts(new, used)
    if operands != list(op.operands):
        op.operands = operands


@dataclass(frozen=True)
class CanonicalizeCastPass(RelayPass):
    """Gives elementwise users of a widening cast a cast each."""

    name = "canonicalize-cast"

    def rewrite(self, op: ModuleOp) -> None:
        used: set[SSAValue] = set()
        is_kept = Within(keeps_body)
        for each in list(walk(op)):
            is_elementwise = pattern_kind(each) <= OpPatternKind.BROADCAST
            if isinstance(each, RelayOp) and is_elementwise and not is_kept(each):
                copied_casts(each, used)
