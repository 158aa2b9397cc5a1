"""Which parts of a program belong to somebody else and are not rewritten."""

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from xrelay.dialects.core import CompositeOp, FusedOp

UNFUSED_FUNCTIONS = ("Compiler", "Extern", "SkipOptimization", "Primitive")
"""Attributes of functions that Relay's function passes leave alone."""


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
