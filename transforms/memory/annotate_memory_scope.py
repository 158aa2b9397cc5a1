"""
`annotate-memory-scope`: what primitive functions on some devices keep in textures.

    %0 = relay.fused %x … { max_pool2d }          %0 = relay.fused %x … { max_pool2d }
    %1 = relay.fused %0 … { relu }        ──►     %t = relay.on_device %0 {opencl in global.texture}
                                                  %1 = relay.fused %t … { relu }

A texture holds tensors of five axes, the last of which has length 4. It has two sides, into which the other axes are split as
evenly as they can be: behind the third ("global.texture"), the second ("global.texture-nhwc") or the first
("global.texture-weight"); each side has to be shorter than `limit`. A `relay.fused` works with textures when that operator of
it does which is computed first: a convolution or pool with blocks of four channels, or an injective operator with a
result of five axes.

- The result of such a function, or a constant, lies in a texture if it fits and all its users are such functions.
- Other results of such functions lie in the memory that all can use, "global".
- Where such a function uses another value that fits, a copy of that is made.

Only values on devices of one type are looked at, by default OpenCL's: on a CPU the pass changes nothing. `plan-devices` says
what is on which, and completes the plan afterwards. Values with a scope keep it.

Source: Relay's AnnotateMemoryScope, for Adreno. There parameters of primitive functions have scopes as well.
"""

from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.device_domains import Device
from xrelay.analysis.facts.device_plan import DevicePlan
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.device import CPU, DeviceCopyOp, OnDeviceOp
from xrelay.dialects.core.values import ConstantOp, FusedOp
from xrelay.dialects.pool.pool import GlobalPool2DOp, Pool2DOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.traits import HasPatternKind, OpPatternKind
from xrelay.transforms.rules.operands import insert_before

OPENCL = 4
"""DLPack's number of the type of device whose textures these are."""
GLOBAL, TEXTURE = "global", "global.texture"
SPLITS = ((1, "-weight"), (2, "-nhwc"), (3, ""))
"""Behind which axis a tensor is split, and what its scope ends in then; of equally even splits the first."""
LAYOUTS = {"NCHW4c": ("OIHW4o",), "NHWC4c": ("HWOI4o", "HWIO4o", "OIHW4o")}
"""The layouts of images, and of kernels for them, of convolutions that work with textures."""


def texture_of(type_: Attribute, limit: int) -> str | None:
    """The scope of textures that hold tensors of a type, None if they do not fit into any."""
    if not is_tensor_type(type_) or not type_.has_static_shape():
        return None
    dims = type_.get_shape()
    if len(dims) != 5 or dims[4] != 4:
        return None
    ways: list[tuple[int, str]] = []
    for axis, ending in SPLITS:
        one, other = prod(dims[:axis]), prod(dims[axis:4])
        if one < limit and other < limit:
            ways.append((abs(one - other), ending))
    return None if not ways else TEXTURE + min(ways, key=lambda way: way[0])[1]


def uses_textures(op: Operation) -> bool:
    """Whether an operator works with textures."""
    match op:
        case Conv2DOp():
            return op.kernel_layout.data in LAYOUTS.get(op.data_layout.data, ())
        case Pool2DOp() | GlobalPool2DOp():
            return op.layout.data == "NCHW4c"
        case _:
            kinds = [trait.kind for trait in op.get_traits_of_type(HasPatternKind)]
            types = [type_ for type_ in op.result_types if is_tensor_type(type_)]
            is_injective = all(kind <= OpPatternKind.INJECTIVE for kind in kinds)
            return is_injective and any(len(type_.get_shape()) == 5 for type_ in types)


def works_with_textures(function: FusedOp) -> bool:
    """Whether the operator of a function that is computed first does."""
    first = next((op for op in function.operators if not isinstance(op, ConstantOp)), None)
    return first is not None and uses_textures(first)


@dataclass
class Scopes:
    """Annotates a module."""

    plan: DevicePlan
    device_type: int
    limit: int
    known: dict[FusedOp, bool] = field(default_factory=dict[FusedOp, bool])

    def works(self, op: Operation) -> bool:
        """Whether an operation is a function on such a device that works with textures."""
        if not isinstance(op, FusedOp) or not self.is_there(op.result):
            return False
        if op not in self.known:
            self.known[op] = works_with_textures(op)
        return self.known[op]

    def is_there(self, value: SSAValue) -> bool:
        """Whether a value is on such a device, and has no scope yet."""
        device = self.plan.device(value)
        return device.device_type == self.device_type and not device.memory_scope

    def annotate(self, function: func.FuncOp) -> None:
        """Annotates what the blocks of a function compute."""
        ops = [op for op in walk(function) if not isinstance(op.parent_op(), FusedOp)]
        scopes: dict[SSAValue, str] = {
            op.results[0]: scope for op in ops if (scope := self.scope_of(op)) is not None
        }
        for op in ops:
            if self.works(op):
                op.operands = [self.operand(op, value, scopes) for value in op.operands]
        for value, scope in scopes.items():
            self.state(value, scope)

    def scope_of(self, op: Operation) -> str | None:
        """Where the result of an operation is to lie, if that is said."""
        if not isinstance(op, ConstantOp) and not self.works(op):
            return None
        value = op.results[0]
        if not self.is_there(value):
            return None
        texture = texture_of(value.type, self.limit)
        if texture is not None and all(self.works(use.operation) for use in value.uses):
            return texture
        return None if isinstance(op, ConstantOp) else GLOBAL

    def operand(self, user: Operation, value: SSAValue, scopes: dict[SSAValue, str]) -> SSAValue:
        """What a function that works with textures uses."""
        texture = texture_of(value.type, self.limit)
        if texture is None or scopes.get(value) == texture or not self.is_there(value):
            return value
        device = self.plan.device(value)
        copy = DeviceCopyOp(
            value,
            src_virtual_device=device._replace(memory_scope=GLOBAL).attribute(),
            dst_virtual_device=device._replace(memory_scope=texture).attribute(),
        )
        return insert_before(user, copy)

    def state(self, value: SSAValue, scope: str) -> None:
        """Says where a value lies."""
        device = self.plan.device(value)._replace(memory_scope=scope).attribute()
        stated = OnDeviceOp(value, device, constrain_result=True)
        assert isinstance(value.owner, Operation)
        stated.location = value.owner.location
        Rewriter.insert_op(stated, InsertPoint.after(value.owner))
        value.replace_uses_with_if(stated.result, lambda use: use.operation is not stated)


@dataclass(frozen=True)
class AnnotateMemoryScopePass(RelayPass):
    """
    Says what lies in textures.

    Raises PassFailedException as `plan-devices`.
    """

    name = "annotate-memory-scope"

    default_device: int = CPU
    """The type of the device for what no `plan-devices` has placed: DLPack's number, 1 for a CPU."""
    device_type: int = OPENCL
    """The type of devices with textures."""
    limit: int = 16384
    """How long a side of a texture must not be."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(
            1, default_device=self.default_device, device_type=self.device_type, limit=self.limit
        )
        plan = DevicePlan(op, Device(self.default_device, 0), Device(CPU, 0))
        scopes = Scopes(plan, self.device_type, self.limit)
        for function in op.body.ops:
            if isinstance(function, func.FuncOp) and not belongs_to_backend(function):
                scopes.annotate(function)
