"""Where values live, as Relay's device planning states it, and copies between devices."""

from typing import Annotated, TypeAlias

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, StringAttr, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import AnyValue, Field, Flag, PropertyKind, operand, prop
from xrelay.dialects.shapes import integer
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind

UNDECIDED = -1
"""The type and the number of a device that are not decided."""
CPU = 1
"""DLPack's number of the type of device that code is generated for."""


@irdl_attr_definition
class VirtualDeviceAttr(ParametrizedAttribute):
    """
    A device, as far as it is decided (Relay's `VirtualDevice`): its type (DLPack's numbers: 1 is a
    CPU, 2 CUDA; -1 not decided), its number (-1 not decided), the scope of memory ("" not decided)
    and the target that code is compiled for, a dictionary (`unit` not decided).
    """

    name = "relay.virtual_device"
    device_type: IntegerAttr[IntegerType]
    device_id: IntegerAttr[IntegerType]
    memory_scope: StringAttr
    target: Attribute

    def __init__(
        self,
        device_type: int | IntegerAttr[IntegerType] = UNDECIDED,
        device_id: int | IntegerAttr[IntegerType] = UNDECIDED,
        memory_scope: str | StringAttr = "",
        target: Attribute | None = None,
    ):
        super().__init__(
            integer(device_type) if isinstance(device_type, int) else device_type,
            integer(device_id) if isinstance(device_id, int) else device_id,
            StringAttr(memory_scope) if isinstance(memory_scope, str) else memory_scope,
            UnitAttr() if target is None else target,
        )

    def verify(self) -> None:
        for name, attr, least in (
            ("device_type", self.device_type, CPU),
            ("device_id", self.device_id, 0),
        ):
            found = attr.value.data
            if found != UNDECIDED and found < least:
                raise VerifyException(
                    f"'{name}' of {self.name} is {found}, expected at least {least}, or {UNDECIDED} where it is not decided"
                )
        if not isinstance(self.target, UnitAttr | DictionaryAttr):
            raise VerifyException(
                f"'target' of {self.name} is {self.target}, expected a dictionary, or `unit` where it is not decided"
            )


Device: TypeAlias = Annotated[
    Field[VirtualDeviceAttr, VirtualDeviceAttr], PropertyKind(VirtualDeviceAttr)
]


class DeviceOp(RelayOp):
    """A value, on a device or another."""

    result = result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))


@irdl_op_definition
class OnDeviceOp(DeviceOp):
    """
    `body`, computed on a device. `constrain_body` says that the body is to be computed there,
    `constrain_result` that the result is needed there; a copy stands where they differ.

    Source: Relay's `on_device`.
    """

    name = "relay.on_device"

    body: AnyValue = operand()
    virtual_device: Device = prop(default=VirtualDeviceAttr(), kw_only=False)
    constrain_result: Flag = prop(default=False)
    constrain_body: Flag = prop(default=True)
    traits = traits_def(NonComputational())

    def infer_type(self) -> Attribute:
        return self.body.type


@irdl_op_definition
class DeviceCopyOp(DeviceOp):
    """
    `data`, copied from one device to another.

    Source: Relay's `device_copy`.
    """

    name = "relay.device_copy"

    data: AnyValue = operand()
    src_virtual_device: Device = prop()
    dst_virtual_device: Device = prop()

    def infer_type(self) -> Attribute:
        return self.data.type
