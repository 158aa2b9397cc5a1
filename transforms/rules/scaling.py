"""Products and quotients by a number."""

from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import DivideOp, MultiplyOp


def scaled_operand(op: Operation) -> int | None:
    """The place of the operand that a product or quotient scales by a number; None for other operations."""
    if isinstance(op, MultiplyOp | DivideOp) and is_single_number(op.rhs):
        return 0
    return 1 if isinstance(op, MultiplyOp) and is_single_number(op.lhs) else None


def is_single_number(value: SSAValue) -> bool:
    """Whether a value is a constant of one element and one axis at most."""
    return number_of(value) is not None and shape_of(value) in ((), (1,))
