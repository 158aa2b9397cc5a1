"""Devices in NumPy, where there is only one: identities."""

from typing import Any

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import device
from xrelay.interpreters.base import meaning


@register_impls
class DeviceFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.device`."""

    @meaning
    def run_on_device(self, op: device.OnDeviceOp, body: Any) -> Any:
        return body

    @meaning
    def run_device_copy(self, op: device.DeviceCopyOp, data: Any) -> Any:
        return data
