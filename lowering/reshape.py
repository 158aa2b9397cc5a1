"""Kernel code of the operators that change the shape only: offsets stay as they are."""

from xdsl.ir import Operation

from xrelay.dialects import reshape
from xrelay.lowering.evaluate import Demand, Evaluator, Rule, RuleFunction, shape_of
from xrelay.lowering.position import Position, linear


def _reshape(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    offset = position.offset(ev.b)
    shape = shape_of(op.operands[0])
    return (yield Demand((op.operands[0], 0), linear(shape, offset, position.lanes)))


RULES: dict[type[Operation], RuleFunction] = dict.fromkeys(reshape.RESHAPE_OPS, _reshape)
