"""Devices in NumPy, where there is only one: identities."""

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.core import device


@register_impls
class DeviceFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.device`."""

    @impl(device.OnDeviceOp)
    def run_on_device(
        self, interpreter: Interpreter, op: device.OnDeviceOp, args: PythonValues
    ) -> PythonValues:
        return args

    @impl(device.DeviceCopyOp)
    def run_device_copy(
        self, interpreter: Interpreter, op: device.DeviceCopyOp, args: PythonValues
    ) -> PythonValues:
        return args
