"""Operators that rules compute at once where their operands are known."""

from functools import cache

from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.relay import relay_interpreter
from xrelay.transforms.rules.rewriting import Emitter

_interpreter = cache(relay_interpreter)


def folded(emit: Emitter, op: RelayOp) -> SSAValue:
    """The result of a new operator, a constant where its operands are constants."""
    operands = [known_array(operand) for operand in op.operands]
    if any(operand is None for operand in operands):
        return emit(op)
    (result,) = _interpreter().run_op(op, tuple(operands))
    op.drop_all_references()
    return emit.constant(result)
