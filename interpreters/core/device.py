"""Devices in NumPy, where there is only one: identities."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import device
from xrelay.interpreters.base import identity


@register_impls
class DeviceFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.core.device`."""

    run_on_device = identity(device.OnDeviceOp)
    run_device_copy = identity(device.DeviceCopyOp)
