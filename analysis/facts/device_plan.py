"""
On which device each value of a program is computed: constraints are collected, unified, and completed by defaults.

1. Operators have all operands and their result on one device, and so have tuples, references, data types, branches and loops with
   what is in them; functions in those are on it with all their parameters. A function has the same devices in all calls,
   which may be different ones for each parameter; what it is on itself is where its result is.
2. `on_device` constrains its body, its result or both, `device_copy` both. Shapes, and the sizes of storage, are on the host.
3. What is open is on the default device, if it is the result of a function; parameters are where the result is, operands where
   the result of the operator is, and names where the result of the block is.

Source: Relay's PlanDevices.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.device_domains import Device, Domain, Unification, domain_of, set_default
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, Within, has_flag, one_block
from xrelay.analysis.facts.walking import blocks_in, walk
from xrelay.dialects.core.adt import ConstructorOp, MatchOp
from xrelay.dialects.core.device import CPU, UNDECIDED, DeviceCopyOp, OnDeviceOp, VirtualDeviceAttr
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, GlobalVarOp, InstantiateOp, LetOp
from xrelay.dialects.core.memory import AllocStorageOp, AllocTensorOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, FusedOp, TupleGetItemOp, TupleOp
from xrelay.dialects.core.vm import VmInvokeTvmOp, VmReshapeTensorOp, VmShapeOfOp

DEVICE = "virtual_device"
"""The attribute of functions and parameters that states their device, as Relay names it."""
PRIMITIVE = ("Primitive",)
FREE = (ConstantOp, ConstructorOp)
"""Operations whose result may be on any device."""
STRUCTURE = (TupleOp, TupleGetItemOp, RefCreateOp, RefReadOp, RefWriteOp, ConstantOp, GlobalVarOp)
"""Operations that are no calls in Relay: they have the devices of what is around them."""


def keeps_devices(op: Operation) -> bool:
    """Whether what is within `op` is no part of the plan."""
    if isinstance(op, func.FuncOp):
        return has_flag(op, SKIPPED_FUNCTIONS) or op.is_declaration
    return isinstance(op, FusedOp) or (isinstance(op, ClosureOp) and has_flag(op, PRIMITIVE))


def planned_operations(module: ModuleOp) -> list[Operation]:
    """The operations of a module that are part of a plan, each before those within it."""
    is_kept = Within(keeps_devices)
    return [op for op in walk(module.body) if not is_kept(op)]


def device_attribute(op: Operation) -> VirtualDeviceAttr | None:
    """The device that an attribute of `op` states. Raises PassFailedException for an attribute that is none."""
    return _device(op.attributes.get(DEVICE), lambda: _text(op))


def parameter_device(function: func.FuncOp, number: int) -> VirtualDeviceAttr | None:
    """The device that a parameter of a function states. Raises PassFailedException for an attribute that is none."""
    if function.arg_attrs is None:
        return None
    found = function.arg_attrs.data[number].data.get(DEVICE)
    return _device(found, lambda: f"parameter {number} of {_text(function)}")


def _device(found: Attribute | None, place: Callable[[], str]) -> VirtualDeviceAttr | None:
    if found is None or isinstance(found, VirtualDeviceAttr):
        return found
    raise PassFailedException(
        f"{place()}: {DEVICE!r} is {found}, expected a device as {VirtualDeviceAttr(CPU, 0)}"
    )


def _text(op: Operation) -> str:
    """An operation in messages, a function by its name."""
    text = operation_text(op)
    return f"@{op.sym_name.data}, {text}" if isinstance(op, func.FuncOp) else text


def yielded(block: Block) -> SSAValue | None:
    """The one result of a block."""
    last = block.last_op
    if last is None or not last.has_trait(IsTerminator) or len(last.operands) != 1:
        return None
    return last.operands[0]


def stated_devices(ops: Iterable[Operation]) -> Iterable[VirtualDeviceAttr]:
    """All devices that a program states."""
    for op in ops:
        attributes: list[Attribute] = [*op.properties.values(), *op.attributes.values()]
        if isinstance(op, func.FuncOp) and op.arg_attrs is not None:
            attributes.extend(each for attrs in op.arg_attrs for each in attrs.data.values())
        yield from (each for each in attributes if isinstance(each, VirtualDeviceAttr))


@dataclass
class DevicePlan:
    """The devices of the values of a module. Raises PassFailedException for contradictions."""

    module: ModuleOp
    default: Device
    host: Device
    domains: dict[SSAValue, Domain] = field(default_factory=dict[SSAValue, Domain])
    functions: dict[str, Domain] = field(default_factory=dict[str, Domain])
    """Those of the functions of the module, by name."""
    equations: Unification = field(default_factory=Unification)
    targets: dict[int, Attribute] = field(default_factory=dict[int, Attribute])
    """What code is compiled for, by type of device, as far as the program states it."""

    def __post_init__(self) -> None:
        ops = planned_operations(self.module)
        for stated in stated_devices(ops):
            if not isinstance(stated.target, UnitAttr):
                self.targets.setdefault(stated.device_type.value.data, stated.target)
        self.default, self.host = self.canonical(self.default), self.canonical(self.host)
        for op in ops:
            if isinstance(op, func.FuncOp):
                self.functions[op.sym_name.data] = _signature(op.function_type)
        for op in ops:
            self._constrain(op)
        for op in ops:
            if isinstance(op, OnDeviceOp) and _is_free(op):
                self.equations.unify(self.of(op.result), self.of(op.body))
        for op in ops:
            if isinstance(op, func.FuncOp) and not keeps_devices(op):
                Defaults(self).decide(op)
        for domain in self.domains.values():
            set_default(domain, self.default)

    def canonical(self, device: Device) -> Device:
        """A stated device with what is known of others of its type."""
        if device.device_type == UNDECIDED:
            return device
        known = Device(device.device_type, 0, "", self.targets.get(device.device_type, UnitAttr()))
        return device.or_else(known)

    def of(self, value: SSAValue) -> Domain:
        """The domain of a value."""
        if value not in self.domains:
            self.domains[value] = domain_of(value.type)
        return self.domains[value]

    def device(self, value: SSAValue) -> Device:
        """Where a value is; of a function, where its result is."""
        return self.of(value).result().device

    # -- constraints

    def _require(self, op: Operation, holds: bool, what: str, *domains: Domain) -> None:
        if not holds:
            found = " and ".join(
                dict.fromkeys(
                    str(leaf.device)
                    for domain in domains
                    for leaf in domain.leaves()
                    if leaf.device.is_decided
                )
            )
            raise PassFailedException(
                f"{operation_text(op)}: {what} would be on {found}, expected one "
                "device, or on_device where a copy is meant"
            )

    def _same(self, op: Operation, what: str, one: Domain, other: Domain) -> None:
        self._require(op, self.equations.unify(one, other), what, one, other)

    def _together(self, op: Operation, what: str, values: Iterable[SSAValue]) -> None:
        domains = [self.of(value) for value in values]
        for other in domains[1:]:
            holds = self.equations.collapse(domains[0], other)
            self._require(op, holds, what, domains[0], other)

    def _on(self, op: Operation, what: str, value: SSAValue, device: Device) -> None:
        stated = domain_of(value.type, self.canonical(device))
        self._same(op, what, self.of(value), stated)

    def _constrain(self, op: Operation) -> None:
        match op:
            case func.FuncOp():
                if not keeps_devices(op):
                    self._constrain_function(op)
            case func.CallOp():
                callee = self.functions[op.callee.string_value()]
                self._constrain_call(op, callee, op.arguments)
            case ApplyOp():
                self._constrain_call(op, self.of(op.function), op.args)
            case GlobalVarOp():
                callee = self.functions[op.function.string_value()]
                self._same(op, "the function", self.of(op.result), callee)
            case LetOp() | InstantiateOp():
                self._same(op, "the name", self.of(op.results[0]), self.of(op.operands[0]))
            case ClosureOp():
                self._constrain_closure(op)
            case CompositeOp():
                for param, arg in zip(op.block.args, op.args, strict=True):
                    self._same(op, "an argument", self.of(param), self.of(arg))
                self._same(op, "the result", self.of(op.result), self.of(op.yielded))
            case scf.IfOp() | MatchOp():
                self._constrain_branches(op)
            case scf.ForOp() | scf.WhileOp():
                self._constrain_loop(op)
            case _ if op.has_trait(IsTerminator):
                pass
            case _:
                self._constrain_operator(op)

    def _constrain_function(self, op: func.FuncOp) -> None:
        domain = self.functions[op.sym_name.data]
        for number, param in enumerate(one_block(op).args):
            self._same(op, f"parameter {number}", domain.parts[number], self.of(param))
            stated = parameter_device(op, number)
            if stated is not None:
                self._on(op, f"parameter {number}", param, Device.of(stated))
        end, stated = op.get_return_op(), device_attribute(op)
        for value in () if end is None else end.arguments:
            self._result(op, domain.parts[-1], self.of(value))
            if stated is not None:
                self._on(op, "the result", value, Device.of(stated))

    def _result(self, op: Operation, stated: Domain, found: Domain) -> None:
        """What a function returns: its one result, or all of them together."""
        if found.root().parts and not stated.root().parts:
            self._require(op, self.equations.collapse(stated, found), "the result", stated, found)
        else:
            self._same(op, "the result", stated, found)

    def _constrain_closure(self, op: ClosureOp) -> None:
        domain = self.of(op.result)
        parts = domain.root().parts
        if op.recursive is not None:
            self._same(op, "the function itself", self.of(op.block.args[0]), domain)
        for part, param in zip(parts, op.params, strict=False):
            self._same(op, "a parameter", part, self.of(param))
        stated = device_attribute(op)
        if stated is not None:
            device = domain_of(op.yielded.type, self.canonical(Device.of(stated)))
            self._same(op, "the result", parts[-1], device)
        if not keeps_devices(op):
            self._same(op, "the result", parts[-1], self.of(op.yielded))

    def _constrain_call(self, op: Operation, callee: Domain, args: Iterable[SSAValue]) -> None:
        *params, result = callee.root().parts
        for number, (param, arg) in enumerate(zip(params, args, strict=True)):
            self._same(op, f"argument {number}", param, self.of(arg))
        for value in op.results:
            self._result(op, result, self.of(value))

    def _constrain_branches(self, op: scf.IfOp | MatchOp) -> None:
        self._together(op, "what is decided on and the result", (*op.operands, *op.results))
        for block in blocks_in(op):
            self._together(op, "a field and the result", (*op.operands, *block.args))
            last = block.last_op
            if last is not None:
                for result, value in zip(op.results, last.operands, strict=True):
                    self._same(op, "a branch", self.of(result), self.of(value))

    def _constrain_loop(self, op: scf.ForOp | scf.WhileOp) -> None:
        values = [*op.operands, *op.results]
        for block in blocks_in(op):
            values.extend(block.args)
            if block.last_op is not None:
                values.extend(block.last_op.operands)
        self._together(op, "what the loop carries", values)

    def _constrain_operator(self, op: Operation) -> None:
        match op:
            case OnDeviceOp():
                device = Device.of(op.virtual_device)
                if op.constrain_body.value.data:
                    self._on(op, "its body", op.body, device)
                if op.constrain_result.value.data:
                    self._on(op, "its result", op.result, device)
            case DeviceCopyOp():
                self._on(op, "its operand", op.data, Device.of(op.src_virtual_device))
                self._on(op, "its result", op.result, Device.of(op.dst_virtual_device))
            case AllocStorageOp():
                self._on(op, "'size'", op.size, self.host)
                self._on(op, "'alignment'", op.alignment, self.host)
                self._on(op, "its result", op.result, Device.of(op.virtual_device))
            case AllocTensorOp():
                self._on(op, "'offset'", op.offset, self.host)
                self._on(op, "'shape'", op.shape, self.host)
                self._together(op, "storage and tensor", (op.storage, op.result))
            case FusedOp():
                stated = device_attribute(op)
                if stated is not None:
                    self._on(op, "its result", op.result, Device.of(stated))
            case VmInvokeTvmOp():
                self._together(op, "inputs and outputs", (op.ins, op.outs, op.result))
            case VmShapeOfOp():
                self._on(op, "its result", op.result, self.host)
            case VmReshapeTensorOp():
                self._on(op, "'shape'", op.shape, self.host)
                self._together(op, "operand and result", (op.data, op.result))
            case _ if isinstance(op, FREE):
                pass
            case _:
                self._together(op, "its operands and results", (*op.operands, *op.results))


def _signature(type_: FunctionType) -> Domain:
    outputs = type_.outputs.data
    result = domain_of(outputs[0]) if len(outputs) == 1 else Domain()
    return Domain(parts=(*map(domain_of, type_.inputs), result))


def _is_free(op: OnDeviceOp) -> bool:
    return not op.constrain_body.value.data and not op.constrain_result.value.data


@dataclass
class Defaults:
    """The decisions that constraints leave open, in the order in which Relay comes upon them."""

    plan: DevicePlan
    seen: set[Operation] = field(default_factory=set[Operation])
    pending: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def decide(self, function: func.FuncOp) -> None:
        """Decides what is open in a function."""
        set_default(self.plan.functions[function.sym_name.data], self.plan.default)
        self._enter(function.body.block)
        while self.pending:
            self.pending.pop()()

    def _enter(self, block: Block) -> None:
        """Names in their order, then the result."""
        result = yielded(block)
        steps: list[Callable[[], None]] = []
        for op in block.ops:
            if isinstance(op, LetOp):
                steps.append(lambda op=op: self._name(op, result))
            elif op.has_trait(IsTerminator):
                steps.append(lambda op=op: self._operands(op))
        self.pending.extend(reversed(steps))

    def _name(self, op: LetOp, result: SSAValue | None) -> None:
        around = self.plan.default if result is None else self.plan.device(result)
        set_default(self.plan.of(op.result), around)
        self._operands(op)

    def _operands(self, op: Operation) -> None:
        owners = [value.owner for value in op.operands]
        self.pending.extend(lambda each=each: self._visit(each) for each in reversed(owners))

    def _visit(self, op: Operation | Block) -> None:
        if isinstance(op, Block | LetOp) or op in self.seen:
            return
        self.seen.add(op)
        plan = self.plan
        match op:
            case ClosureOp():
                set_default(plan.of(op.result), plan.default)
            case ApplyOp():
                set_default(plan.of(op.function), plan.default)
            case func.CallOp():
                set_default(plan.functions[op.callee.string_value()], plan.default)
            case scf.IfOp() | MatchOp():
                pass
            case _ if isinstance(op, STRUCTURE):
                pass
            case _:
                values = (*op.operands, *op.results)
                set_default(Domain(parts=tuple(plan.of(value) for value in values)), plan.default)
        if not keeps_devices(op):
            for region in reversed(op.regions):
                for block in reversed(region.blocks):
                    self._enter(block)
        self._operands(op)
