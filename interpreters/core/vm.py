"""Operators of Relay's virtual machine in NumPy."""

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.core import vm
from xrelay.interpreters.arrays import dtype_of


@register_impls
class VmFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.vm`."""

    @impl(vm.VmShapeOfOp)
    def run_shape_of(
        self, interpreter: Interpreter, op: vm.VmShapeOfOp, args: PythonValues
    ) -> PythonValues:
        return (np.array(args[0].shape, dtype_of(op.dtype or i64)),)

    @impl(vm.VmReshapeTensorOp)
    def run_reshape_tensor(
        self, interpreter: Interpreter, op: vm.VmReshapeTensorOp, args: PythonValues
    ) -> PythonValues:
        return (args[0].reshape([int(dim) for dim in args[1]]),)
