"""
Which operators of a group get loops of their own, and which of them is the anchor.

The anchor is the last operator with a strategy, when every operator between it and the result
works element by element: then what remains of the group runs on its registers.
"""

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.nn.norm import BatchNormOp, BiasAddOp, PReluOp
from xrelay.dialects.qnn.arithmetic import QnnLookupOp
from xrelay.dialects.shapes import leaf_types, same_shape
from xrelay.dialects.tensor.binary import BINARY_OPS
from xrelay.dialects.tensor.bits import BIT_OPS
from xrelay.dialects.tensor.transcendental import TRANSCENDENTAL_OPS
from xrelay.dialects.tensor.transform import ConcatenateOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import UNARY_OPS
from xrelay.dialects.traits import ReshapeOnly
from xrelay.lowering.emit.evaluate import leaf_shape
from xrelay.lowering.emit.group import Group
from xrelay.lowering.operators.nn.norm import channel_shape
from xrelay.lowering.operators.tensor.joining import STRATEGIES as JOINING
from xrelay.lowering.operators.tensor.joining import has_many_fields, joins_rows
from xrelay.lowering.operators.tensor.transpose import moves_last_axis
from xrelay.lowering.program.registry import RULES, STRATEGIES

ELEMENTWISE = (
    *(*UNARY_OPS, *TRANSCENDENTAL_OPS, *BIT_OPS, *BINARY_OPS),
    *(WhereOp, BiasAddOp, PReluOp, QnnLookupOp),
)
"""Operators whose result elements depend on operand elements at the same index."""
BROADCASTING = (*ELEMENTWISE, BatchNormOp)


def can_have_loops(op: Operation) -> bool:
    """Whether an operator can get loops of its own."""
    joins = has_many_fields(op) or joins_rows(op)
    return type(op) in STRATEGIES and (type(op) not in JOINING or joins)


def needs_loops(op: Operation) -> bool:
    """Whether an operator cannot be computed without loops of its own."""
    return can_have_loops(op) and (type(op) not in RULES or has_many_fields(op))


def complex_operators(group: Group) -> list[Operation]:
    """
    The operators that get loops of their own: those with a strategy. Operators that can be evaluated
    on demand, too, get them only for many fields, or when there is no other: the last change of layout,
    and after it the last transpose that moves the last axis, or what joins tensors along it, if the rest of the group can run
    on its registers.
    """
    needed = [op for op in group.ops if needs_loops(op)]
    if needed:
        return needed
    having = [op for op in group.ops if can_have_loops(op)]
    layouts = [op for op in having if not isinstance(op, TransposeOp | ConcatenateOp)][-1:]
    after = having[having.index(layouts[0]) :] if layouts else having
    moving = (op for op in after if moves_last_axis(op) or joins_rows(op))
    last = [op for op in moving if can_be_anchor(op, group)][-1:]
    return [*layouts, *last]


def can_be_anchor(op: Operation, group: Group) -> bool:
    """Whether everything between an operator and the result can run on its registers."""
    if len(leaf_types(group.result.type)) != 1:
        return False
    inner = without_last_reshapes(group)
    return keeps_indices(reshaped(op.results[0], inner), inner)


def without_last_reshapes(group: Group) -> Group:
    """A group up to the reshapes that end it, which an anchor does by storing elsewhere."""
    ops, result = list(group.ops), group.result
    while ops and ops[-1].has_trait(ReshapeOnly) and ops[-1].results[0] is result:
        result = ops.pop().operands[0]
    return replace(group, ops=tuple(ops), result=result)


def reshaped(value: SSAValue, group: Group) -> SSAValue:
    """A tensor after the reshapes that nothing else in the group comes before."""
    while value is not group.result:
        users = [op for op in group.ops if value in op.operands]
        if len(users) != 1 or not users[0].has_trait(ReshapeOnly):
            break
        value = users[0].results[0]
    return value


def keeps_indices(value: SSAValue, group: Group) -> bool:
    """
    Whether every use of a tensor on the way to the result is at the index of the result. False
    where the result does not depend on it.
    """
    result = group.result
    shape = leaf_shape((value, 0))
    if not same_shape(leaf_shape((result, 0)), shape):
        return False
    depends: set[SSAValue] = {value}
    for op in group.ops:
        used = [i for i, operand in enumerate(op.operands) if operand in depends]
        if not used:
            continue
        same_place = all(
            same_shape(leaf_shape((op.operands[i], 0)), shape) and channel_shape(op, i) is None
            for i in used
        )
        if not isinstance(op, ELEMENTWISE) or not same_place:
            return False
        depends.add(op.results[0])
    return result in depends
