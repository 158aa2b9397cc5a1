"""
`manifest-alloc`: calls of primitive functions write to memory that the program allocates.

    %0 = relay.fused %x … { exp }   ──►   %f = relay.closure {Primitive} … { exp }
                                          %s = relay.memory.alloc_storage %size, %alignment
                                          %t = relay.memory.alloc_tensor %s, %offset, %shape
                                          %u = relay.vm.invoke_tvm_op %f, (%x), (%t)

and %t takes the place of %0; storage, tensors and calls have names (`relay.let`), so that their order is one of Relay text too.
Primitive functions are `relay.fused`, and a `relay.closure` with `Primitive` that is called. Each tensor of a result has a
storage of its own, on the device of the result (`plan-devices`), at multiples of 64 bytes. A function that only reshapes
becomes a view (`relay.vm.reshape_tensor`) of its argument.

With `reuse`, the tensors of a block that nothing sees outside of calls share one storage for each device, in which those
that are never alive at the same time lie at the same place. Tensors have it from the call that writes them to the last one that
reads them under any name, as a view, or in a tuple; results of functions and branches, and what other operations use, keep a
storage of their own.

Left alone: calls whose results have unknown dimensions or are no tensors; functions for other compilers.

Source: Relay's ManifestAlloc, and its MemoryPlan for `reuse`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.device_domains import Device
from xrelay.analysis.facts.device_plan import DevicePlan
from xrelay.analysis.facts.memory_plan import ALIGNMENT, Lifetime, plan_memory
from xrelay.analysis.facts.reshapes import reshaped_argument
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.blob import element_bytes
from xrelay.dialects.core.device import CPU, DeviceCopyOp, OnDeviceOp, VirtualDeviceAttr
from xrelay.dialects.core.functional import ApplyOp, LetOp
from xrelay.dialects.core.memory import AllocStorageOp, AllocTensorOp, KillOp
from xrelay.dialects.core.values import FusedOp, TupleGetItemOp, TupleOp
from xrelay.dialects.core.vm import VmInvokeTvmOp, VmReshapeTensorOp, VmShapeOfOp
from xrelay.dialects.shapes import is_tensor_type, types_within
from xrelay.interpreters.constants import constant_op
from xrelay.transforms.rules.called_bodies import (
    call_by_value,
    called_primitive,
    keeps_function,
    only_reshapes,
    replace_call,
    reshaped_view,
)
from xrelay.transforms.rules.operands import insert_before

ALIASES = (LetOp, OnDeviceOp, TupleGetItemOp, TupleOp, VmReshapeTensorOp)
"""Operations whose result lies in the memory of their operands."""
READERS = (DeviceCopyOp, KillOp, VmInvokeTvmOp, VmShapeOfOp)
"""Operations after which the memory of their operands is not needed on their account."""


def size_of(type_: TensorType[Attribute]) -> int:
    """The bytes of a tensor."""
    return prod(type_.get_shape()) * element_bytes(type_.element_type)


def static_leaves(type_: Attribute) -> list[TensorType[Attribute]] | None:
    """The tensors in a type, None where there is something else, or unknown dimensions."""
    leaves = list(types_within(type_))
    tensors = [leaf for leaf in leaves if is_tensor_type(leaf) and leaf.has_static_shape()]
    return tensors if len(tensors) == len(leaves) else None


@dataclass
class Code:
    """Operations that are put in front of another one."""

    before: Operation

    def add(self, op: Operation, name: str = "") -> SSAValue:
        """The result of an operation, under a name if it gets one."""
        value = insert_before(self.before, op)
        if not name:
            return value
        let = self.add(LetOp(value))
        let.name_hint = name
        return let

    def number(self, value: int) -> SSAValue:
        """A number."""
        return self.add(constant_op(np.array(value, np.int64)))

    def storage(self, size: int, dtype: TypeAttribute, device: VirtualDeviceAttr) -> SSAValue:
        """Storage of so many bytes."""
        op = AllocStorageOp(
            self.number(size), self.number(ALIGNMENT), dtype=dtype, virtual_device=device
        )
        return self.add(op, "storage")

    def tensor(self, type_: TensorType[Attribute], device: VirtualDeviceAttr) -> SSAValue:
        """A tensor in a storage of its own."""
        dtype, dims = type_.element_type, type_.get_shape()
        assert isinstance(dtype, TypeAttribute)
        storage = self.storage(size_of(type_), dtype, device)
        op = AllocTensorOp(
            storage,
            self.number(0),
            self.add(constant_op(np.array(dims, np.int64))),
            dtype=dtype,
            assert_shape=dims or None,
        )
        return self.add(op, "tensor")

    def value(self, type_: Attribute, tensors: Iterator[SSAValue]) -> SSAValue:
        """A tensor, or tensors in a tuple of a type."""
        if not isinstance(type_, TupleType):
            return next(tensors)
        return self.add(TupleOp([self.value(field, tensors) for field in type_.types]))


def allocate(call: FusedOp | ApplyOp, plan: DevicePlan) -> list[SSAValue]:
    """Makes a call write to tensors that it allocates, which are given back."""
    function = called_primitive(call)
    types = static_leaves(call.result.type)
    if function is None or types is None:
        return []
    number = reshaped_argument(function) if only_reshapes(function) else None
    if number is not None and len(types) == 1:
        replace_call(call, reshaped_view(call.args[number], types[0]))
        return []
    device = plan.device(call.result).attribute()
    if isinstance(call, FusedOp):
        _, call = call_by_value(call)
    code = Code(call)
    tensors = [code.tensor(type_, device) for type_ in types]
    ins, outs = code.add(TupleOp(call.args)), code.add(TupleOp(tensors))
    code.add(VmInvokeTvmOp(call.function, ins, outs), "done")
    Rewriter.replace_op(call, [], [code.value(call.result.type, iter(tensors))])
    return tensors


@dataclass(frozen=True)
class Life:
    """What is known of a tensor that a block allocates."""

    op: AllocTensorOp
    device: VirtualDeviceAttr
    lifetime: Lifetime


def life_of(tensor: SSAValue, block: Block, places: dict[Operation, int]) -> Life | None:
    """When a tensor lives, None where more than calls of its block see it."""
    pending, seen, used = [tensor], {tensor}, list[int]()
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if user.parent is not block or not isinstance(user, (*ALIASES, *READERS)):
                return None
            if not isinstance(user, ALIASES):
                used.append(places[user])
            elif user.results[0] not in seen:
                seen.add(user.results[0])
                pending.append(user.results[0])
    assert isinstance(tensor.owner, LetOp)
    op = tensor.owner.value.owner
    assert isinstance(op, AllocTensorOp)
    lifetime = Lifetime(size_of(op.result.type), min(used), max(used))
    return Life(op, _storage(op).virtual_device, lifetime)


def _storage(op: AllocTensorOp) -> AllocStorageOp:
    let = op.storage.owner
    assert isinstance(let, LetOp) and isinstance(let.value.owner, AllocStorageOp)
    return let.value.owner


def share(block: Block, tensors: Sequence[SSAValue]) -> None:
    """Puts the tensors of a block that only its calls see into one storage for each device."""
    places = {op: place for place, op in enumerate(block.ops)}
    groups: dict[VirtualDeviceAttr, list[Life]] = {}
    for tensor in tensors:
        life = life_of(tensor, block, places)
        if life is not None:
            groups.setdefault(life.device, []).append(life)
    for device, lives in groups.items():
        plan = plan_memory([life.lifetime for life in lives])
        if len(lives) < 2:
            continue
        first = min(lives, key=lambda life: places[life.op]).op
        storage = Code(first).storage(plan.size, i8, device)
        for life, offset in zip(lives, plan.offsets, strict=True):
            _move(life.op, storage, offset)


def _move(op: AllocTensorOp, storage: SSAValue, offset: int) -> None:
    """Puts a tensor into another storage; its own goes."""
    before = (op.storage, _storage(op).result, *_storage(op).operands, op.offset)
    op.operands = [storage, Code(op).number(offset), op.shape]
    for value in before:
        if isinstance(value.owner, Operation) and not value.uses:
            Rewriter.erase_op(value.owner)


@dataclass(frozen=True)
class ManifestAllocPass(RelayPass):
    """
    Allocates what primitive functions compute.

    Raises PassFailedException as `plan-devices`.
    """

    name = "manifest-alloc"

    reuse: bool = False
    """Whether tensors that never live at the same time share memory."""

    def rewrite(self, op: ModuleOp) -> None:
        plan = DevicePlan(op, Device(CPU, 0), Device(CPU, 0))
        pending: list[Operation] = [
            each
            for each in op.body.ops
            if isinstance(each, func.FuncOp) and not belongs_to_backend(each)
        ]
        while pending:
            for region in pending.pop().regions:
                for block in region.blocks:
                    ops = tuple(block.ops)
                    pending.extend(
                        inner
                        for inner in ops
                        if not keeps_function(inner) and not belongs_to_backend(inner)
                    )
                    calls = [inner for inner in ops if isinstance(inner, FusedOp | ApplyOp)]
                    tensors = [tensor for call in calls for tensor in allocate(call, plan)]
                    if self.reuse:
                        share(block, tensors)
