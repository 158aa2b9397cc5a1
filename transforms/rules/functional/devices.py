"""
On which device what has no name is, by what is around it: `relay.on_device` that constrains both its sides, and the
attribute `virtual_device` of functions, hold for what is in them that states no other one.
"""

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.dependencies import Dependencies
from xrelay.analysis.facts.device_plan import device_attribute
from xrelay.dialects.core.device import OnDeviceOp, VirtualDeviceAttr
from xrelay.dialects.core.functional import ClosureOp, LetOp
from xrelay.dialects.core.values import CompositeOp

UNCONSTRAINED = VirtualDeviceAttr()


def is_fixed(op: Operation | None) -> bool:
    """Whether `op` is a `relay.on_device` that constrains its body and its result."""
    return (
        isinstance(op, OnDeviceOp)
        and bool(op.constrain_body.value.data)
        and bool(op.constrain_result.value.data)
    )


def surrounding_devices(
    dependencies: Dependencies, around: VirtualDeviceAttr = UNCONSTRAINED
) -> dict[Operation, VirtualDeviceAttr]:
    """
    For each operation of a function the device of what first leads to it; `around` is that of the function itself, if
    it states none.
    """
    outermost = _stated(dependencies.function, around)
    found: dict[Operation, VirtualDeviceAttr] = {}
    for op, origin in reversed(dependencies.reached().items()):
        found[op] = outermost if origin is None else _stated(origin, found[origin])
    return found


def _stated(op: Operation, around: VirtualDeviceAttr) -> VirtualDeviceAttr:
    """The device of what is within an operation, or its operand."""
    match op:
        case OnDeviceOp() if is_fixed(op):
            stated = op.virtual_device
        case func.FuncOp() | ClosureOp() | CompositeOp():
            stated = device_attribute(op) or UNCONSTRAINED
        case _:
            stated = UNCONSTRAINED
    return around if stated == UNCONSTRAINED else stated


def names_behind(op: Operation) -> dict[SSAValue, LetOp]:
    """
    The `let`s that follow an operation and bind its results, one for each, maybe as a `relay.on_device` that
    constrains both its sides.
    """
    found: dict[SSAValue, LetOp] = {}
    following = op.next_op
    while True:
        stated = following if isinstance(following, OnDeviceOp) and is_fixed(following) else None
        let = following if stated is None else stated.next_op
        if not isinstance(let, LetOp) or (stated is not None and let.value is not stated.result):
            return found
        value = let.value if stated is None else stated.body
        if value.owner is not op or value in found:
            return found
        found[value] = let
        following = let.next_op


def needs_device(value: SSAValue, devices: Mapping[Operation, VirtualDeviceAttr]) -> bool:
    """
    Whether what a `let` binds has to state the device around it: there is one, and the value is neither a function, which
    has it in its attributes, nor `relay.on_device` another one.
    """
    op = value.owner
    assert isinstance(op, Operation)
    device = devices.get(op, UNCONSTRAINED)
    if device == UNCONSTRAINED or isinstance(op, ClosureOp):
        return False
    if not isinstance(op, OnDeviceOp):
        return True
    if op.constrain_result.value.data:
        return False
    return not op.constrain_body.value.data or op.virtual_device == device


def on_device_of(
    value: SSAValue, devices: Mapping[Operation, VirtualDeviceAttr], place: InsertPoint
) -> SSAValue:
    """The result of an operation as a `let` binds it, with the device that it needs."""
    op = value.owner
    if not needs_device(value, devices):
        return value
    assert isinstance(op, Operation)
    device = devices[op]
    if isinstance(op, OnDeviceOp):
        op.virtual_device = device
        op.constrain_result = BoolAttr.from_bool(True)
        return value
    stated = OnDeviceOp(value, device, constrain_result=True)
    stated.location = op.location
    Rewriter.insert_op(stated, place)
    return stated.result
