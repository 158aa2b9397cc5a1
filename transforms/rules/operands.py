"""Operands that are exchanged, operations that are put in. Light: passes that need no arrays use it."""

from collections.abc import Iterable, Mapping

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter


def exchange_operands(ops: Iterable[Operation], replaced: Mapping[SSAValue, SSAValue]) -> None:
    """
    Puts values in the place of others, for all operands of an operation at once: a single new operand
    costs xDSL a pass over all of them, and a tuple may have thousands.
    """
    for op in ops:
        if any(operand in replaced for operand in op.operands):
            op.operands = [replaced.get(operand, operand) for operand in op.operands]


def insert_before(place: Operation, op: Operation) -> SSAValue:
    """Puts a new operation, with the location of another one, in front of that. Returns its result."""
    op.location = place.location
    Rewriter.insert_op(op, InsertPoint.before(place))
    return op.results[0]
