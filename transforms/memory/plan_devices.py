"""
`plan-devices`: every value gets a device, and copies stand where a value is needed on another one.

    func.func @main(%a, %b) {                     func.func @main(%a {cpu}, %b {gpu}) attributes {gpu} {
      %0 = relay.exp %a                             %0 = relay.exp %a
      %1 = relay.on_device %0 {cpu}        ──►      %1 = relay.on_device %0 {cpu, constrain_result}
      %2 = relay.add %1, %b                         %2 = relay.device_copy %1 {from cpu to gpu}
      return %2                                     %3 = relay.add %2, %b
                                                    return %3

`xrelay.analysis.facts.device_plan` has the rules. The plan is written down so that the device of each value follows from what
is around it: functions of the module state the device of each parameter and of the result in attributes `virtual_device`,
function values that of their result; what a `relay.let` binds, what a copy is made of, and arguments on another device than
the result of a call stand in a `relay.on_device` that constrains both its sides; names, parameters and functions need
none. Copies that copy nothing go, as do all other `relay.on_device`.

1. `on_device` as the result of a function, or bound by a `let`, constrains that too.
2. A field of a tuple `on_device` is the field `on_device`, so that the rest of the tuple is not copied.
3. Devices are planned.
4. The plan is written down.

Devices are DLPack's types: 1 is a CPU. The target of a device is the one that the program states for its type elsewhere.
A second run changes nothing. Primitive functions, and those for other compilers, stay as they are; calls of primitive
functions may have each argument on a device of its own.

Source: Relay's PlanDevices.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from xrelay.analysis.facts.device_domains import UNKNOWN, Device
from xrelay.analysis.facts.device_plan import DEVICE, DevicePlan, keeps_devices, planned_operations
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.adt import ConstructorOp
from xrelay.dialects.core.device import CPU, DeviceCopyOp, OnDeviceOp
from xrelay.dialects.core.functional import ClosureOp, GlobalVarOp, LetOp
from xrelay.dialects.core.values import CompositeOp, TupleGetItemOp
from xrelay.transforms.rules.operands import insert_before

STATED = (Block, LetOp, ClosureOp, GlobalVarOp, ConstructorOp)
"""What values have whose device is known without `on_device`."""


def is_one_sided(value: SSAValue) -> bool:
    """Whether a value is the result of an `on_device` that constrains its body only."""
    op = value.owner
    if not isinstance(op, OnDeviceOp):
        return False
    return bool(op.constrain_body.value.data) and not op.constrain_result.value.data


def on_device(value: SSAValue, device: Device, before: Operation) -> SSAValue:
    """A value with its device, stated in front of an operation if nothing else does."""
    if isinstance(value.owner, STATED):
        return value
    return insert_before(before, OnDeviceOp(value, device.attribute(), constrain_result=True))


def spread_annotations(ops: list[Operation]) -> None:
    """What `on_device` says of results of functions, names and fields of tuples."""
    for op in ops:
        is_result = op.has_trait(IsTerminator) and isinstance(
            op.parent_op(), func.FuncOp | ClosureOp | CompositeOp
        )
        if is_result or isinstance(op, LetOp):
            op.operands = [_constrained(value, op) for value in op.operands]
        elif isinstance(op, TupleGetItemOp) and is_one_sided(op.tuple_value):
            stated = op.tuple_value.owner
            assert isinstance(stated, OnDeviceOp)
            projection = TupleGetItemOp(stated.body, op.index)
            moved = OnDeviceOp(projection.result, stated.virtual_device)
            Rewriter.replace_op(op, [projection, moved], [moved.result])


def _constrained(value: SSAValue, user: Operation) -> SSAValue:
    """A value that is needed on the device on which it is computed, if it says so of its body."""
    stated = value.owner
    if not isinstance(stated, OnDeviceOp) or not is_one_sided(value):
        return value
    both = OnDeviceOp(stated.body, stated.virtual_device, constrain_result=True)
    Rewriter.insert_op(both, InsertPoint.before(user))
    return both.result


@dataclass
class Writer:
    """Writes a plan into the program."""

    plan: DevicePlan

    def write(self, ops: list[Operation]) -> None:
        """The devices of all operands, then those of functions."""
        done = [op for op in ops if self.is_done(op)]
        for op in ops:
            if self.is_done(op):
                continue
            around = self.around(op)
            op.operands = [self.operand(op, value, around) for value in op.operands]
            if not keeps_devices(op):
                self.state(op)
        for op in reversed(done):
            Rewriter.erase_op(op)

    def is_done(self, op: Operation | Block) -> bool:
        """Whether an operation has served: it is no copy, or copies nothing."""
        if isinstance(op, DeviceCopyOp):
            return self.plan.device(op.data) == self.plan.device(op.result)
        return isinstance(op, OnDeviceOp)

    def source(self, value: SSAValue) -> SSAValue:
        """A value without what is said of its device, and copies that copy nothing."""
        while isinstance(op := value.owner, Operation) and self.is_done(op):
            value = op.operands[0]
        return value

    def operand(self, user: Operation, value: SSAValue, around: Device) -> SSAValue:
        """
        What a user gets as an operand: a value on the device that the plan has for that. It is stated where it is
        not that of what is `around`.
        """
        source = self.source(value)
        there, here = self.plan.device(source), self.plan.device(value)
        found = source
        if there != here:
            found = on_device(source, there, user)
            copy = DeviceCopyOp(
                found, src_virtual_device=there.attribute(), dst_virtual_device=here.attribute()
            )
            found = insert_before(user, copy)
        return found if here == around else on_device(found, here, user)

    def around(self, user: Operation) -> Device:
        """The device that operands of an operation are on if nothing is said."""
        if isinstance(user, LetOp | DeviceCopyOp):
            return UNKNOWN
        if user.has_trait(IsTerminator):
            return self.plan.device(user.operands[0]) if user.operands else UNKNOWN
        return self.plan.device(user.results[0]) if user.results else UNKNOWN

    def state(self, op: Operation) -> None:
        """The attributes of a function."""
        match op:
            case func.FuncOp():
                domain = self.plan.functions[op.sym_name.data]
                op.attributes[DEVICE] = domain.result().device.attribute()
                params = [part.result().device.attribute() for part in domain.parts[:-1]]
                known = op.arg_attrs or [DictionaryAttr({}) for _ in params]
                op.arg_attrs = ArrayAttr(
                    DictionaryAttr({**each.data, DEVICE: device})
                    for each, device in zip(known, params, strict=True)
                )
            case ClosureOp():
                op.attributes[DEVICE] = self.plan.device(op.result).attribute()
            case CompositeOp():
                op.attributes[DEVICE] = self.plan.device(op.yielded).attribute()
            case _:
                pass


@dataclass(frozen=True)
class PlanDevicesPass(RelayPass):
    """
    Gives each value a device.

    Raises PassFailedException where a program wants a value on two devices without `on_device`, and for functions of
    several blocks.
    """

    name = "plan-devices"

    default_device: int = CPU
    """The type of the device for what nothing constrains: DLPack's number, 1 for a CPU."""
    host_device: int = CPU
    """The type of the device of shapes and sizes."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(1, default_device=self.default_device, host_device=self.host_device)
        spread_annotations(planned_operations(op))
        plan = DevicePlan(op, Device(self.default_device, 0), Device(self.host_device, 0))
        Writer(plan).write(planned_operations(op))
