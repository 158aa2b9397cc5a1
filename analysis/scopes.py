"""Which parts of a program belong to somebody else and are not rewritten."""

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove

from xrelay.dialects.core import CompositeOp, FusedOp

SKIPPED_FUNCTIONS = ("Compiler", "Extern", "SkipOptimization")
"""Attributes of functions that Relay's function passes leave alone."""

UNFUSED_FUNCTIONS = (*SKIPPED_FUNCTIONS, "Primitive")
"""Attributes of functions whose operators are not rewritten one by one."""


def has_flag(op: Operation, names: Sequence[str]) -> bool:
    """Whether one of some attributes of `op` is set, to something other than 0 or false."""
    for name in names:
        value = op.attributes.get(name)
        if value is not None and not (isinstance(value, IntegerAttr) and value.value.data == 0):
            return True
    return False


def is_kept(op: Operation) -> bool:
    """
    Whether simplifications leave `op` as it is: within `relay.fused`, within `relay.composite`,
    which a backend knows by its shape, and within functions that have one of the
    UNFUSED_FUNCTIONS attributes.
    """
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, FusedOp | CompositeOp):
            return True
        if isinstance(parent, func.FuncOp) and has_flag(parent, UNFUSED_FUNCTIONS):
            return True
        parent = parent.parent_op()
    return False


def belongs_to_backend(op: Operation) -> bool:
    """Whether `op` is in a composite or in a function for another compiler."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, CompositeOp):
            return True
        if isinstance(parent, func.FuncOp) and has_flag(parent, UNFUSED_FUNCTIONS):
            return True
        parent = parent.parent_op()
    return False


def in_evaluation_order(function: func.FuncOp) -> Iterator[Operation]:
    """
    The operations of a function, those in the regions of another one before it, as Relay visits
    expressions. Isolated bodies, as of `relay.fused`, are not entered.
    """
    pending = [op for block in function.body.blocks for op in block.ops][::-1]
    entered: set[Operation] = set()
    while pending:
        op = pending[-1]
        if op.regions and op not in entered and not op.has_trait(IsolatedFromAbove):
            entered.add(op)
            inner = [child for region in op.regions for b in region.blocks for child in b.ops]
            pending.extend(reversed(inner))
            continue
        yield pending.pop()
