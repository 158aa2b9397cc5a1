"""`relay.fused` and `relay.composite` as functions and calls of them, and back."""

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.dialects.core.functional import ApplyOp, ClosureOp, LetOp
from xrelay.dialects.core.values import CompositeOp, FusedOp
from xrelay.dialects.core.vm import VmReshapeTensorOp
from xrelay.interpreters.constants import constant_op

PRIMITIVE, COMPOSITE = "Primitive", "Composite"
"""The attributes of a `relay.closure` that stands for the function of a `relay.fused` or `relay.composite`."""
PATTERN, RESHAPE_ONLY = "PartitionedFromPattern", "relay.reshape_only"
"""What else these state, as Relay names it."""


def keeps_function(op: Operation) -> bool:
    """Whether `op` is the function of a `relay.fused`, the body of which passes on the language leave alone."""
    return isinstance(op, FusedOp) or (isinstance(op, ClosureOp) and PRIMITIVE in op.attributes)


def named(value: SSAValue) -> SSAValue:
    """The value that names stand for."""
    while isinstance(value.owner, LetOp):
        value = value.owner.value
    return value


def called_primitive(op: Operation) -> FusedOp | ClosureOp | None:
    """Which primitive function an operation calls, if it calls one that the program states as a value."""
    if isinstance(op, FusedOp):
        return op
    if isinstance(op, ApplyOp):
        function = named(op.function).owner
        if isinstance(function, ClosureOp) and PRIMITIVE in function.attributes:
            return function
    return None


def only_reshapes(function: FusedOp | ClosureOp) -> bool:
    """Whether a primitive function says of itself that it needs no kernel."""
    if isinstance(function, FusedOp):
        return function.reshape_only is not None
    return RESHAPE_ONLY in function.attributes


def reshaped_view(data: SSAValue, type_: TensorType[Attribute]) -> list[Operation]:
    """What makes a view of a tensor with the shape of a type; the last operation has it as its result."""
    dims = type_.get_shape()
    shape = constant_op(np.array(dims, np.int64))
    return [shape, VmReshapeTensorOp(data, shape.result, newshape=dims)]


def replace_call(call: FusedOp | ApplyOp, ops: list[Operation]) -> None:
    """Puts operations in the place of a call; a function value that nothing uses any more goes, with its names."""
    value = call.function if isinstance(call, ApplyOp) else None
    Rewriter.replace_op(call, ops)
    while value is not None and isinstance(value.owner, LetOp | ClosureOp) and not value.uses:
        op = value.owner
        value = op.value if isinstance(op, LetOp) else None
        Rewriter.erase_op(op)


def call_by_value(op: FusedOp | CompositeOp) -> tuple[ClosureOp, ApplyOp]:
    """Replaces `op` by its function and a call of that."""
    one = IntegerAttr(1, i32)
    closure = ClosureOp(op.detach_region(op.body))
    closure.attributes.update(op.attributes)
    if isinstance(op, FusedOp):
        closure.attributes[PRIMITIVE] = one
        if op.reshape_only is not None:
            closure.attributes[RESHAPE_ONLY] = one
    else:
        closure.attributes[COMPOSITE] = op.composite
        if op.partitioned_from_pattern is not None:
            closure.attributes[PATTERN] = op.partitioned_from_pattern
    call = ApplyOp(closure.result, op.args, op.result.type)
    closure.location = call.location = op.location
    Rewriter.replace_op(op, [closure, call], [call.result])
    return closure, call
